"""Types of results, the same for NumPy arrays and for tensors."""

from __future__ import annotations

import dataclasses
import numbers
from typing import TYPE_CHECKING, Any, NamedTuple

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._calibration_spec import NORMS, Norm

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclasses.dataclass(frozen=True, eq=False)
class AnyBinStatistics(_tables.Table):
    """Sums over the scores in each bin of each group. Every calibration error in bins
    is a function of these sums.

    Statistics of even bins can be added: `a + b` covers the examples of both. They
    print as a table; `to_dict`, `to_frame`, `to_markdown` and `to_latex` return it in
    these forms, with a row for each bin.

    Attributes:
      edges: edges of the bins, shape [groups, bins + 1]. Bin b of group g is
        `(edges[g, b], edges[g, b + 1]]`.
      counts: total weight in each bin, shape [groups, bins].
      score_sums: weighted sum of the scores in each bin, shape [groups, bins].
      outcome_sums: weighted sum of the outcomes in each bin, shape [groups, bins].
      additive: whether the bins are the same for all data, so that statistics add.
    """

    edges: Any
    counts: Any
    score_sums: Any
    outcome_sums: Any
    additive: bool = True

    @property
    def confidences(self) -> Any:
        """Mean score of each bin, 0 if it is empty, shape [groups, bins]."""
        return self._mean(self.score_sums)

    @property
    def accuracies(self) -> Any:
        """Mean outcome of each bin, 0 if it is empty, shape [groups, bins]."""
        return self._mean(self.outcome_sums)

    def errors(self, norm: Norm) -> Any:
        """Returns the calibration error of each group, in [0, 1], shape [groups]: the
        norm ("l1", "l2" or "max") over its bins. An empty group has 0.
        """
        _checks.one_of("norm", norm, NORMS)
        return self._errors(norm)

    def _title(self) -> str:
        groups, bins = self.counts.shape
        groups_of = f"{groups} groups of " if groups > 1 else ""
        scheme = "even" if self.additive else "adaptive"
        return f"BinStatistics of {groups_of}{bins} {scheme} bins"

    def _mean(self, sums: Any) -> Any:
        raise NotImplementedError

    def _errors(self, norm: Norm) -> Any:
        raise NotImplementedError

    def __add__(self, other: AnyBinStatistics) -> Self:
        if not isinstance(other, AnyBinStatistics):
            return NotImplemented
        if not (self.additive and other.additive):
            raise _checks.plain_error(
                "Statistics of adaptive bins cannot be added, because their edges "
                "depend on the data: compute them on all the data, or use even bins.",
                "statistics of adaptive bins",
            )
        if tuple(self.counts.shape) != tuple(other.counts.shape):
            raise _checks.plain_error(
                "Statistics can be added only if they have the same groups and bins.",
                f"[groups, bins] = {list(self.counts.shape)} and "
                f"{list(other.counts.shape)}",
            )
        return dataclasses.replace(
            self,
            counts=self.counts + other.counts,
            score_sums=self.score_sums + other.score_sums,
            outcome_sums=self.outcome_sums + other.outcome_sums,
        )


class OfClusters:
    """What a result of examples in clusters also says; a result is still the tuple that
    it is without clusters.

    Attributes:
      num_clusters: the number of clusters; None without clusters.
      design_effect: variance of the estimate, divided by the variance that it would
        have if the examples were independent; 4 means that a quarter as many examples,
        independent ones, would say as much. None without clusters, and where there is
        no variance.
    """

    num_clusters: int | None = None
    design_effect: float | None = None


class _GroupValues(NamedTuple):
    values: Any
    worst: Any
    weights: Any


class GroupValues(_GroupValues):
    """A metric of each group of examples; it unpacks into values, worst and weights.

    Attributes:
      values: the metric of each group, shape [num_groups]; NaN for an empty group.
      worst: the worst value of the groups that are not empty: the largest error or
        loss, the smallest accuracy.
      weights: total weight of the examples of each group, shape [num_groups].
      names: what each group is called, in the order of the values; in the NumPy half.
    """

    names: tuple[Any, ...] | None = None


