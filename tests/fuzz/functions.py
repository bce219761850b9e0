"""Functions: NumPy, eager tensors and graphs have the same outcome."""

from __future__ import annotations

import traceback
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.catalogue import Function
from tests.fuzz.compiling import NOT_CONVERTIBLE, RARELY, compiled, tensor
from tests.fuzz.groups import differs_alone
from tests.fuzz.mutations import build
from tests.fuzz.outcomes import (
    NUMPY_TARGETS,
    TARGETS,
    Arguments,
    Outcome,
    as_text,
    call,
    compare,
    fault,
    frozen,
    is_beyond_float32,
    is_data,
    may_overflow,
    rounding_hides_errors,
)

# One case in so many is compiled by XLA too.
_XLA = 100


def check(name: str, seed: int) -> str | None:
    """Runs a case; returns what is wrong with it, or None."""
    target = TARGETS[name]
    jit_compile = _is_chosen(name, seed, _XLA)
    graph = jit_compile or _is_chosen(name, seed, RARELY)
    return check_target(target, seed, graph, jit_compile)


def _is_chosen(name: str, seed: int, one_in: int) -> bool:
    return zlib.crc32(f"{name}:{seed}".encode()) % one_in == 0


def check_target(
    target: Function, seed: int, graph: bool = False, jit_compile: bool = False
) -> str | None:
    """Runs a case of a target, in a graph too if asked."""
    arguments, changes = build(target, seed)
    before = frozen(arguments)
    twin = outcome(target, arguments)
    ours = call(target.find(um), arguments)
    if frozen(arguments) != before:
        return "an argument was changed"
    for room, done in (("NumPy", twin), ("tensors", ours)):
        if done.error is not None:
            complaint = fault(target.parameters, done.error)
            if complaint:
                return f"{room} {complaint}"
    grouped = arguments.get("num_groups") is not None
    if twin.values is not None and grouped:
        problem = differs_alone(target, arguments, twin)
        if problem:
            return problem
    bounded = not (grouped or target.unbounded or may_overflow(arguments))
    if twin.values is not None and bounded and not np.all(np.isfinite(twin.values)):
        return f"NumPy gives {as_text(twin)}"
    difference = compare(target, arguments, ours, twin, changes)
    if difference or not graph or target.name == "risk_coverage_curve":
        return difference
    return _check_graph(target, arguments, twin, ours, jit_compile)


def check_numpy(name: str, seed: int) -> str | None:
    """Runs a case of a function that only NumPy has."""
    target = NUMPY_TARGETS[name]
    arguments, _ = build(target, seed)
    before = frozen(arguments)
    done = outcome(target, arguments)
    if frozen(arguments) != before:
        return "an argument was changed"
    if done.error is not None:
        # The bootstrap takes the arguments of other functions too.
        named = {*target.parameters, *arguments}
        for value in arguments.values():
            named |= {*value} if isinstance(value, dict) else set()
        return fault(named, done.error)
    bounded = not (target.unbounded or may_overflow(arguments))
    if bounded and not np.all(np.isfinite(done.values)):
        return f"gives {as_text(done)}"
    return None


def check_good(
    target: Function, seed: int, dtype: type, *, graph: bool, jit_compile: bool = False
) -> str | None:
    """Compares the halves for good arguments of one precision.

    Without XLA the graph does not know the number of examples.
    """
    n = 12
    arguments = target.draw(np.random.default_rng([seed, *target.name.encode()]), (n,))
    arguments = {
        name: value.astype(dtype)
        if isinstance(value, np.ndarray) and value.dtype == np.float64
        else value
        for name, value in arguments.items()
    }
    twin, ours = (call(target.find(room), arguments) for room in (um_np, um))
    if twin.error is not None or ours.error is not None:
        return f"NumPy: {as_text(twin)}; tensors: {as_text(ours)}"
    difference = compare(target, arguments, ours, twin)
    if difference or not graph or target.name == "risk_coverage_curve":
        return difference
    shapes = None
    if not jit_compile:
        shapes = {
            name: [None if size == n else size for size in np.shape(value)]
            for name, value in arguments.items()
        }
    return _check_graph(target, arguments, twin, ours, jit_compile, shapes)


def outcome(target: Function, arguments: Arguments) -> Outcome:
    """Returns the outcome of the NumPy function."""
    return call(target.find(um_np), arguments)


def _check_graph(target, arguments, twin, ours, jit_compile, shapes=None) -> str | None:
    """Compares a compiled call with the eager calls."""
    compiled = in_graph(target, arguments, shapes=shapes, jit_compile=jit_compile)
    if compiled is None:
        return None
    if compiled.error is not None:
        complaint = fault(target.parameters, compiled.error)
        if complaint:
            return f"in a graph it {complaint}"
        works_eagerly = twin.error is None and ours.error is None
        if works_eagerly and not is_beyond_float32(arguments):
            return f"raises only in a graph: {compiled.error}"
        return None
    if twin.error is not None:
        rounded = is_beyond_float32(arguments) or rounding_hides_errors(arguments)
        if not rounded and not np.any(np.isnan(compiled.values)):
            return f"NumPy: {as_text(twin)}; graph: {as_text(compiled)}"
        return None
    return compare(target, arguments, compiled, ours)


def in_graph(
    target: Function,
    arguments: Arguments,
    *,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    jit_compile: bool = False,
) -> Outcome | None:
    """Calls a compiled function, with arrays as tensors of the given static shapes.

    Returns None if an array cannot be a tensor.
    """
    data = {
        name: value
        for name, value in arguments.items()
        if is_data(value) and name not in target.options
    }
    rest = {name: value for name, value in arguments.items() if name not in data}
    try:
        tensors = {name: tensor(value) for name, value in data.items()}
    except NOT_CONVERTIBLE:
        return None

    def function(tensors):
        return target.find(um)(**tensors, **rest)

    signature = None
    if shapes is not None:
        import tensorflow as tf

        signature = [
            {key: tf.TensorSpec(shapes[key], x.dtype) for key, x in tensors.items()}
        ]
    return call(lambda: compiled(function, signature, jit_compile)(tensors), {})


def show(name: str, seed: int) -> None:
    """Prints a case, what NumPy and TensorFlow do, and what graphs do wrong."""
    target = (TARGETS | NUMPY_TARGETS)[name]
    arguments, _ = build(target, seed)
    with np.printoptions(threshold=20, edgeitems=3):
        print(", ".join(f"{name}={value!r}" for name, value in arguments.items()))
    for room in (um_np, um):
        done = call(target.find(room), arguments)
        if done.error is not None:
            traceback.print_exception(done.error)
        else:
            print(done.values)
    for jit_compile in (False, True):
        print(check_target(target, seed, graph=True, jit_compile=jit_compile))
