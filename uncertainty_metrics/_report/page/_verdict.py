"""Shows the verdict of the report: its tiles and notes, as text and as HTML."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator

from uncertainty_metrics._report.data._row_clusters import size_in_words
from uncertainty_metrics._report.data._sample_sizes import num_examples
from uncertainty_metrics._report.sections._model_report import ModelReport

_WIDTH = 88


def as_text(report: ModelReport) -> str:
    """Returns the verdict as text."""
    return "\n".join([f"Calibration report: {source(report)}", "", *lines(report)])


def source(report: ModelReport) -> str:
    """Returns the name of the model, and the number of its examples."""
    return f"{report.title}, {size_in_words(report.model, num_examples(report.model))}"


def lines(report: ModelReport) -> Iterator[str]:
    """Yields the lines of the tiles, and then of the notes."""
    for tile in report.tiles:
        yield f"{tile.title}: {tile.value}"
        yield from _wrapped(tile.detail, "  ")
    for note in report.notes:
        yield from _wrapped(f"Note: {note}")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def prose(text: str) -> str:
    """Returns a sentence as HTML, in which names between backticks are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def as_html(report: ModelReport) -> str:
    """Returns the verdict as HTML: tiles, whose classes give the style, and notes."""
    parts = ['<ul class="verdict" aria-label="Verdict">']
    for tile in report.tiles:
        title, value, detail = (
            # No line may break within `p = 0.001`.
            re.sub(r"p (=|≤|&lt;) ", r"p&nbsp;\1&nbsp;", prose(text))
            for text in (tile.title, tile.value, tile.detail)
        )
        parts.append(
            f'<li class="tile {tile.level}"><p class="title">{title}</p>'
            f'<p class="value">{value}</p><p class="detail">{detail}</p></li>'
        )
    notes = (f"<p>Note: {prose(note)}</p>" for note in report.notes)
    return "\n".join([*parts, "</ul>", *notes])
