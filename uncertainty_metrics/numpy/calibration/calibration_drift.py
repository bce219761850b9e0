"""Has calibration changed between two periods? A test of two sets of bins."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._results import BinStatistics as AnyBinStatistics
from uncertainty_metrics.numpy import _text_tables
from uncertainty_metrics.numpy.calibration import _binning
from uncertainty_metrics.numpy.calibration._binning import BinStatistics
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch

__all__ = ["calibration_drift"]

# A bin needs so many examples in both periods.
_LEAST = 5
# Of sums of weights.
_ROUNDING = 1e-9
# Edges in float32 are as near to those in float64.
_NEAR = 1e-6

Period: TypeAlias = AnyBinStatistics | ScoreSketch


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationDrift:
    """Whether calibration has changed between two periods, and where.

    Arrays with an axis of 2 have the first period, then the second.

    Attributes:
      statistic: D, >= 0; infinite it never is.
      degrees_of_freedom: number of the bins that tell something.
      p_value: of an unchanged calibration, in [0, 1]; 1 where no bin tells anything.
      ece_difference: ECE of the second period - ECE of the first, in [-1, 1], of the
        bins before any were pooled.
      edges: of the bins after pooling, (edges[b], edges[b + 1]], shape [bins + 1].
      counts: number of examples in each bin, shape [2, bins].
      confidences: mean score in each bin, shape [2, bins].
      accuracies: mean outcome in each bin, shape [2, bins].
      z: (gap of the second period - gap of the first) / its standard error, shape
        [bins], the gap being accuracy - confidence. Below 0 the second period is more
        overconfident. NaN where outcomes do not vary, which counts in no sum.
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

    @property
    def gaps(self) -> np.ndarray:
        """Accuracy - confidence in each bin, shape [2, bins]."""
        return self.accuracies - self.confidences

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as plain numbers and lists, for JSON; NaN as None."""
        plain = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }
        plain["z"] = [None if z != z else z for z in plain["z"]]
        return plain

    def __repr__(self) -> str:
        title = (
            f"CalibrationDrift: D = {self.statistic:.4g} of "
            f"{self.degrees_of_freedom} bins, p = {self.p_value:.3g}, ECE "
            f"{self.ece_difference:+.4f}"
        )

        def row(i: int) -> list[object]:
            z = "-" if np.isnan(self.z[i]) else float(self.z[i])
            ends = self.edges[i : i + 2].tolist()
            columns = self.counts, self.gaps
            return [*ends, *(float(x) for of in columns for x in of[:, i]), z]

        header = ("from", "to", "count 1", "count 2", "gap 1", "gap 2", "z")
        return f"{title}\n{_text_tables.table(header, len(self.z), row)}"


def calibration_drift(
    first: Period, second: Period, *, num_bins: int | None = None
) -> CalibrationDrift:
    """Tests whether calibration has changed between two periods.

    With the gap g = accuracy - confidence of a bin in a period and its variance v,

      D = sum over bins of (g_1 - g_2)^2 / (v_1 + v_2),   v = q (1 - q) / n
      q = confidence + (n_1 g_1 + n_2 g_2) / (n_1 + n_2)

    is about chi-squared with as many degrees of freedom as there are bins, if the gaps
    have not changed. The question is whether the model is as well calibrated as before,
    not whether it is calibrated. So q is the probability of an outcome where both
    periods have their gap in common, kept half an example away from 0 and 1; of a
    calibrated model it is the confidence, but for chance. (With the confidence in place
    of q, the test would find a drift of an overconfident model that has not changed in
    about 30% of all draws at a level of 5%.) q (1 - q) is at least the mean variance of
    the outcomes in a bin, so that the test is slightly conservative.

    Bins of fewer than 5 examples in either period are pooled with their neighbour. A
    bin with nothing but true outcomes in both periods, or nothing but false ones, says
    nothing and is not counted. Where gaps differ within a bin, scores that move within
    it look like drift: more bins tell the two apart.

    At a level of 5% it rejects 3.5% to 5.9% of pairs of periods (+- .5%) without drift,
    of 500 to 10^6 examples each, of calibrated, overconfident and underconfident
    models. Of 5000 examples a period it finds a temperature that goes from 1 to 1.2 in
    88% of pairs, and one from 1.2 to 1 / 1.2, of which the ECE is nearly the same, in
    100%; the difference of the two ECEs, with its law by permutation, in 87% and 17%
    (`studies/calibration_drift_level.py`).

    Args:
      first: statistics of the first period: `BinStatistics` of even bins and of one
        group, where each example has one score; or a `ScoreSketch` of decisions or
        with positive_class=True. Weights are numbers of examples; of a sketch whose
        weights are below 1 on average, they are scaled to an average of 1.
      second: those of the second period, of the same kind, with the same bins.
      num_bins: of sketches, the number of even bins, 15 by default. `BinStatistics`
        have their own.

    Returns:
      `CalibrationDrift(statistic, degrees_of_freedom, p_value, ece_difference, edges,
      counts, confidences, accuracies, z)`: prints as a table, has `to_dict`, and
      `drift_diagram` draws the same. The p-value is in [0, 1]; small ones speak for a
      change.

    Raises:
      TypeError: `first` and `second` are not both statistics, or both sketches.
      ValueError: an argument is not as described, or a period has fewer than 5
        examples.

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
      Regression Model. Broecker and Smith (2007), Increasing the Reliability of
      Reliability Diagrams.
    """
    if isinstance(first, ScoreSketch) and isinstance(second, ScoreSketch):
        if num_bins is None:
            num_bins = DEFAULT_NUM_BINS
        return _drift(*_of_sketches(first, second, _checks.bins("num_bins", num_bins)))
    periods = _of_statistics("first", first), _of_statistics("second", second)
    if num_bins is not None:
        raise _checks.error("num_bins", "None for `BinStatistics`", repr(num_bins))
    edges, others = (period.edges for period in periods)
    if edges.shape != others.shape or not np.allclose(edges, others, 0, _NEAR):
        expected = f"on the same bins as `first`, {edges.shape[1] - 1} of them"
        raise _checks.error("second", expected, f"{others.shape[1] - 1} bins")
    return _drift(*periods)


def _of_sketches(
    first: ScoreSketch, second: ScoreSketch, num_bins: int
) -> tuple[BinStatistics, BinStatistics]:
    """Returns the statistics of two sketches, whose counts are numbers of examples."""
    differences = first._differences(second)
    if differences:
        expected = "a sketch of the same options as `first`"
        raise _checks.error("second", expected, differences)
    spec = first._spec
    if spec.num_groups(2) > 1 or not spec.has_one_score:
        expected = "a sketch of decisions, or made with positive_class=True"
        raise _checks.error("first", expected, repr(first).partition("\n")[0])
    periods = []
    for sketch in (first, second):
        made, unit = sketch.bin_statistics(num_bins=num_bins), sketch._unit()
        sums = made.counts, made.score_sums, made.outcome_sums
        periods.append(BinStatistics(made.edges, *(unit * rows for rows in sums)))
    return periods[0], periods[1]


def _of_statistics(name: str, period: Period) -> BinStatistics:
    """Returns statistics of one group as NumPy arrays, those of tensors too."""
    if not isinstance(period, AnyBinStatistics):
        expected = "`BinStatistics`, or a `ScoreSketch` as the other one is"
        raise _checks.type_error(name, expected, period)
    if not period.additive:
        raise _checks.error(name, "of even bins", "adaptive bins")
    edges, counts, score_sums, outcome_sums = rows = [
        np.asarray(getattr(period, field), np.float64)
        for field in ("edges", "counts", "score_sums", "outcome_sums")
    ]
    if len(counts) != 1:
        raise _checks.error(name, "of one group", f"{len(counts)} groups")
    if not all(np.all(np.isfinite(row)) for row in rows):
        raise _checks.error(name, "finite", "NaN or infinity")
    return BinStatistics(edges, counts, score_sums, outcome_sums)


def _pooled_ends(counts: np.ndarray) -> np.ndarray:
    """Returns where pooled bins start and the last one ends, [pooled + 1], of counts
    [2, bins].

    From the left, bins are joined until both periods have enough; what is left at the
    end joins the last one. Empty bins before the first that holds an example, and after
    the last, belong to none.
    """
    some = np.flatnonzero(counts.any(axis=0))
    ends, held = [int(some[0])], np.zeros(2)
    # A loop over the bins: each depends on those before it.
    for b in range(some[0], some[-1] + 1):
        held = held + counts[:, b]
        if np.all(held >= _LEAST):
            ends.append(b + 1)
            held = np.zeros(2)
    if len(ends) > 1:
        ends.pop()
    return np.array([*ends, int(some[-1]) + 1])


def _drift(first: BinStatistics, second: BinStatistics) -> CalibrationDrift:
    """Returns the drift between statistics of one group on the same bins."""
    from scipy import special

    periods = {"first": first, "second": second}
    for name, period in periods.items():
        if period.counts.sum() < _LEAST:
            received = f"{period.counts.sum():g}"
            raise _checks.error(name, "at least 5 examples", received, verb="hold")
    before, after = (
        _binning.calibration_error(period, "l1") for period in periods.values()
    )
    rows = [
        np.concatenate([getattr(period, field) for period in periods.values()])
        for field in ("counts", "score_sums", "outcome_sums")
    ]
    ends = _pooled_ends(rows[0])
    counts, scores, outcomes = (np.add.reduceat(row, ends[:-1], axis=1) for row in rows)
    confidences, accuracies = scores / counts, outcomes / counts
    steps = np.diff(accuracies - confidences, axis=0)[0]
    common = (outcomes - scores).sum(axis=0) / counts.sum(axis=0)
    true, both = outcomes.sum(axis=0), counts.sum(axis=0)
    varies = (true > _ROUNDING * both) & (both - true > _ROUNDING * both)
    q = np.clip(confidences + common, 0.5 / both, 1 - 0.5 / both)
    variances = (q * (1 - q) / counts).sum(axis=0)
    z = np.where(varies, steps / np.sqrt(np.where(varies, variances, 1.0)), np.nan)
    statistic, freedom = float(np.nansum(z**2)), int(varies.sum())
    return CalibrationDrift(
        statistic,
        freedom,
        float(special.chdtrc(freedom, statistic)) if freedom else 1.0,
        after - before,
        first.edges[0][ends],
        *(counts, confidences, accuracies, z),
    )
