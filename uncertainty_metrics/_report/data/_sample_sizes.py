"""How many examples a model has; weighted ones count by Kish's effective number."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._report.data._decided import decisions_of
from uncertainty_metrics._report.data._label_scores import label_examples
from uncertainty_metrics._report.data._normal_forecasts import forecasts_of
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Model,
    MultiLabel,
    QuantileForecasts,
    Regression,
    Stream,
    Survival,
)
from uncertainty_metrics._report.data._quantile_rows import quantiles_of
from uncertainty_metrics._report.data._risks import risks_of
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics.numpy import _wilson


def num_examples(model: Model) -> int:
    """Returns the number of examples, of any weight."""
    if isinstance(model, Stream):
        return int(model.summary.num_examples)
    if isinstance(model, QuantileForecasts) and model.sums is not None:
        return int(model.sums.rows)
    if isinstance(model, Survival):
        return int(np.size(model.times))
    if isinstance(model, Regression | QuantileForecasts):
        return int(np.size(model.target))
    if isinstance(model, Confidences):
        return len(model.correct)
    return len(model.labels) if isinstance(model, MultiLabel) else model.labels.size


def effective_examples(model: Model) -> float:
    """Returns the effective number of examples. The tests of a regression are for
    independent examples, so that a cluster of its examples counts as one.
    """
    if isinstance(model, Survival):
        return float(risks_of(model).sample_size)
    if isinstance(model, Regression):
        forecasts, clusters = forecasts_of(model), clusters_of(model)
        if clusters is not None:
            of_clusters = np.bincount(clusters, forecasts.weights)
            return _wilson.effective_size(of_clusters / of_clusters.max())
        if forecasts.weights is None:
            return float(len(forecasts.errors))
        return _wilson.effective_size(forecasts.weights / forecasts.weights.max())
    if isinstance(model, QuantileForecasts):
        if model.sums is not None:
            return float(model.sums.effective_rows)
        rows = quantiles_of(model)
        if rows.weights is None:
            return float(len(rows.target))
        return _wilson.effective_size(rows.weights)
    if isinstance(model, MultiLabel):
        weights = label_examples(model).weights
        size = len(label_examples(model).labels)
        return float(size) if weights is None else _wilson.effective_size(weights)
    return decisions_of(model).sample_size


def num_counted(model: Decided | Regression) -> int:
    """Returns the number of examples of positive weight; of a stream, of all."""
    if isinstance(model, Stream):
        return int(model.summary.num_examples)
    if isinstance(model, Regression):
        return len(forecasts_of(model).errors)
    return len(decisions_of(model).correct)
