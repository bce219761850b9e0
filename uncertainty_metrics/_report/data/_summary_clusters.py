"""Clusters of a `Summary`: what its sums over clusters tell of the mean gap."""

from __future__ import annotations

import math

from uncertainty_metrics._report.data._decided import Decisions, event_of
from uncertainty_metrics._report.data._predictions import Stream
from uncertainty_metrics._report.data._row_clusters import (
    quantile_of,
    quantile_of_clusters,
)
from uncertainty_metrics.numpy.sketch._cluster_sums import ClusterSums
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch


def sketch_of(model: Stream) -> ScoreSketch:
    """Returns the sketch of the forecasts by which calibration is judged: of two
    classes the probability of class 1, else decisions or answers.
    """
    events = None if event_of(model) is None else model.summary.events
    return model.summary.decisions if events is None else events


def gap_of(sketch: ScoreSketch, level: float) -> tuple[float, float, float]:
    """Returns the low end of the interval by clusters of mean outcome less mean score,
    this gap, and the high end.
    """
    clusters = _sums_of(sketch)
    gap, error = _gap(clusters)
    error *= quantile_of_clusters(level, clusters.number)
    return gap - error, gap, gap + error


def size_for_gap(sketch: ScoreSketch, decided: Decisions) -> float:
    """Returns how many independent examples would tell the mean gap as well.

    Args:
      sketch: knows its sums over clusters.
      decided: its cells, as decisions.
    """
    size, clusters = float(decided.sample_size), _sums_of(sketch)
    weights = decided.weights
    assert weights is not None
    gaps = decided.correct - decided.confidences
    gaps = gaps - float(weights @ gaps) / weights.sum()
    alone = math.sqrt(decided.squared_weights @ gaps**2) / weights.sum()
    if alone == 0:  # As if all examples of a cluster were copies.
        return min(size, float(clusters.number))
    ratio = _gap(clusters)[1] / alone
    # Fewer clusters have longer intervals.
    ratio *= quantile_of_clusters(0.95, clusters.number) / quantile_of(0.95, None)
    return min(size, size / ratio**2) if ratio else size


def _sums_of(sketch: ScoreSketch) -> ClusterSums:
    clusters = sketch._clusters
    assert clusters is not None
    return clusters


def _gap(clusters: ClusterSums) -> tuple[float, float]:
    """Returns mean outcome less mean score, and its standard error."""
    whole = clusters.even(1)
    gap, mass = whole.gaps / whole.masses, float(whole.masses[0])
    square = float(whole.squares_about(gap)[0, 0])
    square *= clusters.number / (clusters.number - 1)
    return float(gap[0]), math.sqrt(max(square, 0.0)) / mass
