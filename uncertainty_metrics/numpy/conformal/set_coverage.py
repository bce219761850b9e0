"""Coverage and size of prediction sets and intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames

__all__ = [
    "class_coverage_gap",
    "coverage",
    "mean_set_size",
    "size_stratified_coverage",
]


def _sets(sets: ArrayLike) -> np.ndarray:
    """Returns checked sets, boolean [..., K]."""
    array = _inputs.as_array("sets", sets)
    if array.ndim < 2 or array.size == 0:
        raise _checks.error(
            "sets", "booleans of shape [..., K]", f"shape {list(array.shape)}"
        )
    bad = (array != 0) & (array != 1)
    if np.any(bad):
        raise _checks.error("sets", "booleans, or 0 and 1", _inputs.first(bad, array))
    return array != 0


def read(
    labels: ArrayLike, sets: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns labels [n], sets [n, K] and weights [n], without examples of weight 0."""
    in_set = _sets(sets)
    y = _inputs.as_array("labels", labels)
    if y.shape not in (in_set.shape[:-1], (*in_set.shape[:-1], 1)):
        raise _checks.error(
            "labels",
            f"of the shape of `sets` without the last axis, {list(in_set.shape[:-1])}",
            f"shape {list(y.shape)}",
        )
    weights = _weights(sample_weight, y.shape, "labels")
    counted = weights > 0
    in_set = in_set.reshape(-1, in_set.shape[-1])[counted]
    place = _inputs.Place(y.shape, counted)
    y = y.reshape(-1)[counted]
    y = _inputs.integer_labels("labels", y, in_set.shape[1], place)
    return y, in_set, weights[counted]


def _weights(
    sample_weight: ArrayLike | None, shape: tuple[int, ...], name: str
) -> np.ndarray:
    """Returns the weights [n] of examples of a shape."""
    if sample_weight is None:
        return np.ones(int(np.prod(shape)))
    weights = _inputs.sample_weights(sample_weight, shape)
    if not np.any(weights > 0):
        raise _checks.error(
            name, "at least one example of positive weight", "none", verb="hold"
        )
    return weights


@takes_frames
def coverage(
    labels: ArrayLike, sets: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of prediction sets, or intervals, that hold the truth.

    Args:
      labels: integer class labels in [0, K), shape [...]; or real targets.
      sets: booleans (or 0 and 1), shape [..., K], as `ConformalClassifier.predict`
        returns; or a tuple of two real arrays of the shape of the targets, `(lower,
        upper)`, as `ConformalRegressor.predict` does.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.

    Returns:
      The coverage in [0, 1], which should be 1 - alpha or a little more.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> sets = [[True, False, True], [True, False, False]]
      >>> um.conformal.coverage([2, 1], sets)
      0.5
      >>> um.conformal.coverage([0.5, 3.0], ([0.0, 1.0], [1.0, 2.0]))
      0.5
    """
    ends = _ends(sets)
    if ends is None:
        y, in_set, weights = read(labels, sets, sample_weight)
        right = in_set[np.arange(len(y)), y]
    else:
        y = _inputs.finite("labels", labels)
        for end in ends:
            _checks.paired("sets", end.shape, "labels", y.shape)
        lower, upper = (end.reshape(-1) for end in ends)
        right = (lower <= y.reshape(-1)) & (y.reshape(-1) <= upper)
        weights = _weights(sample_weight, y.shape, "labels")
    return float(np.average(right, weights=weights))


@takes_frames
def mean_set_size(sets: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean number of classes in prediction sets, or mean width of intervals.

    Args:
      sets: as in `coverage`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the sets
        without the axis of classes, or to the ends.

    Returns:
      The mean, in [0, K], or the mean of `upper - lower`, which may be infinite; an
      empty interval has the width 0. Smaller is better where the coverage is right.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.conformal.mean_set_size([[True, False, True], [True, False, False]])
      1.5
      >>> um.conformal.mean_set_size(([0.0, 1.0], [1.0, 4.0]))
      2.0
    """
    ends = _ends(sets)
    if ends is None:
        in_set = _sets(sets)
        sizes = in_set.sum(axis=-1)
    else:
        lower, upper = ends
        _checks.paired("sets", upper.shape, "sets", lower.shape)
        sizes = np.maximum(upper.reshape(lower.shape) - lower, 0.0)
    weights = _weights(sample_weight, sizes.shape, "sets")
    counted = weights > 0
    return float(np.average(sizes.reshape(-1)[counted], weights=weights[counted]))


@takes_frames
def class_coverage_gap(
    labels: ArrayLike,
    sets: ArrayLike,
    alpha: float,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean distance of the coverage of each class from 1 - alpha.

    With coverage_k the share of the sets of examples of class k that hold k,

      gap = mean over the classes k that occur of abs(coverage_k - (1 - alpha))

    Args:
      labels: integer class labels in [0, K), shape [...].
      sets: booleans (or 0 and 1), shape [..., K].
      alpha: share of labels that sets may miss, in (0, 1).
      sample_weight: weight of each example, >= 0, broadcastable to the labels.

    Returns:
      The gap in [0, 1]; smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> sets = [[True, False], [True, False], [True, True], [True, False]]
      >>> um.conformal.class_coverage_gap([0, 0, 1, 1], sets, alpha=0.25)
      0.25

    References:
      Ding, Angelopoulos, Bates, Jordan and Tibshirani (2023), Class-Conditional
      Conformal Prediction with Many Classes.
    """
    alpha = _checks.open_unit("alpha", alpha)
    y, in_set, weights = read(labels, sets, sample_weight)
    coverages = _coverages(y, in_set[np.arange(len(y)), y], weights)
    return float(np.mean(np.abs(coverages - (1 - alpha))))


@takes_frames
def size_stratified_coverage(
    labels: ArrayLike, sets: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Smallest coverage among the prediction sets of one size.

      min over the sizes s that occur of the share of the sets of s classes that hold
      the label

    Args:
      labels: integer class labels in [0, K), shape [...].
      sets: booleans (or 0 and 1), shape [..., K].
      sample_weight: weight of each example, >= 0, broadcastable to the labels.

    Returns:
      The coverage in [0, 1]; larger is better, up to 1 - alpha. It is 0 if there are
      empty sets.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> sets = [[True, False, True], [True, False, False], [True, True, False]]
      >>> um.conformal.size_stratified_coverage([2, 0, 2], sets)
      0.5

    References:
      Angelopoulos, Bates, Malik and Jordan (2021), Uncertainty Sets for Image
      Classifiers using Conformal Prediction.
    """
    y, in_set, weights = read(labels, sets, sample_weight)
    right = in_set[np.arange(len(y)), y]
    return float(np.min(_coverages(in_set.sum(axis=1), right, weights)))


def _coverages(
    strata: np.ndarray, right: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Returns the share of the weight that is right, in each stratum that occurs."""
    total = np.bincount(strata, weights)
    occurs = total > 0
    return np.bincount(strata, weights * right)[occurs] / total[occurs]


def _ends(sets: ArrayLike) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns both ends of intervals; None for sets."""
    if not (isinstance(sets, tuple) and len(sets) == 2):
        return None
    lower, upper = (_inputs.as_array("sets", end) for end in sets)
    if lower.dtype == bool or upper.dtype == bool:
        return None
    for end in (lower, upper):
        bad = np.isnan(end)
        if np.any(bad):
            raise _checks.error("sets", "numbers, not NaN", _inputs.first(bad, end))
    return lower, upper
