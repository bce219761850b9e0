"""Streaming calibration errors: the Keras metrics."""

from __future__ import annotations

from uncertainty_metrics._calibration_spec import Norm
from uncertainty_metrics.keras._options import Option, flag, one_of, with_options
from uncertainty_metrics.keras.metrics._calibration import (
    GROUPED,
    CalibrationMetric,
    Task,
    TaskMetric,
)

__all__ = ["CalibrationError", "GeneralCalibrationError"]


@with_options(f"binning_scheme, max_prob, class_conditional, norm, {GROUPED}")
class GeneralCalibrationError(CalibrationMetric):
    """General calibration error of all batches since the last reset.

    See the function `general_calibration_error` for the definition. The value does not
    depend on how the data are divided into batches. The state has a fixed size, and
    neither drifts nor saturates:

    * even bins: sums for each bin, with exact counts; scores are added within 2^-32.
    * adaptive bins: the same sums on a fixed grid of narrow cells, which `result` joins
      to bins of equal mass. For one group the cells are 2^-13 wide. For ten classes
      they are 2^-11 wide below 1/2 and 2^-9 above it. Near 0 and 1 cells are narrower:
      128 for each halving of p or of 1 - p, or 8 for several groups. Scores in a cell
      stay together, as equal scores do, so that each bin ends at most one cell away
      from the exact edge. So the value differs a little from the exact value of the
      function on all predictions; the guide to calibration has a table of the
      differences. The values are equal if every cell holds one distinct score. Bins
      that would be narrower than a cell are merged: with very many bins, or if scores
      hardly differ.

    Args:
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K]. True is needed
        for P(class 1) of several axes without a class axis.
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid. Memory is 56 bytes for each cell, of which each
        group has 479 + 52 * 2^sketch_bits. The default grid takes 0.8 MB for one group,
        1.0 MB for 10 classes and 18 MB for 1000.

    Attributes:
      counts: float64 total weight in each bin, shape [bins], or [K, bins] for
        class-wise groups; with `num_groups`, the rows of each group of examples follow
        each other. None before the number of classes is known.
      confidences: float64 mean score in each bin, 0 for an empty bin.
      accuracies: float64 mean outcome in each bin, 0 for an empty bin.
      correct_sums: float64 weighted sum of the outcomes in each bin.
      prob_sums: float64 weighted sum of the scores in each bin.
      sketch: the batches as a `ScoreSketch`, for adaptive bins without a threshold.

    Example:
      >>> metric = um.GeneralCalibrationError("even", True, False, "l1", num_bins=2)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(float(metric.result()), 6)
      0.133333
      >>> (metric.accuracies - metric.confidences).numpy().round(6).tolist()
      [0.0, -0.133333]
    """

    _direction = "down"
    _function = "general_calibration_error"


@with_options(
    "task, adaptive, num_bins, norm, num_classes, ignore_index, validate_args, *, "
    "from_logits, name, dtype, positive_class, sparse_labels, sketch_bits, num_groups",
    task=one_of(Task),
    adaptive=flag(),
    num_bins=Option(int, 10),
    norm=Option(Norm, "l1"),
    num_classes=Option(int | None, None),
    validate_args=flag()._replace(default=True),
)
class CalibrationError(TaskMetric, GeneralCalibrationError):
    """Calibration error of the decision's probability, with a diagram.

    It is the ECE for norm "l1", the MCE for "max" and the RMSCE for "l2"; `adaptive`
    changes only the bins. The arguments are the same as in the metric of this name in
    torch-uncertainty, but labels come first, as in all of Keras.

    Args:
      task: "binary" or "multiclass".
      adaptive: whether bins hold equal mass instead of having equal width.
      num_classes: number of classes, required for "multiclass".
      validate_args: whether eager updates raise ValueError for wrong values; if not,
        wrong values make the result NaN.
      positive_class: for the binary task, True scores P(class 1) against `label == 1`
        (as torchmetrics does), and False the decision's probability against whether the
        decision is right. None means False, with a warning if `y_pred` of the first
        batch is one column, P(class 1). With True the metric takes answers without
        classes, too: `y_true` is whether each answer is right, 1 or 0, and `y_pred` the
        confidence in [0, 1].

    Raises:
      TypeError: `num_classes` is not an integer for the multiclass task.
      ValueError: another argument is not as described.

    Example:
      >>> metric = um.CalibrationError("binary", num_bins=5, positive_class=True)
      >>> metric.update_state([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.2])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """

    _function = "calibration_error"
