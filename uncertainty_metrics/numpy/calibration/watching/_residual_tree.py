"""A tree of rules that separate examples by the errors of their scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._frames import columns_by_name
from uncertainty_metrics.numpy._group_columns import (
    MISSING,
    group_column,
    ordered_numbers,
)
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored

# Numbers are split at these many quantiles.
_MOST_CUTS = 63
# Parts of the scores, whose errors do not even out: one for gaps.
NUM_PARTS = {"gap": 1, "kuiper": 4}
# One coin is added to the variance of each part of a group, so that one unlikely
# outcome among nearly certain ones is no reason for a split.
_COIN = 0.25
# A split is kept if the best of independent splits were as good in half of all cases.
_CHANCE = 0.5


class Feature(NamedTuple):
    """A column by which examples may be split.

    Attributes:
      name: its name.
      codes: the value of each example, integers [N]; of a number the interval between
        cuts, ascending, after 0 for one that is missing.
      cuts: the cuts of numbers, ascending; None for names.
      values: the names; empty for numbers.
      has_missing: whether there are missing numbers.
    """

    name: str
    codes: np.ndarray
    cuts: np.ndarray | None
    values: list[Any]
    has_missing: bool

    @classmethod
    def of(cls, name: str, label: str, values: Any, used: np.ndarray) -> Feature:
        """Returns a feature of some values; their cuts are quantiles of those used.

        Args:
          name: its name.
          label: its name in messages.
          values: numbers, strings or booleans.
          used: boolean [N].
        """
        numbers = ordered_numbers(values, most_names=2)
        if numbers is None:
            column = group_column(label, values)
            codes = column.codes.astype(np.uint16)
            return cls(name, codes, None, column.values, False)
        missing = np.isnan(numbers)
        present = np.sort(numbers[used & ~missing])
        at = np.arange(1, _MOST_CUTS + 1) * len(present) // (_MOST_CUTS + 1)
        cuts = np.unique(present[np.maximum(at, 1) - 1]) if len(present) else present
        codes = np.searchsorted(cuts, numbers, side="left").astype(np.uint16) + 1
        codes[missing] = 0
        return cls(name, codes, cuts, [], bool(np.any(missing)))

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.values) if self.cuts is None else len(self.cuts) + 2

    def conditions(self, place: int) -> tuple[str, str]:
        """Returns what the examples on both sides of a split have in common."""
        if self.cuts is None:
            value = self.values[place]
            if value == MISSING:
                return "is missing", "is known"
            return f"= {value}", f"!= {value}"
        if place == 0:
            return "is missing", "is known"
        cut = f"{self.cuts[place - 1]:.6g}"
        return f"<= {cut}" + " or missing" * self.has_missing, f"> {cut}"


class Leaf(NamedTuple):
    """The examples of a rule.

    Attributes:
      conditions: pairs of the name of a feature and what holds for it.
      rows: the examples, integers.
    """

    conditions: tuple[tuple[str, str], ...]
    rows: np.ndarray


class _Split(NamedTuple):
    gain: float
    feature: int
    place: int
    num_places: int


def features_of(
    features: Any, examples: _examples.Examples, used: np.ndarray
) -> list[Feature]:
    """Returns the features of the examples that count.

    Args:
      features: a mapping or data frame of columns, or an array [N, F].
      examples: the examples that count.
      used: boolean, which of the examples that count determine the cuts.
    """
    columns = columns_by_name(features)
    if columns is None:
        array = np.asarray(features)
        if array.ndim != 2:
            raise _checks.error(
                "features",
                "a mapping of columns, a data frame or an array [N, F]",
                f"shape {list(array.shape)}",
            )
        columns = {f"x{i}": column for i, column in enumerate(array.T)}
    if not columns:
        raise _checks.error("features", "at least one column", "none", verb="hold")
    counted = examples.counted.reshape(-1)
    everyone = np.zeros(counted.size, bool)
    everyone[counted] = used
    found = []
    for name, values in columns.items():
        label = f"features[{name!r}]"
        size = np.size(values)
        chosen: Any = everyone
        if examples.places is not None and size * examples.num_classes == counted.size:
            chosen = np.any(everyone.reshape(size, -1), axis=1)
        elif size != counted.size:
            raise _checks.error(
                label,
                f"a value for each of the {counted.size} examples",
                size,
                verb="hold",
            )
        feature = Feature.of(name, label, values, chosen)
        codes = examples.for_each_label(feature.codes)
        found.append(feature._replace(codes=codes[counted]))
    return found


def leaves(
    features: list[Feature],
    scored: Scored,
    used: np.ndarray,
    depth: int,
    min_examples: int,
    num_parts: int,
    are_binary: bool = True,
) -> list[Leaf]:
    """Returns the leaves of a tree that is grown on some examples, with the others.

    Args:
      features: of all examples.
      scored: all examples.
      used: the examples that the tree may see, boolean [N].
      depth: most conditions of a leaf.
      min_examples: least number of the examples that the tree sees, in each leaf.
      num_parts: number of parts of the scores whose errors are summed apart.
      are_binary: whether all outcomes are 0 or 1. The variance of others is taken as
        proportional to p (1 - p).
    """
    everyone = np.arange(len(scored.scores))
    if not np.any(used):
        return [Leaf((), everyone)]
    order = np.argsort(scored.scores[used], kind="stable")
    at = np.arange(1, num_parts) * len(order) // num_parts
    cuts = scored.scores[used][order[at]]
    variances = scored.weights**2 * scored.scores * (1 - scored.scores)
    # Weights of any size are as good as ones.
    coin = _COIN * float(np.mean(scored.weights**2))
    if not are_binary and np.any(variances[used]):
        residuals = scored.residuals[used]
        scale = np.sum((residuals - residuals.mean()) ** 2) / np.sum(variances[used])
        variances, coin = variances * scale, coin * float(scale)
    sums = _Sums(
        np.searchsorted(cuts, scored.scores, side="right"),
        num_parts,
        scored.residuals,
        variances,
        coin,
    )
    return _grown(features, sums, used, Leaf((), everyone), depth, min_examples)[0]


class _Sums(NamedTuple):
    """What is summed over examples.

    Attributes:
      parts: the part of the scores of each example, integers [N].
      num_parts: number of parts.
      residuals: weighted (outcome - score) of each example, float64 [N].
      variances: the variance of each of these, float64 [N].
      coin: is added to each variance of a sum.
    """

    parts: np.ndarray
    num_parts: int
    residuals: np.ndarray
    variances: np.ndarray
    coin: float

    def chi_squared(self, residuals: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Returns the sum over the parts, the last axis, of squared standard errors."""
        return np.sum(residuals**2 / (variances + self.coin), axis=-1)


