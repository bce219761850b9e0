"""Rows of the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

import numpy as np


def or_inf(value: SupportsFloat) -> float | str:
    """Returns what strict JSON can hold; `float` reads it back."""
    return "inf" if value == np.inf else float(value)


def rows(metrics: Mapping[str, tuple[SupportsFloat, str]]) -> dict[str, dict[str, Any]]:
    """Returns values and their meanings, by the names of the metrics."""
    return {
        name: {"value": or_inf(value), "meaning": meaning}
        for name, (value, meaning) in metrics.items()
    }
