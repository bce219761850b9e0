"""Blocks of at least five examples: all that the file of a summary says of the scores.

No sum or difference of the numbers in a file may be about fewer than five examples. So
the decisions are divided into blocks, and a file has sums over whole blocks. Its two
kinds of predictions are the probability of the decided class, which an example has
once, and the probabilities of the other classes:

- The decisions for one class are joined, from the lowest confidence on, to blocks of at
  least five. Decisions for classes that were decided too seldom form blocks together,
  in the group "mixed". These blocks are the cells of `decisions`.
- The sketch of class k has the blocks of the decisions for k, and the probabilities of
  k of all other examples, joined from the highest on. With two classes, the probability
  of the other class is 1 - p of the decided one, so its blocks are the same examples.

An example with a large weight would hide behind no other. So "five" is Kish's effective
number, (sum w)^2 / sum w^2, which is never more than the number of examples, and is
small where a few examples have most of the weight.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.sketch import _cell_sums, _grid
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums

LEAST = 5
# Rounding of the sums of weights, and of means, relative.
_ROUNDING = 1e-9


class Blocks(NamedTuple):
    """Sums over blocks of examples, arrays [B].

    Attributes:
      groups: the class of the scores; the number of classes for mixed blocks. Answers
        have one group.
      sums: float64 [5, B]: the weights, weighted scores and weighted outcomes, then the
        squared weights, of all examples and of those with a true outcome.
      least: no score of the block is less.
      spreads: of answers with grades y, the sums of y (1 - y) by weights, then by
        squared weights, float64 [2, B]; None if all outcomes are 0 and 1.
    """

    groups: np.ndarray
    sums: np.ndarray
    least: np.ndarray
    spreads: np.ndarray | None = None

    @property
    def means(self) -> np.ndarray:
        return self.sums[1] / self.sums[0]

    def chosen(self, which: np.ndarray) -> Blocks:
        return Blocks(self.groups[which], self.sums[:, which], self.least[which])


def together(parts: list[Blocks]) -> Blocks:
    columns = zip(*(part[:3] for part in parts), strict=True)
    groups, sums, least = (np.concatenate(list(each), axis=-1) for each in columns)
    return Blocks(groups, sums, least)


class _Fine(NamedTuple):
    """The cells of a sketch that hold examples: their places in the grid of all groups,
    and their sums, as those of blocks.
    """

    places: np.ndarray
    sums: np.ndarray

    def at(self, index: slice | np.ndarray) -> _Fine:
        return _Fine(self.places[index], self.sums[:, index])


def _fine(sums: SketchSums, squares: SketchSums | None) -> _Fine:
    weights, _, outcomes = rows = [sums.rows[name].values for name in _cell_sums.ROWS]
    squared = [weights, outcomes]  # Without weights.
    if squares is not None:
        names = "weights", "outcome_sums"
        squared = [squares.values_at(name, sums.places) for name in names]
    return _Fine(sums.places, np.stack([*rows, *squared]))


def are_enough(weights: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Says for sums of weights and of their squares if they are of five examples."""
    return weights**2 >= LEAST * squares * (1 - _ROUNDING)


def _is_enough(sums: np.ndarray) -> bool:
    """Says for the sums of cells [5, J] if they hold five examples or more."""
    return bool(are_enough(sums[0].sum(), sums[3].sum()))


def _starts(
    weights: list[float], squares: list[float], may_end: list[bool] | None = None
) -> list[int]:
    """Returns where runs of cells start, each of at least five examples.

    What is left at the end joins the last runs. There are no starts if all cells
    together hold too few.

    Args:
      weights: sums of the weights of the cells.
      squares: sums of the squared weights.
      may_end: whether a run may end after a cell; by default all.
    """
    starts, runs, held, squared = [0], [], 0.0, 0.0
    ends = itertools.repeat(True) if may_end is None else may_end
    rows = zip(weights, squares, ends, strict=False)
    # Where a run begins depends on all runs before it.
    for i, (weight, square, end) in enumerate(rows, 1):
        held, squared = held + weight, squared + square
        if end and held**2 >= LEAST * squared * (1 - _ROUNDING):
            starts.append(i)
            runs.append((held, squared))
            held = squared = 0.0
    if starts[-1] == len(weights):
        starts.pop()
        return starts
    while starts and held**2 < LEAST * squared * (1 - _ROUNDING):
        starts.pop()
        if starts:
            of_run, squares_of_run = runs.pop()
            held, squared = held + of_run, squared + squares_of_run
    return starts


