"""Cases: good arguments, some of them changed."""

from __future__ import annotations

import copy
import math
import warnings

import ml_dtypes
import numpy as np

from tests import makers
from tests.catalogue import Function
from tests.fuzz.compiling import IS_JAX
from tests.fuzz.outcomes import Arguments

# Shapes of the examples. JAX compiles each step for each shape, so it has few shapes.
SHAPES = ((), (1,), (2,), (7,), (7,), (12,), (3, 4), (2, 3, 2), (5, 1), (0,), (3, 0))
if IS_JAX:
    SHAPES, makers.CLASSES[:] = ((7,), (7,), (3, 4), (0,)), [1, 3]
WEIGHTS = ("sample_weight", "mask")

# Mutations: each takes a generator and an array and returns what is passed instead.

_DTYPES = (
    *("float16", "float32", "float32", "float64", "longdouble", ml_dtypes.bfloat16),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bool", "complex128", ">f4", ">i8", ">f8", "str", "object", "datetime64[s]"),
)
_VALUES = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 255, 1e5),
    *(5e-324, 1e-45, 1e-40, 1e-30, 1e-17, 1e30, 1e200, 1.7e308, -1e-10, -1e30, -1e300),
    *(np.nextafter(1, 2), np.nextafter(np.float32(1), np.float32(2)), 1 + 1e-3),
    *(np.nextafter(1, 0), float(2**31), float(2**53), float(2**63), -(2.0**63)),
)
_STRANGERS = (
    *(None, "text", b"bytes", 1, 0.5, True, {}, {1, 2}, (), [], [[]], [None], object()),
    *([[0.1], [0.2, 0.3]], ["a", "b"], [1, "a"], 1j, np.float32(0.25), np.int64(1)),
    *(range(3), slice(3), print, float, np.array(["a"]), np.array(None), [[1], 2]),
    *(10**30, [10**30], [1 << 63], np.zeros((1, 1, 1, 1))),
)


def _cast(rng, array):
    dtype = np.dtype(_DTYPES[rng.integers(len(_DTYPES))])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if dtype.kind in "iuM":
            array = np.nan_to_num(array, posinf=9, neginf=0)
        if dtype.kind == "M":
            array = array.astype(np.int64)
        return array.astype(dtype)


def _value(rng, array):
    if array.size == 0:
        return array
    value = _VALUES[rng.integers(len(_VALUES))]
    if array.dtype.kind in "iu" and (not np.isfinite(value) or rng.random() < 0.5):
        array = array.astype(np.float64)
    array = array.copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.asarray(value).astype(array.dtype)
    if rng.random() < 0.15:
        return np.full_like(array, value)
    array[tuple(int(rng.integers(size)) for size in array.shape)] = value
    return array


def _scaled(rng, array):
    if array.dtype.kind not in "biuf":
        return array
    with np.errstate(all="ignore"):
        return array * _VALUES[rng.integers(len(_VALUES))]


def _reshaped(rng, array):
    changes = [
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[:1] if a.ndim else a,
        lambda a: a[1:] if a.ndim else a,
        lambda a: a[:0] if a.ndim else a,
        lambda a: a[..., :0] if a.ndim else a,
        lambda a: a[..., :1] if a.ndim else a,
        lambda a: a[0] if a.ndim and len(a) else a,
        lambda a: a[..., 0] if a.ndim and a.shape[-1] else a,
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: np.concatenate([a, a]) if a.ndim else a,
        lambda a: np.concatenate([a, a], axis=-1) if a.ndim else a,
    ]
    return changes[rng.integers(len(changes))](array)


def single(array):
    """Rounds wide floats to float32, as TensorFlow does with Python numbers."""
    wide = array.dtype.kind == "f" and array.dtype.itemsize > 4
    with np.errstate(all="ignore"):
        return array.astype(np.float32) if wide else array


def _unaligned(array):
    if array.dtype.hasobject:
        return array
    buffer = np.frombuffer(b"-" + array.tobytes(), np.uint8)[1:]
    return buffer.view(array.dtype).reshape(array.shape)


def _stored(rng, array):
    """Returns the same values in another container or memory layout."""
    forms = [
        lambda a: single(a).tolist(),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
        lambda a: np.ascontiguousarray(a[::-1])[::-1] if a.ndim else a,
        lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a,
        lambda a: a.astype(object),
        lambda a: np.ma.masked_array(a),
        lambda a: tuple(single(a).tolist()) if a.ndim else a,
        lambda a: list(a) if a.ndim and not a.dtype.hasobject else a,
        lambda a: a if a.dtype.kind in "mMV" else memoryview(np.ascontiguousarray(a)),
        _unaligned,
    ]
    return forms[rng.integers(len(forms))](array)


def _stranger(rng, array):
    return copy.copy(_STRANGERS[rng.integers(len(_STRANGERS))])


_MUTATIONS = (
    _cast,
    _cast,
    _value,
    _value,
    _value,
    _scaled,
    _reshaped,
    _stored,
    _stranger,
)


def _mutated_once(rng, array):
    """Returns the array after a random change.

    An array that does not allow this change, as text or some types, stays as it is.
    """
    try:
        return _MUTATIONS[rng.integers(len(_MUTATIONS))](rng, array)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return array


def _arrays(arguments):
    return [name for name, value in arguments.items() if isinstance(value, np.ndarray)]


def build(target: Function, seed: int) -> tuple[Arguments, int]:
    """Returns the arguments of a case, and in how many ways they may be bad.

    The same seed gives the same case.
    """
    rng = np.random.default_rng([seed, *target.name.encode()])
    shape = SHAPES[rng.integers(len(SHAPES))]
    arguments = target.draw_any(rng, shape)
    weights = [arguments[name] for name in WEIGHTS if name in arguments]
    changes = (0 in shape) + any(not np.any(values) for values in weights)
    # `aggregate` is False where it is drawn, which groups do not allow.
    changes += "groups" in arguments and "aggregate" in arguments
    if rng.random() < 0.4:  # All arrays in one type.
        dtype = np.dtype(str(rng.choice(["float32", "float32", "float16"])))
        for name in _arrays(arguments):
            if arguments[name].dtype == np.float64:
                arguments[name] = arguments[name].astype(dtype)
    for name, values in target.options.items():
        if rng.random() < 0.15:
            arguments[name] = copy.copy(values[rng.integers(len(values))])
            changes += 1
    for _ in range(int(rng.choice([0, 1, 1, 2]))):
        names = _arrays(arguments)
        if not names:
            break
        name = names[rng.integers(len(names))]
        arguments[name] = _mutated_once(rng, arguments[name])
        changes += 1
        if rng.random() < 0.05:
            other = str(
                rng.choice([*names, *target.options, "logits", "probabilities"])
            )
            if other in target.parameters:
                arguments[other] = arguments[name]
                changes += 1
    for name in _arrays(arguments):
        if rng.random() < 0.2:
            arguments[name].flags.writeable = False
    return arguments, changes


def mutated(rng, value):
    for _ in range(int(rng.choice([1, 1, 2]))):
        if isinstance(value, np.ndarray):
            value = _mutated_once(rng, value)
    return value
