"""Results that are tables: text, Markdown, LaTeX and data frames of the same cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from uncertainty_metrics import _optional

# A backslash before punctuation shows the character itself.
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~$]")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_NEGATIVE = re.compile(r"(?<![\w.])-(?=[\d.])")


class Shown(NamedTuple):
    """What a table shows.

    Attributes:
      header: the names of the columns.
      size: number of rows.
      row: function of the number of a row that returns its cells, text or numbers.
    """

    header: Sequence[str]
    size: int
    row: Callable[[int], list[object]]

    def cells(self) -> list[list[str]]:
        """Returns the cells of all rows as text."""
        return [list(map(cell, self.row(i))) for i in range(self.size)]


class Table:
    """What the results that are tables have in common."""

    def to_dict(self) -> dict[str, Any]:
        """Returns a dict of the columns, lists of plain values, for JSON; None where a
        number is NaN.
        """
        columns = self._columns().items()
        return {name: [_plain(value) for value in column] for name, column in columns}

    def to_frame(self) -> Any:
        """Returns the columns as a data frame of pandas.

        Raises:
          ImportError: pandas is not installed.
        """
        pandas = _optional.require("pandas", "`to_frame`")
        return pandas.DataFrame(self._columns())

    def to_markdown(self) -> str:
        """Returns the table that is printed as a table of Markdown."""
        shown = self._shown()
        rows = [list(map(escaped_markdown, row)) for row in shown.cells()]
        return markdown(list(map(escaped_markdown, shown.header)), rows)

    def to_latex(self) -> str:
        """Returns the table that is printed as a `tabular` of LaTeX, with the rules of
        the package `booktabs`.
        """
        shown = self._shown()
        rows = [list(map(escaped_latex, row)) for row in shown.cells()]
        return latex(list(map(escaped_latex, shown.header)), rows)

    def _columns(self) -> dict[str, list[Any]]:
        """Returns all numbers of the table by column."""
        raise NotImplementedError

    def _shown(self) -> Shown:
        """Returns the columns and rows that are printed."""
        raise NotImplementedError


def cell(value: object) -> str:
    """Returns the text of a cell: floats have six digits, and whole ones all digits."""
    if not isinstance(value, float):
        return str(value)
    whole = value.is_integer() and abs(value) < 1e15
    return f"{value:.0f}" if whole else f"{value:.6g}"


def decimals(error: float) -> int:
    """Returns how many decimals a number with this standard error has: as many as show
    two digits of the error, and at most 6.
    """
    if not 0 < error < math.inf:
        return 6
    return min(max(1 - math.floor(math.log10(error)), 0), 6)


def means(sizes: Iterable[float]) -> Callable[[float], str]:
    """Returns the function that shows the means of a table of so many outcomes in
    [0, 1]. They have the decimals of the most certain mean, so that they are aligned.

    The sizes are numbers of examples. If they are sums of weights, of which the number
    of examples is not known, the means have 4 decimals.
    """
    sizes = [*sizes]
    if any(size % 1 for size in sizes):
        digits = 4
    else:
        # 0.5 is the largest standard deviation of one outcome.
        digits = decimals(0.5 / math.sqrt(max([1.0, *sizes])))
    return lambda value: f"{value:.{digits}f}"


def escaped_markdown(text: str) -> str:
    """Returns text that Markdown shows as it is, in one line."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))


def escaped_latex(text: str) -> str:
    """Returns text that LaTeX shows as it is, with minus signs before numbers."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return _NEGATIVE.sub("$-$", " ".join(escaped.split()))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table of Markdown, of cells that are escaped already."""
    rules = ["---" if left else "---:" for left in _left(header, rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rules, *rows))


def latex(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a `tabular` with the rules of `booktabs`, of cells that are escaped
    already.
    """
    alignment = "".join("l" if left else "r" for left in _left(header, rows))
    lines = [f"{' & '.join(row)} \\\\" for row in (header, *rows)]
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{alignment}}}",
            *("\\toprule", lines[0], "\\midrule", *lines[1:], "\\bottomrule"),
            "\\end{tabular}",
        ]
    )


def _left(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[bool]:
    """Returns which columns are aligned on the left: the first, if it holds names."""
    names = any(row and not _is_number(row[0]) for row in rows)
    return [names and column == 0 for column in range(len(header))]


def _is_number(text: str) -> bool:
    try:
        float(text.replace("$-$", "-"))
    except ValueError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Returns a value as Python has it; None for NaN."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value
