"""TensorFlow's names on `keras.ops`, for the tensors of JAX and PyTorch.

The arithmetic of this package is written once, as `xp.reduce_sum(xp.math.log(x))`. On
TensorFlow `xp` is TensorFlow itself, so that its graphs pay nothing for the others. On
JAX and PyTorch `xp` is `names`, the table at the end of this file, which has the same
names as far as the arithmetic uses them.

A function whose name Python has, too, ends in an underscore here, not in the table:
`xp.range` is `range_`. Functions do what TensorFlow's do, and only deviations have a
docstring. Shapes are static: `shape` returns integers, and `size` returns one.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
from keras import ops

_IS_JAX = keras.backend.backend() == "jax"
_native: Any
_tensor_type: Any
if _IS_JAX:
    import jax
    import jax.numpy as jnp
    import jax.scipy.special as _special

    _native, _tensor_type = jnp, jax.Array
else:
    import torch
    import torch.special as _special

    _native, _tensor_type = torch, torch.Tensor


# Types.


def _dtype(name: str) -> Any:
    return np.dtype(name) if _IS_JAX else getattr(torch, name)


@functools.cache
def _name(dtype: Any) -> str:
    return keras.backend.standardize_dtype(dtype)


bool_ = _dtype("bool")
int16, int32, int64 = map(_dtype, ("int16", "int32", "int64"))
uint16, uint32, uint64 = map(_dtype, ("uint16", "uint32", "uint64"))
float32, float64 = map(_dtype, ("float32", "float64"))
# What JAX has instead, unless it was started with 64 bits.
_NARROWER = {"int64": int32, "uint64": uint32, "float64": float32}


# Tensors of values.


def is_tensor(value: Any) -> bool:
    return isinstance(value, _tensor_type)


def convert_to_tensor(value: Any) -> Any:
    return constant(value.value if isinstance(value, keras.Variable) else value)


def constant(value: Any, dtype: Any = None) -> Any:
    if is_tensor(value):
        return value if dtype is None else cast(value, dtype)
    if isinstance(value, list | tuple) and any(map(is_tensor, value)):
        return stack(value)
    if isinstance(value, bool | int | float) and dtype is not None:
        return ops.convert_to_tensor(value, _name(dtype))
    array = np.asarray(value)
    if array.dtype == np.int64 and _IS_JAX and not jax.config.jax_enable_x64:
        # JAX would keep the lower half of the bits.
        array = array.clip(-(2**31), None if dtype == uint32 else 2**31 - 1)
    if dtype is not None:
        array = array.astype(_name(dtype))
    elif not isinstance(value, np.ndarray | np.generic):  # Numbers of Python.
        array = array.astype({"f": "float32", "i": "int32"}.get(array.dtype.kind, "?"))
    return ops.convert_to_tensor(array)


def cast(x: Any, dtype: Any) -> Any:
    if not is_tensor(x):
        return constant(x, dtype)
    if _IS_JAX and not jax.config.jax_enable_x64:  # JAX would do the same and warn.
        dtype = _NARROWER.get(_name(dtype), dtype)
    if x.dtype == dtype:
        return x
    # For uint32, which PyTorch cannot shift, Keras takes int64.
    if _IS_JAX or dtype == uint32:
        return ops.cast(x, _name(dtype))
    return x.to(_dtype(_name(dtype)))


def _of_one_type(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns both as tensors; a number takes the type of the tensor beside it."""
    if is_tensor(x):
        return x, (y if is_tensor(y) else constant(y, x.dtype))
    return (constant(x, y.dtype), y) if is_tensor(y) else (constant(x), constant(y))


def _ints(values: Any) -> list[int]:
    return [int(value) for value in np.ravel(values)]


def fill(shape: Any, value: Any) -> Any:
    value = constant(value)
    return ops.broadcast_to(value, _ints(shape))


def _filled(make: Any, make_like: Any) -> tuple[Callable[..., Any], ...]:
    def filled(shape: Any, dtype: Any = None) -> Any:
        return make(_ints(shape), _name(dtype or float32))

    return filled, lambda x, dtype=None: make_like(x, dtype=dtype or x.dtype)


zeros, zeros_like = _filled(ops.zeros, _native.zeros_like)
ones, ones_like = _filled(ops.ones, _native.ones_like)


def range_(start: int, limit: int | None = None, dtype: Any = None) -> Any:
    first, last = (0, start) if limit is None else (start, limit)
    return constant(np.arange(first, last, dtype=_name(dtype or int32)))


def eye(rows: int, dtype: Any = None) -> Any:
    return ops.eye(rows, dtype=_name(dtype or float32))


def one_hot(
    indices: Any, depth: int, on: Any = 1, off: Any = 0, dtype: Any = None
) -> Any:
    dtype = dtype or float32
    hot = indices[..., None] == range_(depth)
    return where(hot, constant(on, dtype), constant(off, dtype))


