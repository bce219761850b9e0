"""Tables of text, which the `repr` of states shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from uncertainty_metrics import _tables

# A longer table is shown without its middle.
_MAX_ROWS = 20


def table(header: Sequence[str], size: int, row: Callable[[int], list[object]]) -> str:
    """Returns a table with a header and the rows `row(i)` for i < size: its columns are
    aligned on the right.
    """
    half = _MAX_ROWS // 2
    ends = (range(half), range(size - half, size))
    shown = [*ends[0], *ends[1]] if size > _MAX_ROWS else range(size)
    cells = [[*header], *(list(map(_tables.cell, row(i))) for i in shown)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]
    if size > _MAX_ROWS:
        lines.insert(1 + half, f"... {size - _MAX_ROWS} rows ...")
    return "\n".join(lines)
