"""What a section shows: tiles, texts, tables, code and pictures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from uncertainty_metrics import _tables
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval, Metric
from uncertainty_metrics.numpy import _text_tables

SIDES = ("first", "second")


class Tile(NamedTuple):
    """A finding of the verdict.

    It is "good", "bad", or "unclear" if it is borderline or the examples are too few. A
    p-value or an interval decides whether chance alone may explain a number, never the
    sign of the number.

    Attributes:
      title: the subject.
      value: the finding, a number or a few words.
      detail: a sentence or two with the numbers behind the finding.
      level: "good", "unclear" or "bad".
    """

    title: str
    value: str
    detail: str
    level: str


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Facts(NamedTuple):
    """A list of names, each with its value."""

    facts: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Table(_tables.Table):
    """A table: a column of names, columns of numbers, and perhaps a last one of words.

    Attributes:
      caption: a title of the table.
      title: the title of the column of names.
      columns: the titles of the other columns.
      rows: the name and the cells of each row.
    """

    caption: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    @property
    def has_words(self) -> bool:
        return self.columns[-1] == "meaning"

    def _columns(self) -> dict[str, list[Any]]:
        titles = (self.title, *self.columns)
        # Two columns may have the same title, such as p.
        unique = [
            f"{title} {titles[: i + 1].count(title)}"
            if titles.count(title) > 1
            else title
            for i, title in enumerate(titles)
        ]
        return {
            title: [row[i] if not i else _value(row[i]) for row in self.rows]
            for i, title in enumerate(unique)
        }

    def _shown(self) -> _tables.Shown:
        header = (self.title, *self.columns)
        return _tables.Shown(header, len(self.rows), lambda i: [*self.rows[i]])

    def __repr__(self) -> str:
        return f"{self.caption}\n{_text_tables.table(*self._shown())}"


def _value(cell: str) -> float | str:
    """Returns a cell as a number, if it is one."""
    try:
        return math.nan if cell == "-" else float(cell)
    except ValueError:
        return cell


class Code(NamedTuple):
    """Lines of Python."""

    lines: Sequence[str]


class Picture(NamedTuple):
    """A picture, by the name of its file.

    Attributes:
      name: the name of the file.
      alt: a description of the picture, for readers who cannot see it.
      caption: how to read the picture.
    """

    name: str
    alt: str
    caption: str


Block = Text | Facts | Table | Code | Picture


def number(value: float | str | None) -> str:
    """Returns the text of a number."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int | str) else f"{value:.4f}"


def significant(value: float | str | None) -> str:
    """Returns the text of a number that has a unit, and so may be small or large: it
    has at most four decimals, and four digits.
    """
    if isinstance(value, float) and 10 <= abs(value) < 1e6:
        return f"{value:.{max(3 - math.floor(math.log10(abs(value))), 0)}f}"
    if isinstance(value, float) and value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.4g}"
    return number(value)


def metrics_table(
    caption: str,
    title: str,
    metrics: Mapping[str, Metric],
    show: Callable[[float | None], str] = number,
) -> Table:
    """Returns a table of values and their meanings."""
    return Table(
        caption,
        title,
        ("value", "meaning"),
        [(name, show(each.value), each.meaning) for name, each in metrics.items()],
    )


def intervals_table(
    caption: str,
    title: str,
    intervals: Mapping[str, Interval],
    show: Callable[[float | None], str] = number,
) -> Table:
    """Returns a table of estimates and their intervals."""
    return Table(
        caption,
        title,
        ("value", "from", "to"),
        [(name, *_with_error(each, show)) for name, each in intervals.items()],
    )


def _with_error(each: Interval, show: Callable[[float | None], str]) -> list[str]:
    """Returns an estimate and its interval, with two digits of the standard error."""
    numbers = (each.estimate, each.low, each.high)
    if any(x is None or not math.isfinite(x) for x in numbers):
        return [show(x) for x in numbers]
    error = (each.high - each.low) / 4  # The interval is about 4 standard errors long.
    if error < 1e-6:
        return [show(x) for x in numbers]
    return [f"{x:.{_tables.decimals(error)}f}" for x in numbers]
