"""What miscalibration costs whoever acts where a probability exceeds a threshold."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.without_bins import (
    _pooled_errors,
    _pooled_scores,
)
from uncertainty_metrics.numpy.calibrators import _cross_fitting
from uncertainty_metrics.numpy.scoring import decision_curves

__all__ = ["miscalibration_cost"]

Unit = Literal["loss", "net_benefit"]
DEFAULT_THRESHOLDS = np.arange(1, 100) / 100


class MiscalibrationCost(NamedTuple):
    """The cost of miscalibration at thresholds.

    Attributes:
      thresholds: t, float64 [T].
      cost: mean loss that recalibration would save whoever acts where p > t, float64
        [T].
      largest: the largest cost(t) / max(t, 1 - t) over the thresholds, where cost is in
        units of loss.
      at: the threshold where it is largest.
    """

    thresholds: np.ndarray
    cost: np.ndarray
    largest: float
    at: float


@takes_frames
def miscalibration_cost(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    cross_fitted: bool = True,
    folds: int = 5,
    unit: Unit = "loss",
    clusters: ArrayLike | None = None,
    seed: Any = 0,
) -> MiscalibrationCost:
    """Cost of miscalibration for whoever acts where P(class 1) exceeds a threshold.

    Acting on an example of class 0 costs t, and not acting on one of class 1 costs
    1 - t: with p = P(class 1) of a calibrated model the best rule is to act where
    p > t. With q, the recalibrated p (a non-decreasing map, isotonic regression),

      cost(t) = mean (y - t) (1[q > t] - 1[p > t])

    is the loss that acting by q instead of p would save; it is the difference of the
    two `murphy_curve`. It is 0 where recalibration changes no decision.

    The map that recalibrates an example is fitted to the other folds, so the mean of
    cost(t) is at most 0 for a calibrated model, and it may be below 0. Without
    `cross_fitted` the map is fitted to all examples: then cost(t) >= 0, noise makes it
    larger, and twice its integral is `miscalibration` of `corp_decomposition`. Noise
    makes the largest cost larger than 0 in both cases. The result has no interval; with
    `clusters` the examples of a cluster may depend on each other.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      thresholds: t, in [0, 1], shape [T]; in [0, 1) for `unit="net_benefit"`. By
        default 0.01, 0.02, ..., 0.99.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      cross_fitted: whether the map that recalibrates an example is fitted to others.
      folds: Only for `cross_fitted`: number of folds, from 2 to the number of examples
        or of clusters.
      unit: "loss" as above, or "net_benefit": cost(t) / (1 - t), in true positives for
        each example, as `net_benefit` has it.
      clusters: Only for `cross_fitted`: cluster of each example, integers or strings
        (conventions.md#clusters): all examples of a cluster are in one fold.
      seed: seed of the folds, all that `np.random.default_rng` takes. None gives other
        folds each time.

    Returns:
      `MiscalibrationCost(thresholds, cost, largest, at)`. Smaller is better; `largest`
      is in [-1, 1], and 0 is calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> p = rng.uniform(size=5000)
      >>> labels = rng.uniform(size=5000) < p**2
      >>> found = um.miscalibration_cost(labels, p, [0.1, 0.5, 0.9])
      >>> found.cost.round(3).tolist(), round(found.largest, 2), found.at
      ([0.012, 0.021, 0.001], 0.04, 0.5)

    References:
      Hu and Wu (2024), Predict to Minimize Swap Regret for All Payoff-Bounded Tasks.
      Ehm, Gneiting, Jordan and Krueger (2016), Of Quantiles and Expectiles: Consistent
      Scoring Functions, Choquet Representations and Forecast Rankings.
    """
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        probs=probs,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        clusters=clusters,
    )
    return cost_of(data, thresholds, cross_fitted, folds, unit, seed)


def cost_of(
    data: ClassifierData,
    thresholds: ArrayLike | None,
    cross_fitted: bool,
    folds: int,
    unit: Unit,
    seed: Any,
) -> MiscalibrationCost:
    """Returns what `miscalibration_cost` does."""
    _checks.one_of("unit", unit, get_args(Unit))
    points = decision_curves.checked_thresholds(
        DEFAULT_THRESHOLDS if thresholds is None else thresholds, one=unit == "loss"
    )
    _checks.boolean("cross_fitted", cross_fitted)
    if data.clusters is not None and not cross_fitted:
        raise _checks.error("cross_fitted", "True with `clusters`", cross_fitted)
    rng = _inputs.generator(seed)
    examples = _pooled_scores.examples_of_class_1(data)
    cells = _pooled_scores.cells_of_class_1(examples)
    if cross_fitted:
        mapped = _cross_fitted(examples, folds, rng)
    else:
        mapped = _pooled_scores.mapped(cells, _pooled_errors.isotonic(cells))
    dtype = examples.probabilities.dtype
    cost = _pooled_errors.murphy(cells, points, dtype)
    cost = cost - _pooled_errors.murphy(mapped, points)
    relative = cost / np.maximum(points, 1 - points)
    best = int(np.argmax(relative))
    if unit == "net_benefit":
        cost = cost / (1 - points)
    return MiscalibrationCost(points, cost, float(relative[best]), float(points[best]))


def _cross_fitted(
    examples: _examples.Examples, folds: int, rng: np.random.Generator
) -> _pooled_scores.Cells:
    """Returns the examples pooled by their recalibrated probabilities."""
    codes = None if examples.clusters is None else examples.clusters.codes
    size = len(examples.labels)
    number = size if examples.clusters is None else examples.clusters.number
    what = "examples" if codes is None else "clusters"
    folds = _cross_fitting.checked_folds(folds, number, what)
    p = examples.probabilities[:, 1]
    y, weights = examples.labels == 1, examples.weights
    fold = _cross_fitting.random_folds(size, folds, rng, codes)
    recalibrated = np.empty(size)
    for rest, held_out in _cross_fitting.splits(fold, folds):
        cells = _pooled_scores.pooled(
            p[rest], y[rest], None if weights is None else weights[rest]
        )
        recalibrated[held_out] = np.interp(
            p[held_out], cells.scores, _pooled_errors.isotonic(cells)
        )
    return _pooled_scores.pooled(recalibrated, y, weights)
