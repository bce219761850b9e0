"""Chooses the backend of Keras for `uncertainty_metrics.torch` and `.jax`."""

from __future__ import annotations

import os
import sys
from typing import Literal

from uncertainty_metrics import _optional


def choose(backend: Literal["jax", "torch"]) -> None:
    """Makes Keras run on a backend, whatever KERAS_BACKEND says.

    Raises:
      ImportError: a package is missing; or Keras, or the functions of this package, run
        on another backend already.
    """
    module = f"uncertainty_metrics.{backend}"
    _optional.require(backend, module)
    if "keras" not in sys.modules:
        before = os.environ.get("KERAS_BACKEND")
        os.environ["KERAS_BACKEND"] = backend
        try:
            _optional.require("keras", module, extra=backend)
        finally:  # Other processes that this one starts may need another backend.
            if before is None:
                del os.environ["KERAS_BACKEND"]
            else:
                os.environ["KERAS_BACKEND"] = before
    keras = _optional.require("keras", module, extra=backend)
    running = keras.config.backend()
    if running != backend:
        raise ImportError(
            f"`{module}` needs Keras on {backend}, but in this process Keras runs on "
            f"{running}, and cannot change. Import `{module}` before anything that "
            f"imports Keras, or set KERAS_BACKEND={backend}."
        )
    from uncertainty_metrics import ops

    if ops.IS_TENSORFLOW:
        raise ImportError(
            f"`{module}` needs the functions of uncertainty_metrics on {backend}, but "
            "in this process they run on tensorflow, and cannot change. Import "
            f"`{module}` before you use `uncertainty_metrics`, and do not set "
            "TF_USE_LEGACY_KERAS."
        )
