"""A test of whether calibration has changed between two periods, from their bins."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy import _text_tables
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.sketch._cluster_sums import Joined
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

__all__ = ["calibration_drift"]

# The smallest number of examples in a bin, in each of the periods.
_LEAST = 5
# The relative rounding error of sums of weights.
_ROUNDING = 1e-9
# A bin where a period expects fewer events, or fewer non-events, is not nearly Normal.
_FEW = 10.0
# Numbers of events this far from an expected number below _FEW are impossible.
_FAR = 200.0
# Cells of the distribution of D, from 0 to the value of D.
_CELLS = 2**11
# Edges in float32 differ from the edges in float64 by less than this.
_NEAR = 1e-6

Period: TypeAlias = AnyBinStatistics | ScoreSketch | Summary


class _Sums(NamedTuple):
    """The sums of a period.

    Attributes:
      statistics: of one group.
      squares: sums of the squared weights in each bin, [1, bins].
      clusters: sums over clusters in these bins; None for independent examples.
      num_clusters: number of clusters, or 0.
    """

    statistics: BinStatistics
    squares: np.ndarray
    clusters: Joined | None = None
    num_clusters: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationDrift(_tables.Table):
    """The result of `calibration_drift`, which prints as a table of its bins.

    `to_frame`, `to_markdown` and `to_latex` return this table in other forms.

    Arrays with an axis of length 2 hold the first period, then the second.

    Attributes:
      statistic: D, finite and >= 0.
      degrees_of_freedom: number of bins in the sum D.
      p_value: probability of a D at least as large if calibration has not changed, in
        [0, 1]; 1 if there is no bin in the sum.
      ece_difference: ECE of the second period minus ECE of the first, in [-1, 1]. Both
        are computed in the bins before pooling.
      edges: edges of the pooled bins (edges[b], edges[b + 1]], shape [bins + 1].
      counts: number of examples in each bin, shape [2, bins]; of weighted examples of
        a `Summary` the effective number, (sum w)^2 / sum w^2; with clusters, so many
        independent examples would say as much.
      confidences: mean score in each bin, shape [2, bins].
      accuracies: mean outcome in each bin, shape [2, bins].
      z: (gap of the second period - gap of the first) / the standard error of this
        difference, shape [bins], where the gap is accuracy - confidence. If z is
        negative, the scores are higher compared with the outcomes than they were in the
        first period. z is NaN in a bin whose outcomes are all equal; such a bin is left
        out of D.
      p_values: p-value of the change in each bin by itself, shape [bins], not adjusted
        for the number of bins; NaN where z is NaN. Where a period expects few events or
        few non-events it is exact, and larger than that of z.
      num_clusters: number of clusters of each period; None without clusters.
      design_effect: variance of the change of the mean gap, divided by that of
        independent examples; None without clusters.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    ece_difference: float
    edges: np.ndarray
    counts: np.ndarray
    confidences: np.ndarray
    accuracies: np.ndarray
    z: np.ndarray
    p_values: np.ndarray
    num_clusters: tuple[int, int] | None = None
    design_effect: float | None = None

    @property
    def gaps(self) -> np.ndarray:
        """The gap, accuracy - confidence, in each bin, shape [2, bins]."""
        return self.accuracies - self.confidences

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as plain numbers and lists, for JSON; NaN as None."""
        plain = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }
        for name in ("z", "p_values"):
            plain[name] = [None if x != x else x for x in plain[name]]
        return plain

    def _columns(self) -> dict[str, list[Any]]:
        columns = {"lower": self.edges[:-1], "upper": self.edges[1:]}
        for name in ("counts", "confidences", "accuracies", "gaps"):
            for period, values in enumerate(getattr(self, name), 1):
                columns[f"{name}_{period}"] = values
        columns |= {"z": self.z, "p_values": self.p_values}
        return {name: values.tolist() for name, values in columns.items()}

    def _shown(self) -> _tables.Shown:
        def row(i: int) -> list[object]:
            z = "-" if np.isnan(self.z[i]) else float(self.z[i])
            ends = self.edges[i : i + 2].tolist()
            columns = *self.counts.tolist(), *self.gaps.tolist()
            return [*ends, *(column[i] for column in columns), z]

        header = ("from", "to", "count 1", "count 2", "gap 1", "gap 2", "z")
        return _tables.Shown(header, len(self.z), row)

    def __repr__(self) -> str:
        title = (
            f"CalibrationDrift: D = {self.statistic:.4g} of "
            f"{self.degrees_of_freedom} bins, p = {self.p_value:.3g}, ECE "
            f"{self.ece_difference:+.4f}"
        )
        return f"{title}\n{_text_tables.table(*self._shown())}"


def calibration_drift(
    first: Period, second: Period, *, num_bins: int | None = None
) -> CalibrationDrift:
    """Tests whether calibration has changed between two periods.

    In a bin, let g_i = accuracy - confidence be the gap in period i, and n_i the number
    of its examples. With

      D = sum over bins of (g_1 - g_2)^2 / (v_1 + v_2),   v_i = q_i (1 - q_i) / n_i
      q_i = confidence in period i + (n_1 g_1 + n_2 g_2) / (n_1 + n_2)

    D has about a chi-squared distribution if the gaps have not changed, with as many
    degrees of freedom as there are bins.

    That is not so for the term of a bin in which a period expects fewer than 10 events
    or fewer than 10 non-events. Such a term has the distribution that it has if the
    events of both periods are binomial with the probabilities q_i, given their sum: the
    distribution of Fisher's exact test. With D* the sum of these terms and of a
    chi-squared for the other bins, the p-value is P(D* > D) + P(D* = D) / 2 (mid-p). It
    is computed, not simulated.

    The test asks whether the model is as well calibrated as before, not whether it is
    calibrated, so an outcome has the variance q (1 - q), where q is the confidence plus
    the gap that both periods have in common. With the variance p (1 - p) of the scores,
    which is right only for a calibrated model, an overconfident model that has not
    changed would be reported as changed in 25% to 36% of draws at a level of 5%.

    q is kept half an example away from 0 and 1. From the left, bins are joined until
    both periods have 5 examples; bins that are left at the end join the last one. If
    all outcomes of both periods in a bin are equal, the bin shows no change and is left
    out of D.

    Without drift, the test rejected 3.6% to 6.3% of pairs of periods at a level of 5%,
    and 0.3% to 1.6% at 1% (1000 pairs of each kind): periods of 500 to 10^6 examples in
    several ratios, calibrated or not, in 15 or 100 bins. Chi-squared alone rejects up
    to 8.3% and 2.4% there. Where a period expects less than one event or non-event,
    hardly anything can be rejected. In a single bin of scores that differ much, 2.8% to
    5.2% are rejected at 5%: q (1 - q) is more than the mean variance of the outcomes
    then, which the sums of the bin do not tell. Use more bins.

    The test needs independent examples, or sketches or summaries with `clusters`. With
    the sum S_cb of U = y - p over the examples of cluster c in bin b, and their number
    N_cb, the variance of g_b is C / (C - 1) sum_c (S_cb - g_b N_cb)^2 / N_b^2, or if
    this is less the variance that follows from the correlation of two examples of a
    cluster, over all bins and both periods, and at least that of independent examples.
    n_i is then the number of independent examples with this variance, and bins are
    joined until both periods have 5 clusters, by the effective number N_b^2 / sum_c
    N_cb^2. A cluster may have examples in several bins, so D is compared with F with
    fewer degrees of freedom (Satterthwaite). Without drift, at most 7% were rejected at
    5%: see `studies/calibration_drift_level.py --tables clusters`. Clusters of one
    example change nothing; repeating each example within its cluster moves the p-value
    a little. Each cluster must lie in one of the periods.

    In periods of 5000 examples the test found a temperature that changes from 1 to 1.2
    in 88% of pairs. A temperature that changes from 1.2 to 1 / 1.2 leaves the ECE
    nearly the same; the test found it in 100% of pairs. A permutation test of the
    difference of the two ECEs found these changes in 87% and 17% of pairs
    (`studies/calibration_drift_level.py`).

    Args:
      first: statistics of the first period: a `Summary`, of which the `events` are
        compared if its predictions are one column, P(class 1), else the `decisions`; a
        `ScoreSketch` of decisions or of P(class 1); or `BinStatistics` with even bins
        and one group, made from one score of each example. Weighted examples of a
        `Summary`, its `events` and its `decisions` count by their effective number in
        each bin. Elsewhere weights count as numbers of examples; if the weights in a
        sketch are below 1 on average, they are scaled to an average of 1.
      second: statistics of the second period, of the same kind and with the same bins.
      num_bins: number of even bins for summaries and sketches, by default 15; with
        clusters a divisor of 30.
        `BinStatistics` already have bins, so it must be None for them.

    Returns:
      `CalibrationDrift(statistic, degrees_of_freedom, p_value, ece_difference, edges,
      counts, confidences, accuracies, z, p_values, num_clusters, design_effect)`. It
      prints as a table of the bins, and `to_dict` returns its fields for JSON. The
      p-value is in [0, 1]; a small p-value is evidence that calibration has changed.
      `drift_diagram` draws the result.

    Raises:
      TypeError: `first` and `second` are neither both `BinStatistics` nor both sketches
        nor both summaries.
      ValueError: an argument is not as described, a period has fewer than 5 examples,
        only one of them has clusters, or it comes from a file without their sums, or
        has grades between 0 and 1.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> weeks = []
      >>> for shift in (0.0, 0.0, 0.1):
      ...     p = rng.uniform(0.5, 1.0, 2000)
      ...     right = rng.uniform(size=2000) < p - shift
      ...     week = um.bin_statistics(right, p, num_bins=4, positive_class=True)
      ...     weeks.append(week)
      >>> um.calibration_drift(weeks[0], weeks[1]).p_value > 0.05
      True
      >>> drift = um.calibration_drift(weeks[0], weeks[2])
      >>> drift.p_value < 0.001, drift.degrees_of_freedom, bool(np.all(drift.z < -3))
      (True, 2, True)

    References:
      Hosmer and Lemeshow (1980), Goodness of Fit Tests for the Multiple Logistic
      Regression Model. Fisher (1935), The Logic of Inductive Inference. Broecker and
      Smith (2007), Increasing the Reliability of Reliability Diagrams.
    """
    if isinstance(first, Summary) and isinstance(second, Summary):
        first, second = _sketch_of(first), _sketch_of(second)
    if isinstance(first, ScoreSketch) and isinstance(second, ScoreSketch):
        if num_bins is None:
            num_bins = DEFAULT_NUM_BINS
        bins = _checks.bins("num_bins", num_bins)
        return _drift(*_of_sketches(first, second, bins))
    periods = _of_statistics("first", first), _of_statistics("second", second)
    if num_bins is not None:
        raise _checks.error("num_bins", "None for `BinStatistics`", repr(num_bins))
    edges, others = (period.statistics.edges for period in periods)
    if edges.shape != others.shape or not np.allclose(edges, others, 0, _NEAR):
        expected = f"the same {edges.shape[1] - 1} bins as `first`"
        received = f"{others.shape[1] - 1} bins"
        raise _checks.error("second", expected, received, verb="have")
    return _drift(*periods)


def _sketch_of(period: Summary) -> ScoreSketch:
    """Returns the sketch of a summary to compare."""
    events = period.events if period.positive_class else None
    return period.decisions if events is None else events


def _of_sketches(
    first: ScoreSketch, second: ScoreSketch, num_bins: int
) -> tuple[_Sums, _Sums]:
    """Returns the sums of two sketches, with numbers of examples as counts."""
    differences = first._differences(second)
    if differences:
        expected = "a sketch with the same options as `first`"
        raise _checks.error("second", expected, differences)
    spec = first._spec
    if spec.num_groups(2) > 1 or not spec.has_one_score:
        expected = "a sketch of decisions or of P(class 1)"
        raise _checks.error("first", expected, repr(first).partition("\n")[0])
    for sketch in (first, second):
        sketch._check_binary("calibration_drift")
    periods = []
    of_both = [sketch._content.clusters for sketch in (first, second)]
    if of_both.count(None) == 1:
        raise _checks.plain_error(
            "Give `clusters` in both periods or in none.", "one period with clusters"
        )
    are_clustered = [
        sketch._sums_of_clusters("calibration_drift") is not None
        for sketch in (first, second)
    ]
    for sketch, of_clusters in zip((first, second), of_both, strict=True):
        statistics, squared = sketch.bin_statistics(num_bins=num_bins), sketch._squared
        if squared is not None:
            (cells,), (of_squares,) = sketch._groups(), squared._groups()
            index = _binning.even_index(cells.scores.astype(np.float32), num_bins)
            squares = np.bincount(index, of_squares.weights, num_bins)[None]
            unit = 1.0
        else:
            unit = sketch._unit()
            sums = statistics.counts, statistics.score_sums, statistics.outcome_sums
            statistics = BinStatistics(statistics.edges, *(unit * row for row in sums))
            squares = statistics.counts
        period = _Sums(statistics, squares)
        if of_clusters is not None and any(are_clustered):
            clusters = of_clusters.even(num_bins).weighted(unit)
            period = _Sums(statistics, squares, clusters, of_clusters.number)
        periods.append(period)
    return periods[0], periods[1]


def _drift(first: _Sums, second: _Sums) -> CalibrationDrift:
    squares = np.concatenate([first.squares, second.squares])
    statistics = first.statistics, second.statistics
    if first.clusters is None or second.clusters is None:
        return drift_of_bins(*statistics, squares)
    clusters = _Clustered(
        (first.clusters, second.clusters), (first.num_clusters, second.num_clusters)
    )
    return drift_of_bins(*statistics, squares, clusters)


def _of_statistics(name: str, period: Period) -> _Sums:
    """Returns the sums of one group as NumPy arrays, also if they are tensors."""
    if not isinstance(period, AnyBinStatistics):
        expected = "a `BinStatistics`, or two `ScoreSketch`, or two `Summary`"
        raise _checks.type_error(name, expected, period)
    if not period.additive:
        raise _checks.error(name, "even bins", "adaptive bins", verb="have")
    edges, counts, score_sums, outcome_sums = rows = [
        np.asarray(getattr(period, field), np.float64)
        for field in ("edges", "counts", "score_sums", "outcome_sums")
    ]
    if len(counts) != 1:
        raise _checks.error(name, "one group", f"{len(counts)} groups", verb="have")
    if not all(np.all(np.isfinite(row)) for row in rows):
        raise _checks.error(name, "finite", "NaN or infinity")
    return _Sums(BinStatistics(edges, counts, score_sums, outcome_sums), counts)


class _Clustered(NamedTuple):
    """Both periods of examples in clusters.

    Attributes:
      sums: over clusters, in the bins.
      numbers: numbers of clusters.
    """

    sums: tuple[Joined, Joined]
    numbers: tuple[int, int]

    def at(self, starts: np.ndarray) -> _Clustered:
        """Returns the periods in the runs of bins that start at `starts`."""
        first, second = (sums.at(starts) for sums in self.sums)
        return self._replace(sums=(first, second))

    @property
    def effective_numbers(self) -> np.ndarray:
        """So many clusters of equal size would say as much in each bin, [2, bins]."""
        return np.stack(
            [sums.masses**2 / np.diag(sums.of_masses) for sums in self.sums]
        )

    def covariances(self) -> np.ndarray:
        """Returns the covariances of the sums of U in bins, [2, bins, bins]."""
        return np.stack(
            [
                sums.squares_about(sums.gaps / sums.masses) * (number / (number - 1))
                for sums, number in zip(self.sums, self.numbers, strict=True)
            ]
        )

    def effects(self, squares: np.ndarray, accuracies: np.ndarray) -> np.ndarray:
        """Returns the design effects of the gaps, at least 1, [2, bins].

        By chance the sums of the clusters of a bin may be alike, above all where events
        are few. So the effect is at least the one that follows from the correlation of
        two examples of a cluster, over all bins of both periods.

        Args:
          squares: sums of squared weights, [2, bins].
          accuracies: mean outcomes, [2, bins].
        """
        masses = np.stack([sums.masses for sums in self.sums])
        pairs = np.stack([np.diag(sums.of_masses) for sums in self.sums]) - squares
        least = 0.5 * squares / masses**2
        q = np.clip(accuracies, least, 1 - least)
        alone = q * (1 - q) * squares
        found = np.diagonal(self.covariances(), axis1=1, axis2=2)
        of_pairs = float(np.sum(q * (1 - q) * pairs))
        excess = float(np.sum(found - alone))
        correlation = max(excess / of_pairs, 0.0) if of_pairs > 0 else 0.0
        return np.maximum(found / alone, 1 + correlation * pairs / squares)


def _pooled_ends(sums: np.ndarray, clusters: _Clustered | None) -> np.ndarray:
    """Returns where each pooled bin starts, and where the last one ends, [pooled + 1].

    From the left, bins are joined until both periods have enough examples; bins that
    are left at the end join the last pooled bin. Empty bins before the first example or
    after the last example belong to no pooled bin.

    Args:
      sums: the counts, and the sums of squared weights, of each period in each bin,
        [2, periods, bins].
      clusters: if there are clusters, which then count like examples.
    """
    filled = np.flatnonzero(sums[0].any(axis=0))
    ends, joined = [int(filled[0])], np.zeros((2, 2))
    # A loop over the bins, since each pooled bin starts where the one before it ends.
    for b in range(filled[0], filled[-1] + 1):
        joined = joined + sums[..., b]
        if clusters is not None:
            bins = slice(ends[-1], b + 1)
            joined[1] = [each.of_masses[bins, bins].sum() for each in clusters.sums]
        if np.all(joined[0] ** 2 >= _LEAST * joined[1]) and np.all(joined[1] > 0):
            ends.append(b + 1)
            joined = np.zeros((2, 2))
    if len(ends) > 1:
        ends.pop()
    return np.array([*ends, int(filled[-1]) + 1])


def _effective(counts: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Returns Kish's effective numbers of examples."""
    return counts**2 / squares


