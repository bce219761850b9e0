"""The rows of forecasts by quantiles or samples, checked."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import QuantileForecasts, remembered
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.regression.coverage_of_quantiles import central_pairs


class QuantileRows(NamedTuple):
    """The rows of positive weight of forecasts by quantiles or samples.

    Attributes:
      target: the observed values, float64 [n].
      quantiles: float64 [n, Q].
      levels: ascending, in (0, 1), [Q].
      weights: at most 1, [n], or None.
      horizons: [n], or None.
      samples: float64 [n, M]; None of forecasts by quantiles.
    """

    target: np.ndarray
    quantiles: np.ndarray
    levels: np.ndarray
    weights: np.ndarray | None
    horizons: np.ndarray | None
    samples: np.ndarray | None = None

    @property
    def pairs(self) -> list[tuple[float, int, int]]:
        """The central intervals: the level of each, and the positions of its two
        quantiles; the widest first.
        """
        return [
            (round(float(self.levels[high] - self.levels[low]), 9), low, high)
            for low, high in reversed(central_pairs(self.levels.tolist()))
        ]


def checked_levels(levels: object) -> tuple[float, ...]:
    """Returns levels; raises ValueError unless they ascend in (0, 1)."""
    found = _checks.levels("levels", levels)
    if not isinstance(found, tuple):
        raise _checks.error("levels", "a sequence of numbers in (0, 1)", repr(levels))
    for low, high in itertools.pairwise(found):
        if not low < high:
            raise _checks.error(
                "levels", "ascending, as the columns of quantiles", f"{low}, {high}"
            )
    return found


@remembered
def quantiles_of(model: QuantileForecasts) -> QuantileRows:
    """Returns the rows of positive weight.

    Raises:
      TypeError, ValueError: an argument is not valid.
    """
    levels = checked_levels(model.levels)
    target = _inputs.as_array("target", model.target)
    quantiles = _inputs.as_array("quantiles", model.quantiles)
    if target.ndim != 1 or quantiles.shape != (len(target), len(levels)):
        raise _checks.error(
            "quantiles",
            f"of shape [N, {len(levels)}] for targets [N], a column for each level",
            f"{list(quantiles.shape)} for targets {list(target.shape)}",
        )
    weights, counted = None, np.ones(len(target), bool)
    if model.sample_weight is not None:
        weights = _inputs.sample_weights(model.sample_weight, target.shape)
        counted = weights > 0
        weights = weights[counted]
    if not np.any(counted):
        raise ValueError("there must be at least one example whose weight is not 0")
    target = _inputs.finite("target", target[counted]).astype(np.float64)
    samples = model.samples
    if samples is not None:  # Their quantiles are finite where they are.
        samples = _inputs.finite("samples", samples[counted]).astype(np.float64)
    quantiles = _inputs.finite("quantiles", quantiles[counted]).astype(np.float64)
    if len(levels) > 1 and np.all(quantiles[:, 0] > quantiles[:, -1]):
        raise ValueError(
            "the columns of quantiles must ascend with their levels. Received: the "
            f"quantile of level {levels[0]:g} is above that of level {levels[-1]:g} in "
            "every row"
        )
    horizons = model.horizons
    if horizons is not None:
        horizons = np.asarray(horizons)
        _checks.same_shape("horizons", horizons.shape, counted.shape)
        horizons = horizons[counted]
    return QuantileRows(
        target,
        quantiles,
        np.array(levels),
        None if weights is None else weights / weights.max(),
        horizons,
        samples,
    )
