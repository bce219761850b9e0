"""Rows of the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

import numpy as np

# Between the two a p-value tells little.
_CLEAR, _UNCLEAR = 0.01, 0.05


def p_value(draws: np.ndarray, error: float) -> float:
    """Returns how often draws reach an error, or rather its upper bound."""
    reached = np.sum(draws >= error - 1e-12)  # The rounding of an error of 0.
    return round(float((1 + reached) / (1 + len(draws))), 6)


def is_clear(p: float) -> bool:
    """Says if an error is more than chance gives a calibrated model, as it is shown."""
    return round(p, 3) <= _CLEAR


def verdict_on_chance(p: float) -> str:
    """Returns the end of a sentence on what chance alone gives a calibrated model."""
    shown = f"= {p:.3f}" if round(p, 3) else "< 0.001"
    if is_clear(p):
        verdict = "this one shows more than chance"
    elif round(p, 3) <= _UNCLEAR:
        verdict = "this one is borderline"
    else:
        verdict = "this one may be calibrated"
    return f"and as much as this one with p {shown}: {verdict}"


def or_inf(value: SupportsFloat) -> float | str:
    """Returns what strict JSON can hold; `float` reads it back."""
    return "inf" if value == np.inf else float(value)


def rows(metrics: Mapping[str, tuple[SupportsFloat, str]]) -> dict[str, dict[str, Any]]:
    """Returns values and their meanings, by the names of the metrics."""
    return {
        name: {"value": or_inf(value), "meaning": meaning}
        for name, (value, meaning) in metrics.items()
    }
