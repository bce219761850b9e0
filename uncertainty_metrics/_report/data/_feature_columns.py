"""The features by which the report searches for groups, as numbers or names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def feature_columns(features: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the features by name: numbers, float64, where all values are numbers.

    The values of a text file are text, also those that are numbers.
    """
    return {name: _column(values) for name, values in features.items()}


def _column(values: Any) -> Any:
    column = np.asarray(values, object if isinstance(values, list | tuple) else None)
    if column.dtype.kind not in "OU":
        return values
    numbers = np.full(column.size, np.nan)
    for i, value in enumerate(column.reshape(-1).tolist()):
        if value is None or value != value:
            continue
        if isinstance(value, bool):
            return values
        try:
            numbers[i] = float(value)
        except (TypeError, ValueError):
            return values
    # Infinite numbers are no places on a scale; a column of none is one of names.
    return numbers if np.any(np.isfinite(numbers)) else values


def are_numbers(column: Any) -> bool:
    """Says whether a column of `feature_columns` holds numbers."""
    return np.asarray(column).dtype.kind in "iuf"
