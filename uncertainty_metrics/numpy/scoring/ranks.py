"""Ranks of labels among the samples of their forecasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import RankHistogram
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames

__all__ = ["rank_histogram"]


@takes_frames
def rank_histogram(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> RankHistogram:
    """Rank histogram, or Talagrand diagram, of an ensemble of forecasts.

      rank = #{x_i < y},  from 0 to m

    is the rank of the label y among its m samples x_i. A label equal to some samples
    counts evenly in all ranks that it may have. The histogram is flat if labels and
    samples are draws of one distribution, U-shaped if the samples are too close to each
    other, hill-shaped if they are too far apart, and sloped if they are biased.

    `regression.pit_histogram(regression.sample_pit(...), n_bins=m + 1)` is the same;
    `regression.pit_diagram` draws it.

    Args:
      labels: real, shape [...] or [..., 1].
      predictive_samples: m samples of each forecast, shape [..., m].
      sample_weight: weight of each example, >= 0, broadcastable to the labels.

    Returns:
      A named tuple `(counts, density)`: `counts` [m + 1] is the weight of each rank,
      and `density` [m + 1] is 1 for a uniform distribution.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> histogram = um.rank_histogram([0.5, 1.5, 1.5, 2.0], [[1.0, 2.0]] * 4)
      >>> [float(count) for count in histogram.counts]
      [1.0, 2.5, 0.5]

    References:
      Hamill (2001), Interpretation of Rank Histograms for Verifying Ensemble Forecasts.
    """
    labels = _inputs.as_array("labels", labels)
    samples = _inputs.as_array("predictive_samples", predictive_samples)
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "samples")
    y = _inputs.finite("labels", labels).reshape(*samples.shape[:-1], 1)
    samples = _inputs.finite("predictive_samples", samples)
    weights = np.ones(labels.size)
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, labels.shape)
        if not np.any(weights > 0):
            raise _checks.error(
                "labels", "at least one example of positive weight", "none", verb="hold"
            )
    first, last = (
        np.sum(ranked, axis=-1).reshape(-1) for ranked in (samples < y, samples <= y)
    )
    size = samples.shape[-1] + 1
    shares = weights / (last - first + 1)
    steps = (
        np.bincount(first, shares, size) - np.bincount(last + 1, shares, size + 1)[:-1]
    )
    counts = np.maximum(np.cumsum(steps), 0)
    return RankHistogram(counts, counts / weights.sum() * size)
