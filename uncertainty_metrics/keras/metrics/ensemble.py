"""Streaming uncertainty of ensembles: the Keras metrics.

Each metric is the weighted mean of a value of each example. `y_pred` holds the
predictions of all members.
"""

from __future__ import annotations

import functools

from uncertainty_metrics.keras._options import Option, with_options
from uncertainty_metrics.keras.metrics._ensemble import (
    CrossEntropyScorer,
    Knowledge,
    MembersScorer,
    UncertaintyMetric,
    scorer,
)
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.ops import _members

__all__ = [
    "EnsembleCrossEntropy",
    "EnsembleDisagreement",
    "ExpectedEntropy",
    "GibbsCrossEntropy",
    "KnowledgeUncertainty",
    "MeanMemberUncertainty",
    "MutualInformation",
    "PredictiveEntropy",
    "VariationRatio",
]

_of_members = functools.partial(
    with_options,
    "from_logits, name, dtype, *, ensemble_axis",
    ensemble_axis=Option(int | None, 1),
)
_OF_LABELS = "from_logits, ignore_index, name, dtype, *, ensemble_axis, sparse_labels"


@_of_members()
class PredictiveEntropy(UncertaintyMetric):
    """Entropy of the mean of the members, mean of all batches, in nats.

    See the function `predictive_entropy` for the definition: the total uncertainty.
    `y_pred` holds probabilities or logits [N, M, K] of M members (there may be axes of
    images between M and K), or [..., K] of a single model with `ensemble_axis=None`.

    Args:
      ensemble_axis: axis of the members in `y_pred`; None if there is none.

    Example:
      >>> metric = um.PredictiveEntropy()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.0, 1.0]]])
      >>> round(float(metric.result()), 6)
      0.693147

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    _function = "predictive_entropy"
    _scorer_type = scorer(MembersScorer, _function, _members.total_entropies)


@_of_members()
class ExpectedEntropy(UncertaintyMetric):
    """Mean entropy of the members, mean of all batches, in nats.

    See the function `expected_entropy` for the definition: the expected data
    uncertainty. `y_pred` holds probabilities or logits [N, M, K] of M members.

    Example:
      >>> metric = um.ExpectedEntropy()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.5, 0.5]]])
      >>> round(float(metric.result()), 6)
      0.346574
    """

    _function = "expected_entropy"
    _scorer_type = scorer(MembersScorer, _function, _members.expected_entropies)


@_of_members()
class MutualInformation(UncertaintyMetric):
    """Mutual information of label and member, mean of all batches, in nats.

    See the function `mutual_information` for the definition: the entropy of the mean
    minus the mean of the entropies, which measures how much the members disagree.
    `y_pred` holds probabilities or logits [N, M, K] of M members.

    Example:
      >>> metric = um.MutualInformation()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.0, 1.0]]])
      >>> metric.update_state(None, [[[0.5, 0.5], [0.5, 0.5]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    _function = "mutual_information"
    _scorer_type = scorer(MembersScorer, _function, _members.mutual_information)


@_of_members()
class EnsembleDisagreement(UncertaintyMetric):
    """Share of the pairs of members that decide differently, mean of all batches.

    See the function `ensemble_disagreement` for the definition. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Example:
      >>> metric = um.EnsembleDisagreement()
      >>> metric.update_state(None, [[[0.9, 0.1], [0.6, 0.4]]])
      >>> metric.update_state(None, [[[0.9, 0.1], [0.4, 0.6]]])
      >>> float(metric.result())
      0.5
    """

    _function = "ensemble_disagreement"
    _scorer_type = scorer(MembersScorer, _function, _members.disagreements)


@_of_members()
class MeanMemberUncertainty(UncertaintyMetric):
    """One minus the mean confidence of the members, mean of all batches.

    See the function `mean_member_uncertainty` for the definition. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Example:
      >>> metric = um.MeanMemberUncertainty()
      >>> metric.update_state(None, [[[0.75, 0.25], [0.5, 0.5]]])
      >>> float(metric.result())
      0.375
    """

    _function = "mean_member_uncertainty"
    _scorer_type = scorer(MembersScorer, _function, _members.member_uncertainties)


@_of_members()
class VariationRatio(UncertaintyMetric):
    """Share of the members that do not vote with the majority, mean of all batches.

    See the function `variation_ratio` for the definition, and for the difference from
    torch-uncertainty. `y_pred` holds probabilities or logits [N, M, K] of M
    members.

    Example:
      >>> metric = um.VariationRatio()
      >>> votes = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
      >>> metric.update_state(None, [votes])
      >>> float(metric.result())
      0.25
    """

    _function = "variation_ratio"
    _scorer_type = scorer(MembersScorer, _function, _members.variation_ratios)


@with_options("from_logits, name, dtype", "knowledge_uncertainty")
class KnowledgeUncertainty(UncertaintyMetric):
    """Mutual information of label and Dirichlet parameters, mean of all batches.

    It is the first value of the function `knowledge_uncertainty`, in nats. `y_pred`
    holds the concentrations alpha [..., K], or their logarithms.

    Args:
      from_logits: whether `y_pred` holds logits, alpha = exp(logits).

    Example:
      >>> metric = um.KnowledgeUncertainty()
      >>> metric.update_state(None, [[1.0, 1.0]])
      >>> round(float(metric.result()), 6)
      0.193147
    """

    _scorer_type = Knowledge


@with_options(_OF_LABELS)
class EnsembleCrossEntropy(MeanScore):
    """Negative log-likelihood of the mean of the members, mean of all batches, in nats.

    See the function `ensemble_cross_entropy` for the definition. Members are on axis 1.
    For predictions [M, N, K] pass `ensemble_axis=0`, or the value is WRONG if N = M.

    `y_true` holds integers in [0, K), shape [N] or [N, 1] (or more axes), or one-hot
    rows; a row that is a distribution counts as its largest class. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Example:
      >>> metric = um.EnsembleCrossEntropy()
      >>> metric.update_state([0], [[[0.9, 0.1], [0.1, 0.9]]])
      >>> round(float(metric.result()), 6)
      0.693147
    """

    _direction = "down"
    _function = "ensemble_cross_entropy"
    _scorer_type = scorer(CrossEntropyScorer, _function, _members.ensemble_likelihoods)


@with_options(_OF_LABELS)
class GibbsCrossEntropy(MeanScore):
    """Mean negative log-likelihood of the members, mean of all batches, in nats.

    See the function `gibbs_cross_entropy` for the definition. Members are on axis 1.
    For predictions [M, N, K] pass `ensemble_axis=0`, or the value is WRONG if N = M.

    `y_true` holds integers in [0, K), shape [N] or [N, 1] (or more axes), or one-hot
    rows; a row that is a distribution counts as its largest class. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Example:
      >>> metric = um.GibbsCrossEntropy()
      >>> metric.update_state([0], [[[0.5, 0.5], [1.0, 0.0]]])
      >>> round(float(metric.result()), 6)
      0.346574
    """

    _direction = "down"
    _function = "gibbs_cross_entropy"
    _scorer_type = scorer(CrossEntropyScorer, _function, _members.gibbs_likelihoods)
