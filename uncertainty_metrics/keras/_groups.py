"""Groups of examples: how metrics are given them, and what their results are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics.ops import _classifier_scores, xp


def ungrouped(y_true: Any, num_groups: int | None) -> tuple[Any, Any]:
    """Returns the labels, and the groups where a metric has some.

    Args:
      y_true: a dict of both; or without groups the labels.
      num_groups: that of the metric, or None.

    Raises:
      ValueError: it is neither.
    """
    given = y_true if isinstance(y_true, Mapping) else {"labels": y_true}
    needed = {"labels"} if num_groups is None else {"labels", "groups"}
    if needed <= set(given) <= {"labels", "groups"}:
        if num_groups is None:
            return given["labels"], None
        if given["groups"] is not None:
            return given["labels"], given["groups"]
    expected = "a dict of 'labels' and 'groups'"
    if num_groups is None:
        expected = f"labels, or {expected}"
    received = type(y_true).__name__
    if isinstance(y_true, Mapping):
        given = {key: value for key, value in given.items() if value is not None}
        received = f"a dict of {', '.join(map(repr, given)) or 'nothing'}"
    raise _checks.error("y_true", expected, received)


def named(metric: Any, values: xp.Tensor) -> dict[str, xp.Tensor]:
    """Returns values [num_groups], NaN for empty groups, and the worst by their names;
    those of several metrics differ, as Keras puts the results of all into one dict.
    """
    # A coverage has no direction, because it may also be too large; its smallest value
    # is the worst.
    smaller_is_better = getattr(metric, "_direction", None) == "down"
    worst = _classifier_scores.worst_of(values, smaller_is_better)
    each = enumerate(xp.unstack(values))
    parts = {"worst": worst, **{str(group): value for group, value in each}}
    return {f"{metric.name}_{key}": part for key, part in parts.items()}
