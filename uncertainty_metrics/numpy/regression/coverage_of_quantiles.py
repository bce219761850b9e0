"""How often targets lie below predicted quantiles, and between two of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics.numpy import _inputs, _shares
from uncertainty_metrics.numpy._clusters import cluster_codes
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression import _forecasts, pit

__all__ = ["quantile_coverage"]

# Levels t and 1 - t are of one interval if their sum is 1 up to this.
_TOLERANCE = 1e-6


def central_pairs(levels: Sequence[float]) -> list[tuple[int, int]]:
    """Returns the places of the levels t and 1 - t of each central interval, the
    narrowest first.
    """
    return [
        (i, j)
        for i in reversed(range(len(levels)))
        for j in range(i + 1, len(levels))
        if abs(levels[i] + levels[j] - 1) < _TOLERANCE
    ]


class LevelCoverage(NamedTuple):
    """The coverage of a quantile or of a central interval.

    Attributes:
      kind: "interval" or "quantile".
      level: the share of the targets that should be covered.
      coverage: the share of the targets that is covered: at most the quantile, or
        within the interval.
      lower: lower end of the confidence interval of the coverage.
      upper: upper end of it.
      mean_width: mean width of the intervals, in the unit of the targets; NaN for a
        quantile.
    """

    kind: str
    level: float
    coverage: float
    lower: float
    upper: float
    mean_width: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class QuantileCoverageTable(_tables.Table):
    """The coverage of each central interval and of each quantile.

    It prints as a table, and is a sequence of `LevelCoverage`. `to_dict`, `to_frame`,
    `to_markdown` and `to_latex` return the table in these forms.

    Attributes:
      rows: a `LevelCoverage` of each interval, the narrowest first, then of each
        quantile.
      size: number of targets.
      level: level of the confidence intervals, in (0, 1).
      num_clusters: number of clusters; None without clusters.
    """

    rows: tuple[LevelCoverage, ...]
    size: int
    level: float
    num_clusters: int | None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LevelCoverage]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> LevelCoverage:
        return self.rows[index]

    def _columns(self) -> dict[str, list[Any]]:
        return {
            field: [getattr(row, field) for row in self.rows]
            for field in LevelCoverage._fields
        }

    def _shown(self) -> _tables.Shown:
        header = ("of", "level", "coverage", "from", "to", "mean width")

        def row(i: int) -> list[object]:
            found = self.rows[i]
            shares = found.coverage, found.lower, found.upper
            width = "" if found.kind == "quantile" else f"{found.mean_width:.4g}"
            return [
                *(found.kind, f"{found.level:.6g}"),
                *(f"{share:.3f}" for share in shares),
                width,
            ]

        return _tables.Shown(header, len(self), row)

    def __repr__(self) -> str:
        clusters = (
            "" if self.num_clusters is None else f" in {self.num_clusters} clusters"
        )
        return (
            f"Coverage of {self.size} targets{clusters}, with {100 * self.level:.3g}% "
            f"intervals\n{self.to_markdown()}"
        )


@takes_frames
def quantile_coverage(
    quantile_predictions: ArrayLike,
    quantiles: Sequence[float] | np.ndarray,
    targets: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> QuantileCoverageTable:
    """Coverage of every central interval and every quantile of forecasts.

      coverage of the interval of level 1 - 2t = share of the targets from the quantile
      of level t to that of level 1 - t, both included
      coverage of a quantile = share of the targets that are at most the quantile

    Each should be its level. Targets that equal quantiles, such as counts, raise it:
    right quantiles of counts cover at least their level. The confidence intervals are
    Wilson's, for independent examples; with `clusters` they are those of `sensitivity`.

    Args:
      quantile_predictions: predicted quantiles, real, shape [n, Q].
      quantiles: levels of the predicted quantiles in (0, 1), at least two, strictly
        increasing.
      targets: observed values, shape [n] or [n, 1].
      mask: True for the examples to include.
      sample_weight: weight of each example, >= 0, broadcastable to the targets.
      level: share of data sets for which an interval holds the coverage, in (0, 1).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
        Pass the series of a panel.

    Returns:
      `QuantileCoverageTable`, a table with a row for each central interval whose two
      quantiles are there, and for each quantile: level, coverage in [0, 1] with its
      confidence interval, and mean width.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> quantile_predictions = [[0.0, 1.0, 3.0]] * 4
      >>> table = um.regression.quantile_coverage(
      ...     quantile_predictions, [0.1, 0.5, 0.9], [-1.0, 0.5, 2.0, 3.0]
      ... )
      >>> [(row.kind, round(row.level, 6), row.coverage) for row in table.rows[:2]]
      [('interval', 0.8, 0.75), ('quantile', 0.1, 0.25)]

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format. Wilson (1927), Probable Inference, the Law of Succession, and
      Statistical Inference.
    """
    level = _checks.open_unit("level", level)
    levels = pit.check_quantiles(quantiles)
    name = "quantile_predictions"
    knots = _inputs.as_array(name, quantile_predictions)
    y = _inputs.as_array("targets", targets)
    pit.check_last_axis(name, knots.shape, y.shape, "quantiles")
    _checks.quantile_shape(knots.shape, y.shape, levels)
    numbers = np.arange(y.size).reshape(y.shape)
    (rows, kept), weights = _forecasts.included(
        {"rows": numbers, "targets": y}, mask, sample_weight
    )
    counted = np.zeros(y.size, bool)
    counted[rows] = True
    values = _inputs.finite("targets", kept)
    x = _inputs.finite(name, knots.reshape(-1, len(levels))[rows])
    codes = None if clusters is None else cluster_codes(clusters, y.shape, counted)

    def row(kind: str, nominal: float, hits: np.ndarray, width: float) -> LevelCoverage:
        lower, share, upper = _shares.interval(hits, weights, codes, level)
        return LevelCoverage(kind, nominal, share, lower, upper, width)

    found = []
    for i, j in central_pairs(levels):
        low, high = x[:, i], x[:, j]
        width = float(np.average(high - low, weights=weights))
        hits = (low <= values) & (values <= high)
        found.append(row("interval", levels[j] - levels[i], hits, width))
    for t, quantile in zip(levels, x.T, strict=True):
        found.append(row("quantile", t, values <= quantile, np.nan))
    number = None if codes is None else codes.number
    return QuantileCoverageTable(tuple(found), len(values), level, number)
