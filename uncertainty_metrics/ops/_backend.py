"""Which backend Keras has, and `xp`, the names of the arithmetic on its tensors."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

__all__ = ["IS_JAX", "IS_TENSORFLOW", "LEGACY", "backend", "xp"]

# Whether tf_keras is used instead of Keras 3; TensorFlow compares with the same words.
LEGACY = os.environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1")


def backend() -> str:
    """Returns the backend of Keras; imports Keras only if its configuration file may
    name the backend.
    """
    if LEGACY:
        return "tensorflow"
    from_environment = os.environ.get("KERAS_BACKEND")
    home = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    has_file = (home / "keras.json").exists()
    if "keras" in sys.modules or (not from_environment and has_file):
        import keras

        return str(keras.config.backend())
    return from_environment or "tensorflow"


IS_TENSORFLOW = backend() == "tensorflow"
IS_JAX = backend() == "jax"
if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as xp
else:
    from uncertainty_metrics.ops._tensorflow_names import names as xp
