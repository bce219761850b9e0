"""The arithmetic of label shift: a map, the shares of the classes, and cells of the
forecasts, in which two samples are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _row_math
from uncertainty_metrics.numpy.calibrators import _newton

# Factor of the penalty on the slope, in units of one example: it matters only where the
# classes are separable, so that the likelihood has no maximum without it.
_RIDGE = 0.01
# Newton steps of a resample, and the longest change of a logit in one of them.
_STEPS = 5
_LONGEST = 3.0
_LEAST_CURVATURE = 1e-9
_TINY = 1e-300
# A class must differ from every other by so many standard errors.
_LEAST_DISTANCE = 3.0
# Cells of two classes, and the least number of examples of both samples in a cell.
_NUM_CELLS = 10
_LEAST_COUNT = 10


class SlopeAndBiases(NamedTuple):
    """The map softmax(slope z + biases) of logarithms z of probabilities.

    Attributes:
      slope: the inverse of the temperature.
      biases: [K]; the first is 0.
    """

    slope: float
    biases: np.ndarray

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return _row_math.softmax(self.slope * z + self.biases)


def fit_slope_and_biases(
    z: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
) -> SlopeAndBiases:
    """Returns the map of the largest likelihood. As its biases are free, the mean of
    its probabilities is the share of each class.

    Args:
      z: logarithms of probabilities, float64 [N, K]; the rows are not all equal.
      labels: [N]; every class occurs.
      weights: > 0, [N].

    Raises:
      RuntimeError: the fit has not converged.
    """
    classes = z.shape[1]
    total = weights.sum()
    shares = weights / total
    middle = z.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(shares @ np.mean((z - middle) ** 2, axis=1))) or 1.0
    features = (z - middle) / unit
    ridge = _RIDGE / total
    at_label = np.arange(len(z)), labels

    def at(x: np.ndarray) -> _newton.Local:
        mapped = x[0] * features
        mapped[:, 1:] += x[1:]
        mapped -= mapped.max(axis=1, keepdims=True)
        above = -mapped[at_label]
        mass = np.exp(mapped, out=mapped)
        sums = mass.sum(axis=1)
        value = float(shares @ (np.log(sums) + above)) + ridge / 2 * x[0] ** 2
        mass /= sums[:, None]
        weighted = mass * shares[:, None]
        means = np.einsum("nk,nk->n", mass, features)
        hessian = np.empty((classes, classes))
        hessian[1:, 1:] = (np.diag(weighted.sum(axis=0)) - weighted.T @ mass)[1:, 1:]
        hessian[0, 0] = np.einsum("nk,nk,nk->", weighted, features, features)
        hessian[0, 0] += ridge - float(shares @ means**2)
        products = np.einsum("nk,nk->k", weighted, features) - weighted.T @ means
        hessian[0, 1:] = hessian[1:, 0] = products[1:]
        weighted[at_label] -= shares
        gradient = weighted.sum(axis=0)
        gradient[0] = np.einsum("nk,nk->", weighted, features) + ridge * x[0]
        return _newton.Local(value, gradient, hessian=hessian)

    try:
        best = _newton.minimize(at, np.zeros(classes)).point
    except _newton.NotConverged:
        raise _newton.error() from None
    return SlopeAndBiases(best[0] / unit, np.append(0.0, best[1:]))


def refitted(
    best: SlopeAndBiases, z: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Returns the maps for other weights, as slopes and biases [B, 1 + K].

    These are some Newton steps from the optimum of all examples: a bootstrap needs no
    more (Andrews 2002).

    Args:
      best: the optimum.
      z: float64 [N, K].
      labels: [N].
      weights: > 0, [B, N].
    """
    classes = z.shape[1]
    total = weights.sum(axis=1)
    shares = weights / total[:, None]
    features = z - z.mean(axis=1, keepdims=True)
    spread = float(np.sqrt(np.mean(features**2))) or 1.0
    of_label = features[np.arange(len(z)), labels]
    counts = shares @ np.eye(classes)[labels]
    x = np.tile(np.append(best.slope, best.biases), (len(weights), 1))
    for _ in range(_STEPS):
        mapped = _softmax(x[:, :1, None] * features + x[:, None, 1:])
        weighted = mapped * shares[:, :, None]
        means = np.einsum("bnk,nk->bn", mapped, features)
        hessian = np.empty((len(x), classes, classes))
        hessian[:] = -np.einsum("bnk,bnj->bkj", weighted, mapped)
        sums = weighted.sum(axis=1)
        hessian[:, np.arange(classes), np.arange(classes)] += sums
        products = np.einsum("bnk,nk->bk", weighted, features)
        products -= np.einsum("bnk,bn->bk", weighted, means)
        hessian[:, 0] = hessian[:, :, 0] = products
        squares = np.einsum("bnk,nk->b", weighted, features**2)
        ridge = _RIDGE / total * spread**2
        hessian[:, 0, 0] = ridge + squares - np.einsum("bn,bn->b", shares, means**2)
        gradient = sums - counts
        gradient[:, 0] = np.einsum("bn,bn->b", shares, means - of_label)
        gradient[:, 0] += ridge * x[:, 0]
        steps = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        scaled = np.abs(steps) * np.append(spread, np.ones(classes - 1))
        steps /= np.maximum(scaled.max(axis=1) / _LONGEST, 1.0)[:, None]
        x[:, 0] -= steps[:, 0]
        x[:, 2:] -= steps[:, 1:]
    return x


