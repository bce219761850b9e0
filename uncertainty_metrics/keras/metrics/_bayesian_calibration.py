"""The base class of the streaming posterior of the calibration error."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _computed
from uncertainty_metrics.keras.metrics._calibration import CalibrationMetric
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy.calibration.bins import (
    bayesian_calibration as np_bayesian_calibration,
)
from uncertainty_metrics.numpy.calibration.bins.bayesian_calibration import (
    DEFAULT_NUM_SAMPLES,
)
from uncertainty_metrics.ops import _posterior, _posterior_draws, to_numpy, xp

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _checked_levels(q: ArrayLike) -> np.ndarray:
    levels = np_inputs.as_array("q", q).astype(np.float64)
    if levels.size == 0 or not np.all((levels >= 0) & (levels <= 1)):
        raise _checks.error("q", "one or more numbers in [0, 1]", repr(q))
    return levels


def _quantiles(samples: xp.Tensor, levels: np.ndarray) -> xp.Tensor:
    """Returns quantiles of samples [n], interpolated as in `np.quantile`."""
    position = levels * (samples.shape[0] - 1)
    below = np.floor(position)
    ordered = xp.sort(samples)
    low = xp.gather(ordered, below.astype(np.int32))
    high = xp.gather(ordered, np.ceil(position).astype(np.int32))
    return low + (high - low) * xp.constant(position - below, samples.dtype)


def checked_seed(name: str, value: Any) -> int:
    """Returns the value as an int; raises ValueError unless it is an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise _checks.error(name, "an integer", repr(value)) from None


class PosteriorMetric(CalibrationMetric):
    """A metric of the posterior of the calibration error."""

    prior_alpha: float | None
    num_ece_samples: int
    seed: int

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        spec = np_bayesian_calibration.spec_of(
            options.pop("num_bins"), options.pop("positive_class")
        )
        given = options.pop("prior_alpha")
        self._prior = np_bayesian_calibration.checked_prior(given, spec.num_bins)
        self.prior_alpha = None if given is None else self._prior
        super()._set_up(name, dtype, sketch_bits=None, **vars(spec), **options)

    def _draw(self, num_samples: int, seed: Any) -> xp.Tensor:
        statistics, valid = self._read_statistics(self._result_dtype)
        return _posterior_draws.draw(statistics, valid, self._prior, num_samples, seed)

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the posterior mean, in [0, 1]; 0.0 before the first example that
        counts.
        """
        statistics, valid = self._read_statistics(self._result_dtype)
        mean = _posterior.mean(statistics, valid, self._prior)
        some = xp.reduce_any(statistics.counts > 0) | ~valid
        return xp.where(some, mean, xp.zeros_like(mean))

    def plot(self, ax: Any = None, *, classes: Sequence[int] | None = None) -> Any:
        """Draws the posterior density, from the same samples as `quantiles`.

        Args:
          ax: matplotlib Axes to draw in; by default a new pyplot figure, which is not
            shown.
          classes: None, as there is one group.

        Returns:
          The Axes.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: a batch was wrong, or `ax` is not as described.
        """
        from uncertainty_metrics.visualization import posterior

        if classes is not None:
            raise _checks.error(
                "classes",
                "None: this metric has one group for all classes",
                repr(classes),
            )
        draws = to_numpy(self.sample(self.num_ece_samples, self.seed))
        return posterior.posterior_diagram(draws, ax=ax)

    @_computed.in_64_bits
    def sample(self, n: int = DEFAULT_NUM_SAMPLES, seed: Any = None) -> xp.Tensor:
        """Draws from the posterior; before the first batch, from the prior.

        Args:
          n: number of draws.
          seed: an integer or a pair of integers; None for other draws in each call.

        Returns:
          Draws [n] in [0, 1], NaN after a wrong batch.
        """
        n = _checks.positive_integer("n", n)
        return self._draw(n, seed)

    @_computed.in_64_bits
    def quantiles(
        self, q: ArrayLike, n: int | None = None, seed: Any = None
    ) -> xp.Tensor:
        """Returns quantiles of the posterior; before the first batch, of the prior.

        Args:
          q: levels in [0, 1], any shape.
          n: number of draws; by default `num_ece_samples`.
          seed: seed of the draws; by default the seed of the metric.

        Returns:
          Quantiles in [0, 1] of the shape of `q`, NaN after a wrong batch.
        """
        levels = _checked_levels(q)
        n = self.num_ece_samples if n is None else _checks.positive_integer("n", n)
        samples = self._draw(n, self.seed if seed is None else seed)
        return _quantiles(samples, levels)
