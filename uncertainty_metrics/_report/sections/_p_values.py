"""P-values, and the words for them."""

from __future__ import annotations

import math

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
