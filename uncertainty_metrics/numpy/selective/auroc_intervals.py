"""Intervals of the area under the receiver operating characteristic curve (AUROC), and
of the difference between two such areas.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics._results import (
    ConfidenceInterval,
    OfClusters,
    TestedInterval,
)
from uncertainty_metrics.numpy._clusters import (
    Clusters,
    cluster_codes,
    cluster_sums,
    examples_each,
    one_example_each,
)
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import _sorted_outcomes

__all__ = ["auroc_difference", "auroc_interval"]

# If a standard error is 0, the longer side of the interval of this level replaces it.
_LEVEL = 0.95
# DeLong's variance counts as much as Hanley and McNeil's if this many examples of the
# smaller class are on the wrong side.
_WRONG_SIDE = 10.0

_Interval = TypeVar("_Interval", bound=OfClusters)


class AUROCInterval(ConfidenceInterval):
    """Interval of an AUROC; it unpacks into lower, estimate and upper.

    Attributes:
      lower: lower end.
      estimate: the AUROC.
      upper: upper end.
      standard_error: DeLong's standard error of the AUROC, or that of clusters.
      num_clusters: as in `OfClusters`.
      design_effect: as in `OfClusters`.
    """

    standard_error: float = 0.0


class AUROCDifference(TestedInterval):
    """Interval and test of a difference; it unpacks into lower, estimate, upper and
    p_value.

    Attributes:
      lower: lower end.
      estimate: the difference between two AUROCs.
      upper: upper end.
      p_value: p-value of no difference.
      standard_error: DeLong's standard error of the difference, or that of clusters.
      num_clusters: as in `OfClusters`.
      design_effect: as in `OfClusters`.
    """

    standard_error: float = 0.0


class _Spread(NamedTuple):
    """The spread of the placements of one class around their mean.

    Attributes:
      mass: total weight of the class.
      squares: sum of the squared deviations.
      number: number of clusters that have examples of the class; the mass without.
      effective: mass^2 / sum of the squared masses of the clusters; the mass without.
      influences: by how much the mean without a cluster is smaller, float64 [C];
        empty without clusters.
    """

    mass: float
    squares: float
    number: float
    effective: float
    influences: np.ndarray

    @property
    def independent_part(self) -> float:
        """The part of the variance of the mean that comes from this class, if its
        examples are independent; 0 for one example.
        """
        if self.number <= 1:
            return 0.0
        return self.squares / (self.number - 1) * (self.number / self.mass) / self.mass


@dataclasses.dataclass(frozen=True)
class _Placements:
    """The position of each score among the scores of the other class.

    Attributes:
      values: for a positive example the share of negative examples with a smaller
        score, for a negative example the share of positive examples with a larger
        score, float64 [N]; equal scores count half. Or the difference between these
        shares for two scores.
      outcomes: whether each example is positive, boolean [N].
      weights: weight of each example, > 0, float64 [N].
      clusters: the cluster of each example; None for independent examples.
    """

    values: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray
    clusters: Clusters | None = None

    @lazy_property
    def mean(self) -> float:
        """The AUROC, or the difference between two AUROCs."""
        positive = self.outcomes
        hits = self.weights[positive]
        return float(self.values[positive] @ hits) / float(hits.sum())

    @lazy_property
    def spreads(self) -> tuple[_Spread, _Spread]:
        """The spreads of the positive and of the negative examples."""
        return self._spread(self.outcomes), self._spread(~self.outcomes)

    def _spread(self, members: np.ndarray) -> _Spread:
        values, weights = self.values[members], self.weights[members]
        mass = float(weights.sum())
        deviations = np.zeros(len(values))
        if np.ptp(values) > 0:  # The mean of equal values may have rounding errors.
            deviations = values - values @ weights / mass
        squares = float(weights @ deviations**2)
        if self.clusters is None:
            return _Spread(mass, squares, mass, mass, np.zeros(0))
        codes, number = self.clusters.codes[members], self.clusters.number
        sums = cluster_sums(weights * deviations, codes, number)
        masses = cluster_sums(weights, codes, number)
        present = float(np.count_nonzero(masses))
        effective = mass**2 / float(masses @ masses)
        others = np.maximum(mass - masses, np.finfo(np.float64).tiny)
        return _Spread(mass, squares, present, effective, sums / others)

    @property
    def masses(self) -> tuple[float, float]:
        """Total weight of the positive examples, and of the negative examples."""
        return self.spreads[0].mass, self.spreads[1].mass

    @property
    def effective(self) -> tuple[float, float]:
        """The number of independent examples of each class that say at least as much;
        clusters may hold copies.
        """
        return self.spreads[0].effective, self.spreads[1].effective

    @lazy_property
    def variances(self) -> tuple[float, float]:
        """The parts of the variance of the mean that come from the positive and from
        the negative examples; 0 if the placements in the class are all the same.
        """
        first, second = self.spreads
        if self.clusters is None:
            return first.independent_part, second.independent_part
        share = (self.clusters.number - 1) / self.clusters.number
        return (
            share * float(first.influences @ first.influences),
            share * float(second.influences @ second.influences),
        )

    @lazy_property
    def variance(self) -> float:
        """The variance of the mean by DeLong et al., or by Obuchowski with clusters; 0
        if a class has one example or is in one cluster only.
        """
        first, second = self.spreads
        if min(first.number, second.number) <= 1:
            return 0.0
        if self.clusters is None:
            return sum(self.variances)
        share = (self.clusters.number - 1) / self.clusters.number
        return share * float(np.sum((first.influences + second.influences) ** 2))

    @lazy_property
    def design_effect(self) -> float | None:
        """The variance divided by that of independent examples; None without clusters,
        or if both are 0.
        """
        if self.clusters is None or not self.variance > 0:
            return None
        return self.variance / sum(s.independent_part for s in self.spreads)

    @property
    def sizes(self) -> tuple[float, float]:
        """The number of independent examples of each class that say as much."""
        if self.clusters is None:
            return self.masses
        if self.design_effect is None:
            return self.effective
        positive, negative = self.masses
        return positive / self.design_effect, negative / self.design_effect

    def quantile(self, level: float) -> float:
        """Returns the quantile of the level, Student's with clusters, else Normal."""
        if self.clusters is None:
            return float(special.ndtri((1 + level) / 2))
        return float(special.stdtrit(self.clusters.number - 1, (1 + level) / 2))


