"""Streaming Bayesian calibration error: the Keras metric."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, CalibrationKey
from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy import bayesian_calibration as np_bayesian
from uncertainty_metrics.numpy.bayesian_calibration import DEFAULT_NUM_SAMPLES
from uncertainty_metrics.tensorflow import _posterior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _checked_levels(q: ArrayLike) -> np.ndarray:
    levels = np_inputs.as_array("q", q).astype(np.float64)
    if levels.size == 0 or not np.all((levels >= 0) & (levels <= 1)):
        raise _checks.error("q", "one or more numbers in [0, 1]", repr(q))
    return levels


def _quantiles(samples: tf.Tensor, levels: np.ndarray) -> tf.Tensor:
    """Interpolates between the order statistics, as `np.quantile` does."""
    position = levels * (samples.shape[0] - 1)
    below = np.floor(position)
    ordered = tf.sort(samples)
    low = tf.gather(ordered, below.astype(np.int32))
    high = tf.gather(ordered, np.ceil(position).astype(np.int32))
    return low + (high - low) * tf.constant(position - below, samples.dtype)


@_base.register
class BayesianExpectedCalibrationError(GeneralCalibrationError):
    """Posterior of the expected calibration error (ECE) of all batches.

    The posterior is that of the function `bayesian_expected_calibration_error`, the
    state and its precision those of `ExpectedCalibrationError`. `result` is the mean of
    the posterior, `sample` draws from it and `quantiles` summarizes it.

    Keras reads the result after every batch, at the cost of `num_ece_samples` draws:
    some milliseconds for 500 of them. Fewer will do for the mean, whose standard error
    is the deviation of the posterior over the root of their number.

    Args:
      num_bins: number of bins.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for float64 results; otherwise they are float32.
      prior_alpha: concentration of each of the 2 `num_bins` cells of the prior,
        positive; by default 1 / (2 `num_bins`).
      num_ece_samples: number of draws behind `result`.
      seed: integer seed of those draws: the same state has the same result, which
        XLA, with draws of its own, gives within their noise.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.

    Raises:
      ValueError: an argument is not as described.

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

    _fixed = (
        *CalibrationKey._fields,
        *("threshold", "positive_class", "sketch_bits"),
    )

    def __init__(
        self,
        num_bins: int = DEFAULT_NUM_BINS,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        prior_alpha: float | None = None,
        num_ece_samples: int = DEFAULT_NUM_SAMPLES,
        seed: int = 0,
        sparse_labels: bool | None = None,
    ):
        spec = np_bayesian.spec_of(num_bins)
        prior = np_bayesian.checked_prior(prior_alpha, spec.num_bins)
        num_samples = _checks.positive_integer("num_ece_samples", num_ece_samples)
        try:
            seed = operator.index(seed)
        except TypeError:
            raise _checks.error("seed", "an integer", repr(seed)) from None
        super().__init__(
            spec.binning_scheme,
            spec.max_prob,
            spec.class_conditional,
            spec.norm,
            spec.num_bins,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name or "bayesian_expected_calibration_error",
            dtype=dtype,
            sparse_labels=sparse_labels,
        )
        self.prior_alpha = None if prior_alpha is None else prior
        self.num_ece_samples = num_samples
        self.seed = seed
        self._prior = prior

    def _draw(self, num_samples: int, seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns draws of the posterior and whether there are examples."""
        statistics, valid = self._read_statistics(self._result_dtype)
        samples = _posterior.draw(statistics, valid, self._prior, num_samples, seed)
        return samples, tf.reduce_any(statistics.counts > 0) | ~valid

    def result(self) -> tf.Tensor:
        """Returns the posterior mean, in [0, 1]; 0.0 before the first batch."""
        samples, some = self._draw(self.num_ece_samples, self.seed)
        mean = tf.reduce_mean(samples)
        return tf.where(some, mean, tf.zeros_like(mean))

    def sample(self, n: int = DEFAULT_NUM_SAMPLES, seed: Any = None) -> tf.Tensor:
        """Draws from the posterior; before the first batch, from the prior.

        Args:
          n: number of draws.
          seed: an integer or a pair of them; None draws anew in every call.

        Returns:
          Draws [n] in [0, 1], NaN after a batch that was not valid.
        """
        n = _checks.positive_integer("n", n)
        return self._draw(n, seed)[0]

    def quantiles(
        self, q: ArrayLike, n: int | None = None, seed: Any = None
    ) -> tf.Tensor:
        """Quantiles of the posterior; before the first batch, of the prior.

        Args:
          q: levels in [0, 1], any shape.
          n: number of draws; by default `num_ece_samples`.
          seed: of the draws; by default that of the metric, so that these are the
            quantiles of the draws of which `result` is the mean.

        Returns:
          Quantiles in [0, 1] of the shape of `q`, NaN after a batch that was not valid.
        """
        levels = _checked_levels(q)
        n = self.num_ece_samples if n is None else _checks.positive_integer("n", n)
        samples, _ = self._draw(n, self.seed if seed is None else seed)
        return _quantiles(samples, levels)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "prior_alpha": self.prior_alpha,
            "num_ece_samples": self.num_ece_samples,
            "seed": self.seed,
        }
