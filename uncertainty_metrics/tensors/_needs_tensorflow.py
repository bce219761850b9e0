"""The check of functions that need TensorFlow: distributions, and their draws."""

from __future__ import annotations

from uncertainty_metrics.ops import IS_TENSORFLOW, backend


def check() -> None:
    """Raises ImportError if Keras runs on another backend."""
    if IS_TENSORFLOW:
        return
    raise ImportError(
        "`crps_distribution`, `regression.distribution_pit` and the draws of "
        "`bayesian_expected_calibration_error` need TensorFlow Probability, and Keras "
        f"on TensorFlow. Received: Keras on {backend()}. Other functions run on any "
        "backend: `uncertainty_metrics.numpy.bayesian_expected_calibration_error`, and "
        "for samples of a distribution `crps_score` and `regression.sample_pit`."
    )
