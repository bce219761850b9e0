"""Streaming Bayesian calibration error: the Keras metric."""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics.keras._options import Option, with_options
from uncertainty_metrics.keras.metrics._bayesian_calibration import (
    PosteriorMetric,
    checked_seed,
)
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.numpy.calibration.bins.bayesian_calibration import (
    DEFAULT_NUM_SAMPLES,
)

__all__ = ["BayesianExpectedCalibrationError"]


@with_options(
    "num_bins, num_classes, from_logits, ignore_index, name, dtype, *, prior_alpha, "
    "num_ece_samples, seed, positive_class, sparse_labels",
    prior_alpha=Option(float | None, None),
    num_ece_samples=Option(int, DEFAULT_NUM_SAMPLES, _checks.positive_integer),
    seed=Option(int, 0, checked_seed),
)
class BayesianExpectedCalibrationError(PosteriorMetric, GeneralCalibrationError):
    """Posterior of the expected calibration error (ECE) of all batches.

    See the function `bayesian_expected_calibration_error` for the posterior, and
    `ExpectedCalibrationError` for the state and its precision. `result` is the mean of
    the posterior, by quadrature to 1e-6; `sample` draws from the posterior, and
    `quantiles` returns its quantiles.

    Args:
      prior_alpha: concentration of each of the 2 `num_bins` cells of the prior,
        positive; by default 1 / (2 `num_bins`).
      num_ece_samples: number of draws behind `quantiles`.
      seed: seed of these draws, an integer.

    Example:
      >>> metric = um.BayesianExpectedCalibrationError(num_bins=10)
      >>> for _ in range(4):
      ...     metric.update_state([0, 1] * 250, [[0.9, 0.1]] * 500)
      >>> bool(0.35 < metric.result() < 0.45)  # The ECE is 0.4.
      True
      >>> low, high = metric.quantiles([0.01, 0.99])
      >>> bool(0.3 < low < 0.4 < high < 0.5)
      True
    """

    _function = "bayesian_expected_calibration_error"
