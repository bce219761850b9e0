"""A test of whether calibration has changed between two periods, from their bins."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy import _text_tables
from uncertainty_metrics.numpy.calibration import _binning
from uncertainty_metrics.numpy.calibration._binning import BinStatistics
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.sketch.summary import Summary

__all__ = ["calibration_drift"]

# The smallest number of examples in a bin, in each of the periods.
_LEAST = 5
# The relative rounding error of sums of weights.
_ROUNDING = 1e-9
# Edges in float32 differ from the edges in float64 by less than this.
_NEAR = 1e-6

Period: TypeAlias = AnyBinStatistics | ScoreSketch | Summary


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationDrift:
    """The result of `calibration_drift`.

    Arrays with an axis of length 2 hold the first period, then the second.

    Attributes:
      statistic: D, finite and >= 0.
      degrees_of_freedom: number of bins in the sum D.
      p_value: probability of a D at least as large if calibration has not changed, in
        [0, 1]; 1 if there is no bin in the sum.
      ece_difference: ECE of the second period minus ECE of the first, in [-1, 1]. Both
        are computed in the bins before pooling.
      edges: edges of the pooled bins (edges[b], edges[b + 1]], shape [bins + 1].
      counts: number of examples in each bin, shape [2, bins].
      confidences: mean score in each bin, shape [2, bins].
      accuracies: mean outcome in each bin, shape [2, bins].
      z: (gap of the second period - gap of the first) / the standard error of this
        difference, shape [bins], where the gap is accuracy - confidence. If z is
        negative, the scores are higher compared with the outcomes than they were in the
        first period. z is NaN in a bin whose outcomes are all equal; such a bin is left
        out of D.
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
        """The gap, accuracy - confidence, in each bin, shape [2, bins]."""
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
            columns = *self.counts.tolist(), *self.gaps.tolist()
            return [*ends, *(column[i] for column in columns), z]

        header = ("from", "to", "count 1", "count 2", "gap 1", "gap 2", "z")
        return f"{title}\n{_text_tables.table(header, len(self.z), row)}"


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

    The test asks whether the model is as well calibrated as before, not whether it is
    calibrated, so an outcome has the variance q (1 - q), where q is the confidence plus
    the gap that both periods have in common. With the variance p (1 - p) of the scores,
    which is right only for a calibrated model, an overconfident model that has not
    changed would be reported as changed in 25% to 36% of draws at a level of 5%.

    q is kept half an example away from 0 and 1. q (1 - q) is at least the mean variance
    of the outcomes in the bin, so the test tends to reject slightly too rarely.

    From the left, bins are joined until both periods have 5 examples; bins that are
    left at the end join the last one. If all outcomes of both periods in a bin are
    equal, the bin shows no change and is left out of D. If the gap varies within a bin,
    scores that move within the bin look like drift; with more bins they do so less.

    At a level of 5% the test rejected 3.5% to 5.9% (+- 0.5%) of pairs of periods
    without drift: periods of 500 to 10^6 examples, from calibrated, overconfident and
    underconfident models. In periods of 5000 examples it found a temperature that
    changes from 1 to 1.2 in 88% of pairs. A temperature that changes from 1.2 to
    1 / 1.2 leaves the ECE nearly the same; the test found it in 100% of pairs. A
    permutation test of the difference of the two ECEs found these changes in 87% and
    17% of pairs (`studies/calibration_drift_level.py`).

    Args:
      first: statistics of the first period: `BinStatistics` with even bins and one
        group, made from one score of each example; or a `ScoreSketch` of decisions or
        of P(class 1); or a `Summary`, of which the `events` are compared if its
        predictions are one column, P(class 1), else the `decisions`. Weights count as
        numbers of examples; if the weights in a sketch are below 1 on average, they are
        scaled to an average of 1.
      second: statistics of the second period, of the same kind and with the same bins.
      num_bins: number of even bins for sketches and summaries, by default 15.
        `BinStatistics` already have bins, so it must be None for them.

    Returns:
      `CalibrationDrift(statistic, degrees_of_freedom, p_value, ece_difference, edges,
      counts, confidences, accuracies, z)`. It prints as a table of the bins, and
      `to_dict` returns its fields for JSON. The p-value is in [0, 1]; a small p-value
      is evidence that calibration has changed. `drift_diagram` draws the result.

    Raises:
      TypeError: `first` and `second` are neither both `BinStatistics` nor both
        sketches or summaries.
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
    first, second = (_sketch_of(period) for period in (first, second))
    if isinstance(first, ScoreSketch) and isinstance(second, ScoreSketch):
        if num_bins is None:
            num_bins = DEFAULT_NUM_BINS
        return _drift(*_of_sketches(first, second, _checks.bins("num_bins", num_bins)))
    periods = _of_statistics("first", first), _of_statistics("second", second)
    if num_bins is not None:
        raise _checks.error("num_bins", "None for `BinStatistics`", repr(num_bins))
    edges, others = (period.edges for period in periods)
    if edges.shape != others.shape or not np.allclose(edges, others, 0, _NEAR):
        expected = f"the same {edges.shape[1] - 1} bins as `first`"
        received = f"{others.shape[1] - 1} bins"
        raise _checks.error("second", expected, received, verb="have")
    return _drift(*periods)