# Shapes.


def shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape)


def size(x: Any, out_type: Any = None) -> Any:
    number = math.prod(x.shape)
    return number if out_type is None else constant(number, out_type)


def reshape(x: Any, shape: Any) -> Any:
    return x.reshape(_ints(shape))


def broadcast_to(x: Any, shape: Any) -> Any:
    return ops.broadcast_to(x, _ints(shape))


def ensure_shape(x: Any, shape: Any) -> Any:
    del shape  # All shapes are known.
    return x


def squeeze(x: Any, axis: Any) -> Any:
    axes = [axis] if isinstance(axis, int) else axis
    dropped = {a % len(x.shape) for a in axes}
    return reshape(x, [n for i, n in enumerate(x.shape) if i not in dropped])


def concat(values: Sequence[Any], axis: int) -> Any:
    if not any(map(is_tensor, values)):  # Parts of a shape.
        return np.concatenate([np.atleast_1d(value) for value in values])
    return _native.concatenate(list(values), axis)


def stack(values: Sequence[Any], axis: int = 0) -> Any:
    return _native.stack(list(map(constant, values)), axis)


def unstack(x: Any, axis: int = 0) -> list[Any]:
    return list(ops.unstack(x, axis=axis))


def split(x: Any, num_or_sizes: Any, axis: int = 0) -> list[Any]:
    return list(ops.split(x, num_or_sizes, axis))


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


# Places of numbers.


def slice_(x: Any, begin: Any, size: Any) -> Any:
    return ops.slice(x, constant(begin), _ints(size))


def gather(x: Any, indices: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    """Gathers along the last axis where there are batch dimensions."""
    x = constant(x)
    if batch_dims:
        return ops.take_along_axis(x, cast(indices, int64), axis=-1)
    indices = constant(indices)
    if _IS_JAX or len(indices.shape) != 1:
        return ops.take(x, indices, axis=axis)
    return x.index_select(axis, indices)  # Keras looks for negative indices before.


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    return ops.scatter(indices, updates, tuple(_ints(shape)))


def argsort(
    x: Any, axis: int = -1, direction: str = "ASCENDING", stable: Any = True
) -> Any:
    """Keeps equal numbers in their order, whatever `stable` is."""
    del stable
    return cast(ops.argsort(x if direction == "ASCENDING" else -x, axis), int32)


def sort(x: Any, axis: int = -1, direction: str = "ASCENDING") -> Any:
    return ops.sort(x, axis) if direction == "ASCENDING" else -ops.sort(-x, axis)


def argmax(x: Any, axis: int = -1, output_type: Any = None) -> Any:
    output_type = output_type or int32
    if _IS_JAX:
        # `jnp.argmax` would be int64 where it is traced with 64 bits, and int32 where
        # the compiled code runs without them.
        return jax.lax.argmax(x, axis % len(x.shape), output_type)
    # PyTorch's argmax takes two to four times as long.
    return cast(x.max(axis).indices, output_type)


def top_k(x: Any, k: int) -> SimpleNamespace:
    values, indices = ops.top_k(x, k)
    return SimpleNamespace(values=values, indices=indices)


# Choices and loops.


def where(condition: Any, x: Any, y: Any) -> Any:
    return _native.where(constant(condition), *_of_one_type(x, y))


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    maximum_iterations: int | None = None,
) -> Any:
    return ops.while_loop(cond, body, tuple(loop_vars), maximum_iterations)


# Numbers, one by one. `_native` is used where `keras.ops` rounds 64 bits to 32.


def maximum(x: Any, y: Any) -> Any:
    return _native.maximum(*_of_one_type(x, y))


def minimum(x: Any, y: Any) -> Any:
    return _native.minimum(*_of_one_type(x, y))


def clip_by_value(x: Any, low: Any, high: Any) -> Any:
    are_numbers = not (is_tensor(low) or is_tensor(high))
    if are_numbers and not _IS_JAX and not x.requires_grad:
        return x.clamp(low, high).to(x.dtype)  # One pass instead of two.
    return minimum(maximum(x, low), high)


def add_n(values: Sequence[Any]) -> Any:
    return functools.reduce(operator.add, values)


def pow_(x: Any, y: Any) -> Any:
    return ops.power(*_of_one_type(x, y))


def squared_difference(x: Any, y: Any) -> Any:
    return (x - y) * (x - y)


def multiply_no_nan(x: Any, y: Any) -> Any:
    """Returns the product; 0 where y is 0, whatever x is there."""
    is_zero = y == 0
    return where(is_zero, 0, x) * y


