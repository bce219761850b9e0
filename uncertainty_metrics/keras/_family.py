"""What Keras 3 and tf_keras do differently: no other file knows which is loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from uncertainty_metrics import _optional
from uncertainty_metrics.ops import IS_TENSORFLOW, LEGACY

if TYPE_CHECKING:
    import keras as keras
else:
    # Says what to install; TensorFlow would not.
    keras = _optional.require(
        "tf_keras" if LEGACY else "keras", "uncertainty_metrics.keras"
    )
    if IS_TENSORFLOW:
        import tensorflow as tf

        keras = tf.keras

_IS_KERAS_3 = hasattr(keras, "ops")
_OURS, _OTHER = ("keras", "tf_keras") if _IS_KERAS_3 else ("tf_keras", "keras")


register = keras.utils.register_keras_serializable(package="uncertainty_metrics")


def register_in(room: str) -> Callable[[Any], Any]:
    """Returns what registers classes of a room, whose bare names others may have."""
    return lambda made: keras.utils.register_keras_serializable(
        package="uncertainty_metrics", name=f"{room}.{made.__name__}"
    )(made)


AUC = keras.metrics.AUC
# Lets a weight keep its type under mixed precision: an argument of `add_weight`.
KEEP_DTYPE = {"autocast" if _IS_KERAS_3 else "experimental_autocast": False}


def refuse_other(kind: str, called: object) -> None:
    """Raises TypeError if the other Keras, which takes it for a function, is calling.

    It would average the values of batches, and drop the weights.
    """
    if _OTHER not in sys.modules:
        return
    frame: FrameType | None = sys._getframe(2)
    for _ in range(12):  # Autograph puts some frames between.
        if frame is None:
            return
        module = frame.f_globals.get("__name__", "")
        if module.startswith((f"{_OTHER}.src.metrics", f"{_OTHER}.src.losses")) or (
            module == f"{_OTHER}.src.engine.training"
            and frame.f_code.co_name == "_validate_compile"
        ):
            value = {"keras": 0, "tf_keras": 1}[_OTHER]
            raise TypeError(
                f"A model of `{_OTHER}` needs a {kind} made for `{_OTHER}`: set "
                f"TF_USE_LEGACY_KERAS={value} before TensorFlow is imported, or build "
                f"the model with `{_OURS}`. Received: {type(called).__name__} of "
                f"`{_OURS}`"
            )
        frame = frame.f_back


def loss_options(dtype: Any) -> dict[str, Any]:
    """Returns what a loss is made with beside its name and reduction."""
    return {"dtype": dtype} if _IS_KERAS_3 else {}


def share_variables(metric: Any, **variables: Any) -> None:
    """Gives a metric variables of another, instead of its own."""
    for name, variable in variables.items():
        own = getattr(metric, name)
        if own is not variable:
            if _IS_KERAS_3:
                metric._tracker.untrack(own)
            setattr(metric, name, variable)


def mask_of(tensor: Any) -> Any:
    """Returns the mask that Keras keeps with a tensor, or None."""
    if IS_TENSORFLOW:
        return getattr(tensor, "_keras_mask", None)
    from keras.src import backend  # Tensors of JAX have no attributes of others.

    return backend.get_keras_mask(tensor)


def keep_mask(tensor: Any, mask: Any) -> None:
    """Lets Keras find a mask of a tensor."""
    if IS_TENSORFLOW:
        tensor._keras_mask = mask
    else:
        from keras.src import backend

        backend.set_keras_mask(tensor, mask)
