"""Calibration errors of cumulative residuals on tensors, and Spiegelhalter's test.

Declared in `uncertainty_metrics.numpy.calibration.cumulative_calibration`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples as np_examples
from uncertainty_metrics.numpy.calibration import _pooled_errors as np_pooled_errors
from uncertainty_metrics.numpy.calibration import (
    cumulative_calibration as np_cumulative_calibration,
)
from uncertainty_metrics.ops import _binning, _inputs, _pooled_errors, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = np_cumulative_calibration.__all__


def read_off(
    data: ClassifierData,
    positive_class: bool,
    arithmetic: Callable[[_pooled_errors.Residuals], xp.Tensor],
    numpy_arithmetic: Callable[[np_examples.Examples, CalibrationSpec], float],
) -> tuple[xp.Tensor, xp.Tensor | bool]:
    """Returns a function of the residuals, and whether the data are valid.

    For eager tensors on a CPU, NumPy computes it, because it sorts faster.

    Args:
      data: labels and predictions, or confidences.
      positive_class: whether to score P(class 1).
      arithmetic: the function.
      numpy_arithmetic: the same function in NumPy, of the examples.
    """
    spec = dataclasses.replace(
        np_cumulative_calibration.PRESET, positive_class=positive_class
    )
    examples, spec = _binning.examples_and_spec(data, spec)
    if _inputs.through_numpy(examples.labels, examples.predictions):
        value = numpy_arithmetic(_inputs.numpy_examples(data), spec)
        return xp.constant(value, examples.dtype), True
    residuals, valid = _pooled_errors.of_examples(examples, spec)
    return arithmetic(residuals), valid


@twin(
    np_cumulative_calibration.kolmogorov_smirnov_calibration_error, data=ClassifierData
)
def kolmogorov_smirnov_calibration_error(data, positive_class):
    return read_off(
        data,
        positive_class,
        _pooled_errors.kolmogorov_smirnov,
        lambda examples, spec: np_pooled_errors.kolmogorov_smirnov(
            np_cumulative_calibration.cells(examples, spec)
        ),
    )


@twin(np_cumulative_calibration.kuiper_calibration_error, data=ClassifierData)
def kuiper_calibration_error(data, positive_class):
    return read_off(
        data,
        positive_class,
        _pooled_errors.kuiper,
        lambda examples, spec: np_pooled_errors.kuiper(
            np_cumulative_calibration.cells(examples, spec)
        ),
    )


@twin(np_cumulative_calibration.averaged_two_bin_calibration_error, data=ClassifierData)
def averaged_two_bin_calibration_error(data, positive_class):
    return read_off(
        data,
        positive_class,
        _pooled_errors.averaged_two_bin,
        lambda examples, spec: np_pooled_errors.averaged_two_bin(
            np_cumulative_calibration.cells(examples, spec)
        ),
    )


@twin(np_cumulative_calibration.spiegelhalter_test, data=ClassifierData)
def spiegelhalter_test(data, positive_class):
    spec = dataclasses.replace(
        np_cumulative_calibration.PRESET, positive_class=positive_class
    )
    examples, spec = _binning.examples_and_spec(data, spec)
    z, p_value, valid = _pooled_errors.spiegelhalter(examples, spec)
    return np_cumulative_calibration.SpiegelhalterTest(z, p_value), valid


ks_calibration_error = kolmogorov_smirnov_calibration_error
atb = averaged_two_bin_calibration_error
