"""Values of groups of examples, and their mean if the groups are images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uncertainty_metrics._results import GroupValues, ImageMean
from uncertainty_metrics.numpy import _examples

# The level of the interval of a mean over images.
IMAGE_LEVEL = 0.95


def of_groups(
    values: np.ndarray,
    weights: np.ndarray,
    groups: _examples.Partition,
    worst: Callable[[np.ndarray], Any] = np.max,
) -> GroupValues | ImageMean:
    """Returns `GroupValues` of values [num_groups], which are NaN for empty groups; or
    their mean, if the groups are images.
    """
    nonempty = values[~np.isnan(values)]
    if groups.are_images:
        return image_mean(values)
    worst_value = float(worst(nonempty)) if len(nonempty) else np.nan
    result = GroupValues(values, worst_value, weights)
    result.names = groups.names or tuple(range(groups.number))
    return result


def image_mean(values: np.ndarray) -> ImageMean:
    """Returns the mean of the values of images, which are NaN for empty ones."""
    from scipy import special

    held = values[~np.isnan(values)]
    n = len(held)
    if n == 0:
        return ImageMean(np.nan, np.nan, np.nan, values)
    mean = float(np.mean(held))
    if n == 1:
        return ImageMean(np.nan, mean, np.nan, values)
    with np.errstate(invalid="ignore"):  # The deviation of an infinite value is NaN.
        error = float(np.std(held, ddof=1)) / np.sqrt(n)
    half = float(special.stdtrit(n - 1, (1 + IMAGE_LEVEL) / 2) * error)
    return ImageMean(mean - half, mean, mean + half, values)
