"""Calibration errors of classifiers on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.calibration.bins.binned_errors`. Labels and
predictions are tensors, or anything that converts to them. float64 predictions are
computed in float64, all others in float32 with sums that do not drift. The bin of a
score depends on the precision in which the score is passed.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised, so
the result is NaN there; a wrong shape or option raises while the graph is built.
"""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _calibration_spec
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy.calibration.bins import binned_errors as np_binned_errors
from uncertainty_metrics.ops import _binning, _classifier_scores, _inputs, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = np_binned_errors.__all__


@twin(np_binned_errors.bin_statistics, data=ClassifierData)
def bin_statistics(
    data,
    binning_scheme,
    max_prob,
    class_conditional,
    num_bins,
    threshold,
    datapoints_per_bin,
    positive_class,
):
    spec = CalibrationSpec(
        binning_scheme=binning_scheme,
        max_prob=max_prob,
        class_conditional=class_conditional,
        norm="l1",  # Bins do not depend on it.
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        positive_class=positive_class,
    )
    return _binning.bin_statistics(*_binning.examples_and_spec(data, spec))


def error_of(data: ClassifierData, spec: CalibrationSpec) -> Any:
    """Returns the error, or the error of each group, and whether to trust it."""
    examples, spec = _binning.examples_and_spec(data, spec)
    statistics, valid = _binning.bin_statistics(examples, spec)
    groups = examples.groups
    if groups is None:
        return _binning.calibration_error(statistics, spec.norm), valid
    errors = _binning.calibration_error(statistics, spec.norm, groups.number)
    weights = _classifier_scores.group_weights(groups, examples)
    return _classifier_scores.of_groups(errors, weights, groups), valid


@twin(np_binned_errors.general_calibration_error, data=ClassifierData, by_numpy=True)
def general_calibration_error(
    data,
    binning_scheme,
    max_prob,
    class_conditional,
    norm,
    num_bins,
    threshold,
    datapoints_per_bin,
    positive_class,
):
    spec = CalibrationSpec(
        binning_scheme=binning_scheme,
        max_prob=max_prob,
        class_conditional=class_conditional,
        norm=norm,
        num_bins=num_bins,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        positive_class=positive_class,
    )
    return error_of(data, spec)


@twin(np_binned_errors.compute_all_metrics, data=ClassifierData, by_numpy=True)
def compute_all_metrics(data, num_bins, threshold, positive_class):
    specs = {
        key: CalibrationSpec(
            *key, num_bins, threshold, positive_class=positive_class
        ).for_data(data)
        for key in _calibration_spec.grid()
    }
    examples = _inputs.examples_of(data)
    form = examples.one_column, examples.predicted is not None
    next(iter(specs.values())).warn_of_decisions(*form)
    # The bins do not depend on the norm.
    bins = {
        key[:3]: _binning.bin_statistics(examples, spec)
        for key, spec in specs.items()
        if key.norm == _calibration_spec.NORMS[0]
    }
    errors = {
        key: _binning.calibration_error(bins[key[:3]][0], key.norm) for key in specs
    }
    return errors, xp.reduce_all([valid for _, valid in bins.values()])


gce = general_calibration_error