def _placements(
    scores: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    clusters: Clusters | None,
) -> _Placements:
    """Returns the placements, after one sort (Sun and Xu 2014)."""
    weights = np.ones(len(scores)) if weights is None else weights
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    first = np.append(True, ordered[1:] != ordered[:-1])
    group = np.cumsum(first) - 1
    ends = np.append(np.flatnonzero(first), len(scores))

    def below(members: np.ndarray) -> np.ndarray:
        """Returns for each score the share of the members of a class with a smaller
        score; members with an equal score count half.
        """
        sums = np.append(0.0, np.cumsum(np.where(members, weights, 0.0)[order]))
        shares = np.empty(len(scores))
        shares[order] = ((sums[ends[:-1]] + sums[ends[1:]]) / 2 / sums[-1])[group]
        return shares

    values = np.where(outcomes, below(~outcomes), 1 - below(outcomes))
    return _Placements(values, outcomes, weights, clusters)


def _read(
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
    clusters: ArrayLike | None,
    **scores: ArrayLike,
) -> tuple[list[_Placements], tuple[int, float] | None]:
    """Returns the placements of the scores by their names, and the number of clusters
    with the mean number of examples of one; None without clusters.
    If each cluster holds one example, the placements are those of independent examples.

    Raises:
      ValueError: an argument is not as described, or a class is absent.
    """
    read = [
        _sorted_outcomes.placed_examples(
            "labels", labels, name, values, sample_weight, ignore_index
        )
        for name, values in scores.items()
    ]
    _, outcomes, weights, place = read[0]
    for label, members in enumerate((~outcomes, outcomes)):
        if not np.any(members):
            raise _checks.error("labels", f"{label} for at least one example", "none")
    columns, of_examples, of_clusters = [found[0] for found in read], None, None
    if clusters is not None:
        of_examples = cluster_codes(clusters, place.shape, place.counted)
        of_clusters = of_examples.number, examples_each(of_examples, weights)
        first = one_example_each(of_examples, weights, outcomes, *columns)
        if first is not None:
            columns, of_examples = [values[first] for values in columns], None
            outcomes, weights = outcomes[first], None
    found = [_placements(each, outcomes, weights, of_examples) for each in columns]
    return found, of_clusters


