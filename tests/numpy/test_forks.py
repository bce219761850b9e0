"""Forks beside a computing thread, threads that do not wait, and no threads at all."""

import os
import pathlib
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import uncertainty_metrics
import uncertainty_metrics.numpy as um
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics._without_warnings import warnings_ignored
from uncertainty_metrics.numpy import _threads
from uncertainty_metrics.numpy._examples import Examples

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
# Later Pythons warn of forks beside threads.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


class Slow:
    """An object whose property waits until it is told to go on."""

    def __init__(self):
        self.entered, self.go_on = threading.Event(), threading.Event()

    @lazy_property
    def value(self):
        self.entered.set()
        assert self.go_on.wait(60)
        return object()


@pytest.fixture
def slow():
    """An object whose property another thread computes for as long as a test runs."""
    slow = Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.entered.wait(60)
    yield slow
    slow.go_on.set()
    thread.join()


def exit_code_of_child(work):
    """Returns the exit code of a fork that calls `work`; None if it hangs."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    for _ in range(1000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


@posix
def test_a_fork_beside_a_thread_that_computes_a_property_goes_on(slow):
    def work():
        other = Slow()
        other.go_on.set()
        assert other.value is other.value
        assert um.ece([0, 1, 1], [[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]]) > 0

    assert exit_code_of_child(work) == 0


@posix
def test_a_fork_beside_a_thread_that_ignores_warnings_has_them_again():
    warnings.simplefilter("always")
    inside, leave = threading.Event(), threading.Event()

    def ignore():
        with warnings_ignored:
            inside.set()
            leave.wait(60)

    def work():
        with warnings.catch_warnings(record=True) as caught:
            with warnings_ignored:
                warnings.warn("ignored", stacklevel=1)
            warnings.warn("heard", stacklevel=1)
        assert [str(warning.message) for warning in caught] == ["heard"]

    filters = list(warnings.filters)
    thread = threading.Thread(target=ignore)
    thread.start()
    try:
        assert inside.wait(60)
        assert exit_code_of_child(work) == 0
    finally:
        leave.set()
        thread.join()
    assert list(warnings.filters) == filters


def test_a_thread_does_not_wait_for_the_property_of_another_object(slow):
    other = Slow()
    other.go_on.set()
    seconds = threading.Thread(target=lambda: other.value)
    seconds.start()
    seconds.join(60)
    assert "value" in vars(other)
    assert "value" not in vars(slow)


def test_a_small_call_does_not_wait_for_a_large_one(monkeypatch):
    """The large call stops within its softmax until the small one is done."""
    from uncertainty_metrics.numpy import _row_math

    entered, go_on, in_blocks = (
        threading.Event(),
        threading.Event(),
        _row_math.in_blocks,
    )

    def waiting(function, rows, *rest):
        if len(rows) > 3:
            entered.set()
            assert go_on.wait(60)
        return in_blocks(function, rows, *rest)

    monkeypatch.setattr(_row_math, "in_blocks", waiting)
    logits = np.random.default_rng(0).normal(size=(50, 3))

    def probabilities(n):
        rows = logits[:n]
        counted = np.ones(n, bool)
        return Examples(np.zeros(n, int), rows, None, None, "logits", counted)

    large = threading.Thread(target=lambda: probabilities(50).probabilities)
    large.start()
    try:
        assert entered.wait(60)
        small = threading.Thread(target=lambda: probabilities(3).probabilities)
        small.start()
        small.join(60)
        assert not small.is_alive()
    finally:
        go_on.set()
        large.join()


def test_all_threads_get_the_value_that_was_there_first():
    slow, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in "ab"]
    for thread in threads:
        thread.start()
    assert slow.entered.wait(60)
    slow.go_on.set()
    for thread in threads:
        thread.join()
    assert found == [slow.value] * 2
    assert Slow.value.__doc__ is None


def test_no_property_has_the_lock_of_functools():
    for path in pathlib.Path(uncertainty_metrics.__file__).parent.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        assert "@functools.cached_property" not in code, path
        assert "import cached_property" not in code, path


def no_thread(*_):
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("most", [0, 1])
def test_the_caller_computes_where_no_thread_can_start(monkeypatch, most):
    start, started = threading.Thread.start, []

    def start_some(thread):
        if len(started) >= most:
            no_thread()
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    monkeypatch.setattr(_threads, "number_of_threads", lambda: 4)
    monkeypatch.setattr(_threads, "LARGE", 0)
    parts = _threads.map_rows(lambda rows: (rows.start, rows.stop), 100, 1)
    assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
    started.clear()
    assert list(_threads.map_ahead(str, range(20))) == [str(i) for i in range(20)]
    started.clear()
    with pytest.raises(ZeroDivisionError):
        list(_threads.map_ahead(lambda i: 1 / i, range(3)))


def test_large_work_is_done_at_the_end_of_python():
    code = """
import atexit
import numpy as np
import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _threads
_threads.LARGE, _threads.number_of_threads = 0, lambda: 4
p = np.linspace(0.1, 0.9, 100)
def last():
    print(um.brier_score(p > 0.5, p) < 1, list(_threads.map_ahead(str, range(3))))
atexit.register(last)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "True ['0', '1', '2']\n", done.stderr
