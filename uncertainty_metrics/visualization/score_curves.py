"""The data of reliability diagrams without bins: isotonic regression, smoothing, and
logistic regression on a spline.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec, YAxis
from uncertainty_metrics.numpy import _examples, _inputs, _wilson
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _scores,
    _simulated_bins,
)
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    Rows,
)
from uncertainty_metrics.visualization import _series, reliability_curves

__all__ = ["ScoreBand", "ScoreCurve", "ScoreMethod", "curve_from_cells"]

ScoreMethod = Literal["isotonic", "smooth", "spline"]

# The level of the band of "isotonic" if the user chooses none.
DEFAULT_LEVEL = 0.95
# Before labels are redrawn, the scores are pooled in so many cells of equal mass. A
# block of isotonic regression has far more examples than a cell.
_POOLED = 1000
# Number of points of a smooth curve, and its smallest bandwidth: no reader sees smaller
# details.
_POINTS = 301
_MIN_BANDWIDTH = 1 / 128
# The number of examples within this distance of a score says how well isotonic
# regression knows the curve at the score.
_NEAR = 0.05


class ScoreBand(NamedTuple):
    """A band of frequencies: either the band in which a calibrated model has its
    frequencies, or the confidence band around a curve.

    Attributes:
      level: probability with which the frequency at each score is in the band, in
        (0, 1).
      scores: ascending, shape [P].
      lower: lower ends, in [0, 1], shape [P].
      upper: upper ends, in [0, 1], shape [P].
      sizes: approximate number of examples that determine the frequency at each score,
        shape [P]: the examples in the bin, in the smoothing kernel, for "isotonic"
        within 0.05 of the score, or for "spline" all examples.
    """

    level: float
    scores: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sizes: np.ndarray

    def at(self, chosen: np.ndarray) -> ScoreBand:
        """Returns the band at the chosen scores."""
        return ScoreBand(self.level, *(part[chosen] for part in self[1:]))


@dataclasses.dataclass(frozen=True, eq=False)
class ScoreCurve:
    """The numbers of a reliability diagram without bins, for one group of scores.

    Attributes:
      method: "isotonic", "smooth" or "spline".
      y_axis: "accuracy" or "frequency": the meaning of `frequencies`.
      scores: scores at the points of the curve, ascending, shape [P]; P is 0 for a
        group without scores.
      frequencies: how often the outcome is true at these scores, in [0, 1], shape [P].
      sizes: approximate number of examples in the mean of each frequency, shape [P].
      density_scores: positions of the densities: for "smooth" points [D], for
        "isotonic" and "spline" the edges of even bins [D + 1].
      densities: density of the scores, shape [D].
      error: for "isotonic" the miscalibration (of the CORP decomposition of the Brier
        score of a binary outcome), for "smooth" the smooth calibration error, for
        "spline" the integrated calibration index.
      size: number of examples; with weights the effective number.
      band: the `ScoreBand` of a calibrated model, or None.
      interval: for "spline" the `ScoreBand` around the curve, else None.
      shares: for "spline" the shares of the scores in each bin, of the examples whose
        outcome is false and of the examples whose outcome is true, shape [2, D]; else
        None.
    """

    method: ScoreMethod
    y_axis: YAxis
    scores: np.ndarray
    frequencies: np.ndarray
    sizes: np.ndarray
    density_scores: np.ndarray
    densities: np.ndarray
    error: float
    size: float
    band: ScoreBand | None = None
    interval: ScoreBand | None = None
    shares: np.ndarray | None = None


def _bandwidth(error: float) -> float:
    return max(error, _MIN_BANDWIDTH)


def _kernel(points: np.ndarray, scores: np.ndarray, bandwidth: float) -> np.ndarray:
    """Returns the Gaussian kernel [P, J], reflected at 0 and 1, up to a factor."""
    total = np.zeros((len(points), len(scores)))
    far = int(np.ceil(0.5 + 3 * bandwidth))  # 6 bandwidths beyond 0 and 1.
    for shift in range(-2 * far, 2 * far + 1, 2):
        for image in (shift + scores, shift - scores):
            total += np.exp(-(((points[:, None] - image) / bandwidth) ** 2) / 2)
    return total


def _corners(values: np.ndarray) -> np.ndarray:
    """Returns a mask [J] of the first and last element of each run of equal values."""
    start = np.diff(values, prepend=-1.0) != 0
    return start | np.append(start[1:], True)


def curve_from_cells(
    cells: Cells,
    method: ScoreMethod,
    *,
    y_axis: YAxis = "accuracy",
    num_bins: int = 50,
    size: float | None = None,
    level: float = DEFAULT_LEVEL,
    rows: Rows | None = None,
) -> ScoreCurve:
    """The data of a reliability diagram without bins, from pooled scores.

    "isotonic" is the non-decreasing function of the score that fits the outcomes best
    (pool-adjacent-violators); lines join its points. "smooth" is the mean outcome
    around each score. With the smooth calibration error s, and the Gaussian kernel K_s
    of bandwidth max(s, 1/128), reflected at 0 and 1,

      frequency(t) = t + sum_i w_i (y_i - p_i) K_s(t, p_i) / sum_i w_i K_s(t, p_i)

    "spline" is the logistic regression of `integrated_calibration_index`.

    Args:
      cells: pooled scores, exact or from a sketch.
      method: "isotonic", "smooth" or "spline".
      y_axis: "accuracy" or "frequency"; it only names the axes.
      num_bins: number of even bins of the density of the scores, for "isotonic" and
        "spline".
      size: number of examples; by default the total weight.
      level: level of the confidence band of "spline".
      rows: for "spline", the examples if they come in clusters; None if they are
        independent.

    Returns:
      A `ScoreCurve` without a band.
    """
    from uncertainty_metrics.numpy.calibration.without_bins import (
        _pooled_errors,  # It imports SciPy.
    )

    size = float(cells.weights.sum() if size is None else size)
    edges = np.linspace(0.0, 1.0, num_bins + 1)
    if len(cells.weights) == 0:
        none, densities = np.zeros(0), np.zeros(num_bins)
        return ScoreCurve(method, y_axis, none, none, none, edges, densities, 0.0, 0.0)
    if method == "spline":
        return _of_spline(cells, y_axis, edges, size, level, rows)
    if method == "isotonic":
        fitted = _pooled_errors.isotonic(cells)
        corners = _corners(fitted)
        runs = np.cumsum(np.diff(fitted, prepend=-1.0) != 0) - 1
        masses = np.bincount(runs, cells.weights)[runs]
        densities, _ = np.histogram(
            cells.scores, edges, density=True, weights=cells.weights
        )
        return ScoreCurve(
            method,
            y_axis,
            cells.scores[corners],
            fitted[corners],
            (size / cells.weights.sum() * masses)[corners],
            edges,
            densities,
            _pooled_errors.corp(cells, "brier").miscalibration,
            size,
        )
    error = _pooled_errors.smooth_error(cells)
    bandwidth = _bandwidth(error)
    points = np.linspace(cells.scores[0], cells.scores[-1], _POINTS)
    density = _pooled_errors.smooth_density(cells, bandwidth, points)
    known = density > 1e-6  # Between distant scores the density is only rounding.
    points, density = points[known], density[known]
    means = _pooled_errors.smooth_residuals(cells, bandwidth, points) / density
    low, high = (
        max(points[0] - 4 * bandwidth, 0.0),
        min(points[-1] + 4 * bandwidth, 1.0),
    )
    around = np.linspace(low, high, _POINTS)
    return ScoreCurve(
        method,
        y_axis,
        points,
        np.clip(points + means, 0.0, 1.0),
        # The integral of the square of a Gaussian is 1 / (2 sqrt(pi) bandwidth).
        size * density * 2 * np.sqrt(np.pi) * bandwidth,
        around,
        np.maximum(_pooled_errors.smooth_density(cells, bandwidth, around), 0.0),
        error,
        size,
    )


def _of_spline(
    cells: Cells,
    y_axis: YAxis,
    edges: np.ndarray,
    size: float,
    level: float,
    rows: Rows | None,
) -> ScoreCurve:
    """Returns the curve of logistic regression on a spline, for at least one score."""
    from uncertainty_metrics.numpy.calibration.risk import (
        _spline_curve,  # It imports SciPy.
    )

    curve = _spline_curve.fitted(cells)
    points = np.unique(np.linspace(cells.scores[0], cells.scores[-1], _POINTS))
    sizes = np.full(len(points), size)
    shares = np.zeros((2, len(edges) - 1))
    misses = np.maximum(cells.weights - cells.outcome_sums, 0.0)
    for share, masses in zip(shares, (misses, cells.outcome_sums), strict=True):
        total = max(masses.sum(), np.finfo(np.float64).tiny)
        share[:] = np.histogram(cells.scores, edges, weights=masses / total)[0]
    return ScoreCurve(
        "spline",
        y_axis,
        points,
        curve(points),
        sizes,
        edges,
        np.histogram(cells.scores, edges, density=True, weights=cells.weights)[0],
        curve.index(cells).ici,
        size,
        interval=ScoreBand(
            level, points, *curve.band(points, level, size, rows), sizes
        ),
        shares=shares,
    )


def _rows_of_groups(
    examples: _examples.Examples, spec: CalibrationSpec
) -> list[Rows] | None:
    """Returns the rows of each group; None for independent examples."""
    if examples.clusters is None:
        return None
    statistics = _binning.bin_statistics(examples, spec)
    scored = _simulated_bins.entries(examples, spec, statistics)
    groups, bins = statistics.counts.shape
    codes = np.broadcast_to(examples.clusters.codes[:, None], scored.cells.shape)
    weights = np.ones(len(codes)) if examples.weights is None else examples.weights
    weights = np.broadcast_to(weights[:, None], codes.shape)
    found = []
    for group in range(groups):
        chosen = scored.cells // bins == group
        found.append(
            Rows(
                scored.scores[chosen],
                scored.outcomes[chosen].astype(np.float64),
                weights[chosen],
                examples.clusters._replace(codes=codes[chosen]),
            )
        )
    return found


def _size(cells: Cells, weights: np.ndarray | None) -> float:
    """Returns the effective number of scores in a group."""
    total = float(cells.weights.sum())
    if weights is None or total == 0:
        return total
    return _wilson.effective_size(weights)


def _bands(
    examples: _examples.Examples,
    spec: CalibrationSpec,
    curves: list[ScoreCurve],
    level: float,
    seed: Any,
) -> list[ScoreBand]:
    """Returns the band of each group, from labels that are drawn from the forecasts."""
    rng = _inputs.generator(seed)
    fine = dataclasses.replace(
        spec,
        binning_scheme="adaptive",
        datapoints_per_bin=None,
        num_bins=min(_POOLED, len(examples.labels)),
    )
    statistics = _binning.bin_statistics(examples, fine)
    draws = reliability_curves.num_resamples(len(examples.labels))
    drawn = np.stack(
        list(_simulated_bins.calibrated_sums(examples, fine, statistics, draws, rng))
    )
    bands = []
    for group, curve in enumerate(curves):
        is_filled = statistics.counts[group] > 0
        cells = Cells(
            statistics.counts[group][is_filled],
            statistics.score_sums[group][is_filled],
            np.zeros(np.sum(is_filled)),
        )
        bands.append(_band(cells, curve, drawn[:, group, is_filled], level))
    return bands


def _band(
    cells: Cells, curve: ScoreCurve, drawn: np.ndarray, level: float
) -> ScoreBand:
    """Returns the band of a group from the outcome sums [draws, J] of its cells."""
    from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors

    if curve.method == "isotonic":
        points = cells.scores
        sums = np.append(0.0, np.cumsum(cells.weights))
        first = np.searchsorted(points, points - _NEAR, "left")
        last = np.searchsorted(points, points + _NEAR, "right")
        sizes = curve.size * (sums[last] - sums[first]) / max(sums[-1], 1e-300)
    else:
        points, sizes = curve.scores, curve.sizes
    if curve.method == "isotonic":
        values = np.empty((len(drawn), len(points)))
        # A loop over the draws, because each draw needs its own isotonic regression.
        for value, outcomes in zip(values, drawn, strict=True):
            one = dataclasses.replace(cells, outcome_sums=outcomes)
            value[:] = _pooled_errors.isotonic(one)
    else:
        kernel = _kernel(points, cells.scores, _bandwidth(curve.error))
        means = (drawn - cells.score_sums) @ kernel.T / (kernel @ cells.weights)
        values = np.clip(points + means, 0.0, 1.0)
    return ScoreBand(level, points, *_simulated_bins.interval(values, level), sizes)


def score_curves(
    method: ScoreMethod, data: ClassifierData, options: reliability_curves.CurveOptions
) -> list[ScoreCurve]:
    """Returns the curve of each group for the arguments of `reliability_diagram`."""
    # Options of other methods, with the only value that is allowed here.
    fixed = [
        ("binning_scheme", options.binning_scheme, "even", '"bins"'),
        ("datapoints_per_bin", options.datapoints_per_bin, None, '"bins"'),
        ("error_bars", options.error_bars, None, '"bins" or "spline"'),
    ]
    if method == "spline":
        band = options.consistency_band or None
        fixed[2] = ("consistency_band", band, None, '"isotonic", "smooth" or "bins"')
    for name, value, expected, methods in fixed:
        if value != expected:
            raise _checks.error(
                name, f"{expected!r} unless method={methods}", repr(value)
            )
    examples, spec, y_axis = reliability_curves.read(data, options)
    level: float | None = None
    if options.consistency_band is not False:
        level = options.consistency_band
        level = _series.level("consistency_band", level)
        if level is None and method == "isotonic":
            level = DEFAULT_LEVEL
    interval_level = _series.level("error_bars", options.error_bars) or DEFAULT_LEVEL
    curves = []
    in_clusters = _rows_of_groups(examples, spec) if method == "spline" else None
    for i, (scores, outcomes, weights) in enumerate(
        _scores.scores_of_groups(examples, spec)
    ):
        cells = _pooled_scores.pooled(scores, outcomes, weights)
        curves.append(
            curve_from_cells(
                cells,
                method,
                y_axis=y_axis,
                num_bins=spec.num_bins,
                size=_size(cells, weights),
                level=interval_level,
                rows=None if in_clusters is None else in_clusters[i],
            )
        )
    if not level:
        return curves
    bands = _bands(examples, spec, curves, level, options.seed)
    return [
        dataclasses.replace(curve, band=band)
        for curve, band in zip(curves, bands, strict=True)
    ]
