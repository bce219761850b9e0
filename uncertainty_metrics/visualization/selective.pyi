# As written by scripts/write_stubs.py.
from typing import overload
from collections.abc import Mapping
from typing import Any, NamedTuple
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import RiskCoverageCurve
from uncertainty_metrics.numpy import _arguments, _inputs, _ranking, _wilson, selective
from uncertainty_metrics.visualization import _axes, _series
__all__ = [
    "AccuracyConfidenceCurve",
    "RejectionCurve",
    "accuracy_confidence_curve",
    "accuracy_confidence_diagram",
    "rejection_curve",
    "rejection_diagram",
    "risk_coverage_diagram",
]
_BEST = {"color": "0.3", "linestyle": "--", "linewidth": 0.8}
_RANDOM = {"linestyle": ":", "linewidth": 1.2}
_FEW = 0.05
_MARGIN, _LEGEND_ROOM = 0.05, 0.35
_PERCENT = np.arange(101) / 100
_NO_ARGUMENTS: dict[str, Any] = dict.fromkeys(selective.ARGUMENTS)
class AccuracyConfidenceCurve(NamedTuple):
    """Accuracy of the examples that are at least as confident as each threshold.

    Attributes:
      thresholds: the thresholds, shape [T].
      accuracies: share of right decisions among the examples of this confidence or
        more, NaN where there is none, shape [T].
      shares: share of all examples that these are, in [0, 1], shape [T].
    """

    thresholds: np.ndarray
    accuracies: np.ndarray
    shares: np.ndarray
class RejectionCurve(NamedTuple):
    """Accuracy of what is kept of n examples, as the least confident are rejected.

    Attributes:
      rejected: share of the examples that are rejected, k / n for k = 0, ..., n - 1.
      accuracies: expected share of right decisions among those that are kept, [n].
      maximum: the largest that it can be: what is wrong is rejected first, [n].
    """

    rejected: np.ndarray
    accuracies: np.ndarray
    maximum: np.ndarray

    @property
    def rejection_ratio(self) -> float:
        """Prediction rejection ratio (PRR): 1 is the best order, 0 is random order.

        The area between the share of errors that are kept and that of random
        rejection, by the area for the best order. It equals `2 AUROC - 1` for telling
        right decisions from all others. NaN if all examples are right, or all wrong.
        """
        ...
def accuracy_confidence_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> AccuracyConfidenceCurve:
    """Accuracy of the examples that are at least as confident as each threshold.

    Where examples of unknown classes are to count as errors, pass `confidences` and
    `correct`, which is 0 for them.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; the confidence is the
        largest.
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      thresholds: finite, shape [T]; by default 0, 0.01, ..., 1 for probabilities and
        the distinct `confidences`, ascending. They are compared in the precision of the
        probabilities or confidences.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      An `AccuracyConfidenceCurve(thresholds, accuracies, shares)`, float64.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = {"confidences": [0.9, 0.8, 0.6, 0.6], "correct": [1, 1, 0, 1]}
      >>> curve = um.accuracy_confidence_curve(**data, thresholds=[0.5, 0.7])
      >>> curve.accuracies.tolist(), curve.shares.tolist()
      ([0.75, 1.0], [1.0, 0.5])

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """
    ...
def rejection_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    ood_probabilities: ArrayLike | None = None,
    ood_logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    ood_confidences: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> RejectionCurve:
    """Accuracy of what is kept, as ever more of the least confident is rejected.

    Examples in and out of distribution come together. Every example out of distribution
    that is kept counts as an error, so a model does well that is unsure both of those
    and of its errors. Of n examples, R of them decided right, and R_k expected right
    among the k most confident (equal confidences in random order),

      accuracy(k) = R_k / k
      maximum(k) = min(1, R / k)

    which without examples out of distribution is one less the risk at coverage k / n.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`, floating of the same shape.
      ood_probabilities: with `probabilities`, those out of distribution; any number of
        examples, otherwise the same shape.
      ood_logits: with `logits`, those out of distribution.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      ood_confidences: with `confidences`, those out of distribution, of any shape.
      ignore_index: examples with this label are left out.

    Returns:
      A `RejectionCurve(rejected, accuracies, maximum)`, float64 of shape [n], with the
      property `rejection_ratio`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.rejection_curve(
      ...     confidences=[0.9, 0.8], correct=[1, 1], ood_confidences=[0.85, 0.3]
      ... )
      >>> curve.accuracies.round(3).tolist(), curve.maximum.round(3).tolist()
      ([0.5, 0.667, 0.5, 1.0], [0.5, 0.667, 1.0, 1.0])

    References:
      Nadeem, Zucker and Hanczar (2009), Accuracy-Rejection Curves (ARCs) for Comparing
      Classification Methods with a Reject Option. Malinin, Mlodozeniec and Gales
      (2020), Ensemble Distribution Distillation.
    """
    ...
