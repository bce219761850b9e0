"""Selective prediction compared with chance and an oracle, on tensors.

Declared in `uncertainty_metrics.numpy.selective.rejection`. Differences are
computed in float64. The result is float64 if confidences, predictions or losses are
float64, else float32.
"""

from __future__ import annotations

from uncertainty_metrics._arguments import RankedData, RankedOrLosses
from uncertainty_metrics.numpy.selective import rejection as np_rejection
from uncertainty_metrics.ops import _ranked, _ranking, xp
from uncertainty_metrics.tensors import risk_coverage
from uncertainty_metrics.tensors._twin import twin

__all__ = np_rejection.__all__


def _areas(data: RankedData) -> tuple[tuple[xp.Tensor, ...], xp.Tensor, xp.DType]:
    """Returns the areas, whether the examples are right, and the type of a result."""
    batch = risk_coverage.examples_of(data)
    areas = _ranked.compared_areas(batch)
    some = True if batch.weights is None else xp.reduce_any(batch.weights > 0)
    return areas, batch.valid & some, batch.scores.dtype


@twin(
    np_rejection.area_under_sparsification_error_curve,
    data=RankedOrLosses,
    by_numpy=True,
)
def area_under_sparsification_error_curve(data):
    (area, least, _), ok, dtype = _areas(data)
    return xp.cast(xp.maximum(area - least, 0), dtype), ok


@twin(np_rejection.prediction_rejection_ratio, data=RankedOrLosses, by_numpy=True)
def prediction_rejection_ratio(data):
    (area, least, mean), ok, dtype = _areas(data)
    ratio = xp.math.divide_no_nan(mean - area, mean - least)
    return xp.cast(xp.minimum(ratio, 1), dtype), ok & (mean > least)


@twin(
    np_rejection.area_under_accuracy_rejection_curve, data=RankedOrLosses, by_numpy=True
)
def area_under_accuracy_rejection_curve(data):
    ranking, ok = risk_coverage.ranking_of(data)
    return 1 - _ranking.risk_coverage_area(ranking), ok


auarc = area_under_accuracy_rejection_curve
ause = area_under_sparsification_error_curve
prr = prediction_rejection_ratio
