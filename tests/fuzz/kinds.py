"""The kinds of cases."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from tests.fuzz import functions, metrics, shapes, targets


class Kind(NamedTuple):
    """Cases of one kind.

    Attributes:
      names: what there are cases of.
      check: returns what is wrong with the case of a name and a seed, or None.
      every: one round in so many has these cases, by their cost.
    """

    names: Collection[str]
    check: Callable[[str, int], str | None]
    every: int = 1


KINDS = {
    "functions": Kind(targets.TARGETS, functions.check),
    "updates": Kind(metrics.METRICS, metrics.check_metric),
    "losses": Kind(metrics.LOSSES, metrics.check_loss),
    "shapes": Kind(targets.TARGETS, shapes.check_function, 10),
    "metric_shapes": Kind(shapes.STREAMS, shapes.check_metric, 10),
}
