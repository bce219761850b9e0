"""Checks of means, variances, targets and PIT values.

Examples that are masked out or of weight 0 are left out before values are checked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs, _row_math, _stddev_or_variance


class Forecasts(NamedTuple):
    """Errors, variances and weights of the examples that count.

    Attributes:
      errors: targets less predictions, [N].
      variances: > 0, [N].
      weights: > 0, [N], or None for ones.
    """

    errors: np.ndarray
    variances: np.ndarray
    weights: np.ndarray | None

    @property
    @np.errstate(over="ignore")
    def z(self) -> np.ndarray:
        return self.errors / np.sqrt(self.variances)


def included(
    arguments: dict[str, ArrayLike],
    mask: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Returns the arguments, in the shape of the last one, and the weights, [N] each,
    without examples that are masked out or of weight 0.
    """
    arrays = {name: _inputs.as_array(name, value) for name, value in arguments.items()}
    reference, last = list(arrays.items())[-1]
    shape = last.shape
    for name, array in arrays.items():
        _checks.paired(name, array.shape, reference, shape)
    counted = weights = None
    if mask is not None:
        mask = _inputs.as_array("mask", mask)
        _checks.aligned_shape("mask", mask.shape, shape)
        bad = (mask != 0) & (mask != 1)
        if np.any(bad):
            raise _checks.error("mask", "0 or 1", _inputs.first(bad, mask))
        counted = _inputs.sample_weights(mask, shape) > 0
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, shape)
        counted = weights > 0 if counted is None else counted & (weights > 0)
    flat = [array.reshape(-1) for array in arrays.values()]
    if counted is None:
        return flat, None
    if not np.any(counted):
        raise _checks.error(
            reference,
            "at least one example of positive weight that is not masked out",
            "none",
            verb="hold",
        )
    weights = None if weights is None else weights[counted]
    return [array[counted] for array in flat], weights


def variances(name: str, value: ArrayLike, single: bool = False) -> np.ndarray:
    """Returns finite float64 variances > 0, the squares of standard deviations.

    With `single`, variances in float32 stay in float32.
    """
    stddevs = _stddev_or_variance.are_stddevs(name)
    array = _inputs.finite(name, value, single and not stddevs)
    if not stddevs:
        if np.min(array, initial=np.inf) <= 0:
            first = _inputs.first(array <= 0, array.astype(np.float64))
            raise _checks.error(name, "variances > 0", first)
        return array
    with np.errstate(over="ignore", under="ignore"):
        squares = array * array
    bad = (array <= 0) | (squares <= 0) | np.isinf(squares)
    if np.any(bad):
        raise _checks.error(
            name,
            "standard deviations > 0, with finite squares > 0",
            _inputs.first(bad, array),
        )
    return squares


def spread(
    uncertainties: Any, stddevs: Any, name: str = "uncertainties"
) -> tuple[str, Any]:
    """Returns the name and the value of the argument that was passed."""
    passed = _checks.exactly_one(**{name: uncertainties, "stddevs": stddevs})
    return passed, stddevs if passed == "stddevs" else uncertainties


def check_targets(targets: Any) -> None:
    """Raises ValueError for None, the default that lets users omit `uncertainties`."""
    if targets is None:
        raise _checks.error("targets", "given", None)


def checked_arrays(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None,
    targets: ArrayLike | None,
    mask: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
    names: tuple[str, str] = ("predictions", "uncertainties"),
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns means, variances, targets and weights [N] of the examples that count, in
    float64, or in float32 if they were passed in float32.
    """
    name, values = spread(uncertainties, stddevs, names[1])
    check_targets(targets)
    arguments: dict[str, Any] = {
        names[0]: predictions,
        name: values,
        "targets": targets,
    }
    (mean, values, y), weights = included(arguments, mask, sample_weight)
    mean = _inputs.finite(names[0], mean, single=True)
    y = _inputs.finite("targets", y, single=True)
    squares = variances(name, values, single=True)
    _stddev_or_variance.check(name, mean, values, y, weights)
    return mean, squares, y, weights


def _standardized(
    y: np.ndarray, mean: np.ndarray, variance: np.ndarray, out: np.ndarray
) -> None:
    y -= mean
    np.divide(y, np.sqrt(variance, out=variance), out=out)


def _subtract(y: np.ndarray, mean: np.ndarray, out: np.ndarray) -> None:
    np.subtract(y, mean, out=out)


def checked_forecasts(*arguments: Any, **options: Any) -> Forecasts:
    """Returns the examples that count; the arguments are those of `checked_arrays`."""
    mean, squares, y, weights = checked_arrays(*arguments, **options)
    errors = _row_math.in_double(_subtract, y, mean)
    return Forecasts(errors, squares.astype(np.float64, copy=False), weights)


@np.errstate(over="ignore")
def checked_z(*arguments: Any, **options: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns the errors of the examples that count, in standard deviations, [N], and
    their weights; the arguments are those of `checked_arrays`.
    """
    mean, squares, y, weights = checked_arrays(*arguments, **options)
    return _row_math.in_double(_standardized, y, mean, squares), weights


@np.errstate(over="ignore", invalid="ignore")
def mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.average(values, weights=weights))