def risk_coverage_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    confidence_band: float | None = None,
    thresholds: ArrayLike | Mapping[str, ArrayLike] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Risk-coverage diagram: errors among what is decided, against how much that is.

    The height of a curve at coverage c is `risk_at_coverage(..., coverage=c)`; the
    legend has the AURC of each model. The dotted lines are the risk of deciding
    everything, which is what random confidences would give at any coverage. For a
    single model, a dashed line is the risk of the perfect order of the same decisions.
    Heights that are means over less than 5% of the examples are noise, and may be
    beyond the limits of the axis.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      confidence_band: level in (0, 1) of Wilson's interval of the risk at each
        threshold, such as 0.95; with weights w of the effective number of examples,
        (sum w)^2 / sum w^2. It holds coverage by coverage. None for none.
      thresholds: confidences, finite, shape [T], that are marked on the curves: what is
        at least as confident is decided.
      title: title of the diagram.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> data = {"confidences": [0.9, 0.8, 0.7, 0.6], "correct": [1, 0, 1, 1]}
      >>> ax = um.risk_coverage_diagram(**data, ax=Figure().subplots())
      >>> ax.get_legend().get_texts()[0].get_text()
      'AURC = 0.271'

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification. Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty
      Estimation for Deep Neural Classifiers.
    """
    ...
class _Risks(NamedTuple):
    """What is drawn of a model; `marks` are thresholds, coverages and risks."""

    curve: RiskCoverageCurve
    area: float
    band: tuple[np.ndarray, np.ndarray] | None
    marks: tuple[np.ndarray, np.ndarray, np.ndarray] | None
def accuracy_confidence_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the accuracy of the examples that are at least so confident.

    The lines are those of `accuracy_confidence_curve`. The strip on top is the share of
    the examples that each accuracy is of.
    Heights that are means over less than 5% of the examples are noise, and may be
    beyond the limits of the axis.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      thresholds: finite, shape [T]; by default 0, 0.01, ..., 1 for probabilities and
        the distinct `confidences`, ascending. They are compared in the precision of the
        probabilities or confidences.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      title: title of the diagram.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.

    Returns:
      The matplotlib Axes of the accuracies.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> models = {"small": [0.6, 0.7, 0.9], "large": [0.2, 0.9, 0.9]}
      >>> ax = um.accuracy_confidence_diagram([0, 1, 1], models, ax=Figure().subplots())
      >>> [text.get_text() for text in ax.get_legend().get_texts()]
      ['small', 'large']

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """
    ...
def rejection_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ood_probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ood_logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ood_confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the accuracy of what is kept against the share that is rejected.

    The lines are those of `rejection_curve`; the legend has the prediction rejection
    ratio (PRR) of each model: 1 for the best order, 0 for random order. The dotted
    lines are the accuracy if what is rejected is random, the dashed ones the largest
    accuracy that the decisions allow.
    Heights that are means over less than 5% of the examples are noise, and may be
    beyond the limits of the axis.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      logits: instead of `probabilities`, floating of the same shape.
      ood_probabilities: with `probabilities`, those out of distribution; any number of
        examples, otherwise the same shape.
      ood_logits: with `logits`, those out of distribution.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      ood_confidences: with `confidences`, those out of distribution, of any shape.
      ignore_index: examples with this label are left out.
      title: title of the diagram.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> data = {"probabilities": [0.1, 0.8, 0.4], "ood_probabilities": [0.5]}
      >>> ax = um.rejection_diagram([0, 1, 1], **data, ax=Figure().subplots())
      >>> ax.get_legend().get_texts()[0].get_text()
      'PRR = 1.000'

    References:
      Nadeem, Zucker and Hanczar (2009), Accuracy-Rejection Curves (ARCs) for Comparing
      Classification Methods with a Reject Option. Malinin, Mlodozeniec and Gales
      (2020), Ensemble Distribution Distillation.
    """
    ...
