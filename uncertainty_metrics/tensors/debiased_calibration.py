"""Calibration error on tensors, without the bias of few examples in a bin.

Declared in `uncertainty_metrics.numpy.calibration.bins.debiased_calibration`.
"""

from __future__ import annotations

import dataclasses

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy.calibration.bins import (
    debiased_calibration as np_debiased_calibration,
)
from uncertainty_metrics.ops import _binning, _error_interval, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = ["calibration_error_interval", "debiased_calibration_error"]


@twin(
    np_debiased_calibration.debiased_calibration_error,
    data=ClassifierData,
    by_numpy=True,
)
def debiased_calibration_error(
    data,
    binning_scheme,
    max_prob,
    class_conditional,
    num_bins,
    threshold,
    datapoints_per_bin,
    positive_class,
    squared,
):
    _checks.boolean("squared", squared)
    spec = dataclasses.replace(
        np_debiased_calibration.PRESET,
        binning_scheme=binning_scheme,
        max_prob=max_prob,
        class_conditional=class_conditional,
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        positive_class=positive_class,
    )
    examples, spec = _binning.examples_and_spec(data, spec)
    statistics, valid = _binning.bin_statistics(examples, spec)
    unit = _binning.unit_of(examples.weights, examples.dtype)
    if examples.shares is not None:
        shares = examples.shares
        residuals = shares - xp.cast(examples.probabilities, shares.dtype)
        of_squares = dataclasses.replace(examples, shares=residuals * residuals)
        squares = _binning.bin_statistics(of_squares, spec)[0].outcome_sums
        are_binary = xp.reduce_all((shares == 0) | (shares == 1))
        of_binary = _binning.debiased_error(statistics, squared, unit)
        of_grades = _binning.debiased_error(statistics, squared, unit, squares)
        return xp.where(are_binary, of_binary, of_grades), valid
    return _binning.debiased_error(statistics, squared, unit), valid


@twin(np_debiased_calibration.calibration_error_interval, data=ClassifierData)
def calibration_error_interval(data, level, binning_scheme, num_bins, positive_class):
    level = _checks.open_unit("level", level)
    spec = dataclasses.replace(
        np_debiased_calibration.PRESET,
        binning_scheme=binning_scheme,
        num_bins=num_bins,
        positive_class=positive_class,
    )
    examples, spec = _binning.examples_and_spec(data, spec)
    sums, valid = _error_interval.sums_of(examples, spec)
    unit = _binning.unit_of(examples.weights, xp.float64)
    ends = _error_interval.interval(sums, unit, level)
    return ConfidenceInterval(*(xp.cast(end, examples.dtype) for end in ends)), valid
