"""Bootstrap intervals: how far a metric of finite data may be from the truth.

A resample has as many examples as the data, drawn from them with replacement. The
variation of a metric over resamples estimates its variation over new data.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _user_warnings, _without_warnings
from uncertainty_metrics._progress import track
from uncertainty_metrics._results import ConfidenceInterval, GroupValues
from uncertainty_metrics.numpy import _inputs, _resampled_metrics, _threads
from uncertainty_metrics.numpy._clusters import FEW_CLUSTERS, Clusters, cluster_codes

__all__ = ["bootstrap", "bootstrap_difference"]

Method = Literal["bca", "percentile"]
METHODS = get_args(Method)
# The number of groups of examples that the jackknife leaves out, one at a time.
_MAX_GROUPS = 200
# Values whose difference is at most this share of the largest value are ties.
_TIE = 1e-12
# The most resamples that threads share, and the most numbers that these hold.
_SHARED, _SHARED_NUMBERS = 64, 2**19
# A metric takes about as long as this many passes over its examples.
_PASSES = 8


def _like(result: Any, values: Iterator[float]) -> Any:
    """Returns the next values in the structure of the result of a metric."""
    if isinstance(result, Mapping):
        return {name: _like(part, values) for name, part in result.items()}
    if isinstance(result, tuple):
        parts = [_like(part, values) for part in result]
        if not hasattr(result, "_fields"):
            return tuple(parts)
        made: Any = type(result)(*parts)
        if isinstance(result, GroupValues):
            made.names = result.names
        return made
    array = np.array([next(values) for _ in range(np.size(result))])
    return array.reshape(np.shape(result)) if np.ndim(result) > 0 else float(array[0])


def _values(
    metric: _resampled_metrics.Metric, draws: Iterator[np.ndarray]
) -> np.ndarray:
    """Returns the numbers of the metric for each draw, [draws, S]; NaN for a number
    that is undefined or infinite.
    """
    size = len(_resampled_metrics.flat(metric.estimate))

    def row(times: np.ndarray) -> np.ndarray:
        try:
            values = metric.replicate(times)
        except ValueError:
            return np.full(size, np.nan)
        if len(values) != size:
            raise _checks.error(
                "metric",
                "a function whose result has one shape for all resamples",
                f"one that returns {size} numbers and {len(values)} numbers",
            )
        return values

    def rows_of(drawn: list[np.ndarray]) -> list[np.ndarray]:
        def of_part(part: slice) -> list[np.ndarray]:
            return [row(times) for times in drawn[part]]

        parts = _threads.map_rows(of_part, len(drawn), _PASSES * metric.n)
        return list(itertools.chain.from_iterable(parts))

    at_once = 1
    if metric.in_threads:
        at_once = max(1, min(_SHARED, _SHARED_NUMBERS // metric.n))
    rows: list[np.ndarray] = []
    while drawn := list(itertools.islice(draws, at_once)):
        rows += rows_of(drawn)
    values = np.array(rows)
    return np.where(np.isfinite(values), values, np.nan)


class _Resampling(NamedTuple):
    """What is drawn: examples, whole clusters, or blocks of consecutive examples.

    Attributes:
      n: number of examples.
      clusters: the cluster of each example, or None.
      block: number of examples of a block; 1 for independent examples.
      num_clusters: number of clusters, if any were given.
    """

    n: int
    clusters: Clusters | None = None
    block: int = 1
    num_clusters: int | None = None

    def draws(self, rng: np.random.Generator, number: int) -> Iterator[np.ndarray]:
        """Yields how often each example is in a resample, int64 [n]."""
        n, block = self.n, self.block
        for _ in range(number):
            if self.clusters is not None:
                codes, units = self.clusters
                times = np.bincount(rng.integers(units, size=units), minlength=units)
                yield times[codes]
            elif block > 1:  # The first example follows the last one.
                starts = rng.integers(n, size=-(-n // block))
                rows = starts[:, None] + np.arange(block)
                yield np.bincount(rows.reshape(-1)[:n] % n, minlength=n)
            else:
                yield np.bincount(rng.integers(n, size=n), minlength=n)

    def jackknife(self, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yields how often each example is in a sample of the jackknife: once, but not
        at all in the group of clusters, blocks or examples that is left out.
        """
        units, unit_of = self.n, np.arange(self.n)
        if self.clusters is not None:
            unit_of, units = self.clusters
        elif self.block > 1:
            units = self.n // self.block
            unit_of = unit_of * units // self.n
        for group in np.array_split(rng.permutation(units), min(units, _MAX_GROUPS)):
            times = np.ones(units, np.int64)
            times[group] = 0
            yield times[unit_of]


