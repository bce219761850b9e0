"""Rows of the tables of a report."""

from __future__ import annotations

import math
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


def is_borderline(p: float) -> bool:
    """Says if an error is more than chance mostly gives, but not clearly."""
    return not is_clear(p) and round(p, 3) <= _UNCLEAR


def shown_p_value(p: float) -> str:
    """Returns a p-value after the sign that belongs to it."""
    return f"= {p:.3f}" if round(p, 3) else "< 0.001"


def verdict_on_chance(p: float) -> str:
    """Returns the end of a sentence on what chance alone gives a calibrated model."""
    if is_clear(p):
        verdict = "this one shows more than chance"
    elif is_borderline(p):
        verdict = "this one is borderline"
    else:
        verdict = "this one may be calibrated"
    return f"and as much as this one with p {shown_p_value(p)}: {verdict}"


def against_constant(
    model: np.ndarray, constant: np.ndarray, weights: np.ndarray | None
) -> dict[str, float]:
    """Returns mean scores of a model and of a constant forecast, and their difference.

    Args:
      model: scores of the examples [N], smaller ones better.
      constant: those of the same forecast for all examples, [N].
      weights: [N], at most 1, or None.

    Returns:
      A dict with the means `model` and `constant`; `gain`, the second less the first;
      and `p_value`, how likely as large a gain, or loss, is where there is none: of its
      mean over its standard error, standard Normal for many examples.
    """
    shares = np.ones(len(model)) if weights is None else weights
    shares = shares / shares.sum()
    gains = constant - model
    gain = float(shares @ gains)
    # Of one example nothing is known of the spread; of n equal weights the second
    # factor is n / (n - 1).
    freedom = 1 - float(shares @ shares)
    spread = float(shares**2 @ (gains - gain) ** 2)
    error = (spread / freedom) ** 0.5 if freedom > 0 else math.inf
    means = float(shares @ model), float(shares @ constant)
    return gain_over_constant(*means, gain, error)


def gain_over_constant(
    model: float, constant: float, gain: float, error: float
) -> dict[str, float]:
    """Returns what `against_constant` does, of the two means, the gain and its standard
    error.
    """
    z = abs(gain) / error if error > 0 else math.inf if abs(gain) > 1e-12 else 0.0
    return {
        "model": model,
        "constant": constant,
        "gain": gain,
        "p_value": math.erfc(z / 2**0.5),
    }


def rows(metrics: Mapping[str, tuple[SupportsFloat, str]]) -> dict[str, dict[str, Any]]:
    """Returns values and their meanings, by the names of the metrics."""
    return {
        name: {"value": float(value), "meaning": meaning}
        for name, (value, meaning) in metrics.items()
    }


def of_sample(size: int) -> str:
    """Returns of which rows a finding is that needs rows."""
    return f"of a uniform sample of {size:,} rows"