def mapped(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Returns the probabilities [B, N, K] of maps [B, 1 + K]."""
    return _softmax(x[:, :1, None] * z + x[:, None, 1:])


def _softmax(z: np.ndarray) -> np.ndarray:
    z -= z.max(axis=2, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=2, keepdims=True)
    return z


def most_likely_shares(
    ratios: np.ndarray, weights: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Returns the shares of the classes [K] with the largest likelihood, the fixed
    point of the EM algorithm of Saerens et al. (2002), by Newton's method.

    The minimum over shares >= 0 of sum_k share_k - mean_n log sum_k share_k ratio_nk
    has the sum 1, so that the sum need not be a constraint.

    Args:
      ratios: p_nk / (share of class k in the source), >= 0, [N, K].
      weights: > 0, [N].
      start: shares from which the search starts, [K].

    Raises:
      RuntimeError: the fit has not converged.
    """
    masses = weights / weights.sum()

    def at(shares: np.ndarray) -> _newton.Local:
        mixture = ratios @ shares
        if not np.all(mixture > 0):
            return _newton.Local(np.inf, shares)
        relative = ratios / mixture[:, None]
        weighted = relative * masses[:, None]
        value = float(shares.sum() - masses @ np.log(mixture))
        return _newton.Local(
            value, 1 - weighted.sum(axis=0), hessian=weighted.T @ relative
        )

    # From the inside, as a class without a share in the start could be the only one
    # that explains an example.
    inside = 0.9 * start + 0.1 / len(start)
    try:
        found = _newton.minimize(at, inside, np.ones(len(start), bool)).point
    except _newton.NotConverged:
        raise _newton.error() from None
    return found / found.sum()


def shares_of_resamples(
    ratios: np.ndarray, weights: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Returns `most_likely_shares` of resamples, [B, K], by Newton steps from those of
    all examples, each followed by two steps of the EM algorithm. A share at 0 stays
    there while the slope says so.

    Args:
      ratios: [B, M, K].
      weights: > 0, [B, M].
      start: [K].
    """
    classes = len(start)
    masses = weights / weights.sum(axis=1, keepdims=True)
    shares = np.tile(0.98 * start + 0.02 / classes, (len(ratios), 1))
    for step in range(2 * _STEPS):
        relative = ratios / np.einsum("bmk,bk->bm", ratios, shares)[:, :, None]
        weighted = relative * masses[:, :, None]
        gradient = 1 - weighted.sum(axis=1)
        hessian = np.einsum("bmk,bmj->bkj", weighted, relative)
        is_fixed = (shares <= 0) & (gradient > 0)
        both = is_fixed[:, :, None] | is_fixed[:, None, :]
        hessian[both] = 0.0
        hessian[:, np.arange(classes), np.arange(classes)] += np.where(
            is_fixed, 1.0, _LEAST_CURVATURE
        )
        gradient[is_fixed] = 0.0
        moves = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        shares = np.maximum(shares - moves, 0.0)
        total = shares.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, shares / np.where(total > 0, total, 1), start)
        if step == 0:  # Classes may have left that some examples need.
            shares = 0.999 * shares + 0.001 / classes
        for _ in range(2):
            mixture = np.einsum("bmk,bk->bm", ratios, shares)
            factors = masses / np.maximum(mixture, _TINY)
            shares *= np.einsum("bmk,bm->bk", ratios, factors)
            shares /= shares.sum(axis=1, keepdims=True)
    return shares


def check_distinct(p: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
    """Raises ValueError if the forecasts of two classes differ no more than by chance.

    Each class k is compared with the class that its examples are taken for most: the
    statistic is Welch's, of the mean of log(p_k / p_j) in both classes.

    Args:
      p: probabilities of the source, > 0, float64 [N, K].
      labels: [N]; every class occurs several times.
      weights: > 0, [N].
    """
    classes = p.shape[1]
    sums = np.stack([np.bincount(labels, weights * q, classes) for q in p.T], axis=1)
    taken_for = sums / np.bincount(labels, weights, classes)[:, None]
    taken_for /= np.average(p, axis=0, weights=weights)
    np.fill_diagonal(taken_for, -1.0)
    for k, j in enumerate(np.argmax(taken_for, axis=1)):
        means, variances = zip(
            *(_mean_and_variance(p, weights, labels == c, k, j) for c in (k, j)),
            strict=True,
        )
        difference, noise = means[0] - means[1], np.sqrt(sum(variances))
        if not difference > _LEAST_DISTANCE * noise:
            raise _checks.plain_error(
                f"Classes {min(k, j)} and {max(k, j)} cannot be told apart: the "
                "forecasts of their examples differ no more than by chance, so that "
                "new forecasts do not tell how frequent each is. Merge the two "
                "classes, or pass more examples.",
                f"a difference of {difference:.3g} with a standard error of "
                f"{noise:.3g}",
            )


def _mean_and_variance(
    p: np.ndarray, weights: np.ndarray, rows: np.ndarray, k: int, j: int
) -> tuple[float, float]:
    """Returns the mean of log(p_k / p_j) over some rows, and its variance."""
    odds, masses = np.log(p[rows, k] / p[rows, j]), weights[rows]
    masses = masses / masses.sum()
    mean = float(masses @ odds)
    size = 1 / float(masses @ masses)
    variance = float(masses**2 @ (odds - mean) ** 2) * size / (size - 1)
    return mean, variance


def cells_of(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the cell of each forecast, [N] and [M], numbers from 0.

    Of two classes cells are tenths of P(class 1); of more, decisions for a class, with
    a confidence above or below their median. Cells of few examples are one.
    """
    p = np.concatenate([source, target])
    classes = p.shape[1]
    if classes == 2:
        shares = np.arange(1, _NUM_CELLS) / _NUM_CELLS
        edges = np.unique(np.quantile(p[:, 1], shares))
        cells = np.searchsorted(edges, p[:, 1], side="right")
    else:
        decided = p.argmax(axis=1)
        confidences = p[np.arange(len(p)), decided]
        cells = 2 * decided
        for k in np.unique(decided):
            rows = decided == k
            cells[rows] += confidences[rows] > np.median(confidences[rows])
    counts = np.bincount(cells)
    are_few = counts < _LEAST_COUNT
    number = np.cumsum(~are_few)
    cells = np.where(are_few, 0, number)[cells]
    cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
    return cells[: len(source)], cells[len(source) :]
