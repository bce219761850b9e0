"""What a benchmark consists of: cases, contenders, and a call to time.

Imported by every process of every environment, so it needs the standard library only.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

OURS = "ours"
PEERS = "peers"
NUMPY = "NumPy"
EAGER, GRAPH, XLA = "eager", "tf.function", "tf.function(jit_compile=True)"
MODES = (NUMPY, EAGER, GRAPH, XLA)
# Of Keras on another backend: modes, and the environments they run in.
JAX, PYTORCH = "jax", "torch"
BACKENDS = (JAX, PYTORCH)
# An inner loop lasts at least this long, so that the clock and the loop do not matter.
LOOP_SECONDS = 0.03
WARM_UP_CALLS = 2


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way to do what a case asks for.

    Attributes:
      environment: `OURS`, `PEERS` or one of `BACKENDS`, the process it runs in.
      label: its name in the table.
      setup: "module.function" in this folder; called with the data of the case and
        `options`, returns `Timed`.
      options: keyword arguments of `setup`.
      baseline: whether it may be the 1.00 of the case; the first that can run is.
      quantity: contenders of one quantity must agree in their values; None has none.
      mode: one of `MODES` or `BACKENDS` for the package itself: the column of the
        summary.
    """

    environment: str
    label: str
    setup: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    baseline: bool = False
    quantity: str | None = "value"
    mode: str | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """Contenders on the same data.

    Attributes:
      name: what `--cases` selects by.
      title: what is done.
      contenders: in the order of the table.
      size: of the data, arguments of `data`; empty for a case without data.
      data: the function in `data.py` that makes them.
      tolerance: largest relative difference between values of one quantity.
      path: what is done, in the summary, where cases of one path share a row; empty for
        a case that is not in it.
      patience: so many times as many rounds as other cases, to tell small differences.
    """

    name: str
    title: str
    contenders: tuple[Contender, ...]
    size: tuple[int, ...] = ()
    data: str = "predictions"
    tolerance: float = 1e-4
    path: str = ""
    patience: int = 1


@dataclasses.dataclass(frozen=True)
class Timed:
    """What `setup` returns.

    Attributes:
      call: what is timed.
      value: returns the result of one call from a fresh state; not timed. It may be
        None if the contender has no quantity.
      reset: undoes the effects of many calls; not timed.
      seconds: where a call cannot be timed from outside, returns its seconds.
      steps: a call is so many steps, of which one is reported; below 1 it is that
        part of one.
    """

    call: Callable[[], Any] | None = None
    value: Callable[[], float] | None = None
    reset: Callable[[], Any] = lambda: None
    seconds: Callable[[], float] | None = None
    steps: float = 1


def loop(timed: Timed, calls: int) -> float:
    """Returns the seconds of a step, the mean over `calls`, after an untimed one."""
    if timed.seconds is not None:
        return timed.seconds()
    timed.reset()
    timed.call()
    start = time.perf_counter()
    for _ in range(calls):
        timed.call()
    return (time.perf_counter() - start) / (calls * timed.steps)


def warm_up(timed: Timed) -> int:
    """Compiles and fills caches; returns the calls that make an inner loop."""
    if timed.seconds is not None:
        timed.seconds()
        return 1
    for _ in range(WARM_UP_CALLS):
        timed.call()
    calls = 1
    while (seconds := loop(timed, calls) * calls * timed.steps) < LOOP_SECONDS:
        calls = max(2 * calls, int(1.2 * calls * LOOP_SECONDS / seconds))
    return calls