def _sketch_of(period: Period) -> AnyBinStatistics | ScoreSketch:
    """Returns the sketch to compare of a summary; other periods as they are."""
    if not isinstance(period, Summary):
        return period
    events = period.events if period.positive_class else None
    return period.decisions if events is None else events


def _of_sketches(
    first: ScoreSketch, second: ScoreSketch, num_bins: int
) -> tuple[BinStatistics, BinStatistics]:
    """Returns the statistics of two sketches, with numbers of examples as counts."""
    differences = first._differences(second)
    if differences:
        expected = "a sketch with the same options as `first`"
        raise _checks.error("second", expected, differences)
    spec = first._spec
    if spec.num_groups(2) > 1 or not spec.has_one_score:
        expected = "a sketch of decisions or of P(class 1)"
        raise _checks.error("first", expected, repr(first).partition("\n")[0])
    periods = []
    for sketch in (first, second):
        made, unit = sketch.bin_statistics(num_bins=num_bins), sketch._unit()
        sums = made.counts, made.score_sums, made.outcome_sums
        periods.append(BinStatistics(made.edges, *(unit * rows for rows in sums)))
    return periods[0], periods[1]


def _of_statistics(name: str, period: Period) -> BinStatistics:
    """Returns statistics of one group as NumPy arrays, also if they are tensors."""
    if not isinstance(period, AnyBinStatistics):
        expected = "`BinStatistics`, or a sketch or summary like the other period"
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
    return BinStatistics(edges, counts, score_sums, outcome_sums)


def _pooled_ends(counts: np.ndarray) -> np.ndarray:
    """Returns where each pooled bin starts, and where the last one ends, [pooled + 1].

    From the left, bins are joined until both periods have enough examples; bins that
    are left at the end join the last pooled bin. Empty bins before the first example or
    after the last example belong to no pooled bin.

    Args:
      counts: number of examples of each period in each bin, [2, bins].
    """
    filled = np.flatnonzero(counts.any(axis=0))
    ends, joined = [int(filled[0])], np.zeros(2)
    # A loop over the bins, since each pooled bin starts where the one before it ends.
    for b in range(filled[0], filled[-1] + 1):
        joined = joined + counts[:, b]
        if np.all(joined >= _LEAST):
            ends.append(b + 1)
            joined = np.zeros(2)
    if len(ends) > 1:
        ends.pop()
    return np.array([*ends, int(filled[-1]) + 1])


def _drift(first: BinStatistics, second: BinStatistics) -> CalibrationDrift:
    """Returns the drift from statistics that have one group and the same bins."""
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
    true, totals = outcomes.sum(axis=0), counts.sum(axis=0)
    common = (outcomes - scores).sum(axis=0) / totals
    varies = (true > _ROUNDING * totals) & (totals - true > _ROUNDING * totals)
    q = np.clip(confidences + common, 0.5 / totals, 1 - 0.5 / totals)
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
