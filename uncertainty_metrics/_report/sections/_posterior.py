"""The section on the posterior of the ECE, and the ECE of a calibrated model."""

from __future__ import annotations

from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import Decisions, judged_of
from uncertainty_metrics._report.data._predictions import Decided, remembered
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._p_values import (
    is_clear,
    p_value,
    verdict_on_chance,
)

# Draws of the ECE. With more bins each draw takes longer, so there are fewer draws.
_MAX_DRAWS, _MIN_DRAWS, _MAX_DRAWN_BINS = 5000, 100, 1_000_000
# Random numbers to draw, at most, for the ECE of a calibrated model.
_MAX_DRAWN = 10_000_000
# The same seed in every report, so that a report can be repeated. Both models of a
# comparison share it: their draws are compared in all pairs, so the draws need not be
# independent.
SEED = 0
# Examples, at most, for the exact test of calibration, which draws from the forecasts.
_MAX_EXACT = 100_000
_AS_ECE: dict[str, Any] = {
    "binning_scheme": "even",
    "norm": "l1",
    "num_resamples": 1000,
    "seed": SEED,
}


def num_draws(num_bins: int) -> int:
    return max(_MIN_DRAWS, min(_MAX_DRAWS, _MAX_DRAWN_BINS // num_bins))


@remembered
def ece_draws(model: Decided, num_bins: int) -> np.ndarray:
    """Draws from the posterior of the ECE, the same on every call."""
    return um.bayesian_expected_calibration_error(
        num_bins,
        **judged_of(model).arguments,
        num_ece_samples=num_draws(num_bins),
        seed=SEED,
    )


def bayesian_ece(model: Decided, ece: float, num_bins: int) -> dict[str, Any]:
    """Returns the section; `ece` is the calibration error of the data."""
    draws = ece_draws(model, num_bins)
    tail = (1 - INTERVAL_LEVEL) / 2
    low, median, high = map(float, np.quantile(draws, [tail, 0.5, 1 - tail]))
    mean = float(draws.mean())
    variances = _variances_by_chance(judged_of(model), num_bins)
    chance = _ece_by_chance(variances)
    p = _p_value(model, ece, variances, num_bins)
    verdict = (
        f"The ECE of the model lies between {low:.4f} and {high:.4f} with "
        f"{100 * INTERVAL_LEVEL:.0f}% probability (mean {mean:.4f}); the ECE of the "
        f"data is {ece:.4f}. By chance alone a calibrated model would show up to about "
        f"{chance:.4f} on such data; {verdict_on_chance(p)}"
    )
    if not is_clear(p):
        verdict += (
            ". If the model is calibrated, this interval is too high: it never holds 0"
        )
    return {
        "mean": mean,
        "median": median,
        "interval": {"level": INTERVAL_LEVEL, "low": low, "high": high},
        "ece_by_chance": chance,
        "p_value": p,
        "verdict": f"{verdict}.",
    }


def _p_value(model: Decided, ece: float, variances: np.ndarray, num_bins: int) -> float:
    """Returns the probability that a calibrated model has an ECE as large on such data.

    The p-value is exact, except with many examples or with weights: then the sum in
    each bin is taken as Normal, to save time.
    """
    decisions = judged_of(model)
    if decisions.weights is None and len(decisions.correct) <= _MAX_EXACT:
        return um.calibration_test(
            correct=decisions.correct,
            confidences=decisions.confidences,
            **_AS_ECE,
            num_bins=num_bins,
        ).p_value
    return p_value(_draws_by_chance(variances), ece)


def _variances_by_chance(decisions: Decisions, num_bins: int) -> np.ndarray:
    """Returns the variance by chance of each bin's part of a calibrated model's ECE.

    The ECE is never below 0, so noise makes it, and its posterior, too large. If the
    scores s_i of bin b are the probabilities of being right, its share of the ECE is
    about |N(0, v_b)| with v_b = sum_i w_i^2 s_i (1 - s_i) / (sum w)^2.
    """
    squares = um.bin_statistics(**decisions.arguments, num_bins=num_bins)
    counts, weights = squares.counts, decisions.weights
    if weights is not None:
        # Large weights could overflow; their scale cancels in the ratio below.
        scale = weights.max()
        counts, squared = counts / scale, decisions.squared_weights / scale**2
        squares = um.bin_statistics(
            **decisions._replace(weights=squared).arguments, num_bins=num_bins
        )
    scores = np.minimum(squares.confidences, 1)  # Rounding may give more than 1.
    variances = squares.counts * scores * (1 - scores) / counts.sum() ** 2
    return variances[variances > 0]


def _ece_by_chance(variances: np.ndarray) -> float:
    """Returns an ECE that a calibrated model rarely exceeds.

    It is the mean of the sum over bins plus two standard deviations.
    """
    mean = (2 / np.pi) ** 0.5 * np.sqrt(variances).sum()
    return float(mean + 2 * ((1 - 2 / np.pi) * variances.sum()) ** 0.5)


def _draws_by_chance(variances: np.ndarray) -> np.ndarray:
    """Draws the ECE of a calibrated model."""
    number = min(10_000, _MAX_DRAWN // (len(variances) + 1))
    draws = np.random.default_rng(SEED).standard_normal((number, len(variances)))
    return np.abs(draws) @ np.sqrt(variances)
