"""Selective prediction on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.selective.risk_coverage`. float64 predictions are
computed in float64, all others in float32.
"""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData, RankedOrLosses
from uncertainty_metrics._results import RiskCoverageCurve
from uncertainty_metrics.numpy.selective import _ranked_decisions
from uncertainty_metrics.numpy.selective import risk_coverage as np_risk_coverage
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _ranked,
    _ranking,
    for_numpy,
    xp,
)
from uncertainty_metrics.tensors._twin import twin

__all__ = np_risk_coverage.__all__


def examples_of(data: RankedData) -> _ranked.Ranked:
    """Returns the examples of the data arguments."""
    if _ranked_decisions.is_classifier(data):
        return _ranked.ranked_decisions(
            _inputs.examples(
                data.labels,
                data.probabilities,
                data.logits,
                sample_weight=data.sample_weight,
                ignore_index=data.ignore_index,
            )
        )
    if data.losses is not None:
        return _ranked.ranked_losses(data.losses, data.confidences, data.sample_weight)
    names = ("correct", "confidences")
    return _ranked.ranked(
        data.correct, data.confidences, data.sample_weight, None, names
    )


def ranking_of(data: RankedData) -> tuple[_ranking.Ranking, xp.Tensor]:
    """Returns the ranking, and whether to trust it."""
    batch = examples_of(data)
    ranking = batch.ranking()
    return ranking, batch.valid & (ranking.total > 0)


@twin(
    np_risk_coverage.area_under_risk_coverage_curve, data=RankedOrLosses, by_numpy=True
)
def area_under_risk_coverage_curve(data):
    ranking, ok = ranking_of(data)
    return _ranking.risk_coverage_area(ranking), ok


@twin(np_risk_coverage.excess_aurc, data=RankedData, by_numpy=True)
def excess_aurc(data):
    ranking, ok = ranking_of(data)
    return _ranking.excess_risk_coverage_area(ranking), ok


@twin(
    np_risk_coverage.area_under_generalized_risk_coverage_curve,
    data=RankedData,
    by_numpy=True,
)
def area_under_generalized_risk_coverage_curve(data):
    ranking, ok = ranking_of(data)
    return _ranking.generalized_risk_coverage_area(ranking), ok


@twin(np_risk_coverage.coverage_at_risk, data=RankedData, by_numpy=True)
def coverage_at_risk(data, risk):
    risk = _checks.share("risk", risk)
    ranking, ok = ranking_of(data)
    return _ranking.coverage_at_risk(ranking, risk), ok


@twin(np_risk_coverage.risk_at_coverage, data=RankedData, by_numpy=True)
def risk_at_coverage(data, coverage):
    coverage = _checks.share("coverage", coverage, zero=False)
    ranking, ok = ranking_of(data)
    return _ranking.risk_at_coverage(ranking, coverage), ok


@twin(np_risk_coverage.oracle_collaborative_accuracy, data=RankedData, by_numpy=True)
def oracle_collaborative_accuracy(data, fraction):
    fraction = _checks.share("fraction", fraction)
    ranking, ok = ranking_of(data)
    return _ranking.collaborative_accuracy(ranking, fraction), ok


@twin(np_risk_coverage.risk_coverage_curve, data=RankedOrLosses, by_numpy=True)
def risk_coverage_curve(data):
    batch = examples_of(data)
    # The number of points depends on the values, which a graph does not allow.
    if _execution.is_eager():
        curve = np_risk_coverage.risk_coverage_curve(
            labels=for_numpy(data.labels),
            probabilities=for_numpy(data.probabilities),
            logits=for_numpy(data.logits),
            confidences=for_numpy(data.confidences),
            correct=for_numpy(data.correct),
            losses=for_numpy(data.losses),
            sample_weight=for_numpy(data.sample_weight),
            ignore_index=for_numpy(data.ignore_index),
        )
        dtype = _inputs.sum_dtype(batch.scores)
        return RiskCoverageCurve(*(xp.constant(part, dtype) for part in curve)), True
    batch = _ranked.settled(batch)
    ranking = batch.ranking()
    thresholds = _ranked.group_scores(batch.scores)
    if data.logits is not None:
        thresholds = xp.math.sigmoid(thresholds)
    # A group without weight has the coverage and the risk of the group before it.
    curve = RiskCoverageCurve(ranking.coverages, ranking.risks, thresholds)
    return curve, batch.valid & (ranking.total > 0)


# Short names, from the literature.
aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
