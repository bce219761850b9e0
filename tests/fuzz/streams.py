"""Streaming metrics shared by threads, or interrupted."""

from __future__ import annotations

import contextlib
import sys
import threading

import numpy as np

from tests.fuzz.outcomes import as_text, call
from tests.keras.streams import STREAMS, parts
from tests.keras.test_interrupted import count_lines, interrupt, same, state

_THREADS = 8
_UPDATES = 3


def _differs(metric, other):
    """Returns how the totals of two metrics differ, or None."""
    a, b = (m.get_state().arrays["units"][0] for m in (metric, other))
    if not np.array_equal(a, b):
        return f"counts {a[a != b][:4]} for {b[a != b][:4]}"
    a, b = (call(m.result, {}) for m in (metric, other))
    if as_text(a) == as_text(b):  # A warning has no value.
        return None
    if (
        a.error
        or b.error
        or not np.allclose(a.values, b.values, 1e-9, 1e-9, equal_nan=True)
    ):
        return f"{as_text(a)} for {as_text(b)}"
    return None


def check_threads(name: str, seed: int) -> str | None:
    """Updates a fresh metric from eight threads that start together."""
    stream = STREAMS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    batches = parts(stream.data(rng, 8 * _THREADS), _THREADS)
    metric, expected = stream.make(dtype="float64"), stream.make(dtype="float64")
    for batch in batches * _UPDATES:
        expected.update_state(*batch)
    errors = []
    start = threading.Barrier(_THREADS)

    def work(batch):
        start.wait()
        try:
            for _ in range(_UPDATES):
                metric.update_state(*batch)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[batch]) for batch in batches]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        return f"raises {type(errors[0]).__name__}: {errors[0]}"
    return _differs(metric, expected)


def _steps(batches, other):
    return {
        "update_state": lambda metric: metric.update_state(*batches[1]),
        "reset_state": lambda metric: metric.reset_state(),
        "set_state": lambda metric: metric.set_state(other),
        "merge_state": lambda metric: metric.merge_state([other, other]),
    }


def check_interrupt(name: str, seed: int) -> str | None:
    """Interrupts a call before some line: it must change the whole state or nothing."""
    stream = STREAMS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    batches = parts(stream.data(rng, 24), 3)
    fresh = rng.random() < 0.4
    other = stream.make()
    other.update_state(*batches[2])
    steps = _steps(batches, other.get_state())
    step = str(rng.choice([*steps]))

    def made():
        metric = stream.make()
        if not fresh:
            metric.update_state(*batches[0])
        return metric

    metric = made()
    before = state(metric)
    lines = count_lines(lambda: steps[step](metric))
    after = state(metric)
    for line in rng.integers(1, lines + 1, 5).tolist():
        metric = made()
        with contextlib.suppress(KeyboardInterrupt):
            interrupt(lambda: steps[step](metric), line, KeyboardInterrupt)  # noqa: B023
        found = state(metric)
        where = f"{step} of a {'fresh' if fresh else 'used'} metric, line {line}"
        if not (same(found, before) or same(found, after)):
            return f"{where} of {lines}: the state is neither before nor after"
        done = call(lambda: metric.reset_state() or steps[step](metric) or 0.0, {})  # noqa: B023
        if done.error is not None:
            return f"{where} of {lines}, then: {as_text(done)}"
    return None
