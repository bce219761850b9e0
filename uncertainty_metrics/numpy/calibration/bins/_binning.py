"""Bins, and sums over the scores in each bin: the arithmetic of calibration errors.

The plain path comes first. The faster paths are at the end, and in `_bins_at_once.py`;
each is behind one condition:

  `_product_is_near`      the even bin of a score by a product instead of a search
  `_fit_in_one_integer`   scores sorted together with their outcomes, as integers
  `_rest_is_first_bin`    even bins of classes by the few scores above the first bin
  `_groups_are_small`     adaptive bins of all groups by one sort
  `_classes_have_all`     adaptive bins of classes in threads
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec, Norm
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy import _examples, _text_tables, _threads
from uncertainty_metrics.numpy.calibration.bins import _bins_at_once, _scores

# With at most this many bins, `score * num_bins` in float32 is at most one bin off.
_FEW_BINS = 2**20
# The number of cells of a table of edges.
_TABLE = 2**12
# For a group of fewer examples, the calls of functions take longer than the sums.
FEW_EXAMPLES = 1000
# More adaptive bins than this are a mistake in `datapoints_per_bin`.
MAX_BINS = 2**24
# Makes up for rounding in a total weight that is a multiple of `datapoints_per_bin`.
ROUND_UP = 1 + 2.0**-20


def read(
    data: ClassifierData,
    spec: CalibrationSpec,
    allow_none: bool = False,
    grades: str = "",
) -> tuple[_examples.Examples, CalibrationSpec]:
    """Returns the checked examples, and the options that fit them.

    `allow_none` accepts a batch of which no example counts; `grades` is that of
    `examples_of`.
    """
    spec = spec.for_data(data)
    examples = _examples.examples_of(data, allow_none, grades)
    form = examples.one_column, examples.predicted is not None
    spec.warn_of_decisions(*form)
    return examples, spec.settled(*form)


class BinStatistics(AnyBinStatistics):
    __doc__ = AnyBinStatistics.__doc__

    def _columns(self) -> dict[str, list[Any]]:
        groups, bins = self.counts.shape
        columns = {
            "group": np.repeat(np.arange(groups), bins),
            "lower": self.edges[:, :-1],
            "upper": self.edges[:, 1:],
            "count": self.counts,
            "confidence": np.where(self.counts > 0, self.confidences, np.nan),
            "accuracy": np.where(self.counts > 0, self.accuracies, np.nan),
        }
        return {name: values.reshape(-1).tolist() for name, values in columns.items()}

    def _shown(self) -> _tables.Shown:
        groups, bins = self.counts.shape
        per_bin = self.counts, self.confidences, self.accuracies
        mean = _tables.means(self.counts.ravel().tolist())

        def row(i: int) -> list[object]:
            at = group, start = divmod(i, bins)
            count, *means = (float(values[at]) for values in per_bin)
            ends = self.edges[group, start : start + 2].tolist()
            shown = map(mean, means) if count > 0 else "--"
            return [group, *ends, count, *shown][groups == 1 :]

        header = ("group", "from", "to", "count", "confidence", "accuracy")
        return _tables.Shown(header[groups == 1 :], groups * bins, row)

    def __repr__(self) -> str:
        return f"{self._title()}\n{_text_tables.table(*self._shown())}"

    def _mean(self, sums: np.ndarray) -> np.ndarray:
        return sums / np.where(self.counts > 0, self.counts, 1.0)

    def _errors(self, norm: Norm) -> np.ndarray:
        gaps = np.abs(self.score_sums - self.outcome_sums)
        per_bin = self._mean(gaps)
        if norm == "max":
            return per_bin.max(axis=1)
        totals = self.counts.sum(axis=1, keepdims=True)
        # The gaps are divided before they are squared: tiny weights would underflow.
        shares = gaps / np.where(totals > 0, totals, 1.0)
        if norm == "l1":
            return shares.sum(axis=1)
        return np.sqrt((shares * per_bin).sum(axis=1))


def bin_statistics(
    examples: _examples.Examples, spec: CalibrationSpec
) -> BinStatistics:
    """Returns the statistics of the bins that `spec` describes, [groups, bins]. Groups
    of scores are ordered by group of examples, then by class.
    """
    if examples.groups is not None and not spec.has_one_score:
        # Checked here, so that an error names the place among all examples.
        _scores.checked(examples, spec)
        return _joined(
            [bin_statistics(examples.at(rows), spec) for rows in examples.groups.rows()]
        )
    if spec.binning_scheme == "even":
        return _even(examples, spec)
    return _adaptive(examples, spec)


def _joined(parts: list[BinStatistics]) -> BinStatistics:
    """Returns the groups of all parts, with empty bins at the end if bins are fewer."""
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


def even_edges(num_bins: int, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Returns the edges of even bins, shape [num_bins + 1], rounded to `dtype`."""
    return np.linspace(0.0, 1.0, num_bins + 1).astype(dtype)


