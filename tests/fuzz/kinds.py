"""The kinds of cases."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from tests.fuzz import (
    confusion,
    files,
    functions,
    groups,
    logits,
    metrics,
    monitors,
    outcomes,
    sketches,
    streams,
)
from uncertainty_metrics.ops import IS_TENSORFLOW


class Kind(NamedTuple):
    """Cases of one kind.

    Attributes:
      names: the names of the cases.
      check: returns what is wrong with the case of a name and a seed, or None.
      every: these cases run in one of so many rounds, the fewer the longer they take.
    """

    names: Collection[str]
    check: Callable[[str, int], str | None]
    every: int = 1


# Kinds that run on every backend.
KINDS = {
    "functions": Kind(outcomes.TARGETS, functions.check),
    "groups": Kind(groups.METRICS, groups.check, 2),
    "updates": Kind(metrics.METRICS, metrics.check_metric),
    "losses": Kind(metrics.LOSSES, metrics.check_loss),
    "penalties": Kind(metrics.PENALTIES, metrics.check_penalty),
    "logits": Kind(logits.NAMES, logits.check),
    "threads": Kind(streams.STREAMS, streams.check_threads, 10),
    "interrupts": Kind(streams.STREAMS, streams.check_interrupt, 10),
    "states": Kind(streams.STREAMS, files.check_state, 10),
    "confusion": Kind(confusion.CASES, confusion.check, 2),
}
if IS_TENSORFLOW:
    from tests.fuzz import mixtures, shapes

    KINDS |= {
        "numpy": Kind(outcomes.NUMPY_TARGETS, functions.check_numpy),
        "shapes": Kind(outcomes.TARGETS, shapes.check_function, 10),
        "single_rows": Kind(outcomes.TARGETS, shapes.check_single_row, 10),
        "metric_shapes": Kind(shapes.STREAMS, shapes.check_metric, 10),
        "mixtures": Kind(mixtures.NAMES, mixtures.check, 10),
        "sketches": Kind(sketches.SKETCHES, sketches.check),
        "monitors": Kind(monitors.MONITORS, monitors.check),
        "reports": Kind(files.REPORTS, files.check_report),
        "temperatures": Kind(files.TEMPERATURES, files.check_temperature),
    }
