"""Resamples of the outcomes in bins: of a calibrated model, and of the bootstrap."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from uncertainty_metrics._spec import CalibrationSpec
from uncertainty_metrics.numpy import _binning, _inputs
from uncertainty_metrics.numpy._binning import BinStatistics

# Entries of the largest temporary arrays.
_BLOCK = 2**22


@dataclasses.dataclass(frozen=True)
class _Entries:
    """What each example brings to the bins: one score, or C of them.

    Attributes:
      scores: float64 [N, C].
      outcomes: boolean [N, C].
      cells: int64 [N, C], `group * bins + bin`; `num_cells` for a score at or below the
        threshold.
      num_cells: groups times bins.
    """

    scores: np.ndarray
    outcomes: np.ndarray
    cells: np.ndarray
    num_cells: int


def _adaptive_index(
    scores: np.ndarray, groups: np.ndarray, statistics: BinStatistics
) -> np.ndarray:
    """Returns the bin of each score [m] of a group [m]."""
    index = np.zeros(len(scores), np.int64)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=len(statistics.counts)))
    for g, members in enumerate(np.split(order, ends[:-1])):  # Edges are by group.
        held = np.flatnonzero(statistics.counts[g])
        if len(held):
            uppers = statistics.edges[g, held[:-1] + 1]
            index[members] = held[np.searchsorted(uppers, scores[members], "left")]
    return index


def _entries(
    examples: _inputs.Examples, spec: CalibrationSpec, statistics: BinStatistics
) -> _Entries:
    scores, outcomes, groups = _binning.scored_rows(examples, spec)
    flat, group = scores.reshape(-1), groups.reshape(-1)
    num_groups, bins = statistics.counts.shape
    if spec.binning_scheme == "even":
        index = _binning.even_index(flat, bins)
    else:
        index = _adaptive_index(flat.astype(np.float64), group, statistics)
    cells = group * bins + index
    num_cells = num_groups * bins
    if spec.threshold > 0:
        cells[~_binning.above(flat, spec.threshold)] = num_cells
    cells = cells.reshape(scores.shape)
    return _Entries(scores.astype(np.float64), outcomes, cells, num_cells)


def _hit_distribution(scores: np.ndarray) -> np.ndarray:
    """Returns the probabilities of 0, ..., n hits, one of each score [n] being a hit
    with that probability, independently: the coefficients of `prod(1 - p + p x)`.
    """
    polynomials = np.stack([1 - scores, scores], axis=1)
    while len(polynomials) > 1:  # Multiplies them in pairs.
        if len(polynomials) % 2:
            one = np.eye(1, polynomials.shape[1])
            polynomials = np.concatenate([polynomials, one])
        first, second = polynomials[::2], polynomials[1::2]
        size = 2 * (polynomials.shape[1] - 1)
        product = np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size))
        # The coefficient of x^size comes out added to that of 1.
        top = first[:, -1:] * second[:, -1:]
        product[:, :1] -= top
        polynomials = np.maximum(np.concatenate([product, top], axis=1), 0.0)
    return polynomials[0, : len(scores) + 1]


def _independent_sums(
    entries: _Entries, num_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws outcome sums [resamples, cells] of examples with one score each."""
    sums = np.zeros((num_resamples, entries.num_cells))
    cells = entries.cells[:, 0]
    order = np.argsort(cells, kind="stable")
    ends = np.cumsum(np.bincount(cells, minlength=entries.num_cells))
    members = np.split(entries.scores[order, 0], ends)
    for cell, scores in enumerate(members[: entries.num_cells]):
        if len(scores):  # A draw of the sum costs less than draws of its terms.
            below = np.cumsum(_hit_distribution(scores))
            uniforms = rng.random(num_resamples) * below[-1]
            sums[:, cell] = np.searchsorted(below, uniforms)
    return sums


