"""Groups of examples: how `y_true` holds them, and the names of their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics.ops import _classifier_scores, xp


def checked_number(num_groups: Any) -> int | None:
    """Returns the number of groups; raises ValueError unless it is one, or None."""
    return None if num_groups is None else _checks.bins("num_groups", num_groups)


def labels_and_groups(y_true: Any, num_groups: int | None) -> tuple[Any, Any]:
    """Returns the labels, and for a metric of groups the groups, else None.

    Args:
      y_true: a dict of labels and groups; or, if there are no groups, the labels.
      num_groups: the number of groups of the metric; None for a metric without groups.

    Raises:
      ValueError: `y_true` has another form, or lacks the groups of a metric of groups.
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


def results_by_name(metric: Any, values: xp.Tensor) -> dict[str, xp.Tensor]:
    """Returns the value of each group, and the worst of them, by name.

    The names begin with the name of the metric, because Keras puts the results of all
    metrics into one dict.

    Args:
      metric: the metric.
      values: [num_groups], NaN for empty groups.
    """
    # A coverage has no direction, because it may also be too large; its smallest value
    # is the worst.
    smaller_is_better = getattr(metric, "_direction", None) == "down"
    worst = _classifier_scores.worst_of(values, smaller_is_better)
    each = enumerate(xp.unstack(values))
    parts = {"worst": worst, **{str(group): value for group, value in each}}
    return {f"{metric.name}_{key}": part for key, part in parts.items()}