class _Changes(NamedTuple):
    """How the gaps differ between two periods.

    Attributes:
      z: the difference in standard errors [bins]; NaN if all outcomes are equal.
      q: the probabilities of an event if the gaps are the same, [2, bins].
    """

    z: np.ndarray
    q: np.ndarray


def _changes(
    sizes: np.ndarray, confidences: np.ndarray, accuracies: np.ndarray
) -> _Changes:
    """Returns the changes of the gaps of bins; all arguments have shape [2, bins]."""
    totals, true = sizes.sum(axis=0), (sizes * accuracies).sum(axis=0)
    common = (true - (sizes * confidences).sum(axis=0)) / totals
    q = np.clip(confidences + common, 0.5 / totals, 1 - 0.5 / totals)
    steps = np.diff(accuracies - confidences, axis=0)[0]
    varies = (true > _ROUNDING * totals) & (totals - true > _ROUNDING * totals)
    variances = np.where(varies, (q * (1 - q) / sizes).sum(axis=0), 1.0)
    return _Changes(np.where(varies, steps / np.sqrt(variances), np.nan), q)


class _Law(NamedTuple):
    """The distribution of z^2 in a bin with few events or few non-events.

    Attributes:
      values: the values of z^2, [values].
      probabilities: of the values, [values].
    """

    values: np.ndarray
    probabilities: np.ndarray

    def tail(self, value: float) -> float:
        """Returns P(z^2 > value) + P(z^2 = value) / 2."""
        above = self.values > value * (1 + _ROUNDING)
        equal = ~above & (self.values >= value * (1 - _ROUNDING))
        return float(self.probabilities @ (above + 0.5 * equal))


