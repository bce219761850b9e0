"""Two sets of different examples: does their calibration differ?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import event_of, judged_of, name_of_event
from uncertainty_metrics._report.data._predictions import (
    Decided,
    Model,
    Regression,
    Survival,
)
from uncertainty_metrics._report.sections._calibration_words import (
    Terms,
    capitalized,
    terms_of,
)
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.calibration.watching.calibration_drift import (
    drift_of_bins,
)

# A bin is named if its p-value is at most that of three standard errors.
_SMALL = 0.0027
_LEAST_EXAMPLES = 5


def statistics_of(model: Decided, num_bins: int) -> BinStatistics:
    """Returns the bins of the scores by which calibration is judged; of weighted ones
    with effective numbers.
    """
    judged = judged_of(model)
    bins = um.bin_statistics(**judged.arguments, num_bins=num_bins)
    scale = judged.sample_size / bins.counts.sum()
    sums = (bins.counts, bins.score_sums, bins.outcome_sums)
    return BinStatistics(bins.edges, *(scale * each for each in sums))


def drift_of(models: Sequence[Decided], num_bins: int) -> Any:
    """Returns the `CalibrationDrift` of two models, for which `can_drift`.

    Two classes are judged by the event of the first model. Weighted examples count by
    the effective number in each bin.
    """
    event, statistics, squares = event_of(models[0]), [], []
    for model in models:
        judged = judged_of(model, event).with_small_weights()
        given = {**judged.arguments, "num_bins": num_bins}
        statistics.append(um.bin_statistics(**given))
        given["sample_weight"] = judged.squared_weights
        squares.append(um.bin_statistics(**given).counts)
    first, second = statistics
    return drift_of_bins(first, second, np.concatenate(squares))


def can_drift(first: Model, second: Model) -> bool:
    """Says if both are classifiers or answers, of enough examples for the test."""
    return all(
        not isinstance(model, Regression | Survival)
        and judged_of(model).sample_size >= _LEAST_EXAMPLES
        for model in (first, second)
    )


def drift(models: tuple[Any, Any], num_bins: int) -> dict[str, Any]:
    """Returns the section of two models, for which `can_drift`."""
    found = drift_of(models, num_bins)
    gaps, edges = found.gaps, found.edges
    rows = [
        {
            "from": float(edges[i]),
            "to": float(edges[i + 1]),
            "first": float(gaps[0, i]),
            "second": float(gaps[1, i]),
            "z": None if np.isnan(found.z[i]) else float(found.z[i]),
            "p_value": None if np.isnan(found.z[i]) else float(found.p_values[i]),
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
    named = [row for row in rows if row["z"] is not None and row["p_value"] <= _SMALL]
    far = sorted(named, key=lambda row: -abs(row["z"]))[:3]
    where = [
        f"between {row['from']:.2f} and {row['to']:.2f} ({_signed(row['first'])} in "
        f"the first, {_signed(row['second'])} in the second)"
        for row in far
    ]
    most = (
        f" {capitalized(terms.gap)} differs most {', '.join(where)}." if where else ""
    )
    return f"Calibration differs between both sets ({shown}).{most}"


def _signed(gap: float) -> str:
    return f"{round(gap, 4) + 0.0:+.4f}"  # Without the sign of -0.0.
