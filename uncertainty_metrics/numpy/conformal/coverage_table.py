"""Coverage and size of prediction sets of each class and of each group."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics.numpy import _shares
from uncertainty_metrics.numpy._clusters import Clusters, cluster_codes
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy._group_columns import group_column
from uncertainty_metrics.numpy.conformal import set_coverage
from uncertainty_metrics.numpy.conformal._class_names import (
    check_number_of_names,
    checked_names,
    codes_of_names,
)

__all__ = ["coverage_by_group"]


class GroupCoverage(NamedTuple):
    """The coverage of the examples of a class or of a group.

    Attributes:
      kind: "all", "class" or "group".
      name: the class or the group; "all" for all examples.
      size: number of examples.
      coverage: share of the sets that hold the label.
      lower: lower end of the interval of the coverage.
      upper: upper end of the interval.
      mean_set_size: mean number of classes in a set.
      num_empty: number of empty sets.
    """

    kind: str
    name: Any
    size: int
    coverage: float
    lower: float
    upper: float
    mean_set_size: float
    num_empty: int


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CoverageByGroup(_tables.Table):
    """The coverage of all examples, of each class and of each group.

    It prints as a table, and is a sequence of `GroupCoverage`. `to_dict`, `to_frame`,
    `to_markdown` and `to_latex` return the table in these forms.

    Attributes:
      rows: a `GroupCoverage` of all examples, then of each class that occurs in the
        order of the classes, then of each group.
      level: level of the intervals, in (0, 1).
    """

    rows: tuple[GroupCoverage, ...]
    level: float

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[GroupCoverage]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> GroupCoverage:
        return self.rows[index]

    def _columns(self) -> dict[str, list[Any]]:
        return {
            field: [getattr(row, field) for row in self.rows]
            for field in GroupCoverage._fields
        }

    def _shown(self) -> _tables.Shown:
        header = ("of", "name", "size", "coverage", "from", "to", "set size", "empty")

        def row(i: int) -> list[object]:
            group = self.rows[i]
            shares = group.coverage, group.lower, group.upper
            return [
                *(group.kind, group.name, group.size),
                *(f"{share:.3f}" for share in shares),
                *(f"{group.mean_set_size:.2f}", group.num_empty),
            ]

        return _tables.Shown(header, len(self), row)

    def __repr__(self) -> str:
        whole = self.rows[0]
        empty = ""
        if whole.num_empty:
            empty = f"\nEmpty sets, which miss the label: {whole.num_empty}"
        return (
            f"Coverage of the sets of {whole.size} examples, with "
            f"{100 * self.level:.3g}% intervals\n{self.to_markdown()}{empty}"
        )


@takes_frames
def coverage_by_group(
    labels: ArrayLike,
    sets: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    class_names: Sequence[Any] | None = None,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> CoverageByGroup:
    """Coverage of prediction sets: of all examples, of each class and of each group.

      coverage of a class k = P(the set holds k | the label is k)

    A conformal set promises the coverage of all examples together. That of a class or
    of a group may be far lower, if the sets were not fitted with `groups="label"` or
    with these groups. The intervals are Wilson's, for independent examples; with
    `clusters` they are those of `sensitivity`.

    Args:
      labels: integer class labels in [0, K), shape [...]; with `class_names`, names of
        classes.
      sets: booleans (or 0 and 1), shape [..., K], as `ConformalClassifier.predict`
        returns.
      groups: group of each example, shape of the labels: strings, integers or booleans.
      class_names: the K classes, text or integers, in the order of the columns of
        `sets`. Labels are then these names.
      level: share of data sets for which an interval holds the coverage, in (0, 1).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `CoverageByGroup`, a table with a row for all examples, for each class that occurs
      and for each group: size, coverage in [0, 1] with its interval, mean size of the
      sets, and the number of sets that are empty. A coverage should be 1 - alpha or a
      little more.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> sets = [[True, False], [True, False], [True, True], [False, False]]
      >>> labels, names = ["cat", "dog", "dog", "cat"], ["cat", "dog"]
      >>> table = um.conformal.coverage_by_group(labels, sets, class_names=names)
      >>> [(row.name, row.coverage, row.num_empty) for row in table]
      [('all', 0.5, 1), ('cat', 0.5, 1), ('dog', 0.5, 0)]

    References:
      Vovk (2012), Conditional Validity of Inductive Conformal Predictors. Ding,
      Angelopoulos, Bates, Jordan and Tibshirani (2023), Class-Conditional Conformal
      Prediction with Many Classes.
    """
    level = _checks.open_unit("level", level)
    names = None
    if class_names is not None:
        names = checked_names(class_names)
        labels = codes_of_names(labels, names)
    y, in_set, _ = set_coverage.read(labels, sets, None)
    if names is None:
        names = np.arange(in_set.shape[1])
    check_number_of_names(names, in_set.shape[1])
    held, sizes = in_set[np.arange(len(y)), y], in_set.sum(axis=1)

    def row(kind: str, name: Any, members: np.ndarray) -> GroupCoverage:
        of_members = None
        if all_clusters is not None:
            present, codes = np.unique(all_clusters.codes[members], return_inverse=True)
            of_members = Clusters(codes.reshape(-1), len(present))
        if of_members is not None and of_members.number < 2:
            # One cluster says nothing about others.
            lower, estimate, upper = 0.0, float(held[members].mean()), 1.0
        else:
            found = _shares.interval(held[members], None, of_members, level)
            lower, estimate, upper = found
        return GroupCoverage(
            *(kind, name, int(members.sum()), estimate, lower, upper),
            float(sizes[members].mean()),
            int(np.count_nonzero(sizes[members] == 0)),
        )

    shape = np.shape(sets)[:-1]
    all_clusters = None if clusters is None else cluster_codes(clusters, shape)
    rows = [row("all", "all", np.ones(len(y), bool))]
    for k in np.unique(y):
        rows.append(row("class", names[k].item(), y == k))
    if groups is not None:
        column = group_column("groups", groups)
        if len(column.codes) != len(y):
            expected = f"of the shape of the labels, {list(shape)}"
            received = f"shape {list(np.shape(groups))}"
            raise _checks.error("groups", expected, received)
        for i, value in enumerate(column.values):
            rows.append(row("group", value, column.codes == i))
    return CoverageByGroup(tuple(rows), level)