def _law(
    sizes: np.ndarray, confidences: np.ndarray, accuracies: np.ndarray, q: np.ndarray
) -> _Law:
    """Returns the distribution of z^2 in a bin whose gaps are the same.

    The events of both periods are binomial. Given their sum, which holds almost all
    that is known of the common gap, the events of the second period have Fisher's
    noncentral hypergeometric distribution, as in his exact test.

    Args:
      sizes: numbers of examples [2]; effective numbers are rounded.
      confidences: mean scores [2].
      accuracies: mean outcomes [2].
      q: the probabilities of an event [2].
    """
    from scipy import special

    if sizes @ accuracies > sizes.sum() / 2:  # Then non-events are the rarer.
        confidences, accuracies, q = 1 - confidences, 1 - accuracies, 1 - q
    n = np.maximum(np.rint(sizes), 1.0)
    of_both = float(sizes @ accuracies)
    total = float(np.clip(np.rint(of_both), 1.0, n.sum() - 1))
    # Events or non-events are few in a period, so few numbers of events are likely.
    middle = np.rint(n[1] * q[1])
    low = max(0.0, total - n[0], middle - _FAR)
    high = max(low, min(total, n[1], middle + _FAR))
    second = np.arange(low, high + 1)
    events = np.stack([total - second, second])
    logits = np.log(q) - np.log1p(-q)
    logs = second * (logits[1] - logits[0])
    logs -= (
        special.gammaln(events + 1) + special.gammaln(n[:, None] - events + 1)
    ).sum(axis=0)
    probabilities = np.exp(logs - logs.max())
    # Effective numbers of events are not whole: as many as were observed are shared.
    events *= of_both / total
    each_size, each_confidence = (
        np.tile(row, (len(second), 1)).T for row in (sizes, confidences)
    )
    z = np.nan_to_num(_changes(each_size, each_confidence, events / each_size).z)
    return _Law(z**2, probabilities / probabilities.sum())


