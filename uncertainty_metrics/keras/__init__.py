"""Keras metrics: state, and a call into `uncertainty_metrics.ops`.

The public names are those of `uncertainty_metrics` itself. Classes derive from Keras 3,
on any of its backends, or from tf_keras where `TF_USE_LEGACY_KERAS=1`.

To load a saved model that names one of them, `import uncertainty_metrics.keras` before
`load_model`: Keras knows only classes that were imported, says "Could not locate class"
for the others, and names the module that has them. All of them are imported together.
"""

from uncertainty_metrics.keras import layers, losses
from uncertainty_metrics.keras.metrics import (
    bayesian_calibration,
    calibration,
    cell_calibration,
    collection,
    conformal,
    debiased_calibration,
    detection,
    ensemble,
    named_calibration_errors,
    regression,
    scoring_rules,
    selective,
)

__all__ = [
    "bayesian_calibration",
    "calibration",
    "cell_calibration",
    "collection",
    "conformal",
    "debiased_calibration",
    "detection",
    "ensemble",
    "layers",
    "losses",
    "named_calibration_errors",
    "regression",
    "scoring_rules",
    "selective",
]
