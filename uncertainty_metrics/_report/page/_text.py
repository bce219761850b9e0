"""Shows the calibration report as text."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

from uncertainty_metrics._report.page import _document, _verdict
from uncertainty_metrics._report.sections import _blocks
from uncertainty_metrics._report.sections._model_report import ModelReport

_WIDTH = 88


def render(report: ModelReport) -> str:
    """Returns the report as text."""
    paragraphs = [["Calibration report", "=================="]]
    paragraphs += [[_verdict.source(report)], list(_verdict.lines(report))]
    for chapter in _document.chapters(report):
        paragraphs.append([chapter.title, "-" * len(chapter.title)])
        paragraphs += filter(None, map(_lines, chapter.blocks))
    return "\n\n".join("\n".join(lines) for lines in paragraphs)


def _lines(block: Any) -> list[str]:
    if isinstance(block, _blocks.Text):
        # Names, such as the name of a file, are not broken, so that they can be copied.
        return textwrap.wrap(
            block.text, _WIDTH, break_long_words=False, break_on_hyphens=False
        )
    if isinstance(block, _blocks.Facts):
        width = max(map(len, block.facts)) + 2
        return [f"  {name:<{width}}{fact}" for name, fact in block.facts.items()]
    if isinstance(block, _blocks.Table):
        return list(_table(block))
    if isinstance(block, _blocks.Code):
        return [f"  {line}" for line in block.lines]
    return []  # Text cannot show a picture; it is written as a file.


def _table(table: _blocks.Table) -> Iterator[str]:
    rows = [(table.title, *table.columns), *table.rows]
    columns = list(zip(*rows, strict=True))
    sides = ["<", *(">" for _ in columns[1:])]
    if table.has_words:
        sides[-1] = "<"
    widths = [max(map(len, column)) for column in columns]
    for row in rows:
        cells = zip(row, sides, widths, strict=True)
        yield "  ".join(
            itertools.chain([""], (f"{cell:{side}{n}}" for cell, side, n in cells))
        ).rstrip()
