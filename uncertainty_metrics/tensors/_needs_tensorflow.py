"""What only TensorFlow has: distributions, and draws from them."""

from __future__ import annotations

from uncertainty_metrics.ops import IS_TENSORFLOW, backend


def check() -> None:
    """Raises ImportError where Keras runs on another backend."""
    if IS_TENSORFLOW:
        return
    raise ImportError(
        "`crps_distribution`, `regression.distribution_pit` and the draws of "
        "`bayesian_expected_calibration_error` need TensorFlow Probability, and Keras "
        f"on TensorFlow. Received: Keras on {backend()}. There are, on any backend, "
        "`uncertainty_metrics.numpy.bayesian_expected_calibration_error`, and "
        "`crps_score` and `regression.sample_pit` for samples of a distribution, in "
        "`uncertainty_metrics.numpy` too."
    )
