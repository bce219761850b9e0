"""Held-out examples to fit a layer with: arrays, or batches and a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras._family import keras, mask_of
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _execution,
    _structures,
    for_numpy,
    xp,
)

_BATCH = "(x, labels)"
_WEIGHTED = f"{_BATCH} or (x, labels, sample_weight)"


class HeldOut(NamedTuple):
    """Held-out examples; their weights are checked, the other values are not.

    Attributes:
      labels: [N]; or [N, D] if a row of the predictions holds D logits of class 1.
      predictions: [N, K]; or of class 1, [N, 1] or [N, D].
      weights: float64, shape of the labels, 0 where masked; None for ones.
      classes: K; None if the predictions are of class 1.
    """

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    classes: int | None


def examples(
    layer: Any,
    name: str,
    labels: Any,
    predictions: Any,
    model: Any,
    sample_weight: Any = None,
    weighted: bool = True,
) -> HeldOut:
    """Returns the examples of arrays, or of batches.

    Args:
      layer: the layer to fit, which `model` must not contain.
      name: name of the predictions, for messages.
      labels: an array; with `model`, batches.
      predictions: an array, or a tensor, whose Keras mask counts; None with `model`.
      model: makes predictions of the inputs of the batches; None with `predictions`.
      sample_weight: weights of the examples of arrays, or None.
      weighted: whether batches may have weights.

    Raises:
      RuntimeError: execution is not eager.
      ValueError: shapes do not match, weights are not finite and >= 0, or neither or
        both of the predictions and the model were given.
    """
    if not _execution.is_eager():
        raise RuntimeError("`fit` needs eager execution. Received: a graph")
    if _checks.exactly_one(**{name: predictions, "model": model}) == name:
        return _rows(name, labels, predictions, mask_of(predictions), sample_weight)
    if sample_weight is not None:
        expected = f"None with `model`: pass weights in the batches {_WEIGHTED}"
        raise _checks.error("sample_weight", expected, type(sample_weight).__name__)
    _check_model(model, layer)
    expected = _WEIGHTED if weighted else _BATCH
    predict, parts = _predictor(model), []
    for batch in _batches(labels):
        lengths = (2, 3) if weighted else (2,)
        if not (isinstance(batch, tuple | list) and len(batch) in lengths):
            length = f" of {len(batch)}" if hasattr(batch, "__len__") else ""
            received = f"{type(batch).__name__}{length} as a batch"
            raise _checks.error(
                "labels", f"an iterable of batches {expected} with `model`", received
            )
        x, y, *weights = batch
        parts.append(_rows(name, y, *predict(x), *weights))
    if not parts:
        raise _checks.error("labels", "at least one batch", "none", verb="hold")
    return _joined(name, parts)


def times_class_weight(held: HeldOut, class_weight: Any) -> np.ndarray | None:
    """Returns the weights of the examples, times the weights of their classes.

    Args:
      held: the examples.
      class_weight: a dict from classes to weights, 1 for a class that it lacks; or
        None.

    Raises:
      ValueError: the weights are not a dict of classes and finite numbers >= 0.
    """
    if class_weight is None:
        return held.weights
    classes = held.classes or 2
    factors = np.ones(held.labels.shape)
    right = isinstance(class_weight, Mapping)
    for label, weight in class_weight.items() if right else ():
        right = right and label in range(classes)
        right = right and 0 <= _checks.number(weight) < math.inf
        factors[held.labels == label] = _checks.number(weight)
    if not right:
        expected = f"a dict of classes in [0, {classes}) and finite weights >= 0"
        raise _checks.error("class_weight", expected, repr(class_weight)[:200])
    return factors if held.weights is None else factors * held.weights


def _check_model(model: Any, layer: Any) -> None:
    """Raises ValueError unless `model` is a model that does not contain the layer."""
    if not isinstance(model, keras.layers.Layer):
        expected = f"a model or a layer of `{keras.__name__.split('.')[0]}`"
        raise _checks.error("model", expected, type(model).__name__)
    if _contains(model, layer):
        expected = "the model that makes the inputs of this layer, without the layer"
        raise _checks.error("model", expected, f"{model.name!r}, which contains it")


def _contains(model: Any, layer: Any) -> bool:
    inner = getattr(model, "layers", ())
    return model is layer or any(_contains(each, layer) for each in inner)


def _batches(data: Any) -> Iterator[Any]:
    """Yields the batches of a dataset or of another iterable."""
    # In `tf.data` the cardinality of an infinite dataset is -1.
    cardinality = getattr(data, "cardinality", None)
    if callable(cardinality) and int(cardinality()) == -1:
        raise _checks.error("labels", "a finite dataset", "one that repeats for ever")
    if isinstance(data, keras.utils.Sequence):  # An iteration over it may not end.
        yield from map(data.__getitem__, range(len(data)))
        return
    if not hasattr(data, "__iter__"):
        expected = f"an iterable of batches {_BATCH} with `model`"
        raise _checks.error("labels", expected, type(data).__name__)
    yield from data


def _predictor(model: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Returns a function from inputs to the predictions of a model, and their mask or
    None. `predict` of Keras would lose the mask.
    """

    def call(x: Any) -> tuple[Any, Any]:
        outputs = model(x, training=False)
        if not xp.is_tensor(outputs):
            received = f"{model.name!r}, of {type(outputs).__name__}"
            raise _checks.error("model", "one output", received, verb="have")
        return outputs, mask_of(outputs)

    if IS_TENSORFLOW:
        call = _execution.compiled(call, any_size=True, autograph=True)

    def predict(x: Any) -> tuple[Any, Any]:
        # Tensors of other frameworks become arrays, which every backend takes.
        own = _structures.mapped(lambda v: v if xp.is_tensor(v) else np.asarray(v), x)
        with _execution.without_gradients():
            return call(own)

    return predict


def _rows(
    name: str, labels: Any, predictions: Any, mask: Any, sample_weight: Any = None
) -> HeldOut:
    """Returns the examples of a batch."""
    y = np_inputs.as_array("labels", for_numpy(labels))
    p = np_inputs.as_array(name, for_numpy(predictions))
    classes = _checks.layout(y.shape, p.shape, name)
    weights = None
    if sample_weight is not None:
        weights = np_inputs.sample_weights(for_numpy(sample_weight), y.shape)
    if mask is not None:
        unmasked = np_inputs.sample_weights(for_numpy(mask), y.shape)
        weights = unmasked if weights is None else weights * unmasked
    # Logits of class 1 keep their last axis, on which NumPy finds one-hot labels.
    has_rows = classes is None and y.ndim > 1 and y.shape == p.shape
    shape = [-1, y.shape[-1]] if has_rows and y.shape[-1] > 1 else [-1]
    return HeldOut(
        y.reshape(shape),
        p.reshape(shape if len(shape) > 1 else [-1, classes or 1]),
        None if weights is None else weights.reshape(shape),
        classes,
    )


def _joined(name: str, parts: list[HeldOut]) -> HeldOut:
    """Returns the examples of all batches; `name` names the predictions in messages."""
    shapes = {(part.classes, part.predictions.shape[1]) for part in parts}
    if len(shapes) > 1:
        widths = sorted({width for _, width in shapes})
        raise _checks.error(
            name, "the same number of classes in all batches", f"{widths}", verb="have"
        )
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate(
            [
                np.ones(part.labels.shape) if part.weights is None else part.weights
                for part in parts
            ]
        )
    labels, predictions = (
        np.concatenate([getattr(part, field) for part in parts])
        for field in ("labels", "predictions")
    )
    return HeldOut(labels, predictions, weights, parts[0].classes)
