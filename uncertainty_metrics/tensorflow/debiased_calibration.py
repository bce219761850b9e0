"""Calibration error on tensors, without the bias of few examples in a bin.

Declared in `uncertainty_metrics.numpy.debiased_calibration`.
"""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics._spec import CalibrationSpec
from uncertainty_metrics.numpy import debiased_calibration as declared
from uncertainty_metrics.tensorflow import _binning, _inputs
from uncertainty_metrics.tensorflow._twin import twin

__all__ = ["debiased_calibration_error"]


@twin(declared.debiased_calibration_error)
def debiased_calibration_error(
    labels,
    probabilities,
    *,
    binning_scheme,
    max_prob,
    class_conditional,
    num_bins,
    threshold,
    datapoints_per_bin,
    logits,
    probs,
    labels_predicted,
    sample_weight,
    ignore_index,
    positive_class,
    squared,
):
    spec = CalibrationSpec(
        binning_scheme,
        max_prob,
        class_conditional,
        "l2",
        num_bins,
        threshold,
        datapoints_per_bin,
        positive_class,
    )
    _checks.boolean("squared", squared)
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    statistics, valid = _binning.bin_statistics(examples, spec)
    unit = _binning.unit_of(examples.weights, examples.dtype)
    return _binning.debiased_error(statistics, squared, unit), valid
