"""Sensitivity, specificity and predictive values of a decision at a threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _inputs, _shares
from uncertainty_metrics.numpy._clusters import cluster_codes
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import _sorted_outcomes

__all__ = [
    "negative_predictive_value",
    "positive_predictive_value",
    "sensitivity",
    "specificity",
]


class _Decisions(NamedTuple):
    """Examples and the decisions about them.

    Attributes:
      labels: whether each example is positive, boolean [n].
      decided: whether it is taken for positive, boolean [n].
      weights: weight of each example, float64 [n]; None for ones.
      place: where the examples stand in the labels.
      clusters: the ids of the clusters, as the user has them; None without.
      level: level of the interval.
    """

    labels: np.ndarray
    decided: np.ndarray
    weights: np.ndarray | None
    place: _inputs.Place
    clusters: ArrayLike | None
    level: float

    def share(self, members: np.ndarray, hits: np.ndarray) -> ConfidenceInterval:
        """Returns the share of hits among one or more members, and its interval."""
        weights = None if self.weights is None else self.weights[members]
        of_members = None
        if self.clusters is not None:
            counted = np.ones(int(np.prod(self.place.shape)), bool)
            if self.place.counted is not None:
                counted = self.place.counted.reshape(-1).copy()
            counted[counted] = members
            shape = self.place.shape
            of_members = cluster_codes(self.clusters, shape, counted.reshape(shape))
        return _shares.interval(hits[members], weights, of_members, self.level)

    def of_label(self, label: int) -> ConfidenceInterval:
        """Returns the share of right decisions among the examples of a label."""
        members = self.labels == label
        if not np.any(members):
            raise _checks.error("labels", f"{label} for at least one example", "none")
        return self.share(members, self.decided == self.labels)

    def of_decision(self, decision: int, sign: str) -> ConfidenceInterval:
        """Returns the share of right ones among the decisions of a kind."""
        members = self.decided == decision
        if not np.any(members):
            expected = f"{sign} `threshold` for at least one example"
            raise _checks.error("scores", expected, "none")
        return self.share(members, self.decided == self.labels)


def _read(
    labels: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    level: float,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
    clusters: ArrayLike | None,
) -> _Decisions:
    """Returns checked arguments."""
    limit = _checks.number(threshold)
    if not np.isfinite(limit):
        raise _checks.error("threshold", "a finite number", threshold)
    level = _checks.open_unit("level", level)
    x, positive, weights, place = _sorted_outcomes.placed_examples(
        "labels", labels, "scores", scores, sample_weight, ignore_index
    )
    with np.errstate(over="ignore"):
        decided = x >= x.dtype.type(limit)
    return _Decisions(positive, decided, weights, place, clusters, level)


@takes_frames
def sensitivity(
    labels: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> ConfidenceInterval:
    """Share of the positive examples that a threshold finds (recall).

      sensitivity = P(score >= threshold | label = 1)

    An example is taken for positive if its score is at least the threshold. The
    interval is Wilson's, for independent examples.

    With `clusters` the share is a ratio of sums: S_c is the number of hits (right
    decisions) among the M_c examples of cluster c that the share is of, A = sum S_c / M
    with M = sum M_c, and w is the number of clusters that have a hit, or a miss if
    A > 1/2:

      D = C / (C - 1) sum (S_c - A M_c)^2 / (M^2 A (1 - A)),  U = sum M_c^2 / M^2
      1 / N = max(D, (w D + U) / (w + 1)), and U if A is 0 or 1

    The ends are Wilson's for a share A of N, with Student's quantile for C - 1 degrees
    of freedom. In simulations with 10 to 100 clusters of 1 to 50 examples, correlations
    of 0 to 0.9 and shares of 0.02 to 0.5 (`studies/share_coverage.py`), 95% intervals
    held the truth in 93.6% to 100% of data sets. Clusters of one example give the
    interval without clusters.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1. P(class 1), for example.
      threshold: finite; compared in the dtype of the scores. Choose it on other
        examples than these: a threshold that was chosen because it does well here does
        less well elsewhere.
      level: share of data sets for which the interval holds the truth, in (0, 1).
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `ConfidenceInterval(lower, estimate, upper)`, floats with 0 <= lower <= estimate
      <= upper <= 1. Larger is better. With clusters it has `num_clusters`, those of the
      examples that the share is of, and `design_effect`, None if the share is 0 or 1.

    Raises:
      ValueError: an argument is not as described, or label 1 is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [0, 0, 0, 1, 1, 1, 1, 1]
      >>> risk = [0.1, 0.2, 0.6, 0.3, 0.6, 0.7, 0.8, 0.9]
      >>> [round(x, 3) for x in um.sensitivity(labels, risk, 0.5)]
      [0.376, 0.8, 0.964]

    References:
      Wilson (1927), Probable Inference, the Law of Succession, and Statistical
      Inference. Altman and Bland (1994), Diagnostic Tests 1: Sensitivity and
      Specificity.
    """
    decisions = _read(
        labels, scores, threshold, level, sample_weight, ignore_index, clusters
    )
    return decisions.of_label(1)


@takes_frames
def specificity(
    labels: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> ConfidenceInterval:
    """Share of the negative examples that a threshold leaves out.

      specificity = P(score < threshold | label = 0)

    An example is taken for positive if its score is at least the threshold. The
    interval is Wilson's, for independent examples; with `clusters` it is that of
    `sensitivity`.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1. P(class 1), for example.
      threshold: finite; compared in the dtype of the scores. Choose it on other
        examples than these: a threshold that was chosen because it does well here does
        less well elsewhere.
      level: share of data sets for which the interval holds the truth, in (0, 1).
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `ConfidenceInterval(lower, estimate, upper)`, floats with 0 <= lower <= estimate
      <= upper <= 1. Larger is better. With clusters it has `num_clusters`, those of the
      examples that the share is of, and `design_effect`, None if the share is 0 or 1.

    Raises:
      ValueError: an argument is not as described, or label 0 is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [0, 0, 0, 1, 1, 1, 1, 1]
      >>> risk = [0.1, 0.2, 0.6, 0.3, 0.6, 0.7, 0.8, 0.9]
      >>> [round(x, 3) for x in um.specificity(labels, risk, 0.5)]
      [0.208, 0.667, 0.939]

    References:
      Wilson (1927), Probable Inference, the Law of Succession, and Statistical
      Inference. Altman and Bland (1994), Diagnostic Tests 1: Sensitivity and
      Specificity.
    """
    decisions = _read(
        labels, scores, threshold, level, sample_weight, ignore_index, clusters
    )
    return decisions.of_label(0)


@takes_frames
def positive_predictive_value(
    labels: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> ConfidenceInterval:
    """Share of positive examples among those that reach a threshold (precision).

      PPV = P(label = 1 | score >= threshold)

    An example is taken for positive if its score is at least the threshold. The
    interval is Wilson's, for independent examples; with `clusters` it is that of
    `sensitivity`.
    The value depends on the share of positive examples: it holds for data with the same
    share.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1. P(class 1), for example.
      threshold: finite; compared in the dtype of the scores. Choose it on other
        examples than these: a threshold that was chosen because it does well here does
        less well elsewhere.
      level: share of data sets for which the interval holds the truth, in (0, 1).
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `ConfidenceInterval(lower, estimate, upper)`, floats with 0 <= lower <= estimate
      <= upper <= 1. Larger is better. With clusters it has `num_clusters`, those of the
      examples that the share is of, and `design_effect`, None if the share is 0 or 1.

    Raises:
      ValueError: an argument is not as described, or no score reaches the threshold.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [0, 0, 0, 1, 1, 1, 1, 1]
      >>> risk = [0.1, 0.2, 0.6, 0.3, 0.6, 0.7, 0.8, 0.9]
      >>> [round(x, 3) for x in um.positive_predictive_value(labels, risk, 0.5)]
      [0.376, 0.8, 0.964]

    References:
      Wilson (1927), Probable Inference, the Law of Succession, and Statistical
      Inference. Altman and Bland (1994), Diagnostic Tests 2: Predictive Values.
    """
    decisions = _read(
        labels, scores, threshold, level, sample_weight, ignore_index, clusters
    )
    return decisions.of_decision(1, ">=")


@takes_frames
def negative_predictive_value(
    labels: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> ConfidenceInterval:
    """Share of negative examples among those below a threshold.

      NPV = P(label = 0 | score < threshold)

    An example is taken for positive if its score is at least the threshold. The
    interval is Wilson's, for independent examples; with `clusters` it is that of
    `sensitivity`.
    The value depends on the share of positive examples: it holds for data with the same
    share.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1. P(class 1), for example.
      threshold: finite; compared in the dtype of the scores. Choose it on other
        examples than these: a threshold that was chosen because it does well here does
        less well elsewhere.
      level: share of data sets for which the interval holds the truth, in (0, 1).
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `ConfidenceInterval(lower, estimate, upper)`, floats with 0 <= lower <= estimate
      <= upper <= 1. Larger is better. With clusters it has `num_clusters`, those of the
      examples that the share is of, and `design_effect`, None if the share is 0 or 1.

    Raises:
      ValueError: an argument is not as described, or no score is below the threshold.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [0, 0, 0, 1, 1, 1, 1, 1]
      >>> risk = [0.1, 0.2, 0.6, 0.3, 0.6, 0.7, 0.8, 0.9]
      >>> [round(x, 3) for x in um.negative_predictive_value(labels, risk, 0.5)]
      [0.208, 0.667, 0.939]

    References:
      Wilson (1927), Probable Inference, the Law of Succession, and Statistical
      Inference. Altman and Bland (1994), Diagnostic Tests 2: Predictive Values.
    """
    decisions = _read(
        labels, scores, threshold, level, sample_weight, ignore_index, clusters
    )
    return decisions.of_decision(0, "<")