def divide_no_nan(x: Any, y: Any) -> Any:
    """Returns the quotient; 0 where y is 0, whatever x is there."""
    x, y = _of_one_type(x, y)
    is_zero = y == 0
    return where(is_zero, 0, x) / where(is_zero, 1, y)


def is_finite(x: Any) -> Any:
    if _IS_JAX or not x.dtype.is_floating_point:
        return _native.isfinite(x)
    return x.abs() < math.inf  # `torch.isfinite` takes twice as many passes.


def xlogy(x: Any, y: Any) -> Any:
    is_zero = x == 0
    return where(is_zero, 0, x * ops.log(where(is_zero, 1, y)))


def complex_(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns a pair, as functions of `keras.ops` take complex numbers."""
    return x, y


def real(x: tuple[Any, Any]) -> Any:
    return x[0]


def bitcast(x: Any, dtype: Any) -> Any:
    return ops.view(x, _name(dtype))


def _bitwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(*_of_one_type(x, y))


# Sums and other reductions.


def reduce_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the sum, in the type of x: NumPy, JAX and PyTorch would widen it."""
    x = constant(x)
    dtype = int32 if x.dtype == bool_ else x.dtype
    return _native.sum(x, axis=axis, keepdims=keepdims, dtype=dtype)


reduce_mean, reduce_logsumexp = _native.mean, ops.logsumexp
reduce_prod = math.prod  # It is used for shapes only.


def reduce_max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(ops.max, constant(x), axis, keepdims, lowest=True)


def reduce_min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(ops.min, constant(x), axis, keepdims, lowest=False)


def _extreme(
    reduce: Callable[..., Any], x: Any, axis: Any, keepdims: Any, lowest: bool
) -> Any:
    """Returns the extreme; of no numbers, as TensorFlow does, the limit of the type."""
    if 0 in x.shape:
        shape = ops.sum(x, axis=axis, keepdims=keepdims).shape
        return ops.full(shape, _limit(x.dtype, lowest), _name(x.dtype))
    return reduce(x, axis=axis, keepdims=keepdims)


def _limit(dtype: Any, lowest: bool) -> Any:
    """Returns the lowest or the largest number of a type."""
    if "int" not in _name(dtype):
        return -np.inf if lowest else np.inf
    return np.iinfo(_name(dtype)).min if lowest else np.iinfo(_name(dtype)).max


def reduce_all(x: Any, axis: Any = None) -> Any:
    x = constant(x)
    if _IS_JAX or axis is not None or 0 in x.shape:
        return ops.all(x, axis=axis)
    return x.view(torch.uint8).amin() != 0  # `all` takes thirty times as long.


def reduce_any(x: Any, axis: Any = None) -> Any:
    x = constant(x)
    if _IS_JAX or axis is not None or 0 in x.shape:
        return ops.any(x, axis=axis)
    return x.view(torch.uint8).amax() != 0


def reduce_euclidean_norm(x: Any, axis: Any = None) -> Any:
    return _native.sqrt(reduce_sum(x * x, axis))


def reduce_variance(x: Any, axis: Any = None) -> Any:
    centred = x - reduce_mean(x, axis, keepdims=True)
    return reduce_mean(centred * centred, axis)


def count_nonzero(x: Any) -> Any:
    return ops.sum(ops.cast(x != 0, "int32"))


def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: Any = False) -> Any:
    if reverse:
        x = ops.flip(x, axis)
    total = _native.cumsum(x, axis, dtype=x.dtype)
    if exclusive:
        rows = ops.moveaxis(total, axis, 0)
        rows = ops.concatenate([ops.zeros_like(rows[:1]), rows[:-1]], axis=0)
        total = ops.moveaxis(rows, 0, axis)
    return ops.flip(total, axis) if reverse else total


def _segment_reduction(how: str) -> Callable[..., Any]:
    """Returns `unsorted_segment_sum`, or that of "max" or "min"."""

    def reduced(values: Any, segment: Any, num_segments: Any) -> Any:
        # Values of negative segments go into the first, which is dropped.
        segment, count = maximum(segment, -1) + 1, int(num_segments) + 1
        if _IS_JAX:
            return getattr(jax.ops, f"segment_{how}")(values, segment, count)[1:]
        # `keras.ops` would reduce integers, too, in float32.
        start = 0 if how == "sum" else _limit(values.dtype, how == "max")
        result = values.new_full((count, *values.shape[1:]), start)
        if how == "sum":  # Four times as fast as `scatter_reduce`.
            return result.index_add(0, segment, values)[1:]
        rows = segment.long().reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
        return result.scatter_reduce(0, rows, values, f"a{how}")[1:]

    return reduced


# Matrices and classes.

# Without `precision` JAX rounds products to less than the type holds, on GPUs and TPUs;
# so does `keras.ops` on PyTorch.
matmul = functools.partial(jnp.matmul, precision="highest") if _IS_JAX else torch.matmul