def _resampling(n: int, clusters: Any, block: Any) -> _Resampling:
    """Returns what is drawn, for checked arguments."""
    block = _checks.positive_integer("block", block)
    if clusters is not None:
        if block > 1:
            message = "Give `clusters` or `block`, not both."
            raise _checks.combination_error(message, ("clusters", "block"))
        found = cluster_codes(clusters, n)
        is_needed = found.number < n
        return _Resampling(n, found if is_needed else None, 1, found.number)
    if block > 1:
        if 2 * block > n:
            expected = f"at most half the number of examples, {n}"
            raise _checks.error("block", expected, block)
        if n // block < FEW_CLUSTERS:
            _user_warnings.warn(
                f"There are {n // block} blocks. With fewer than {FEW_CLUSTERS}, "
                "intervals may be too short."
            )
    return _Resampling(n, None, block)


def _warn_of_bins(metric: Callable[..., Any], instead: str) -> None:
    """Warns of the bootstrap of a calibration error in bins."""
    if _resampled_metrics.is_binned(metric):
        _user_warnings.warn(
            "The bootstrap of a calibration error in bins has intervals that are too "
            f"high where the error is small. Use `{instead}`."
        )


def _scaled(values: np.ndarray) -> np.ndarray:
    """Returns values [B, S], with each column divided by its largest absolute value."""
    top = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return values / np.where(top > 0, top, 1.0)


def _acceleration(jackknife: np.ndarray) -> np.ndarray:
    """Returns how fast the standard error changes with the metric, [S].

    Args:
      jackknife: the values of the metric without one group of examples, [groups, S].
    """
    # Scaling does not change the result; without it cubes and means might overflow.
    jackknife = _scaled(jackknife)
    gaps = _scaled(np.nanmean(jackknife, axis=0) - jackknife)
    squares = np.nansum(gaps**2, axis=0)
    cubes = np.nansum(gaps**3, axis=0)
    return cubes / (6 * np.where(squares > 0, squares, 1.0) ** 1.5)


def _bca_levels(
    replicates: np.ndarray,
    estimate: np.ndarray,
    jackknife: np.ndarray,
    levels: np.ndarray,
) -> np.ndarray:
    """Returns the levels [2, S] of the quantiles of the replicates [B, S] that correct
    the bias and the change of the standard error (Efron, 1987).
    """
    from scipy import special

    scale = np.nanmax(np.abs(replicates), axis=0, initial=0.0)
    gaps = replicates - estimate
    ties = np.abs(gaps) <= _TIE * scale
    below = np.nansum((gaps < 0) & ~ties, axis=0) + np.sum(ties, axis=0) / 2
    count = np.maximum(np.sum(~np.isnan(replicates), axis=0), 1)
    bias = special.ndtri(np.clip(below / count, 0.5 / count, 1 - 0.5 / count))
    z = bias + special.ndtri(levels)[:, None]
    slope = np.maximum(1 - _acceleration(jackknife) * z, np.finfo(np.float64).tiny)
    return special.ndtr(bias + z / slope)


