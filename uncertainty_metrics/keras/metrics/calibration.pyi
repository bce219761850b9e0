# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from uncertainty_metrics.keras.metrics._calibration import CalibrationMetric
from uncertainty_metrics.keras.metrics._calibration import TaskMetric
from uncertainty_metrics.ops._binning import BinStatistics

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
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      norm: "l1", "l2" or "max".
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means False; a metric of decisions then warns if
        `y_pred` of the first batch is one column, P(class 1). With True the metric
        takes answers without classes, too: `y_true` is whether each answer is right, 1
        or 0, and `y_pred` the confidence in [0, 1], of the same shape; a confidence of
        0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K]. True is needed
        for P(class 1) of several axes without a class axis.
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid. Memory is 56 bytes for each cell, of which each
        group has 479 + 52 * 2^sketch_bits. The default grid takes 0.8 MB for one group,
        1.0 MB for 10 classes and 18 MB for 1000.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Attributes:
      counts: float64 total weight in each bin, shape [bins], or [K, bins] for
        class-wise groups; with `num_groups`, the rows of each group of examples follow
        each other. None before the number of classes is known.
      confidences: float64 mean score in each bin, 0 for an empty bin.
      accuracies: float64 mean outcome in each bin, 0 for an empty bin.
      correct_sums: float64 weighted sum of the outcomes in each bin.
      prob_sums: float64 weighted sum of the scores in each bin.
      sketch: the batches as a `ScoreSketch`, for adaptive bins without a threshold.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.GeneralCalibrationError("even", True, False, "l1", num_bins=2)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(float(metric.result()), 6)
      0.133333
      >>> (metric.accuracies - metric.confidences).numpy().round(6).tolist()
      [0.0, -0.133333]

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    def __init__(
        self,
        binning_scheme: Literal["even", "adaptive"],
        max_prob: bool,
        class_conditional: bool,
        norm: Literal["l1", "l2", "max"],
        num_bins: int = 15,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
    ) -> None: ...

    def result(
        self,
    ) -> Any:
        """Returns the error so far, in [0, 1]; 0.0 before the first example that
        counts. For groups it is a dict of their errors, NaN for an empty group.
        """

    @property
    def bin_statistics(
        self,
    ) -> BinStatistics | None:
        """The statistics of all batches in float64, [groups, bins]; NaN after a wrong
        batch, None before the number of classes is known.
        """

    @property
    def class_errors(
        self,
    ) -> tf.Tensor | None:
        """The error of each group of scores, float64 [groups]: of each class in a
        class-wise metric. NaN after a wrong batch, None before the number of classes is
        known.
        """

    @property
    def counts(
        self,
    ) -> tf.Tensor | None:
        """Total weight in each bin; None before the first batch."""

    @property
    def confidences(
        self,
    ) -> tf.Tensor | None:
        """Mean score of each bin, 0 if it is empty; None before the first batch."""

    @property
    def accuracies(
        self,
    ) -> tf.Tensor | None:
        """Mean outcome of each bin, 0 if it is empty; None before the first batch."""

    @property
    def correct_sums(
        self,
    ) -> tf.Tensor | None:
        """Weighted sum of the outcomes in each bin; None before the first batch."""

    @property
    def prob_sums(
        self,
    ) -> tf.Tensor | None:
        """Weighted sum of the scores in each bin; None before the first batch."""

    def plot(
        self,
        ax: Any = None,
        *,
        classes: Sequence[int] | None = None,
    ) -> Any:
        """Draws the reliability diagram of all batches so far.

        Args:
          ax: matplotlib Axes to draw in; for a class-wise metric an array of Axes, one
            for each panel. By default a new pyplot figure, which is not shown.
          classes: for a class-wise metric the classes to draw; by default all classes,
            if there are at most 20.

        Returns:
          The Axes, or an array of them.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: a batch was wrong, there is no batch yet and the number of classes
            is not known, or an argument is not as described.
        """

class CalibrationError(TaskMetric, GeneralCalibrationError):
    """Calibration error of the decision's probability, with a diagram.

    It is the ECE for norm "l1", the MCE for "max" and the RMSCE for "l2"; `adaptive`
    changes only the bins. The arguments are the same as in the metric of this name in
    torch-uncertainty, but labels come first, as in all of Keras.

    Args:
      task: "binary" or "multiclass".
      adaptive: whether bins hold equal mass instead of having equal width.
      num_bins: number of bins.
      norm: "l1", "l2" or "max".
      num_classes: number of classes, required for "multiclass".
      ignore_index: examples with this label are left out.
      validate_args: whether eager updates raise ValueError for wrong values; if not,
        wrong values make the result NaN.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for the binary task, True scores P(class 1) against `label == 1`
        (as torchmetrics does), and False the decision's probability against whether the
        decision is right. None means False, with a warning if `y_pred` of the first
        batch is one column, P(class 1). With True the metric takes answers without
        classes, too: `y_true` is whether each answer is right, 1 or 0, and `y_pred` the
        confidence in [0, 1].
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      TypeError: `num_classes` is not an integer for the multiclass task.
      ValueError: another argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CalibrationError("binary", num_bins=5, positive_class=True)
      >>> metric.update_state([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.2])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """

    def __init__(
        self,
        task: Literal["binary", "multiclass"],
        adaptive: bool = False,
        num_bins: int = 10,
        norm: Literal["l1", "l2", "max"] = "l1",
        num_classes: int | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        num_groups: int | None = None,
    ) -> None: ...
