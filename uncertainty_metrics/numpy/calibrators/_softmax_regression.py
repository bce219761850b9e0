"""Linear maps of logits with the largest likelihood, for vector and matrix scaling.

The maps f minimise the mean of

  logsumexp(f(z)) - f(z)_y + ridge / (2 n) penalty(f)

with n the sum of the weights, and logits z of standard deviation 1 in a row.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from uncertainty_metrics.numpy import _compiled_loops, _threads
from uncertainty_metrics.numpy.calibrators import _newton

Result = TypeVar("Result")

# With more examples than these, a fit to every eighth example gives the start.
_MANY = 2**13
_STRIDE = 8
# Largest ridge / n: penalised parameters are then 1e-6; more would only add rounding.
_MOST_RIDGE = 1e6
# Parameters below this one keep mapped logits finite.
_FINITE = 1e100
# This share of the largest entry keeps approximate inverses finite.
_LEAST = 1e-10


class Problem(abc.ABC):
    """The objective for one kind of map, as a function of the parameters.

    Args:
      z: float64 [N, K].
      labels: int64 [N].
      weights: float64 [N], of sum 1.
      ridge: ridge / n.
    """

    def __init__(
        self, z: np.ndarray, labels: np.ndarray, weights: np.ndarray, ridge: float
    ):
        self._features = self._to_features(z)
        self._labels, self._weights, self._ridge = labels, weights, ridge
        self._classes = z.shape[1]

    def start(self) -> np.ndarray:
        """Returns the parameters [P] of uniform forecasts."""
        return np.zeros(self._classes * self._features.shape[1])

    @classmethod
    @abc.abstractmethod
    def unpacked(cls, x: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the factors of the logits, and the biases [K]."""

    def _to_features(self, z: np.ndarray) -> np.ndarray:
        """Returns the features [N, D] of logits [N, K]."""
        return z

    @abc.abstractmethod
    def _mapped(self, x: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Returns the mapped logits [n, K] of rows of features."""

    @abc.abstractmethod
    def _parameter_slopes(
        self, weights: np.ndarray, slopes: np.ndarray, features: np.ndarray
    ) -> np.ndarray:
        """Returns slopes in the parameters [P], given slopes in the logits [n, K] of
        examples of these weights [n]. It may overwrite the slopes.
        """

    @abc.abstractmethod
    def _penalty(self, x: np.ndarray) -> np.ndarray:
        """Returns the gradient of half the penalty, a projection: the penalised part of
        the parameters.
        """

    @abc.abstractmethod
    def _approximate_inverse(self, p: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Returns the approximate inverse, at forecasts p [N, K], of the Hessian in the
        penalised part.
        """

    def _undetermined(self, rows: np.ndarray) -> np.ndarray | float:
        """Returns the mean of rows [K, ...] if there is no ridge: the likelihood does
        not depend on it.
        """
        return rows.mean(axis=0) if self._ridge == 0 else 0.0

    @abc.abstractmethod
    def _in_blocks(self, function: Callable[[slice], Result]) -> list[Result]:
        """Returns the results of a function of rows for blocks of rows, in order."""

    def _likelihood(
        self, x: np.ndarray, rows: slice, p: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Returns the likelihood's part of the value and the gradient, of some rows,
        and writes their forecasts p [n, K].
        """
        features, weights = self._features[rows], self._weights[rows]
        mapped = self._mapped(x, features)
        mapped -= mapped.max(axis=1, keepdims=True)
        at_label = np.arange(len(mapped)), self._labels[rows]
        above = -mapped[at_label]
        mass = np.exp(mapped, out=mapped)
        total = mass.sum(axis=1)
        value = float(weights @ (np.log(total) + above))
        np.divide(mass, total[:, None], out=mass)
        p[...] = mass
        mass[at_label] -= 1
        return value, self._parameter_slopes(weights, mass, features)

    def _product(self, v: np.ndarray, rows: slice, p: np.ndarray) -> np.ndarray:
        """Returns the product of the likelihood's Hessian, of some rows at forecasts p
        [n, K], with a vector [P].
        """
        changes = self._mapped(v, self._features[rows])
        means = np.einsum("nk,nk->n", changes, p)
        changes -= means[:, None]
        changes *= p
        return self._parameter_slopes(
            self._weights[rows], changes, self._features[rows]
        )

    def __call__(self, x: np.ndarray) -> _newton.Local:
        p = np.empty((len(self._labels), self._classes))
        penalised = self._penalty(x)
        values, gradients = zip(
            *self._in_blocks(lambda rows: self._likelihood(x, rows, p[rows])),
            strict=True,
        )
        value = sum(values, self._ridge / 2 * float(penalised @ penalised))
        gradient = sum(gradients, self._ridge * penalised)

        def product(v: np.ndarray) -> np.ndarray:
            parts = self._in_blocks(lambda rows: self._product(v, rows, p[rows]))
            return sum(parts, self._ridge * self._penalty(v))

        def step() -> np.ndarray:
            inverse = self._approximate_inverse(p)
            ones = np.ones_like(x)
            free = ones - self._penalty(ones)
            curvature = float(free @ product(free)) / float(free @ free)
            if not curvature > 0:
                raise _newton.NotConverged

            def both(v: np.ndarray) -> np.ndarray:
                return inverse(v) + (v - self._penalty(v)) / curvature

            return _newton.conjugate_gradients(product, both, -gradient)

        return _newton.Local(value, gradient, step)


class Vector(Problem):
    """Maps a_k z_k + b_k; the parameters are a and b.

    penalty = sum_k (a_k - mean a)^2 + sum_k b_k^2
    """

    def __init__(
        self, z: np.ndarray, labels: np.ndarray, weights: np.ndarray, ridge: float
    ):
        super().__init__(np.ascontiguousarray(z), labels, weights, ridge)
        self._labels, self._weights = map(np.ascontiguousarray, (labels, weights))
        self._compiled = _compiled_loops.loops(self._features)

    def _likelihood(
        self, x: np.ndarray, rows: slice, p: np.ndarray
    ) -> tuple[float, np.ndarray]:
        # Numbers as large as these might overflow, which the loop does not see.
        if self._compiled is None or not np.all(np.abs(x) < _FINITE):
            return super()._likelihood(x, rows, p)
        gradient = np.zeros((2, self._classes))
        arrays = self._features[rows], self._labels[rows], self._weights[rows]
        a, b = x.reshape(2, -1)
        value = self._compiled.vector_likelihood(a, b, *arrays, p, gradient)
        return value, gradient.reshape(-1)

    def _product(self, v: np.ndarray, rows: slice, p: np.ndarray) -> np.ndarray:
        if self._compiled is None:
            return super()._product(v, rows, p)
        product = np.zeros((2, self._classes))
        arrays = self._features[rows], self._weights[rows], p
        self._compiled.vector_product(*v.reshape(2, -1), *arrays, product)
        return product.reshape(-1)

    def start(self) -> np.ndarray:
        return np.zeros(2 * self._classes)

    @classmethod
    def unpacked(cls, x: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
        return x[:classes], x[classes:]

    def _mapped(self, x: np.ndarray, features: np.ndarray) -> np.ndarray:
        a, b = x.reshape(2, -1)
        mapped = features * a
        mapped += b
        return mapped

    def _parameter_slopes(
        self, weights: np.ndarray, slopes: np.ndarray, features: np.ndarray
    ) -> np.ndarray:
        of_b = np.einsum("n,nk->k", weights, slopes)
        slopes *= features
        return np.concatenate([np.einsum("n,nk->k", weights, slopes), of_b])

    def _in_blocks(self, function: Callable[[slice], Result]) -> list[Result]:
        return _threads.map_blocks(function, len(self._labels), self._classes)

    def _penalty(self, x: np.ndarray) -> np.ndarray:
        a, b = x.reshape(2, -1)
        return np.concatenate([a - a.mean(), b])

    def _approximate_inverse(self, p: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        # The inverse of the Hessian [2, 2] of each class alone.
        def moments(rows: slice) -> list[np.ndarray]:
            variance, weights = p[rows] * (1 - p[rows]), self._weights[rows]
            found = [np.einsum("n,nk->k", weights, variance)]
            for _ in range(2):
                variance *= self._features[rows]
                found.append(np.einsum("n,nk->k", weights, variance))
            return found

        bb, ab, aa = np.sum(self._in_blocks(moments), axis=0)
        aa += self._ridge + _LEAST * (aa.max() or 1.0)
        bb += self._ridge + _LEAST * (bb.max() or 1.0)
        determinant = np.maximum(aa * bb - ab**2, _LEAST * aa * bb)

        def inverse(v: np.ndarray) -> np.ndarray:
            a, b = v.reshape(2, -1)
            b = b - self._undetermined(b)
            of_a, of_b = [bb * a - ab * b, aa * b - ab * a] / determinant
            return np.concatenate([of_a, of_b - self._undetermined(of_b)])

        return inverse


class Matrix(Problem):
    """Maps A z + b; the parameters are the rows of [sqrt(K) A, b].

    penalty = K sum_ij (A_ij - t [i = j])^2 + sum_k b_k^2,  t the mean of A_kk
    """

    @classmethod
    def unpacked(cls, x: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
        rows = x.reshape(classes, -1)
        return rows[:, :-1] / np.sqrt(classes), rows[:, -1]

    def _to_features(self, z: np.ndarray) -> np.ndarray:
        scaled = z / np.sqrt(z.shape[1])
        return np.concatenate([scaled, np.ones((len(z), 1))], axis=1)

    def _mapped(self, x: np.ndarray, features: np.ndarray) -> np.ndarray:
        return features @ x.reshape(self._classes, -1).T

    def _parameter_slopes(
        self, weights: np.ndarray, slopes: np.ndarray, features: np.ndarray
    ) -> np.ndarray:
        slopes *= weights[:, None]
        return (slopes.T @ features).reshape(-1)

    def _in_blocks(self, function: Callable[[slice], Result]) -> list[Result]:
        # The threads of a product wait for each other, on a busy machine for longer
        # than they work. So there are few products, each of many rows.
        rows, step = slice(0, len(self._labels)), -(-(2**19) // self._classes)
        return [function(block) for block in _threads.blocks(rows, step)]

    def _penalty(self, x: np.ndarray) -> np.ndarray:
        rows = x.reshape(self._classes, -1).copy()
        diagonal = np.einsum("kk->k", rows[:, :-1])
        diagonal -= self._free_diagonal(diagonal)
        return rows.reshape(-1)

    def _free_diagonal(self, diagonal: np.ndarray) -> np.ndarray | float:
        """Returns the part of the diagonal that is not penalised."""
        return float(diagonal.mean())

    def _approximate_inverse(self, p: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        # The Kronecker product of the mean covariance of the classes and the second
        # moments of the features.
        share = p * self._weights[:, None]
        classes = np.diag(share.sum(axis=0)) - share.T @ p
        weighted = self._features * self._weights[:, None]
        features = weighted.T @ self._features
        values, vectors = np.linalg.eigh(classes)
        sizes, axes = np.linalg.eigh(features)
        scale = np.maximum(values, 0)[:, None] * np.maximum(sizes, 0) + self._ridge
        scale = np.maximum(scale, _LEAST * scale.max())

        def inverse(v: np.ndarray) -> np.ndarray:
            rows = v.reshape(self._classes, -1)
            turned = vectors.T @ (rows - self._undetermined(rows)) @ axes
            rows = vectors @ (turned / scale) @ axes.T
            return (rows - self._undetermined(rows)).reshape(-1)

        return inverse


class OffDiagonalMatrix(Matrix):
    """Maps A z + b, whose diagonal is not penalised.

    penalty = K sum_(i != j) A_ij^2 + sum_k b_k^2
    """

    def _free_diagonal(self, diagonal: np.ndarray) -> np.ndarray | float:
        return diagonal.copy()


def is_separable(z: np.ndarray, labels: np.ndarray) -> bool:
    """Says if a temperature near 0, positive or negative, makes all labels certain."""
    at_label = z[np.arange(len(z)), labels]
    return bool(np.all(at_label == z.max(1)) or np.all(at_label == z.min(1)))


def fit(
    kind: type[Problem],
    z: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
    ridge: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns the factors of the logits, the biases, and the optimality gap.

    Args:
      kind: kind of the maps.
      z: float64 [N, K].
      labels: int64 [N].
      weights: float64 [N], > 0; None for ones.
      ridge: >= 0.

    Raises:
      NotConverged: there is no optimum, or the steps did not reach it.
    """
    masses = np.ones(len(z)) if weights is None else weights
    total = float(masses.sum())
    best = _fit(kind, z, labels, masses / total, min(ridge / total, _MOST_RIDGE))
    return *kind.unpacked(best.point, z.shape[1]), best.gap


def _fit(
    kind: type[Problem],
    z: np.ndarray,
    labels: np.ndarray,
    shares: np.ndarray,
    ridge: float,
) -> _newton.Optimum:
    problem = kind(z, labels, shares, ridge)
    start = problem.start()
    part = slice(None, None, _STRIDE)
    if ridge > 0 and len(z) > _MANY and not is_separable(z[part], labels[part]):
        part_shares = shares[part] / shares[part].sum()
        with contextlib.suppress(_newton.NotConverged):
            start = _fit(kind, z[part], labels[part], part_shares, ridge).point
    return _newton.minimize(problem, start)
