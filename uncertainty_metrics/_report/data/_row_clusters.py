"""Clusters: rows that depend on each other, and how sure the means over them are."""

from __future__ import annotations

import dataclasses
import math
import statistics
from typing import Any

import numpy as np
from scipy import special

from uncertainty_metrics._report.data._decided import (
    decisions_of,
    examples_of,
    noun_of_rows,
)
from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Model,
    MultiLabel,
    QuantileForecasts,
    Regression,
    Stream,
    remembered,
)
from uncertainty_metrics.numpy import _clusters, _inputs

# Columns of answers that tell questions apart.
QUESTIONS = ("question_id", "doc_id", "question", "prompt")


@remembered
def clusters_of(model: Model) -> np.ndarray | None:
    """Returns the number of the cluster of each example of positive weight, int64 [n];
    None if the examples are independent.

    Raises:
      ValueError, TypeError: the clusters are not valid.
    """
    clusters = getattr(model, "clusters", None)
    if clusters is None:
        return None
    if isinstance(model, Regression | QuantileForecasts | MultiLabel):
        rows = model.labels[:, 0] if isinstance(model, MultiLabel) else model.target
        counted = np.ones(np.shape(rows), bool)
        if model.sample_weight is not None:
            counted = _inputs.sample_weights(model.sample_weight, counted.shape) > 0
    else:
        counted = examples_of(model).counted
    return _clusters.cluster_codes(clusters.values, counted.shape, counted).codes


def in_clusters(model: Model, examples: Any) -> Any:
    """Returns the checked examples of a model with its clusters, if it has any."""
    codes = clusters_of(model)
    if codes is None:
        return examples
    clusters = _clusters.Clusters(codes, int(codes.max()) + 1)
    return dataclasses.replace(examples, clusters=clusters)


def num_clusters(model: Model) -> int | None:
    """Returns the number of clusters; None if the examples are independent."""
    if isinstance(model, Stream):
        return model.summary.num_clusters
    if isinstance(model, QuantileForecasts) and model.sums is not None:
        number: int | None = model.sums.num_series
        return number
    codes = clusters_of(model)
    return None if codes is None else int(codes.max()) + 1


def size_in_words(model: Model, size: int) -> str:
    """Returns the number of examples in words, such as "100 questions, 200 answers"."""
    number = num_clusters(model)
    if isinstance(model, MultiLabel):
        labels = f"{len(model.names)} labels"
        if number is None:
            return f"{labels}, {size:,} examples"
        return f"{labels}, {number:,} clusters, {size:,} examples"
    if number is None:
        return f"{size:,} examples"
    name = getattr(model, "clusters", Clusters("", ())).name
    rows = noun_of_rows(model) if isinstance(model, Confidences) else "examples"
    if name.lower() in QUESTIONS:
        return f"{number:,} questions, {size:,} {rows}"
    if rows == "detections":
        return f"{size:,} {rows} in {number:,} images"
    by = f" of `{name}`" if name else ""
    return f"{number:,} clusters{by}, {size:,} {rows}"


def error_of_mean(
    values: np.ndarray, shares: np.ndarray, clusters: np.ndarray | None
) -> float:
    """Returns the standard error of a weighted mean; with clusters, that of them.

    Args:
      values: [n].
      shares: weight of each value; they sum to 1, [n].
      clusters: number of the cluster of each value, [n], or None.
    """
    residuals = shares * (values - float(shares @ values))
    if clusters is None:
        return float(np.linalg.norm(residuals))
    sums = np.bincount(clusters, residuals)
    return float(np.linalg.norm(sums)) * math.sqrt(len(sums) / max(len(sums) - 1, 1))


def quantile_of(level: float, clusters: np.ndarray | None) -> float:
    """Returns the quantile for an interval of this level: the Normal's, or with C
    clusters that of Student's distribution with C - 1 degrees of freedom.
    """
    if clusters is None:
        return statistics.NormalDist().inv_cdf((1 + level) / 2)
    return quantile_of_clusters(level, int(clusters.max()) + 1)


def quantile_of_clusters(level: float, number: float) -> float:
    """Returns what `quantile_of` does for so many clusters."""
    return float(special.stdtrit(max(number - 1, 1), (1 + level) / 2))


def size_for(model: Any, values: np.ndarray) -> float:
    """Returns the effective number of examples for the mean of some values [n]: how
    many independent examples of equal weight would tell the mean as well.
    """
    decisions = decisions_of(model)
    size, weights = float(decisions.sample_size), decisions.weights
    return size_of_mean(values, size, weights, clusters_of(model))


def size_of_mean(
    values: np.ndarray,
    size: float,
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> float:
    """Returns the effective number of examples for the mean of some values [n], where
    independent examples with these weights [n] would be `size` ones.
    """
    if clusters is None:
        return size
    if weights is None:
        weights = np.ones(len(values))
    shares = weights / weights.sum()
    alone = error_of_mean(values, shares, None)
    if alone == 0:  # As if all examples of a cluster were copies.
        return min(size, float(clusters.max()) + 1)
    ratio = error_of_mean(values, shares, clusters) / alone
    # Fewer clusters have longer intervals.
    ratio *= quantile_of(0.95, clusters) / quantile_of(0.95, None)
    return min(size, size / ratio**2)
