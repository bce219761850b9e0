"""Calibration errors without bins, computed from the cells of a group of scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy.fft
import scipy.special
from numpy.typing import DTypeLike

from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells

Score = Literal["brier", "log"]
# From the size of a block to blocks of points of [0, 1] and their masses, float64.
Blocks = Callable[[int], Iterator[tuple[np.ndarray, np.ndarray]]]

SCORES: tuple[Score, ...] = get_args(Score)

# Numbers of intervals of the meshes for smoothing, from coarse to fine.
_COARSE = tuple(2**k for k in (12, 14, 16))
_FINE = tuple(2**k for k in (18, 20, 22))
# Meshes with more scores than this in an interval, on average, are not used: a finer
# mesh takes no more time.
_CROWD = 64
# The largest error of an L1 norm. On a mesh with intervals h, after smoothing with
# bandwidth s, the error is less than (h / s)^3 / 24 of the sum of the absolute masses,
# or (h / s)^2 / 16 of it if each mass is split over two nodes.
_TOLERANCE = 5e-7
# Bandwidths below this need no finer mesh, as the error that they equal is below it.
_NEGLIGIBLE = 1e-6
# The tolerance of the search for a bandwidth.
_ROOT = 1e-9
# The number of points that are put on a mesh at a time, so that they stay in the cache.
_BLOCK = 2**14
# Scores are equal except for rounding if they are equal after rounding to 1 over this.
_DISTINCT = 2.0**44
# exp(-36) is negligible.
_NEGLIGIBLE_EXPONENT = 36.0
# Lagrange polynomials of the nodes -1, 0, 1, 2 (rows): coefficients of the powers
# (columns). The linear polynomials use the nodes 0 and 1 only.
CUBIC = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6
_LINEAR = np.array([[0, 0], [1, -1], [0, 1], [0, 0]])
# Spiegelhalter's z is not Normal if fewer surprises are expected.
FEW_SURPRISES = 10.0
SURPRISES = np.arange(128.0)
LOG_FACTORIALS = scipy.special.gammaln(SURPRISES + 1)
# The relative rounding error of a mean of equal scores, as a sketch computes it: mass
# times score over mass.
_ROUNDING = 4 * np.finfo(np.float64).eps


class CORPDecomposition(NamedTuple):
    """Parts of a mean score: score = miscalibration - discrimination + uncertainty.

    Attributes:
      miscalibration: gain by recalibration with isotonic regression, >= 0.
      discrimination: gain of the recalibrated forecast over the base rate, >= 0.
      uncertainty: mean score of the base rate, >= 0.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float


