# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from uncertainty_metrics.keras.metrics._scores import MeanScore

class ConformalCoverage(MeanScore):
    """Share of prediction sets that hold the label, of all batches.

    `y_true` holds integer labels [...], or one-hot labels. `y_pred` holds the sets, of
    booleans or of 0 and 1, shape [..., K], as `ConformalSetLayer` makes them. The worst
    of several groups is the group with the smallest coverage.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.conformal.ConformalCoverage()
      >>> metric.update_state([2, 1], [[1, 0, 1], [1, 0, 0]])
      >>> float(metric.result())
      0.5
    """

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = "conformal_coverage",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None: ...

class MeanSetSize(MeanScore):
    """Mean number of classes in prediction sets, of all batches.

    Arguments are as for `ConformalCoverage`. The worst of several groups is the group
    with the largest sets.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.conformal.MeanSetSize()
      >>> metric.update_state([2, 1], [[1, 0, 1], [1, 0, 0]])
      >>> float(metric.result())
      1.5
    """

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = "mean_set_size",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None: ...