def even_index(scores: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns the bin (a, b] of each score in [0, 1]; the first bin holds 0 too."""
    if _product_is_near(scores, num_bins):
        return _index_by_product(scores, num_bins)
    inner = even_edges(num_bins, scores.dtype)[1:-1]
    if scores.dtype.itemsize < 4:  # searchsorted is slow or missing for 16 bits.
        inner, scores = inner.astype(np.float32), scores.astype(np.float32)
    return np.searchsorted(inner, scores, side="left")


def _even(examples: _examples.Examples, spec: CalibrationSpec) -> BinStatistics:
    bins = spec.num_bins
    num_groups = _scores.num_groups(examples, spec)
    if spec.has_one_score or examples.shares is not None:
        sums = _even_sums(examples, spec, num_groups)
    else:
        sums = _even_by_class(examples, spec)
        if not spec.class_conditional:
            sums = sums.sum(axis=1, keepdims=True)
    edges = np.broadcast_to(even_edges(bins), (num_groups, bins + 1))
    return BinStatistics(edges, *sums)


def _even_sums(
    examples: _examples.Examples, spec: CalibrationSpec, num_groups: int
) -> np.ndarray:
    """Returns sums of weight, score and outcome over all scores, [3, groups, bins]."""
    bins, weights = spec.num_bins, examples.weights
    rows: Any
    if spec.has_one_score:
        scores, outcomes, groups = _scores.scored(examples, spec)
    else:
        rows = _scores.scored_rows(examples, spec)
        if weights is not None:
            weights = np.repeat(weights, rows[0].shape[1])
        scores, outcomes, groups = (values.reshape(-1) for values in rows)
    cell = even_index(scores, bins)
    if groups is not None:
        cell += groups * bins
    if spec.threshold > 0:
        rows = _scores.above(scores, spec.threshold)
        scores, outcomes, cell = scores[rows], outcomes[rows], cell[rows]
        weights = None if weights is None else weights[rows]
    if weights is None:
        weights = np.ones(len(scores))
    sums = [
        np.bincount(cell, values, num_groups * bins)
        for values in (weights, weights * scores, weights * outcomes)
    ]
    return np.stack(sums).reshape(3, num_groups, bins)


def _adaptive(examples: _examples.Examples, spec: CalibrationSpec) -> BinStatistics:
    if _groups_are_small(examples, spec):
        return _adaptive_bins(_bins_at_once.adaptive_sums(examples, spec))
    if _classes_have_all(spec):
        return _statistics_of_groups(_adaptive_by_class(examples, spec))
    return adaptive_statistics(_scores.scores_of_groups(examples, spec), spec)


def adaptive_statistics(
    groups: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray | None]],
    spec: CalibrationSpec,
    are_sorted: bool = False,
) -> BinStatistics:
    """Returns the statistics of the adaptive bins of each group of scores, outcomes
    (or mean outcomes of equal scores) and weights; see `_adaptive_sums`.
    """
    return _statistics_of_groups(
        [_adaptive_sums(*group, spec, are_sorted) for group in groups]
    )


def _statistics_of_groups(sums_of_groups: list[np.ndarray]) -> BinStatistics:
    """Returns the statistics of all groups, with empty bins where one has fewer."""
    bins = max(sums.shape[1] for sums in sums_of_groups)
    padded = np.zeros((4, len(sums_of_groups), bins))
    padded[0] = 1.0
    for g, sums in enumerate(sums_of_groups):
        padded[:, g, : sums.shape[1]] = sums
    return _adaptive_bins(padded)


def _adaptive_bins(sums: np.ndarray) -> BinStatistics:
    """Returns the statistics of [4, groups, bins] sums; the last edges are 1."""
    edges = np.concatenate([sums[0], np.ones((sums.shape[1], 1))], axis=1)
    return BinStatistics(edges, sums[1], sums[2], sums[3], additive=False)


def _adaptive_sums(
    scores: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    spec: CalibrationSpec,
    are_sorted: bool = False,
) -> np.ndarray:
    """Returns [4, bins]: lower edges, counts, score sums and outcome sums.

    `are_sorted` tells that the scores are sorted already; they have no weights then.
    """
    if spec.threshold > 0:
        rows = _scores.above(scores, spec.threshold)
        scores, outcomes = scores[rows], outcomes[rows]
        weights = None if weights is None else weights[rows]
    if scores.dtype.itemsize < 4:
        scores = scores.astype(np.float32)
    mass = len(scores) if weights is None else weights.sum()
    num_bins = _num_adaptive_bins(mass, spec)
    sums = np.zeros((4, num_bins))
    if len(scores) == 0:
        return sums
    if not are_sorted:
        scores, outcomes, weights = sorted_scores(scores, outcomes, weights)
    masses = None if weights is None else integer_masses(weights, num_bins)
    starts = adaptive_starts(scores, num_bins, masses)
    firsts = starts[:-1]
    filled = firsts < starts[1:]

    def add(values):
        return np.add.reduceat(values, firsts[filled], dtype=np.float64)

    if weights is None:
        sums[1] = np.diff(starts)
        sums[2, filled], sums[3, filled] = add(scores), add(outcomes)
    else:
        sums[1, filled] = add(weights)
        sums[2, filled] = add(weights * scores)
        sums[3, filled] = add(weights * outcomes)
    sums[0] = np.where(firsts > 0, scores[firsts - 1], 0.0)
    sums[0, 0] = 0.0
    return sums


def _num_adaptive_bins(mass: float, spec: CalibrationSpec) -> int:
    """Returns the number of bins of scores that together weigh `mass`."""
    if spec.datapoints_per_bin is None:
        return spec.num_bins
    num_bins = max(1, int(mass / spec.datapoints_per_bin * ROUND_UP))
    if num_bins > MAX_BINS:
        raise _checks.error(
            "datapoints_per_bin",
            f"at least {mass / MAX_BINS:g}, for at most {MAX_BINS} bins",
            spec.datapoints_per_bin,
        )
    return num_bins


def index_between(inner: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Returns how many of the inner edges, ascending and distinct, are below each score
    in [0, 1]: its bin (a, b].
    """
    # `scores * _TABLE` does not round. A table of the edges below each of its cells,
    # and one comparison, take a tenth of the time of a search.
    cells = (inner * _TABLE).astype(np.intp)
    if len(cells) == 0 or scores.dtype.itemsize < 4 or np.any(np.diff(cells) == 0):
        return np.searchsorted(inner, scores, "left")
    below = np.searchsorted(inner, np.arange(_TABLE + 1) / _TABLE, "left")
    index = below[(scores * _TABLE).astype(np.int16)]
    index += scores > np.append(inner, np.inf)[index]
    return index


def integer_masses(weights: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns weights as int64 multiples of a power of two, which add without rounding.

    With these integers, equal weights of any size give the same bins of equal mass as
    no weights, and integer weights the same bins as repeated examples.
    """
    exponent = np.frexp(np.max(weights))[1]
    bits = 61 - len(weights).bit_length() - int(2 * num_bins).bit_length()
    return np.rint(np.ldexp(weights, min(bits, 52) - exponent)).astype(np.int64)


def adaptive_starts(
    scores: np.ndarray, num_bins: int, masses: np.ndarray | None
) -> np.ndarray:
    """Returns where each bin of equal mass starts among sorted scores.

    A run of equal scores is in bin `floor(num_bins * (below + at / 2) / total)`, where
    `below` is the mass of smaller scores and `at` the mass of the run. Only the run
    that holds the mass `j * total / num_bins` can lie on either side of the start of
    bin j, so binary searches find the starts without a pass over all runs.

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
    """Returns scores, outcomes and weights sorted by score."""
    if _fit_in_one_integer(outcomes, weights):
        return *_sorted_as_integers(scores, outcomes), None
    order = np.argsort(scores, kind="stable")
    weights = None if weights is None else weights[order]
    return scores[order], outcomes[order], weights


def calibration_error(statistics: BinStatistics, norm: Norm) -> float:
    """Returns the calibration error: the norm over bins, combined over groups."""
    return float(_combined(statistics.errors(norm), norm))


def calibration_errors(
    statistics: BinStatistics, norm: Norm, num_groups: int
) -> np.ndarray:
    """Returns the calibration error of each group of examples, [num_groups]; NaN for a
    group without scores.
    """
    errors = _combined(statistics.errors(norm).reshape(num_groups, -1), norm)
    has_scores = statistics.counts.reshape(num_groups, -1).any(axis=1)
    return np.where(has_scores, errors, np.nan)


def _combined(errors: np.ndarray, norm: Norm) -> Any:
    """Returns errors [..., groups] combined over groups."""
    if norm == "l2":
        return np.sqrt(np.mean(errors**2, axis=-1))
    return np.max(errors, axis=-1) if norm == "max" else np.mean(errors, axis=-1)


def debiased_square(
    statistics: BinStatistics, unit: float, squares: np.ndarray | None = None
) -> float:
    """Returns the squared l2 error minus its bias, averaged over groups.

    Args:
      statistics: the statistics of the bins.
      unit: the number of examples in a weight of 1.
      squares: sums of (outcome - score)^2, [groups, bins], for outcomes between 0 and
        1; None if outcomes are 0 and 1, whose variance their mean tells.
    """
    counts = statistics.counts
    divisors = np.where(counts > 0, counts, 1.0)
    gaps = (statistics.score_sums - statistics.outcome_sums) / divisors
    accuracies = statistics.outcome_sums / divisors
    sizes = counts * unit
    # A variance needs two examples. The limit is halfway between one and two, so that
    # rounding of weights makes no difference.
    several = sizes > 1.5
    if squares is None:
        variances = accuracies * (1 - accuracies)
    else:
        variances = np.maximum(squares / divisors - gaps**2, 0.0)
    variances = variances / np.where(several, sizes - 1, 1.0)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(totals > 0, totals, 1.0)
    terms = np.where(several, shares * (gaps**2 - variances), 0.0)
    return float(np.mean(terms.sum(axis=1)))


# The faster paths.


def _fit_in_one_integer(outcomes: np.ndarray, weights: np.ndarray | None) -> bool:
    """Says if a score and its outcome fit in an integer: there is one bit to spare."""
    return weights is None and outcomes.dtype == bool


def _product_is_near(scores: np.ndarray, num_bins: int) -> bool:
    """Says if rounding leaves `score * num_bins` at most one bin off."""
    return scores.dtype.itemsize >= 4 and num_bins <= _FEW_BINS


def _index_by_product(scores: np.ndarray, num_bins: int) -> np.ndarray:
    """Returns `even_index` in a third of the time of a search."""
    edges = even_edges(num_bins, scores.dtype)
    index = np.minimum(scores * num_bins, num_bins - 1).astype(np.intp)
    edges[0] = -1
    index -= scores <= edges[index]
    index += scores > edges[index + 1]
    return index


def _sorted_as_integers(
    scores: np.ndarray, outcomes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns scores and outcomes sorted by score.

    The bits of a score in [0, 1] sort like the score and leave the top bit free, so one
    integer holds score and outcome: sorting values is far faster than argsort.
    """
    packed = scores.view(f"u{scores.dtype.itemsize}") << 1
    packed |= outcomes.astype(packed.dtype)
    packed.sort()
    outcomes = packed & 1
    packed >>= 1
    return packed.view(scores.dtype), outcomes


def _groups_are_small(examples: _examples.Examples, spec: CalibrationSpec) -> bool:
    """Says if a call for each group would take longer than its sums."""
    if examples.weights is not None or spec.datapoints_per_bin is not None:
        return False  # Groups may have different masses or numbers of bins.
    if examples.shares is not None:
        return False
    num_groups = _scores.num_groups(examples, spec)
    # Each group has a part of the scores, or a score of every example.
    has_parts = spec.has_one_score or spec.threshold > 0
    limit = FEW_EXAMPLES * (num_groups if has_parts else 1)
    return num_groups > 1 and len(examples.labels) < limit


def _classes_have_all(spec: CalibrationSpec) -> bool:
    """Says if every class has a score of every example."""
    return spec.class_conditional and not spec.has_one_score and spec.threshold == 0


def _adaptive_by_class(
    examples: _examples.Examples, spec: CalibrationSpec
) -> list[np.ndarray]:
    """Returns the `_adaptive_sums` of the N scores of each class."""
    weights = examples.weights
    probabilities = _scores.checked(examples, spec)
    n, classes = probabilities.shape

    def of_tile(tile: slice) -> list[np.ndarray]:
        return [
            _adaptive_sums(scores, examples.came(k), weights, spec)
            for k, scores in enumerate(
                _scores.scores_of_classes(probabilities, tile), tile.start
            )
        ]

    tiles = _threads.map_blocks(of_tile, classes, n, _scores.CLASS_TILE)
    return list(itertools.chain.from_iterable(tiles))


def _rest_is_first_bin(weights: np.ndarray | None, spec: CalibrationSpec) -> bool:
    """Says if the sums of the first bin are the total minus the other bins.

    A row that sums to 1 has at most `num_bins` entries above 1 / `num_bins`, so only
    these are visited. With weights the difference would round; with a threshold few
    scores are left anyway.
    """
    return weights is None and spec.threshold == 0 and spec.num_bins > 1


def _even_by_class(examples: _examples.Examples, spec: CalibrationSpec) -> np.ndarray:
    """Returns the sums of weight, score and outcome of the N*K scores, [3, K, bins]."""
    spec.check_classes(examples.num_classes)
    examples = examples.checked()
    n, classes = examples.predictions.shape
    bins, labels, weights = spec.num_bins, examples.labels, examples.weights
    by_difference = _rest_is_first_bin(weights, spec)
    floor = even_edges(bins)[1] if by_difference else spec.threshold

    at_label = np.empty(n, examples.dtype)

    def sums_of(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        sums, totals = np.zeros((2, classes * bins)), np.zeros(classes)
        # Blocks bound the memory of the temporaries.
        for block in _threads.blocks(rows, max(1, _scores.BLOCK // classes)):
            p = examples.rows(block)
            at_label[block] = p[np.arange(len(p)), labels[block]]
            is_visited = (
                _scores.above(p.reshape(-1), floor) if floor > 0 else np.ones(p.size)
            )
            visited = np.flatnonzero(is_visited)
            scores = p.reshape(-1)[visited]
            cell = visited % classes * bins + even_index(scores, bins)
            scores = scores.astype(np.float64)
            if weights is None:
                weight = 1.0
            else:
                weight = weights[block.start + visited // classes]
                scores *= weight
            _add_at(sums[0], cell, weight)
            _add_at(sums[1], cell, scores)
            if by_difference:
                totals += np.einsum("nk->k", p.astype(np.float64, copy=False))
        return sums, totals

    # A part has more scores than sums, which bounds the memory.
    parts = _threads.map_rows(sums_of, n, classes, step=64 * bins)
    inner, totals = (sum(of_parts) for of_parts in zip(*parts, strict=True))
    cell = labels * bins + even_index(at_label, bins)
    counted = (
        slice(None) if spec.threshold == 0 else _scores.above(at_label, spec.threshold)
    )
    weight = None if weights is None else weights[counted]
    outcomes = np.bincount(cell[counted], weight, classes * bins)
    sums = np.concatenate([inner, outcomes[None]])
    sums = sums.reshape(3, classes, bins)
    if by_difference:
        sums[0, :, 0] = n - sums[0].sum(axis=1)
        score_sums = np.maximum(totals - sums[1].sum(axis=1), 0.0)
        sums[1, :, 0] = np.where(sums[0, :, 0] > 0, score_sums, 0.0)
    return sums


def _add_at(sums: np.ndarray, cell: np.ndarray, values: Any) -> None:
    """Adds values [n] to the sums of their cells [n], in their order."""
    if len(cell) < len(sums):
        np.add.at(sums, cell, values)
    else:
        values = np.broadcast_to(values, cell.shape)
        sums += np.bincount(cell, values, len(sums))
