"""Static and unknown dimensions, mixed: a graph gives the value of an eager call.

Where an eager call finds that arguments have not the same number of examples, a graph
gives NaN or an error.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import uncertainty_metrics as um
from tests.fuzz.functions import in_graph
from tests.fuzz.outcomes import TARGETS, as_text, call, compare, fault, is_data
from tests.keras.streams import STREAMS, parts

_SHAPES = ((1,), (7,), (7,), (12,), (3, 4))


def _unknown(rng, size, examples):
    """Returns a static shape of known and unknown sizes, and whether it must work.

    A graph must not need the number of examples. It may need the last of several axes,
    which tells classes from examples.
    """
    shape = [None if rng.random() < 0.5 else n for n in size]
    readings = [shape, shape[:-1]] if shape[-1:] == [1] else [shape]  # Labels [..., 1].
    hidden = any(len(read) > 1 and read[-1] is None for read in readings)
    return shape, not (None in shape[examples:] or hidden)


def check_function(name: str, seed: int) -> str | None:
    """Calls a function in a graph of partly unknown shapes."""
    target = TARGETS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    size = _SHAPES[rng.integers(len(_SHAPES))]
    arguments = target.draw_any(rng, size)
    dtype = rng.choice([np.float32, np.float64])
    arguments = {
        key: value.astype(dtype) if _is_real(value) else value
        for key, value in arguments.items()
    }
    eager = call(target.find(um), arguments)
    if eager.error is not None or name == "risk_coverage_curve":
        return None
    shapes, must_work = {}, True
    for key, value in arguments.items():
        if is_data(value) and key not in target.options:
            leads = value.shape[: len(size)] == size
            shapes[key], works = _unknown(rng, value.shape, len(size) if leads else 0)
            must_work &= works
    compiled = in_graph(target, arguments, shapes=shapes)
    problem = _problem(target.parameters, compiled, must_work)
    if compiled.error is None:
        # If K is unknown, probabilities [1, K] may be read as K examples of 2 classes,
        # which labels [1, 1] do not fit.
        refused = not must_work and np.all(np.isnan(compiled.values))
        problem = None if refused else compare(target, arguments, compiled, eager)
    return f"static shapes {shapes}: {problem}" if problem else None


def check_single_row(name: str, seed: int) -> str | None:
    """Passes one row of an argument beside many of the others, all of unknown sizes."""
    target = TARGETS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    arguments = target.draw_any(rng, (7,))
    data = [k for k, v in arguments.items() if is_data(v) and k not in target.options]
    rows = [key for key in data if np.shape(arguments[key])[:1] == (7,)]
    if not rows:
        return None
    key = rng.choice(rows)
    arguments = {**arguments, key: arguments[key][:1]}
    if call(target.find(um), arguments).error is None:
        return None
    shapes = {
        key: [None if n in (1, 7) else n for n in arguments[key].shape] for key in data
    }
    compiled = in_graph(target, arguments, shapes=shapes)
    if compiled.error is not None or np.all(np.isnan(compiled.values)):
        return None
    return f"one row of `{key}` has the value {as_text(compiled)}"


def _is_real(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _problem(known, compiled, must_work):
    """Returns what is wrong with an exception of a graph, or None."""
    if compiled.error is None:
        return None
    if must_work:
        return f"raises only there: {compiled.error}"
    if isinstance(compiled.error, tf.errors.InvalidArgumentError):
        return None  # A step found that unknown shapes do not fit.
    return fault(known, compiled.error)


def check_metric(name: str, seed: int) -> str | None:
    """Updates a Keras metric in a graph of partly unknown shapes."""
    stream = STREAMS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    first, second = parts(stream.data(rng, 16), 2)
    if rng.random() < 0.3:
        second = second[:2]
    if rng.random() < 0.3:
        second = (second[0][:, None], *second[1:])
    eager, compiled = stream.make(dtype="float64"), stream.make(dtype="float64")
    for metric in (eager, compiled):
        metric.update_state(*first)
    eager.update_state(*second)
    tensors = [tf.constant(value) for value in second]
    shapes, works = zip(*(_unknown(rng, t.shape, 1) for t in tensors), strict=True)
    specs = [
        tf.TensorSpec(shape, tensor.dtype)
        for shape, tensor in zip(shapes, tensors, strict=True)
    ]
    update = tf.function(
        lambda *batch: compiled.update_state(*batch), specs, autograph=False
    )
    done = call(lambda: update(*tensors) or 0.0, {})
    known = ("y_true", "y_pred", "sample_weight", "sparse_labels")
    problem = _problem(known, done, all(works))
    if problem is None and done.error is None:
        a, b = (call(metric.result, {}) for metric in (eager, compiled))
        if not np.allclose(a.values, b.values, 1e-6, 1e-6, equal_nan=True):
            problem = f"{as_text(a)} eager, {as_text(b)} compiled"
    return f"static shapes {shapes}: {problem}" if problem else None
