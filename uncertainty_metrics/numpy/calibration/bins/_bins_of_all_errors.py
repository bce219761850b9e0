"""Bins of many calibration errors of the same examples, with scores sorted once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics


def each_statistics(
    examples: _examples.Examples, specs: Iterable[CalibrationSpec]
) -> list[BinStatistics]:
    """Returns the statistics of each spec; sorts the scores of each class only once."""
    all_statistics: list[Any] = []
    by_class: list[Any] = []
    pooled: list[Any] = []
    has_many = len(examples.labels) >= _binning.FEW_EXAMPLES
    for spec in specs:
        scores_classes = not (spec.max_prob or spec.positive_class)
        sorts_classes = scores_classes and spec.binning_scheme == "adaptive"
        are_labels = examples.weights is None and examples.shares is None
        if not (sorts_classes and has_many and are_labels):
            all_statistics.append(_binning.bin_statistics(examples, spec))
            continue
        if not by_class:
            each_class = dataclasses.replace(
                spec, class_conditional=True, threshold=0.0
            )
            by_class = [
                _binning.sorted_scores(*group)
                for group in _scores.scores_of_groups(examples, each_class)
            ]
        if not (spec.class_conditional or pooled):
            scores, outcomes = (
                np.concatenate(arrays)
                for arrays in list(zip(*by_class, strict=True))[:2]
            )
            packed = scores.view(f"u{scores.dtype.itemsize}")
            packed <<= 1
            packed |= outcomes
            packed.sort(kind="stable")  # Merges the classes, each of which is sorted.
            np.bitwise_and(packed, 1, out=outcomes)
            packed >>= 1
            pooled = [(scores, outcomes, None)]
        groups = by_class if spec.class_conditional else pooled
        all_statistics.append(
            _binning.adaptive_statistics(groups, spec, are_sorted=True)
        )
    return all_statistics
