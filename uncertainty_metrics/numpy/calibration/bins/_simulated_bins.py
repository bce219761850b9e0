"""Outcomes in bins, drawn from the forecasts as if the model were calibrated."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._clusters import Clusters, flipped_signs
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics

# The size of the largest temporary arrays.
_BLOCK = 2**22
# Sums of draws whose errors are computed together, as arrays that fit in a cache.
_SUMS_AT_ONCE = 2**12


@dataclasses.dataclass(frozen=True)
class Entries:
    """The scores of the examples (C for each), their outcomes and their bins.

    Attributes:
      scores: float64 [N, C].
      outcomes: boolean [N, C], or floats in [0, 1].
      cells: int64 [N, C], `group * bins + bin`; `num_cells` for a score at or below the
        threshold.
      num_cells: number of groups times number of bins.
    """

    scores: np.ndarray
    outcomes: np.ndarray
    cells: np.ndarray
    num_cells: int


def _adaptive_index(
    scores: np.ndarray, groups: np.ndarray, statistics: BinStatistics
) -> np.ndarray:
    """Returns the bin of each score [m] in its group [m]."""
    index = np.zeros(len(scores), np.int64)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=len(statistics.counts)))
    # A loop, since each group has edges of its own.
    for g, members in enumerate(np.split(order, ends[:-1])):
        filled = np.flatnonzero(statistics.counts[g])
        if len(filled):
            uppers = statistics.edges[g, filled[:-1] + 1]
            index[members] = filled[np.searchsorted(uppers, scores[members], "left")]
    return index


def entries(
    examples: _examples.Examples, spec: CalibrationSpec, statistics: BinStatistics
) -> Entries:
    scores, outcomes, groups = _scores.scored_rows(examples, spec)
    flat, group = scores.reshape(-1), groups.reshape(-1)
    num_groups, bins = statistics.counts.shape
    if spec.binning_scheme == "even":
        index = _binning.even_index(flat, bins)
    else:
        index = _adaptive_index(flat.astype(np.float64), group, statistics)
    cells = group * bins + index
    num_cells = num_groups * bins
    if spec.threshold > 0:
        cells[~_scores.above(flat, spec.threshold)] = num_cells
    cells = cells.reshape(scores.shape)
    return Entries(scores.astype(np.float64), outcomes, cells, num_cells)


def _hit_distribution(scores: np.ndarray) -> np.ndarray:
    """Returns the probabilities of 0, ..., n hits in n independent trials whose
    probabilities of a hit are the scores [n].

    They are the coefficients of `prod(1 - p + p x)`.
    """
    polynomials = np.stack([1 - scores, scores], axis=1)
    while len(polynomials) > 1:  # Each round multiplies the polynomials in pairs.
        if len(polynomials) % 2:
            one = np.eye(1, polynomials.shape[1])
            polynomials = np.concatenate([polynomials, one])
        first, second = polynomials[::2], polynomials[1::2]
        size = 2 * (polynomials.shape[1] - 1)
        product = np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size))
        # The transform adds the coefficient of x^size to that of x^0.
        top = first[:, -1:] * second[:, -1:]
        product[:, :1] -= top
        polynomials = np.maximum(np.concatenate([product, top], axis=1), 0.0)
    return polynomials[0, : len(scores) + 1]


def _independent_sums(
    scored: Entries, num_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws outcome sums [resamples, cells] of examples with one score each."""
    sums = np.zeros((num_resamples, scored.num_cells))
    cells = scored.cells[:, 0]
    members = _examples.Partition(cells, scored.num_cells + 1).rows()
    for cell, rows in enumerate(members[: scored.num_cells]):
        if len(rows):  # One draw of the sum is faster than a draw of each term.
            below = np.cumsum(_hit_distribution(scored.scores[rows, 0]))
            uniforms = rng.random(num_resamples) * below[-1]
            sums[:, cell] = np.searchsorted(below, uniforms)
    return sums


