"""Cross-fitted kernel means of one variable, and the intervals made of them.

Each example is predicted from the examples of the other folds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _inputs

M = TypeVar("M")
Weights = Literal["constant", "relative", "chi"]
WEIGHTS = get_args(Weights)

# The nodes of the Lagrange interpolation, relative to the next node on the left.
_NODES = np.arange(-2, 4)
# The nodes in a standard deviation of the kernel: the interpolation error is <= 3e-8.
_NODES_PER_WIDTH = 12
# In standard deviations: exp(-reach^2 / 2) is below the rounding error of 1.
_REACH = 8.6
# Interpolation is less exact in the tails of the kernel, and the rounding error of the
# transform is relative to the total mass. An example at which the sum of the kernel is
# less than this gets an exact sum over its neighbours.
_LEAST_MASS = 0.1
# The number of pairs of examples at a time.
_BLOCK = 2**20


def check_probs(value: Any) -> np.ndarray:
    """Returns `probs` [n] or [n, 1] as float64 probabilities [n].

    Raises:
      ValueError: the shape is another, there is no example, or a value is not in
        [0, 1].
    """
    array = _inputs.as_array("probs", value)
    shape = list(array.shape)
    if len(shape) != 1 and not (len(shape) == 2 and shape[1] == 1):
        raise _checks.error("probs", "of shape [n]", f"shape {shape}")
    if 0 in shape:
        expected = "at least one example"
        raise _checks.error("probs", expected, f"shape {shape}", verb="hold")
    array = np.ascontiguousarray(_inputs.native_floating(array)).reshape(-1)
    return _inputs.check_probabilities(array, "probs").astype(np.float64)


def positive_range(probs: np.ndarray) -> float:
    """Returns the largest minus the smallest value, or a tiny number if it is 0."""
    return max(float(np.ptp(probs)), 1e-100)


def check_range(name: str, value: Any) -> None:
    """Raises ValueError unless `value` is two ascending numbers in [0, 1]."""
    ends = _inputs.finite(name, value)
    if ends.shape != (2,) or not 0 <= ends[0] < ends[1] <= 1:
        raise _checks.error(name, "two ascending numbers in [0, 1]", value)


def check_candidates(value: Any) -> np.ndarray:
    """Returns `hyperparam_range` as float64 numbers; raises ValueError unless there is
    at least one and all are positive.
    """
    candidates = _inputs.finite("hyperparam_range", value).reshape(-1)
    if candidates.size == 0 or np.any(candidates <= 0):
        expected = "at least one number, and only numbers > 0"
        raise _checks.error("hyperparam_range", expected, value, verb="hold")
    return candidates


def weight_function(
    probs: np.ndarray, weights: str, weight_trunc: float = 0.05
) -> np.ndarray:
    """Returns the weight of the squared error at each probability, [n].

    Raises:
      ValueError: `weights` is unknown, or `weight_trunc` is not in (0, 1].
    """
    _checks.one_of("weights", weights, WEIGHTS)
    least = _checks.share("weight_trunc", weight_trunc, zero=False)
    if weights == "relative":
        return 1 / np.maximum(np.minimum(probs, 1 - probs) ** 2, least)
    if weights == "chi":
        return 1 / np.maximum(probs * (1 - probs), least)
    return np.ones_like(probs)


def fold_numbers(
    strata: np.ndarray, folds: int, rng: np.random.Generator
) -> np.ndarray:
    """Returns a random fold for each example, integers [n] in [0, folds).

    Two folds differ by at most one in their number of examples, and in their number of
    examples of each stratum.

    Raises:
      ValueError: `folds` is not an integer of at least 2, or larger than n.
    """
    folds = _checks.positive_integer("folds", folds)
    n = len(strata)
    if not 2 <= folds <= n:
        raise _checks.error(
            "folds", f"at least 2 and at most {n}, the number of examples", folds
        )
    order = rng.permutation(n)
    order = order[np.argsort(strata[order], kind="stable")]
    numbers = np.empty(n, np.int64)
    numbers[order] = np.arange(n) % folds
    return numbers


def rank_folds(probs: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Returns the fold of each example, [n]; every fold has low and high probabilities.

    A stratum has examples of neighbouring ranks. Strata of equal outcomes would make
    the folds depend on each other.
    """
    _checks.positive_integer("folds", folds)
    ranks = np.argsort(np.argsort(probs, kind="stable"))
    return fold_numbers(ranks // folds, folds, rng)


def check_settings(settings: Any) -> None:
    """Raises ValueError unless the settings that both metrics share are valid."""
    weight_function(np.zeros(0), settings.weights, settings.weight_trunc)
    for name in ("orthogonal", "normalize", "progress"):
        _checks.boolean(name, getattr(settings, name))
    _checks.positive_integer("hyperparam_attempts", settings.hyperparam_attempts)
    if settings.default_hyperparam_range is not None:
        check_range("default_hyperparam_range", settings.default_hyperparam_range)


def ignore_bootstrap_size(bootstrap_size: int | None) -> None:
    """Warns if the argument of uncertainty_metrics 0.0.81 is passed."""
    if bootstrap_size is not None:
        _user_warnings.warn(
            "`bootstrap_size` is ignored: standard errors are no longer bootstrapped, "
            "but have a closed form. Leave the argument out.",
            DeprecationWarning,
        )


class KernelSmoother:
    """Means of values over the examples of the other folds, weighted by the kernel
    `exp(-sigma (p_i - p_j)^2)`.

    The kernel sums are computed on a grid: values are spread on its nodes by Lagrange
    interpolation, multiplied by the transform of the kernel in Fourier space, and
    interpolated back. That takes O(n + m log m) time and memory per fold, for m nodes,
    whose number is inverse to the width of the kernel. The few examples without near
    neighbours have exact sums; in the limit they get the value of their nearest
    neighbour.

    Args:
      probs: [n] real numbers.
      fold: [n] integers in [0, folds), from `fold_numbers`.
      folds: number of folds.

    Attributes:
      range: `positive_range(probs)`.
    """

    def __init__(self, probs: np.ndarray, fold: np.ndarray, folds: int) -> None:
        self._probs, self._fold, self._folds = probs, fold, folds
        self.range = positive_range(probs)
        self._exact = _ExactSums(probs, fold)

    def smooth(self, values: np.ndarray, sigma: float) -> np.ndarray:
        """Returns the kernel mean of the values [n] at each example, [n]."""
        return next(self.smooth_each(values, [sigma]))

    def smooth_each(
        self, values: np.ndarray, sigmas: Iterable[float]
    ) -> Iterator[np.ndarray]:
        """Yields `smooth(values, sigma)` for each sigma. Successive sigmas of similar
        size share a grid.
        """
        return (means for means, _, _ in self._means(values, sigmas))

    def smooth_with_variances(
        self, values: np.ndarray, sigma: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the kernel means and estimates of their variances, [n] each."""
        means, mass, shift = next(self._means(values, [sigma]))
        # These estimates of the variances of values are unbiased, because the mean at
        # an example does not depend on its value. The square of a kernel is the kernel
        # of twice the sigma.
        noise = values * (values - means)
        noise, square_mass, square_shift = next(self._means(noise, [2 * sigma]))
        return means, noise * square_mass / mass**2 * np.exp(2 * shift - square_shift)

    def _means(
        self, values: np.ndarray, sigmas: Iterable[float]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yields the kernel means, masses and shifts, [n] each, for each sigma. The
        sums of the kernel are mass * exp(-shift).
        """
        for level, group in itertools.groupby(sigmas, self._level):
            if level is None:
                for sigma in group:
                    yield self._exact.means(values, sigma, np.arange(len(values)))
                continue
            grid = _Grid(self._probs, self._fold, self._folds, level)
            spectrum = grid.spectrum(values)
            for sigma in group:
                mass, sums = grid.kernel_sums(spectrum, sigma)
                sparse = np.flatnonzero(mass < _LEAST_MASS)
                mass[sparse] = 1.0
                means, shift = sums / mass, np.zeros_like(mass)
                if len(sparse):
                    means[sparse], mass[sparse], shift[sparse] = self._exact.means(
                        values, sigma, sparse
                    )
                yield means, mass, shift

    def _level(self, sigma: float) -> float | None:
        """Returns the range over a power of 2, at most the width of the kernel; None if
        the grid would be much larger than the data.
        """
        num_widths = self.range * np.sqrt(2 * sigma)  # Widths in the range.
        if num_widths > len(self._probs):
            return None
        return self.range / 2.0 ** np.ceil(np.log2(num_widths))


class _Grid:
    """Kernel sums over the examples of the other folds, by Fourier transform.

    Args:
      probs: [n] real numbers.
      fold: [n] integers in [0, folds).
      folds: number of folds.
      width: at most the standard deviation of the kernels, and above half of it.
    """

    def __init__(
        self, probs: np.ndarray, fold: np.ndarray, folds: int, width: float
    ) -> None:
        self._folds = folds
        self._step = width / _NODES_PER_WIDTH
        place = (probs - probs.min()) / self._step - _NODES[0]
        left = np.floor(place)
        # The transform is periodic, so the grid ends with a gap wider than the kernel.
        nodes = left.max() + 2 * _REACH * _NODES_PER_WIDTH - 2 * _NODES[0]
        self._size = 1 << int(nodes).bit_length()
        self._index = _NODES[:, None] + (left.astype(np.int64) + fold * self._size)
        self._shares = _lagrange(place - left)

    def _spread(self, values: np.ndarray | float) -> np.ndarray:
        """Returns the values of the other folds on the grid, [folds, size]."""
        by_fold = np.bincount(
            self._index.reshape(-1),
            (self._shares * values).reshape(-1),
            self._folds * self._size,
        ).reshape(self._folds, self._size)
        return by_fold.sum(axis=0) - by_fold

    def spectrum(self, values: np.ndarray) -> np.ndarray:
        """Returns the transform of the masses plus i times the values."""
        return np.fft.fft(self._spread(1.0) + 1j * self._spread(values))

    def kernel_sums(
        self, spectrum: np.ndarray, sigma: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sums of the kernel and of kernel times value, [n] each."""
        frequency = 2 * np.pi * np.fft.fftfreq(self._size, self._step)
        kernel = np.exp(-(frequency**2) / (4 * sigma)) * np.sqrt(np.pi / sigma)
        sums = np.fft.ifft(spectrum * (kernel / self._step)).reshape(-1)
        at_examples = np.sum(self._shares * sums[self._index], axis=0)
        return at_examples.real, at_examples.imag


def _lagrange(place: np.ndarray) -> np.ndarray:
    """Returns the share of each node in a value at a place, [nodes, n]; places [n] are
    relative to node 0.
    """
    shares = np.ones([len(_NODES), len(place)])
    for share, node in zip(shares, _NODES, strict=True):
        for other in _NODES[node != _NODES]:
            share *= (place - other) / (node - other)
    return shares


class _ExactSums:
    """Kernel means over the examples of the other folds, summed over pairs of groups.

    A group has the examples of one probability and one fold.
    """

    def __init__(self, probs: np.ndarray, fold: np.ndarray) -> None:
        self._order = np.lexsort([fold, probs])
        probs, fold = probs[self._order], fold[self._order]
        new = (np.diff(probs, prepend=-np.inf) > 0) | (np.diff(fold, prepend=-1) != 0)
        self._group = np.empty_like(self._order)
        self._group[self._order] = np.cumsum(new) - 1
        self._starts = np.flatnonzero(new)
        self._counts = np.diff(self._starts, append=len(probs))
        self._probs, self._fold = probs[self._starts], fold[self._starts]
        # Runs of groups of one fold: the nearest group of another fold is beside a run.
        run = np.flatnonzero(np.diff(self._fold, prepend=-1))
        sizes = np.diff(run, append=len(self._fold))
        padded = np.concatenate([[-np.inf], self._probs, [np.inf]])
        below = np.repeat(padded[run], sizes)
        above = np.repeat(padded[run + sizes + 1], sizes)
        self._nearest = np.minimum(self._probs - below, above - self._probs)

    def means(
        self, values: np.ndarray, sigma: float, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the kernel means, masses and shifts at the examples with indices
        `index`.
        """
        sums = np.add.reduceat(values[self._order], self._starts)
        groups, places = np.unique(self._group[index], return_inverse=True)
        reach = np.sqrt(self._nearest[groups] ** 2 + _REACH**2 / (2 * sigma))
        reach *= 1 + 1e-9  # Rounding must not leave out the nearest group.
        first = np.searchsorted(self._probs, self._probs[groups] - reach, side="left")
        end = np.searchsorted(self._probs, self._probs[groups] + reach, side="right")
        pairs = np.cumsum(end - first)
        blocks = np.searchsorted(pairs, np.arange(_BLOCK, pairs[-1], _BLOCK))
        arguments = (np.split(array, blocks) for array in (groups, first, end))
        results = [
            self._block(sums, sigma, *block) for block in zip(*arguments, strict=True)
        ]
        means, mass = (np.concatenate(parts) for parts in zip(*results, strict=True))
        shift = sigma * self._nearest[groups] ** 2
        return means[places], mass[places], shift[places]

    def _block(
        self,
        sums: np.ndarray,
        sigma: float,
        groups: np.ndarray,
        first: np.ndarray,
        end: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the means and masses of groups, over the groups from `first` to `end`
        of each.
        """
        sizes = end - first
        row = np.repeat(np.arange(len(groups)), sizes)
        other = np.arange(len(row)) + np.repeat(end - np.cumsum(sizes), sizes)
        distance = np.abs(self._probs[other] - self._probs[groups][row])
        # Relative to the nearest group of another fold, so that not all underflow.
        # Nearer groups are of the same fold, and are multiplied by 0 below.
        nearest = self._nearest[groups]
        exponent = -sigma * (distance - nearest[row]) * (distance + nearest[row])
        kernel = np.exp(np.minimum(exponent, 0.0))
        kernel *= self._fold[other] != self._fold[groups][row]
        mass = np.bincount(row, kernel * self._counts[other], len(groups))
        return np.bincount(row, kernel * sums[other], len(groups)) / mass, mass


def least_error(
    candidates: Iterable[float],
    predictions: Iterable[np.ndarray],
    values: np.ndarray,
    w: np.ndarray,
) -> float:
    """Returns the candidate whose predictions have the least weighted squared error."""
    pairs = zip(candidates, predictions, strict=True)
    return min(pairs, key=lambda pair: np.mean(w * (pair[1] - values) ** 2))[0]


def standard_error(
    estimate: float, influence: np.ndarray, w: np.ndarray, normalize: bool
) -> float:
    """Returns the standard error of the mean of influence values [n], which include the
    weights w [n]. If `normalize` divides by the mean of w, the delta method is used.
    """
    if normalize:
        influence = (influence - estimate * w) / np.mean(w)
    return float(np.std(influence, ddof=1) / np.sqrt(len(influence)))


class Fit(NamedTuple):
    """An estimate of the squared calibration error.

    Attributes:
      estimate: estimate of the squared error; may be negative.
      error: standard error of the estimate.
      spread: mean of w (p - c_hat)^2, which is the squared error plus the noise of the
        estimated frequencies c_hat.
    """

    estimate: float
    error: float
    spread: float

    @property
    def root(self) -> float:
        return max(self.estimate, 0.0) ** 0.5

    def interval(self, alpha: float) -> ConfidenceInterval:
        """Returns the interval of the root, which misses the truth in a share `alpha`.

        The standard error grows with the truth. A low estimate has a small standard
        error, so `estimate -+ z error` would miss larger truths. The interval has every
        truth t with |estimate - t| <= z error sqrt(1 + (t - estimate) / (2 spread)). If
        the error is small, that is the root of the estimate -+ z times the error of the
        root.
        """
        import statistics  # Its import takes as long as that of half of the package.

        z = statistics.NormalDist().inv_cdf(1 - alpha / 2)
        half = (z * self.error) ** 2 / (4 * self.spread) if self.spread > 0 else 0.0
        middle, reach = self.estimate + half, math.hypot(z * self.error, half)
        lower, upper = (max(middle + side, 0.0) ** 0.5 for side in (-reach, reach))
        return ConfidenceInterval(lower, self.root, upper)