def _blocks(
    groups: np.ndarray | int,
    fine: _Fine,
    starts: np.ndarray | list[int],
    first: float,
    known: Callable[[np.ndarray], np.ndarray] | None,
) -> Blocks:
    """Returns the blocks of runs of ascending cells.

    A score is at least the mean of the run before in its group, so a file needs no
    score for it.

    Args:
      groups: the group of each block, or of all.
      fine: the cells.
      starts: where the runs start.
      first: no score of the first run of a group is less.
      known: of places of the grid, the least scores of their cells, if some are less
        than the cell.
    """
    if not len(starts):
        return Blocks(np.zeros(0, int), np.zeros((5, 0)), np.zeros(0))
    sums = np.add.reduceat(fine.sums, starts, axis=1)
    means = sums[1] / sums[0]
    groups = np.broadcast_to(groups, len(starts))
    is_first = np.append(True, groups[1:] != groups[:-1])
    least = np.where(is_first, first, np.roll(means, 1)) * (1 - _ROUNDING)
    # The first may be less if the probabilities of an example do not sum to 1.
    least = np.where(least <= means, least, 0.0)
    if known is not None:
        least = np.minimum(least, np.minimum.reduceat(known(fine.places), starts))
    return Blocks(groups, sums, np.maximum(least, 0.0))


def too_few() -> ValueError:
    return _checks.error(
        "sample_weight",
        f"such that {LEAST} examples or more carry the weight of a summary that is "
        "saved",
        "a few large weights",
    )


def of_answers(sums: SketchSums, squares: SketchSums | None) -> Blocks:
    """Returns the blocks of answers, of one group."""
    fine = _fine(sums, squares)
    starts = _starts(*fine.sums[[0, 3]].tolist())
    if not starts:
        raise too_few()
    blocks = _blocks(0, fine, starts, 0.0, None)
    if sums.spread_sums is None:
        return blocks
    of_both = (sums, squares or sums)
    spreads = [each.values_at(_cell_sums.SPREADS, fine.places) for each in of_both]
    spread_sums = np.add.reduceat(np.stack(spreads), starts, axis=1)
    return blocks._replace(spreads=spread_sums)


class View(NamedTuple):
    """Sketches of a summary with K classes on one grid, and of their squared weights,
    which are None without weights.

    Attributes:
      tops: scores of the decided classes; K groups, and one of mixed blocks.
      top_squares: the same with squared weights.
      classes: the probabilities of all classes, K groups.
      class_squares: the same with squared weights.
      known: of places of the grid, the least scores of the cells of `classes`, if some
        may be less than the cell, because they come from a file; else None.
      num_classes: K.
      bits: arguments of the grid.
    """

    tops: SketchSums
    top_squares: SketchSums | None
    classes: SketchSums
    class_squares: SketchSums | None
    known: Callable[[np.ndarray], np.ndarray] | None
    num_classes: int
    bits: tuple[int, ...]


def of_classes(view: View) -> tuple[Blocks, Blocks]:
    """Returns the blocks of the decisions, and those of all other probabilities.

    Raises:
      ValueError: all examples together count as fewer than five.
    """
    size = view.num_classes
    fine = _fine(view.tops, view.top_squares)
    num_cells = _grid.num_cells(*view.bits)
    edges = np.searchsorted(fine.places, num_cells * np.arange(size + 2))
    weights, squares = fine.sums[[0, 3]].tolist()
    starts = {
        k: start + np.array(_starts(weights[start:end], squares[start:end]), int)
        for k, (start, end) in enumerate(itertools.pairwise(edges.tolist()))
        if start < end
    }
    few = [k for k in range(size) if k in starts and not len(starts[k])]
    pool = np.concatenate(
        [np.zeros(0, int), *(np.arange(edges[k], edges[k + 1]) for k in few)]
    )
    pool = pool[np.argsort(fine.sums[1, pool] / fine.sums[0, pool], kind="stable")]
    runs = _starts(*fine.sums[[0, 3]][:, pool].tolist()) if len(pool) else []
    if len(pool) and (size == 2 or not runs):
        pool, runs = _with_others(fine, pool, starts, edges), [0]
    bare = np.setdiff1d(np.arange(edges[size]), pool)  # Cells of blocks for one class.
    of_one = {k: found for k, found in starts.items() if k < size}
    groups = np.repeat(np.array([*of_one], int), [*map(len, of_one.values())])
    of_bare = np.searchsorted(bare, np.concatenate([bare[:0], *of_one.values()]))
    tops = [_blocks(groups, fine.at(bare), of_bare, 1 / size, view.known)]
    if size in starts:
        mixed = fine.at(slice(edges[size], None))
        tops.append(_blocks(size, mixed, starts[size] - edges[size], 0.0, None))
    tops.append(_blocks(size, fine.at(pool), runs, 0.0, None))
    decided = together(tops)
    if size == 2 and view.known is None:
        return decided, _mirrored(decided, fine.at(pool), num_cells)
    return decided, _of_others(view, fine.places[bare], num_cells)


def _with_others(
    fine: _Fine, pool: np.ndarray, starts: dict[int, np.ndarray], edges: np.ndarray
) -> np.ndarray:
    """Returns a pool with the least confident decisions for the most frequent class, as
    many as it needs, and removes these from their runs.
    """
    hosts = [k for k in starts if k < len(edges) - 2 and len(starts[k])]
    weights = {k: fine.sums[0, edges[k] : edges[k + 1]].sum() for k in hosts}
    for k in sorted(hosts, key=weights.__getitem__, reverse=True):
        while len(starts[k]) and not _is_enough(fine.sums[:, pool]):
            first, *rest = starts[k].tolist()
            end = rest[0] if rest else edges[k + 1]
            pool = np.append(pool, np.arange(first, end))
            starts[k] = np.array(rest, int)
    if not _is_enough(fine.sums[:, pool]):
        raise too_few()
    return pool


