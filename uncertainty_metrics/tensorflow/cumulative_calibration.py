"""Calibration errors of cumulative residuals on tensors, and Spiegelhalter's test.

Declared in `uncertainty_metrics.numpy.cumulative_calibration`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uncertainty_metrics.numpy import cumulative_calibration as declared
from uncertainty_metrics.ops import _binning, _cell_scores, _inputs, xp
from uncertainty_metrics.tensorflow._twin import twin

__all__ = declared.__all__


def read_off(
    declaration: Callable[..., float],
    arithmetic: Callable[[_cell_scores.Residuals], xp.Tensor],
    arguments: dict[str, Any],
) -> tuple[xp.Tensor, xp.Tensor | bool]:
    """Returns what is read off the residuals, and whether the data were valid."""
    examples, spec = _binning.read(declared.PRESET, arguments)
    if _inputs.through_numpy() and "CPU" in examples.labels.device:
        return xp.constant(declaration(**arguments), examples.dtype), True
    residuals, valid = _cell_scores.of_examples(examples, spec)
    return arithmetic(residuals), valid


@twin(declared.kolmogorov_smirnov_calibration_error)
def kolmogorov_smirnov_calibration_error(**arguments):
    declaration = declared.kolmogorov_smirnov_calibration_error
    return read_off(declaration, _cell_scores.kolmogorov_smirnov, arguments)


@twin(declared.kuiper_calibration_error)
def kuiper_calibration_error(**arguments):
    declaration = declared.kuiper_calibration_error
    return read_off(declaration, _cell_scores.kuiper, arguments)


@twin(declared.averaged_two_bin_calibration_error)
def averaged_two_bin_calibration_error(**arguments):
    declaration = declared.averaged_two_bin_calibration_error
    return read_off(declaration, _cell_scores.averaged_two_bin, arguments)


@twin(declared.spiegelhalter_test)
def spiegelhalter_test(**arguments):
    examples, spec = _binning.read(declared.PRESET, arguments)
    z, p_value, valid = _cell_scores.spiegelhalter(examples, spec)
    return declared.SpiegelhalterTest(z, p_value), valid


ks_calibration_error = kolmogorov_smirnov_calibration_error
atb = averaged_two_bin_calibration_error