def _label_sums(
    entries: _Entries,
    weights: np.ndarray | None,
    num_resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws outcome sums [resamples, cells], one outcome of each row being 1."""
    num_cells = entries.num_cells + 1
    rows = max(1, _BLOCK // num_resamples)
    offsets = np.arange(num_resamples) * num_cells
    sums = np.zeros(num_resamples * num_cells)
    for start in range(0, len(entries.cells), rows):
        block = slice(start, start + rows)
        scores = entries.scores[block]
        # What a row is short of 1 goes to no class.
        scores = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1.0)
        rest = np.maximum(1 - scores.sum(axis=1, keepdims=True), 0.0)
        cells = np.pad(
            entries.cells[block], ((0, 0), (0, 1)), constant_values=entries.num_cells
        )
        # Draws from one row are exchangeable: how often each class comes, shuffled.
        times = rng.multinomial(num_resamples, np.concatenate([scores, rest], axis=1))
        repeated = np.repeat(cells.reshape(-1), times.reshape(-1))
        drawn = repeated.reshape(-1, num_resamples)
        rng.permuted(drawn, axis=1, out=drawn)
        drawn += offsets
        weight = weights
        if weights is not None:
            weight = np.repeat(weights[block], num_resamples)
        sums += np.bincount(drawn.reshape(-1), weight, len(sums))
    return sums.reshape(num_resamples, num_cells)[:, :-1]


def calibrated_sums(
    examples: _inputs.Examples,
    spec: CalibrationSpec,
    statistics: BinStatistics,
    num_resamples: int,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Yields outcome sums [groups, bins] of labels that are drawn from the forecasts.

    The scores, and with them the bins, stay as they are.
    """
    entries = _entries(examples, spec, statistics)
    shape = statistics.counts.shape
    # Blocks bound the memory of many cells.
    most = max(1, _BLOCK // (entries.num_cells + 1))
    for start in range(0, num_resamples, most):
        size = min(most, num_resamples - start)
        if entries.scores.shape[1] == 1 and examples.weights is None:
            sums = _independent_sums(entries, size, rng)
        else:
            sums = _label_sums(entries, examples.weights, size, rng)
        yield from sums.reshape(size, *shape)


def _accuracies(outcome_sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the mean outcomes, NaN where there are none."""
    some = counts > 0
    return np.where(some, outcome_sums / np.where(some, counts, 1.0), np.nan)


def _interval(draws: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of the central intervals of draws [B, ...] that are not NaN."""
    ordered = np.sort(draws, axis=0)  # NaN comes last.
    last = np.maximum(np.sum(~np.isnan(draws), axis=0) - 1, 0)[None]
    # Rounded, so that 0.95 of 1001 draws leaves out 25 on either side.
    below = np.floor(np.round((1 - level) / 2 * last, 9)).astype(np.int64)
    lower, upper = (
        np.take_along_axis(ordered, index, axis=0)[0] for index in (below, last - below)
    )
    return lower, upper


def consistency_band(
    examples: _inputs.Examples,
    spec: CalibrationSpec,
    level: float,
    num_resamples: int,
    seed: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Where a calibrated model with the same scores has its accuracies.

    Central intervals of each bin, by consistency resampling (Broecker and Smith, 2007)
    with the scores as they are: labels are drawn from the forecasts.

    Returns:
      Lower and upper ends, float64 [groups, bins]; NaN in empty bins.
    """
    rng = _inputs.generator(seed)
    statistics = _binning.bin_statistics(examples, spec)
    sums = calibrated_sums(examples, spec, statistics, num_resamples, rng)
    return _interval(_accuracies(np.stack(list(sums)), statistics.counts), level)


def _multinomial_accuracies(
    statistics: BinStatistics, n: int, num_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws [B, groups, bins]; each example has one score of weight 1 in a group."""
    hits = statistics.outcome_sums
    misses = statistics.counts - hits
    rest = n - statistics.counts.sum(axis=1, keepdims=True)
    shares = np.concatenate([hits, misses, rest], axis=1) / n
    times = rng.multinomial(n, shares, (num_resamples, len(shares)))
    hits, misses, _ = np.split(times, [hits.shape[1], 2 * hits.shape[1]], axis=2)
    return _accuracies(hits, hits + misses)


def _row_accuracies(
    entries: _Entries,
    weights: np.ndarray | None,
    num_resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws [B, cells] of resampled examples with whatever scores and weights."""
    n, width = entries.cells.shape
    cells = entries.cells.reshape(-1)
    hits = np.flatnonzero(entries.outcomes)
    draws = np.empty((num_resamples, entries.num_cells))
    for draw in draws:  # All at once would take too much memory.
        times = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        if weights is not None:
            times *= weights
        times = np.repeat(times, width)
        counts = np.bincount(cells, times, entries.num_cells + 1)
        sums = np.bincount(cells[hits], times[hits], entries.num_cells + 1)
        draw[:] = _accuracies(sums, counts)[:-1]
    return draws


def bin_intervals(
    examples: _inputs.Examples,
    spec: CalibrationSpec,
    level: float,
    num_resamples: int,
    seed: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap intervals of the accuracies: examples are drawn with replacement.

    Central intervals of each bin, whose edges stay as they are. Where all outcomes of
    a bin are the same the bootstrap cannot tell, and the interval is that point.

    Returns:
      Lower and upper ends, float64 [groups, bins]; NaN in empty bins.
    """
    rng = _inputs.generator(seed)
    statistics = _binning.bin_statistics(examples, spec)
    pooled = not (spec.positive_class or spec.max_prob or spec.class_conditional)
    if examples.weights is None and not pooled:
        n = len(examples.labels)
        draws = _multinomial_accuracies(statistics, n, num_resamples, rng)
    else:
        entries = _entries(examples, spec, statistics)
        draws = _row_accuracies(entries, examples.weights, num_resamples, rng)
        draws = draws.reshape(-1, *statistics.counts.shape)
    return _interval(draws, level)
