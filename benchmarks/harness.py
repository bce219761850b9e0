"""The parts of a benchmark: cases, contenders, and calls to time.

Every process of every environment imports this file, so it needs only the standard
library.
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
# Other backends of Keras. The names are both modes and environments.
JAX, PYTORCH = "jax", "torch"
BACKENDS = (JAX, PYTORCH)
# NumPy functions in a process that uses Numba; also both mode and environment.
FAST = "numba"
# The label of a part of the work alone begins with this.
ALONE = "alone: "
# An inner loop lasts at least this long, so that clock and loop cost next to nothing.
LOOP_SECONDS = 0.03
WARM_UP_CALLS = 2


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way to do the work of a case.

    Attributes:
      environment: `OURS`, `PEERS`, `FAST` or one of `BACKENDS`, the process it runs in.
      label: its name in the table.
      setup: "module.function" in this folder, for peers "peers.module.function"; called
        with the data of the case and `options`, returns `Timed`.
      options: keyword arguments of `setup`.
      baseline: whether it may be the 1.00 of the case. The first baseline that can run
        is the 1.00.
      quantity: contenders of the same quantity must agree in their values; None means
        that its value is not compared.
      mode: one of `MODES` or `BACKENDS`, or `FAST`, for the package itself: the column
        of the summary.
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
      name: name, by which `--cases` selects.
      title: description of the work.
      contenders: the contenders, in the order of the table.
      size: size of the data, the arguments of `data`; empty for a case without data.
      data: the function in `data.py` that makes the data.
      tolerance: largest relative difference between values of the same quantity.
      path: row of the summary, which cases with the same path share; empty for a case
        that is not in the summary.
      family: title of the cases of its kind, above their rows in the summary.
      patience: factor of the number of rounds, to detect small differences.
    """

    name: str
    title: str
    contenders: tuple[Contender, ...]
    size: tuple[int, ...] = ()
    data: str = "predictions"
    tolerance: float = 1e-4
    path: str = ""
    family: str = ""
    patience: int = 1


@dataclasses.dataclass(frozen=True)
class Timed:
    """The result of a setup function.

    Attributes:
      call: the call to time.
      value: returns the result of one call from a fresh state; not timed. It may be
        None if the contender has no quantity.
      reset: undoes the effects of many calls; not timed.
      seconds: returns the seconds of a call that cannot be timed from outside.
      steps: number of steps in a call; the time of one step is reported. It is below 1
        if a call is only a part of a step.
    """

    call: Callable[[], Any] | None = None
    value: Callable[[], float] | None = None
    reset: Callable[[], Any] = lambda: None
    seconds: Callable[[], float] | None = None
    steps: float = 1


def loop(timed: Timed, calls: int) -> float:
    """Returns the mean seconds of a step over `calls`, after an untimed call."""
    if timed.seconds is not None:
        return timed.seconds()
    timed.reset()
    timed.call()
    start = time.perf_counter()
    for _ in range(calls):
        timed.call()
    return (time.perf_counter() - start) / (calls * timed.steps)


def warm_up(timed: Timed) -> int:
    """Compiles and fills caches; returns the number of calls of an inner loop."""
    if timed.seconds is not None:
        timed.seconds()
        return 1
    for _ in range(WARM_UP_CALLS):
        timed.call()
    calls = 1
    while (seconds := loop(timed, calls) * calls * timed.steps) < LOOP_SECONDS:
        calls = max(2 * calls, int(1.2 * calls * LOOP_SECONDS / seconds))
    return calls
