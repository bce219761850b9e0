"""Streaming calibration errors that have a name: the Keras metrics."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError

__all__ = [
    "AdaptiveCalibrationError",
    "ExpectedCalibrationError",
    "MaximumCalibrationError",
    "RootMeanSquaredCalibrationError",
    "StaticCalibrationError",
    "ThresholdedAdaptiveCalibrationError",
]


@_base.register("expected_calibration_error")
class ExpectedCalibrationError(GeneralCalibrationError):
    """Expected calibration error (ECE) of all batches.

    Even bins of the decision's probability, l1 norm.

    See the function `expected_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
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
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling the pixels of all of them; images of
        which no pixel counts are left out.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

    _function = "expected_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
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
        label_distributions: bool = False,
        per_image: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme="even",
            max_prob=True,
            class_conditional=False,
            norm="l1",
            num_bins=num_bins,
            threshold=0.0 if threshold is None else threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            num_groups=num_groups,
            label_distributions=label_distributions,
            per_image=per_image,
        )


@_base.register("maximum_calibration_error")
class MaximumCalibrationError(GeneralCalibrationError):
    """Maximum calibration error (MCE) of all batches.

    Even bins of the decision's probability, the largest gap.

    See the function `maximum_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
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
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
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
      >>> metric = um.MaximumCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
    """

    _function = "maximum_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme="even",
            max_prob=True,
            class_conditional=False,
            norm="max",
            num_bins=num_bins,
            threshold=0.0 if threshold is None else threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            num_groups=num_groups,
            label_distributions=label_distributions,
        )


@_base.register("root_mean_squared_calibration_error")
class RootMeanSquaredCalibrationError(GeneralCalibrationError):
    """Root mean squared calibration error (RMSCE) of all batches.

    Adaptive bins of the decision's probability, l2 norm.

    See the function `root_mean_squared_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
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
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
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
      >>> metric = um.RootMeanSquaredCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.158114

    References:
      Hendrycks et al. (2019), Deep Anomaly Detection with Outlier Exposure.
    """

    _function = "root_mean_squared_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme="adaptive",
            max_prob=True,
            class_conditional=False,
            norm="l2",
            num_bins=num_bins,
            threshold=0.0 if threshold is None else threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            num_groups=num_groups,
            label_distributions=label_distributions,
        )


@_base.register("static_calibration_error")
class StaticCalibrationError(GeneralCalibrationError):
    """Static calibration error (SCE) of all batches.

    Even bins of every class's probability, l1 norm, mean over the classes.

    See the function `static_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
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
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
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
      >>> metric = um.StaticCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _function = "static_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme="even",
            max_prob=False,
            class_conditional=True,
            norm="l1",
            num_bins=num_bins,
            threshold=0.0 if threshold is None else threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            num_groups=num_groups,
            label_distributions=label_distributions,
        )


@_base.register("adaptive_calibration_error")
class AdaptiveCalibrationError(GeneralCalibrationError):
    """Adaptive calibration error (ACE) of all batches.

    Adaptive bins of every class's probability, l1 norm, mean over the classes.

    See the function `adaptive_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0, the default, drops none.
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
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
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
      >>> metric = um.AdaptiveCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _function = "adaptive_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme="adaptive",
            max_prob=False,
            class_conditional=True,
            norm="l1",
            num_bins=num_bins,
            threshold=0.0 if threshold is None else threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            num_groups=num_groups,
            label_distributions=label_distributions,
        )


@_base.register("thresholded_adaptive_calibration_error")
class ThresholdedAdaptiveCalibrationError(GeneralCalibrationError):
    """Thresholded adaptive calibration error (TACE) of all batches.

    ACE of the scores above `threshold`, by default 0.01.

    See the function `thresholded_adaptive_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision.

    Args:
      num_bins: number of bins.
      threshold: scores at or below it are dropped; by default 0.01.
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
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
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
      >>> metric = um.ThresholdedAdaptiveCalibrationError(num_bins=5)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> round(float(metric.result()), 6)
      0.15

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _function = "thresholded_adaptive_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
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
        label_distributions: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme="adaptive",
            max_prob=False,
            class_conditional=True,
            norm="l1",
            num_bins=num_bins,
            threshold=0.01 if threshold is None else threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            num_groups=num_groups,
            label_distributions=label_distributions,
        )
