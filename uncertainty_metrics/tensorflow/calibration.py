"""Calibration errors of classifiers on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.calibration`. Labels and predictions are tensors,
or anything that converts to them. float64 predictions are computed in float64, all
others in float32 with sums that do not drift; bins are decided in the precision that is
passed.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised, so
the result is NaN there; a wrong shape or option raises while the graph is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ParamSpec

from uncertainty_metrics import _spec
from uncertainty_metrics._spec import PRESETS, CalibrationSpec
from uncertainty_metrics._statistics import GroupValues
from uncertainty_metrics.numpy import calibration as declared
from uncertainty_metrics.ops import _binning, _classifier_scores, _inputs, xp
from uncertainty_metrics.tensorflow._twin import twin

__all__ = declared.__all__

P = ParamSpec("P")

# Of functions that take the choices as arguments: for what they leave out.
_BASE = PRESETS["expected_calibration_error"]


@twin(declared.bin_statistics)
def bin_statistics(**arguments):
    return _binning.bin_statistics(*_binning.read(_BASE, arguments))


def _error(declaration: Callable[P, Any], preset: CalibrationSpec) -> Callable[P, Any]:
    """Returns the error that is declared, with the choices of a preset."""

    @twin(declaration)
    def error(**arguments):
        examples, spec = _binning.read(preset, arguments)
        statistics, valid = _binning.bin_statistics(examples, spec)
        groups = examples.groups
        if groups is None:
            return _binning.calibration_error(statistics, spec.norm), valid
        errors = _binning.calibration_error(statistics, spec.norm, groups.number)
        worst = _classifier_scores.worst_of(errors)
        weights = _classifier_scores.group_weights(groups, examples)
        return GroupValues(errors, worst, weights), valid

    return error


gce = general_calibration_error = _error(declared.general_calibration_error, _BASE)
(
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_squared_calibration_error,
    static_calibration_error,
    adaptive_calibration_error,
    thresholded_adaptive_calibration_error,
) = (_error(getattr(declared, name), preset) for name, preset in PRESETS.items())


@twin(declared.compute_all_metrics)
def compute_all_metrics(**arguments):
    specs = {
        key: dataclasses.replace(_BASE, **key._asdict()).replaced(arguments)
        for key in _spec.grid()
    }
    examples = _inputs.examples(**_spec.data_of(arguments))
    # The bins do not depend on the norm.
    bins = {
        key[:3]: _binning.bin_statistics(examples, spec)
        for key, spec in specs.items()
        if key.norm == _spec.NORMS[0]
    }
    errors = {
        key: _binning.calibration_error(bins[key[:3]][0], key.norm) for key in specs
    }
    return errors, xp.reduce_all([valid for _, valid in bins.values()])


ece = expected_calibration_error
mce = maximum_calibration_error
rmsce = root_mean_squared_calibration_error
sce = static_calibration_error
ace = adaptive_calibration_error
tace = thresholded_adaptive_calibration_error
