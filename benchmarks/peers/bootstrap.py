"""Bootstrap intervals of SciPy."""

from __future__ import annotations

import numpy as np
from data import Predictions
from harness import Timed

from peers._timed import BINS, one_shot


def _plain_brier(labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    return (np.sum(p * p, axis=1) - 2 * p[np.arange(len(labels)), labels],)


def _hits_and_scores(labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    return p.argmax(axis=1) == labels, p.max(axis=1).astype(np.float64)


def _plain_ece(hits: np.ndarray, scores: np.ndarray) -> float:
    index = np.clip(np.ceil(scores * BINS).astype(np.intp) - 1, 0, BINS - 1)
    gaps = np.bincount(index, scores - hits, BINS)
    return np.abs(gaps).sum() / len(hits)


def bootstrap(data: Predictions, metric: str, resamples: int) -> Timed:
    """`scipy.stats.bootstrap` of a metric, from its values for each example."""
    from scipy import stats

    reduce, statistic, options = {
        "brier_score": (_plain_brier, np.mean, {"vectorized": True}),
        "ece": (_hits_and_scores, _plain_ece, {"vectorized": False, "paired": True}),
    }[metric]

    def compute():
        found = stats.bootstrap(
            reduce(*data),
            statistic,
            n_resamples=resamples,
            method="BCa",
            rng=0,
            **options,
        )
        return np.array(found.confidence_interval)

    return one_shot(compute)
