"""Bins, and the sums over the scores in them: the arithmetic of calibration."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec, Norm
from uncertainty_metrics._results import BinStatistics as _BinStatistics
from uncertainty_metrics.numpy import _inputs, _text_tables

# Entries of a [rows, classes] block that stays in the cache.
_BLOCK = 2**18
# Classes that are copied out of a [N, K] matrix at a time.
_CLASS_TILE = 64
# Of so many even bins a multiple of a score in float32 is within one.
_FEW_BINS = 2**20
# Of fewer examples a class, its sums take longer to call for than to add.
FEW = 1000
# More adaptive bins than this are a mistake in `datapoints_per_bin`.
MAX_BINS = 2**24
# A sum of weights that is a multiple of `datapoints_per_bin` but for rounding is one.
ROUND_UP = 1 + 2.0**-20


def read(
    data: ClassifierData, spec: CalibrationSpec
) -> tuple[_inputs.Examples, CalibrationSpec]:
    """Returns the checked examples, and the options that fit them."""
    return _inputs.examples_of(data), spec


class BinStatistics(_BinStatistics):
    __doc__ = _BinStatistics.__doc__

    def __repr__(self) -> str:
        groups, bins = self.counts.shape
        per_bin = self.counts, self.confidences, self.accuracies

        def row(i: int) -> list[object]:
            at = group, start = divmod(i, bins)
            count, *means = (float(values[at]) for values in per_bin)
            ends = self.edges[group, start : start + 2].tolist()
            return [group, *ends, count, *(means if count > 0 else "--")][groups == 1 :]

        header = ("group", "from", "to", "count", "confidence", "accuracy")
        table = _text_tables.table(header[groups == 1 :], groups * bins, row)
        return f"{self._title()}\n{table}"

    def _mean(self, sums: np.ndarray) -> np.ndarray:
        return sums / np.where(self.counts > 0, self.counts, 1.0)

    def _errors(self, norm: Norm) -> np.ndarray:
        gaps = np.abs(self.score_sums - self.outcome_sums)
        per_bin = self._mean(gaps)
        if norm == "max":
            return per_bin.max(axis=1)
        totals = self.counts.sum(axis=1, keepdims=True)
        # Divided first, so that tiny weights do not underflow.
        shares = gaps / np.where(totals > 0, totals, 1.0)
        if norm == "l1":
            return shares.sum(axis=1)
        return np.sqrt((shares * per_bin).sum(axis=1))


def even_edges(num_bins: int, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Returns the edges of even bins, shape [num_bins + 1], rounded to `dtype`."""
    return np.linspace(0.0, 1.0, num_bins + 1).astype(dtype)


