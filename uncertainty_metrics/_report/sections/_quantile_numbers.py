"""What the sections on forecasts by quantiles or samples share: scores, and tested
shares.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import QuantileForecasts, remembered
from uncertainty_metrics._report.data._quantile_rows import QuantileRows, quantiles_of
from uncertainty_metrics._report.data._quantile_sums import QuantileSums
from uncertainty_metrics._report.data._row_clusters import size_of_mean
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics.numpy import _wilson


@dataclasses.dataclass(frozen=True)
class TestedShare:
    """A share of rows, its interval, and the test that it is as promised.

    Attributes:
      share: of the rows.
      low: lower end of its 95% interval.
      high: upper end.
      p_value: the probability of a share this far from the promised one if the promise
        holds.
      side: -1 if the share is less than promised, 1 if more, 0 if as promised.
    """

    share: float
    low: float
    high: float
    p_value: float
    side: int


def tested_share(
    strictly: np.ndarray,
    at_most: np.ndarray,
    level: float,
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> TestedShare:
    """Tests a share of rows. A target that is equal to an end may count inside or
    outside: of counts, right forecasts cover more with it and less without it.

    Args:
      strictly: whether a target is inside, and at no end, bool [n].
      at_most: whether it is inside, or at an end, bool [n].
      level: the promised share.
      weights: [n], or None.
      clusters: number of the cluster of each row, [n], or None.
    """
    of_strictly, of_at_most = (
        (float(np.average(hits, weights=weights)), _size(hits, weights, clusters))
        for hits in (strictly, at_most)
    )
    return share_from(of_strictly, of_at_most, level)


def share_from(
    strictly: tuple[float, float], at_most: tuple[float, float], level: float
) -> TestedShare:
    """Returns what `tested_share` does, from shares and their effective sizes."""
    low, high = strictly[0], at_most[0]
    nearest = min(max(level, low), high)
    size = strictly[1] if nearest == low else at_most[1]
    z = abs(nearest - level) / math.sqrt(level * (1 - level) / size)
    ends = _wilson.interval(np.array(high), np.array(at_most[1]), INTERVAL_LEVEL)
    return TestedShare(
        high,
        float(ends[0]),
        float(ends[1]),
        math.erfc(z / math.sqrt(2)),
        int(np.sign(nearest - level)),
    )


def _size(
    hits: np.ndarray, weights: np.ndarray | None, clusters: np.ndarray | None
) -> float:
    size = float(len(hits)) if weights is None else _wilson.effective_size(weights)
    if clusters is not None:
        # The rows of a part may lack some clusters.
        clusters = np.unique(clusters, return_inverse=True)[1]
        if clusters.max() == 0:
            return 1.0
    return max(size_of_mean(hits.astype(np.float64), size, weights, clusters), 1.0)


@dataclasses.dataclass(frozen=True, eq=False)
class QuantileScores:
    """Scores of the rows; smaller is better.

    Attributes:
      crps: twice the mean over the levels of the pinball losses, or the CRPS of the
        samples, [n].
      constant: the same, of the quantiles of all targets, or of all targets, [n].
      levels: mean pinball loss at each level, [Q].
      parts: if all quantiles are ends of central intervals or the median, what spread,
        overprediction and underprediction add to `crps`, each [n]; else empty.
    """

    crps: np.ndarray
    constant: np.ndarray
    levels: np.ndarray
    parts: dict[str, np.ndarray]


@remembered
def quantile_scores(model: QuantileForecasts) -> QuantileScores:
    """Returns the scores of the rows."""
    rows = quantiles_of(model)
    levels = rows.levels.tolist()
    losses = um.pinball_loss(rows.target, rows.quantiles, levels)
    if rows.samples is not None:
        return QuantileScores(
            um.crps_score(rows.target, rows.samples),
            _crps_of_targets(rows.target, rows.weights),
            np.average(losses, axis=0, weights=rows.weights),
            {},
        )
    marginal = weighted_quantiles(rows.target, rows.weights, rows.levels)
    shape = rows.quantiles.shape
    of_marginal = um.pinball_loss(rows.target, np.broadcast_to(marginal, shape), levels)
    return QuantileScores(
        2 * losses.mean(axis=1),
        2 * of_marginal.mean(axis=1),
        np.average(losses, axis=0, weights=rows.weights),
        _parts(model),
    )


def weighted_quantiles(
    values: np.ndarray, weights: np.ndarray | None, levels: np.ndarray
) -> np.ndarray:
    """Returns the quantiles of values [n], which minimize their pinball losses, [Q]."""
    order = np.argsort(values)
    sums = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
    reached = np.searchsorted(sums, levels * sums[-1] * (1 - 1e-12))
    return values[order][np.minimum(reached, len(values) - 1)]


def _crps_of_targets(target: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Returns the CRPS of the distribution of all targets, for each of them, [n].

    It is E|Y - y| - E|Y - Y'| / 2 for independent Y and Y' of this distribution.
    """
    order = np.argsort(target)
    y = target[order] - np.median(target)  # Smaller numbers are rounded less.
    shares = np.ones(len(y)) if weights is None else weights[order]
    shares = shares / shares.sum()
    below, sums = np.cumsum(shares), np.cumsum(shares * y)
    distances = np.empty(len(y))
    distances[order] = y * (2 * below - 1) + sums[-1] - 2 * sums
    return distances - float(shares @ distances[order]) / 2


def _parts(model: QuantileForecasts) -> dict[str, np.ndarray]:
    """Returns the three parts of the weighted interval score, if it has them."""
    rows = quantiles_of(model)
    pairs, y = rows.pairs, rows.target
    middle = np.flatnonzero(np.isclose(rows.levels, 0.5, rtol=0, atol=1e-9))
    if not pairs or 2 * len(pairs) + len(middle) != len(rows.levels):
        return {}
    dispersion, over, under = um.weighted_interval_score_decomposition(
        y,
        # A median that is the target adds nothing.
        rows.quantiles[:, middle[0]] if len(middle) else y,
        rows.quantiles[:, [low for _, low, _ in pairs]],
        rows.quantiles[:, [high for _, _, high in pairs]],
        [1 - level for level, _, _ in pairs],
    )
    found = {"spread": dispersion, "overprediction": over, "underprediction": under}
    share = (len(pairs) + 0.5) / (len(pairs) + len(middle) / 2)
    return {name: share * each for name, each in found.items()}


def summed_parts(rows: QuantileRows, sums: QuantileSums) -> dict[str, float]:
    """Returns the means of the three parts over all rows.

    Of a loss L of level t and an error e = y - q, the quantile is above the target by
    L - t e on average, and below it by L + (1 - t) e.
    """

    def above(k: int) -> float:
        return loss[k] - float(rows.levels[k]) * error[k]

    def below(k: int) -> float:
        return loss[k] + (1 - float(rows.levels[k])) * error[k]

    size = len(rows.levels)
    loss, error = (
        [sums.mean((name, k)).mean for k in range(size)] for name in ("loss", "error")
    )
    spread = over = under = 0.0
    for level, i, j in rows.pairs:
        spread += (1 - level) / 2 * (error[i] - error[j])
        over, under = over + above(i), under + below(j)
    middle = np.isclose(rows.levels, 0.5, rtol=0, atol=1e-9)
    for k in np.flatnonzero(middle).tolist():
        over, under = over + above(k) / 2, under + below(k) / 2
    found = {"spread": spread, "overprediction": over, "underprediction": under}
    return {name: 2 * each / size for name, each in found.items()}
