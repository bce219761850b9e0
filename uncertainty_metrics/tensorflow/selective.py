"""Selective prediction on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.selective`. float64 predictions are computed in
float64, all others in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import RiskCoverageCurve
from uncertainty_metrics.numpy import selective as declared
from uncertainty_metrics.tensorflow import _classifier_scores, _inputs, _ranking
from uncertainty_metrics.tensorflow._twin import twin

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

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


def _ranked(
    labels: TensorLike | None,
    probabilities: TensorLike | None,
    logits: TensorLike | None,
    confidences: TensorLike | None,
    correct: TensorLike | None,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
) -> _ranking.Ranked:
    given = (labels, probabilities, logits, confidences, correct)
    if not declared.is_classifier(*given, ignore_index):
        return _ranking.ranked(
            correct, confidences, sample_weight, None, ("correct", "confidences")
        )
    return _ranking.ranked_decisions(
        _inputs.examples(
            labels,
            probabilities,
            logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )


def _ranking_of(*data: TensorLike | None) -> tuple[_ranking.Ranking, tf.Tensor]:
    """Returns the ranking, and a boolean scalar."""
    batch = _ranked(*data)
    ranking = batch.ranking()
    return ranking, batch.valid & (ranking.total > 0)


@twin(declared.area_under_risk_coverage_curve)
def area_under_risk_coverage_curve(
    labels, probabilities, *, logits, confidences, correct, sample_weight, ignore_index
):
    ranking, ok = _ranking_of(
        labels, probabilities, logits, confidences, correct, sample_weight, ignore_index
    )
    return _ranking.risk_coverage_area(ranking), ok


@twin(declared.excess_aurc)
def excess_aurc(
    labels, probabilities, *, logits, confidences, correct, sample_weight, ignore_index
):
    ranking, ok = _ranking_of(
        labels, probabilities, logits, confidences, correct, sample_weight, ignore_index
    )
    return _ranking.excess_risk_coverage_area(ranking), ok


@twin(declared.area_under_generalized_risk_coverage_curve)
def area_under_generalized_risk_coverage_curve(
    labels, probabilities, *, logits, confidences, correct, sample_weight, ignore_index
):
    ranking, ok = _ranking_of(
        labels, probabilities, logits, confidences, correct, sample_weight, ignore_index
    )
    return _ranking.generalized_risk_coverage_area(ranking), ok


@twin(declared.coverage_at_risk)
def coverage_at_risk(
    labels,
    probabilities,
    *,
    logits,
    confidences,
    correct,
    risk,
    sample_weight,
    ignore_index,
):
    risk = _checks.share("risk", risk)
    ranking, ok = _ranking_of(
        labels, probabilities, logits, confidences, correct, sample_weight, ignore_index
    )
    return _ranking.coverage_at_risk(ranking, risk), ok


@twin(declared.risk_at_coverage)
def risk_at_coverage(
    labels,
    probabilities,
    *,
    logits,
    confidences,
    correct,
    coverage,
    sample_weight,
    ignore_index,
):
    coverage = _checks.share("coverage", coverage, zero=False)
    ranking, ok = _ranking_of(
        labels, probabilities, logits, confidences, correct, sample_weight, ignore_index
    )
    return _ranking.risk_at_coverage(ranking, coverage), ok


@twin(declared.oracle_collaborative_accuracy)
def oracle_collaborative_accuracy(
    labels,
    probabilities,
    *,
    logits,
    confidences,
    correct,
    fraction,
    sample_weight,
    ignore_index,
):
    fraction = _checks.share("fraction", fraction)
    ranking, ok = _ranking_of(
        labels, probabilities, logits, confidences, correct, sample_weight, ignore_index
    )
    return _ranking.collaborative_accuracy(ranking, fraction), ok


@twin(declared.risk_coverage_curve)
def risk_coverage_curve(
    labels, probabilities, *, logits, confidences, correct, sample_weight, ignore_index
):
    data = labels, probabilities, logits, confidences, correct
    batch = _ranked(*data, sample_weight, ignore_index)
    if tf.executing_eagerly():  # Only there the number of points may depend on values.
        curve = declared.risk_coverage_curve(
            labels,
            probabilities,
            logits=logits,
            confidences=confidences,
            correct=correct,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
        dtype = _inputs.sum_dtype(batch.scores)
        return RiskCoverageCurve(*(tf.constant(part, dtype) for part in curve)), True
    batch = _ranking.settled(batch)
    ranking = batch.ranking()
    thresholds = _ranking.group_scores(batch.scores)
    if logits is not None:
        thresholds = tf.math.sigmoid(thresholds)
    # Groups without weight have the coverage and the risk of those before them.
    curve = RiskCoverageCurve(ranking.coverages, ranking.risks, thresholds)
    return curve, batch.valid & (ranking.total > 0)


@twin(declared.accuracy)
def accuracy(
    labels, probabilities, *, logits, labels_predicted, sample_weight, ignore_index
):
    examples = _inputs.examples(
        labels,
        probabilities,
        logits,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    decisions, _, right = _inputs.decisions(examples.probabilities)
    if examples.predicted is not None:
        decisions = examples.predicted
    hits = tf.cast(decisions == examples.labels, examples.dtype)
    return _classifier_scores.reduced(examples, hits, right, aggregate=True)


# The names of the literature.
aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
