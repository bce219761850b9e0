"""Vector and matrix scaling of a classifier, in float64."""

from __future__ import annotations

import abc
import math
from typing import Any, Literal, get_args

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _examples, _inputs, _row_math
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators import _softmax_regression as regression

__all__ = ["MatrixScaling", "VectorScaling"]

Regularization = Literal["ridge", "odir"]
DEFAULT_RIDGE = 10.0
# Differences below this share of the largest logit are rounding errors.
_EQUAL = 1e-14


class _LinearScaling(_calibrator.Calibrator):
    """Maps logits, or logarithms of probabilities, to linear functions of them."""

    def __init__(self, ridge: float):
        super().__init__()
        self._ridge = _checks.number(ridge)
        if not 0 <= self._ridge < math.inf:
            raise _checks.error("ridge", "finite and >= 0", repr(ridge))

    @property
    def biases(self) -> np.ndarray:
        """The biases b, [K]."""
        return self._array("biases")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"ridge": self._ridge}

    @abc.abstractmethod
    def _kind(self) -> type[regression.Problem]:
        """Returns the kind of map that is fitted."""

    @abc.abstractmethod
    def _shape(self, classes: int) -> tuple[int, ...]:
        """Returns the shape of the factors."""

    def _logits(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns finite logits [N, K] in float64."""
        wide = rows.astype(np.float64)
        if name != "logits":
            return np.log(np.maximum(wide, _calibrator.LEAST))
        finite = np.isfinite(wide)
        if not np.all(finite):
            raise _checks.error(name, "finite", _inputs.first(~finite, wide))
        return wide

    def _penalty(self, classes: int) -> float:
        """Returns the factor of the penalty for so many classes."""
        return self._ridge

    def _fitted_arrays(self, examples: _examples.Examples) -> dict[str, np.ndarray]:
        name, labels = examples.name, examples.labels
        _calibrator.check_two(labels)
        z = self._logits(name, examples.predictions)
        unit = float(np.abs(z).max()) or 1.0
        z /= unit  # Their squares are finite.
        within = z - z.mean(axis=1, keepdims=True)
        if not np.any(np.abs(within) > _EQUAL) or np.all(z == z[0]):
            expected = "between the classes of a row, and between rows"
            received = "the same in all classes, or in all rows"
            raise _checks.error(name, expected, received, verb="differ")
        variances = np.einsum("nk,nk->n", within, within) / z.shape[1]
        deviation = math.sqrt(np.average(variances, weights=examples.weights))
        z /= deviation
        kind, ridge = self._kind(), self._penalty(z.shape[1])
        # With a penalty on all but the temperature, only that may have no optimum.
        penalised = ridge > 0 and kind is not regression.OffDiagonalMatrix
        if penalised and regression.is_separable(z, labels):
            raise _checks.error(
                name,
                "wrong about at least one label, and right about another: else the "
                "likelihood grows without bound as the temperature goes to 0",
                "labels that all have the largest, or all the least, of their row",
            )
        try:
            optimum = regression.fit(kind, z, labels, examples.weights, ridge)
        except _newton.NotConverged:
            if penalised:
                raise _newton.error() from None
            raise _checks.plain_error(
                f"There is no best map of these `{name}`: either a map predicts every "
                "label with certainty, or they hardly differ. Pass more examples, or "
                '`ridge` > 0 (and regularization="ridge" where that is an option).',
                f"examples for which {_newton.MAX_STEPS} steps did not converge",
            ) from None
        factors, biases, gap = optimum
        return {
            self._names[0]: factors / (unit * deviation),
            "biases": biases,
            "optimality_gap": np.array(gap),
        }

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        fitted = self._fitted_layout().name
        if name != fitted:  # Logits are known up to a constant, which matters here.
            expected = f"left out: the map was fitted to `{fitted}`, so pass `{fitted}`"
            raise _checks.error(name, expected, f"`{name}`")
        mapped = self._scaled(self._logits(name, rows))
        if name == "logits":
            return mapped
        return _row_math.in_blocks(_row_math.softmax, mapped, mapped.shape[1])

    @abc.abstractmethod
    def _scaled(self, z: np.ndarray) -> np.ndarray:
        """Returns the mapped logits [N, K]."""

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        shapes = self._shape(layout.classes), (layout.classes,), ()
        for name, shape in zip(self._names, shapes, strict=True):
            _calibrator.check_array(name, arrays[name], shape)


class VectorScaling(_LinearScaling):
    """Vector scaling: a slope and a bias for each logit of a classifier.

      q = softmax(a_1 z_1 + b_1, ..., a_K z_K + b_K)

    a and b minimise

      sum_n w_n (-log q_n,y_n)
        + ridge / 2 (s^2 sum_k (a_k - mean a)^2 + sum_k b_k^2)

    where s is the standard deviation of the logits of a row. So the penalty is on the
    deviation from temperature scaling, with T = 1 / mean a, and does not depend on the
    scale of the logits. The problem is convex, and its solution unique.

    z are the logits, or the logarithms of probabilities, which are clipped to at least
    2^-24. The two give different maps: adding a constant to all logits of a row leaves
    its forecast as it is, but not the result of a slope for each logit.

    Args:
      ridge: factor of the penalty, >= 0. The default, 10, is a prior by which biases,
        and what deviations of slopes add to a logit, have a standard deviation of 0.32.
        Many examples overrule it. With 0 there is no optimum if such a map can make the
        labels certain.

    Attributes:
      scales: a, float64 [K].
      biases: b, float64 [K]; their sum is 0.
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: `ridge` is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> logits = rng.normal(size=[2000, 3])
      >>> true = 0.5 * logits + [1.0, 0.0, -1.0]  # Class 0 is more frequent.
      >>> labels = np.argmax(true + rng.gumbel(size=true.shape), axis=1)
      >>> scaling = um.VectorScaling().fit(labels, logits)
      >>> scaling.biases.round(1).tolist()
      [1.0, 0.0, -1.0]
      >>> before = um.negative_log_likelihood(labels, logits=logits)
      >>> after = um.negative_log_likelihood(labels, logits=scaling.transform(logits))
      >>> bool(after < before - 0.3)
      True

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    _names = ("scales", "biases", "optimality_gap")

    def __init__(self, *, ridge: float = DEFAULT_RIDGE):
        super().__init__(ridge)

    @property
    def scales(self) -> np.ndarray:
        """The slopes a, [K]."""
        return self._array("scales")

    def _kind(self) -> type[regression.Problem]:
        return regression.Vector

    def _shape(self, classes: int) -> tuple[int, ...]:
        return (classes,)

    def _scaled(self, z: np.ndarray) -> np.ndarray:
        return z * self.scales + self.biases


class MatrixScaling(_LinearScaling):
    """Matrix scaling: a linear map of the logits of a classifier.

      q = softmax(A z + b)

    A and b minimise

      sum_n w_n (-log q_n,y_n) + ridge / 2 (K s^2 R(A) + sum_k b_k^2)

    where s is the standard deviation of the logits of a row. With
    `regularization="ridge"`, R(A) is the sum of the squares of A - t I, with t the mean
    of the diagonal: the deviation from temperature scaling with T = 1 / t. With
    `regularization="odir"` it is the sum of the squares off the diagonal, and the
    diagonal is free (Kull et al. 2019). Fitted to probabilities this is their Dirichlet
    calibration.

    z are the logits, or the logarithms of probabilities, which are clipped to at least
    2^-24; the two give different maps. The problem is convex, and its solution unique.
    The map has K (K + 1) numbers: with few examples the penalty keeps it close to a
    temperature.

    Args:
      ridge: factor of the penalty, >= 0. With None, the default, it is K / 2: the more
        numbers, the closer they are kept to a temperature, as in structured matrix
        scaling (Berta et al. 2026), whose penalty grows likewise. With K = 10 this is a
        prior by which biases, and what all entries of a row of A add together, have a
        standard deviation of 0.45. With 0 there is no optimum if such a map can make
        the labels certain.
      regularization: "ridge" or "odir".

    Attributes:
      matrix: A, float64 [K, K].
      biases: b, float64 [K]; their sum is 0.
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> p = rng.dirichlet([1.0, 1.0, 1.0], 3000)
      >>> swapped = p[:, [0, 2, 1]]
      >>> labels = np.argmax(np.log((p + swapped) / 2) + rng.gumbel(size=p.shape), 1)
      >>> scaling = um.MatrixScaling(regularization="odir")
      >>> recalibrated = scaling.fit(labels, probabilities=p).transform(probabilities=p)
      >>> bool(um.brier_score(labels, recalibrated) < um.brier_score(labels, p) - 0.05)
      True

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
      Kull, Perello Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond
      Temperature Scaling: Obtaining Well-Calibrated Multiclass Probabilities with
      Dirichlet Calibration. Berta, Holzmüller, Jordan and Bach (2026), Structured
      Matrix Scaling for Multi-Class Calibration.
    """

    _names = ("matrix", "biases", "optimality_gap")

    def __init__(
        self, *, ridge: float | None = None, regularization: Regularization = "ridge"
    ):
        super().__init__(DEFAULT_RIDGE if ridge is None else ridge)
        self._is_default = ridge is None
        _checks.one_of("regularization", regularization, get_args(Regularization))
        self._regularization: Regularization = regularization

    def _penalty(self, classes: int) -> float:
        return classes / 2 if self._is_default else self._ridge

    @property
    def matrix(self) -> np.ndarray:
        """The matrix A, [K, K]."""
        return self._array("matrix")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        ridge = None if self._is_default else self._ridge
        return {"ridge": ridge, "regularization": self._regularization}

    def _kind(self) -> type[regression.Problem]:
        free = self._regularization == "odir"
        return regression.OffDiagonalMatrix if free else regression.Matrix

    def _shape(self, classes: int) -> tuple[int, ...]:
        return classes, classes

    def _scaled(self, z: np.ndarray) -> np.ndarray:
        return z @ self.matrix.T + self.biases