def _mirrored(decided: Blocks, pool: _Fine, num_cells: int) -> Blocks:
    """Returns the blocks of the probability of the class, of two, that was not decided:
    of the same examples as the blocks of the decisions.
    """
    parts = []
    for k in range(2):
        block = decided.chosen(np.flatnonzero(decided.groups == 1 - k)[::-1])
        sums = _of_other_class(block.sums)
        means = sums[1] / sums[0]
        least = np.append(0.0, means)[: len(means)]
        if len(pool.places):  # Its decisions for k are as they are.
            is_k = pool.places // num_cells == k
            both = np.where(is_k, pool.sums, _of_other_class(pool.sums)).sum(axis=1)
            # If it has low decisions for 1 - k, it has the largest probabilities of k.
            hosts = np.any(~is_k) and block.groups.size > 0
            bound = means[-1] if hosts else 0.0
            sums, least = np.column_stack([sums, both]), np.append(least, bound)
        least = np.clip(least * (1 - _ROUNDING), 0.0, sums[1] / sums[0])
        parts.append(Blocks(np.full(len(least), k), sums, least))
    return together(parts)


def _of_other_class(sums: np.ndarray) -> np.ndarray:
    """Returns the sums of 1 - p and 1 - y for those of the scores p and outcomes y."""
    weights, scores, outcomes, squares, squared = sums
    rows = [weights, weights - scores, weights - outcomes, squares, squares - squared]
    return np.stack([rows[0], *(np.maximum(row, 0.0) for row in rows[1:])])


def _of_others(view: View, bare: np.ndarray, num_cells: int) -> Blocks:
    """Returns the blocks of the probabilities of all classes without those of the cells
    `bare`, which are decisions in blocks for one class.
    """
    rest = _less(view.classes, view.tops, bare)
    squares = None
    if view.class_squares is not None and view.top_squares is not None:
        squares = _less(view.class_squares, view.top_squares, bare)
    fine = _fine(rest, squares)
    edges = np.searchsorted(fine.places, num_cells * np.arange(view.num_classes + 1))
    # Where all but two classes have no probability, the runs from the largest score on
    # are those of the decisions from the smallest, if they may end at the same cells.
    middles = np.mean(_grid.limits(*view.bits), axis=0)
    mirror = _grid.index((1 - middles).astype(np.float32), *view.bits)
    group, place = np.divmod(fine.places, num_cells)
    mirrored = group * num_cells + mirror[place]
    may_end = np.append(True, np.diff(mirrored) != 0)[: len(place)]
    rows = [row[::-1].tolist() for row in (fine.sums[0], fine.sums[3], may_end)]
    groups: list[int] = []
    starts: list[int] = []
    for k, (start, end) in enumerate(itertools.pairwise(edges.tolist())):
        reverse = slice(len(place) - end, len(place) - start)
        down = _starts(*(row[reverse] for row in rows))
        if start < end and not down:
            raise too_few()
        groups += [k] * len(down)
        if down:
            starts.append(start)
        starts += [end - i for i in down[:0:-1]]
    return _blocks(np.array(groups, int), fine, starts, 0.0, view.known)


def _less(sums: SketchSums, others: SketchSums, cells: np.ndarray) -> SketchSums:
    """Returns sums without those of some cells of others, exactly. What others have,
    the sums have too.
    """
    rows = []
    of_others, is_used = others.found(cells)
    of_others, (index, _) = of_others[is_used], sums.found(cells[is_used])
    for name, row in sums.rows.items():
        total, other = Total(row), others.rows[name]
        for place, digit in enumerate(other.digits[:, of_others], other.lowest):
            total.add(-np.ldexp(digit.astype(np.float64), 32 * place), index)
        rows.append(total.sums())
    return _cell_sums.of_rows(rows, sums.count, sums.places)


def sketch_sums(
    blocks: Blocks, bits: tuple[int, ...], count: int
) -> tuple[SketchSums, SketchSums, np.ndarray]:
    """Returns the sums of a sketch that has each block in the cell of its mean score,
    those of squared weights, and the cells.
    """
    num_cells = _grid.num_cells(*bits)
    means = np.clip(blocks.means, 0, 1)
    cells = blocks.groups * num_cells + _grid.index(means.astype(np.float32), *bits)
    places, index = np.unique(cells, return_inverse=True)

    def sums_of(*rows: np.ndarray) -> SketchSums:
        totals = [Total(ExactSums.zeros(len(places))) for _ in rows]
        for total, row in zip(totals, rows, strict=True):
            total.add(row, index)
        return _cell_sums.of_rows([total.sums() for total in totals], count, places)

    weights, scores, outcomes, squares, squared = blocks.sums
    spreads: list[list[np.ndarray]] = [[], []]
    if blocks.spreads is not None:
        spreads = [[row] for row in blocks.spreads]
    of_squares = sums_of(squares, squares * means, squared, *spreads[1])
    return sums_of(weights, scores, outcomes, *spreads[0]), of_squares, cells
