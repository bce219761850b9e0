"""TensorFlow's names for the tensors of JAX and PyTorch, on `keras.ops`.

The arithmetic of this package is written once, with the names of TensorFlow: there `xp`
is TensorFlow itself, and its graphs are what they always were. Here are the same names,
as far as the arithmetic uses them, for the other backends of Keras, and what
`keras.ops` has on none of them: a table at the end.

Shapes are static: `shape` returns integers, and `size` one.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import math as _math
import operator
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
from keras import ops

_IS_JAX = keras.backend.backend() == "jax"
if _IS_JAX:
    import jax
    import jax.numpy as jnp
    import jax.scipy.special as _special

    from uncertainty_metrics.ops import _jax_tracing

    _native, _tensors = jnp, jax.Array
else:
    import torch
    from torch import special as _special

    _native, _tensors = torch, torch.Tensor

Tensor = DType = Any


class Variable:
    """Nothing of these backends is a variable of TensorFlow, or ragged or sparse."""


RaggedTensor = SparseTensor = Variable


def _dtype(name: str) -> Any:
    return np.dtype(name) if _IS_JAX else getattr(torch, name)


bool, string = _dtype("bool"), None
int16, int32, int64 = map(_dtype, ("int16", "int32", "int64"))
uint16, uint32, uint64 = map(_dtype, ("uint16", "uint32", "uint64"))
float32, float64 = map(_dtype, ("float32", "float64"))


_NARROW = {"int64": int32, "uint64": uint32, "float64": float32}


@functools.cache
def name(dtype: Any) -> str:
    return keras.backend.standardize_dtype(dtype)


# Whether there are variables of 64 bits.
KEEPS_64_BITS = not _IS_JAX
# Whether the arithmetic has integers and floats of 64 bits that its arguments lack.
_widened: contextvars.ContextVar[builtins.bool] = contextvars.ContextVar(
    "widened", default=False
)


@contextlib.contextmanager
def wide() -> Iterator[None]:
    """Lets sums be as wide as they need to: JAX has no 64 bits elsewhere."""
    if not _IS_JAX or jax.config.jax_enable_x64:
        yield
        return
    token = _widened.set(True)
    try:
        with jax.enable_x64(True):
            yield
    finally:
        _widened.reset(token)


def has_float64() -> builtins.bool:
    """Says if arguments may be float64, and results."""
    return not _IS_JAX or (jax.config.jax_enable_x64 and not _widened.get())


def narrowed(values: Any) -> Any:
    """Returns a structure of tensors no wider than results may be."""
    if has_float64():
        return values

    def narrow(x: Any) -> Any:
        return cast(x, float32) if is_tensor(x) and x.dtype == float64 else x

    return keras.tree.map_structure(narrow, values)


def no_gradients() -> contextlib.AbstractContextManager[Any]:
    """Returns a context whose results have no gradients."""
    return contextlib.nullcontext() if _IS_JAX else torch.no_grad()


def executing_eagerly() -> builtins.bool:
    """Says if values are known."""
    return _jax_tracing.nothing() if _IS_JAX else not torch.compiler.is_compiling()


def is_traced(value: Any) -> builtins.bool:
    """Says if the value of a tensor is not known yet."""
    return _IS_JAX and _jax_tracing.is_traced(value)


# Whether `function` compiles.
COMPILES = _IS_JAX


def function(compute: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """Returns the function compiled, where the backend compiles."""
    return jax.jit(compute) if _IS_JAX else compute


def custom_gradient(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function of `compute`, which returns value and gradient."""
    if _IS_JAX:
        return jax.custom_gradient(compute)

    class Computed(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, *arguments: Any) -> Any:
            value, context.gradient = compute(*arguments)
            return value

        @staticmethod
        def backward(context: Any, *upstream: Any) -> Any:
            return context.gradient(*upstream)

    return Computed.apply


# Making and converting.


def is_tensor(value: Any) -> builtins.bool:
    return isinstance(value, _tensors)


def is_variable(value: Any) -> builtins.bool:
    return isinstance(value, keras.Variable)


def convert_to_tensor(value: Any, dtype: Any = None) -> Any:
    if isinstance(value, keras.Variable):
        value = value.value
    return constant(value) if dtype is None else cast(constant(value), dtype)


def constant(value: Any, dtype: Any = None) -> Any:
    if is_tensor(value):
        return value if dtype is None else cast(value, dtype)
    if isinstance(value, list | tuple) and any(map(is_tensor, value)):
        return stack(value)
    if isinstance(value, builtins.bool | int | float) and dtype is not None:
        return ops.convert_to_tensor(value, name(dtype))
    array = np.asarray(value)
    if array.dtype == np.int64 and _IS_JAX and not jax.config.jax_enable_x64:
        array = array.clip(-(2**31), None if dtype == uint32 else 2**31 - 1)
    if dtype is not None:
        array = array.astype(name(dtype))
    elif not isinstance(value, np.ndarray | np.generic):  # Of Python numbers.
        array = array.astype({"f": "float32", "i": "int32"}.get(array.dtype.kind, "?"))
    return ops.convert_to_tensor(array)


