"""Work on the rows of large arrays, shared by several threads.

NumPy and SciPy release the lock of Python inside their loops, so threads share the work
on large arrays. The data alone define the parts of the work. A part writes only its own
rows of a result, and sums of parts are added in the order of the parts. So no value
depends on the number of threads.
"""

from __future__ import annotations

import collections
import contextvars
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")

# Threads take longer to start than NumPy takes for simple work on fewer numbers.
LARGE = 2**19
# The most parts of an array, and so the most threads. There are more parts than threads
# where other processes may slow one of the threads down.
MOST_PARTS = 16
# The numbers of a block that stays in the cache with a few arrays of its size.
BLOCK = 2**16
# Bytes that the arrays of a block take in all.
_MEMORY_OF_A_BLOCK = 2**23
# True while the main thread takes its share, so that it starts no threads within.
_IN_A_SHARE = contextvars.ContextVar("_IN_A_SHARE", default=False)


def number_of_threads() -> int:
    """Returns how many threads may share the work of a call.

    It is the environment variable `OMP_NUM_THREADS` where that is set, else the number
    of cores of the process; and 1 for a caller that is one of several workers itself.
    """
    if _is_worker():
        return 1
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if told.isdecimal() and int(told) > 0:
        return int(told)
    if hasattr(os, "sched_getaffinity"):  # Not on macOS and Windows.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_worker() -> bool:
    """Says if the caller is a thread beside the main one, or a process of a pool, such
    as those of joblib, multiprocessing and pytest-xdist.
    """
    if _IN_A_SHARE.get() or threading.current_thread() is not threading.main_thread():
        return True
    from multiprocessing import process

    return process.parent_process() is not None or "PYTEST_XDIST_WORKER" in os.environ


def blocks(rows: slice, step: int) -> Iterator[slice]:
    """Yields the rows in blocks of `step` rows; the last one may have fewer. If there
    are no rows, there is an empty block.
    """
    for start in range(rows.start, max(rows.stop, rows.start + 1), step):
        yield slice(start, min(start + step, rows.stop))


def rows_of_block(row_size: int) -> int:
    """Returns how many rows of this many numbers are a block."""
    return max(1, BLOCK // max(row_size, 1))


def map_rows(
    function: Callable[[slice], Result], num_rows: int, row_size: int, step: int = 1
) -> list[Result]:
    """Returns the results of a function of rows for each part of all rows, in order.

    The function is called as if by one thread: with the `np.errstate` of the caller,
    and the first error in the order of the rows is raised.

    Args:
      function: takes the rows of a part, a slice. It may write to these rows of shared
        arrays, and to no others.
      num_rows: number of rows.
      row_size: numbers in a row, to tell if the work is large.
      step: parts begin at multiples of this number of rows.
    """
    rows = slice(0, num_rows)
    if num_rows * row_size < LARGE:
        return [function(rows)]
    _keep_freed_memory()
    size = -(-num_rows // MOST_PARTS)
    parts = list(blocks(rows, -(-size // step) * step))
    threads = min(number_of_threads(), len(parts))
    if threads == 1:
        return [function(rows) for rows in parts]
    return _shared(function, parts, threads)


def _keep_freed_memory() -> None:
    """Makes this process keep the memory of freed arrays, for those of the next block.

    The C library of Linux (glibc) gives arrays above 128 kB back to the system, which
    clears every page that it hands out again. This may take longer than the arithmetic,
    and threads wait for each other in it. Once the process has freed a larger array,
    the library keeps up to twice its size. The one made here is never written, so that
    it costs a few microseconds and no memory.
    """
    np.empty(_MEMORY_OF_A_BLOCK, np.uint8)


def _shared(
    function: Callable[[slice], Result], parts: list[slice], threads: int
) -> list[Result]:
    """Returns the results of the parts, computed by this thread and by new ones."""
    waiting, lock = iter(enumerate(parts)), threading.Lock()
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    # A new thread has the default.
    floating_errors: dict[str, Any] = {**np.geterr(), "call": np.geterrcall()}

    def next_part() -> tuple[int, slice] | None:
        with lock:
            return None if errors else next(waiting, None)

    def take_parts() -> None:
        with np.errstate(**floating_errors):
            while (taken := next_part()) is not None:
                index, rows = taken
                try:
                    results[index] = function(rows)
                except BaseException as error:  # Raised below, in the order of parts.
                    errors[index] = error

    started: list[threading.Thread] = []
    token = _IN_A_SHARE.set(True)
    try:
        for _ in range(threads - 1):
            thread = threading.Thread(target=take_parts)
            try:
                thread.start()
            except RuntimeError:  # At the end of Python, or beyond a limit.
                break
            started.append(thread)
        take_parts()
    finally:
        _IN_A_SHARE.reset(token)
        for thread in started:
            thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(parts))]


def map_ahead(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Yields the results of a function of each item, in their order.

    This thread takes the items, such as the parts of a file that it reads, and other
    threads work on the items that were taken: on as many at a time as there are
    threads. The first error in the order of the items is raised. If no thread can
    start, this thread does the work.
    """
    threads = number_of_threads()
    try:  # At the end of Python the import fails unless there was one before.
        from concurrent.futures import Future, ThreadPoolExecutor
    except RuntimeError:
        threads = 1
    if threads == 1:
        yield from map(function, items)
        return

    def submitted(item: Item) -> Future[Result]:
        try:
            return pool.submit(function, item)
        except RuntimeError:
            done: Future[Result] = Future()
            try:
                done.set_result(function(item))
            except Exception as error:
                done.set_exception(error)
            return done

    waiting: collections.deque[Future[Result]] = collections.deque()
    source, failed = iter(items), None
    with ThreadPoolExecutor(threads) as pool:
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except Exception as error:  # Raised after the errors of items before it.
                failed = error
                break
            waiting.append(submitted(item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    if failed is not None:
        raise failed


def map_blocks(
    function: Callable[[slice], Result],
    num_rows: int,
    row_size: int = 1,
    step: int | None = None,
) -> list[Result]:
    """Returns the results of a function of rows for each block of all rows, in order.

    Work within the cache takes a fraction of the time, and arrays in float64 are needed
    for a block only. The arguments are those of `map_rows`; `step` is the number of
    rows in a block.
    """
    step = rows_of_block(row_size) if step is None else step
    results = map_rows(
        lambda rows: [function(block) for block in blocks(rows, step)],
        *(num_rows, row_size, step),
    )
    return [result for part in results for result in part]


def fill_rows(
    out: np.ndarray, function: Callable[[slice], np.ndarray], row_size: int
) -> np.ndarray:
    """Fills an array with the results of a function for each block of its rows.

    Args:
      out: the array to fill, which is returned.
      function: returns the rows of `out` for some rows, a slice.
      row_size: numbers in a row of the arrays that the function works on.
    """

    def fill(block: slice) -> None:
        out[block] = function(block)

    map_blocks(fill, len(out), row_size)
    return out
