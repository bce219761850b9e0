"""Selective prediction: how well confidence separates right decisions from wrong ones.

A selective classifier decides only if its confidence reaches a threshold. Its coverage
is the share of examples that it decides; its risk is the share of errors among them, or
their mean loss for any `losses`. All metrics are exact, by sorting. They treat examples
of equal confidence alike, so the order of the examples does not matter.

The confidence is the largest probability, the decision its class. Confidences of logits
keep their order even if all probabilities would be rounded to 1.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData, RankedOrLosses
from uncertainty_metrics._results import RiskCoverageCurve
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective._ranked_decisions import (
    examples_of,
    grouped,
    groups_of,
)
from uncertainty_metrics.numpy.selective._selective_risks import (
    curve_of,
    excess_risk,
    generalized_risk,
    largest_coverage,
    mean_risk,
    oracle_accuracy,
    risk_from,
)

__all__ = [
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


@takes_frames
def area_under_risk_coverage_curve(
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
    """Area under the risk-coverage curve (AURC): the mean risk over all coverages.

    The mean over k = 1, ..., n of the share of errors among the k most confident of n
    examples; examples of equal confidence come in random order, and their expected
    share counts. With e_g errors among the c_g examples of the group g of equal
    confidence, and E_g errors among the C_g examples of higher confidence:

      AURC = 1/n sum_g [e_g + (E_g - C_g e_g / c_g)
                              (digamma(C_g + c_g + 1) - digamma(C_g + 1))]

    For losses, such as squared errors with negative predicted variances as confidences,
    sums of losses replace numbers of errors.

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
      A number in [0, 1], or in the range of the losses. Smaller is better; the error
      rate, or the mean loss, for uninformative confidences.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> area = um.aurc(confidences=[0.9, 0.8, 0.7, 0.6], correct=[1, 0, 1, 1])
      >>> round(float(area), 6)
      0.270833
      >>> float(um.aurc(confidences=[-0.1, -0.3], losses=[0.5, 2.5]))  # .5 and 3 / 2
      1.0

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """
    return mean_risk(
        groups_of(
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


@takes_frames
def excess_aurc(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Excess AURC: the AURC less the AURC of the best order of the same examples.

    The best order has all right decisions first. With e errors among n examples:

      E-AURC = AURC - 1/n [e - (n - e) (digamma(n + 1) - digamma(n - e + 1))]

    Geifman et al. subtract r + (1 - r) log(1 - r) instead, for the error rate r: the
    limit of the best AURC for many examples. This limit is about r / (2 n) less than
    the best AURC of n examples, so their value is larger by as much, in any order.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. Weights are numbers of examples; if the positive weights are less than 1
        on average, they are scaled to an average of 1.
      ignore_index: a label whose examples are left out.

    Returns:
      A number in [0, 1]. Smaller is better; 0 if every right decision is more
      confident than every wrong one.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> confidences = [0.9, 0.8, 0.7, 0.6]
      >>> float(um.excess_aurc(confidences=confidences, correct=[1, 1, 1, 0]))
      0.0
      >>> round(float(um.excess_aurc(confidences=confidences, correct=[1, 0, 1, 1])), 6)
      0.208333

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """
    return excess_risk(
        groups_of(
            RankedData(
                labels=labels,
                probabilities=probabilities,
                logits=logits,
                confidences=confidences,
                correct=correct,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
            )
        )
    )


