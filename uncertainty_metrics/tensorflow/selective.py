"""Selective prediction on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.selective`. float64 predictions are computed in
float64, all others in float32.
"""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import RiskCoverageCurve
from uncertainty_metrics.numpy import selective as declared
from uncertainty_metrics.ops import _classifier_scores, _inputs, _ranking, plain, xp
from uncertainty_metrics.tensorflow._twin import twin

__all__ = [
    "accuracy",
    "area_under_generalized_risk_coverage_curve",
    "area_under_risk_coverage_curve",
    "augrc",
    "aurc",
    "coverage_at_risk",
    "e_aurc",
    "excess_aurc",
    "oracle_collaborative_accuracy",
    "risk_at_coverage",
    "risk_coverage_curve",
]


def examples_of(data: dict[str, Any]) -> _ranking.Ranked:
    """Returns the examples of the arguments that all functions share."""
    is_classifier = declared.is_classifier(data)
    confidences, correct = data.pop("confidences"), data.pop("correct")
    losses = data.pop("losses", None)
    if is_classifier:
        return _ranking.ranked_decisions(_inputs.examples(**data))
    if losses is not None:
        return _ranking.ranked_losses(losses, confidences, data["sample_weight"])
    names = ("correct", "confidences")
    return _ranking.ranked(correct, confidences, data["sample_weight"], None, names)


def ranking_of(data: dict[str, Any]) -> tuple[_ranking.Ranking, xp.Tensor]:
    """Returns the ranking, and a boolean scalar."""
    batch = examples_of(data)
    ranking = batch.ranking()
    return ranking, batch.valid & (ranking.total > 0)


@twin(declared.area_under_risk_coverage_curve)
def area_under_risk_coverage_curve(**data):
    ranking, ok = ranking_of(data)
    return _ranking.risk_coverage_area(ranking), ok


@twin(declared.excess_aurc)
def excess_aurc(**data):
    ranking, ok = ranking_of(data)
    return _ranking.excess_risk_coverage_area(ranking), ok


@twin(declared.area_under_generalized_risk_coverage_curve)
def area_under_generalized_risk_coverage_curve(**data):
    ranking, ok = ranking_of(data)
    return _ranking.generalized_risk_coverage_area(ranking), ok


@twin(declared.coverage_at_risk)
def coverage_at_risk(**data):
    risk = _checks.share("risk", data.pop("risk"))
    ranking, ok = ranking_of(data)
    return _ranking.coverage_at_risk(ranking, risk), ok


@twin(declared.risk_at_coverage)
def risk_at_coverage(**data):
    coverage = _checks.share("coverage", data.pop("coverage"), zero=False)
    ranking, ok = ranking_of(data)
    return _ranking.risk_at_coverage(ranking, coverage), ok


@twin(declared.oracle_collaborative_accuracy)
def oracle_collaborative_accuracy(**data):
    fraction = _checks.share("fraction", data.pop("fraction"))
    ranking, ok = ranking_of(data)
    return _ranking.collaborative_accuracy(ranking, fraction), ok


@twin(declared.risk_coverage_curve)
def risk_coverage_curve(**data):
    batch = examples_of({**data})
    if xp.executing_eagerly():  # Only there the number of points may depend on values.
        curve = declared.risk_coverage_curve(**{k: plain(data[k]) for k in data})
        dtype = _inputs.sum_dtype(batch.scores)
        return RiskCoverageCurve(*(xp.constant(part, dtype) for part in curve)), True
    batch = _ranking.settled(batch)
    ranking = batch.ranking()
    thresholds = _ranking.group_scores(batch.scores)
    if data["logits"] is not None:
        thresholds = xp.math.sigmoid(thresholds)
    # Groups without weight have the coverage and the risk of those before them.
    curve = RiskCoverageCurve(ranking.coverages, ranking.risks, thresholds)
    return curve, batch.valid & (ranking.total > 0)


@twin(declared.accuracy)
def accuracy(**data):
    examples = _inputs.examples(**data)
    decisions, _, right = _inputs.decisions(examples.probabilities)
    if examples.predicted is not None:
        decisions = examples.predicted
    hits = xp.cast(decisions == examples.labels, examples.dtype)
    return _classifier_scores.reduced(
        examples, hits, right, aggregate=True, largest=False
    )


# The names of the literature.
aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
