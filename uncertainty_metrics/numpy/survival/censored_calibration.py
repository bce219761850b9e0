"""Calibration error of forecasts of an event by some time, with censored examples.

Not every example is followed until its event or until `end_time`. Of a censored example
only a time is known before which the event did not happen. Leaving such examples out,
or counting them as without event, biases every calibration error. Here a
pseudo-outcome, computed from survival curves conditional on the forecast, replaces each
label. The pseudo-outcomes are smoothed over the forecast instead of binned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._progress import track
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.smoothed import _crossfit
from uncertainty_metrics.numpy.calibration.smoothed._crossfit import Weights
from uncertainty_metrics.numpy.survival._conditional_curves import (
    FollowUp,
    Kernel,
    SurvivalAggregation,
    SurvivalCurves,
    check_event,
    check_times,
    column,
)

__all__ = [
    "CCE",
    "CensoredCalibrationError",
    "cce",
    "cce_conf_int",
    "censored_calibration_error",
    "censored_calibration_error_conf_int",
]

# The factor c of the Gaussian exp(-c (d / bandwidth)^2) that is as wide as each kernel.
_WIDTHS: dict[Kernel, float] = {"rbf": 1.0, "cubic": 4.5}
# The default of `default_hyperparam_range`.
DEFAULT_RANGE = (0.0, 0.1)

# For c_hat the bandwidth of the least error is divided by n^(UNDERSMOOTHING / 2).
UNDERSMOOTHING = 0.08

_OF_CAUSES = (
    "with events of other causes (codes above 1) this error is not defined: take a "
    "calibration error with the labels and weights of survival_at(times, event, at, "
    "cause=1) instead"
)
_LEAST_BANDWIDTH = 1e-12  # Far below the distance of neighbours.


def _positive(name: str, value: Any) -> float:
    """Returns `value` as a float; raises ValueError unless it is finite and > 0."""
    number = _checks.number(value)
    if not 0 < number < np.inf:
        raise _checks.error(name, "a finite number > 0", repr(value))
    return number


def _follow_up(
    probs: ArrayLike, times: ArrayLike, event: ArrayLike, end_time: float
) -> FollowUp:
    """Returns the follow-up until the end time, of checked data."""
    probs = _crossfit.check_probs(probs)
    times = check_times(column("times", times, "probs", probs.shape))
    happened = check_event(column("event", event, "probs", probs.shape), _OF_CAUSES)
    if end_time > times.max():
        raise _checks.error(
            "end_time", f"at most the largest of `times`, {times.max()}", end_time
        )
    return FollowUp.until(end_time, probs, times, happened)


@dataclasses.dataclass(frozen=True)
class CensoredCalibrationError:
    """Calibration error of forecasts of a censored event, with fixed settings.

    See `censored_calibration_error` for the definition.

    The examples must be independent for its interval, which takes no `clusters`.

    Args:
      end_time: end of the period that the forecasts are about, > 0, and at most the
        largest of `times`. Later events and censorings do not count.
      folds: number of folds, >= 2.
      weight_trunc: least denominator of the weights, in (0, 1].
      weights: w(p): "constant" for 1, "relative" for 1 / min(p, 1 - p)^2, "chi" for
        1 / (p (1 - p)).
      survival_aggregation: "Kaplan-Meier": S is the product of 1 - dN / R over times,
        with the kernel-weighted numbers dN of events and R of examples at risk;
        "Nelson-Aalen": S is the product of exp(-dN / R). G is defined likewise, and is
        at least 0.05.
      kernel_fn: kernel at distance d: "rbf": exp(-(d / b)^2); "cubic":
        (1 - (d / b)^2)^3 up to b, for S and G; c_hat has a Gaussian of the same width.
      orthogonal: whether to take the mean of w (p - c_hat) (p + c_hat - 2 Y) + w v
        instead, with v the variance of c_hat: errors of c_hat then enter only by the
        square of their expectation.
      num_repeats: number of random assignments to folds; the median is taken.
      normalize: whether to divide by the mean of w.
      hyperparam_attempts: number of bandwidths tried.
      default_hyperparam_range: two shares (a, b) in [0, 1]: by default the range of the
        forecasts is divided by numbers from a n + n^0.4 to b n. None: (0, 0.1).
      seed: seed of the assignment to folds, all that `np.random.default_rng` takes.
        None gives new folds in each call.
      progress: whether to show a progress bar on stderr (needs tqdm).
      bootstrap_size: deprecated and ignored: standard errors have a closed form.

    Returns:
      The root of the estimate, >= 0 (a negative estimate counts as 0); smaller is
      better and 0 is calibrated. Time O(n log n) for each bandwidth tried, and for the
      curves O(n) for each bandwidth in the range of the forecasts; memory O(n).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> probs = rng.uniform(size=500)
      >>> times = rng.exponential(-1 / np.log1p(-(probs**2)))
      >>> censored = rng.uniform(0, 3, size=500)
      >>> metric = um.CensoredCalibrationError(end_time=1.0, seed=0)
      >>> lower, _, upper = metric.rms_calibration_error_conf_int(
      ...     probs, np.minimum(times, censored), times <= censored
      ... )
      >>> lower < (1 / 30) ** 0.5 < upper
      True

    References:
      Yadlowsky, Basu and Tian (2019), A Calibration Metric for Risk Scores with
      Survival Data. Beran (1981), Nonparametric Regression with Randomly Censored
      Survival Data. Robins and Rotnitzky (1992), Recovery of Information and Adjustment
      for Dependent Censoring Using Surrogate Markers.
    """

    end_time: float
    folds: int = 5
    weight_trunc: float = 0.05
    weights: Weights = "constant"
    survival_aggregation: SurvivalAggregation = "Kaplan-Meier"
    kernel_fn: Kernel = "rbf"
    orthogonal: bool = False
    num_repeats: int = 4
    normalize: bool = False
    hyperparam_attempts: int = 20
    default_hyperparam_range: Sequence[float] | None = None
    seed: Any = None
    progress: bool = False
    bootstrap_size: dataclasses.InitVar[int | None] = dataclasses.field(
        default=None, kw_only=True
    )

    def __post_init__(self, bootstrap_size: int | None) -> None:
        _crossfit.ignore_bootstrap_size(bootstrap_size)
        _positive("end_time", self.end_time)
        _checks.one_of(
            "survival_aggregation",
            self.survival_aggregation,
            get_args(SurvivalAggregation),
        )
        _checks.one_of("kernel_fn", self.kernel_fn, get_args(Kernel))
        _checks.positive_integer("num_repeats", self.num_repeats)
        _crossfit.check_settings(self)

    @takes_frames
    def rms_calibration_error(
        self,
        probs: ArrayLike,
        times: ArrayLike,
        event: ArrayLike,
        hyperparam_range: ArrayLike | None = None,
    ) -> float:
        """Returns the estimate; see `censored_calibration_error`."""
        return self._median_fit(probs, times, event, hyperparam_range).root

    @takes_frames
    def rms_calibration_error_conf_int(
        self,
        probs: ArrayLike,
        times: ArrayLike,
        event: ArrayLike,
        hyperparam_range: ArrayLike | None = None,
        alpha: float = 0.05,
    ) -> ConfidenceInterval:
        """Returns the interval; see `censored_calibration_error_conf_int`."""
        alpha = _checks.open_unit("alpha", alpha)
        fit = self._median_fit(probs, times, event, hyperparam_range)
        return fit.interval(alpha)

    def _bandwidths(
        self, probs: np.ndarray, hyperparam_range: ArrayLike | None
    ) -> np.ndarray:
        """Returns the bandwidths to try, from wide to narrow by default.

        They are at most the range divided by n^0.4. Cross-validation would choose
        larger ones, to smooth away deviations that look like noise. But the bias of the
        estimate, which grows with the square of the bandwidth, must be below its error,
        which is of order n^-0.5.
        """
        if hyperparam_range is not None:
            values = _crossfit.check_candidates(hyperparam_range)
            return np.maximum(values, _LEAST_BANDWIDTH)
        ends = self.default_hyperparam_range
        low, high = DEFAULT_RANGE if ends is None else ends
        fewest = low * len(probs) + len(probs) ** 0.4
        most = max(fewest, high * len(probs))
        parts = np.geomspace(fewest, most, self.hyperparam_attempts)
        return _crossfit.positive_range(probs) / parts

    def _fit(
        self, data: FollowUp, bandwidths: np.ndarray, rng: np.random.Generator
    ) -> _crossfit.Fit:
        """Returns the squared error, by one assignment to folds."""
        probs, factor = data.probs, _WIDTHS[self.kernel_fn]
        w = _crossfit.weight_function(probs, self.weights, self.weight_trunc)
        fold = _crossfit.rank_folds(probs, self.folds, rng)
        smoother = _crossfit.KernelSmoother(probs, fold, self.folds)
        curves = SurvivalCurves(data, self.kernel_fn, self.survival_aggregation)

        # The bandwidth is chosen with curves that do not need one. All that follows
        # works with Y - p and c_hat - p.
        residuals = curves.pseudo_outcomes(fold, np.inf) - probs
        smoothed = smoother.smooth_each(residuals, factor / bandwidths**2)
        bandwidth = _crossfit.least_error(bandwidths, smoothed, residuals, w)
        residuals = curves.pseudo_outcomes(fold, bandwidth) - probs
        sigma = factor / bandwidth**2 * len(probs) ** UNDERSMOOTHING
        means, variances = smoother.smooth_with_variances(residuals, sigma)
        gaps = np.clip(means, -probs, 1 - probs)

        influence = w * gaps * (2 * residuals - gaps)
        values = w * gaps * residuals
        if self.orthogonal:
            # The mean of a square exceeds the square of the mean by the variance.
            clipping = np.divide(gaps, means, out=np.ones_like(gaps), where=means != 0)
            values = influence + w * variances * clipping**2
        unit = np.mean(w) if self.normalize else 1.0
        estimate = float(np.mean(values) / unit)
        error = _crossfit.standard_error(estimate, influence, w, self.normalize)
        return _crossfit.Fit(estimate, error, float(np.mean(w * gaps**2) / unit))

    def _median_fit(
        self,
        probs: ArrayLike,
        times: ArrayLike,
        event: ArrayLike,
        hyperparam_range: ArrayLike | None,
    ) -> _crossfit.Fit:
        """Returns the medians over all assignments to folds."""
        data = _follow_up(probs, times, event, float(self.end_time))
        bandwidths = self._bandwidths(data.probs, hyperparam_range)
        rng = _inputs.generator(self.seed)
        num, name = self.num_repeats, "censored calibration error"
        repeats = track(range(num), num, self.progress, name)
        fits = [self._fit(data, bandwidths, rng) for _ in repeats]
        return _crossfit.Fit(*np.median(fits, axis=0).tolist())


@takes_frames
def censored_calibration_error(
    probs: ArrayLike,
    times: ArrayLike,
    event: ArrayLike,
    end_time: float,
    hyperparam_range: ArrayLike | None = None,
    *,
    folds: int = 5,
    weights: Weights = "constant",
    weight_trunc: float = 0.05,
    survival_aggregation: SurvivalAggregation = "Kaplan-Meier",
    kernel_fn: Kernel = "rbf",
    orthogonal: bool = False,
    num_repeats: int = 4,
    normalize: bool = False,
    hyperparam_attempts: int = 20,
    default_hyperparam_range: Sequence[float] | None = None,
    seed: Any = None,
    progress: bool = False,
    bootstrap_size: int | None = None,
) -> float:
    """Root mean squared calibration error of forecasts of a censored event.

      CCE^2 = E w(p) (p - c(p))^2,  c(p) = P(event by end_time | forecast p)

    Each example has a pseudo-outcome Y of mean c(p), computed from estimates of S and
    G, the probabilities given p that the event, or the censoring, is later than a time.
    The mean is right if either S or G is right; censoring must be independent of the
    event given p. S, G and smooth frequencies c_hat come from the examples of the other
    folds; c_hat(p) - p is a kernel mean of Y - p, clipped so that c_hat is in [0, 1]:

      CCE^2 = mean of w (p - c_hat) (p - Y)

    Without censoring Y is 1 if the event happened by end_time and 0 otherwise.

    Args:
      probs: forecasts of P(event by end_time), in [0, 1], shape [n].
      times: time of the event or of the censoring, whichever came first; finite and
        >= 0, shape [n].
      event: 1 for an event at `times`, 0 for a censoring, shape [n]. At equal times
        events come before censorings.
      end_time: end of the period that the forecasts are about, > 0, and at most the
        largest of `times`. Later events and censorings do not count.
      hyperparam_range: bandwidths b to choose from, in units of the forecasts. The one
        with the least cross-validated squared error, weighted by w, is used for S and
        G, and is multiplied by n^-0.04 for c_hat. None: the range of the forecasts
        divided by `hyperparam_attempts` numbers from n^0.4 to n / 10, in equal ratios.
      folds: number of folds, >= 2.
      weights: w(p): "constant" for 1, "relative" for 1 / min(p, 1 - p)^2, "chi" for
        1 / (p (1 - p)).
      weight_trunc: least denominator of the weights, in (0, 1].
      survival_aggregation: "Kaplan-Meier": S is the product of 1 - dN / R over times,
        with the kernel-weighted numbers dN of events and R of examples at risk;
        "Nelson-Aalen": S is the product of exp(-dN / R). G is defined likewise, and is
        at least 0.05.
      kernel_fn: kernel at distance d: "rbf": exp(-(d / b)^2); "cubic":
        (1 - (d / b)^2)^3 up to b, for S and G; c_hat has a Gaussian of the same width.
      orthogonal: whether to take the mean of w (p - c_hat) (p + c_hat - 2 Y) + w v
        instead, with v the variance of c_hat: errors of c_hat then enter only by the
        square of their expectation.
      num_repeats: number of random assignments to folds; the median is taken.
      normalize: whether to divide by the mean of w.
      hyperparam_attempts: number of bandwidths tried.
      default_hyperparam_range: two shares (a, b) in [0, 1]: by default the range of the
        forecasts is divided by numbers from a n + n^0.4 to b n. None: (0, 0.1).
      seed: seed of the assignment to folds, all that `np.random.default_rng` takes.
        None gives new folds in each call.
      progress: whether to show a progress bar on stderr (needs tqdm).
      bootstrap_size: deprecated and ignored: standard errors have a closed form.

    Returns:
      The root of the estimate, >= 0 (a negative estimate counts as 0); smaller is
      better and 0 is calibrated. Time O(n log n) for each bandwidth tried, and for the
      curves O(n) for each bandwidth in the range of the forecasts; memory O(n).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> probs = rng.uniform(size=1000)
      >>> times = rng.exponential(-1 / np.log1p(-(probs**2)))  # P(times <= 1) = p^2
      >>> censored = rng.uniform(0, 3, size=1000)
      >>> event = times <= censored
      >>> times = np.minimum(times, censored)
      >>> error = um.censored_calibration_error(
      ...     probs, times, event, end_time=1.0, seed=0
      ... )
      >>> abs(error - (1 / 30) ** 0.5) < 0.03
      True

    References:
      Yadlowsky, Basu and Tian (2019), A Calibration Metric for Risk Scores with
      Survival Data. Beran (1981), Nonparametric Regression with Randomly Censored
      Survival Data. Robins and Rotnitzky (1992), Recovery of Information and Adjustment
      for Dependent Censoring Using Surrogate Markers.
    """
    _crossfit.ignore_bootstrap_size(bootstrap_size)
    metric = CensoredCalibrationError(
        end_time=end_time,
        folds=folds,
        weight_trunc=weight_trunc,
        weights=weights,
        survival_aggregation=survival_aggregation,
        kernel_fn=kernel_fn,
        orthogonal=orthogonal,
        num_repeats=num_repeats,
        normalize=normalize,
        hyperparam_attempts=hyperparam_attempts,
        default_hyperparam_range=default_hyperparam_range,
        seed=seed,
        progress=progress,
    )
    return metric.rms_calibration_error(probs, times, event, hyperparam_range)


@takes_frames
def censored_calibration_error_conf_int(
    probs: ArrayLike,
    times: ArrayLike,
    event: ArrayLike,
    end_time: float,
    hyperparam_range: ArrayLike | None = None,
    *,
    alpha: float = 0.05,
    folds: int = 5,
    weights: Weights = "constant",
    weight_trunc: float = 0.05,
    survival_aggregation: SurvivalAggregation = "Kaplan-Meier",
    kernel_fn: Kernel = "rbf",
    orthogonal: bool = False,
    num_repeats: int = 4,
    normalize: bool = False,
    hyperparam_attempts: int = 20,
    default_hyperparam_range: Sequence[float] | None = None,
    seed: Any = None,
    progress: bool = False,
    bootstrap_size: int | None = None,
) -> ConfidenceInterval:
    """Confidence interval of `censored_calibration_error`.

    The standard error of the squared error is the standard error of the mean of its
    influence values w (p - c_hat) (p + c_hat - 2 Y). The interval of its root follows
    by the delta method, kept regular near 0. In simulations with 15 to 54% of the
    examples censored (`studies/censored_coverage.py`), 95% intervals of 500 to 5000
    examples held errors of 0.09 to 0.19 in 93 to 98% of the data sets. For errors near
    0 they are too wide: they held errors of 0.03 and of 0 in 98 to 100%.

    The examples must be independent. There are no `clusters`, because the folds of the
    estimate and its standard error are those of single examples.

    Args:
      probs: forecasts of P(event by end_time), in [0, 1], shape [n].
      times: time of the event or of the censoring, whichever came first; finite and
        >= 0, shape [n].
      event: 1 for an event at `times`, 0 for a censoring, shape [n]. At equal times
        events come before censorings.
      end_time: end of the period that the forecasts are about, > 0, and at most the
        largest of `times`. Later events and censorings do not count.
      hyperparam_range: bandwidths b to choose from, in units of the forecasts. The one
        with the least cross-validated squared error, weighted by w, is used for S and
        G, and is multiplied by n^-0.04 for c_hat. None: the range of the forecasts
        divided by `hyperparam_attempts` numbers from n^0.4 to n / 10, in equal ratios.
      alpha: 1 minus the coverage, in (0, 1).
      folds: number of folds, >= 2.
      weights: w(p): "constant" for 1, "relative" for 1 / min(p, 1 - p)^2, "chi" for
        1 / (p (1 - p)).
      weight_trunc: least denominator of the weights, in (0, 1].
      survival_aggregation: "Kaplan-Meier": S is the product of 1 - dN / R over times,
        with the kernel-weighted numbers dN of events and R of examples at risk;
        "Nelson-Aalen": S is the product of exp(-dN / R). G is defined likewise, and is
        at least 0.05.
      kernel_fn: kernel at distance d: "rbf": exp(-(d / b)^2); "cubic":
        (1 - (d / b)^2)^3 up to b, for S and G; c_hat has a Gaussian of the same width.
      orthogonal: whether to take the mean of w (p - c_hat) (p + c_hat - 2 Y) + w v
        instead, with v the variance of c_hat: errors of c_hat then enter only by the
        square of their expectation.
      num_repeats: number of random assignments to folds; the median is taken.
      normalize: whether to divide by the mean of w.
      hyperparam_attempts: number of bandwidths tried.
      default_hyperparam_range: two shares (a, b) in [0, 1]: by default the range of the
        forecasts is divided by numbers from a n + n^0.4 to b n. None: (0, 0.1).
      seed: seed of the assignment to folds, all that `np.random.default_rng` takes.
        None gives new folds in each call.
      progress: whether to show a progress bar on stderr (needs tqdm).
      bootstrap_size: deprecated and ignored: standard errors have a closed form.

    Returns:
      A named tuple (lower, estimate, upper) of roots, each >= 0; smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> probs = rng.uniform(size=1000)
      >>> times = rng.exponential(-1 / np.log1p(-(probs**2)))  # P(times <= 1) = p^2
      >>> censored = rng.uniform(0, 3, size=1000)
      >>> event = times <= censored
      >>> times = np.minimum(times, censored)
      >>> lower, estimate, upper = um.censored_calibration_error_conf_int(
      ...     probs, times, event, end_time=1.0, seed=0
      ... )
      >>> lower < (1 / 30) ** 0.5 < upper
      True

    References:
      Yadlowsky, Basu and Tian (2019), A Calibration Metric for Risk Scores with
      Survival Data. Beran (1981), Nonparametric Regression with Randomly Censored
      Survival Data. Robins and Rotnitzky (1992), Recovery of Information and Adjustment
      for Dependent Censoring Using Surrogate Markers.
    """
    _crossfit.ignore_bootstrap_size(bootstrap_size)
    metric = CensoredCalibrationError(
        end_time=end_time,
        folds=folds,
        weight_trunc=weight_trunc,
        weights=weights,
        survival_aggregation=survival_aggregation,
        kernel_fn=kernel_fn,
        orthogonal=orthogonal,
        num_repeats=num_repeats,
        normalize=normalize,
        hyperparam_attempts=hyperparam_attempts,
        default_hyperparam_range=default_hyperparam_range,
        seed=seed,
        progress=progress,
    )
    return metric.rms_calibration_error_conf_int(
        probs, times, event, hyperparam_range, alpha
    )


cce = censored_calibration_error
cce_conf_int = censored_calibration_error_conf_int
CCE = CensoredCalibrationError
