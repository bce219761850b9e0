"""Vector and matrix scaling of a classifier, in float64."""

from __future__ import annotations

import abc
import math
from typing import Any, Literal, get_args

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators import _softmax_regression as regression

__all__ = ["MatrixScaling", "VectorScaling"]

Regularization = Literal["ridge", "odir"]
DEFAULT_RIDGE = 10.0
# Less than that of the largest logit is what rounding makes of equal ones.
_EQUAL = 1e-14


class _LinearScaling(_calibrator.Calibrator):
    """Maps logits to linear functions of them; of probabilities their logarithms."""

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
        """Returns what is fitted."""

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

    def _found(self, examples: _inputs.Examples) -> dict[str, np.ndarray]:
        name, labels = examples.name, examples.labels
        _calibrator.check_two(labels)
        z = self._logits(name, examples.predictions)
        unit = float(np.abs(z).max()) or 1.0
        z /= unit  # Whose squares are finite.
        within = z - z.mean(axis=1, keepdims=True)
        if not np.any(np.abs(within) > _EQUAL) or np.all(z == z[0]):
            expected = "between the classes of a row, and between rows"
            received = "the same in all classes, or in all rows"
            raise _checks.error(name, expected, received, verb="differ")
        variances = np.einsum("nk,nk->n", within, within) / z.shape[1]
        deviation = math.sqrt(np.average(variances, weights=examples.weights))
        z /= deviation
        kind = self._kind()
        tied = self._ridge > 0 and kind is not regression.OffDiagonalMatrix
        if tied and regression.is_separable(z, labels):
            raise _checks.error(
                name,
                "wrong about at least one label, and right about another: else the "
                "likelihood grows without bound as the temperature goes to 0",
                "labels that all have the largest, or the least, of their row",
            )
        try:
            found = regression.fit(kind, z, labels, examples.weights, self._ridge)
        except _newton.NotConverged:
            if tied:
                raise _newton.error() from None
            raise _checks.plain_error(
                f"There is no best map of these `{name}`: either one predicts every "
                "label with certainty, or they hardly differ. Pass more examples, or "
                '`ridge` > 0 (and regularization="ridge" where that is an option).',
                f"examples for which {_newton.MAX_STEPS} steps did not converge",
            ) from None
        factors, biases, gap = found
        return {
            self._names[0]: factors / (unit * deviation),
            "biases": biases,
            "optimality_gap": np.array(gap),
        }

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        fitted = self._fitted_layout().name
        if name != fitted:  # Logits are known but for a constant, which counts here.
            expected = f"left out: the map was fitted to `{fitted}`, so pass these"
            raise _checks.error(name, expected, f"`{name}`")
        mapped = self._scaled(self._logits(name, rows))
        return mapped if name == "logits" else _inputs.softmax(mapped)

    @abc.abstractmethod
    def _scaled(self, z: np.ndarray) -> np.ndarray:
        """Returns the map of logits [N, K]."""

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        shapes = self._shape(layout.classes), (layout.classes,), ()
        for name, shape in zip(self._names, shapes, strict=True):
            _calibrator.check_array(name, arrays[name], shape)


class VectorScaling(_LinearScaling):
    """Vector scaling: a slope and a bias for each logit of a classifier.

      q = softmax(a_1 z_1 + b_1, ..., a_K z_K + b_K)

    a and b have the least

      sum_n w_n (-log q_n,y_n)
        + ridge / 2 (s^2 sum_k (a_k - mean a)^2 + sum_k b_k^2)

    where s is the standard deviation of the logits of a row. So the penalty is on the
    deviation from a temperature, 1 / mean a, and free of the scale of the logits. The
    problem is convex; what is found is unique.

    z are logits as they are, or logarithms of probabilities, of 2^-24 where these are
    less. The two differ: logits that differ by a constant are the same forecast, but
    not to a slope for each.

    Args:
      ridge: >= 0. The default, 10, is the prior that biases have a standard deviation
        of 0.32, and so what slopes add: a class needs about ten examples before it
        moves half as far as they tell. Many examples overrule it, few do no harm. With
        0 there is no optimum where such a map makes the labels certain.

    Attributes:
      scales: a, float64 [K].
      biases: b, float64 [K]; their sum is 0.
      optimality_gap: certificate of the fit: by how many nats, in the mean over the
        examples, the objective was above its minimum before the last step, as the
        Newton decrement tells.
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

    A and b have the least

      sum_n w_n (-log q_n,y_n) + ridge / 2 (K s^2 R(A) + sum_k b_k^2)

    where s is the standard deviation of the logits of a row, and R(A) the sum of the
    squares of A - t I, t the mean of the diagonal (`regularization="ridge"`): of the
    deviation from a temperature, 1 / t. With `regularization="odir"` it is that of the
    squares off the diagonal, which is free (Kull et al. 2019). Fitted to probabilities
    this is their Dirichlet calibration.

    z are logits as they are, or logarithms of probabilities, of 2^-24 where these are
    less; the two differ. The problem is convex; what is found is unique. K (K + 1)
    numbers need many examples: at least some ten of them each.

    Args:
      ridge: >= 0. The default, 10, is the prior that biases have a standard deviation
        of 0.32, and so what all entries of a row of A add together: a number needs
        about ten examples before it moves half as far as they tell. With 0 there is no
        optimum where such a map makes the labels certain.
      regularization: "ridge" or "odir".

    Attributes:
      matrix: A, float64 [K, K].
      biases: b, float64 [K]; their sum is 0.
      optimality_gap: certificate of the fit: by how many nats, in the mean over the
        examples, the objective was above its minimum before the last step, as the
        Newton decrement tells.
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
      >>> mended = scaling.fit(labels, probabilities=p).transform(probabilities=p)
      >>> bool(um.brier_score(labels, mended) < um.brier_score(labels, p) - 0.05)
      True

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
      Kull, Perello Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond
      Temperature Scaling: Obtaining Well-Calibrated Multiclass Probabilities with
      Dirichlet Calibration.
    """

    _names = ("matrix", "biases", "optimality_gap")

    def __init__(
        self, *, ridge: float = DEFAULT_RIDGE, regularization: Regularization = "ridge"
    ):
        super().__init__(ridge)
        _checks.one_of("regularization", regularization, get_args(Regularization))
        self._regularization: Regularization = regularization

    @property
    def matrix(self) -> np.ndarray:
        """The matrix A, [K, K]."""
        return self._array("matrix")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "regularization": self._regularization}

    def _kind(self) -> type[regression.Problem]:
        free = self._regularization == "odir"
        return regression.OffDiagonalMatrix if free else regression.Matrix

    def _shape(self, classes: int) -> tuple[int, ...]:
        return classes, classes

    def _scaled(self, z: np.ndarray) -> np.ndarray:
        return z @ self.matrix.T + self.biases
