"""Streaming Bayesian calibration error: the Keras metric."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _computed
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
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

__all__ = ["BayesianExpectedCalibrationError"]


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


def _checked_seed(value: Any) -> int:
    """Returns the value as an int; raises ValueError unless it is an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise _checks.error("seed", "an integer", repr(value)) from None


@_base.register("bayesian_expected_calibration_error")
class BayesianExpectedCalibrationError(GeneralCalibrationError):
    """Posterior of the expected calibration error (ECE) of all batches.

    See the function `bayesian_expected_calibration_error` for the posterior, and
    `ExpectedCalibrationError` for the state and its precision. `result` is the mean of
    the posterior, by quadrature to 1e-6; `sample` draws from the posterior, and
    `quantiles` returns its quantiles.

    Args:
      num_bins: number of bins.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      prior_alpha: concentration of each of the 2 `num_bins` cells of the prior,
        positive; by default 1 / (2 `num_bins`).
      num_ece_samples: number of draws behind `quantiles`.
      seed: seed of these draws, an integer: the same state has the same quantiles.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means False; a metric of decisions then warns if
        `y_pred` of the first batch is one column, P(class 1). With True the metric
        takes answers without classes, too: `y_true` is whether each answer is right, 1
        or 0, and `y_pred` the confidence in [0, 1], of the same shape; a confidence of
        0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BayesianExpectedCalibrationError(num_bins=10)
      >>> for _ in range(4):
      ...     metric.update_state([0, 1] * 250, [[0.9, 0.1]] * 500)
      >>> bool(0.35 < metric.result() < 0.45)  # The ECE is 0.4.
      True
      >>> low, high = metric.quantiles([0.01, 0.99])
      >>> bool(0.3 < low < 0.4 < high < 0.5)
      True

    References:
      Perks (1947), Some Observations on Inverse Probability Including a New
      Indifference Rule, for the prior.
    """

    _function = "bayesian_expected_calibration_error"

    def __init__(
        self,
        num_bins: int = 15,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        prior_alpha: float | None = None,
        num_ece_samples: int = 500,
        seed: int = 0,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
    ) -> None:
        super().__init__(
            binning_scheme="even",
            max_prob=True,
            class_conditional=False,
            norm="l1",
            num_bins=num_bins,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
        )
        self._prior = np_bayesian_calibration.checked_prior(prior_alpha, self.num_bins)
        self.prior_alpha = None if prior_alpha is None else self._prior
        self.num_ece_samples = _checks.positive_integer(
            "num_ece_samples", num_ece_samples
        )
        self.seed = _checked_seed(seed)

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