def cast(x: Any, dtype: Any) -> Any:
    if not is_tensor(x):
        return constant(x, dtype)
    if _IS_JAX and not jax.config.jax_enable_x64:  # Where it would warn.
        dtype = _NARROW.get(name(dtype), dtype)
    if x.dtype == dtype:
        return x
    if _IS_JAX or dtype == uint32:  # Of which PyTorch has no shifts, and Keras int64.
        return ops.cast(x, name(dtype))
    return x.to(_dtype(name(dtype)))


def _same(x: Any, y: Any) -> tuple[Any, Any]:
    """Gives numbers the type of the tensor beside them."""
    if is_tensor(x):
        return x, (y if is_tensor(y) else constant(y, x.dtype))
    return (constant(x, y.dtype), y) if is_tensor(y) else (constant(x), constant(y))


def shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape)


def size(x: Any, out_type: Any = None) -> Any:
    number = _math.prod(x.shape)
    return number if out_type is None else constant(number, out_type)


def _ints(values: Any) -> list[int]:
    return [int(value) for value in np.ravel(values)]


def fill(shape: Any, value: Any) -> Any:
    value = constant(value)
    return ops.broadcast_to(value, _ints(shape))


def _filled(make: Any, make_like: Any) -> tuple[Callable[..., Any], ...]:
    def filled(shape: Any, dtype: Any = None) -> Any:
        return make(_ints(shape), name(dtype or float32))

    return filled, lambda x, dtype=None: make_like(x, dtype=dtype or x.dtype)


zeros, zeros_like = _filled(ops.zeros, _native.zeros_like)
ones, ones_like = _filled(ops.ones, _native.ones_like)


def range(start: int, limit: int | None = None, dtype: Any = None) -> Any:
    first, last = (0, start) if limit is None else (start, limit)
    return constant(np.arange(first, last, dtype=name(dtype or int32)))


def eye(rows: int, dtype: Any = None) -> Any:
    return ops.eye(rows, dtype=name(dtype or float32))


def one_hot(
    indices: Any, depth: int, on: Any = 1, off: Any = 0, dtype: Any = None
) -> Any:
    dtype = dtype or float32
    hot = indices[..., None] == range(depth)
    return where(hot, constant(on, dtype), constant(off, dtype))


# Shapes and places.


def reshape(x: Any, shape: Any) -> Any:
    return x.reshape(_ints(shape))


def broadcast_to(x: Any, shape: Any) -> Any:
    return ops.broadcast_to(x, _ints(shape))


def ensure_shape(x: Any, shape: Any) -> Any:
    del shape  # It is known.
    return x


def concat(values: Sequence[Any], axis: int) -> Any:
    if not any(map(is_tensor, values)):  # A shape.
        return np.concatenate([np.atleast_1d(value) for value in values])
    return _native.concatenate(list(values), axis)


def stack(values: Sequence[Any], axis: int = 0) -> Any:
    return _native.stack(list(map(constant, values)), axis)


def unstack(x: Any, axis: int = 0) -> list[Any]:
    return list(ops.unstack(x, axis=axis))


def split(x: Any, sections: int, axis: int = 0) -> list[Any]:
    return list(ops.split(x, sections, axis))


def squeeze(x: Any, axis: Any) -> Any:
    axes = [axis] if isinstance(axis, int) else axis
    kept = {a % len(x.shape) for a in axes}
    return reshape(x, [n for i, n in enumerate(x.shape) if i not in kept])


def tile(x: Any, multiples: Any) -> Any:
    return ops.tile(x, _ints(multiples))


def repeat(x: Any, repeats: int) -> Any:
    return ops.repeat(x, int(repeats))


def pad(x: Any, paddings: Any, constant_values: Any = 0) -> Any:
    pairs = [_ints(pair) for pair in paddings]
    value = np.asarray(constant_values).item()
    return ops.pad(x, pairs, constant_values=value) if np.any(pairs) else x


def reverse(x: Any, axis: Any) -> Any:
    return ops.flip(x, axis=tuple(np.atleast_1d(axis)))


def slice(x: Any, begin: Any, size: Any) -> Any:
    return ops.slice(x, constant(begin), _ints(size))