def eigvalsh(x: Any) -> Any:
    return ops.eigh(x)[0]


def triangular_solve(matrix: Any, rhs: Any) -> Any:
    return ops.solve_triangular(matrix, rhs, lower=True)


def cross_entropy(labels: Any, logits: Any) -> Any:
    # The function of Keras multiplies by zeros on JAX: logits of -inf would give NaN.
    return -gather(ops.log_softmax(logits), labels[..., None], batch_dims=1)[..., 0]


class TensorFlowNames(SimpleNamespace):
    """A table of names; a name that it lacks raises AttributeError."""


names = TensorFlowNames(
    # Types.
    Tensor=Any,
    DType=Any,
    bool=bool_,
    int16=int16,
    int32=int32,
    int64=int64,
    uint16=uint16,
    uint32=uint32,
    uint64=uint64,
    float32=float32,
    float64=float64,
    # Tensors of values.
    is_tensor=is_tensor,
    convert_to_tensor=convert_to_tensor,
    constant=constant,
    cast=cast,
    fill=fill,
    zeros=zeros,
    zeros_like=zeros_like,
    ones=ones,
    ones_like=ones_like,
    range=range_,
    eye=eye,
    one_hot=one_hot,
    # Shapes.
    shape=shape,
    size=size,
    reshape=reshape,
    broadcast_to=broadcast_to,
    ensure_shape=ensure_shape,
    squeeze=squeeze,
    concat=concat,
    stack=stack,
    unstack=unstack,
    split=split,
    tile=tile,
    repeat=repeat,
    pad=pad,
    reverse=reverse,
    roll=ops.roll,
    transpose=ops.transpose,
    # Places of numbers.
    slice=slice_,
    gather=gather,
    scatter_nd=scatter_nd,
    tensor_scatter_nd_update=ops.scatter_update,
    argsort=argsort,
    sort=sort,
    argmax=argmax,
    # Choices and loops.
    where=where,
    cond=ops.cond,
    while_loop=while_loop,
    stop_gradient=ops.stop_gradient,
    # Numbers, one by one.
    maximum=maximum,
    minimum=minimum,
    clip_by_value=clip_by_value,
    less=operator.lt,
    less_equal=operator.le,
    add_n=add_n,
    pow=pow_,
    abs=_native.abs,
    floor=_native.floor,
    round=_native.round,
    sqrt=_native.sqrt,
    square=_native.square,
    exp=_native.exp,
    sin=_native.sin,
    cos=_native.cos,
    complex=complex_,
    bitcast=bitcast,
    # Sums and other reductions.
    reduce_sum=reduce_sum,
    reduce_mean=reduce_mean,
    reduce_logsumexp=reduce_logsumexp,
    reduce_prod=reduce_prod,
    reduce_max=reduce_max,
    reduce_min=reduce_min,
    reduce_all=reduce_all,
    reduce_any=reduce_any,
    cumsum=cumsum,
    # Matrices and classes.
    matmul=matmul,
    linalg=TensorFlowNames(
        cholesky=ops.cholesky, eigvalsh=eigvalsh, triangular_solve=triangular_solve
    ),
    signal=TensorFlowNames(irfft=ops.irfft, rfft=ops.rfft),
    nn=TensorFlowNames(
        log_softmax=ops.log_softmax,
        relu=ops.relu,
        softmax=ops.softmax,
        softplus=ops.softplus,
        sparse_softmax_cross_entropy_with_logits=cross_entropy,
    ),
    bitwise=TensorFlowNames(
        bitwise_and=_bitwise(ops.bitwise_and),
        bitwise_xor=_bitwise(ops.bitwise_xor),
        left_shift=_bitwise(ops.left_shift),
        right_shift=_bitwise(ops.right_shift),
    ),
    math=TensorFlowNames(
        atan2=_native.arctan2,
        ceil=_native.ceil,
        count_nonzero=count_nonzero,
        divide_no_nan=divide_no_nan,
        erf=ops.erf,
        erfc=_special.erfc,
        expm1=ops.expm1,
        is_finite=is_finite,
        is_nan=_native.isnan,
        log=_native.log,
        log1p=_native.log1p,
        multiply_no_nan=multiply_no_nan,
        real=real,
        reduce_euclidean_norm=reduce_euclidean_norm,
        reduce_variance=reduce_variance,
        rsqrt=ops.rsqrt,
        sigmoid=ops.sigmoid,
        softplus=ops.softplus,
        squared_difference=squared_difference,
        top_k=top_k,
        unsorted_segment_max=_segment_reduction("max"),
        unsorted_segment_min=_segment_reduction("min"),
        unsorted_segment_sum=_segment_reduction("sum"),
        xlogy=xlogy,
    ),
)
