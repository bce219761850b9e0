"""Tables for a screen: what `repr` shows of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# Of a longer table the middle is left out.
_MAX_ROWS = 20


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def table(header: Sequence[str], size: int, row: Callable[[int], list[object]]) -> str:
    """Returns lines of a header and of `row(i)` for i < size, columns aligned on the
    right and floats with six digits.
    """
    half = _MAX_ROWS // 2
    ends = (range(half), range(size - half, size))
    shown = [*ends[0], *ends[1]] if size > _MAX_ROWS else range(size)
    cells = [[*header], *([_cell(value) for value in row(i)] for i in shown)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]
    if size > _MAX_ROWS:
        lines.insert(1 + half, f"... {size - _MAX_ROWS} rows ...")
    return "\n".join(lines)
