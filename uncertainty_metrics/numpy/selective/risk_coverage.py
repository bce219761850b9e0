"""Selective prediction: how well confidence separates right decisions from wrong ones.

A selective classifier decides only if its confidence reaches a threshold. Its coverage
is the share of examples that it decides; its risk is the share of errors among them, or
their mean loss for any `losses`. All metrics are exact, by sorting. They treat examples
of equal confidence alike, so the order of the examples does not matter.

The confidence is the largest probability, the decision its class. Confidences of logits
keep their order even if all probabilities would be rounded to 1.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData, RankedData, RankedOrLosses
from uncertainty_metrics._results import GroupValues, RiskCoverageCurve
from uncertainty_metrics.numpy import _inputs, _rows, _threads
from uncertainty_metrics.numpy.scoring import scoring_rules
from uncertainty_metrics.numpy.selective import _ranking

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


# Groups at a time: few enough for their temporaries to stay in the cache.
_BLOCK = 2**16


def is_classifier(data: RankedData) -> bool:
    """Says if labels were passed (True), or `confidences` with `correct` or `losses`.

    Raises:
      ValueError: neither or both were, or there is `ignore_index` without labels.
    """
    arguments = {
        "labels": data.labels,
        "probabilities": data.probabilities,
        "logits": data.logits,
        "confidences": data.confidences,
        "correct": data.correct,
        "losses": data.losses,
    }
    names = [name for name, value in arguments.items() if value is not None]
    if "labels" in names and not {"confidences", "correct", "losses"} & {*names}:
        return True
    if names not in (["confidences", "correct"], ["confidences", "losses"]):
        or_losses = " or `losses`" if isinstance(data, RankedOrLosses) else ""
        raise _checks.plain_error(
            "Either `labels` with one of `probabilities` and `logits`, or "
            f"`confidences` with `correct`{or_losses} "
            "must be given.",
            " and ".join(f"`{name}`" for name in names) or "none of them",
        )
    if data.ignore_index is not None:
        raise _checks.error(
            "ignore_index", "None where there are no `labels`", data.ignore_index
        )
    return False


def _margins(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the argmax of each row of logits [N, K], and the float64 log-odds of its
    probability, which differ even if the probabilities round to 1.
    """
    decided = np.empty(len(logits), np.intp)

    def odds(rows: slice) -> np.ndarray:
        z = _rows.below_maximum(logits[rows])
        decided[rows] = np.argmax(z, axis=-1)
        z[np.arange(len(z)), decided[rows]] = -np.inf
        second = _rows.largest(z)
        z -= np.maximum(second, np.finfo(np.float64).min)[:, None]
        with np.errstate(divide="ignore"):  # inf if no other class is possible.
            return -(second + np.log(_rows.sums(np.exp(z, out=z))))

    scores = np.empty(len(logits))
    return decided, _threads.fill_rows(scores, odds, logits.shape[1])


def _decisions(examples: _inputs.Examples) -> tuple[np.ndarray, np.ndarray]:
    """Returns the decision of each example, and scores that rank their confidences."""
    if examples.name == "logits":
        return _margins(examples.predictions)
    return examples.decided