def _label_sums(
    scored: Entries,
    weights: np.ndarray | None,
    num_resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws outcome sums [resamples, cells] of labels: one outcome of a row is 1."""
    num_cells = scored.num_cells + 1
    rows = max(1, _BLOCK // num_resamples)
    offsets = np.arange(num_resamples) * num_cells
    sums = np.zeros(num_resamples * num_cells)
    for start in range(0, len(scored.cells), rows):
        block = slice(start, start + rows)
        scores = scored.scores[block]
        # If a row sums to less than 1, the remaining probability is that of no class.
        scores = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1.0)
        no_class = np.maximum(1 - scores.sum(axis=1, keepdims=True), 0.0)
        cells = np.pad(
            scored.cells[block], ((0, 0), (0, 1)), constant_values=scored.num_cells
        )
        # The draws from a row are exchangeable: it is enough to draw how often each
        # class occurs, and to shuffle.
        times = rng.multinomial(num_resamples, np.hstack([scores, no_class]))
        repeated = np.repeat(cells.reshape(-1), times.reshape(-1))
        drawn = repeated.reshape(-1, num_resamples)
        rng.permuted(drawn, axis=1, out=drawn)
        drawn += offsets
        weight = weights
        if weights is not None:
            weight = np.repeat(weights[block], num_resamples)
        sums += np.bincount(drawn.reshape(-1), weight, len(sums))
    return sums.reshape(num_resamples, num_cells)[:, :-1]


def _flipped_sums(
    scored: Entries,
    weights: np.ndarray | None,
    num_resamples: int,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Yields outcome sums [cells] with random signs of (outcome - score)."""
    cells, scores = scored.cells.reshape(-1), scored.scores
    residuals = scored.outcomes - scores
    if weights is not None:
        scores, residuals = weights[:, None] * scores, weights[:, None] * residuals
    for _ in range(num_resamples):  # All signs at once would be a large matrix.
        signs = 2.0 * rng.integers(0, 2, (len(scores), 1)) - 1
        drawn = (scores + signs * residuals).reshape(-1)
        yield np.bincount(cells, drawn, scored.num_cells + 1)[:-1]


def _flipped_cluster_sums(
    scored: Entries,
    examples: _examples.Examples,
    clusters: Clusters,
    num_bins: int,
    num_resamples: int,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Yields outcome sums [cells] in which the (outcome - score) of all examples of a
    cluster keep or change their signs together.
    """
    from scipy import sparse

    cells, columns = scored.cells.reshape(-1), scored.cells.shape[1]
    scores, residuals = scored.scores.reshape(-1), scored.outcomes - scored.scores
    residuals = residuals.reshape(-1)
    weights = (
        np.ones(len(scored.cells)) if examples.weights is None else examples.weights
    )
    weights = np.repeat(weights, columns)
    shape = scored.num_cells + 1, clusters.number

    def of_cells(values: np.ndarray) -> np.ndarray:
        return np.bincount(cells, weights * values, shape[0])

    of_scores = of_cells(scores)
    ratios = np.ones(shape[0])
    if examples.shares is None:
        variances = of_cells(residuals**2), of_cells(scores * (1 - scores))
        ratios[:-1] = _ratios_of_spread(*variances, num_bins)
    codes = np.repeat(clusters.codes, columns)
    values = ratios[cells] * weights * residuals
    of_clusters = sparse.coo_array((values, (cells, codes)), shape).tocsr()
    for signs in flipped_signs(rng, clusters.number, num_resamples):
        for sums in (of_clusters @ signs.T).T:
            yield (of_scores + sums)[:-1]


def _ratios_of_spread(
    of_data: np.ndarray, of_model: np.ndarray, num_bins: int
) -> np.ndarray:
    """Returns how many times smaller the spread of (outcome - score) is than that of
    labels drawn from the forecasts, at least 1, [cells]: it is smaller by chance if a
    bin has few of the rarer outcomes. Up to 15 ranges of neighbouring bins have each
    one ratio.

    Args:
      of_data: sums of (outcome - score)^2 over cells, [cells + 1].
      of_model: sums of score (1 - score), [cells + 1].
      num_bins: the number of bins of each group.
    """
    number = min(num_bins, DEFAULT_NUM_BINS)
    starts = np.unique(-(-np.arange(number) * num_bins // number))
    of_ranges = np.repeat(np.arange(len(starts)), np.diff(starts, append=num_bins))
    of_data, of_model = (
        np.add.reduceat(each[:-1].reshape(-1, num_bins), starts, axis=1)
        for each in (of_data, of_model)
    )
    ratios = np.where(of_data > 0, of_model / np.where(of_data > 0, of_data, 1.0), 1.0)
    return np.sqrt(np.maximum(ratios, 1.0))[:, of_ranges].reshape(-1)


def calibrated_sums(
    examples: _examples.Examples,
    spec: CalibrationSpec,
    statistics: BinStatistics,
    num_resamples: int,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Yields outcome sums [groups, bins] of labels that are drawn from the forecasts.

    The scores, and with them the bins, do not change. The forecasts do not tell the
    distribution of outcomes between 0 and 1, nor how the labels of a cluster depend on
    each other: there the signs of (outcome - score) are drawn, for each example or each
    cluster.
    """
    scored = entries(examples, spec, statistics)
    shape = statistics.counts.shape
    if examples.clusters is not None:
        for sums in _flipped_cluster_sums(
            scored, examples, examples.clusters, shape[1], num_resamples, rng
        ):
            yield sums.reshape(shape)
        return
    if examples.shares is not None:
        for sums in _flipped_sums(scored, examples.weights, num_resamples, rng):
            yield sums.reshape(shape)
        return
    # Blocks of resamples bound the memory if there are many cells.
    block = max(1, _BLOCK // (scored.num_cells + 1))
    for start in range(0, num_resamples, block):
        size = min(block, num_resamples - start)
        if scored.scores.shape[1] == 1 and examples.weights is None:
            sums = _independent_sums(scored, size, rng)
        else:
            sums = _label_sums(scored, examples.weights, size, rng)
        yield from sums.reshape(size, *shape)


def _accuracies(outcome_sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the mean outcomes of bins; NaN for empty bins."""
    filled = counts > 0
    return np.where(filled, outcome_sums / np.where(filled, counts, 1.0), np.nan)


def interval(draws: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends [...] of the central intervals of draws [B, ...] without NaN."""
    ordered = np.sort(draws, axis=0)  # NaN comes last.
    last = np.maximum(np.sum(~np.isnan(draws), axis=0) - 1, 0)[None]
    # Rounded, so that an interval of 0.95 leaves out 25 of 1001 draws on each side.
    below = np.floor(np.round((1 - level) / 2 * last, 9)).astype(np.int64)
    lower, upper = (
        np.take_along_axis(ordered, index, axis=0)[0] for index in (below, last - below)
    )
    return lower, upper


def consistency_band(
    examples: _examples.Examples,
    spec: CalibrationSpec,
    level: float,
    num_resamples: int,
    seed: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns central intervals of the accuracies of a calibrated model.

    Consistency resampling (Broecker and Smith, 2007): the scores do not change, and
    labels are drawn from the forecasts, or signs as in `calibrated_sums`.

    Returns:
      Lower and upper ends, float64 [groups, bins]; NaN in empty bins.
    """
    rng = _inputs.generator(seed)
    statistics = _binning.bin_statistics(examples, spec)
    sums = calibrated_sums(examples, spec, statistics, num_resamples, rng)
    drawn = np.clip(_accuracies(np.stack(list(sums)), statistics.counts), 0.0, 1.0)
    return interval(drawn, level)


def effective_sizes(
    examples: _examples.Examples, spec: CalibrationSpec, statistics: BinStatistics
) -> np.ndarray:
    """Returns the number of examples in each bin, [groups, bins]. With weights it is
    the effective number, (sum w)^2 / sum w^2, which does not depend on their scale.
    """
    counts = statistics.counts
    if examples.weights is None:
        return counts
    scored = entries(examples, spec, statistics)
    largest = examples.weights.max()  # Shares of it, whose squares do not overflow.
    squares = np.repeat((examples.weights / largest) ** 2, scored.cells.shape[1])
    squares = np.bincount(scored.cells.reshape(-1), squares, scored.num_cells + 1)
    squares = squares[:-1].reshape(counts.shape)
    return (counts / largest) ** 2 / np.where(squares > 0, squares, 1.0)


def errors_of(
    statistics: BinStatistics, sums: Iterator[np.ndarray], norm: Norm
) -> Iterator[float]:
    """Yields the calibration error with each of many outcome sums [groups, bins]."""
    at_once = max(1, _SUMS_AT_ONCE // statistics.counts.size)
    while drawn := list(itertools.islice(sums, at_once)):
        copies = (len(drawn), 1)
        counts, scores = (
            np.tile(array, copies)
            for array in (statistics.counts, statistics.score_sums)
        )
        stacked = BinStatistics(None, counts, scores, np.concatenate(drawn))
        yield from _binning.calibration_errors(stacked, norm, len(drawn)).tolist()