def gather(x: Any, indices: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    x = constant(x)
    if batch_dims:
        return ops.take_along_axis(x, cast(indices, int64), axis=-1)
    return ops.take(x, constant(indices), axis=axis)


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    return ops.scatter(indices, updates, tuple(_ints(shape)))


roll, transpose = ops.roll, ops.transpose
# JAX rounds to less than the type holds, on GPUs and TPUs; `keras.ops` on PyTorch too.
matmul = functools.partial(jnp.matmul, precision="highest") if _IS_JAX else torch.matmul
tensor_scatter_nd_update = ops.scatter_update


def argsort(
    x: Any, axis: int = -1, direction: str = "ASCENDING", stable: Any = True
) -> Any:
    del stable
    return cast(ops.argsort(x if direction == "ASCENDING" else -x, axis), int32)


def sort(x: Any, axis: int = -1, direction: str = "ASCENDING") -> Any:
    return ops.sort(x, axis) if direction == "ASCENDING" else -ops.sort(-x, axis)


def argmax(x: Any, axis: int = -1, output_type: Any = None) -> Any:
    output_type = output_type or int32
    if _IS_JAX:  # Of int64 it would be known to be one only while it is traced.
        return jax.lax.argmax(x, axis % len(x.shape), output_type)
    return cast(ops.argmax(x, axis), output_type)


# Choices and control.


def where(condition: Any, x: Any, y: Any) -> Any:
    return _native.where(constant(condition), *_same(x, y))


cond, stop_gradient = ops.cond, ops.stop_gradient


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    maximum_iterations: int | None = None,
) -> Any:
    return ops.while_loop(cond, body, tuple(loop_vars), maximum_iterations)


# Arithmetic.
# `keras.ops` would round numbers of 64 bits to 32 in some of these.
def maximum(x: Any, y: Any) -> Any:
    return _native.maximum(*_same(x, y))


def minimum(x: Any, y: Any) -> Any:
    return _native.minimum(*_same(x, y))


