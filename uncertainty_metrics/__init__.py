"""Uncertainty metrics for TensorFlow and Keras, with a NumPy twin.

    import uncertainty_metrics as um        # TensorFlow functions and Keras classes
    import uncertainty_metrics.numpy as um  # the same functions for NumPy arrays

Every name is imported when it is first used: importing the package imports neither
TensorFlow nor matplotlib nor SciPy.
"""

from uncertainty_metrics import _lazy
from uncertainty_metrics.version import __version__ as __version__

_TF_CALIBRATION = "uncertainty_metrics.tensorflow.calibration"
_KERAS_CALIBRATION = "uncertainty_metrics.keras.metrics.calibration"
_TF_SCORING = "uncertainty_metrics.tensorflow.scoring_rules"
_KERAS_SCORING = "uncertainty_metrics.keras.metrics.scoring_rules"
_KERAS_LOSSES = "uncertainty_metrics.keras.losses"
_TF_BAYESIAN = "uncertainty_metrics.tensorflow.bayesian_calibration"
_RELIABILITY = "uncertainty_metrics.visualization.reliability"

_HOMES = {
    "numpy": "uncertainty_metrics.numpy",
    # Calibration errors.
    "ace": _TF_CALIBRATION,
    "adaptive_calibration_error": _TF_CALIBRATION,
    "bin_statistics": _TF_CALIBRATION,
    "compute_all_metrics": _TF_CALIBRATION,
    "ece": _TF_CALIBRATION,
    "expected_calibration_error": _TF_CALIBRATION,
    "gce": _TF_CALIBRATION,
    "general_calibration_error": _TF_CALIBRATION,
    "maximum_calibration_error": _TF_CALIBRATION,
    "mce": _TF_CALIBRATION,
    "rmsce": _TF_CALIBRATION,
    "root_mean_squared_calibration_error": _TF_CALIBRATION,
    "sce": _TF_CALIBRATION,
    "static_calibration_error": _TF_CALIBRATION,
    "tace": _TF_CALIBRATION,
    "thresholded_adaptive_calibration_error": _TF_CALIBRATION,
    "BinStatistics": "uncertainty_metrics.tensorflow._binning",
    # Bayesian calibration error.
    "bayesian_expected_calibration_error": _TF_BAYESIAN,
    "probability_of_lower_calibration_error": _TF_BAYESIAN,
    # Scoring rules.
    "brier_decomposition": _TF_SCORING,
    "brier_decomposition_exact": _TF_SCORING,
    "brier_score": _TF_SCORING,
    "crps_distribution": "uncertainty_metrics.tensorflow.distribution_scores",
    "crps_normal_score": _TF_SCORING,
    "crps_score": _TF_SCORING,
    "energy_score": _TF_SCORING,
    "interval_score": _TF_SCORING,
    "negative_log_likelihood": _TF_SCORING,
    "pinball_loss": _TF_SCORING,
    # Keras metrics.
    "AdaptiveCalibrationError": _KERAS_CALIBRATION,
    "CalibrationError": _KERAS_CALIBRATION,
    "ExpectedCalibrationError": _KERAS_CALIBRATION,
    "GeneralCalibrationError": _KERAS_CALIBRATION,
    "MaximumCalibrationError": _KERAS_CALIBRATION,
    "RootMeanSquaredCalibrationError": _KERAS_CALIBRATION,
    "StaticCalibrationError": _KERAS_CALIBRATION,
    "ThresholdedAdaptiveCalibrationError": _KERAS_CALIBRATION,
    "BayesianExpectedCalibrationError": (
        "uncertainty_metrics.keras.metrics.bayesian_calibration"
    ),
    "BrierDecomposition": _KERAS_SCORING,
    "BrierScore": _KERAS_SCORING,
    "CRPSNormal": _KERAS_SCORING,
    "CRPSSamples": _KERAS_SCORING,
    "IntervalScore": _KERAS_SCORING,
    "NegativeLogLikelihood": _KERAS_SCORING,
    "Pinball": _KERAS_SCORING,
    # Keras losses.
    "BrierLoss": _KERAS_LOSSES,
    "CRPSNormalLoss": _KERAS_LOSSES,
    "CRPSSampleLoss": _KERAS_LOSSES,
    "GaussianNLLLoss": _KERAS_LOSSES,
    "IntervalLoss": _KERAS_LOSSES,
    "PinballLoss": _KERAS_LOSSES,
    # Plots.
    "reliability_curve": _RELIABILITY,
    "reliability_diagram": _RELIABILITY,
}

__all__ = sorted(_HOMES)
__getattr__, __dir__ = _lazy.attach(__name__, _HOMES, [*__all__, "__version__"])
