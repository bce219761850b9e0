"""A model against a constant forecast: a paired test of their scores, and its tile."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from uncertainty_metrics._report.data._row_clusters import error_of_mean, quantile_of
from uncertainty_metrics._report.sections._blocks import Tile
from uncertainty_metrics._report.sections._metrics_and_intervals import Number
from uncertainty_metrics._report.sections._p_values import (
    is_borderline,
    is_clear,
    shown_p_value,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GainOverConstant:
    """Mean scores of a model and of a constant forecast; smaller is better.

    Attributes:
      largest_share: of a classifier, the share of the most frequent class.
      stddev: of a regression, the standard deviation of the targets.
      model: mean score of the model.
      constant: mean score of the constant forecast.
      gain: the second mean less the first.
      p_value: the probability of a gain or loss this large if the true gain is 0; None
        for a summary of clusters, which does not tell.
    """

    largest_share: float | None = None
    stddev: Number = None
    model: float
    constant: float
    gain: float
    p_value: Number


def against_constant(
    model: np.ndarray,
    constant: np.ndarray,
    weights: np.ndarray | None,
    clusters: np.ndarray | None = None,
) -> GainOverConstant:
    """Returns mean scores of a model and of a constant forecast, and their difference.

    Args:
      model: the scores of the model for the examples, [N]; smaller is better.
      constant: the scores of one and the same forecast for all examples, [N].
      weights: [N], at most 1, or None.
      clusters: number of the cluster of each example, [N], or None.

    The gain over its standard error is taken as standard Normal, which holds for many
    examples.
    """
    shares = np.ones(len(model)) if weights is None else weights
    shares = shares / shares.sum()
    gains = constant - model
    gain = float(shares @ gains)
    # One example says nothing about the spread. For n equal weights, 1 / freedom is
    # n / (n - 1), which makes the variance unbiased.
    freedom = 1 - float(shares @ shares)
    error = math.inf
    if freedom > 0:
        error = error_of_mean(gains, shares, clusters) / freedom**0.5
    if clusters is not None:  # Fewer clusters are less sure.
        error *= quantile_of(0.95, clusters) / quantile_of(0.95, None)
    means = float(shares @ model), float(shares @ constant)
    return gain_over_constant(*means, gain, error)


def gain_over_constant(
    model: float, constant: float, gain: float, error: float
) -> GainOverConstant:
    """Returns what `against_constant` returns, of a gain that is known.

    Args:
      model: mean score of the model.
      constant: mean score of the constant forecast.
      gain: the second mean less the first.
      error: standard error of the gain.
    """
    z = abs(gain) / error if error > 0 else math.inf if abs(gain) > 1e-12 else 0.0
    p = math.erfc(z / 2**0.5)
    return GainOverConstant(model=model, constant=constant, gain=gain, p_value=p)


def tile_of_gain(
    found: GainOverConstant, score: str, forecast: str, show: Callable[[float], str]
) -> Tile:
    """Returns the tile of a model against a constant forecast.

    Args:
      found: the test.
      score: the name of the score.
      forecast: what the constant forecast is.
      show: returns the text of a score.
    """
    constant, p = found.constant, found.p_value
    detail = (
        f"{score} {show(found.model)}; always forecasting {forecast} gives "
        f"{show(constant)}. Smaller is better."
    )
    share = found.gain / constant if constant > 0 else 0.0
    better, worse = f"{share:.0%} better", f"{-share:.0%} worse"
    if constant == 0:
        value, level = "Nothing to compare", "unclear"
        detail = f"All outcomes are the same. {detail}"
    elif p is None:
        value, level = better if share > 0 else worse, "unclear"
        return Tile(
            "Against a constant forecast",
            value,
            f"{detail} Whether it is chance is not known: a summary does not have the "
            "scores of each cluster.",
            level,
        )
    elif is_clear(p):
        value, level = (better, "good") if share > 0 else (worse, "bad")
    elif is_borderline(p):
        value, level = "Borderline", "unclear"
    else:
        value, level = "Not clearly better", "unclear"
    if constant > 0:
        detail += f" A difference this large by chance has p {shown_p_value(p)}."
    return Tile("Against a constant forecast", value, detail, level)
