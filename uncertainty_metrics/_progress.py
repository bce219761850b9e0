"""Progress bars of the functions that resample or search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from uncertainty_metrics import _checks, _optional

T = TypeVar("T")


def track(
    iterable: Iterable[T], total: int, progress: bool, description: str
) -> Iterator[T]:
    """Iterates over `iterable`, with a bar on stderr if `progress` is True."""
    _checks.boolean("progress", progress)
    if not progress:
        return iter(iterable)
    tqdm: Any = _optional.require("tqdm")
    return iter(tqdm.tqdm(iterable, total=total, desc=description))
