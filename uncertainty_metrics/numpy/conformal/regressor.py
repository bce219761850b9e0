"""Conformal prediction intervals of a regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.conformal import quantile

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ConformalRegressor"]

RegressorScore = Literal["absolute", "normalized", "cqr"]
# The forecasts that each score needs.
_FORECASTS = {
    "absolute": ("means",),
    "normalized": ("means", "stddevs"),
    "cqr": ("lower", "upper"),
}


def _upper_end(
    forecasts: np.ndarray, scales: np.ndarray | float, limits: np.ndarray
) -> np.ndarray:
    """Returns a number that no y with `(y - forecast) / scale <= limit` exceeds.

    These scores are rounded, so a y above `forecast + limit * scale` may have a score
    equal to the limit. The score grows with y: if the next number above that end is not
    in the interval, no larger one is. If it is, the end is computed from the next
    numbers above the limit and above its product with the scale, which no y of the
    interval reaches before rounding, or exceeds after it.
    """
    with np.errstate(over="ignore"):  # Ends may be infinite.
        ends = forecasts + limits * scales
        inside = (np.nextafter(ends, np.inf) - forecasts) / scales <= limits
        reach = np.nextafter(np.nextafter(limits, np.inf) * scales, np.inf)
        return np.where(inside, forecasts + reach, ends)


class ConformalRegressor(quantile.Conformal):
    """Prediction intervals that hold the target with probability 1 - alpha.

    An interval is {y: score of y <= q}, q the `conformal_quantile` of the scores of
    held-out examples:

      absolute:   abs(y - mean), of `means`
      normalized: abs(y - mean) / stddev, of `means` and `stddevs`
      cqr:        max(lower - y, y - upper), of quantiles `lower` and `upper`

    All intervals of "absolute" have the same width; the widths of "normalized" are
    proportional to the standard deviations; "cqr" moves the ends of predicted intervals
    by q, which may be negative: an interval whose `lower` is above its `upper` is
    empty. Ends are rounded outwards if needed: a target whose score, as computed in
    float64, is at most q always lies in the closed interval.

    The probability is that of a new example that is independent of the held-out
    examples, which are independent of each other. If these come in `clusters`, it is
    that of an example drawn at random from a new cluster (see `conformal_quantile`).

    Args:
      score: "absolute", "normalized" or "cqr".
      alpha: share of targets that intervals may miss, in (0, 1).

    Attributes:
      quantile: q; with groups, a dictionary of the q of each group. After a fit with
        weights there is no single q, because each new example has its own.
      num_clusters: the number of clusters of the fit; None if it had none.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> model = um.conformal.ConformalRegressor(alpha=0.25)
      >>> model.fit([1.0, 2.0, 4.0], [1.5, 2.0, 3.0]).quantile
      1.0
      >>> lower, upper = model.predict([5.0, 6.0])
      >>> lower.tolist(), upper.tolist()
      ([4.0, 5.0], [6.0, 7.0])

    References:
      Lei et al. (2018), Distribution-Free Predictive Inference for Regression. Romano,
      Patterson and Candes (2019), Conformalized Quantile Regression. Vovk (2012),
      Conditional Validity of Inductive Conformal Predictors. Tibshirani, Barber, Candes
      and Ramdas (2019), Conformal Prediction Under Covariate Shift.
    """

    def __init__(self, score: RegressorScore = "absolute", alpha: float = 0.1):
        super().__init__(alpha)
        _checks.one_of("score", score, get_args(RegressorScore))
        self.score = score

    def __repr__(self) -> str:
        return f"ConformalRegressor(score={self.score!r}, alpha={self.alpha})"

    @takes_frames
    def fit(
        self,
        targets: ArrayLike,
        *forecasts: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        means: ArrayLike | None = None,
        stddevs: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Finds the quantile of held-out examples, which the model was not trained on.

        Args:
          targets: observed values, real, shape [n] or [n, 1], or any other.
          forecasts: the forecasts that the score needs, `means` (and `stddevs`) or
            `lower` and `upper`, of the shape of the targets; or pass them by name.
          groups: integers or text, shape of the targets. Each group has a quantile of
            its own, so that the coverage holds in each (Mondrian).
          sample_weight: weight of each example, finite and >= 0, broadcastable to the
            targets. If new examples come from another distribution than the held-out
            examples, it is the ratio of the new density to the old one at the example,
            times any constant. Examples of weight 0 are left out.
          means: predicted means, real.
          stddevs: predicted standard deviations, finite and > 0.
          lower: predicted lower ends, real.
          upper: predicted upper ends, real; ends that cross are used as they are.
          clusters: cluster of each example, integers or strings
            (conventions.md#clusters). It must be None with `sample_weight`.

        Returns:
          The object itself.

        Raises:
          ValueError: an argument is not as described, or not what the score needs.
        """
        named = {"means": means, "stddevs": stddevs, "lower": lower, "upper": upper}
        first, last = self._read(forecasts, named)
        y = _inputs.finite("targets", targets)
        _checks.paired(_FORECASTS[self.score][0], first.shape, "targets", y.shape)
        shape = y.shape
        y, first, last = (array.reshape(-1) for array in (y, first, last))
        if self.score == "cqr":
            scores = np.maximum(first - y, y - last)
        else:
            scores = np.abs(y - first) / last
        names = None if groups is None else quantile.of_examples(groups, y.size)
        codes = quantile.codes_of(clusters, sample_weight, shape)
        if sample_weight is None:
            of_groups = quantile.ExamplesInGroups.of(names)
            return self._set(scores, of_groups, None, codes)
        weights = _inputs.sample_weights(sample_weight, shape)
        quantile.check_some_weight(weights)
        counted = weights > 0
        of_groups = quantile.ExamplesInGroups.of(
            None if names is None else names[counted]
        )
        return self._set(scores[counted], of_groups, weights[counted], None)

    def predict(
        self,
        *forecasts: ArrayLike,
        groups: ArrayLike | None = None,
        test_weight: ArrayLike | None = None,
        means: ArrayLike | None = None,
        stddevs: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the intervals of new examples.

        Args:
          forecasts: as in `fit`.
          groups: as in `fit`, if `fit` had groups. For a group that `fit` did not have,
            intervals are infinite.
          test_weight: weight of each new example, if `fit` had `sample_weight`: the
            same ratio of densities, with the same constant. Finite and >= 0,
            broadcastable to the forecasts. No interval shrinks as its weight grows.
          means: as in `fit`.
          stddevs: as in `fit`.
          lower: as in `fit`.
          upper: as in `fit`.

        Returns:
          `(lower, upper)`, float64 of the shape of the forecasts.

        Raises:
          ValueError: an argument is not as described, or there was no fit.
        """
        named = {"means": means, "stddevs": stddevs, "lower": lower, "upper": upper}
        first, last = self._read(forecasts, named)
        limits = self._limits(groups, test_weight, first.shape)
        limits = limits.reshape(first.shape if limits.size > 1 else ())
        if self.score == "cqr":
            return -_upper_end(-first, 1.0, limits), _upper_end(last, 1.0, limits)
        return -_upper_end(-first, last, limits), _upper_end(first, last, limits)

    def _read(
        self, forecasts: tuple[ArrayLike, ...], named: dict[str, ArrayLike | None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns means and standard deviations, or both ends, in one shape."""
        needed = _FORECASTS[self.score]
        given = {name: value for name, value in named.items() if value is not None}
        names = [*needed[: len(forecasts)], *given]
        if len(forecasts) > len(needed) or sorted(names) != sorted(needed):
            expected = " and ".join(f"`{name}`" for name in needed)
            got = [*(f"{len(forecasts)} by position",) * bool(forecasts), *given]
            raise ValueError(
                f'score="{self.score}" needs {expected}. Received: '
                + (", ".join(got) or "none of them")
            )
        values = dict(zip(names, [*forecasts, *given.values()], strict=True))
        first, *rest = (_inputs.finite(name, values[name]) for name in needed)
        if first.size == 0:
            raise _checks.error(
                needed[0],
                "at least one example",
                f"shape {list(first.shape)}",
                verb="hold",
            )
        if not rest:
            return first, np.ones_like(first)
        _checks.paired(needed[1], rest[0].shape, needed[0], first.shape)
        last = rest[0].reshape(first.shape)
        if self.score == "normalized" and np.any(last <= 0):
            raise _checks.error("stddevs", "> 0", _inputs.first(last <= 0, last))
        return first, last
