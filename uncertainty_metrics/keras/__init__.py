"""Keras metrics, losses, layers and callbacks: state, and calls of the arithmetic.

Import the public names from `uncertainty_metrics` itself. The classes derive from
classes of Keras 3 on any of its backends, or of tf_keras if `TF_USE_LEGACY_KERAS=1`.

To load a saved model with one of these classes, `import uncertainty_metrics.keras`
before `load_model`. Keras knows only classes that were imported. For another class it
says "Could not locate class", and names the module of the class. This import imports
all classes.
"""

from uncertainty_metrics.keras import layers, losses
from uncertainty_metrics.keras.metrics import (
    bayesian_calibration,
    brier_decompositions,
    calibration,
    cell_calibration,
    collection,
    conformal,
    debiased_calibration,
    detection,
    ensemble,
    forecast_scores,
    named_calibration_errors,
    refined_likelihood,
    regression,
    scoring_rules,
    selective,
)

__all__ = [
    "bayesian_calibration",
    "brier_decompositions",
    "calibration",
    "cell_calibration",
    "collection",
    "conformal",
    "debiased_calibration",
    "detection",
    "ensemble",
    "forecast_scores",
    "layers",
    "losses",
    "named_calibration_errors",
    "refined_likelihood",
    "regression",
    "scoring_rules",
    "selective",
]