class ImageMean(NamedTuple):
    """The mean over images of a metric of each image, and its interval.

    Images are independent, and the pixels of an image are not: so the interval is that
    of Student's t for the mean of the values of the images, with level 95%.

    Attributes:
      lower: lower end of the interval; NaN for a single image.
      estimate: the mean of the values that are not NaN; each image counts the same.
      upper: upper end of the interval.
      values: the metric of each image, shape [images]; NaN for an image of which no
        pixel counts, which is left out of the mean.
    """

    lower: Any
    estimate: Any
    upper: Any
    values: Any


class BrierParts(NamedTuple):
    """Parts of the Brier score, with the examples partitioned by the decided class.

    Attributes:
      uncertainty: `-sum_j pbar_j^2` of the label frequencies pbar, in [-1, -1/K].
      resolution: squared distance of the label frequencies of each decided class from
        pbar, >= 0.
      reliability: squared distance of the forecasts from the label frequencies of their
        decided class, in [0, 2]; 0 is calibrated.
    """

    uncertainty: Any
    resolution: Any
    reliability: Any


class ExactBrierParts(NamedTuple):
    """Parts that add up to the Brier score, partitioned by the decided class:

      brier = uncertainty - resolution + reliability
              + within_bin_variance - within_bin_covariance

    Attributes:
      uncertainty: as in `BrierParts`.
      resolution: as in `BrierParts`.
      reliability: squared distance of the mean forecast of each decided class from its
        label frequencies, in [0, 2].
      within_bin_variance: mean squared distance of the forecasts from the mean forecast
        of their decided class, >= 0.
      within_bin_covariance: twice the covariance of forecast and outcome around the
        means of the decided class.
    """

    uncertainty: Any
    resolution: Any
    reliability: Any
    within_bin_variance: Any
    within_bin_covariance: Any


def pit_ends(pit: Any) -> dict[str, Any]:
    """Returns PIT values as arguments by name: `lower` and `upper` for a `PITInterval`
    or a tuple of two arrays, else `pit`.
    """
    if isinstance(pit, PITInterval):
        return pit._asdict()
    pair = isinstance(pit, tuple) and len(pit) == 2
    if pair and not all(isinstance(end, numbers.Real) for end in pit):
        return PITInterval(*pit)._asdict()
    return {"pit": pit}


class PITInterval(NamedTuple):
    """Interval of the probability integral transform (PIT) of a target, for forecasts
    whose CDF jumps or is known only at some points: samples, quantiles, and discrete
    distributions.

    A forecast is calibrated if a uniform draw from the interval is uniform on [0, 1].
    `sample_pit` and `quantile_pit` return intervals, and so does `distribution_pit` for
    discrete distributions. `pit_histogram`, `pit_calibration_curve` and
    `pit_calibration_error` spread the mass of each interval evenly. For another
    discrete forecast, make the interval from its CDF.

    Attributes:
      lower: P(X < y), in [0, 1], of any shape, such as [n].
      upper: P(X <= y), from `lower` to 1, of the same shape.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> pit = um.regression.PITInterval(lower=[0.0, 0.25], upper=[0.25, 1.0])
      >>> um.regression.pit_histogram(pit, n_bins=2).counts.round(6).tolist()
      [1.333333, 0.666667]

    References:
      Czado, Gneiting and Held (2009), Predictive Model Assessment for Count Data.
    """

    lower: Any
    upper: Any


class PITHistogram(NamedTuple):
    """Histogram of PIT values.

    Attributes:
      edges: edges of the bins, from 0 to 1, shape [n_bins + 1].
      counts: total weight in each bin, shape [n_bins].
      density: share of the weight in each bin, divided by the width of the bin, shape
        [n_bins]; 1 for a uniform distribution.
    """

    edges: Any
    counts: Any
    density: Any


