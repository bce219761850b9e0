"""Streaming calibration errors that need no bins: the Keras metrics."""

from __future__ import annotations

from uncertainty_metrics.keras._options import (
    POSITIVE_CLASS_BY_FORM,
    Option,
    with_options,
)
from uncertainty_metrics.keras.metrics._cell_scores import CellMetric
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.numpy.calibration.smoothed.smooth_calibration import (
    checked_bandwidth,
)
from uncertainty_metrics.ops import _pooled_errors

__all__ = [
    "AveragedTwoBinCalibrationError",
    "KolmogorovSmirnovCalibrationError",
    "KuiperCalibrationError",
    "SmoothCalibrationError",
]

_COMMON = (
    "num_classes, from_logits, ignore_index, name, dtype, *, "
    "positive_class, sparse_labels, sketch_bits"
)


@with_options(
    _COMMON.replace("positive_class", "bandwidth, positive_class"),
    bandwidth=Option(float | None, None, lambda name, value: checked_bandwidth(value)),
    positive_class=POSITIVE_CLASS_BY_FORM,
)
class SmoothCalibrationError(CellMetric, GeneralCalibrationError):
    """Smooth calibration error (smECE) of all batches.

    See the function `smooth_calibration_error` for the definition. The state is the
    same as for adaptive bins (`GeneralCalibrationError`): sums of scores and outcomes
    in narrow cells. All scores in a cell count as their mean. The cell of p is at most
    2^-13 wide, and at most min(p, 1 - p) / 128.

    The search for the bandwidth starts at 2^-11: the result is within 1e-5 of the error
    of these scores, or both are below 2^-11.

    Args:
      bandwidth: s >= 1e-5, for smECE_s of a fixed bandwidth; by default None, to solve
        for the bandwidth.
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.

    Example:
      >>> metric = um.SmoothCalibrationError()
      >>> metric.update_state([1] * 4 + [0], [0.9] * 5)
      >>> metric.update_state([1] * 3 + [0] * 2, [0.9] * 5)
      >>> round(float(metric.result()), 4)
      0.2
    """

    _direction = "down"
    _function = "smooth_calibration_error"
    _value = staticmethod(_pooled_errors.smooth_error)


@with_options(_COMMON, positive_class=POSITIVE_CLASS_BY_FORM)
class KolmogorovSmirnovCalibrationError(CellMetric, GeneralCalibrationError):
    """Kolmogorov-Smirnov calibration error of all batches.

    See the function `kolmogorov_smirnov_calibration_error` for the definition, and
    `SmoothCalibrationError` for the state. Scores in the same cell are not
    distinguished. So the result is at most the exact error, and smaller by at most the
    largest share of the examples in one cell.

    Args:
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.

    Example:
      >>> metric = um.KolmogorovSmirnovCalibrationError(positive_class=True)
      >>> metric.update_state([0, 1], [0.2, 0.4])
      >>> metric.update_state([1, 0], [0.7, 0.9])
      >>> round(float(metric.result()), 6)  # (-0.2 + 0.6 + 0.3) / 4
      0.175
    """

    _direction = "down"
    _function = "kolmogorov_smirnov_calibration_error"
    _value = staticmethod(_pooled_errors.kolmogorov_smirnov)


@with_options(_COMMON, positive_class=POSITIVE_CLASS_BY_FORM)
class KuiperCalibrationError(CellMetric, GeneralCalibrationError):
    """Kuiper calibration error of all batches.

    See the function `kuiper_calibration_error` for the definition, and
    `SmoothCalibrationError` for the state. Scores in the same cell are not
    distinguished. So the result is at most the exact error, and smaller by at most the
    largest share of the examples in two cells.

    Args:
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.

    Example:
      >>> metric = um.KuiperCalibrationError(positive_class=True)
      >>> metric.update_state([0, 1], [0.2, 0.4])
      >>> metric.update_state([1, 0], [0.7, 0.9])
      >>> round(float(metric.result()), 6)  # From -0.2 / 4 to 0.7 / 4.
      0.225
    """

    _direction = "down"
    _function = "kuiper_calibration_error"
    _value = staticmethod(_pooled_errors.kuiper)


@with_options(_COMMON, positive_class=POSITIVE_CLASS_BY_FORM)
class AveragedTwoBinCalibrationError(CellMetric, GeneralCalibrationError):
    """Averaged two-bin calibration error (ATB) of all batches.

    See the function `averaged_two_bin_calibration_error` for the definition, and
    `SmoothCalibrationError` for the state: all scores in a cell count as their mean.

    Args:
      sketch_bits: log2 of the cells for each halving of p, or of 1 - p above 1/2, of a
        grid that is equally fine everywhere, instead of the default grid.

    Example:
      >>> metric = um.AveragedTwoBinCalibrationError(positive_class=True)
      >>> metric.update_state([0], [0.5])
      >>> metric.update_state([1], [0.75])
      >>> round(float(metric.result()), 6)
      0.03125
    """

    _direction = "down"
    _function = "averaged_two_bin_calibration_error"
    _value = staticmethod(_pooled_errors.averaged_two_bin)