def _tail_of_sum(statistic: float, laws: list[_Law], freedom: int) -> float:
    """Returns P(S > statistic) + P(S = statistic) / 2 for the sum S of chi-squared and
    of independent terms with these laws.

    All terms that are added are positive, so that small tails keep their digits. Values
    between two cells of [0, statistic] are split over both, with their mean.
    """
    from scipy import special

    if len(laws) == 1 and freedom == 0:
        return laws[0].tail(statistic)
    cells = np.zeros(_CELLS + 1)
    cells[0], beyond = 1.0, 0.0
    for law in laws:
        places = law.values / statistic * _CELLS
        inside = places < _CELLS * (1 + _ROUNDING)
        places = np.minimum(places[inside], _CELLS)
        left = np.minimum(places.astype(np.int64), _CELLS - 1)
        right = (places - left) * law.probabilities[inside]
        term = np.bincount(left, law.probabilities[inside] - right, _CELLS + 1)
        term += np.bincount(left + 1, right, _CELLS + 1)
        outside = float(law.probabilities[~inside].sum())
        # The probability that the term is above _CELLS less each cell.
        above = outside + np.append(0.0, np.cumsum(term[:0:-1]))
        beyond += float(cells @ above)
        added = np.zeros(_CELLS + 1)
        for place in np.flatnonzero(term):  # A term has few values.
            added[place:] += term[place] * cells[: _CELLS + 1 - place]
        cells = added
    if freedom == 0:
        return beyond + float(cells[-1]) / 2
    rest = statistic * np.linspace(1.0, 0.0, _CELLS + 1)
    return beyond + float(cells @ special.chdtrc(freedom, rest))


