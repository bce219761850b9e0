"""A context that ignores warnings and that threads may share."""

from __future__ import annotations

import threading
import warnings


class _IgnoredWarnings:
    """Ignores the warnings of all threads, until every thread has left the context.

    `warnings.catch_warnings` restores the filters that it found on entry. If a second
    thread entered before the first one left, and left last, it would restore the
    filters of the first thread, and all warnings would stay ignored. So only the first
    thread changes the filters, and only the last one restores them.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._num_inside = 0

    def __enter__(self):
        with self._lock:
            if self._num_inside == 0:
                self._saved_filters = warnings.catch_warnings()
                self._saved_filters.__enter__()
                warnings.simplefilter("ignore")
            self._num_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._num_inside -= 1
            if self._num_inside == 0:
                self._saved_filters.__exit__(None, None, None)


warnings_ignored = _IgnoredWarnings()
