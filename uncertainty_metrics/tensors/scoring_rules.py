"""Proper scoring rules of classifiers, on tensors: losses to train with.

Declared in `uncertainty_metrics.numpy.scoring.scoring_rules`; differentiable in the
predictions. float64 predictions are computed in float64, all others in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import BrierParts, ExactBrierParts
from uncertainty_metrics.numpy.scoring import (
    brier_decompositions as np_brier_decompositions,
)
from uncertainty_metrics.numpy.scoring import scoring_rules as np_scoring_rules
from uncertainty_metrics.ops import _classifier_scores, _inputs, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = [
    "brier_decomposition",
    "brier_decomposition_exact",
    "brier_score",
    "negative_log_likelihood",
    "ranked_probability_score",
]


@twin(np_scoring_rules.brier_score, data=ClassifierData)
def brier_score(data, aggregate, zero_based):
    _checks.boolean("aggregate", aggregate)
    _checks.boolean("zero_based", zero_based)
    _checks.boolean("multilabel", data.multilabel)
    examples = _inputs.examples_of(data)
    scores, right = _classifier_scores.brier_scores(
        examples, zero_based, examples.shares
    )
    return _classifier_scores.reduced(examples, scores, right, aggregate)


def _scored(
    data: ClassifierData,
    aggregate: bool,
    scores_of: Callable[
        [_inputs.Examples, xp.Tensor | None], tuple[xp.Tensor, xp.Tensor]
    ],
) -> Any:
    """Returns the scores of the examples, or their mean, and whether to trust them."""
    _checks.boolean("aggregate", aggregate)
    _checks.boolean("multilabel", data.multilabel)
    examples = _inputs.examples_of(data)
    scores, right = scores_of(examples, examples.shares)
    return _classifier_scores.reduced(examples, scores, right, aggregate)


@twin(
    np_scoring_rules.negative_log_likelihood,
    data=ClassifierData,
    by_numpy=True,
    if_short=True,
)
def negative_log_likelihood(data, aggregate):
    return _scored(data, aggregate, _classifier_scores.likelihood_scores)


@twin(np_scoring_rules.ranked_probability_score, data=ClassifierData)
def ranked_probability_score(data, aggregate):
    return _scored(data, aggregate, _classifier_scores.ranked_scores)


def _decompositions(
    data: ClassifierData,
) -> tuple[BrierParts, ExactBrierParts, xp.Tensor]:
    """Returns both decompositions, and whether to trust them."""
    examples = _inputs.examples_of(data)
    sums, valid, vertices = _classifier_scores.decomposition_sums(
        examples, occurring=True
    )
    totals = sums.hi + sums.lo
    valid = valid & (xp.reduce_sum(totals[:, : examples.num_classes]) > 0)
    return *_classifier_scores.decomposition_parts(totals, vertices), valid


@twin(np_brier_decompositions.brier_decomposition, data=ClassifierData, by_numpy=True)
def brier_decomposition(data):
    parts, _, valid = _decompositions(data)
    return parts, valid


@twin(
    np_brier_decompositions.brier_decomposition_exact,
    data=ClassifierData,
    by_numpy=True,
)
def brier_decomposition_exact(data):
    _, parts, valid = _decompositions(data)
    return parts, valid
