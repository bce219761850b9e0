"""Two sets of different examples: does their calibration differ?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report._decisions import event_of, judged_of, name_of_event
from uncertainty_metrics._report._predictions import (
    Decided,
    Model,
    Regression,
    Survival,
)
from uncertainty_metrics._report._sections_rows import (
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics._report._terms import Terms, capitalized, terms_of
from uncertainty_metrics.numpy.calibration._binning import BinStatistics

# Standard errors by which the gap of a bin must differ to be named.
_FAR = 3.0
_LEAST_EXAMPLES = 5


def statistics_of(
    model: Decided, num_bins: int, event: int | None = None
) -> BinStatistics:
    """Returns the bins of the scores by which calibration is judged; of weighted ones
    with effective numbers.
    """
    judged = judged_of(model, event)
    bins = um.bin_statistics(**judged.arguments, num_bins=num_bins)
    scale = judged.sample_size / bins.counts.sum()
    sums = (bins.counts, bins.score_sums, bins.outcome_sums)
    return BinStatistics(bins.edges, *(scale * each for each in sums))


def statistics_of_both(models: Sequence[Decided], num_bins: int) -> list[BinStatistics]:
    """Returns the bins of two models, of two classes by the event of the first."""
    event = event_of(models[0])
    return [statistics_of(model, num_bins, event) for model in models]


def can_drift(first: Model, second: Model) -> bool:
    """Says if both are classifiers or answers, of enough examples for the test."""
    return all(
        not isinstance(model, Regression | Survival)
        and judged_of(model).sample_size >= _LEAST_EXAMPLES
        for model in (first, second)
    )


def drift(models: tuple[Any, Any], num_bins: int) -> dict[str, Any]:
    """Returns the section of two models, for which `can_drift`."""
    first, second = statistics_of_both(models, num_bins)
    found = um.calibration_drift(first, second)
    gaps, edges = found.gaps, found.edges
    rows = [
        {
            "from": float(edges[i]),
            "to": float(edges[i + 1]),
            "first": float(gaps[0, i]),
            "second": float(gaps[1, i]),
            "z": None if np.isnan(found.z[i]) else float(found.z[i]),
        }
        for i in range(len(found.z))
    ]
    return {
        "p_value": found.p_value,
        "statistic": found.statistic,
        "degrees_of_freedom": found.degrees_of_freedom,
        "ece_difference": found.ece_difference,
        "verdict": _verdict(found.p_value, rows, terms_of(name_of_event(models[0]))),
        "bins": rows,
    }


def _verdict(p: float, rows: list[dict[str, Any]], terms: Terms) -> str:
    """Says whether calibration has changed, and in which bins most."""
    shown = f"p {shown_p_value(p)}"
    if is_borderline(p):
        return f"Calibration may differ between both sets ({shown}): borderline."
    if not is_clear(p):
        return (
            "Calibration does not clearly differ between both sets: such differences "
            f"between the gaps of the bins are usual by chance ({shown})."
        )
    far = sorted(rows, key=lambda row: -abs(row["z"] or 0.0))[:3]
    where = [
        f"between {row['from']:.2f} and {row['to']:.2f} ({_signed(row['first'])} in "
        f"the first, {_signed(row['second'])} in the second)"
        for row in far
        if abs(row["z"] or 0.0) > _FAR
    ]
    most = (
        f" {capitalized(terms.gap)} differs most {', '.join(where)}." if where else ""
    )
    return f"Calibration differs between both sets ({shown}).{most}"


def _signed(gap: float) -> str:
    return f"{round(gap, 4) + 0.0:+.4f}"  # Without the sign of -0.0.