def _grown(
    features: list[Feature],
    sums: _Sums,
    used: np.ndarray,
    leaf: Leaf,
    depth: int,
    min_examples: int,
) -> tuple[list[Leaf], bool]:
    """Returns the leaves below a leaf, and whether there is a split beyond chance."""
    from scipy import special

    seen = leaf.rows[used[leaf.rows]]
    if depth == 0 or len(seen) < 2 * min_examples:
        return [leaf], False
    parts, residuals = sums.parts[seen], sums.residuals[seen]
    variances = sums.variances[seen]
    candidates = [
        _best_split(
            feature,
            i,
            feature.codes[seen],
            parts,
            residuals,
            variances,
            sums,
            min_examples,
        )
        for i, feature in enumerate(features)
    ]
    best = max(candidates, key=lambda split: split.gain)
    if best.gain <= 0:
        return [leaf], False
    feature = features[best.feature]
    codes = feature.codes[leaf.rows]
    is_first = codes == best.place if feature.cuts is None else codes <= best.place
    below, is_clear = [], False
    for side, condition in zip(
        (is_first, ~is_first), feature.conditions(best.place), strict=True
    ):
        conditions = (*leaf.conditions, (feature.name, condition))
        child = Leaf(conditions, leaf.rows[side])
        grown, clear = _grown(features, sums, used, child, depth - 1, min_examples)
        below += grown
        is_clear |= clear
    number = sum(split.num_places for split in candidates)
    is_clear |= number * float(special.chdtrc(sums.num_parts, best.gain)) <= _CHANCE
    return (below, True) if is_clear else ([leaf], False)


def _best_split(
    feature: Feature,
    index: int,
    codes: np.ndarray,
    parts: np.ndarray,
    residuals: np.ndarray,
    variances: np.ndarray,
    sums: _Sums,
    min_examples: int,
) -> _Split:
    """Returns the split of a feature whose sides differ most from no error.

    With the sums S of (outcome - score) and V of the variances in each part of the
    scores, a side has sum S^2 / V. The gain is the excess of both sides over the whole.
    """
    size, num_parts = feature.size, sums.num_parts
    cells = codes.astype(np.int64) * num_parts + parts

    def total(values: np.ndarray | None) -> np.ndarray:
        flat = np.bincount(cells, values, size * num_parts)
        return flat.reshape(size, num_parts)

    tables = [total(residuals), total(variances), total(None)]
    whole = [table.sum(axis=0) for table in tables]
    if feature.cuts is not None:
        tables = [np.cumsum(table, axis=0) for table in tables]
    others = [all_ - table for all_, table in zip(whole, tables, strict=True)]
    smaller = np.minimum(tables[2].sum(axis=1), others[2].sum(axis=1))
    gains = (
        sums.chi_squared(tables[0], tables[1])
        + sums.chi_squared(others[0], np.maximum(others[1], 0.0))
        - sums.chi_squared(whole[0], whole[1])
    )
    allowed = smaller >= min_examples
    gains = np.where(allowed, gains, 0.0)
    place = int(np.argmax(gains))
    return _Split(float(gains[place]), index, place, int(np.count_nonzero(allowed)))
