"""Streaming calibration error without the bias of few examples: the Keras metric."""

from __future__ import annotations

from uncertainty_metrics._calibration_spec import BinningScheme
from uncertainty_metrics.keras._options import (
    POSITIVE_CLASS_BY_FORM,
    Option,
    flag,
    with_options,
)
from uncertainty_metrics.keras.metrics._calibration import COMMON, DebiasedMetric
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError

__all__ = ["DebiasedCalibrationError"]


@with_options(
    "binning_scheme, max_prob, class_conditional, "
    + COMMON.replace("positive_class", "squared, positive_class"),
    binning_scheme=Option(BinningScheme, "adaptive"),
    max_prob=Option(bool, True),
    class_conditional=Option(bool, False),
    squared=flag(),
    positive_class=POSITIVE_CLASS_BY_FORM,
)
class DebiasedCalibrationError(DebiasedMetric, GeneralCalibrationError):
    """Calibration error in the l2 norm, minus its bias, of all batches.

    See the function `debiased_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision. A weight is a number of examples.
    If the positive weights of all batches have a mean below 1, they are scaled to a
    mean of 1.

    Args:
      squared: whether the result is the squared error, which may be negative.

    Example:
      >>> metric = um.DebiasedCalibrationError()
      >>> metric.update_state([1] * 4 + [0], [0.9] * 5)
      >>> metric.update_state([1] * 3 + [0] * 2, [0.9] * 5)
      >>> round(float(metric.result()), 6)
      0.129099
    """

    _function = "debiased_calibration_error"
