"""The row of predictions that an error is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uncertainty_metrics._report.data import _row_subsets
from uncertainty_metrics._report.data._decided import examples_of
from uncertainty_metrics._report.data._label_scores import label_examples
from uncertainty_metrics._report.data._normal_forecasts import forecasts_of
from uncertainty_metrics._report.data._predictions import (
    MultiLabel,
    QuantileForecasts,
    Regression,
    Survival,
)
from uncertainty_metrics._report.data._quantile_rows import quantiles_of


def first_bad_row(model: Any) -> int | None:
    """Returns the first row that is refused by itself; None if there is none."""
    low, high = 0, _row_subsets.num_rows(model)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_bad(_row_subsets.taken(model, slice(low, middle))):
            high = middle
        else:
            low = middle
    return low if _is_bad(_row_subsets.taken(model, slice(low, high))) else None


def _is_bad(model: Any) -> bool:
    if isinstance(model, Survival):
        return False  # It is checked as a whole.
    check: Callable[[Any], Any] = examples_of
    if isinstance(model, Regression):
        check = forecasts_of
    elif isinstance(model, QuantileForecasts):
        check = quantiles_of
    elif isinstance(model, MultiLabel):
        check = label_examples
    try:
        check(model)
    except ValueError:
        return True
    return False