def _relative_variance(placements: _Placements) -> float:
    """Returns the variance of an AUROC A over A (1 - A), which is at least DeLong's.

    DeLong's variance is too small by chance if few examples of the smaller class are on
    the wrong side. The fewer, the more it is drawn towards Hanley and McNeil's.
    """
    auroc, (m, n) = placements.mean, placements.sizes
    spread = (1 - auroc) / (2 - auroc) + auroc / (1 + auroc)
    of_the_shape = (1 + ((m + n) / 2 - 1) * spread) / (m * n)
    variance = placements.variance
    if not (variance > 0 and 0 < auroc < 1):
        return of_the_shape
    own = variance / (auroc * (1 - auroc))
    wrong = min(m, n) * min(auroc, 1 - auroc)
    mixed = (wrong * own + _WRONG_SIDE * of_the_shape) / (wrong + _WRONG_SIDE)
    return max(own, mixed)


@takes_frames
def auroc_interval(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> AUROCInterval:
    """Interval of the area under the receiver operating characteristic curve.

    The estimate A is `auroc`. There are m positive and n negative examples. For a
    positive example i, V_i is the share of negative examples with a smaller score. For
    a negative example j, V_j is the share of positive examples with a larger score.
    Equal scores count half. Then DeLong's variance is

      variance = sum_i (V_i - A)^2 / (m (m - 1)) + sum_j (V_j - A)^2 / (n (n - 1))

    The ends are those of Wilson's interval of a share A of N, with N the effective
    number of examples: the roots theta of

      (theta - A)^2 = z^2 theta (1 - theta) / N

    with z the Normal quantile of the level. A (1 - A) / N would be DeLong's variance.
    But if few examples are on the wrong side, this is too small by chance, and it is 0
    if the scores separate the classes. So with k = min(m, n) and w = k min(A, 1 - A)

      D = variance / (A (1 - A)),  H = (1 + ((m + n) / 2 - 1) S) / (m n)
      S = (1 - A) / (2 - A) + A / (1 + A)
      1 / N = (1 + 2 / k) max(D, (w D + 10 H) / (w + 10)), at most 1 / k

    H is the variance of Hanley and McNeil as Newcombe uses it, over A (1 - A). It
    stands alone if DeLong's variance is 0 or a class has only one example. With many
    examples N follows DeLong. No distribution of the scores has a variance above
    A (1 - A) / k.

    This is for independent examples. With `clusters`, of which there are C, let X_c be
    the sum of V_i - A over the m_c positive examples of cluster c, and Y_c that of V_j
    - A over its n_c negative examples. The variance, of the AUROC without one cluster
    (Obuchowski's sums, for clusters of equal sizes), is

      variance = (C - 1) / C sum_c (X_c / (m - m_c) + Y_c / (n - n_c))^2

    m and n are divided by the design effect, the ratio of this variance and DeLong's; k
    is the smaller of m^2 / sum m_c^2 and n^2 / sum n_c^2; and z is the quantile of
    Student's distribution with C - 1 degrees of freedom. If the variance is 0, or a
    class is in one cluster only, m^2 / sum m_c^2 and n^2 / sum n_c^2 stand for m and n.
    If each cluster holds one example, the interval is that without clusters. In
    simulations (`studies/cluster_coverage_risk.py`) with 50 clusters of 1 to 50
    examples and correlations of 0 to 0.9, 95% intervals held the truth in 94.0% to
    97.9% of 1000 data sets of each design.

    In simulations (`studies/auroc_coverage.py`) of independent examples with 2 to 100
    positive examples and AUROCs of 0.5 to 0.995, 95% intervals held the truth in 92.4%
    or more of the data sets with Normal scores, and in 96.3% or more on average over
    seven shapes of scores. The lowest share was 86.6%, of scores for which nearly all
    positive examples are above all others, and a few are not. With few examples most
    intervals are longer than needed; with many they approach DeLong's.

    The cost is O(N log N) for N examples.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1.
      level: share of data sets for which the interval holds the truth, in (0, 1).
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `AUROCInterval(lower, estimate, upper)`, floats with 0 <= lower <= estimate <=
      upper <= 1; larger is better. Its attribute `standard_error` is the root of the
      variance: pROC's interval is estimate -+ z standard_error. With clusters it has
      `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, scores = [0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]
      >>> [round(x, 3) for x in um.auroc_interval(labels, scores)]
      [0.454, 0.938, 0.996]
      >>> [round(x, 3) for x in um.auroc_interval(labels, labels)]
      [0.526, 1.0, 1.0]

    References:
      DeLong, DeLong and Clarke-Pearson (1988), Comparing the Areas under Two or More
      Correlated Receiver Operating Characteristic Curves: A Nonparametric Approach. Sun
      and Xu (2014), Fast Implementation of DeLong's Algorithm. Newcombe (2006),
      Confidence Intervals for an Effect Size Measure Based on the Mann-Whitney
      Statistic, Part 2. Obuchowski (1997), Nonparametric Analysis of Clustered ROC
      Curve Data.
    """
    level = _checks.open_unit("level", level)
    (placements,), of_clusters = _read(
        labels, sample_weight, ignore_index, clusters, scores=scores
    )
    return _with_clusters(_interval(placements, level), placements, of_clusters)


def _interval(placements: _Placements, level: float) -> AUROCInterval:
    auroc, few = placements.mean, min(placements.effective)
    inverse = min((1 + 2 / few) * _relative_variance(placements), 1 / few)
    square = placements.quantile(level) ** 2 * inverse  # z^2 / N
    middle = (auroc + square / 2) / (1 + square)
    half = math.sqrt(square * (auroc * (1 - auroc) + square / 4)) / (1 + square)
    lower, upper = max(middle - half, 0.0), min(middle + half, 1.0)
    interval = AUROCInterval(min(lower, auroc), auroc, max(upper, auroc))
    interval.standard_error = math.sqrt(placements.variance)
    return interval


def _with_clusters(
    interval: _Interval,
    placements: _Placements,
    of_clusters: tuple[int, float] | None,
) -> _Interval:
    if of_clusters is not None:
        interval.num_clusters, interval.design_effect = of_clusters
        if placements.clusters is not None:
            interval.design_effect = placements.design_effect
    return interval


@takes_frames
def auroc_difference(
    labels: ArrayLike,
    scores_1: ArrayLike,
    scores_2: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> AUROCDifference:
    """Difference between the areas under the receiver operating characteristic curves
    of two scores of the same examples.

    There are m positive and n negative examples. D_i and D_j are the differences
    between the two scores in the V_i and V_j of `auroc_interval`. Then

      difference d = AUROC(scores_1) - AUROC(scores_2)
      variance = r (P + Q)
      P = sum_i (D_i - d)^2 / (m (m - 1)),  Q = sum_j (D_j - d)^2 / (n (n - 1))
      ends = d -+ t sqrt(variance),  p = P(abs(T) > abs(d) / sqrt(variance))

    P + Q is DeLong's variance. It takes into account that both scores belong to the
    same examples. So the difference may be clear although the intervals of the two
    AUROCs overlap. T has Student's distribution with the degrees of freedom of Welch
    and Satterthwaite, (P + Q)^2 / (P^2 / (m - 1) + Q^2 / (n - 1)), and t is its
    quantile: of few events the variance is uncertain. r >= 1 is the ratio by which
    `auroc_interval` enlarges the variances of the two AUROCs if few examples are on the
    wrong side: the sum of A (1 - A) max(D, (w D + 10 H) / (w + 10)), over the sum of
    A (1 - A) D.

    If both scores give each example the same V, the interval is [0, 0] and the p-value
    is 1. If the variance is 0 for another reason, for instance because both scores
    separate the classes, it is replaced by the sum of two squared standard errors. Each
    is the longer side of the 95% interval of `auroc_interval` divided by 1.96, and T is
    Normal. This treats the scores as independent, which tends to make the interval too
    long.

    This is for independent examples. With `clusters` the variance is that of
    `auroc_interval` with clusters, for the D in place of the V, and P and Q are its
    parts from one class each. m^2 / sum m_c^2 and n^2 / sum n_c^2 stand for m and n in
    the degrees of freedom, of which there are at most C - 1. If each cluster holds one
    example, the result is that without clusters. In simulations
    (`studies/cluster_coverage_risk.py`) with 50 clusters of 1 to 50 examples and
    correlations of 0 to 0.9, 95% intervals held the truth in 94.8% to 98.1% of 1000
    data sets of each design.

    The null hypothesis is that the two AUROCs are equal; the scores may have different
    distributions. In simulations (`studies/auroc_coverage.py`) of correlated scores
    with 3 to 100 events among 100 to 1100 examples, a test at 5% rejected equal AUROCs
    in at most 6.4% of data sets: 1.6% on average with three events, 4.3% with 100. The
    Normal test by DeLong's standard error rejected up to 17.8%.

    The test has its level if the scores come from models that were fitted to other
    examples. If a model, and the same model with one more feature, are both fitted to
    these examples, the test rejects far too rarely (Demler, Pencina and D'Agostino
    2012). Test the coefficient of the feature in the model instead.

    The cost is O(N log N) for N examples.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores_1: finite, shape of the labels; larger for label 1.
      scores_2: finite, shape of the labels; larger for label 1.
      level: share of data sets for which the interval holds the truth, in (0, 1).
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `AUROCDifference(lower, estimate, upper, p_value)`, floats with -1 <= lower <=
      estimate <= upper <= 1. If the estimate is above 0, `scores_1` are better. Its
      attribute `standard_error` is the root of the variance P + Q. With clusters it
      has `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [0, 0, 0, 1, 0, 1, 1, 1]
      >>> interval = um.auroc_difference(labels, range(8), [0, 5, 2, 3, 7, 4, 1, 6])
      >>> [round(x, 3) for x in interval]
      [-0.138, 0.438, 1.0, 0.109]

    References:
      DeLong, DeLong and Clarke-Pearson (1988), Comparing the Areas under Two or More
      Correlated Receiver Operating Characteristic Curves: A Nonparametric Approach. Sun
      and Xu (2014), Fast Implementation of DeLong's Algorithm. Demler, Pencina and
      D'Agostino (2012), Misuse of DeLong Test to Compare AUCs for Nested Models.
      Obuchowski (1997), Nonparametric Analysis of Clustered ROC Curve Data.
    """
    level = _checks.open_unit("level", level)
    (first, second), of_clusters = _read(
        *(labels, sample_weight, ignore_index, clusters),
        scores_1=scores_1,
        scores_2=scores_2,
    )
    differences = dataclasses.replace(first, values=first.values - second.values)
    interval = _difference(first, second, differences, level)
    return _with_clusters(interval, differences, of_clusters)


def _difference(
    first: _Placements, second: _Placements, differences: _Placements, level: float
) -> AUROCDifference:
    mean, variance = differences.mean, differences.variance
    freedom = math.inf
    if variance > 0:
        error = math.sqrt(variance * _enlargement(first, second))
        parts = differences.variances
        pairs = zip(parts, differences.effective, strict=True)
        freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in pairs)
        if differences.clusters is not None:
            freedom = min(freedom, differences.clusters.number - 1)
    elif first.variance > 0 and not np.any(differences.values):
        return AUROCDifference(0.0, 0.0, 0.0, 1.0)
    else:
        error = math.hypot(_standard_error(first), _standard_error(second))
    half = error * float(special.stdtrit(freedom, (1 + level) / 2))
    p_value = 2 * float(special.stdtr(freedom, -abs(mean) / error))
    interval = AUROCDifference(
        max(mean - half, -1.0), mean, min(mean + half, 1.0), p_value
    )
    interval.standard_error = math.sqrt(variance)
    return interval


def _enlargement(first: _Placements, second: _Placements) -> float:
    """Returns the ratio by which the intervals enlarge the variances of two AUROCs."""
    own = enlarged = 0.0
    for placements in (first, second):
        auroc, variance = placements.mean, placements.variance
        if variance > 0:  # Constant scores have no variance, and need none.
            own += variance
            enlarged += auroc * (1 - auroc) * _relative_variance(placements)
    return max(enlarged / own, 1.0)


def _standard_error(placements: _Placements) -> float:
    """Returns the longer side of the interval divided by z: a standard error."""
    lower, auroc, upper = _interval(placements, _LEVEL)
    return max(upper - auroc, auroc - lower) / placements.quantile(_LEVEL)