class RankHistogram(NamedTuple):
    """How often labels have each rank among the m samples of their forecasts.

    Attributes:
      counts: total weight of each rank, shape [m + 1].
      density: share of the weight of each rank, times m + 1, shape [m + 1]; 1 for a
        uniform distribution.
    """

    counts: Any
    density: Any


class InformationCriterion(NamedTuple):
    """An estimate of the log-likelihood of new data; higher is better.

    Attributes:
      estimate: mean log-likelihood of an instance, in nats.
      sem: standard error of that mean; NaN for one instance.
    """

    estimate: Any
    sem: Any


class PsisLoo(NamedTuple):
    """Leave-one-out cross-validation by smoothed importance sampling.

    Attributes:
      estimate: as in `InformationCriterion`.
      sem: as in `InformationCriterion`.
      pareto_k: Pareto shape of the tail of the importance ratios of each instance.
        Above 0.7, or `1 - 1 / log10(m)` for fewer than 2155 draws m, the term of the
        instance in the estimate is unreliable; inf if the tail is too short to fit.
    """

    estimate: Any
    sem: Any
    pareto_k: Any


class RiskCoverageCurve(NamedTuple):
    """Risk and coverage at every threshold on the confidence, the highest first.

    Attributes:
      coverages: share of the examples with this confidence or more, in (0, 1], shape
        [thresholds].
      risks: share of errors among these examples, in [0, 1].
      thresholds: the distinct confidences, descending.
    """

    coverages: Any
    risks: Any
    thresholds: Any


class _SpiegelhalterTest(NamedTuple):
    z: Any
    p_value: Any


class SpiegelhalterTest(_SpiegelhalterTest, OfClusters):
    """The outcome of Spiegelhalter's test of calibration.

    Attributes:
      z: the statistic, standard normal for a calibrated model. It is positive if the
        Brier score is larger than the forecasts expect it to be: overconfidence.
      p_value: probability that a calibrated model has a z at least as far from 0, in
        [0, 1].
      num_clusters: as in `OfClusters`.
      design_effect: as in `OfClusters`.
    """


class ModelUncertainty(NamedTuple):
    """The uncertainty of an ensemble and its parts, in nats, shape [...].

    Attributes:
      model_uncertainty: mutual information of the label and the member, the part that
        the members' disagreement causes; in [0, log min(M, K)] for distributions.
      total_uncertainty: entropy of the mean of the members.
      expected_data_uncertainty: mean of the members' entropies.
    """

    model_uncertainty: Any
    total_uncertainty: Any
    expected_data_uncertainty: Any


class KnowledgeUncertainty(NamedTuple):
    """The uncertainty of a Dirichlet distribution and its parts, in nats, shape [...].

    Attributes:
      knowledge_uncertainty: mutual information of the label and the distribution over
        the classes, which is drawn from the Dirichlet; in [0, log K].
      total_uncertainty: entropy of the mean distribution.
      expected_data_uncertainty: mean entropy of the drawn distributions.
    """

    knowledge_uncertainty: Any
    total_uncertainty: Any
    expected_data_uncertainty: Any


class _ConfidenceInterval(NamedTuple):
    lower: Any
    estimate: Any
    upper: Any


class ConfidenceInterval(_ConfidenceInterval, OfClusters):
    """An estimate and the interval around it.

    Attributes:
      lower: lower end of the interval.
      estimate: the estimate from the data themselves.
      upper: upper end of the interval.
      num_clusters: as in `OfClusters`.
      design_effect: as in `OfClusters`.
    """


class _TestedInterval(NamedTuple):
    lower: Any
    estimate: Any
    upper: Any
    p_value: Any


class TestedInterval(_TestedInterval, OfClusters):
    """An estimate, the interval around it, and the p-value of one value.

    Attributes:
      lower: lower end of the interval.
      estimate: the estimate from the data themselves.
      upper: upper end of the interval.
      p_value: probability that, if the tested value is the truth, the data are at least
        as far from it as these data, in [0, 1].
      num_clusters: as in `OfClusters`.
      design_effect: as in `OfClusters`.
    """
