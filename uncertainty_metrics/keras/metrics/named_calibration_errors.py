"""Streaming calibration errors whose choices go by a name: the Keras metrics."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics._spec import DEFAULT_NUM_BINS, PRESETS, CalibrationKey
from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError


class _PresetCalibrationError(GeneralCalibrationError):
    """A general calibration error whose four choices go by a name.

    Subclasses name them in `_preset`, which is the name of the function too.
    """

    _preset: str
    _fixed = CalibrationKey._fields

    def __init__(
        self,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool = False,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ):
        preset = PRESETS[self._preset]
        super().__init__(
            preset.binning_scheme,
            preset.max_prob,
            preset.class_conditional,
            preset.norm,
            num_bins,
            preset.threshold if threshold is None else threshold,
            num_classes,
            from_logits,
            ignore_index,
            name=name or self._preset,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )


@_base.register
class ExpectedCalibrationError(_PresetCalibrationError):
    """Expected calibration error (ECE) of all batches.

    Even bins of the decision's probability, l1 norm.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `expected_calibration_error`.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave; even bins do not use it.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.ExpectedCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """

    _preset = "expected_calibration_error"


@_base.register
class MaximumCalibrationError(_PresetCalibrationError):
    """Maximum calibration error (MCE) of all batches.

    Even bins of the decision's probability, the largest gap.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `maximum_calibration_error`.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave; even bins do not use it.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MaximumCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """

    _preset = "maximum_calibration_error"


@_base.register
class RootMeanSquaredCalibrationError(_PresetCalibrationError):
    """Root mean squared calibration error (RMSCE) of all batches.

    Adaptive bins of the decision's probability, l2 norm.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `root_mean_squared_calibration_error`.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RootMeanSquaredCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.158114

    References:
      Hendrycks et al. (2019), Deep Anomaly Detection with Outlier Exposure.
    """

    _preset = "root_mean_squared_calibration_error"


@_base.register
class StaticCalibrationError(_PresetCalibrationError):
    """Static calibration error (SCE) of all batches.

    Even bins of every class's probability, l1 norm, mean over the classes.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `static_calibration_error`.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave; even bins do not use it.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.StaticCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _preset = "static_calibration_error"


@_base.register
class AdaptiveCalibrationError(_PresetCalibrationError):
    """Adaptive calibration error (ACE) of all batches.

    Adaptive bins of every class's probability, l1 norm, mean over the classes.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `adaptive_calibration_error`.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AdaptiveCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _preset = "adaptive_calibration_error"


@_base.register
class ThresholdedAdaptiveCalibrationError(_PresetCalibrationError):
    """Thresholded adaptive calibration error (TACE) of all batches.

    ACE of the scores above `threshold`, by default 0.01.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `thresholded_adaptive_calibration_error`.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; by default 0.01.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.ThresholdedAdaptiveCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _preset = "thresholded_adaptive_calibration_error"
