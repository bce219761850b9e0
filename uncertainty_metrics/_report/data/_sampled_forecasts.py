"""Forecasts by samples, and their quantiles, which the sections on quantiles use."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import QuantileForecasts
from uncertainty_metrics.numpy import _inputs

# About the levels below 0.5 of the quantiles that the report shows of samples.
_LEVELS = (0.05, 0.1, 0.25)


def of_samples(
    source: str, samples: Any, target: np.ndarray, **others: Any
) -> QuantileForecasts:
    """Returns forecasts by samples, with the quantiles of the samples.

    Args:
      source: name of the file.
      samples: [N, M], M of at least two.
      target: the observed values, [N].
      **others: further attributes of the forecasts.

    Raises:
      ValueError: there are not as many rows of samples as targets, or too few samples.
    """
    samples = _inputs.as_array("samples", samples)
    if samples.ndim != 2 or samples.shape[1] < 2 or len(samples) != np.size(target):
        raise _checks.error(
            "samples",
            "of shape [N, M] for targets [N], with at least two samples of each",
            f"{list(samples.shape)} for targets {list(np.shape(target))}",
        )
    quantiles, levels = quantiles_of_samples(samples)
    note = (
        f"The quantiles are those of the {samples.shape[1]:,} samples of each "
        "forecast. The k-th smallest of M samples is the quantile of level k / (M + "
        "1): a target drawn from the same distribution is below it with this "
        "probability."
    )
    others["notes"] = (*others.get("notes", ()), note)
    return QuantileForecasts(
        source, quantiles, levels, target, samples=samples, **others
    )


def quantiles_of_samples(samples: np.ndarray) -> tuple[np.ndarray, tuple[float, ...]]:
    """Returns quantiles of samples [N, M], float64 [N, Q], and their Q levels.

    A target that is drawn as the M samples are is below the k-th smallest of them with
    probability k / (M + 1). So this sample is the quantile of this level, exactly, and
    the levels are those of samples next to 0.05, 0.1, 0.25, and so on. Intervals of
    other quantiles, such as NumPy's default, are too narrow for right forecasts.
    """
    size = samples.shape[1] + 1
    low = {max(1, round(level * size)) for level in _LEVELS}
    low = {rank for rank in low if 2 * rank < size}
    middle = {size // 2} if size % 2 == 0 else set()
    ranks = np.array(sorted(low | middle | {size - rank for rank in low}))
    quantiles = np.sort(samples, axis=1)[:, ranks - 1].astype(np.float64)
    return quantiles, tuple(np.round(ranks / size, 12).tolist())
