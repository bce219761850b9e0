"""Says how far files are read."""

from __future__ import annotations

import time
from collections.abc import Callable


class Progress:
    """Says which share of the bytes of the files is read.

    Args:
      size: number of bytes of all files.
      tell: takes the text.
    """

    def __init__(self, size: int, tell: Callable[[str], None]):
        self._size, self._tell = max(size, 1), tell
        self._start = time.monotonic()

    def at(self, place: int, rows: int) -> None:
        """Says that this number of bytes, and of rows, is read."""
        share = min(place / self._size, 1.0)
        seconds = time.monotonic() - self._start
        left = ""
        if 0 < share < 1:
            rest = seconds * (1 - share) / share
            left = (
                f", {rest:.0f} s left" if rest < 100 else f", {rest / 60:.0f} min left"
            )
        self._tell(f"{_bar(share)} read {rows:,} rows{left}")


def _bar(share: float) -> str:
    filled = round(20 * share)
    return f"[{'#' * filled}{'.' * (20 - filled)}] {share:4.0%}"