class _Mesh:
    """Masses at points of [0, 1], smoothed with Gaussians reflected at 0 and 1.

    The nodes are the middles of equal intervals. A mass is split over the four nodes
    around it so that its moments up to the third do not change, or over two nodes so
    that the first does not. Reflection is an even extension with period 2, so smoothing
    multiplies the cosine series of the masses by exp(-(pi k bandwidth)^2 / 2).
    """

    def __init__(self, blocks: Blocks, intervals: int, nodes: int = 4) -> None:
        self.intervals = intervals
        self._blocks = blocks
        # The sums at each node of (mass, mass offset), and of the same times offset^2,
        # as complex numbers: that takes less time than separate sums.
        self._pairs: list[np.ndarray] = []
        self.size = 0.0  # The sum of the absolute values of the masses.
        self.split(nodes)
        self.sum = float(self._pairs[0].real.sum())

    def split(self, nodes: int) -> None:
        """Splits each mass over this many nodes, not fewer than before."""
        self.nodes = nodes
        num_known = len(self._pairs)
        for _ in range(num_known, nodes // 2):
            self._pairs.append(np.zeros(self.intervals + 1, complex))
        terms = np.empty(_BLOCK, complex)
        for points, masses in self._blocks(_BLOCK):
            left, offset = _located(points, self.intervals)
            if num_known == 0:
                self.size += float(np.abs(masses).sum())
            terms = terms[: len(left)]  # The last block is the shortest.
            for place, pair in enumerate(self._pairs):
                if place > 0:
                    masses = masses * offset**2
                if place >= num_known:
                    terms.real = masses
                    np.multiply(masses, offset, out=terms.imag)
                    np.add.at(pair, left, terms)
        moments = [part for pair in self._pairs for part in (pair.real, pair.imag)]
        at_nodes = np.zeros(self.intervals + 4)  # With two nodes outside each end.
        for node, split in enumerate((_LINEAR if nodes == 2 else CUBIC) @ moments):
            at_nodes[node : node + self.intervals + 1] += split
        at_nodes[2:4] += at_nodes[1::-1]
        at_nodes[-4:-2] += at_nodes[:-3:-1]
        self._series = scipy.fft.dct(at_nodes[2:-2], type=2) / 2

    def smoothed(self, bandwidth: float) -> np.ndarray:
        """Returns the sum of mass times kernel at the nodes, or at the nodes of a
        coarser mesh that is fine enough for the bandwidth.
        """
        nodes = min(self.intervals, _intervals(bandwidth))
        terms = nodes
        if bandwidth * terms > 1:
            terms = min(
                terms,
                1 + int(math.sqrt(2 * _NEGLIGIBLE_EXPONENT) / (math.pi * bandwidth)),
            )
        # The split over two nodes adds a variance, from 0 to 1/4 of a squared interval.
        if self.nodes == 2:
            bandwidth = math.sqrt(bandwidth**2 - 1 / 8 / self.intervals**2)
        factors = np.exp(-((np.pi * bandwidth * np.arange(terms)) ** 2) / 2)
        series = np.zeros(nodes)
        series[:terms] = self._series[:terms] * factors
        return scipy.fft.dct(series, type=3)

    def norm(self, bandwidth: float) -> float:
        """Returns the integral of the absolute value of the smoothed masses."""
        values = self.smoothed(bandwidth)
        sizes = np.abs(values)
        crossed = np.flatnonzero(values[:-1] * values[1:] < 0)
        a, b = sizes[crossed], sizes[crossed + 1]
        # The sum over the nodes is right except where the sign changes: there the
        # absolute value of a line has a kink, which the formula of Euler and Maclaurin
        # corrects.
        jumps = (a + b) / 6 - a * b / (a + b)
        return float(sizes.sum() + jumps.sum()) / len(values)


def _located(points: np.ndarray, intervals: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the number of nodes below each point, and the distance of the point from
    the last of these nodes in units of an interval.
    """
    place = points * intervals
    place += 0.5
    left = place.astype(np.int32)  # Faster than to int64: SIMD has a conversion.
    place -= left
    return left.astype(np.intp), place


def _span(size: float, nodes: int = 4) -> float:
    """Returns how many intervals a bandwidth must span, for masses of this size."""
    if nodes == 2:
        return max(1.0, math.sqrt(size / (16 * _TOLERANCE)))
    return max(1.0, (size / (24 * _TOLERANCE)) ** (1 / 3))


def _intervals(bandwidth: float) -> int:
    """Returns the intervals of the coarsest mesh that is enough for a bandwidth."""
    enough = [m for m in _COARSE + _FINE if m * bandwidth >= _span(1.0)]
    return enough[0] if enough else _FINE[-1]


def _crossing(norm: Callable[[float], float], low: float, high: float) -> float:
    """Returns s with norm(s) = s, for a falling norm; an end if rounding hides s."""

    def excess(s: float) -> float:
        return norm(s) - s

    if excess(low) <= 0:
        return low
    if excess(high) >= 0:
        return high
    from scipy import optimize  # Its import takes long.

    return float(optimize.brentq(excess, low, high, xtol=_ROOT))


def _fixed_point(blocks: Blocks, number: int, meshes: tuple[int, ...]) -> float | None:
    """Returns the bandwidth that equals its error; None if the meshes are too coarse.

    As the bandwidth grows, the error falls from the sum of abs(masses) to abs(sum of
    masses), so the bandwidth is between the two.
    """
    kinds = [(m, 4) for m in meshes if m >= min(number / _CROWD, meshes[-1])]
    if number > _CROWD * meshes[0]:
        kinds.insert(0, (kinds[0][0], 2))
    mesh = _Mesh(blocks, *kinds[0])
    low, high = abs(mesh.sum), mesh.size
    if high - low <= _ROOT:
        return high
    for intervals, nodes in kinds:
        least = _span(mesh.size, nodes) / intervals
        is_fine = low >= least or least <= _NEGLIGIBLE or intervals == _FINE[-1]
        if not is_fine and least >= high:
            continue
        if intervals != mesh.intervals:
            mesh = _Mesh(blocks, intervals, nodes)
        elif nodes > mesh.nodes:
            mesh.split(nodes)
        if not is_fine and mesh.norm(least) <= least:
            high = least
            continue
        return _crossing(mesh.norm, low if is_fine else least, high)
    return None


def _blocks_of_arrays(points: np.ndarray, masses: np.ndarray) -> Blocks:
    def blocks(size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(points), size):
            yield points[start : start + size], masses[start : start + size]

    return blocks


def smooth_error(cells: Cells, bandwidth: float | None = None) -> float:
    """Returns the smooth calibration error; None solves for the bandwidth."""
    blocks = _blocks_of_arrays(cells.scores, cells.residuals)
    return _smooth_error(blocks, len(cells.weights), bandwidth)


def smooth_error_of(
    scores: np.ndarray,
    outcomes: np.ndarray,
    weights: np.ndarray | None,
    bandwidth: float | None,
) -> float:
    """Returns the smooth calibration error of scores, in any order and with ties."""
    number = len(scores)
    total = number if weights is None else weights.sum()

    def blocks(size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, number, size):
            rows = slice(start, start + size)
            points = scores[rows].astype(np.float64)
            masses = outcomes[rows] - points
            masses *= (1.0 if weights is None else weights[rows]) / total
            yield points, masses

    return _smooth_error(blocks, number, bandwidth)


def _smooth_error(blocks: Blocks, number: int, bandwidth: float | None) -> float:
    if bandwidth is not None:
        return _Mesh(blocks, _intervals(bandwidth)).norm(bandwidth)
    error = _fixed_point(blocks, number, _COARSE)
    if error is None:  # The residuals are small, or cancel if scores are pooled.
        scores, residuals = next(blocks(number))
        _, first, index = np.unique(np.rint(scores * _DISTINCT), True, True)
        pooled = _blocks_of_arrays(scores[first], np.bincount(index, residuals))
        error = _fixed_point(pooled, len(first), _FINE)
    assert error is not None
    return error


def _smoothed_at(
    cells: Cells, masses: np.ndarray, bandwidth: float, points: np.ndarray
) -> np.ndarray:
    """Returns the sum of mass times kernel at points of [0, 1]."""
    intervals = _intervals(bandwidth)
    values = _Mesh(_blocks_of_arrays(cells.scores, masses), intervals).smoothed(
        bandwidth
    )
    values = np.pad(values, 2, mode="symmetric")
    left, offset = _located(np.asarray(points, np.float64), intervals)
    powers = np.stack([offset**power for power in range(4)])
    weights = np.tensordot(CUBIC, powers, axes=1)
    return sum(weights[node] * values[left + node] for node in range(4))


def smooth_residuals(cells: Cells, bandwidth: float, points: np.ndarray) -> np.ndarray:
    """Returns the sum of residual times kernel at points of [0, 1]."""
    return _smoothed_at(cells, cells.residuals, bandwidth, points)


def smooth_density(cells: Cells, bandwidth: float, points: np.ndarray) -> np.ndarray:
    """Returns the kernel density of the scores at points of [0, 1]."""
    masses = cells.weights / cells.weights.sum()
    return _smoothed_at(cells, masses, bandwidth, points)


def kolmogorov_smirnov(cells: Cells) -> float:
    """Returns the largest absolute value of the sum of residuals up to a score."""
    return float(np.max(np.abs(np.cumsum(cells.residuals)), initial=0.0))


def kuiper(cells: Cells) -> float:
    """Returns the range of the sum of residuals up to a score, 0 included."""
    sums = np.cumsum(cells.residuals)
    return float(np.max(sums, initial=0.0) - np.min(sums, initial=0.0))


def averaged_two_bin(cells: Cells) -> float:
    """Returns the squared error of two bins, averaged over the place of their split."""
    sums = np.concatenate([[0.0], np.cumsum(cells.residuals)])
    lengths = np.diff(cells.scores, prepend=0.0, append=1.0)
    return float(lengths @ (sums**2 + (sums[-1] - sums) ** 2))


def spiegelhalter(cells: Cells) -> tuple[float, float]:
    """Returns z and its two-sided p-value; NaN where all scores are 0, 1/2 or 1."""
    variance, third = spiegelhalter_moments(cells)
    if not variance > 0:
        return math.nan, math.nan
    slopes = 1 - 2 * cells.scores
    z = float((cells.outcome_sums - cells.score_sums) @ slopes) / math.sqrt(variance)
    expected = variance * (variance / third) ** 2 if third > 0 else math.inf
    p_value = math.erfc(abs(z) / math.sqrt(2))
    return z, max(p_value, p_value_of_surprises(z, expected))


def spiegelhalter_moments(cells: Cells) -> tuple[float, float]:
    """Returns the variance and the third cumulant of the statistic before division."""
    scores = cells.scores
    squares = (1 - 2 * scores) ** 2
    terms = cells.weights * squares * scores * (1 - scores)
    return float(terms.sum()), float(squares @ terms)


def p_value_of_surprises(z: float, expected: float) -> float:
    """Returns the two-sided p-value of z by the Poisson number of surprises; 0 if many
    are expected, because z is Normal then.
    """
    if not expected < FEW_SURPRISES:
        return 0.0
    number = max(expected + z * math.sqrt(expected), 0.0)
    logs = SURPRISES * math.log(expected) - expected - LOG_FACTORIALS
    # Numbers are spread evenly over units around them: mid-p at whole ones.
    beyond = SURPRISES - number
    tails = [
        float(np.exp(logs) @ np.clip(0.5 + sign * beyond, 0.0, 1.0)) for sign in (1, -1)
    ]
    return 2 * min(tails)


def isotonic(cells: Cells) -> np.ndarray:
    """Returns the non-decreasing forecasts of the cells that fit best, [J]."""
    if len(cells.weights) == 0:
        return np.zeros(0)
    from scipy import optimize

    rates = cells.outcome_sums / cells.weights
    fitted = optimize.isotonic_regression(rates, weights=cells.weights).x
    return np.clip(fitted, 0.0, 1.0)


def _mean_score(cells: Cells, forecasts: np.ndarray, score: Score) -> float:
    events = cells.outcome_sums
    others = np.maximum(cells.weights - events, 0.0)
    if score == "brier":
        total = events @ (1 - forecasts) ** 2 + others @ forecasts**2
    else:
        logs = scipy.special.xlogy(events, forecasts)
        total = -(logs + scipy.special.xlog1py(others, -forecasts)).sum()
    return float(total / cells.weights.sum())


def corp(cells: Cells, score: Score) -> CORPDecomposition:
    """Returns the parts of the mean score, by isotonic regression."""
    if len(cells.weights) == 0:
        return CORPDecomposition(0.0, 0.0, 0.0)
    rate = cells.outcome_sums.sum() / cells.weights.sum()
    uncertainty = _mean_score(cells, np.full(len(cells.weights), rate), score)
    recalibrated = _mean_score(cells, isotonic(cells), score)
    miscalibration = _mean_score(cells, cells.scores, score) - recalibrated
    discrimination = uncertainty - recalibrated
    # Rounding may make both slightly negative, and `uncertainty` of one label -0.0.
    return CORPDecomposition(
        max(miscalibration, 0.0), max(discrimination, 0.0), max(uncertainty, 0.0)
    )


def _below(
    cells: Cells, thresholds: np.ndarray, side: Literal["left", "right"]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the shares of events, and of the others, below and above each threshold.

    Both arrays are [2, ...], for the scores below and above. A score that equals the
    threshold is below it if `side` is "right".
    """
    total = max(cells.weights.sum(), np.finfo(np.float64).tiny)
    if cells.own_scores is None:
        thresholds = thresholds * (1 + (_ROUNDING if side == "right" else -_ROUNDING))
    split = np.searchsorted(cells.scores, thresholds, side)

    def shares(masses: np.ndarray) -> np.ndarray:
        sums = np.concatenate([[0.0], np.cumsum(masses)]) / total
        return np.stack([sums[split], sums[-1] - sums[split]])

    return shares(cells.outcome_sums), shares(cells.weights - cells.outcome_sums)


def net_benefit(
    cells: Cells, thresholds: np.ndarray, dtype: DTypeLike = np.float64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the net benefits of the scores, of treating all, and of treating none.

    Thresholds are rounded to `dtype`, the type of the scores, for comparison.
    """
    rounded = thresholds.astype(dtype).astype(np.float64)
    events, others = _below(cells, rounded, "left")
    odds = thresholds / (1 - thresholds)
    everyone = events.sum(axis=0) - others.sum(axis=0) * odds
    return events[1] - others[1] * odds, everyone, np.zeros_like(odds)


def murphy(
    cells: Cells, thetas: np.ndarray, dtype: DTypeLike = np.float64
) -> np.ndarray:
    """Returns the mean elementary scores at thetas; `dtype` as in `net_benefit`."""
    events, others = _below(
        cells, thetas.astype(dtype).astype(np.float64), side="right"
    )
    return thetas * others[1] + (1 - thetas) * events[0]