@takes_frames
def area_under_generalized_risk_coverage_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Area under the generalized risk-coverage curve (AUGRC).

    The generalized risk of a threshold is the share of all n examples that are decided
    and wrong. Its area over the coverage, linear within a group of equal confidence,
    with c_g, e_g and E_g as in `aurc`:

      AUGRC = 1/n^2 sum_g c_g (E_g + e_g / 2)
            = (1 - AUROC) acc (1 - acc) + (1 - acc)^2 / 2

    where AUROC is the AUROC of the confidence, with right decisions as positive.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A number in [0, 1/2], the probability that a random example is wrong and more
      confident than another one. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.augrc(confidences=[0.9, 0.8, 0.7, 0.6], correct=[1, 0, 1, 1]))
      0.15625

    References:
      Traub et al. (2024), Overcoming Common Flaws in the Evaluation of Selective
      Classification Systems.
    """
    return generalized_risk(
        groups_of(
            RankedData(
                labels=labels,
                probabilities=probabilities,
                logits=logits,
                confidences=confidences,
                correct=correct,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
            )
        )
    )


@takes_frames
def risk_coverage_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> RiskCoverageCurve:
    """Risk and coverage at every threshold on the confidence.

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
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A named tuple `(coverages, risks, thresholds)` with an entry for each distinct
      confidence, the highest first: the share of the examples with at least this
      confidence, in (0, 1]; the share of errors among them, in [0, 1], or their mean
      loss; and the confidence, a probability unless `confidences` were passed. In
      compiled code of TensorFlow, whose shapes are static, there is an entry for each
      example, and the last entries are equal.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.risk_coverage_curve([0, 1, 1, 1], [0.1, 0.8, 0.2, 0.7])
      >>> [float(coverage) for coverage in curve.coverages]
      [0.25, 0.75, 1.0]
      >>> [round(float(risk), 6) for risk in curve.risks]
      [0.0, 0.333333, 0.25]
      >>> [round(float(threshold), 6) for threshold in curve.thresholds]
      [0.9, 0.8, 0.7]

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """
    scores, outcomes, weights = examples_of(
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
    groups = grouped(scores, outcomes, weights)
    return curve_of(scores, groups, logits is not None)


@takes_frames
def coverage_at_risk(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    risk: float = 0.05,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Largest coverage whose risk is at most `risk`.

    The coverages are those of `risk_coverage_curve`, which decides examples of equal
    confidence together. The risk may fall again as the coverage grows: the largest
    coverage counts.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      risk: largest share of errors among the examples that are decided, in [0, 1].
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A share in (0, 1]; 0.0 if no threshold has so small a risk. Larger is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = {"confidences": [0.9, 0.8, 0.7, 0.6], "correct": [1, 1, 0, 1]}
      >>> [float(um.coverage_at_risk(**data, risk=risk)) for risk in (0.05, 0.25)]
      [0.5, 1.0]

    References:
      Geifman and El-Yaniv (2017), Selective Classification for Deep Neural Networks.
    """
    risk = _checks.share("risk", risk)
    return largest_coverage(
        groups_of(
            RankedData(
                labels=labels,
                probabilities=probabilities,
                logits=logits,
                confidences=confidences,
                correct=correct,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
            )
        ),
        risk,
    )


@takes_frames
def risk_at_coverage(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    coverage: float = 0.8,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Risk at the smallest coverage that is at least `coverage`.

    The coverages are those of `risk_coverage_curve`, which decides examples of equal
    confidence together.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      coverage: smallest share of the examples that are decided, in (0, 1].
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A share in [0, 1]. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = {"confidences": [0.9, 0.8, 0.7, 0.6], "correct": [1, 1, 0, 1]}
      >>> [float(um.risk_at_coverage(**data, coverage=share)) for share in (0.5, 0.8)]
      [0.0, 0.25]

    References:
      Geifman and El-Yaniv (2017), Selective Classification for Deep Neural Networks.
    """
    coverage = _checks.share("coverage", coverage, zero=False)
    return risk_from(
        groups_of(
            RankedData(
                labels=labels,
                probabilities=probabilities,
                logits=logits,
                confidences=confidences,
                correct=correct,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
            )
        ),
        coverage,
    )


@takes_frames
def oracle_collaborative_accuracy(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    fraction: float = 0.01,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Accuracy if an oracle decides the least confident `fraction` of the examples.

    The oracle is always right and decides exactly this share. It may decide a part of a
    group of equal confidence; the errors in this part are then the expected ones.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      fraction: share of the examples that the oracle decides, in [0, 1].
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A share in [0, 1], at least the accuracy and at least `fraction`. Larger is
      better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = {"confidences": [0.9, 0.8, 0.7, 0.6], "correct": [1, 0, 1, 0]}
      >>> float(um.oracle_collaborative_accuracy(**data, fraction=0.25))
      0.75

    References:
      Kivlichan et al. (2021), Measuring and Improving Model-Moderator Collaboration
      using Uncertainty Estimation.
    """
    fraction = _checks.share("fraction", fraction)
    return oracle_accuracy(
        groups_of(
            RankedData(
                labels=labels,
                probabilities=probabilities,
                logits=logits,
                confidences=confidences,
                correct=correct,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
            )
        ),
        fraction,
    )


aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
