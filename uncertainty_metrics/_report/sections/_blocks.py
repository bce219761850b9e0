"""What a section shows: tiles, texts, tables, code and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from uncertainty_metrics._report.sections._metrics_and_intervals import Interval, Metric

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

    facts: Mapping[str, str | int]


class Table(NamedTuple):
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
    """Returns the text of a number that has a unit, and so may be small or large."""
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
        [
            (name, show(each.estimate), show(each.low), show(each.high))
            for name, each in intervals.items()
        ],
    )