def _quantiles(replicates: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the quantiles [2, S] of the replicates [B, S] that are not NaN, linear
    between the order statistics.
    """
    replicates = np.sort(replicates, axis=0)  # NaN last.
    last = np.maximum(np.sum(~np.isnan(replicates), axis=0) - 1, 0)
    position = levels * last
    index = np.minimum(position.astype(np.int64), np.maximum(last - 1, 0))
    low = np.take_along_axis(replicates, index, axis=0)
    high = np.take_along_axis(replicates, np.minimum(index + 1, last), axis=0)
    return low + (high - low) * (position - index)


def _options(
    num_resamples: int, level: float, method: str, seed: Any, progress: bool
) -> tuple[int, float, str, np.random.Generator, bool]:
    """Returns the checked options, with a random generator for the seed."""
    _checks.one_of("method", method, METHODS)
    _checks.boolean("progress", progress)
    return (
        _checks.positive_integer("num_resamples", num_resamples),
        _checks.open_unit("level", level),
        method,
        _inputs.generator(seed),
        progress,
    )


def _interval(
    metric: _resampled_metrics.Metric,
    resampling: _Resampling,
    num_resamples: int,
    level: float,
    method: str,
    rng: np.random.Generator,
    progress: bool,
) -> ConfidenceInterval:
    estimate = _resampled_metrics.flat(metric.estimate)
    draws = resampling.draws(rng, num_resamples)
    draws = track(draws, num_resamples, progress, "bootstrap")
    levels = np.array([(1 - level) / 2, (1 + level) / 2])
    # The metric has already given its warnings when it was called for the estimate.
    with _without_warnings.warnings_ignored, np.errstate(all="ignore"):
        replicates = _values(metric, draws)
        if method == "bca":
            jackknife = _values(metric, resampling.jackknife(rng))
            levels = _bca_levels(replicates, estimate, jackknife, levels)
        else:
            levels = np.tile(levels[:, None], len(estimate))
    finite = np.isfinite(estimate)
    is_undefined = np.isnan(replicates[:, finite])
    num_undefined = int(np.max(np.sum(is_undefined, axis=0), initial=0))
    lower, upper = np.where(finite, _quantiles(replicates, levels), np.nan)
    if 2 * num_undefined > num_resamples:
        raise _checks.error(
            "metric",
            "finite for at least half of the resamples",
            f"undefined for {num_undefined} of {num_resamples}",
        )
    if num_undefined > 0:
        warnings.warn(
            f"The metric is undefined for {num_undefined} of {num_resamples} "
            "resamples, which are left out.",
            stacklevel=3,
        )
    slack = _TIE * np.abs(np.where(finite, estimate, 0.0))
    if np.any((lower > estimate + slack) | (upper < estimate - slack)):
        warnings.warn(
            "The estimate is not in its interval: its bias is larger than its spread, "
            "as for the calibration error of a well calibrated model. No bootstrap can "
            "correct this: use an estimate with less bias, such as a debiased one.",
            stacklevel=3,
        )
    interval = ConfidenceInterval(
        *(_like(metric.estimate, iter(row)) for row in (lower, estimate, upper))
    )
    interval.num_clusters = resampling.num_clusters
    return interval


def _difference(
    first: _resampled_metrics.Metric, second: _resampled_metrics.Metric
) -> _resampled_metrics.Metric:
    """Returns the first metric minus the second, on the same resamples."""
    estimates = (
        _resampled_metrics.flat(first.estimate),
        _resampled_metrics.flat(second.estimate),
    )
    sizes = (first.n, len(estimates[0])), (second.n, len(estimates[1]))
    if sizes[0] != sizes[1]:
        raise _checks.error(
            "second",
            "as many examples and results as `first`, {} and {}".format(*sizes[0]),
            "{} and {}".format(*sizes[1]),
            verb="have",
        )
    with np.errstate(invalid="ignore"):  # inf - inf.
        difference = estimates[0] - estimates[1]
    return _resampled_metrics.Metric(
        _like(first.estimate, iter(difference)),
        lambda times: first.replicate(times) - second.replicate(times),
        first.n,
        first.in_threads and second.in_threads,
    )


def bootstrap(
    metric: Callable[..., Any],
    *arguments: Any,
    num_resamples: int = 1000,
    level: float = 0.95,
    method: Method = "bca",
    seed: Any = None,
    progress: bool = False,
    clusters: ArrayLike | None = None,
    block: int = 1,
    **data: Any,
) -> ConfidenceInterval:
    """Confidence interval of a metric, by the bootstrap.

    With the values T*_1, ..., T*_B of the metric T on B resamples of the examples, and
    Phi the Normal CDF:

      percentile: the quantiles of T* of levels (1 - level) / 2 and (1 + level) / 2
      bca: the quantiles of T* of levels Phi(z0 + (z0 + z) / (1 - a (z0 + z))) for
        z = Phi^-1((1 - level) / 2) and z = Phi^-1((1 + level) / 2)

    z0 = Phi^-1(share of T* < T, plus half of the share of T* = T) measures the bias. a
    is a sixth of the skewness of the jackknife values over the root of their number,
    and measures how the variance changes with T.

    The entries of the first axis of the data are drawn, each with all that belongs to
    it: an image with its pixels, an example with its weight. The interval needs
    independent examples, or `clusters=`, or `block=`.

    A metric whose bias is as large as its spread has no good interval. The calibration
    error of a model that is (nearly) calibrated is the noise of its bins. Resamples
    have more noise, so the interval is too high ("bca" less so), or does not even hold
    the estimate, which gives a warning.

    In simulations (`studies/bootstrap_coverage.py`, +-3%), 95% intervals of "bca" held
    the true accuracy, AUROC and mean of a skewed score in 95% of data sets from 100
    examples on. They held the true ECE of 10 bins, for 200, 1000 and 5000 examples, in
    87%, 87% and 97% of data sets if all bins are off by 0.15; in 51%, 86% and 94% if
    all are off by 0.05; and never if the model is calibrated and the true ECE is 0.
    `calibration_test` tells whether a model may be calibrated.

    Args:
      metric: a function of this package, or any function that returns numbers, arrays,
        or dicts or (named) tuples of them, of one shape for all data. If a function of
        the package returns a value for each example, such as `crps_score`, the values
        are averaged over the first axis; other functions must not. Functions of tensors
        are replaced by their NumPy twins.
      *arguments: positional arguments of the metric.
      num_resamples: number of resamples B.
      level: level of the interval, in (0, 1); 0.95 for 95%. A `level` of the metric is
        bound as `**data` says.
      method: "bca" (bias-corrected and accelerated) or "percentile".
      seed: seed of the resamples, all that `np.random.default_rng` takes. None gives
        new resamples in each call.
      progress: whether to show a progress bar.
      clusters: for examples that depend on each other, such as several answers to one
        question, the id of the cluster of each entry of the first axis, [n]: integers
        or strings. Whole clusters are then drawn, as many as there are.
      block: for examples in the order of time, the number k of consecutive examples
        that depend on each other. Blocks of k are then drawn, which start anywhere; the
        first example follows the last one.
      **data: the other arguments of the metric, by name. Arrays of the same length are
        resampled together along their first axis, or along the axis of the examples if
        the metric has another one. Numbers, strings, booleans and None are options.
        Bind other options, and options with the name of an argument above, with
        `functools.partial`.

    Returns:
      A named tuple `(lower, estimate, upper)`. Each has the structure of the result of
      the metric, with floats and float64 arrays; the ends are NaN if the estimate is
      not finite. `estimate` is the metric of the data themselves. Resamples without a
      finite value, such as those with one class for `auroc`, are left out with a
      warning. For calibration errors of decisions, selective prediction and means over
      examples, each example is first reduced to one number: they need O(n) memory,
      whatever the number of classes. The jackknife leaves out up to 200 random groups
      of examples.

    Raises:
      ValueError: an argument is not as described, the lengths of the arrays differ,
        there are fewer than two examples, the metric raises it, or the metric is
        undefined for more than half of the resamples.
      TypeError: the metric is not a function or does not take these arguments, or data
        hold text.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [1, 0, 1, 1, 0] * 40
      >>> probabilities = [0.8, 0.3, 0.4, 0.9, 0.6] * 40
      >>> interval = um.bootstrap(um.accuracy, labels, probabilities, seed=0)
      >>> [round(end, 2) for end in interval]
      [0.53, 0.6, 0.67]

    References:
      Efron (1987), Better Bootstrap Confidence Intervals. Efron and Tibshirani (1993),
      An Introduction to the Bootstrap.
    """
    options = _options(num_resamples, level, method, seed, progress)
    data = _resampled_metrics.by_name(metric, arguments, data)
    prepared = _resampled_metrics.prepared(metric, data)
    resampling = _resampling(prepared.n, clusters, block)
    _warn_of_bins(metric, "calibration_error_interval")
    return _interval(prepared, resampling, *options)


def bootstrap_difference(
    metric: Callable[..., Any],
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    *,
    num_resamples: int = 1000,
    level: float = 0.95,
    method: Method = "bca",
    seed: Any = None,
    progress: bool = False,
    clusters: ArrayLike | None = None,
    block: int = 1,
    **data: Any,
) -> ConfidenceInterval:
    """Confidence interval of the difference of a metric between two models.

      metric(first) - metric(second)

    Both models see the same resamples. Examples that are hard for one model tend to be
    hard for the other, so the difference is known better than either metric. If the
    interval excludes 0, one model is better on examples of this kind. The interval
    needs independent examples, or `clusters=`, or `block=`.

    Args:
      metric: as in `bootstrap`.
      first: the arguments of the metric that belong to the first model, by name, such
        as `{"probabilities": p}`. Both models have the same examples in the same order.
      second: the arguments of the metric that belong to the second model.
      num_resamples: number of resamples B.
      level: level of the interval, in (0, 1); 0.95 for 95%. A `level` of the metric is
        bound as `**data` says.
      method: "bca" (bias-corrected and accelerated) or "percentile".
      seed: seed of the resamples, all that `np.random.default_rng` takes. None gives
        new resamples in each call.
      progress: whether to show a progress bar.
      clusters: as in `bootstrap`.
      block: as in `bootstrap`.
      **data: the arguments that both models share, such as `labels`; arrays and options
        as in `bootstrap`.

    Returns:
      A named tuple `(lower, estimate, upper)` of the difference, as in `bootstrap`.

    Raises:
      ValueError: as in `bootstrap`, or the two models differ in the number of examples
        or of results.
      TypeError: as in `bootstrap`, or the arguments of a model are not a mapping.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> first = {"probabilities": [0.8, 0.3, 0.4, 0.9, 0.6] * 40}
      >>> second = {"probabilities": [0.9, 0.2, 0.3, 0.9, 0.7] * 40}
      >>> labels = [1, 0, 1, 1, 0] * 40
      >>> lower, estimate, upper = um.bootstrap_difference(
      ...     um.brier_score, first, second, labels=labels, seed=0
      ... )
      >>> round(lower, 2), round(estimate, 2), round(upper, 2)
      (-0.09, -0.07, -0.05)

    References:
      Efron (1987), Better Bootstrap Confidence Intervals. Efron and Tibshirani (1993),
      An Introduction to the Bootstrap.
    """
    options = _options(num_resamples, level, method, seed, progress)
    for name, model in (("first", first), ("second", second)):
        if not isinstance(model, Mapping):
            raise TypeError(
                f"`{name}` must be a mapping from names of arguments to values. "
                f"Received: {type(model).__name__}"
            )
    difference = _difference(
        *(
            _resampled_metrics.prepared(metric, {**data, **model})
            for model in (first, second)
        )
    )
    resampling = _resampling(difference.n, clusters, block)
    _warn_of_bins(metric, "calibration_error_difference")
    return _interval(difference, resampling, *options)
