"""A context that ignores warnings and that threads may share."""

from __future__ import annotations

import os
import threading
import warnings


class _IgnoredWarnings:
    """Ignores the warnings of all threads, until every thread has left the context.

    `warnings.catch_warnings` restores the filters that it found on entry. If a second
    thread entered before the first one left, and left last, it would restore the
    filters of the first thread, and all warnings would stay ignored. So only the first
    thread changes the filters, and only the last one restores them.

    A process that is forked has only the thread that forked it: the others have left
    the context there.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._inside: list[int] = []  # A thread is as often here as it is inside.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        was_inside, this = self._inside, threading.get_ident()
        self._inside = [thread for thread in was_inside if thread == this]
        if was_inside and not self._inside:
            self._saved_filters.__exit__(None, None, None)

    def __enter__(self):
        with self._lock:
            if not self._inside:
                self._saved_filters = warnings.catch_warnings()
                self._saved_filters.__enter__()
                warnings.simplefilter("ignore")
            self._inside.append(threading.get_ident())

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside.remove(threading.get_ident())
            if not self._inside:
                self._saved_filters.__exit__(None, None, None)


warnings_ignored = _IgnoredWarnings()
