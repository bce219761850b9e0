"""Forecasts of a single series: blocks of time as clusters, for rows that follow each
other may be alike.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import Clusters, QuantileForecasts

# Long horizons leave at least so many blocks. With fewer than the second number of
# blocks intervals would say nothing.
_LEAST_BLOCKS, _FEWEST_BLOCKS = 10, 5
BLOCKS_OF_TIME = "blocks of time"


def numbers_of_times(values: Sequence[Any] | np.ndarray) -> np.ndarray | None:
    """Returns times as float64 [N], or datetime64[us] [N] of dates as in ISO 8601, such
    as 2024-05-01 or 2024-05-01 12:00; None if they are neither all numbers nor dates.
    """
    values = np.asarray(values)
    if values.dtype.kind == "M":
        missing = bool(np.isnat(values).any())
        return None if missing else values.astype("datetime64[us]")
    try:
        if values.dtype.kind in "OUS":
            found, codes = np.unique(values.astype(str), return_inverse=True)
            # NumPy warns of other time zones, which it applies.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _of_words(found)[codes]
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.all(np.isfinite(numbers)) else None


def _of_words(words: np.ndarray) -> np.ndarray:
    try:
        numbers = words.astype(np.float64)
    except ValueError:
        # A time zone is the same for all; with it NumPy warns.
        plain = [word.removesuffix("Z").removesuffix("+00:00") for word in words]
        numbers = np.array(plain, "datetime64[us]")
    if not np.all(np.isfinite(numbers)):
        raise ValueError("a time is missing")
    return numbers


def block_length(num_times: int, num_horizons: int) -> int:
    """Returns how many consecutive times are a block.

    It is the root of the number of times, as is usual for means of batches (Flegal and
    Jones, 2010), for then the blocks become longer and more. Forecasts of neighbouring
    times share what came between, so that a block is at least as long as there are
    horizons, as long as ten blocks remain.
    """
    horizons = min(num_horizons, num_times // _LEAST_BLOCKS)
    return max(math.ceil(math.sqrt(num_times)), horizons)


def in_blocks_of_time(model: QuantileForecasts) -> QuantileForecasts:
    """Returns forecasts of a single series in clusters that are blocks of time, and
    with a note on it; those of several series as they are.
    """
    clusters, times = model.clusters, model.times
    if model.models is not None:  # Its models have the same times.
        return model
    if clusters is not None and len(set(np.asarray(clusters.values).tolist())) > 1:
        return model
    if clusters is None and times is None:
        return model
    blocks = None if times is None else blocks_of_time(times, model.horizons)
    if blocks is not None:
        note = (
            f"The rows are of one series, and rows that follow each other may be alike:"
            f" the intervals take {blocks.max() + 1} blocks of consecutive times as "
            "clusters."
        )
        clusters = Clusters(BLOCKS_OF_TIME, blocks)
        return dataclasses.replace(model, clusters=clusters, notes=(*model.notes, note))
    rows = (
        f"All rows are of one `{clusters.name}`"
        if clusters is not None
        else "No column names the series of a row"
    )
    note = (
        f"{rows}: the intervals take the rows as independent, and are too short where "
        "they are alike. Name a column of series, or of blocks of time, as clusters to "
        "correct this."
    )
    return dataclasses.replace(model, clusters=None, notes=(*model.notes, note))


def blocks_of_time(times: np.ndarray, horizons: np.ndarray | None) -> np.ndarray | None:
    """Returns the number of the block of each row, [N]; None if a time has several rows
    of the same horizon, which are not of one series, or there are too few times.
    """
    found, codes = np.unique(times, return_inverse=True)
    codes = codes.reshape(-1)
    num_horizons = 1
    pairs = codes
    if horizons is not None:
        of_horizon, ahead = np.unique(horizons, return_inverse=True)
        num_horizons = len(of_horizon)
        pairs = codes * num_horizons + ahead.reshape(-1)
    if len(np.unique(pairs)) < len(pairs):
        return None
    length = block_length(len(found), num_horizons)
    number = len(found) // length
    if number < _FEWEST_BLOCKS:
        return None
    # The times after the last whole block belong to it.
    return np.minimum(codes // length, number - 1)


def lags_of_time(model: QuantileForecasts) -> tuple[np.ndarray, int] | None:
    """Returns the rows of a single series in the order of time, [N], and how many rows
    apart they are independent; None of several series, or of too few rows.

    Errors of forecasts h steps ahead depend on each other over less than h steps.
    """
    clusters, times = model.clusters, model.times
    if clusters is None or clusters.name != BLOCKS_OF_TIME or times is None:
        return None
    keys = [times] if model.horizons is None else [model.horizons, times]
    found, codes = np.unique(times, return_inverse=True)
    steps = block_length(len(found), 1)
    if model.horizons is not None:
        steps = len(np.unique(model.horizons))
    rows = steps * int(np.bincount(codes.reshape(-1)).max())
    return None if rows > len(times) // _FEWEST_BLOCKS else (np.lexsort(keys), rows)
