"""The sections of the report on predictions that were read part by part.

All numbers are of all rows: sums are exact but for rounding, and those of a sketch lie
within the bounds that `ScoreSketch` states.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from uncertainty_metrics._calibration_spec import BinningScheme, CalibrationSpec
from uncertainty_metrics._report.data._decided import (
    event_cells,
    event_of,
    name_of_event,
)
from uncertainty_metrics._report.data._predictions import Stream
from uncertainty_metrics._report.sections._answers import parts_of_brier
from uncertainty_metrics._report.sections._bootstrap_intervals import Z, row
from uncertainty_metrics._report.sections._calibration_errors import (
    diagram_of,
    errors_of,
    means_of,
)
from uncertainty_metrics._report.sections._classifier import MAX_CLASSES, class_errors
from uncertainty_metrics._report.sections._p_values import gain_over_constant, rows
from uncertainty_metrics._report.sections._score_meanings import (
    answer_scores,
    classifier_scores,
)
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.sketch import _bins_and_ranks


def own_sections(model: Stream, num_bins: int) -> dict[str, Any]:
    """Returns the sections that need other code than those of rows."""
    summary = model.summary
    data: dict[str, Any] = {"examples": summary.num_examples}
    if not summary.of_answers:
        data["classes"] = summary.num_classes
    return {
        "data": data,
        "notes": [],
        "basis": {"rows": summary.num_examples, "sample": model.sample_size},
        "calibration": _calibration(model, num_bins),
        "scoring_rules": _scoring_rules(model),
    }


def _calibration(model: Stream, num_bins: int) -> dict[str, Any]:
    summary = model.summary
    even, adaptive = (
        _statistics(model, scheme, num_bins) for scheme in ("even", "adaptive")
    )
    values = {
        "ece": float(even.errors("l1")[0]),
        "mce": float(even.errors("max")[0]),
        "rmsce": float(adaptive.errors("l2")[0]),
    }
    section: dict[str, Any] = {**means_of(model), "classes": {}}
    of_classes = summary.classes
    if of_classes is None:
        section["means"] = _means(model)
    else:
        values |= {
            "sce": of_classes.sce(num_bins=num_bins),
            "ace": of_classes.ace(num_bins=num_bins),
            "tace": of_classes.tace(num_bins=num_bins),
        }
        if (summary.num_classes or 0) <= MAX_CLASSES:
            of_each = (
                of_classes.bin_statistics(binning_scheme=scheme, num_bins=num_bins)
                for scheme in ("even", "adaptive")
            )
            names = summary.class_names or map(str, itertools.count())
            found = class_errors(*of_each)
            section["classes"] = dict(zip(names, found, strict=False))
    section["metrics"] = errors_of(values, name_of_event(model))
    section["diagram"] = diagram_of(even)
    return section


def _statistics(model: Stream, scheme: BinningScheme, num_bins: int) -> BinStatistics:
    """Returns the bins of the scores by which calibration is judged."""
    event = event_of(model)
    if event is None:
        decisions = model.summary.decisions
        return decisions.bin_statistics(binning_scheme=scheme, num_bins=num_bins)
    spec = CalibrationSpec(
        scheme, True, False, "l1", num_bins=num_bins, positive_class=True
    )
    return _bins_and_ranks.bin_statistics([event_cells(model, event)], spec)


def _means(model: Stream) -> dict[str, dict[str, Any]]:
    """Returns accuracy, mean confidence and the gap between them, with intervals."""
    means = model.summary.means()
    return {
        "accuracy": row(*means["accuracy"].interval(Z)),
        "mean confidence": row(np.nan, means["mean_confidence"].mean, np.nan),
        "accuracy - confidence": row(*means["gap"].interval(Z)),
    }


def _scoring_rules(model: Stream) -> dict[str, Any]:
    summary = model.summary
    means = summary.means()
    brier, nll = (means[n].mean for n in ("brier_score", "negative_log_likelihood"))
    gain, constant = summary.brier_gain()
    freedom = 1 - 1 / summary.effective_examples
    error = gain.standard_error / freedom**0.5 if freedom > 0 else np.inf
    of_constant = gain_over_constant(constant - gain.mean, constant, gain.mean, error)
    section: dict[str, Any] = {
        "constant": of_constant,
        "impossible_labels": summary.impossible,
        "brier_parts": {},
        "sum_of_brier_parts": brier,
    }
    impossible, size = summary.impossible, summary.num_examples
    if summary.of_answers:
        parts = summary.decisions.corp_decomposition()._asdict()
        section["metrics"] = rows(answer_scores(brier, nll, impossible, size))
        section["brier_parts"] = parts_of_brier(parts)
    else:
        section["metrics"] = rows(classifier_scores(brier, nll, impossible, size))
        section["constant"]["largest_share"] = float(summary.shares.max())
    return section
