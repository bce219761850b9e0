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

    The definition is that of `general_calibration_error`. Batches add: three batches
    give the value of one. The state has a fixed size and neither drifts nor saturates:

    * even bins: sums for each bin, exact counts; scores are added within 2^-32.
    * adaptive bins: the same sums on a fixed grid of narrow cells, which are grouped to
      equal mass in `result`. For one group the cells are 2^-13 wide. For ten classes
      they are 2^-11 wide below 1/2 and 2^-9 above it. Near 0 and 1 cells are narrower:
      128 for each halving of p or of 1 - p, or 8 for several groups. Scores in a cell
      stay together, as equal scores do, so that bins end at most one cell away from the
      exact ones. The value therefore differs a little from that of the function on all
      predictions, which is exact; the guide to calibration has a table of how much. The
      two are equal where every cell holds one distinct score. Bins narrower than a cell
      (very many bins, or scores that hardly differ) come out merged.

    Args:
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot. True is
        needed for P(class 1) of several axes without a class axis.
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of
        another grid for adaptive bins: one that is as fine everywhere, relative to p
        and to 1 - p. Memory is 56 bytes for each of its 479 + 52 * 2^sketch_bits cells
        of a group. By default it is 0.8 MB for one group, 1.0 MB for 10 classes and 18
        MB for 1000.

    Attributes:
      counts: float64 total weight in each bin, shape [bins], or [K, bins] for
        class-wise groups; with `num_groups` those of one group of examples after the
        other. None before the number of classes is known.
      confidences: float64 mean score in each bin, 0 where it is empty.
      accuracies: float64 mean outcome in each bin, 0 where it is empty.
      correct_sums: float64 weighted sum of the outcomes in each bin.
      prob_sums: float64 weighted sum of the scores in each bin.
      sketch: the batches as a `ScoreSketch`, of adaptive bins without a threshold.

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

    ECE for norm "l1", MCE for "max" and RMSCE for "l2"; adaptive bins change the bins
    and nothing else. The arguments are those of the metric of this name in
    torch-uncertainty; labels come first here, as in all of Keras.

    Args:
      task: "binary" or "multiclass".
      adaptive: whether bins hold equal mass instead of having equal width.
      num_classes: number of classes, required for "multiclass".
      validate_args: whether eager updates raise for wrong values. The result is NaN
        after them if not.
      positive_class: for the binary task, score P(class 1) against `label == 1` (as
        torchmetrics does) instead of the decision against its correctness.

    Raises:
      TypeError: `num_classes` is not an integer for the multiclass task.
      ValueError: another argument is not as described.

    Example:
      >>> metric = um.CalibrationError(task="binary", num_bins=5)
      >>> metric.update_state([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.2])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """

    _function = "calibration_error"
