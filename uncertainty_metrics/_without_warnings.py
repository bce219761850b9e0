"""A context without warnings that threads may share."""

from __future__ import annotations

import threading
import warnings


class _Ignored:
    """Ignores warnings, those of other threads too, until all threads have left.

    `warnings.catch_warnings` puts back the filters that it found. Where threads overlap
    the last one would put back those of the first, which ignore, for good.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self):
        with self._lock:
            if self._inside == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._before.__exit__(None, None, None)


warnings_ignored = _Ignored()
