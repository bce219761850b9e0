"""Streaming calibration errors that need no bins: the Keras metrics."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics._cell_scores import CellMetric
from uncertainty_metrics.numpy.calibration.smoothed.smooth_calibration import (
    checked_bandwidth,
)
from uncertainty_metrics.ops import _pooled_errors, xp

__all__ = [
    "AveragedTwoBinCalibrationError",
    "KolmogorovSmirnovCalibrationError",
    "KuiperCalibrationError",
    "SmoothCalibrationError",
]


@_base.register("smooth_calibration_error")
class SmoothCalibrationError(CellMetric):
    """Smooth calibration error (smECE) of all batches.

    See the function `smooth_calibration_error` for the definition. The state is the
    same as for adaptive bins (`GeneralCalibrationError`): sums of scores and outcomes
    in narrow cells. All scores in a cell count as their mean. The cell of p is at most
    2^-13 wide, and at most min(p, 1 - p) / 128.

    The search for the bandwidth starts at 2^-11: the result is within 1e-5 of the error
    of these scores, or both are below 2^-11.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      bandwidth: s >= 1e-5, for smECE_s of a fixed bandwidth; by default None, to solve
        for the bandwidth.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means True if `y_pred` of the first batch is one
        column, P(class 1), else False; batches of the other form are then refused. With
        True the metric takes answers without classes, too: `y_true` is whether each
        answer is right, 1 or 0, and `y_pred` the confidence in [0, 1], of the same
        shape; a confidence of 0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.SmoothCalibrationError()
      >>> metric.update_state([1] * 4 + [0], [0.9] * 5)
      >>> metric.update_state([1] * 3 + [0] * 2, [0.9] * 5)
      >>> round(float(metric.result()), 4)
      0.2

    References:
      Blasiok and Nakkiran (2024), Smooth ECE: Principled Reliability Diagrams via
      Kernel Smoothing. Blasiok, Gopalan, Hu and Nakkiran (2023), A Unifying Theory of
      Distance from Calibration.
    """

    _function = "smooth_calibration_error"

    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        bandwidth: float | None = None,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            label_distributions=label_distributions,
        )
        self.bandwidth = checked_bandwidth(bandwidth)

    def _value(self, residuals: _pooled_errors.Residuals) -> xp.Tensor:
        return _pooled_errors.smooth_error(residuals, self.bandwidth)


@_base.register("kolmogorov_smirnov_calibration_error")
class KolmogorovSmirnovCalibrationError(CellMetric):
    """Kolmogorov-Smirnov calibration error of all batches.

    See the function `kolmogorov_smirnov_calibration_error` for the definition, and
    `SmoothCalibrationError` for the state. Scores in the same cell are not
    distinguished. So the result is at most the exact error, and smaller by at most the
    largest share of the examples in one cell.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means True if `y_pred` of the first batch is one
        column, P(class 1), else False; batches of the other form are then refused. With
        True the metric takes answers without classes, too: `y_true` is whether each
        answer is right, 1 or 0, and `y_pred` the confidence in [0, 1], of the same
        shape; a confidence of 0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.KolmogorovSmirnovCalibrationError(positive_class=True)
      >>> metric.update_state([0, 1], [0.2, 0.4])
      >>> metric.update_state([1, 0], [0.7, 0.9])
      >>> round(float(metric.result()), 6)  # (-0.2 + 0.6 + 0.3) / 4
      0.175

    References:
      Gupta et al. (2021), Calibration of Neural Networks using Splines. Arrieta-Ibarra
      et al. (2022), Metrics of Calibration for Probabilistic Predictions.
    """

    _function = "kolmogorov_smirnov_calibration_error"

    def __init__(
        self,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            label_distributions=label_distributions,
        )

    def _value(self, residuals: _pooled_errors.Residuals) -> xp.Tensor:
        return _pooled_errors.kolmogorov_smirnov(residuals)


@_base.register("kuiper_calibration_error")
class KuiperCalibrationError(CellMetric):
    """Kuiper calibration error of all batches.

    See the function `kuiper_calibration_error` for the definition, and
    `SmoothCalibrationError` for the state. Scores in the same cell are not
    distinguished. So the result is at most the exact error, and smaller by at most the
    largest share of the examples in two cells.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means True if `y_pred` of the first batch is one
        column, P(class 1), else False; batches of the other form are then refused. With
        True the metric takes answers without classes, too: `y_true` is whether each
        answer is right, 1 or 0, and `y_pred` the confidence in [0, 1], of the same
        shape; a confidence of 0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.KuiperCalibrationError(positive_class=True)
      >>> metric.update_state([0, 1], [0.2, 0.4])
      >>> metric.update_state([1, 0], [0.7, 0.9])
      >>> round(float(metric.result()), 6)  # From -0.2 / 4 to 0.7 / 4.
      0.225

    References:
      Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic
      Predictions. Tygert (2023), Calibration of P-values for Calibration and for
      Deviation of a Subpopulation from the Full Population.
    """

    _function = "kuiper_calibration_error"

    def __init__(
        self,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            label_distributions=label_distributions,
        )

    def _value(self, residuals: _pooled_errors.Residuals) -> xp.Tensor:
        return _pooled_errors.kuiper(residuals)


@_base.register("averaged_two_bin_calibration_error")
class AveragedTwoBinCalibrationError(CellMetric):
    """Averaged two-bin calibration error (ATB) of all batches.

    See the function `averaged_two_bin_calibration_error` for the definition, and
    `SmoothCalibrationError` for the state: all scores in a cell count as their mean.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means True if `y_pred` of the first batch is one
        column, P(class 1), else False; batches of the other form are then refused. With
        True the metric takes answers without classes, too: `y_true` is whether each
        answer is right, 1 or 0, and `y_pred` the confidence in [0, 1], of the same
        shape; a confidence of 0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AveragedTwoBinCalibrationError(positive_class=True)
      >>> metric.update_state([0], [0.5])
      >>> metric.update_state([1], [0.75])
      >>> round(float(metric.result()), 6)
      0.03125

    References:
      Hartline, Hu and Wu (2026), the averaged two-bin calibration error. Haghtalab et
      al. (2024), Truthfulness of Calibration Measures.
    """

    _function = "averaged_two_bin_calibration_error"

    def __init__(
        self,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            label_distributions=label_distributions,
        )

    def _value(self, residuals: _pooled_errors.Residuals) -> xp.Tensor:
        return _pooled_errors.averaged_two_bin(residuals)
