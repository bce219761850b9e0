"""A test of whether calibration has changed between two periods, from their bins."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy import _text_tables
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.calibration.watching import (
    _drift_of_clusters,
    _drift_of_few,
)
from uncertainty_metrics.numpy.calibration.watching._drift_of_clusters import Clustered
from uncertainty_metrics.numpy.sketch._cluster_sums import Joined
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

__all__ = ["calibration_drift"]

# The smallest number of examples in a bin, in each of the periods.
_LEAST = 5
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
        gap = _tables.means(self.counts.ravel().tolist())

        def row(i: int) -> list[object]:
            z = "-" if np.isnan(self.z[i]) else f"{self.z[i]:.2f}"
            ends = self.edges[i : i + 2].tolist()
            return [*ends, *self.counts[:, i].tolist(), *map(gap, self.gaps[:, i]), z]

        header = ("from", "to", "count 1", "count 2", "gap 1", "gap 2", "z")
        return _tables.Shown(header, len(self.z), row)

    def __repr__(self) -> str:
        title = (
            f"CalibrationDrift: D = {self.statistic:.4g} of "
            f"{self.degrees_of_freedom} bins, p = {self.p_value:.3g}, ECE "
            f"{self.ece_difference:+.4f}"
        )
        return f"{title}\n{_text_tables.table(*self._shown())}"


@takes_frames
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
    clusters = Clustered(
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


def _pooled_ends(sums: np.ndarray, clusters: Clustered | None) -> np.ndarray:
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


def drift_of_bins(
    first: BinStatistics,
    second: BinStatistics,
    squares: np.ndarray,
    clusters: Clustered | None = None,
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
    z, q = _drift_of_few.changes(*bins)
    few = np.min(sizes * np.minimum(q, 1 - q), axis=0) < _drift_of_few.FEW
    p_values = 2 * special.ndtr(-np.abs(z))
    if clusters is not None:
        freedom_of_bins = _drift_of_clusters.degrees(
            q * (1 - q) / sizes, clusters.effective_numbers
        )
        p_values = 2 * special.stdtr(freedom_of_bins, -np.abs(z))
    laws = []
    for b in np.flatnonzero(few & ~np.isnan(z)):
        laws.append(_drift_of_few.law(*(row[:, b] for row in (*bins, q))))
        p_values[b] = laws[-1].tail(z[b] ** 2)
    statistic, freedom = float(np.nansum(z**2)), int(np.sum(~np.isnan(z)))
    p_value = 1.0
    if statistic > 0:
        p_value = min(
            _drift_of_few.tail_of_sum(statistic, laws, freedom - len(laws)), 1.0
        )
        if clusters is not None:
            variances = np.sum(q * (1 - q) / sizes, axis=0)
            p_value = _drift_of_clusters.of_dependent_bins(
                p_value, clusters, variances, ~np.isnan(z)
            )
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
        design_effect=None
        if clusters is None
        else _drift_of_clusters.design_effect(clusters, rows),
    )
