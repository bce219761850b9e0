"""Calibration errors of cumulative residuals on tensors, and Spiegelhalter's test.

Declared in `uncertainty_metrics.numpy.calibration.without_bins.cumulative_calibration`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy.calibration.without_bins import (
    cumulative_calibration as np_cumulative_calibration,
)
from uncertainty_metrics.ops import _binning, _pooled_errors, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = np_cumulative_calibration.__all__


def read_off(
    data: ClassifierData,
    positive_class: bool | None,
    arithmetic: Callable[[_pooled_errors.Residuals], xp.Tensor],
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns a function of the residuals, and whether the data are valid.

    Args:
      data: labels and predictions, or confidences.
      positive_class: whether to score P(class 1); None if the form of the predictions
        tells.
      arithmetic: the function.
    """
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    residuals, valid = _pooled_errors.of_examples(
        *_binning.examples_and_spec(data, spec)
    )
    return arithmetic(residuals), valid


@twin(
    np_cumulative_calibration.kolmogorov_smirnov_calibration_error,
    data=ClassifierData,
    by_numpy=True,
)
def kolmogorov_smirnov_calibration_error(data, positive_class):
    return read_off(data, positive_class, _pooled_errors.kolmogorov_smirnov)


@twin(
    np_cumulative_calibration.kuiper_calibration_error,
    data=ClassifierData,
    by_numpy=True,
)
def kuiper_calibration_error(data, positive_class):
    return read_off(data, positive_class, _pooled_errors.kuiper)


@twin(
    np_cumulative_calibration.averaged_two_bin_calibration_error,
    data=ClassifierData,
    by_numpy=True,
)
def averaged_two_bin_calibration_error(data, positive_class):
    return read_off(data, positive_class, _pooled_errors.averaged_two_bin)


@twin(np_cumulative_calibration.spiegelhalter_test, data=ClassifierData)
def spiegelhalter_test(data, positive_class):
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    examples, spec = _binning.examples_and_spec(data, spec, grades=False)
    z, p_value, valid = _pooled_errors.spiegelhalter(examples, spec)
    return np_cumulative_calibration.SpiegelhalterTest(z, p_value), valid


ks_calibration_error = kolmogorov_smirnov_calibration_error
atb = averaged_two_bin_calibration_error
