"""Files of summaries: sums by class, and blocks of the decisions and of the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics.numpy import _saved
from uncertainty_metrics.numpy.summaries import _private_cells, _sums_by_class
from uncertainty_metrics.numpy.summaries._private_cells import Blocks

# Fewer examples are not saved.
LEAST_EXAMPLES = 50
FORMAT = _saved.Format(
    "Summary",
    1,
    ("class_names", "of_answers", "positive_class", "private", "clusters"),
)
_MAX_NAME = 1000
# The array that only answers with grades have.
SPREADS = "spreads"
# The relative rounding error that sums in a file may have.
_ROUNDING = 1e-6
_MAX_WEIGHT = 1e150  # Its square is finite.


class Content(NamedTuple):
    """The content of a file.

    Attributes:
      class_names: names of the classes, or none.
      of_answers: whether it is of answers.
      positive_class: whether the predictions are one column, P(class 1).
      private: epsilon of the guarantee of differential privacy; None without one.
      sums: float64 [sums, classes].
      decided: blocks of the decisions.
      others: blocks of all other probabilities; None for answers.
      is_weighted: whether the blocks have squared weights of their own.
      clusters: number of clusters; None if the examples are independent.
    """

    class_names: tuple[str, ...]
    of_answers: bool
    positive_class: bool
    private: float | None
    sums: np.ndarray
    decided: Blocks
    others: Blocks | None
    is_weighted: bool
    clusters: int | None

    @property
    def num_classes(self) -> int:
        return self.sums.shape[1]


def write(path: _saved.Path, content: Content) -> None:
    """Writes a file. Blocks are the columns of its arrays: group, sums, least score."""
    arrays = {"sums": content.sums}
    for name, blocks in (("decided", content.decided), ("others", content.others)):
        if blocks is not None:
            sums = blocks.sums if content.is_weighted else blocks.sums[:3]
            arrays[name] = np.vstack([blocks.groups, blocks.least, sums])
    if content.decided.spreads is not None:
        rows = 2 if content.is_weighted else 1
        arrays[SPREADS] = content.decided.spreads[:rows]
    header = {name: getattr(content, name) for name in FORMAT.entries}
    FORMAT.write(path, header, arrays)


def read(path: _saved.Path) -> Content:
    """Returns the content of a file.

    Raises:
      ValueError: no summary wrote the file, or no examples have these sums.
    """
    header, arrays = FORMAT.read(path, _check_names)
    with np.errstate(all="ignore"):  # Large numbers overflow, and are refused.
        return _checked(header, arrays)


def _checked(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Content:
    """Returns the content of a file; raises ValueError if it is not valid."""
    names, of_answers, one_column, private, clusters = (
        header[name] for name in FORMAT.entries
    )
    for name, value in (("of_answers", of_answers), ("positive_class", one_column)):
        if not isinstance(value, bool):
            raise FORMAT.broken(f"{name}: {value!r:.50}")
    if private is not None and not (isinstance(private, float) and private > 0):
        raise FORMAT.broken(f"private: {private!r:.50}")
    if clusters is not None and not (type(clusters) is int and clusters > 0):
        raise FORMAT.broken(f"clusters: {clusters!r:.50}")
    if not isinstance(names, list) or any(
        not isinstance(name, str) or len(name) > _MAX_NAME for name in names
    ):
        raise FORMAT.broken("names of classes that are no texts")
    if of_answers == ("others" in arrays):
        raise FORMAT.broken("the scores of another kind of predictions")
    for name, array in arrays.items():
        if array.dtype != np.float64 or array.ndim != 2 or not np.isfinite(array).all():
            raise FORMAT.broken(f"`{name}` that is not finite, or not float64 [., .]")
    sums = arrays["sums"]
    size = sums.shape[1]
    if size < 2:
        raise FORMAT.broken(f"sums of {size} classes")
    if (names and len(names) != size) or (of_answers and size != 2):
        raise FORMAT.broken(f"sums of {size} classes")
    heights = {
        len(array) for name, array in arrays.items() if name not in ("sums", SPREADS)
    }
    if heights not in ({5}, {7}):
        raise FORMAT.broken(f"blocks of {sorted(heights)} rows")
    of_grades = SPREADS in arrays
    _check_sums(sums, of_answers, is_weighted=heights == {7}, of_grades=of_grades)
    decided = _blocks("decided", arrays["decided"], 1 if of_answers else size + 1)
    if of_grades:
        decided = _with_spreads(decided, arrays[SPREADS], 2 if heights == {7} else 1)
    others = None if of_answers else _blocks("others", arrays["others"], size)
    if one_column and (of_answers or size != 2):
        raise FORMAT.broken(f"P(class 1) of {size} classes")
    content = Content(
        *(tuple(names), of_answers, one_column, private, sums),
        *(decided, others, heights == {7}, clusters),
    )
    if private is None:
        _check_totals(content)
    return content


def _check_names(names: Collection[str]) -> None:
    known = ["sums", "decided"]
    if list(names) not in (known, [*known, "others"], [*known, SPREADS]):
        raise FORMAT.broken(f"the arrays {list(names)!r:.100}")


def _with_spreads(blocks: Blocks, spreads: np.ndarray, num_rows: int) -> Blocks:
    """Returns blocks of grades; raises ValueError if no grades have these spreads."""
    if spreads.shape != (num_rows, blocks.sums.shape[1]):
        raise FORMAT.broken(f"`{SPREADS}` of the shape {spreads.shape}")
    spreads = np.broadcast_to(spreads, (2, spreads.shape[1]))
    weights, outcomes = blocks.sums[[0, 3]], blocks.sums[[2, 4]]
    # The sum of y (1 - y) is largest if all y are their mean.
    most = outcomes * (1 - outcomes / weights) + _ROUNDING * weights
    if np.any((spreads < 0) | (spreads > most)) or not np.any(spreads > 0):
        raise FORMAT.broken(f"`{SPREADS}` that no grades have")
    return blocks._replace(spreads=spreads)


def _check_sums(
    sums: np.ndarray, of_answers: bool, *, is_weighted: bool, of_grades: bool
) -> None:
    """Raises ValueError for sums that no examples have."""
    if len(sums) != len(_sums_by_class.SUMS):
        raise FORMAT.broken(f"{len(sums)} sums")
    rows = _sums_by_class.named(sums)
    signed = ("w_gap", "ww_gap")
    if any(np.any(row < 0) for name, row in rows.items() if name not in signed):
        raise FORMAT.broken("sums that are negative")
    counts, w, ww = (rows[name] for name in _sums_by_class.OF_LABELS)
    total: Mapping[str, float] = {name: row.sum() for name, row in rows.items()}
    n = total["examples"]
    if np.any(counts != np.rint(counts)) or not LEAST_EXAMPLES <= n <= 2**53:
        raise FORMAT.broken(f"sums of {n:.6g} examples")
    if not 0 < total["w"] < _MAX_WEIGHT:
        raise FORMAT.broken(f"sums of the weight {total['w']:.6g}")
    if of_grades:  # An example is divided among both classes, but for its number.
        counts, w, ww = (row.sum(keepdims=True) for row in (counts, w, ww))
    off = _ROUNDING * n if of_grades else 0.0
    as_counts = np.all(np.abs(w - counts) <= off) and np.all(np.abs(w - ww) <= off)
    if not is_weighted and not as_counts:
        raise FORMAT.broken("sums of weights without weights")
    if np.any((counts > 0) != (w > 0)) or not _is_mean_square(w, ww, counts):
        raise FORMAT.broken("sums of weights and of their squares that do not fit")
    most_b = 1.0 if of_answers else 2.0
    bounds = (
        *(("impossible", "examples", 1.0), ("right", "w", 1.0)),
        *(("confidence", "w", 1.0), ("w_b", "w", most_b), ("ww_b", "ww", most_b)),
        *(("ww_b_b", "ww_b", most_b), ("ww_gap_gap", "ww", 1.0)),
    )
    for name, of_what, factor in bounds:
        if total[name] > factor * total[of_what] * (1 + _ROUNDING):
            raise FORMAT.broken(f"sums `{name}` that are more than the examples have")
    gap = total["right"] - total["confidence"]
    if abs(total["w_gap"] - gap) > _ROUNDING * total["w"]:
        raise FORMAT.broken("sums of gaps that are not those of the confidences")
    for name in ("gap", "b", "l"):
        of, of_squares = total[f"ww_{name}"], total[f"ww_{name}_{name}"]
        first = total[f"w_{name}"]
        if not is_weighted and abs(first - of) > _ROUNDING * max(n, abs(of)):
            raise FORMAT.broken(f"sums `{name}` of weights without weights")
        if not (
            _is_mean_square(of, of_squares, total["ww"])
            and _is_mean_square(first, of_squares, n)
        ):
            raise FORMAT.broken(f"sums `{name}` and of squares that do not fit")


def _is_mean_square(sums: Any, squares: Any, counts: Any) -> bool:
    """Says if sums, sums of squares and counts can be those of numbers."""
    return bool(np.all(sums**2 <= squares * counts * (1 + _ROUNDING)))


def _blocks(name: str, array: np.ndarray, num_groups: int) -> Blocks:
    """Returns the blocks of an array; raises ValueError if they are not valid."""
    groups, least, *sums = array
    if len(sums) == 3:
        sums = [*sums, sums[0], sums[2]]
    weights, scores, outcomes, squares, squared = sums
    most = weights * (1 + _ROUNDING)
    valid = (
        (groups == np.rint(groups))
        & ((groups >= 0) & (groups < num_groups))
        & ((weights > 0) & (weights < _MAX_WEIGHT) & (squares > 0))
        & ((scores >= 0) & (scores <= most) & (outcomes >= 0) & (outcomes <= most))
        & ((least >= 0) & (least * weights <= scores * (1 + _ROUNDING)))
        & ((squared >= 0) & (squared <= squares * (1 + _ROUNDING)))
    )
    if not np.all(valid):
        raise FORMAT.broken(f"`{name}` with sums that no examples have")
    if not np.all(_private_cells.are_enough(weights * (1 + _ROUNDING), squares)):
        raise FORMAT.broken(f"`{name}` of fewer than {_private_cells.LEAST} examples")
    return Blocks(groups.astype(np.int64), np.stack(sums), least)


def _check_totals(content: Content) -> None:
    """Raises ValueError if the blocks are of other examples than the sums."""
    rows = _sums_by_class.named(content.sums)
    decided, size = content.decided, content.num_classes
    weight, squares = rows["w"].sum(), rows["ww"].sum()
    pairs = [
        (decided.sums[0].sum(), weight, weight),
        (decided.sums[1].sum(), rows["confidence"].sum(), weight),
        (decided.sums[2].sum(), rows["right"].sum(), weight),
        (decided.sums[3].sum(), squares, squares),
    ]
    if content.others is None:
        return _check_pairs(pairs)
    both = [decided.chosen(decided.groups < size), content.others]
    groups = np.concatenate([blocks.groups for blocks in both])
    sums = np.concatenate([blocks.sums for blocks in both], axis=1)
    of_class = [np.bincount(groups, row, size) for row in sums]
    pairs += [
        *((of, weight, weight) for of in of_class[0]),
        *((of, w, weight) for of, w in zip(of_class[2], rows["w"], strict=True)),
        *((of, squares, squares) for of in of_class[3]),
    ]
    return _check_pairs(pairs)


def _check_pairs(pairs: list[tuple[Any, Any, Any]]) -> None:
    for found, expected, scale in pairs:
        if abs(found - expected) > _ROUNDING * scale:
            raise FORMAT.broken("blocks and sums of different examples")
