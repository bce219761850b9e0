"""Recalibration of any forecasts of numbers, by the PIT values of held-out targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression import _forecasts, pit_calibration
from uncertainty_metrics.numpy.regression.pit import probability_integral_transform

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PITCalibration"]

# The map is known at shares of 1 / (n + 1); with one example there is only the middle.
_LEAST_WEIGHT = 2.0


class PITCalibration:
    """Recalibration of forecasts by an increasing map of their CDF values.

      calibrated CDF(y) = R(CDF(y)),  R(PIT) = sum of w_i [PIT_i <= PIT] / (n + 1)

    at the n PIT values of held-out targets (n is the sum of the weights w), 0 at 0, 1
    at 1, and linear between. R is the isotonic regression of the empirical distribution
    on PIT values, which is this distribution itself. With n + 1 instead of n, the
    calibrated quantile of a level k / (n + 1) is above a new target in exactly this
    share of cases, in the mean over held-out data, if PIT values are exchangeable and
    without ties.

    PIT values of predicted quantiles and of samples are known as intervals. Their mass
    is spread evenly, as in `pit_histogram`, and one more example over all of [0, 1]:

      R(PIT) = (PIT + sum of w_i share of interval i up to PIT) / (n + 1)

    at the ends of the intervals. So R is straight between the levels of quantiles.

    The map does not know which forecasts are too narrow: all get the same one. It is
    made of n numbers, so with fewer than some hundred examples prefer
    `regression.TemperatureScaling`. Between 0 and the least PIT value, and between the
    largest and 1, there are no data: levels below 1 / (n + 1) and above n / (n + 1) are
    only interpolated.

    Attributes:
      knots: PIT values, ascending, and R there, float64 [2, J].
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> targets, means, stddevs = [-2.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
      >>> map = um.regression.PITCalibration().fit(targets, means, stddevs)
      >>> map.transform([0.5, 1.0]).tolist()
      [0.5, 1.0]
      >>> map.quantile([0.25, 0.5, 0.75], means=10.0, stddevs=1.0).round(6).tolist()
      [8.0, 10.0, 12.0]

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """

    def __init__(self) -> None:
        self._knots: np.ndarray | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether there was a fit."""
        return self._knots is not None

    @property
    def knots(self) -> np.ndarray:
        """PIT values and the map there, [2, J]."""
        return self._require_fitted().copy()

    @takes_frames
    def fit(
        self,
        targets: ArrayLike | None = None,
        means: ArrayLike | None = None,
        stddevs: ArrayLike | None = None,
        *,
        pit: ArrayLike | PITInterval | None = None,
        mask: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fits the map to held-out examples; a fit that fails changes nothing.

        Args:
          targets: observed values, shape [n] or [n, 1], of examples on which the model
            was not trained.
          means: predicted means of Normal forecasts.
          stddevs: their predicted standard deviations, > 0.
          pit: instead of the three, PIT values in [0, 1] of any forecasts, [n] or
            [n, 1]; or intervals, as `quantile_pit` and `sample_pit` return them, a
            `PITInterval` or a tuple `(lower, upper)` of two arrays.
          mask: True for the examples to include.
          sample_weight: weight of each example, >= 0, broadcastable to the targets. It
            counts as so many examples.

        Returns:
          The object itself.

        Raises:
          ValueError: an argument is not as described, or the weights have a sum below
            2.
        """
        if pit is None:
            if targets is None or means is None or stddevs is None:
                normal = {"targets": targets, "means": means, "stddevs": stddevs}
                first = next(name for name, value in normal.items() if value is None)
                raise _checks.error(first, "given, or `pit` be", None)
            pit = probability_integral_transform(
                means, targets=targets, stddevs=stddevs
            )
        elif not (targets is None and means is None and stddevs is None):
            expected = "given without `targets`, `means` and `stddevs`"
            raise _checks.error("pit", expected, "both")
        ends, weights = pit_calibration.pit_values(pit, mask, sample_weight)
        values = [each.astype(np.float64) for each in ends]
        if len(values) == 1:
            distinct, below = shares_below(values[0], weights)
        else:
            distinct, below = _spread_below(values, weights)
        inside = distinct < 1
        distinct, below = distinct[inside], below[inside]
        start = [] if len(distinct) and distinct[0] == 0 else [0.0]
        self._knots = np.array([[*start, *distinct, 1.0], [*start, *below, 1.0]])
        return self

    def transform(self, levels: ArrayLike) -> np.ndarray:
        """Returns calibrated CDF values: R at CDF values of forecasts.

        Args:
          levels: CDF values in [0, 1], of any shape: PIT values, or the levels of
            quantiles, whose calibrated levels are returned.

        Returns:
          Numbers in [0, 1], float64, of the same shape.

        Raises:
          ValueError: there was no fit, or a level is not in [0, 1].
        """
        return np.interp(_levels(levels), *self._require_fitted())

    @takes_frames
    def quantile(
        self,
        levels: ArrayLike,
        means: ArrayLike | None = None,
        stddevs: ArrayLike | None = None,
    ) -> np.ndarray:
        """Returns quantiles of the calibrated forecasts.

        Args:
          levels: levels of the quantiles in [0, 1], a number or [L].
          means: predicted means of Normal forecasts, of any shape.
          stddevs: their predicted standard deviations, > 0.

        Returns:
          Without `means`, the levels at which to read the quantiles of the forecasts
          themselves, of the shape of the levels. Else the quantiles, of the shape of
          the means, with a last axis [L] if `levels` has one. They are infinite at a
          level that the map takes from 0 or 1.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        values, below = self._require_fitted()
        read_at = np.interp(_levels(levels), below, values)
        if means is None and stddevs is None:
            return read_at
        for name, value in (("means", means), ("stddevs", stddevs)):
            if value is None:
                raise _checks.error(name, "given", None)
        from scipy import special

        mean = _inputs.finite("means", _inputs.as_array("means", means))
        spread = _inputs.as_array("stddevs", stddevs)
        _checks.paired("stddevs", spread.shape, "means", mean.shape)
        spread = np.sqrt(_forecasts.variances("stddevs", spread)).reshape(mean.shape)
        last = (..., *(None,) * np.ndim(read_at))
        return mean[last] + spread[last] * special.ndtri(read_at)

    def get_config(self) -> dict[str, Any]:
        """Returns the argument of `from_config`: a dict with the knots as lists, or
        None before the fit.
        """
        return {"knots": None if self._knots is None else self._knots.tolist()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns the map of a configuration.

        Args:
          config: what `get_config` returned, also after a passage through JSON.

        Raises:
          ValueError: the knots do not ascend from 0 to 1.
        """
        made = cls()
        if config["knots"] is not None:
            knots = np.array(config["knots"], np.float64)
            good = knots.ndim == 2 and len(knots) == 2 and knots.shape[1] >= 2
            if not (
                good
                and np.all(knots[:, -1] == 1)
                and knots[0, 0] == 0 <= knots[1, 0]
                and np.all(np.diff(knots) > 0)
            ):
                raise _checks.error(
                    "config",
                    "knots [2, J] that ascend from 0 to 1",
                    "others",
                    verb="hold",
                )
            made._knots = knots
        return made

    def _require_fitted(self) -> np.ndarray:
        if self._knots is None:
            raise _checks.plain_error(
                "There is no map yet: call `fit` first.", "PITCalibration, not fitted"
            )
        return self._knots


def shares_below(
    values: np.ndarray, weights: np.ndarray | None, name: str = "pit"
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct values, ascending, and the share of the weight at or below
    each, of the sum of the weights plus 1.

    Args:
      values: [N].
      weights: [N], or None for ones.
      name: of the argument that holds the values.

    Raises:
      ValueError: the weights have a sum below 2.
    """
    masses = np.ones(len(values)) if weights is None else weights
    total = _total(masses, name if weights is None else "sample_weight")
    distinct, places = np.unique(values, return_inverse=True)
    below = np.cumsum(np.bincount(places.reshape(-1), masses)) / (total + 1)
    return distinct, below


def _spread_below(
    ends: list[np.ndarray], weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct ends of intervals above 0, ascending, and R there.

    Args:
      ends: lower and upper ends, [N] each.
      weights: [N], or None for ones.

    Raises:
      ValueError: the weights have a sum below 2.
    """
    masses = np.ones(len(ends[0])) if weights is None else weights
    total = _total(masses, "pit" if weights is None else "sample_weight")
    edges = np.unique([0.0, 1.0, *(end for each in ends for end in np.unique(each))])
    cells = [np.searchsorted(edges[1:-1], each) for each in ends]
    found = pit_calibration.spread_masses(ends, cells, edges, masses)
    return edges[1:], (edges[1:] + np.cumsum(found)) / (total + 1)


def _total(masses: np.ndarray, name: str) -> float:
    total = float(masses.sum())
    if total < _LEAST_WEIGHT:
        expected = "at least two examples, or weights of sum 2"
        raise _checks.error(name, expected, f"a sum of {total:g}", verb="hold")
    return total


def _levels(levels: ArrayLike) -> np.ndarray:
    return _inputs.check_probabilities(
        _inputs.native_floating(_inputs.as_array("levels", levels)), "levels"
    ).astype(np.float64)
