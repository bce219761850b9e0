"""The test of calibration by the ECE, and the ECE of a calibrated model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import Decisions, judged_of
from uncertainty_metrics._report.data._predictions import Decided, remembered
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._calibration_errors import ece_of
from uncertainty_metrics._report.sections._model_report import SEED
from uncertainty_metrics._report.sections._p_values import p_value
from uncertainty_metrics.numpy import _clusters
from uncertainty_metrics.numpy.calibration.bins import _binning

# Random numbers to draw, at most, for the ECE of a calibrated model.
_MAX_DRAWN = 10_000_000
# Examples, at most, for the exact test of calibration, which draws from the forecasts.
_MAX_EXACT = 100_000
_AS_ECE: dict[str, Any] = {
    "binning_scheme": "even",
    "norm": "l1",
    "num_resamples": 1000,
    "seed": SEED,
}


def ece_p_value(model: Decided, num_bins: int) -> float:
    """Returns the p-value of the test of calibration by the ECE of the data."""
    return float(p_value_of(model, ece_of(model, num_bins), num_bins))


@remembered
def p_value_of(model: Decided, ece: float, num_bins: int) -> float:
    """Returns the probability that a calibrated model has an ECE as large on such data.

    The p-value is exact, except with many examples or with weights: then the sum in
    each bin is taken as Normal, to save time. With clusters, the signs of whole
    clusters are flipped.
    """
    decisions, clusters = judged_of(model), clusters_of(model)
    is_few = len(decisions.correct) <= _MAX_EXACT or clusters is not None
    if decisions.weights is None and is_few:
        return um.calibration_test(
            correct=decisions.correct,
            confidences=decisions.confidences,
            **_AS_ECE,
            num_bins=num_bins,
            clusters=clusters,
        ).p_value
    if clusters is not None:
        return p_value(_draws_of_clusters(model, num_bins), ece)
    return p_value(_draws_by_chance(_variances_by_chance(decisions, num_bins)), ece)


@remembered
def ece_by_chance(model: Decided, num_bins: int) -> float:
    """Returns an ECE that a calibrated model rarely exceeds.

    It is the mean of the sum over bins plus two standard deviations.
    """
    if clusters_of(model) is not None:
        draws = _draws_of_clusters(model, num_bins)
        return float(draws.mean() + 2 * draws.std())
    variances = _variances_by_chance(judged_of(model), num_bins)
    mean = (2 / np.pi) ** 0.5 * np.sqrt(variances).sum()
    return float(mean + 2 * ((1 - 2 / np.pi) * variances.sum()) ** 0.5)


@remembered
def _draws_of_clusters(model: Decided, num_bins: int) -> np.ndarray:
    """Draws the ECE of a calibrated model whose examples come in clusters: the gaps of
    each whole cluster keep or change their sign.
    """
    decisions, codes = judged_of(model).with_small_weights(), clusters_of(model)
    assert codes is not None
    scores = decisions.confidences.astype(np.float64)
    gaps = decisions.correct - scores
    total = float(len(gaps))
    if decisions.weights is not None:
        gaps, total = gaps * decisions.weights, float(decisions.weights.sum())
    bins = _binning.even_index(scores, num_bins)
    number = int(codes.max()) + 1
    sums = sparse.csr_array((gaps / total, (codes, bins)), shape=(number, num_bins))
    rng = np.random.default_rng(SEED)
    signs = _clusters.flipped_signs(rng, number, _AS_ECE["num_resamples"])
    return np.concatenate([np.abs(each @ sums).sum(axis=1) for each in signs])


def _variances_by_chance(decisions: Decisions, num_bins: int) -> np.ndarray:
    """Returns the variance by chance of each bin's part of a calibrated model's ECE.

    The ECE is never below 0, so noise makes it, and its posterior, too large. If the
    scores s_i of bin b are the probabilities of being right, its share of the ECE is
    about |N(0, v_b)| with v_b = sum_i w_i^2 s_i (1 - s_i) / (sum w)^2. The scores do
    not tell how much grades y_i vary: (y_i - s_i)^2 takes the place of s_i (1 - s_i).
    """
    if decisions.correct.dtype.kind == "f":
        return _variances_of_grades(decisions, num_bins)
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


def _variances_of_grades(decisions: Decisions, num_bins: int) -> np.ndarray:
    """Returns the variance by chance of each bin's part of the ECE, of grades."""
    decisions = decisions.with_small_weights()
    scores = decisions.confidences.astype(np.float64)
    squares = decisions.squared_weights * (decisions.correct - scores) ** 2
    total = len(scores) if decisions.weights is None else decisions.weights.sum()
    bins = _binning.even_index(scores, num_bins)
    variances = np.bincount(bins, squares, num_bins) / total**2
    return variances[variances > 0]


def _draws_by_chance(variances: np.ndarray) -> np.ndarray:
    """Draws the ECE of a calibrated model."""
    number = min(10_000, _MAX_DRAWN // (len(variances) + 1))
    draws = np.random.default_rng(SEED).standard_normal((number, len(variances)))
    return np.abs(draws) @ np.sqrt(variances)