def drift_of_bins(
    first: BinStatistics,
    second: BinStatistics,
    squares: np.ndarray,
    clusters: _Clustered | None = None,
) -> CalibrationDrift:
    """Returns the drift from statistics that have one group and the same bins.

    Args:
      first: statistics of the first period.
      second: statistics of the second period.
      squares: sums of the squared weights in each bin, [2, bins]; the counts if weights
        are numbers of examples.
      clusters: sums over clusters; None for independent examples.
    """
    from scipy import special

    both = (first, second)
    rows = np.stack(
        [
            *(
                np.concatenate([getattr(period, field) for period in both])
                for field in ("counts", "score_sums", "outcome_sums")
            ),
            squares,
        ]
    )
    counts, squared = rows[[0, 3]].sum(axis=2)
    for name, size in zip(
        ("first", "second"), _effective(counts, squared), strict=True
    ):
        if not size >= _LEAST:
            expected = "at least 5 examples"
            raise _checks.error(name, expected, f"{size:g}", verb="hold")
    before, after = (_binning.calibration_error(period, "l1") for period in both)
    ends = _pooled_ends(rows[[0, 3]], clusters)
    rows = np.add.reduceat(rows, ends[:-1], axis=2)
    sizes = _effective(rows[0], rows[3])
    confidences, accuracies = rows[1:3] / rows[0]
    if clusters is not None:
        clusters = clusters.at(ends[:-1])
        sizes = sizes / clusters.effects(rows[3], accuracies)
    bins = sizes, confidences, accuracies
    z, q = _changes(*bins)
    few = np.min(sizes * np.minimum(q, 1 - q), axis=0) < _FEW
    p_values = 2 * special.ndtr(-np.abs(z))
    if clusters is not None:
        freedom_of_bins = _degrees(q * (1 - q) / sizes, clusters.effective_numbers)
        p_values = 2 * special.stdtr(freedom_of_bins, -np.abs(z))
    laws = []
    for b in np.flatnonzero(few & ~np.isnan(z)):
        laws.append(_law(*(row[:, b] for row in (*bins, q))))
        p_values[b] = laws[-1].tail(z[b] ** 2)
    statistic, freedom = float(np.nansum(z**2)), int(np.sum(~np.isnan(z)))
    p_value = 1.0
    if statistic > 0:
        p_value = min(_tail_of_sum(statistic, laws, freedom - len(laws)), 1.0)
        if clusters is not None:
            variances = np.sum(q * (1 - q) / sizes, axis=0)
            p_value = _of_dependent_bins(p_value, clusters, variances, ~np.isnan(z))
    return CalibrationDrift(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=p_value,
        ece_difference=after - before,
        edges=first.edges[0][ends],
        counts=sizes,
        confidences=bins[1],
        accuracies=bins[2],
        z=z,
        p_values=p_values,
        num_clusters=None if clusters is None else clusters.numbers,
        design_effect=None if clusters is None else _design_effect(clusters, rows),
    )