def even_index(scores: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns the bin (a, b] of each score in [0, 1]; the first bin holds 0 too."""
    edges = even_edges(num_bins, scores.dtype)
    if scores.dtype.itemsize < 4 or num_bins > _FEW_BINS:
        inner = edges[1:-1]
        if scores.dtype.itemsize < 4:  # searchsorted is slow, or absent, for halves.
            inner, scores = inner.astype(np.float32), scores.astype(np.float32)
        return np.searchsorted(inner, scores, side="left")
    index = np.minimum(scores * num_bins, num_bins - 1).astype(np.intp)
    edges[0] = -1
    # Rounding puts it off by one at most; a search takes three times as long.
    index -= scores <= edges[index]
    index += scores > edges[index + 1]
    return index


def above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Says which scores are above the threshold, rounded to their type as edges are."""
    return scores > np.asarray(threshold, scores.dtype)


def integer_masses(weights: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns weights as int64 multiples of one power of two, to add without rounding.

    Equal mass is decided on integers, so equal weights of any size give the bins of no
    weights, and integer weights those of repeated examples.
    """
    exponent = np.frexp(np.max(weights))[1]
    bits = 61 - len(weights).bit_length() - int(2 * num_bins).bit_length()
    return np.rint(np.ldexp(weights, min(bits, 52) - exponent)).astype(np.int64)


def adaptive_starts(
    scores: np.ndarray, num_bins: int, masses: np.ndarray | None = None
) -> np.ndarray:
    """Returns where each bin of equal mass starts among sorted scores.

    A run of equal scores is in bin `floor(num_bins * (below + at / 2) / total)`. For
    the start of bin j only the run that holds the mass `j * total / num_bins` can lie
    on either side, so a few binary searches do instead of a pass over all the runs.

    Args:
      scores: ascending, shape [n], n >= 1.
      num_bins: number of bins.
      masses: int64 [n], in the order of the scores; None for ones.

    Returns:
      int64 [num_bins + 1]; bin b is `scores[starts[b]:starts[b + 1]]`.
    """
    bins = np.arange(1, num_bins, dtype=np.int64)
    n = len(scores)
    if masses is None:
        total = n
        position = bins * n // num_bins
    else:
        below = np.concatenate([[0], np.cumsum(masses)])
        total = below[-1]
        position = np.searchsorted(below, bins * total // num_bins, "right") - 1
    left = np.searchsorted(scores, scores[position], "left")
    right = np.searchsorted(scores, scores[position], "right")
    middle = left + right if masses is None else below[left] + below[right]
    starts = np.where(num_bins * middle >= 2 * total * bins, left, right)
    return np.concatenate([[0], starts, [n]])


def sorted_scores(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Sorts by score."""
    if weights is not None:
        order = np.argsort(scores, kind="stable")
        return scores[order], outcomes[order], weights[order]
    # The bits of a score in [0, 1] sort like the score and leave the top bit free, so
    # one integer holds score and outcome: sorting values is far faster than argsort.
    packed = scores.view(f"u{scores.dtype.itemsize}") << 1
    packed |= outcomes.astype(packed.dtype)
    packed.sort()
    outcomes = packed & 1
    packed >>= 1
    return packed.view(scores.dtype), outcomes, None


def _adaptive_sums(
    scores: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    spec: CalibrationSpec,
    ordered: bool = False,
) -> np.ndarray:
    """Returns [4, bins]: lower edges, counts, score sums and outcome sums; of scores
    without weights that are sorted already, if `ordered`.
    """
    if spec.threshold > 0:
        kept = above(scores, spec.threshold)
        scores, outcomes = scores[kept], outcomes[kept]
        weights = None if weights is None else weights[kept]
    if scores.dtype.itemsize < 4:
        scores = scores.astype(np.float32)
    num_bins = spec.num_bins
    if spec.datapoints_per_bin is not None:
        mass = len(scores) if weights is None else weights.sum()
        num_bins = max(1, int(mass / spec.datapoints_per_bin * ROUND_UP))
        if num_bins > MAX_BINS:
            raise _checks.error(
                "datapoints_per_bin",
                f"at least {mass / MAX_BINS:g}, for at most {MAX_BINS} bins",
                spec.datapoints_per_bin,
            )
    sums = np.zeros((4, num_bins))
    if len(scores) == 0:
        return sums
    if not ordered:
        scores, outcomes, weights = sorted_scores(scores, outcomes, weights)
    masses = None if weights is None else integer_masses(weights, num_bins)
    starts = adaptive_starts(scores, num_bins, masses)
    held = starts[:-1] < starts[1:]
    first = starts[:-1][held]

    def add(values):
        return np.add.reduceat(values, first, dtype=np.float64)

    if weights is None:
        sums[1] = np.diff(starts)
        sums[2, held], sums[3, held] = add(scores), add(outcomes)
    else:
        sums[1, held] = add(weights)
        sums[2, held], sums[3, held] = add(weights * scores), add(weights * outcomes)
    before = starts[:-1]
    sums[0] = np.where(before > 0, scores[before - 1], 0.0)
    sums[0, 0] = 0.0
    return sums


def checked(examples: _inputs.Examples, spec: CalibrationSpec) -> np.ndarray:
    """Returns the probabilities [N, K].

    Raises:
      ValueError: one is not in [0, 1], or `spec` needs another number of classes.
    """
    spec.check_classes(examples.num_classes)
    return _inputs.check_probabilities(examples.probabilities, examples.name)


def _scored(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns score, outcome and group [N]; the group is None where there is one."""
    labels = examples.labels
    if spec.scores_class_1:
        places = examples.places if spec.class_conditional else None
        scores = checked(examples, spec)[:, 1]
        return scores, labels == 1, _joint(examples, places and places.index)
    if examples.predicted is None:
        predicted, scores = examples.decided
    else:
        predicted = examples.predicted
        scores = checked(examples, spec)[np.arange(len(labels)), predicted]
    groups = _joint(examples, predicted if spec.class_conditional else None)
    return scores, predicted == labels, groups


def _joint(
    examples: _inputs.Examples, of_class: np.ndarray | None
) -> np.ndarray | None:
    """Returns groups [N]: those of classes, in the order of the groups of examples."""
    if examples.groups is None:
        return of_class
    groups = examples.groups.index
    return groups if of_class is None else groups * examples.num_classes + of_class


def _num_groups(examples: _inputs.Examples, spec: CalibrationSpec) -> int:
    """Returns how many groups of scores are binned separately."""
    of_classes = spec.num_groups(examples.num_classes)
    return of_classes * (1 if examples.groups is None else examples.groups.number)


def scored_rows(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns scores, outcomes and groups [N, C], C being the scores of an example."""
    if spec.has_one_score:
        scores, outcomes, groups = _scored(examples, spec)
        groups = np.zeros(len(scores), np.int64) if groups is None else groups
        return scores[:, None], outcomes[:, None], groups[:, None]
    scores = checked(examples, spec)
    classes = np.arange(scores.shape[1])
    outcomes = classes == examples.labels[:, None]
    groups = classes if spec.class_conditional else np.zeros_like(classes)
    return scores, outcomes, np.broadcast_to(groups, scores.shape)


def _above(
    probabilities: np.ndarray, labels: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns score, outcome, row and class of the few scores above the threshold."""
    kept = np.flatnonzero(above(probabilities, threshold))
    rows, columns = np.divmod(kept, probabilities.shape[1])
    return probabilities.reshape(-1)[kept], labels[rows] == columns, rows, columns


def scores_of_groups(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yields score, outcome and weight of one group after the other."""
    labels, weights = examples.labels, examples.weights

    def of(rows):
        return None if weights is None else weights[rows]

    if spec.has_one_score:
        scores, outcomes, groups = _scored(examples, spec)
        if groups is None:
            yield scores, outcomes, weights
            return
        # Each group has bins of its own.
        number = _num_groups(examples, spec)
        for rows in _inputs.Partition(groups, number).rows():
            yield scores[rows], outcomes[rows], of(rows)
        return
    probabilities = checked(examples, spec)
    n, classes = probabilities.shape
    if not spec.class_conditional:
        outcomes = np.zeros(probabilities.shape, bool)
        outcomes[np.arange(n), labels] = True
        repeated = None if weights is None else np.repeat(weights, classes)
        yield probabilities.reshape(-1), outcomes.reshape(-1), repeated
    elif spec.threshold > 0:
        scores, outcomes, rows, columns = _above(probabilities, labels, spec.threshold)
        order = np.argsort(columns, kind="stable")
        scores, outcomes, rows = scores[order], outcomes[order], rows[order]
        ends = np.searchsorted(columns[order], np.arange(classes + 1))
        for start, end in itertools.pairwise(ends):
            yield scores[start:end], outcomes[start:end], of(rows[start:end])
    else:
        for start in range(0, classes, _CLASS_TILE):
            tile = np.ascontiguousarray(probabilities[:, start : start + _CLASS_TILE].T)
            for k, scores in enumerate(tile, start):  # Each class has its own bins.
                yield scores, labels == k, weights


def _sums_of_groups(
    scores: np.ndarray,
    outcomes: np.ndarray,
    groups: np.ndarray,
    num_groups: int,
    num_bins: int,
) -> np.ndarray:
    """Returns [4, groups, bins]: `_adaptive_sums` of all groups at once, of weight 1.

    The scores are sorted by group, then by score. One after the other, a thousand
    groups of few scores take longer to call than to sort.
    """
    sums = np.zeros((4, num_groups, num_bins))
    if len(scores) == 0:
        return sums
    new = (scores[1:] != scores[:-1]) | (groups[1:] != groups[:-1])
    runs = np.concatenate([[0], np.flatnonzero(new) + 1, [len(scores)]])
    ends = np.searchsorted(groups, np.arange(num_groups + 1))
    some = np.flatnonzero(ends[:-1] < ends[1:])
    start, n = ends[some, None], np.diff(ends)[some, None]

    bins = np.arange(1, num_bins, dtype=np.int64)  # As in `adaptive_starts`.
    run = np.searchsorted(runs, start + bins * n // num_bins, "right")
    left, right = runs[run - 1], runs[run]
    middle = left + right - 2 * start
    inner = np.where(num_bins * middle >= 2 * n * bins, left, right)
    starts = np.concatenate([start, inner, start + n], axis=1)
    before, counts = starts[:, :-1], np.diff(starts)
    first = before[counts > 0]

    def add(values):
        held = np.zeros(counts.shape)
        held[counts > 0] = np.add.reduceat(values, first, dtype=np.float64)
        return held

    edges = np.where(before > start, scores[before - 1], 0.0)
    sums[:, some] = edges, counts, add(scores), add(outcomes)
    return sums


def _sorted_by_group(
    scores: np.ndarray, outcomes: np.ndarray, groups: np.ndarray, number: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorts by group, then by score."""
    if scores.dtype == np.float64:
        order = np.argsort(scores)
        by_group = _inputs.Partition(groups[order], number).rows()
        order = order[np.concatenate(by_group)]
        return scores[order], outcomes[order], groups[order]
    if scores.dtype != np.float32:
        scores = scores.astype(np.float32)
    packed = groups.astype(np.uint64) << 32  # As in `sorted_scores`.
    packed |= scores.view(np.uint32) << 1 | outcomes
    packed.sort()
    scores = (packed.astype(np.uint32) >> 1).view(np.float32)
    return scores, packed & 1, (packed >> 32).astype(np.int64)


def _sorted_columns(
    probabilities: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns scores, outcomes and classes of all pairs, by class, then by score."""
    if probabilities.dtype.itemsize < 4:
        probabilities = probabilities.astype(np.float32)
    n, classes = probabilities.shape
    scores = np.ascontiguousarray(probabilities.T)
    packed = scores.view(f"u{scores.dtype.itemsize}") << 1  # As in `sorted_scores`.
    packed[labels, np.arange(n)] |= 1
    packed.sort(axis=1)
    packed = packed.reshape(-1)
    groups = np.repeat(np.arange(classes), n)
    return (packed >> 1).view(scores.dtype), packed & 1, groups


def _adaptive_at_once(
    examples: _inputs.Examples, spec: CalibrationSpec
) -> BinStatistics:
    """Returns the statistics of the scores of all groups at once, each of weight 1."""
    number, threshold = _num_groups(examples, spec), spec.threshold
    if spec.has_one_score:
        scores, outcomes, groups = scored_rows(examples, spec)
        kept = above(scores, threshold) if threshold > 0 else scores >= 0
        ordered = _sorted_by_group(scores[kept], outcomes[kept], groups[kept], number)
    elif threshold > 0:
        scores, outcomes, _, columns = _above(
            checked(examples, spec), examples.labels, threshold
        )
        ordered = _sorted_by_group(scores, outcomes, columns, number)
    else:
        ordered = _sorted_columns(checked(examples, spec), examples.labels)
    return _of_sums(_sums_of_groups(*ordered, number, spec.num_bins))


def _of_sums(sums: np.ndarray) -> BinStatistics:
    """Returns the statistics of [4, groups, bins], which lack the last edge."""
    edges = np.concatenate([sums[0], np.ones((sums.shape[1], 1))], axis=1)
    return BinStatistics(edges, sums[1], sums[2], sums[3], additive=False)


def _adaptive(examples: _inputs.Examples, spec: CalibrationSpec) -> BinStatistics:
    number = _num_groups(examples, spec)
    alike = examples.weights is None and spec.datapoints_per_bin is None
    few = FEW * (number if spec.has_one_score or spec.threshold > 0 else 1)
    if alike and number > 1 and len(examples.labels) < few:
        return _adaptive_at_once(examples, spec)
    return adaptive_statistics(scores_of_groups(examples, spec), spec)


def adaptive_statistics(
    scored: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray | None]],
    spec: CalibrationSpec,
    ordered: bool = False,
) -> BinStatistics:
    """Returns the statistics of the adaptive bins of groups of score, outcome (or the
    mean of some) and weight; see `_adaptive_sums`.
    """
    groups = [_adaptive_sums(*group, spec, ordered) for group in scored]
    bins = max(sums.shape[1] for sums in groups)
    sums = np.zeros((4, len(groups), bins))
    sums[0] = 1.0
    for g, group in enumerate(groups):
        sums[:, g, : group.shape[1]] = group
    return _of_sums(sums)


def _even_by_class(examples: _inputs.Examples, spec: CalibrationSpec) -> np.ndarray:
    """Returns [3, K, bins] sums of all N*K pairs, class by class."""
    labels, weights = examples.labels, examples.weights
    probabilities = checked(examples, spec)
    n, classes = probabilities.shape
    bins = spec.num_bins
    # A row that sums to 1 has at most `bins` entries above 1 / bins: the first bin is
    # the total less the others, and only the others are visited. With weights the
    # difference would round, and with a threshold few entries are left anyway.
    complement = weights is None and spec.threshold == 0 and bins > 1
    floor = even_edges(bins, probabilities.dtype)[1] if complement else spec.threshold
    every = floor == 0

    sums = np.zeros((3, classes * bins))
    totals = np.zeros(classes)
    rows = max(1, _BLOCK // classes)
    for start in range(0, n, rows):  # Blocks bound the memory of the temporaries.
        block = probabilities[start : start + rows]
        flat = block.reshape(-1)
        kept = np.arange(flat.size) if every else np.flatnonzero(above(flat, floor))
        scores = flat[kept]
        cell = kept % classes * bins + even_index(scores, bins)
        scores = scores.astype(np.float64)
        weight = None
        if weights is not None:
            weight = weights[start + kept // classes]
            scores *= weight
        sums[0] += np.bincount(cell, weight, classes * bins)
        sums[1] += np.bincount(cell, scores, classes * bins)
        if complement:
            totals += np.ones(len(block)) @ block.astype(np.float64, copy=False)
    scores = probabilities[np.arange(n), labels]
    cell = labels * bins + even_index(scores, bins)
    counted = slice(None) if spec.threshold == 0 else above(scores, spec.threshold)
    weight = None if weights is None else weights[counted]
    sums[2] = np.bincount(cell[counted], weight, classes * bins)

    sums = sums.reshape(3, classes, bins)
    if complement:
        sums[0, :, 0] = n - sums[0].sum(axis=1)
        rest = totals - sums[1].sum(axis=1)
        sums[1, :, 0] = np.where(sums[0, :, 0] > 0, np.maximum(rest, 0.0), 0.0)
    return sums


def _even(examples: _inputs.Examples, spec: CalibrationSpec) -> BinStatistics:
    bins = spec.num_bins
    num_groups = _num_groups(examples, spec)
    if spec.has_one_score:
        scores, outcomes, groups = _scored(examples, spec)
        cell = even_index(scores, bins)
        if groups is not None:
            cell += groups * bins
        weights = examples.weights
        if spec.threshold > 0:
            kept = above(scores, spec.threshold)
            scores, outcomes, cell = scores[kept], outcomes[kept], cell[kept]
            weights = None if weights is None else weights[kept]
        ones = np.ones(len(scores)) if weights is None else weights
        sums = np.stack(
            [
                np.bincount(cell, values, num_groups * bins)
                for values in (ones, ones * scores, ones * outcomes)
            ]
        ).reshape(3, num_groups, bins)
    else:
        sums = _even_by_class(examples, spec)
        if not spec.class_conditional:
            sums = sums.sum(axis=1, keepdims=True)
    edges = np.broadcast_to(even_edges(bins), (num_groups, bins + 1))
    return BinStatistics(edges, *sums)


def bin_statistics(examples: _inputs.Examples, spec: CalibrationSpec) -> BinStatistics:
    """Returns the statistics of the bins that `spec` describes, [groups, bins]; of
    groups of examples those of the first one before all others.
    """
    if examples.groups is not None and not spec.has_one_score:
        checked(examples, spec)  # Errors name the place among all of them.
        return _joined(
            [bin_statistics(examples.at(rows), spec) for rows in examples.groups.rows()]
        )
    if spec.binning_scheme == "even":
        return _even(examples, spec)
    return _adaptive(examples, spec)


def _joined(parts: list[BinStatistics]) -> BinStatistics:
    """Returns the groups of all; those of fewer bins have empty ones at the end."""
    bins = max(part.counts.shape[1] for part in parts)

    def join(name, end):
        arrays = [getattr(part, name) for part in parts]
        width = bins + (name == "edges")
        return np.concatenate(
            [
                np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=end)
                for a in arrays
            ]
        )

    return BinStatistics(
        *(join("edges", 1.0), join("counts", 0.0)),
        *(join("score_sums", 0.0), join("outcome_sums", 0.0), parts[0].additive),
    )


def calibration_error(statistics: BinStatistics, norm: Norm) -> float:
    """Returns the norm over bins of each group, combined over groups."""
    return float(_combined(statistics.errors(norm), norm))


def calibration_errors(
    statistics: BinStatistics, norm: Norm, num_groups: int
) -> np.ndarray:
    """Returns the same of each of the groups of examples, [num_groups], NaN where one
    has no scores.
    """
    errors = _combined(statistics.errors(norm).reshape(num_groups, -1), norm)
    held = statistics.counts.reshape(num_groups, -1).any(axis=1)
    return np.where(held, errors, np.nan)


def _combined(errors: np.ndarray, norm: Norm) -> Any:
    """Returns errors [..., groups] combined over groups."""
    if norm == "l2":
        return np.sqrt(np.mean(errors**2, axis=-1))
    return np.max(errors, axis=-1) if norm == "max" else np.mean(errors, axis=-1)


def debiased_square(statistics: BinStatistics, unit: float) -> float:
    """Returns the squared error of bins less its bias, a mean over groups.

    `unit` is the number of examples in a weight of 1.
    """
    counts = statistics.counts
    some = np.where(counts > 0, counts, 1.0)
    gaps = (statistics.score_sums - statistics.outcome_sums) / some
    accuracies = statistics.outcome_sums / some
    examples = counts * unit
    # One example has no variance. The limit is halfway to two, so that the rounding of
    # weights decides nothing.
    several = examples > 1.5
    variances = accuracies * (1 - accuracies) / np.where(several, examples - 1, 1.0)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(totals > 0, totals, 1.0)
    squares = np.where(several, shares * (gaps**2 - variances), 0.0)
    return float(np.mean(squares.sum(axis=1)))
