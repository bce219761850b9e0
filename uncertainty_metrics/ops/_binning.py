"""Bins of scores, and the sums over the scores in each."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec, Norm
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy import _examples as np_examples
from uncertainty_metrics.numpy.calibration.bins import _binning as np_binning
from uncertainty_metrics.ops import (
    _decisions,
    _inputs,
    _ranges,
    _search,
    _structures,
    _sums,
    _validity,
    is_floating,
    numpy_dtype,
    to_numpy,
    xp,
)


def examples_and_spec(
    data: ClassifierData, spec: CalibrationSpec, grades: bool = True
) -> tuple[_inputs.Examples, CalibrationSpec]:
    """Returns the checked examples, and the options that fit them; `grades` is that of
    `examples_of`.
    """
    spec = spec.for_data(data)
    examples = _inputs.examples_of(data, grades)
    form = examples.one_column, examples.predicted is not None
    spec.warn_of_decisions(*form)
    return examples, spec.settled(*form)


@_structures.structure
class BinStatistics(AnyBinStatistics):
    __doc__ = AnyBinStatistics.__doc__

    def __tf_flatten__(self) -> tuple[tuple[bool], tuple[xp.Tensor, ...]]:
        tensors = self.edges, self.counts, self.score_sums, self.outcome_sums
        return (self.additive,), tensors

    @classmethod
    def __tf_unflatten__(
        cls, metadata: tuple[bool], tensors: tuple[xp.Tensor, ...]
    ) -> BinStatistics:
        edges, counts, score_sums, outcome_sums = tensors
        (additive,) = metadata
        return cls(edges, counts, score_sums, outcome_sums, additive)

    def _on_numpy(self) -> np_binning.BinStatistics:
        names = ("edges", "counts", "score_sums", "outcome_sums")
        sums = {name: to_numpy(getattr(self, name)) for name in names}
        return np_binning.BinStatistics(**sums, additive=self.additive)

    def _columns(self) -> dict[str, list[Any]]:
        return self._on_numpy()._columns()

    def _shown(self) -> _tables.Shown:
        return self._on_numpy()._shown()

    def __repr__(self) -> str:
        try:
            return repr(self._on_numpy())
        except (NotImplementedError, TypeError):  # Tensors of a graph have no values.
            return self._title()

    def _mean(self, sums: xp.Tensor) -> xp.Tensor:
        return xp.math.divide_no_nan(sums, self.counts)

    def _errors(self, norm: Norm) -> xp.Tensor:
        gaps = xp.abs(self.score_sums - self.outcome_sums)
        per_bin = self._mean(gaps)
        if norm == "max":
            return xp.reduce_max(per_bin, axis=1)
        # Divided first, so that tiny weights do not underflow.
        totals = xp.reduce_sum(self.counts, axis=1, keepdims=True)
        shares = xp.math.divide_no_nan(gaps, totals)
        if norm == "l1":
            return xp.reduce_sum(shares, axis=1)
        return xp.sqrt(xp.reduce_sum(shares * per_bin, axis=1))


@dataclasses.dataclass(frozen=True)
class BinnableScores:
    """Scores to put into bins, with their groups and outcomes.

    Attributes:
      scores: [n], in the precision that was passed.
      weights: [n], or None for ones.
      groups: int32 [n], or None where there is one group.
      hits: int32 [h], the positions in `scores` whose outcome is 1; or None, with
        `outcomes` instead.
      outcomes: boolean [n], whether each outcome is 1; or floats [n] in [0, 1]; or
        None, with `hits` instead.
      valid: boolean scalar, False if an example that counts is wrong.
      spread: the number of groups over which the scores of one example are spread.
    """

    scores: xp.Tensor
    weights: xp.Tensor | None
    groups: xp.Tensor | None
    hits: xp.Tensor | None
    outcomes: xp.Tensor | None
    valid: xp.Tensor
    spread: int = 1


def even_index(scores: xp.Tensor, num_bins: int) -> xp.Tensor:
    """Returns the int32 bin (a, b] of each score in [0, 1]; the first holds 0, too."""
    dtype = scores.dtype
    edges = np_binning.even_edges(num_bins, numpy_dtype(dtype))
    # Edges of 16 bits may be equal, and those of very many bins differ by roundings:
    # the guess below may be many bins off.
    if numpy_dtype(dtype).itemsize < 4 or num_bins > 2**20:
        wide = _inputs.sum_dtype(scores)
        inner = xp.constant(edges[1:-1].astype(numpy_dtype(wide)))
        return _search.search_sorted(inner, xp.cast(scores, wide), "left")
    # A factor a little below the number of bins: however product and edges are rounded,
    # the guess is the number of the bin, counted from 1, or one less.
    guess = xp.cast(xp.math.ceil(scores * (num_bins * (1 - 2.0**-22))), xp.int32)
    guess = xp.clip_by_value(guess, 0, num_bins)  # A wrong score gets a bin as well.
    upper = xp.constant(np.concatenate([[-1.0], edges[1:]]), dtype)
    return guess - xp.cast(scores <= xp.gather(upper, guess), xp.int32)


def score(examples: _inputs.Examples, spec: CalibrationSpec) -> BinnableScores:
    """Returns the scores, groups and outcomes that `spec` asks for, scores at or below
    its threshold included: `_dropped` marks them.
    """
    labels, probabilities, weights = (
        examples.labels,
        examples.probabilities,
        examples.weights,
    )
    classes = examples.num_classes
    spec.check_classes(classes)
    is_decided = spec.uses_decision and examples.predicted is None
    outcomes = None
    if is_decided and not spec.class_conditional and examples.shares is None:
        outcomes, scores, right = _decisions.outcomes(probabilities, labels)
    elif is_decided:
        predicted, scores, right = _decisions.decisions(probabilities)
    else:
        right = _ranges.rows_in_range(probabilities)
    valid = examples.valid & _validity.counted_are_right(right, weights)

    def bounded(values, row_is_right):
        # Choices, since arithmetic may take numbers below 2^-126 for 0.
        if not is_decided:  # The scores of decisions are at most 1.
            values = xp.where(values > 1, xp.ones_like(values), values)
        return xp.where(row_is_right, values, xp.zeros_like(values))

    if spec.scores_class_1:
        scores = bounded(probabilities[:, 1], right)
        places = examples.places if spec.class_conditional else None
        groups = _joint(examples, places and places.index)
        outcomes = labels == 1 if examples.shares is None else examples.shares[:, 1]
        return BinnableScores(scores, weights, groups, None, outcomes, valid)
    if spec.max_prob:
        if examples.predicted is not None:
            predicted = examples.predicted
            scores = _inputs.take(probabilities, predicted)
        groups = _joint(examples, predicted if spec.class_conditional else None)
        scores = bounded(scores, right)
        if examples.shares is not None:
            outcomes = _inputs.take(examples.shares, predicted)
        elif outcomes is None:
            outcomes = predicted == labels
        return BinnableScores(scores, weights, groups, None, outcomes, valid)

    scores = xp.reshape(bounded(probabilities, right[:, None]), [-1])
    rows = xp.shape(labels)[0]
    if weights is not None:
        weights = xp.repeat(weights, classes)
    groups, spread = None, classes if spec.class_conditional else 1
    if spec.class_conditional:
        groups = xp.tile(xp.range(classes), [rows])
    groups = _joint(examples, groups, classes)
    if examples.shares is not None:
        outcomes = xp.reshape(examples.shares, [-1])
        return BinnableScores(scores, weights, groups, None, outcomes, valid, spread)
    hits = xp.range(rows) * classes + labels
    return BinnableScores(scores, weights, groups, hits, None, valid, spread)


def num_groups(examples: _inputs.Examples, spec: CalibrationSpec) -> int:
    """Returns the number of groups of scores that have bins of their own."""
    for_classes = spec.num_groups(examples.num_classes)
    if examples.groups is None:
        return for_classes
    number = examples.groups.number
    # The index of a cell is int32. A graph may not know the number of images.
    known = isinstance(number, int)
    if known and for_classes * number * spec.num_bins >= 2**31:
        expected = (
            "so small that there are fewer than 2^31 bins of all groups and classes"
        )
        raise _checks.error("num_groups", expected, number)
    return for_classes * number


def _joint(
    examples: _inputs.Examples, class_group: xp.Tensor | None, repeats: int = 1
) -> xp.Tensor | None:
    """Returns the group of each score, [N * repeats].

    There is one for each pair of a group of examples and a class. The pairs of the
    first group of examples come first.
    """
    if examples.groups is None:
        return class_group
    groups = examples.groups.index
    if repeats > 1:
        groups = xp.repeat(groups, repeats)
    if class_group is None:
        return groups
    return groups * examples.num_classes + class_group


def _dropped(scored: BinnableScores, spec: CalibrationSpec) -> xp.Tensor | None:
    """Returns whether each score is left out, boolean [n]; None where all count."""
    dropped = None
    if spec.threshold > 0:
        threshold = xp.constant(spec.threshold, scored.scores.dtype)
        dropped = scored.scores <= threshold
    if scored.weights is not None:
        weightless = scored.weights == 0
        dropped = weightless if dropped is None else dropped | weightless
    return dropped


def _drop(cell: xp.Tensor, dropped: xp.Tensor | None) -> xp.Tensor:
    """Returns the cells, with -1 for scores that are left out."""
    return cell if dropped is None else xp.where(dropped, -1, cell)


def cell_sums(
    scored: BinnableScores,
    index: xp.Tensor,
    num_cells: int,
    num_groups: int,
    spec: CalibrationSpec,
    dtype: xp.DType,
    sparse: int = 0,
) -> _sums.Sums:
    """Returns the sums of the scores of a batch, given the cell of each within its
    group; `sparse` as for `_sums.cell_sums`.
    """
    cell = index if scored.groups is None else scored.groups * num_cells + index
    dropped = _dropped(scored, spec)
    cell = _drop(cell, dropped)
    weights = scored.weights
    outcomes = scored.outcomes
    if outcomes is None:
        hit_cell = xp.gather(cell, scored.hits)
        hit_weights = None if weights is None else xp.gather(weights, scored.hits)
    elif weights is None and not is_floating(outcomes):
        hit_cell, hit_weights = cell, outcomes
    else:
        if weights is None:
            weights = xp.ones_like(outcomes)
        hit_cell, hit_weights = _hits(cell, outcomes, weights)
    return _sums.cell_sums(
        cell,
        xp.cast(scored.scores, dtype),
        None if weights is None else xp.cast(weights, dtype),
        hit_cell,
        hit_weights if weights is None else xp.cast(hit_weights, dtype),
        num_groups * num_cells,
        sparse,
        dropped is None,
    )


def _hits(
    cell: xp.Tensor, outcomes: xp.Tensor, weights: xp.Tensor | None
) -> tuple[xp.Tensor, xp.Tensor | None]:
    """Returns the cells of outcomes, -1 where the outcome is 0, and their weights: an
    outcome between 0 and 1 is a share of a weight.
    """
    if not is_floating(outcomes):
        return _drop(cell, ~outcomes), weights
    assert weights is not None
    return _drop(cell, outcomes == 0), xp.cast(outcomes, weights.dtype) * weights


def mass_bins(
    below: xp.Tensor, at: xp.Tensor, total: xp.Tensor, num_bins: xp.Tensor | int
) -> xp.Tensor:
    """Returns the int64 bin of equal mass of each run of equal scores, by the middle of
    its mass: `floor(num_bins * (below + at / 2) / total)`, at most num_bins - 1.

    Args:
      below: int64, the mass of smaller scores.
      at: int64, the mass of the run.
      total: int64, the mass of all scores.
      num_bins: the number of bins.
    """
    num_bins = xp.cast(num_bins, xp.int64)
    middle = num_bins * (2 * below + at)
    return xp.minimum(middle // xp.maximum(2 * total, 1), num_bins - 1)


def even_statistics(totals: xp.Tensor, num_groups: int, num_bins: int) -> BinStatistics:
    """Returns the statistics of even bins, of their totals [3, groups * bins]."""
    edges = xp.constant(
        np.broadcast_to(np_binning.even_edges(num_bins), (num_groups, num_bins + 1)),
        totals.dtype,
    )
    counts, score_sums, outcome_sums = xp.unstack(
        xp.reshape(totals, [3, num_groups, num_bins])
    )
    return BinStatistics(edges, counts, score_sums, outcome_sums)


def _lexicographic(
    scored: BinnableScores, keys: xp.Tensor, num_groups: int
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the order that sorts by group, then by key, and the sorted groups."""
    if scored.groups is None:
        return xp.argsort(keys), xp.zeros_like(keys, xp.int32)
    if scored.hits is None or num_groups != scored.spread:
        order = _order_by_group(keys, scored.groups)
        return order, xp.gather(scored.groups, order)
    # A row has the scores of all classes: the columns are sorted, all at once.
    columns = xp.transpose(xp.reshape(keys, [-1, num_groups]))
    rows = xp.argsort(columns, axis=-1)
    groups = xp.range(num_groups)[:, None]
    order = xp.reshape(rows * num_groups + groups, [-1])
    return order, xp.reshape(xp.broadcast_to(groups, xp.shape(rows)), [-1])


