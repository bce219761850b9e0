"""The bins of all calibration errors of the same examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration import _binning
from uncertainty_metrics.numpy.calibration._binning import BinStatistics


def each_statistics(
    examples: _inputs.Examples, specs: Iterable[CalibrationSpec]
) -> list[BinStatistics]:
    """Returns the statistics of each, but sorts the scores of a class only once."""
    found: list[Any] = []
    by_class: list[Any] = []
    pooled: list[Any] = []
    many = len(examples.labels) >= _binning.FEW
    for spec in specs:
        of_classes = not (spec.max_prob or spec.positive_class)
        adaptive = spec.binning_scheme == "adaptive"
        if not (adaptive and of_classes and many and examples.weights is None):
            found.append(_binning.bin_statistics(examples, spec))
            continue
        if not by_class:
            every = dataclasses.replace(spec, class_conditional=True, threshold=0.0)
            by_class = [
                _binning.sorted_scores(*group)
                for group in _binning.scores_of_groups(examples, every)
            ]
        if not (spec.class_conditional or pooled):
            scores, outcomes = (
                np.concatenate(arrays)
                for arrays in list(zip(*by_class, strict=True))[:2]
            )
            packed = scores.view(f"u{scores.dtype.itemsize}")
            packed <<= 1
            packed |= outcomes
            packed.sort(kind="stable")  # Which merges what is sorted.
            np.bitwise_and(packed, 1, out=outcomes)
            packed >>= 1
            pooled = [(scores, outcomes, None)]
        groups = by_class if spec.class_conditional else pooled
        found.append(_binning.adaptive_statistics(groups, spec, ordered=True))
    return found
