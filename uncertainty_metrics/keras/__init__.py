"""Keras metrics: state, and a call into `uncertainty_metrics.tensorflow`.

The public names are those of `uncertainty_metrics` itself. Classes derive from
`tf.keras`: Keras 3, or tf_keras where `TF_USE_LEGACY_KERAS=1`.
"""
