"""Blocks of the calibration report as a document: texts, tables, code and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

SIDES = ("first", "second")


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Facts(NamedTuple):
    """A list of names, each with its value."""

    facts: dict[str, Any]


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


class Chapter(NamedTuple):
    """A chapter: its title, and its blocks in order."""

    title: str
    blocks: list[Block]


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
    rows: dict[str, dict[str, Any]],
    show: Callable[[Any], str] = number,
) -> Table:
    """Returns a table of values and their meanings."""
    return Table(
        caption,
        title,
        ("value", "meaning"),
        [(name, show(row["value"]), row["meaning"]) for name, row in rows.items()],
    )


def intervals_table(
    caption: str,
    title: str,
    rows: dict[str, dict[str, Any]],
    show: Callable[[Any], str] = number,
) -> Table:
    """Returns a table of estimates and their intervals."""
    keys = ("estimate", "low", "high")
    return Table(
        caption,
        title,
        ("value", "from", "to"),
        [(name, *(show(row[key]) for key in keys)) for name, row in rows.items()],
    )


def data_chapter(report: dict[str, Any], facts: dict[str, Any]) -> Chapter:
    """Returns the chapter that describes the data of the file."""
    known = {"predictions": model(report), "examples": report["data"]["examples"]}
    return Chapter("Data", [Facts(known | facts)])


def intervals_chapter(
    section: dict[str, Any], show: Callable[[Any], str] = number
) -> Chapter:
    """Returns the chapter of intervals."""
    rows = section["metrics"]
    table = intervals_table("Metrics and their intervals", "metric", rows, show)
    return Chapter("Intervals", [Text(section["verdict"]), *([table] if rows else [])])


def model(report: dict[str, Any]) -> str:
    """Returns the name of the model that the report is about."""
    members = report["data"].get("members", 1)
    mean = f", the mean of {members} members" if members > 1 else ""
    return f"{report['source']}{mean}"