def _order_by_group(keys: xp.Tensor, groups: xp.Tensor) -> xp.Tensor:
    """Returns the order that sorts keys [n], each -1 or >= 0, by group, then by key."""
    if keys.dtype == xp.float32:
        # Numbers >= 0 sort like their bits: one integer holds group and key.
        bits = xp.cast(xp.bitcast(keys, xp.int32), xp.int64)
        bits = xp.where(keys < 0, -xp.ones_like(bits), xp.maximum(bits, 0))  # No -0.0.
        return xp.argsort(xp.cast(groups, xp.int64) * 2**32 + bits)
    order = xp.argsort(keys)
    by_group = xp.argsort(xp.gather(groups, order), stable=True)
    return xp.gather(order, by_group)


def _bins_of_points(
    spec: CalibrationSpec, mass: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the int64 number of bins of each group, by `datapoints_per_bin`, and
    whether no group has too many.
    """
    bins = xp.floor(mass / spec.datapoints_per_bin * np_binning.ROUND_UP)
    bins = xp.cast(bins, xp.int64)
    fits = xp.reduce_all(bins <= np_binning.MAX_BINS)
    return xp.clip_by_value(bins, 1, np_binning.MAX_BINS), fits


def starts(values: xp.Tensor) -> xp.Tensor:
    """Returns whether each value of [n] differs from the one before; True for the
    first.
    """
    first = xp.ones_like(values[:1], xp.bool)
    return xp.concat([first, values[1:] != values[:-1]], axis=0)


def mass_index(
    keys: xp.Tensor, groups: xp.Tensor, masses: xp.Tensor, bins: xp.Tensor
) -> xp.Tensor:
    """Returns the int64 bin of equal mass of each sorted key, within its group."""
    # Equal scores go into one bin.
    run = xp.cumsum(xp.cast(starts(keys) | starts(groups), xp.int32)) - 1
    at = xp.math.unsorted_segment_sum(masses, run, xp.shape(keys)[0])
    below = xp.gather(xp.cumsum(at, exclusive=True), run)
    totals = xp.math.unsorted_segment_sum(masses, groups, xp.shape(bins)[0])
    below = below - xp.gather(xp.cumsum(totals, exclusive=True), groups)
    return mass_bins(
        below, xp.gather(at, run), xp.gather(totals, groups), xp.gather(bins, groups)
    )


def _rank(index: xp.Tensor, groups: xp.Tensor, num_groups: int) -> xp.Tensor:
    """Returns the bins anew, numbered from 0 in each group without the empty ones."""
    rank = xp.cumsum(xp.cast(starts(index) | starts(groups), xp.int64))
    first = xp.math.unsorted_segment_min(rank, groups, num_groups)
    return rank - xp.gather(first, groups)


def _adaptive(
    scored: BinnableScores, num_groups: int, spec: CalibrationSpec, dtype: xp.DType
) -> tuple[BinStatistics, xp.Tensor]:
    """Returns exact statistics of bins of equal mass, and whether no group has too many
    bins, by `datapoints_per_bin`.
    """
    scores = xp.cast(scored.scores, dtype)
    size = xp.shape(scores)[0] if scores.shape[0] is None else scores.shape[0]
    outcomes = scored.outcomes
    if scored.hits is not None:
        hit = xp.ones(xp.shape(scored.hits), xp.int32)
        outcomes = xp.scatter_nd(scored.hits[:, None], hit, [size]) > 0
    dropped = _dropped(scored, spec)
    keys = scores
    if dropped is not None:  # These scores come first in their group.
        keys = xp.where(dropped, -xp.ones_like(scores), scores)
    order, groups = _lexicographic(scored, keys, num_groups)
    keys, outcomes = xp.gather(keys, order), xp.gather(outcomes, order)
    counted = keys >= 0
    weights = scored.weights
    mass = xp.cast(counted, dtype)
    if weights is not None:
        weights = xp.gather(xp.cast(weights, dtype), order)
        mass = mass * weights

    slots: int | xp.Tensor = spec.num_bins
    bins = xp.fill([num_groups], xp.constant(spec.num_bins, xp.int64))
    fits = xp.constant(True)
    if spec.datapoints_per_bin is not None:
        bins, fits = _bins_of_points(
            spec, xp.math.unsorted_segment_sum(mass, groups, num_groups)
        )
        # No group has more scores than this, nor more bins that hold a score.
        slots = size // scored.spread
        if weights is None:
            slots //= spec.datapoints_per_bin
            slots = xp.maximum(slots, 1) if xp.is_tensor(slots) else max(slots, 1)
    if weights is None:
        masses = xp.cast(counted, xp.int64)
    else:
        masses = _sums.integer_masses(mass, bins)
    index = mass_index(keys, groups, masses, bins)
    if spec.datapoints_per_bin is not None and weights is not None:
        index = _rank(index, groups, num_groups)  # Empty bins take no slot.

    cell = groups * slots + xp.cast(index, xp.int32)
    placed = _drop(cell, ~counted)
    if is_floating(outcomes) and weights is None:
        weights = xp.ones_like(keys)
    hit_cell, hit_weights = _hits(placed, outcomes, weights)
    sums = _sums.cell_sums(
        placed,
        xp.maximum(keys, 0),
        weights,
        hit_cell,
        hit_weights,
        num_groups * slots,
    )
    counts, score_sums, outcome_sums = xp.unstack(
        xp.reshape(_sums.totals(sums, dtype), [3, num_groups, slots])
    )
    edges = adaptive_edges(keys, cell, num_groups, slots)
    return BinStatistics(edges, counts, score_sums, outcome_sums, additive=False), fits


def adaptive_edges(
    keys: xp.Tensor, cell: xp.Tensor, num_groups: int, slots: int | xp.Tensor
) -> xp.Tensor:
    """Returns the edges of bins of sorted keys; an inner edge is the largest score of
    the bins before.
    """
    number = xp.math.unsorted_segment_sum(xp.ones_like(cell), cell, num_groups * slots)
    before = xp.reshape(xp.cumsum(number, exclusive=True), [num_groups, slots])
    last = xp.gather(keys, xp.maximum(before - 1, 0))
    inner = xp.where(before > before[:, :1], xp.maximum(last, 0), xp.zeros_like(last))
    return xp.concat([inner, xp.ones_like(inner[:, :1])], axis=1)


def _from_numpy(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> BinStatistics | None:
    """Returns the statistics by NumPy, in a fraction of the time; None if a value is
    wrong.
    """
    if not examples.valid:
        return None
    labels, probabilities = map(to_numpy, (examples.labels, examples.probabilities))
    weights, predicted, groups, places = (
        None if part is None else to_numpy(part)
        for part in (
            *(examples.weights, examples.predicted),
            *(each and each.index for each in (examples.groups, examples.places)),
        )
    )
    if weights is not None:
        counted = weights > 0
        labels, probabilities = labels[counted], probabilities[counted]
        weights = weights[counted].astype(np.float64)
        predicted, groups, places = (
            None if part is None else part[counted]
            for part in (predicted, groups, places)
        )
    if labels.size == 0:
        return None
    shares = None
    if examples.shares is not None:
        shares = to_numpy(examples.shares).astype(np.float64)
        shares = shares if weights is None else shares[counted]
    arrays = np_examples.Examples(
        *(labels, probabilities, weights, predicted, "probabilities", labels >= 0),
        examples.groups and examples.groups._replace(index=groups),
        examples.places and examples.places._replace(index=places),
        shares=shares,
    )
    try:
        statistics = np_binning.bin_statistics(arrays, spec)
    except ValueError:
        return None
    fields = vars(statistics) | {
        name: xp.constant(getattr(statistics, name), examples.dtype)
        for name in ("edges", "counts", "score_sums", "outcome_sums")
    }
    return BinStatistics(**fields)


def bin_statistics(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[BinStatistics, xp.Tensor]:
    """Returns the statistics of the bins of `spec`, and whether the data were valid."""
    if _inputs.through_numpy(examples.labels, examples.predictions):
        statistics = _from_numpy(examples, spec)
        if statistics is not None:
            return statistics, xp.constant(True)
    scored = score(examples, spec)
    number = num_groups(examples, spec)
    valid = scored.valid & (xp.size(examples.labels) > 0)
    if examples.weights is not None:
        valid = valid & xp.reduce_any(examples.weights > 0)
    if spec.binning_scheme == "even":
        index = even_index(scored.scores, spec.num_bins)
        sums = cell_sums(scored, index, spec.num_bins, number, spec, examples.dtype)
        totals = _sums.totals(sums, examples.dtype)
        return even_statistics(totals, number, spec.num_bins), valid
    statistics, fits = _adaptive(scored, number, spec, examples.dtype)
    return statistics, valid & fits


def calibration_error(
    statistics: BinStatistics, norm: Norm, num_groups: int | None = None
) -> xp.Tensor:
    """Returns the norm over the bins of each group, combined over groups: a scalar, or
    with `num_groups` a value for each group of examples, [num_groups], NaN where it has
    no scores.
    """
    errors = statistics.errors(norm)
    if num_groups is not None:
        errors = xp.reshape(errors, [num_groups, -1])
    if norm == "l2":
        combined = xp.sqrt(xp.reduce_mean(errors * errors, axis=-1))
    elif norm == "max":
        combined = xp.reduce_max(errors, axis=-1)
    else:
        combined = xp.reduce_mean(errors, axis=-1)
    if num_groups is None:
        return combined
    counts = xp.reshape(xp.reduce_sum(statistics.counts, axis=1), [num_groups, -1])
    has_scores = xp.reduce_any(counts > 0, axis=-1)
    return xp.where(has_scores, combined, xp.constant(np.nan, combined.dtype))


def _debiased_squares(
    statistics: BinStatistics,
    unit: xp.Tensor | float,
    squares: xp.Tensor | None = None,
) -> xp.Tensor:
    """Returns the squared error less its bias, of each group, as the NumPy twin does,
    which explains the arguments.
    """
    counts = statistics.counts
    gaps = xp.math.divide_no_nan(
        statistics.score_sums - statistics.outcome_sums, counts
    )
    accuracies = statistics.accuracies
    examples = counts * unit
    several = examples > 1.5
    freedom = xp.where(several, examples - 1, xp.ones_like(examples))
    if squares is None:
        variances = accuracies * (1 - accuracies) / freedom
    else:
        mean_squares = xp.math.divide_no_nan(squares, counts)
        variances = xp.maximum(mean_squares - gaps * gaps, 0) / freedom
    shares = xp.math.divide_no_nan(counts, xp.reduce_sum(counts, axis=1, keepdims=True))
    terms = shares * (gaps * gaps - variances)
    terms = xp.where(several, terms, xp.zeros_like(terms))
    return xp.reduce_sum(terms, axis=1)


def unit_of(weights: xp.Tensor | None, dtype: xp.DType) -> xp.Tensor | float:
    """Returns the number of examples in a weight of 1."""
    if weights is None:
        return 1.0
    weights = xp.cast(weights, dtype)
    mean = _sums.mean(weights, xp.cast(weights > 0, dtype))
    return 1 / xp.minimum(mean, 1)


def debiased_error(
    statistics: BinStatistics,
    squared: bool,
    unit: xp.Tensor | float,
    squares: xp.Tensor | None = None,
) -> xp.Tensor:
    """Returns the error less its bias, or its square."""
    square = xp.reduce_mean(_debiased_squares(statistics, unit, squares))
    return square if squared else xp.sqrt(xp.maximum(square, 0))


def debiased_errors(
    statistics: BinStatistics, squared: bool, unit: xp.Tensor | float
) -> xp.Tensor:
    """Returns the error of each group less its bias, or its square."""
    squares = _debiased_squares(statistics, unit)
    return squares if squared else xp.sqrt(xp.maximum(squares, 0))
