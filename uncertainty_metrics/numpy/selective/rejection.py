"""Selective prediction compared with chance and an oracle, for errors or any losses.

The oracle ranks the examples by the loss itself. All functions compare areas under
risk-coverage curves, as in `risk_coverage`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData, RankedOrLosses
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import (
    _ranked_decisions,
    _selective_risks,
    _sorted_outcomes,
)

__all__ = [
    "area_under_accuracy_rejection_curve",
    "area_under_sparsification_error_curve",
    "auarc",
    "ause",
    "prediction_rejection_ratio",
    "prr",
]


class _Areas(NamedTuple):
    """Areas under risk-coverage curves of the same losses, less the smallest loss.

    Attributes:
      area: area with the examples in order of their confidence.
      least: area with the examples in order of their losses.
      mean: area with the examples in random order, the mean loss.
    """

    area: float
    least: float
    mean: float


def _areas(data: RankedData) -> _Areas:
    scores, outcomes, weights = _ranked_decisions.examples_of(data)
    if outcomes.dtype == bool:
        groups = _sorted_outcomes.groups(scores, outcomes, weights)
        least = _selective_risks.least_mean_risk(groups)
    else:
        losses = outcomes - np.min(outcomes)  # The areas cancel less.
        groups = _sorted_outcomes.loss_groups(scores, losses, weights)
        least = _selective_risks.mean_risk(
            _sorted_outcomes.loss_groups(-losses, losses, weights)
        )
    return _Areas(_selective_risks.mean_risk(groups), least, float(groups.risks[-1]))


@takes_frames
def area_under_sparsification_error_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Area under the sparsification error curve (AUSE).

    The area under the risk-coverage curve less the area of an oracle, whose confidence
    is the negative loss:

      AUSE = AURC - AURC of the oracle

    For decisions that are right or wrong it is `excess_aurc`. Ilg et al. divide the
    losses by their mean: for their value, pass losses divided by their mean.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      losses: Only for `confidences`, instead of `correct`: loss of each decision,
        finite and >= 0, of the same shape.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. Weights are numbers of examples; if the positive weights are less than 1
        on average, they are scaled to an average of 1.
      ignore_index: a label whose examples are left out.

    Returns:
      A number >= 0, in the unit of the losses. Smaller is better; 0 if smaller losses
      always have larger confidences.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> losses = [0.0, 1.0, 3.0, 2.0]
      >>> round(float(um.ause(confidences=[4, 3, 2, 1], losses=losses)), 6)
      0.083333
      >>> float(um.ause(confidences=[4, 3, 1, 2], losses=losses))
      0.0

    References:
      Ilg et al. (2018), Uncertainty Estimates and Multi-Hypotheses Networks for Optical
      Flow.
    """
    areas = _areas(
        RankedOrLosses(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            confidences=confidences,
            correct=correct,
            losses=losses,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )
    return max(0.0, areas.area - areas.least)


@takes_frames
def prediction_rejection_ratio(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Prediction rejection ratio (PRR): how near a confidence comes to an oracle.

    With A the area under the risk-coverage curve (`aurc`), A_oracle the area in the
    order of the losses, and A_random the area in random order, which is the mean loss:

      PRR = (A_random - A) / (A_random - A_oracle)

    It does not change with the unit of the losses, or if a number is added to all.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      losses: Only for `confidences`, instead of `correct`: loss of each decision,
        finite and >= 0, of the same shape.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. Weights are numbers of examples; if the positive weights are less than 1
        on average, they are scaled to an average of 1.
      ignore_index: a label whose examples are left out.

    Returns:
      A number, at most 1. Larger is better: 1 for the order of the oracle, 0 for an
      order no better than chance, below 0 for a worse one.

    Raises:
      ValueError: an argument is not as described, or all losses are equal: then no
        order is better than another.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> losses = [0.0, 1.0, 3.0, 2.0]
      >>> float(um.prr(confidences=[4, 3, 1, 2], losses=losses))
      1.0
      >>> round(float(um.prr(confidences=[4, 3, 2, 1], losses=losses)), 6)
      0.888889
      >>> float(um.prr(confidences=[1, 1, 1, 1], losses=losses))
      0.0

    References:
      Malinin, Mlodozeniec and Gales (2020), Ensemble Distribution Distillation.
    """
    areas = _areas(
        RankedOrLosses(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            confidences=confidences,
            correct=correct,
            losses=losses,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )
    if not areas.mean > areas.least:
        arguments = {"losses": losses, "correct": correct, "labels": labels}
        name = next(name for name, value in arguments.items() if value is not None)
        expected = "such that some examples have a larger loss than others"
        raise _checks.error(name, expected, "the same loss for all examples")
    return min(1.0, (areas.mean - areas.area) / (areas.mean - areas.least))


@takes_frames
def area_under_accuracy_rejection_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Area under the accuracy-rejection curve (AUARC).

    The mean accuracy over all shares of rejected examples, the least confident first:

      AUARC = 1 - AURC

    with the `aurc` of the same arguments.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      losses: Only for `confidences`, instead of `correct`: loss of each decision,
        finite and >= 0, of the same shape.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. Weights are numbers of examples; if the positive weights are less than 1
        on average, they are scaled to an average of 1.
      ignore_index: a label whose examples are left out.

    Returns:
      A number in [0, 1], less than 0 for an AURC of losses above 1. Larger is better;
      the accuracy for uninformative confidences.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> area = um.auarc(confidences=[0.9, 0.8, 0.7, 0.6], correct=[1, 0, 1, 1])
      >>> round(float(area), 6)
      0.729167

    References:
      Nadeem, Zucker and Hanczar (2009), Accuracy-Rejection Curves (ARCs) for Comparing
      Classification Methods with a Reject Option.
    """
    return 1 - _selective_risks.mean_risk(
        _ranked_decisions.grouped(
            *_ranked_decisions.examples_of(
                RankedOrLosses(
                    labels=labels,
                    probabilities=probabilities,
                    logits=logits,
                    confidences=confidences,
                    correct=correct,
                    losses=losses,
                    sample_weight=sample_weight,
                    ignore_index=ignore_index,
                )
            )
        )
    )


auarc = area_under_accuracy_rejection_curve
ause = area_under_sparsification_error_curve
prr = prediction_rejection_ratio
