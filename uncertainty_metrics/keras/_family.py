"""The Keras in use, Keras 3 or tf_keras, and what the two do differently.

No other file knows which of them is loaded.
"""

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
    # Its error says what to install; the error of TensorFlow would not.
    keras = _optional.require(
        "tf_keras" if LEGACY else "keras", "uncertainty_metrics.keras"
    )
    if IS_TENSORFLOW:
        import tensorflow as tf

        keras = tf.keras

_IS_KERAS_3 = hasattr(keras, "ops")
_THIS_KERAS, _OTHER_KERAS = (
    ("keras", "tf_keras") if _IS_KERAS_3 else ("tf_keras", "keras")
)


register = keras.utils.register_keras_serializable(package="uncertainty_metrics")


def register_in(room: str) -> Callable[[Any], Any]:
    """Returns a decorator that registers a class as `room.name`.

    The rooms `regression` and `conformal` have classes of the same names as others.
    """
    return lambda made: keras.utils.register_keras_serializable(
        package="uncertainty_metrics", name=f"{room}.{made.__name__}"
    )(made)


AUC = keras.metrics.AUC
# The argument of `add_weight` by which a weight keeps its type in mixed precision.
KEEP_DTYPE = {"autocast" if _IS_KERAS_3 else "experimental_autocast": False}


def refuse_other(kind: str, called: object) -> None:
    """Raises TypeError if the Keras that is not in use calls a metric or a loss.

    It would take the object for a function: it would average the values of batches, and
    ignore the weights.

    Args:
      kind: "metric" or "loss".
      called: the metric or the loss.
    """
    # Nothing that the other Keras does tells it from a caller that may call the object.
    # Tried were: each attribute that either Keras looks up in the other's metrics and
    # losses, traced in both directions, of which the other alone uses none; a property
    # of the class, such as `trainable_weights`, by a metaclass; `__instancecheck__`,
    # which sees the classes of its own Keras alone. Without this look at the callers,
    # five of six ways to mix the two train silently, with averages of the batches.
    if _OTHER_KERAS not in sys.modules:
        return
    frame: FrameType | None = sys._getframe(2)
    for _ in range(12):  # AutoGraph has some frames between the two.
        if frame is None:
            return
        module = frame.f_globals.get("__name__", "")
        code = f"{_OTHER_KERAS}.src"
        if module.startswith((f"{code}.metrics", f"{code}.losses")) or (
            module == f"{code}.engine.training"
            and frame.f_code.co_name == "_validate_compile"
        ):
            value = {"keras": 0, "tf_keras": 1}[_OTHER_KERAS]
            raise TypeError(
                f"A model of `{_OTHER_KERAS}` needs a {kind} made for "
                f"`{_OTHER_KERAS}`: set TF_USE_LEGACY_KERAS={value} before TensorFlow "
                f"is imported, or build the model with `{_THIS_KERAS}`. Received: "
                f"{type(called).__name__} of `{_THIS_KERAS}`"
            )
        frame = frame.f_back


def loss_options(dtype: Any) -> dict[str, Any]:
    """Returns the arguments of `keras.losses.Loss` besides name and reduction."""
    return {"dtype": dtype} if _IS_KERAS_3 else {}


def share_variables(metric: Any, **variables: Any) -> None:
    """Gives a metric variables of another metric, in place of its own.

    Args:
      metric: the metric.
      **variables: from the names of its attributes to the variables of the other.
    """
    for name, variable in variables.items():
        before = getattr(metric, name)
        if before is not variable:
            if _IS_KERAS_3:
                metric._tracker.untrack(before)
            setattr(metric, name, variable)


def mask_of(tensor: Any) -> Any:
    """Returns the mask that Keras has for a tensor, or None."""
    if IS_TENSORFLOW:
        return getattr(tensor, "_keras_mask", None)
    # Keras has the masks in a table here, because tensors of JAX take no attributes.
    from keras.src import backend

    return backend.get_keras_mask(tensor)


def set_mask(tensor: Any, mask: Any) -> None:
    """Sets the mask that Keras has for a tensor."""
    if IS_TENSORFLOW:
        tensor._keras_mask = mask
    else:
        from keras.src import backend

        backend.set_keras_mask(tensor, mask)
