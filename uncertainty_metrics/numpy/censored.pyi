# As written by scripts/write_stubs.py.
from typing import overload
import dataclasses
from collections.abc import Sequence
from typing import Any, get_args
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics._progress import track
from uncertainty_metrics._statistics import ConfidenceInterval
from uncertainty_metrics.numpy import _arguments, _crossfit, _inputs
from uncertainty_metrics.numpy._crossfit import Weights
from uncertainty_metrics.numpy._survival_curves import (
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
_WIDTHS: dict[Kernel, float] = {"rbf": 1.0, "cubic": 4.5}
DEFAULT_RANGE = (0.0, 0.1)
UNDERSMOOTHING = 0.08
_LEAST_BANDWIDTH = 1e-12
@dataclasses.dataclass(frozen=True)
class CensoredCalibrationError:
    """Calibration error of forecasts of a censored event, with settings to keep.

    See `censored_calibration_error` for the definition and the arguments.

    Args:
      end_time: the time that the forecasts are about, > 0, and at most the largest of
        `times`: nobody is followed for longer. Nothing later counts.
      folds: number of folds, >= 2.
      weight_trunc: least denominator of the weights, in (0, 1].
      weights: w(p): "constant" for 1, "relative" for 1 / min(p, 1 - p)^2, "chi" for
        1 / (p (1 - p)).
      survival_aggregation: "Kaplan-Meier": S is the product of 1 - dN / R over times,
        with the kernel-weighted numbers dN of events and R of examples at risk;
        "Nelson-Aalen": that of exp(-dN / R). Likewise G, which is at least 0.05.
      kernel_fn: kernel at distance d: "rbf": exp(-(d / b)^2); "cubic":
        (1 - (d / b)^2)^3 up to b, for S and G; c_hat has a Gaussian as wide as it.
      orthogonal: whether to take the mean of w (p - c_hat) (p + c_hat - 2 Y) + w v
        instead, with v the variance of c_hat: errors of c_hat then enter by the square
        of their expectation only.
      num_repeats: number of random assignments to folds; the median is taken.
      normalize: whether to divide by the mean of w.
      hyperparam_attempts: number of bandwidths tried.
      default_hyperparam_range: two shares of n, in [0, 1]: the range is divided by
        numbers from `first n + n^0.4` to `second n`. None: (0, 0.1).
      seed: of the folds, all that `np.random.default_rng` takes.
      progress: whether to show a progress bar on stderr (needs tqdm).
      bootstrap_size: deprecated and ignored: standard errors have a closed form.

    Returns:
      The root of the estimate, >= 0 (a negative estimate counts as 0); smaller is
      better and 0 is calibrated. O(n log n) time for each bandwidth tried, and O(n)
      times the bandwidths in the range of the forecasts for the curves; O(n) memory.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> probs = rng.uniform(size=500)
      >>> times = rng.exponential(-1 / np.log1p(-(probs**2)))
      >>> censored = rng.uniform(0, 3, size=500)
      >>> metric = um.CensoredCalibrationError(end_time=1.0)
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
    seed: int | None = 0
    progress: bool = False
    bootstrap_size: dataclasses.InitVar[int | None] = dataclasses.field(
        default=None, kw_only=True
    )

    def __post_init__(self, bootstrap_size: int | None) -> None:
        ...

    def rms_calibration_error(
        self,
        probs: ArrayLike,
        times: ArrayLike,
        event: ArrayLike,
        hyperparam_range: ArrayLike | None = None,
    ) -> float:
        """Returns the estimate; see `censored_calibration_error`."""
        ...

    def rms_calibration_error_conf_int(
        self,
        probs: ArrayLike,
        times: ArrayLike,
        event: ArrayLike,
        hyperparam_range: ArrayLike | None = None,
        alpha: float = 0.05,
    ) -> ConfidenceInterval:
        """Returns the interval; see `censored_calibration_error_conf_int`."""
        ...

    def _bandwidths(
        self, probs: np.ndarray, hyperparam_range: ArrayLike | None
    ) -> np.ndarray:
        """Returns the bandwidths to try, from wide to narrow by default.

        They are at most the range divided by n^0.4: cross-validation smooths away what
        it cannot tell from noise, but the bias of the estimate, which grows with the
        square of the bandwidth, must be below its error, which is of order n^-0.5.
        """
        ...

    def _fit(
        self, data: FollowUp, bandwidths: np.ndarray, rng: np.random.Generator
    ) -> _crossfit.Fit:
        """Returns the squared error by one assignment to folds."""
        ...

    def _median_fit(
        self,
        probs: ArrayLike,
        times: ArrayLike,
        event: ArrayLike,
        hyperparam_range: ArrayLike | None,
    ) -> _crossfit.Fit:
        """Returns the medians over all assignments to folds."""
        ...
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
    seed: Any = 0,
    progress: bool = False,
    bootstrap_size: int | None = None,
) -> float:
    """Root mean squared calibration error of forecasts of a censored event.

      CCE^2 = E w(p) (p - c(p))^2,  c(p) = P(event by end_time | forecast p)

    Each example has a pseudo-outcome Y of mean c(p), made of estimates of S and G, the
    probabilities given p that the event, or the censoring, is later than a time. The
    mean is right if one of them is; censoring must be independent of the event given
    p. With curves and smooth frequencies c_hat from the examples of other folds, where
    c_hat(p) - p is a kernel mean of Y - p, cut so that c_hat is in [0, 1]:

      CCE^2 = mean of w (p - c_hat) (p - Y)

    Without censoring Y is 1 if the event happened by end_time and 0 otherwise.

    Args:
      probs: forecasts of P(event by end_time), in [0, 1], shape [n].
      times: of the event or the censoring, whichever came first; finite and >= 0,
        shape [n].
      event: 1 for an event at `times`, 0 for a censoring then, shape [n]. At equal
        times events come before censorings.
      end_time: the time that the forecasts are about, > 0, and at most the largest of
        `times`: nobody is followed for longer. Nothing later counts.
      hyperparam_range: bandwidths b to choose from, in units of the forecasts. The one
        of the least cross-validated squared error, weighted by w, is used for S and G,
        and times n^-0.04 for c_hat. None: range of the forecasts divided by
        `hyperparam_attempts` numbers from n^0.4 to n / 10, in equal ratios.
      folds: number of folds, >= 2.
      weights: w(p): "constant" for 1, "relative" for 1 / min(p, 1 - p)^2, "chi" for
        1 / (p (1 - p)).
      weight_trunc: least denominator of the weights, in (0, 1].
      survival_aggregation: "Kaplan-Meier": S is the product of 1 - dN / R over times,
        with the kernel-weighted numbers dN of events and R of examples at risk;
        "Nelson-Aalen": that of exp(-dN / R). Likewise G, which is at least 0.05.
      kernel_fn: kernel at distance d: "rbf": exp(-(d / b)^2); "cubic":
        (1 - (d / b)^2)^3 up to b, for S and G; c_hat has a Gaussian as wide as it.
      orthogonal: whether to take the mean of w (p - c_hat) (p + c_hat - 2 Y) + w v
        instead, with v the variance of c_hat: errors of c_hat then enter by the square
        of their expectation only.
      num_repeats: number of random assignments to folds; the median is taken.
      normalize: whether to divide by the mean of w.
      hyperparam_attempts: number of bandwidths tried.
      default_hyperparam_range: two shares of n, in [0, 1]: the range is divided by
        numbers from `first n + n^0.4` to `second n`. None: (0, 0.1).
      seed: of the folds, all that `np.random.default_rng` takes.
      progress: whether to show a progress bar on stderr (needs tqdm).
      bootstrap_size: deprecated and ignored: standard errors have a closed form.

    Returns:
      The root of the estimate, >= 0 (a negative estimate counts as 0); smaller is
      better and 0 is calibrated. O(n log n) time for each bandwidth tried, and O(n)
      times the bandwidths in the range of the forecasts for the curves; O(n) memory.

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
      >>> error = um.censored_calibration_error(probs, times, event, end_time=1.0)
      >>> abs(error - (1 / 30) ** 0.5) < 0.03
      True

    References:
      Yadlowsky, Basu and Tian (2019), A Calibration Metric for Risk Scores with
      Survival Data. Beran (1981), Nonparametric Regression with Randomly Censored
      Survival Data. Robins and Rotnitzky (1992), Recovery of Information and Adjustment
      for Dependent Censoring Using Surrogate Markers.
    """
    ...
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
    seed: Any = 0,
    progress: bool = False,
    bootstrap_size: int | None = None,
) -> ConfidenceInterval:
    """Confidence interval of `censored_calibration_error`.

    The squared error has the standard error of the mean of its influence values
    w (p - c_hat) (p + c_hat - 2 Y), and the interval is that of its root by the delta
    method, kept regular near 0. In simulations with 15 to 54% of the examples censored
    (`benchmarks/censored_coverage.py`), 95% intervals of 500 to 5000 examples held
    errors of 0.09 to 0.19 in 93 to 98% of the data sets. Where the error is near 0 they
    are wider than they need to be: they held errors of 0.03 and of 0 in 98 to 100%.

    Args:
      probs: forecasts of P(event by end_time), in [0, 1], shape [n].
      times: of the event or the censoring, whichever came first; finite and >= 0,
        shape [n].
      event: 1 for an event at `times`, 0 for a censoring then, shape [n]. At equal
        times events come before censorings.
      end_time: the time that the forecasts are about, > 0, and at most the largest of
        `times`: nobody is followed for longer. Nothing later counts.
      hyperparam_range: bandwidths b to choose from, in units of the forecasts. The one
        of the least cross-validated squared error, weighted by w, is used for S and G,
        and times n^-0.04 for c_hat. None: range of the forecasts divided by
        `hyperparam_attempts` numbers from n^0.4 to n / 10, in equal ratios.
      alpha: 1 minus the coverage, in (0, 1).
      folds: number of folds, >= 2.
      weights: w(p): "constant" for 1, "relative" for 1 / min(p, 1 - p)^2, "chi" for
        1 / (p (1 - p)).
      weight_trunc: least denominator of the weights, in (0, 1].
      survival_aggregation: "Kaplan-Meier": S is the product of 1 - dN / R over times,
        with the kernel-weighted numbers dN of events and R of examples at risk;
        "Nelson-Aalen": that of exp(-dN / R). Likewise G, which is at least 0.05.
      kernel_fn: kernel at distance d: "rbf": exp(-(d / b)^2); "cubic":
        (1 - (d / b)^2)^3 up to b, for S and G; c_hat has a Gaussian as wide as it.
      orthogonal: whether to take the mean of w (p - c_hat) (p + c_hat - 2 Y) + w v
        instead, with v the variance of c_hat: errors of c_hat then enter by the square
        of their expectation only.
      num_repeats: number of random assignments to folds; the median is taken.
      normalize: whether to divide by the mean of w.
      hyperparam_attempts: number of bandwidths tried.
      default_hyperparam_range: two shares of n, in [0, 1]: the range is divided by
        numbers from `first n + n^0.4` to `second n`. None: (0, 0.1).
      seed: of the folds, all that `np.random.default_rng` takes.
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
      ...     probs, times, event, end_time=1.0
      ... )
      >>> lower < (1 / 30) ** 0.5 < upper
      True

    References:
      Yadlowsky, Basu and Tian (2019), A Calibration Metric for Risk Scores with
      Survival Data. Beran (1981), Nonparametric Regression with Randomly Censored
      Survival Data. Robins and Rotnitzky (1992), Recovery of Information and Adjustment
      for Dependent Censoring Using Surrogate Markers.
    """
    ...
cce = censored_calibration_error
cce_conf_int = censored_calibration_error_conf_int
CCE = CensoredCalibrationError
_arguments.as_in(censored_calibration_error)(CensoredCalibrationError)
