"""Rows of the tables of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, SupportsFloat

import numpy as np

# A p-value up to the first is clear, a larger one up to the second is borderline.
_CLEAR, _UNCLEAR = 0.01, 0.05


def p_value(draws: np.ndarray, error: float) -> float:
    """Returns an upper bound of the probability that a draw is at least an error."""
    reached = np.sum(draws >= error - 1e-12)  # An error of 0 may be rounded up.
    return round(float((1 + reached) / (1 + len(draws))), 6)


def is_clear(p: float) -> bool:
    """Says whether an error is clearly more than chance gives a calibrated model.

    The p-value is rounded as in the report, so that text and number agree.
    """
    return round(p, 3) <= _CLEAR


def is_borderline(p: float) -> bool:
    """Says whether an error is more than chance usually gives, but not clearly more."""
    return not is_clear(p) and round(p, 3) <= _UNCLEAR


def shown_p_value(p: float) -> str:
    """Returns the text of a p-value with its sign, such as "= 0.012" or "< 0.001".

    1000 resamples cannot give less than 1 / 1001, so "= 0.001" would say too much.
    """
    if not round(p, 3):
        return "< 0.001"
    return "≤ 0.001" if p <= 0.001 else f"= {p:.3f}"


def decimals(error: float) -> int:
    """Returns how many decimals to show of a number with this uncertainty: three, or
    more where millions of examples leave little uncertainty.
    """
    return 3 if not error > 0 else min(max(3, math.ceil(-math.log10(error))), 6)


def verdict_on_chance(p: float) -> str:
    """Returns the end of a sentence on what chance alone gives a calibrated model."""
    if is_clear(p):
        verdict = "this model shows more than chance"
    elif is_borderline(p):
        verdict = "this model is borderline"
    else:
        verdict = "this model may be calibrated"
    return f"p {shown_p_value(p)} for this value: {verdict}"


def against_constant(
    model: np.ndarray, constant: np.ndarray, weights: np.ndarray | None
) -> dict[str, float]:
    """Returns mean scores of a model and of a constant forecast, and their difference.

    Args:
      model: the scores of the model for the examples, [N]; smaller is better.
      constant: the scores of one and the same forecast for all examples, [N].
      weights: [N], at most 1, or None.

    Returns:
      A dict with the means `model` and `constant`; `gain`, the constant's mean less the
      model's; and `p_value`, the probability of a gain or loss as large if the true
      gain is 0. The gain over its standard error is taken as standard Normal, which
      holds for many examples.
    """
    shares = np.ones(len(model)) if weights is None else weights
    shares = shares / shares.sum()
    gains = constant - model
    gain = float(shares @ gains)
    # One example says nothing about the spread. For n equal weights, 1 / freedom is
    # n / (n - 1), which makes the variance unbiased.
    freedom = 1 - float(shares @ shares)
    spread = float(shares**2 @ (gains - gain) ** 2)
    error = (spread / freedom) ** 0.5 if freedom > 0 else math.inf
    means = float(shares @ model), float(shares @ constant)
    return gain_over_constant(*means, gain, error)


def gain_over_constant(
    model: float, constant: float, gain: float, error: float
) -> dict[str, float]:
    """Returns the dict of `against_constant`.

    Args:
      model: mean score of the model.
      constant: mean score of the constant forecast.
      gain: the second mean less the first.
      error: standard error of the gain.
    """
    z = abs(gain) / error if error > 0 else math.inf if abs(gain) > 1e-12 else 0.0
    return {
        "model": model,
        "constant": constant,
        "gain": gain,
        "p_value": math.erfc(z / 2**0.5),
    }


def rows(metrics: Mapping[str, tuple[SupportsFloat, str]]) -> dict[str, dict[str, Any]]:
    """Returns a dict with value and meaning for the name of each metric."""
    return {
        name: {"value": float(value), "meaning": meaning}
        for name, (value, meaning) in metrics.items()
    }


def of_sample(size: int) -> str:
    """Returns words that name the rows behind a result that a summary cannot give."""
    return f"about a uniform sample of {size:,} rows"