def of_examples(
    examples: _inputs.Examples,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and weights [N], the arguments of `_ranking.groups`."""
    decided, scores = _decisions(examples)
    return _ranking.floating(scores), decided == examples.labels, examples.weights


def examples_of(data: RankedData) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and weights [N] from the arguments of a public function.

    With `losses`, the outcomes are float64 losses.
    """
    if is_classifier(data):
        examples = _inputs.examples(
            data.labels,
            data.probabilities,
            data.logits,
            sample_weight=data.sample_weight,
            ignore_index=data.ignore_index,
        )
        return of_examples(examples)
    if data.losses is not None:
        return _ranking.loss_examples(data.losses, data.confidences, data.sample_weight)
    return _ranking.examples(
        "correct", data.correct, "confidences", data.confidences, data.sample_weight
    )


def _groups(data: RankedData) -> _ranking.Groups:
    """Returns groups of equal scores from the arguments of a public function."""
    return grouped(*examples_of(data))


def grouped(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
) -> _ranking.Groups:
    """Returns groups of equal scores; the outcomes are boolean, or losses."""
    boolean = outcomes.dtype == bool
    return (_ranking.groups if boolean else _ranking.loss_groups)(
        scores, outcomes, weights
    )


def _tied_risks(mass: Any, misses: Any, size: Any, errors: Any) -> np.ndarray:
    """Returns the sum of the expected risks over the examples of a group.

    Args:
      mass: mass before the group.
      misses: misses before the group.
      size: mass of the group.
      errors: misses of the group.
    """
    # Rounding may leave a group of mass 0.
    rate = np.minimum(errors / np.maximum(size, np.finfo(np.float64).tiny), 1)
    return errors + (misses - rate * mass) * _ranking.digamma_step(mass, size)


def mean_risk(groups: _ranking.Groups) -> float:
    """Returns the mean over k of the expected risk of the k most confident examples."""
    total = 0.0
    for start in range(0, len(groups.misses) - 1, _BLOCK):
        block = slice(start, start + _BLOCK + 1)
        misses = groups.unit * groups.misses[block]
        masses = groups.unit * groups.masses[block]
        sizes = masses[1:] - masses[:-1]
        risks = misses[1:] / masses[1:]  # Right for groups of one example.
        tied = np.flatnonzero(sizes != 1)
        errors = misses[tied + 1] - misses[tied]
        risks[tied] = _tied_risks(masses[tied], misses[tied], sizes[tied], errors)
        total += risks.sum()
    return float(np.ldexp(total / masses[-1], groups.exponent))


def least_mean_risk(groups: _ranking.Groups) -> float:
    """Returns the mean risk if all right decisions had the higher confidences."""
    right, wrong = groups.unit * groups.hits[-1], groups.unit * groups.misses[-1]
    return float(_tied_risks(right, 0.0, wrong, wrong)[0] / (right + wrong))


def excess_risk(groups: _ranking.Groups) -> float:
    """Returns the mean risk less the mean risk of the best order."""
    return max(0.0, mean_risk(groups) - least_mean_risk(groups))


def generalized_risk(groups: _ranking.Groups) -> float:
    """Returns the area under the share of all examples that are decided and wrong."""
    area = _ranking.trapezoids(groups.masses, groups.misses)
    return area / float(groups.masses[-1]) ** 2


def largest_coverage(groups: _ranking.Groups, risk: float) -> float:
    """Returns the largest coverage at which the risk is at most `risk`."""
    fits = groups.risks <= risk * _ranking.ROUND_UP
    return float(np.max(groups.coverages, where=fits, initial=0.0))


def risk_from(groups: _ranking.Groups, coverage: float) -> float:
    """Returns the risk at the smallest coverage that is at least `coverage`."""
    reached = groups.coverages * _ranking.ROUND_UP >= coverage
    return float(groups.risks[np.argmax(reached)])


def oracle_accuracy(groups: _ranking.Groups, fraction: float) -> float:
    """Returns the accuracy if an oracle decides the least confident `fraction`."""
    total = groups.masses[-1]
    misses = np.interp((1 - fraction) * total, groups.masses, groups.misses)
    return float(1 - misses / total)


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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      losses: with `confidences` instead of `correct`, loss of each decision, finite and
        >= 0, of the same shape.
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
        _groups(
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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
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
        _groups(
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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
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
        _groups(
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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      losses: with `confidences` instead of `correct`, loss of each decision, finite and
        >= 0, of the same shape.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
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


def curve_of(
    scores: np.ndarray, groups: _ranking.Groups, of_logits: bool
) -> RiskCoverageCurve:
    """Returns the curve of scores: confidences, or their log-odds if `of_logits`."""
    thresholds = np.unique(scores)[::-1].astype(np.float64)
    if of_logits:
        thresholds = 1 / (1 + np.exp(-thresholds))
    return RiskCoverageCurve(groups.coverages, groups.risks, thresholds)


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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      risk: largest share of errors among the examples that are decided, in [0, 1].
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
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
        _groups(
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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      coverage: smallest share of the examples that are decided, in (0, 1].
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
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
        _groups(
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
      confidences: confidence of each decision, instead of `labels`: any finite numbers,
        larger is more confident.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      fraction: share of the examples that the oracle decides, in [0, 1].
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
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
        _groups(
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


@overload
def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float: ...


@overload
def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
) -> float | GroupValues:
    """Accuracy: the share of right decisions.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax, the
        lowest of equals.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
      ignore_index: a label whose examples are left out.
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans; with `num_groups`, or of tensors, integers in [0, `num_groups`). The
        result is then `GroupValues(values, worst, weights)`: the value of each group
        (NaN for an empty one), the worst value, and the weight of each group; `names`
        has the groups in this order.
      num_groups: number of groups; by default that of the distinct values of `groups`.
        Required for tensors.

    Returns:
      A share in [0, 1]. Larger is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.accuracy([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6]))
      0.75
    """
    examples = _inputs.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            groups=groups,
            num_groups=num_groups,
        )
    )
    decided, _ = _decisions(examples)
    if examples.predicted is not None:
        decided = examples.predicted
    hits = (decided == examples.labels).astype(np.float64)
    return scoring_rules.reduced(examples, hits, aggregate=True, worst=np.min)


aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