def _degrees(variances: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Returns the degrees of freedom of the sum of the variances of both periods, [2,
    ...], from so many clusters (Welch).
    """
    freedom = np.maximum(numbers - 1, 1.0)
    return np.sum(variances, axis=0) ** 2 / np.sum(variances**2 / freedom, axis=0)


def _of_dependent_bins(
    p_value: float, clusters: _Clustered, variances: np.ndarray, chosen: np.ndarray
) -> float:
    """Returns the p-value of D if a cluster may have examples in several bins.

    With correlations r between the z of m bins the sum of z^2 has the variance of m / f
    times a chi-squared with f = m^2 / sum r^2 degrees of freedom (Satterthwaite). The
    variances are those of the clusters, so F takes the place of chi-squared.

    Args:
      p_value: for independent bins.
      clusters: sums in the bins.
      variances: of the changes of the gaps, [bins].
      chosen: the bins in D, boolean [bins].
    """
    from scipy import special

    shares = np.stack([1 / sums.masses for sums in clusters.sums])[:, chosen]
    covariances = clusters.covariances()[:, chosen][:, :, chosen]
    total = np.einsum("ib,ibc,ic->bc", shares, covariances, shares)
    errors = np.sqrt(variances[chosen])
    correlations = total / (errors[:, None] * errors)
    np.fill_diagonal(correlations, 1.0)
    number = int(chosen.sum())
    freedom = number**2 / float(np.sum(correlations**2))
    if p_value <= 0:
        return 0.0
    numbers = [sums.masses.sum() ** 2 / sums.of_masses.sum() for sums in clusters.sums]
    of_gap = clusters.covariances().sum(axis=(1, 2))
    of_gap /= [sums.masses.sum() ** 2 for sums in clusters.sums]
    others = _degrees(of_gap, np.array(numbers)) if np.any(of_gap > 0) else np.inf
    statistic = special.chdtri(number, p_value)
    return float(special.fdtrc(freedom, others, statistic / number))


def _design_effect(clusters: _Clustered, rows: np.ndarray) -> float | None:
    """Returns the design effect of the change of the mean gap, from the sums of counts,
    scores, outcomes and squared weights in bins, [4, 2, bins].
    """
    totals, accuracies = rows[0].sum(axis=1), rows[2] / rows[0]
    found = clusters.covariances().sum(axis=(1, 2))
    alone = np.sum(accuracies * (1 - accuracies) * rows[3], axis=1)
    variance, independent = (float(np.sum(row / totals**2)) for row in (found, alone))
    return variance / independent if independent > 0 else None
