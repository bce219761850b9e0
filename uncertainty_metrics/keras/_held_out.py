"""Held-out examples of layers that are fitted: arrays, or batches and a model."""

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
    """Examples, their values unchecked but for the weights.

    Attributes:
      labels: [N]; [N, D] where D numbers of a row are logits of class 1.
      predictions: [N, K], or of class 1: [N, 1], or like the labels.
      weights: float64 [N] or like the labels, 0 where masked; None for ones.
      classes: K; None where the predictions are of class 1.
    """

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    classes: int | None


def read(
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
      layer: which is fitted; `model` must not have it.
      name: of the predictions.
      labels: an array; with `model`, batches.
      predictions: an array or a tensor, whose mask counts, or None.
      model: makes predictions of the inputs of the batches, or None.
      sample_weight: of arrays, or None.
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
    """Returns the weights, times those of the classes: 1 where none is told.

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
    if not isinstance(model, keras.layers.Layer):
        expected = f"a model or a layer of `{keras.__name__.split('.')[0]}`"
        raise _checks.error("model", expected, type(model).__name__)
    if _holds(model, layer):
        expected = (
            "the model that makes the inputs of this layer, and not hold the layer"
        )
        raise _checks.error("model", expected, f"{model.name!r}, which holds it")


def _holds(model: Any, layer: Any) -> bool:
    inner = getattr(model, "layers", ())
    return model is layer or any(_holds(each, layer) for each in inner)


def _batches(data: Any) -> Iterator[Any]:
    """Yields the batches of a dataset, or of what else iterates over them."""
    cardinality = getattr(data, "cardinality", None)  # Of `tf.data`; -1 is infinite.
    if callable(cardinality) and int(cardinality()) == -1:
        raise _checks.error("labels", "a finite dataset", "one that repeats for ever")
    if isinstance(data, keras.utils.Sequence):  # Whose iteration may not end.
        yield from map(data.__getitem__, range(len(data)))
        return
    if not hasattr(data, "__iter__"):
        expected = f"an iterable of batches {_BATCH} with `model`"
        raise _checks.error("labels", expected, type(data).__name__)
    yield from data


def _predictor(model: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Returns what makes predictions of inputs, and their mask, or None: `predict` of
    Keras would lose it.
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
        of_mask = np_inputs.sample_weights(for_numpy(mask), y.shape)
        weights = of_mask if weights is None else weights * of_mask
    # Rows of logits of class 1 stay: one-hot labels are told by theirs.
    alike = classes is None and y.ndim > 1 and y.shape == p.shape
    shape = [-1, y.shape[-1]] if alike and y.shape[-1] > 1 else [-1]
    return HeldOut(
        y.reshape(shape),
        p.reshape(shape if len(shape) > 1 else [-1, classes or 1]),
        None if weights is None else weights.reshape(shape),
        classes,
    )


def _joined(name: str, parts: list[HeldOut]) -> HeldOut:
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