def clip_by_value(x: Any, low: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


less, less_equal = operator.lt, operator.le


def add_n(values: Sequence[Any]) -> Any:
    return functools.reduce(lambda x, y: x + y, values)


abs, sqrt, exp, sign = _native.abs, _native.sqrt, _native.exp, _native.sign
floor, round, square = _native.floor, _native.round, _native.square
sin, cos, sigmoid = _native.sin, _native.cos, ops.sigmoid


def complex(x: Any, y: Any) -> tuple[Any, Any]:
    return x, y


def pow(x: Any, y: Any) -> Any:
    return ops.power(*_same(x, y))


def bitcast(x: Any, dtype: Any) -> Any:
    return ops.view(x, name(dtype))


def cumsum(
    x: Any, axis: int = 0, exclusive: builtins.bool = False, reverse: Any = False
) -> Any:
    if reverse:
        x = ops.flip(x, axis)
    total = _native.cumsum(x, axis, dtype=x.dtype)
    if exclusive:
        rows = ops.moveaxis(total, axis, 0)
        rows = ops.concatenate([ops.zeros_like(rows[:1]), rows[:-1]], axis=0)
        total = ops.moveaxis(rows, 0, axis)
    return ops.flip(total, axis) if reverse else total


def reduce_sum(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    x = constant(x)
    dtype = int32 if x.dtype == bool else x.dtype
    return _native.sum(x, axis=axis, keepdims=keepdims, dtype=dtype)


reduce_mean, reduce_logsumexp = _native.mean, ops.logsumexp
reduce_prod = _math.prod  # Of a shape, or of a part of one.


def reduce_max(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    return _extreme(ops.max, constant(x), axis, keepdims, lowest=True)


def reduce_min(x: Any, axis: Any = None, keepdims: builtins.bool = False) -> Any:
    return _extreme(ops.min, constant(x), axis, keepdims, lowest=False)


def _extreme(
    reduce: Callable[..., Any], x: Any, axis: Any, keepdims: Any, lowest: builtins.bool
) -> Any:
    """Returns the extreme; of nothing, as TensorFlow, the end of the line."""
    if 0 in x.shape:
        kept = ops.sum(x, axis=axis, keepdims=keepdims)
        return ops.full(kept.shape, _end(x.dtype, lowest), name(x.dtype))
    return reduce(x, axis=axis, keepdims=keepdims)


def _end(dtype: Any, lowest: builtins.bool) -> Any:
    if "int" not in name(dtype):
        return -np.inf if lowest else np.inf
    return np.iinfo(name(dtype)).min if lowest else np.iinfo(name(dtype)).max


def reduce_all(x: Any, axis: Any = None) -> Any:
    return ops.all(constant(x), axis=axis)


def reduce_any(x: Any, axis: Any = None) -> Any:
    return ops.any(constant(x), axis=axis)


def _segments(how: str) -> Callable[..., Any]:
    def reduced(values: Any, segment: Any, num_segments: Any) -> Any:
        count = int(num_segments)
        # What belongs to no segment has a last one, which goes.
        segment = where(segment < 0, count, segment)
        if _IS_JAX:
            return getattr(jax.ops, f"segment_{how}")(values, segment, count + 1)[:-1]
        # `keras.ops` would do it in float32, of integers too.
        first = 0 if how == "sum" else _end(values.dtype, how == "max")
        found = values.new_full((count + 1, *values.shape[1:]), first)
        if how == "sum":  # In a quarter of the time.
            return found.index_add(0, segment, values)[:-1]
        rows = segment.long().reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
        return found.scatter_reduce(0, rows, values, f"a{how}")[:-1]

    return reduced


def _multiply_no_nan(x: Any, y: Any) -> Any:
    """Returns the product, 0 where y is."""
    nothing = y == 0
    return where(nothing, 0, x) * y


def _xlogy(x: Any, y: Any) -> Any:
    nothing = x == 0
    return where(nothing, 0, x * ops.log(where(nothing, 1, y)))


def _divide_no_nan(x: Any, y: Any) -> Any:
    """Returns the quotient, 0 where y is."""
    x, y = _same(x, y)
    nothing = y == 0
    return where(nothing, 0, x) / where(nothing, 1, y)


def _cross_entropy(labels: Any, logits: Any) -> Any:
    # That of Keras on JAX multiplies by zeros, which logits of -inf make NaN.
    return -gather(ops.log_softmax(logits), labels[..., None], batch_dims=1)[..., 0]


def _variance(x: Any, axis: Any = None) -> Any:
    centred = x - reduce_mean(x, axis, keepdims=True)
    return reduce_mean(centred * centred, axis)


def _top_k(x: Any, k: int) -> SimpleNamespace:
    values, indices = ops.top_k(x, k)
    return SimpleNamespace(values=values, indices=indices)


math = SimpleNamespace(
    atan2=_native.arctan2,
    ceil=_native.ceil,
    count_nonzero=lambda x: ops.sum(ops.cast(x != 0, "int32")),
    divide_no_nan=_divide_no_nan,
    erf=ops.erf,
    expm1=ops.expm1,
    is_finite=_native.isfinite,
    is_nan=_native.isnan,
    log=_native.log,
    log1p=_native.log1p,
    multiply_no_nan=_multiply_no_nan,
    real=lambda x: x[0],
    reduce_euclidean_norm=lambda x, axis=None: sqrt(reduce_sum(x * x, axis)),
    reduce_variance=_variance,
    rsqrt=ops.rsqrt,
    sigmoid=ops.sigmoid,
    softplus=ops.softplus,
    squared_difference=lambda x, y: (x - y) * (x - y),
    top_k=_top_k,
    unsorted_segment_max=_segments("max"),
    unsorted_segment_min=_segments("min"),
    unsorted_segment_sum=_segments("sum"),
    xlogy=_xlogy,
    # What `keras.ops` lacks.
    erfc=_special.erfc,
    igamma=_special.gammainc,
    lgamma=_special.gammaln,
)


linalg = SimpleNamespace(
    cholesky=ops.cholesky,
    eigvalsh=lambda x: ops.eigh(x)[0],
    triangular_solve=lambda x, y: ops.solve_triangular(x, y, lower=True),
)


nn = SimpleNamespace(
    log_softmax=ops.log_softmax,
    relu=ops.relu,
    softmax=ops.softmax,
    softplus=ops.softplus,
    sparse_softmax_cross_entropy_with_logits=_cross_entropy,
)
signal = SimpleNamespace(irfft=ops.irfft, rfft=ops.rfft)
bitwise = SimpleNamespace(
    bitwise_and=lambda x, y: ops.bitwise_and(*_same(x, y)),
    bitwise_xor=lambda x, y: ops.bitwise_xor(*_same(x, y)),
    left_shift=lambda x, y: ops.left_shift(*_same(x, y)),
    right_shift=lambda x, y: ops.right_shift(*_same(x, y)),
)
nest = keras.tree


def _do_not_convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that compiled models call as it is: Dynamo takes the constants
    that NumPy makes for tensors of PyTorch.
    """
    if _IS_JAX:
        return function
    as_it_is = torch.compiler.disable(function)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:  # Dynamo unwraps what it compiles.
        return as_it_is(*args, **kwargs)

    return called


autograph = SimpleNamespace(
    experimental=SimpleNamespace(do_not_convert=_do_not_convert)
)
# What is TensorFlow's alone.
distribute = SimpleNamespace(has_strategy=lambda: False)


def to_numpy(x: Any) -> np.ndarray:
    """Returns the values, without gradients."""
    if _IS_JAX:
        return np.asarray(jax.lax.stop_gradient(x))
    if not is_tensor(x):
        return np.asarray(x)
    x = x.detach().cpu()
    if x.dtype == torch.bfloat16:
        return x.float().numpy().astype(name(x.dtype))
    return x.numpy()
