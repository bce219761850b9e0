"""Keras metrics: state, and a call into `uncertainty_metrics.tensorflow`.

The public names are those of `uncertainty_metrics` itself. Classes derive from
`tf.keras`: Keras 3, or tf_keras where `TF_USE_LEGACY_KERAS=1`. They are imported
together, so that Keras knows every one that a saved model may name.
"""

from uncertainty_metrics.keras import layers, losses
from uncertainty_metrics.keras.metrics import (
    bayesian_calibration,
    calibration,
    debiased_calibration,
    ensemble,
    ranking,
    regression,
    scoring_rules,
)

__all__ = [
    "bayesian_calibration",
    "calibration",
    "debiased_calibration",
    "ensemble",
    "layers",
    "losses",
    "ranking",
    "regression",
    "scoring_rules",
]
