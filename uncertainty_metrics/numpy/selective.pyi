# As written by scripts/write_stubs.py.
from typing import overload
from collections.abc import Mapping
from typing import Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _spec
from uncertainty_metrics._statistics import GroupValues, RiskCoverageCurve
from uncertainty_metrics.numpy import _arguments, _inputs, _ranking, scoring_rules
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
ARGUMENTS = (
    *("labels", "probabilities", "logits", "confidences", "correct"),
    *("sample_weight", "ignore_index"),
)
_BLOCK = 2**16
def is_classifier(arguments: Mapping[str, Any]) -> bool:
    """Says if labels were passed (True), or `confidences` with `correct`, or with the
    `losses` that some functions take (False).

    Raises:
      ValueError: neither or both were, or there are no labels to ignore.
    """
    ...
def of_examples(
    examples: _inputs.Examples,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and weights [N], the arguments of `_ranking.groups`."""
    ...
def ranked(
    labels: ArrayLike | None,
    probabilities: ArrayLike | None,
    logits: ArrayLike | None,
    confidences: ArrayLike | None,
    correct: ArrayLike | None,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns the same of what a function was passed."""
    ...
def examples_of(
    arguments: Mapping[str, Any],
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and weights of what a public function was passed; or
    losses, float64, in place of the outcomes.
    """
    ...
def grouped(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
) -> _ranking.Groups:
    """Returns the groups of outcomes, or of losses."""
    ...
def mean_risk(groups: _ranking.Groups) -> float:
    """Returns the mean over k of the expected risk of the k most confident examples."""
    ...
def least_mean_risk(groups: _ranking.Groups) -> float:
    """Returns the same if all right decisions were more confident than the wrong."""
    ...
def excess_risk(groups: _ranking.Groups) -> float:
    """Returns what of the mean risk the best order would save."""
    ...
def generalized_risk(groups: _ranking.Groups) -> float:
    """Returns the area under the share of what is decided wrong."""
    ...
def largest_coverage(groups: _ranking.Groups, risk: float) -> float:
    """Returns the largest coverage of a risk up to this one."""
    ...
def risk_from(groups: _ranking.Groups, coverage: float) -> float:
    """Returns the risk at the smallest coverage from this one on."""
    ...
def oracle_accuracy(groups: _ranking.Groups, fraction: float) -> float:
    """Returns the accuracy where an oracle decides the last `fraction`."""
    ...
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

    Of any losses, such as squared errors with less of a predicted variance as the
    confidence, sums of losses stand in place of numbers of errors.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      losses: with `confidences` instead of `correct`, finite and >= 0, of the same
        shape.
      sample_weight: finite and >= 0, broadcastable to the labels. Weights are numbers
        of examples; where the positive ones are less than 1 on average, they are scaled
        to an average of 1.
      ignore_index: examples with this label are left out.

    Returns:
      A number in [0, 1], or in the range of the losses. Smaller is better; the error
      rate, or the mean loss, where confidence tells nothing.

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
    ...
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
    """Excess AURC: the AURC less that of the best order of the same examples.

    The best order has all right decisions first. With e errors among n examples:

      E-AURC = AURC - 1/n [e - (n - e) (digamma(n + 1) - digamma(n - e + 1))]

    Geifman et al. subtract r + (1 - r) log(1 - r) instead, for the error rate r: the
    limit of the best AURC for many examples. It is about r / (2 n) less than that of n
    examples, and their value so much larger, also in the best order.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels. Weights are numbers
        of examples; where the positive ones are less than 1 on average, they are scaled
        to an average of 1.
      ignore_index: examples with this label are left out.

    Returns:
      A number in [0, 1]. Smaller is better; 0 where every right decision is more
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
    ...
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

    where AUROC is that of the confidence for right against wrong decisions.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

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
    ...
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
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      losses: with `confidences` instead of `correct`, finite and >= 0, of the same
        shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A named tuple `(coverages, risks, thresholds)` with an entry for each distinct
      confidence, the highest first: the share of the examples with this confidence or
      more, in (0, 1]; the share of errors among them, in [0, 1], or their mean loss;
      and the confidence, a probability unless `confidences` were passed. TensorFlow's
      compiled code, whose sizes are static, has an entry for each example and repeats
      the last one.

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
    ...
def curve_of(
    scores: np.ndarray, groups: _ranking.Groups, of_logits: bool
) -> RiskCoverageCurve:
    """Returns the curve of scores: probabilities, or the logits of such."""
    ...
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

    Over the thresholds of `risk_coverage_curve`, which keep equal confidences together.
    The risk need not grow with the coverage: the largest coverage counts.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      risk: largest share of errors among the examples that are decided, in [0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A share in (0, 1]; 0.0 where no threshold has so small a risk. Larger is better.

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
    ...
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

    Over the thresholds of `risk_coverage_curve`, which keep equal confidences together.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      coverage: least share of the examples that is decided, in (0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

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
    ...
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
    """Accuracy where an oracle decides the least confident `fraction` of the examples.

    The oracle is always right, and its share is exact: of a group of equal confidence
    it may take a part, which has the errors of that part on average.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      fraction: share of the examples that the oracle decides, in [0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

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
    ...
@overload
def accuracy(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Accuracy: the share of right decisions.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      labels_predicted: decision labels, shape of the labels; by default the argmax, the
        lowest of equals.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      A share in [0, 1]. Larger is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.accuracy([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6]))
      0.75
    """
    ...
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
    num_groups: int,
) -> GroupValues:
    """Accuracy: the share of right decisions.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      labels_predicted: decision labels, shape of the labels; by default the argmax, the
        lowest of equals.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      groups: integers in [0, `num_groups`), broadcastable to the labels. With them the
        result is `GroupValues(values, worst, weights)`: the value of each group, NaN
        where it is empty; the worst of the others; and what they weigh.
      num_groups: number of groups, with `groups`.

    Returns:
      A share in [0, 1]. Larger is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.accuracy([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6]))
      0.75
    """
    ...
aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
