"""How the arithmetic runs: eagerly or compiled, in 32 or 64 bits, with which gradients.

TensorFlow, JAX and PyTorch each have a way of their own for what is here; no other file
of the arithmetic knows it.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from uncertainty_metrics.ops import IS_JAX, IS_TENSORFLOW, _structures, xp

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf
if TYPE_CHECKING or IS_JAX:
    import jax

    from uncertainty_metrics.ops import _jax_tracing
if TYPE_CHECKING or not (IS_TENSORFLOW or IS_JAX):
    import keras
    import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Values = TypeVar("_Values")

# Whether `compiled` compiles; PyTorch runs the function as it is.
COMPILES = IS_TENSORFLOW or IS_JAX
# With this many numbers, or more, compilation saves more time than it takes.
_LARGE = 2**24
# Whether a variable may hold integers of 64 bits.
HAS_INT64_VARIABLES = not IS_JAX


# Whether `uncompiled` is entered.
_is_uncompiled = contextvars.ContextVar("_is_uncompiled", default=False)


# Eager or compiled.


def is_eager() -> bool:
    """Returns whether the values of tensors are known: no graph is built, and nothing
    is being compiled.
    """
    if IS_TENSORFLOW:
        return tf.executing_eagerly()
    if IS_JAX:
        return _jax_tracing.values_are_known()
    return not torch.compiler.is_compiling()


def is_traced(tensor: Any) -> bool:
    """Returns whether the value of a tensor is unknown although `is_eager`: JAX may
    trace a function in which constants have values.
    """
    return IS_JAX and _jax_tracing.is_traced(tensor)


def compiled(
    function: Callable[..., Any],
    *,
    with_xla: bool = False,
    any_size: bool = False,
    autograph: bool = False,
) -> Callable[..., Any]:
    """Returns the function compiled, where the backend compiles: in eager execution a
    call is then one call, not one for each operation.

    Args:
      function: of tensors, and of structures of them.
      with_xla: whether TensorFlow compiles with XLA, as JAX does in any case.
      any_size: whether TensorFlow, once it has met tensors of two sizes, makes one
        graph for all sizes.
      autograph: whether TensorFlow converts Python branches and loops.
    """
    if not IS_TENSORFLOW:
        return jax.jit(function) if IS_JAX else function
    graph = tf.function(
        function,
        jit_compile=True if with_xla else None,
        reduce_retracing=any_size,
        autograph=autograph,
    )

    @tf.autograph.experimental.do_not_convert
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        run = function if _is_uncompiled.get() else graph
        return run(*arguments, **named)

    return call


def is_uncompiled() -> bool:
    """Returns whether `uncompiled` is entered."""
    return _is_uncompiled.get()


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Runs the functions of `compiled` as they are on TensorFlow.

    TensorFlow warns of a function that it traces again and again while it holds a lock
    that each call of a `tf.function` takes. The warning shows `repr` of the function's
    metric: a call from there would wait for ever.
    """
    token = _is_uncompiled.set(True)
    try:
        yield
    finally:
        _is_uncompiled.reset(token)


def has_known_values(tensor: Any) -> bool:
    """Returns whether Python may branch on the values of a tensor, without a wait for
    another device.
    """
    return is_eager() and (
        isinstance(tensor, tf.Tensor) and "CPU" in tensor.device
        if IS_TENSORFLOW
        else not IS_JAX and tensor.device.type == "cpu"
    )


def needs_no_gradient(tensor: Any) -> bool:
    """Returns whether it is known that nobody takes a gradient in a tensor, which JAX
    does not say, nor TensorFlow in a graph.
    """
    if IS_TENSORFLOW:
        return tf.executing_eagerly() and not _has_tape()
    if IS_JAX:
        return False
    return not (tensor.requires_grad and torch.is_grad_enabled())


def _has_tape() -> bool:
    """Returns whether a `tf.GradientTape` or `tf.autodiff.ForwardAccumulator` may
    record what runs here.
    """
    try:  # No public name of TensorFlow tells.
        from tensorflow.python.eager import record
    except ImportError:
        return True
    return bool(record.could_possibly_record())


def is_for_numpy(tensor: Any) -> bool:
    """Returns whether NumPy may compute with a tensor: its values are in the memory of
    the CPU, and PyTorch records nothing for a gradient in it.
    """
    known = has_known_values(tensor)
    return known and (IS_TENSORFLOW or needs_no_gradient(tensor))


def is_worth_compiling(tensor: Any, often: bool = False) -> bool:
    """Returns whether a function of one tensor, on its own compiled with XLA, saves the
    time that compilation takes: the tensor is large, and of known shape.

    With `often` the function is not called once, but in each update of a metric.
    """
    least = _LARGE // 16 if often else _LARGE
    if None in tensor.shape or math.prod(tensor.shape) < least:
        return False
    return not has_strategy()  # Compiled functions fail in one, on CPU.


def has_fast_counts() -> bool:
    """Returns whether TensorFlow counts integers of 64 bits, and sums them by place,
    by `DenseBincount`: on CPU it takes a fifth of the time of a sum of segments, and
    GPUs have no such operation.
    """
    return IS_TENSORFLOW and not (
        tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("TPU")
    )


def rarely(function: Callable[[], _Values]) -> Callable[[], _Values]:
    """Returns a branch of `xp.cond` that is hardly ever taken.

    A graph of TensorFlow visits each operation of a branch, even where it does not take
    the branch. This branch is a single operation in it, a call of a function.
    """
    if not IS_TENSORFLOW or is_eager():
        return function
    return tf.function(
        function, autograph=False, experimental_attributes={"_noinline": True}
    )


@functools.lru_cache(maxsize=16)
def with_xla(function: Callable[..., Any], *options: Any) -> Callable[..., Any]:
    """Returns a function of tensors, whose first arguments are the options, compiled
    with XLA on its own. Calls with the same options share it.
    """
    return compiled(functools.partial(function, *options), with_xla=True)


def with_xla_if_large(
    tensor: Any, function: Callable[..., Any], *options: Any, often: bool = False
) -> Callable[..., Any]:
    """Returns `with_xla` if it is worth compiling for this tensor, else the function
    as it is, with the options.
    """
    if is_worth_compiling(tensor, often):
        return with_xla(function, *options)
    return functools.partial(function, *options)


# With this many numbers, or more, a sort by XLA saves much of the time of a graph.
LONG = 2**15


def is_worth_fast_sort(tensor: Any) -> bool:
    """Returns whether a function that sorts a tensor [N] should be compiled with XLA on
    its own, to sort by `stable_sort`.
    """
    size = tensor.shape[0]
    long = IS_TENSORFLOW and size is not None and size >= LONG
    return long and not has_strategy()  # Compiled functions fail in one, on CPU.


def stable_sort(values: xp.Tensor) -> xp.Tensor:
    """Returns integers [N] ascending, in a function that TensorFlow compiles with XLA.

    `tf.sort` moves indices along, and calls a comparison for each step: on CPU it takes
    five times as long, and twice as long without XLA. No public name sorts like this.
    """
    try:
        from tensorflow.compiler.tf2xla.ops import gen_xla_ops
    except ImportError:  # A later TensorFlow may have it elsewhere.
        return tf.sort(values)
    element = tf.TensorSpec([], values.dtype)
    less = tf.function(lambda a, b: a < b).get_concrete_function(element, element)
    (result,) = gen_xla_ops.xla_variadic_sort(
        [values], 0, comparator=less, is_stable=True
    )
    return result


def not_converted(function: _Function) -> _Function:
    """Returns a function whose Python code compilers of models leave as it is.

    AutoGraph of TensorFlow would rewrite its branches. Dynamo of PyTorch would take
    constants, which NumPy computes, for tensors.
    """
    if IS_TENSORFLOW:
        return tf.autograph.experimental.do_not_convert(function)
    if IS_JAX:
        return function
    undisturbed = torch.compiler.disable(function)

    # Dynamo looks inside of the function that `disable` returns, but not of this one.
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return undisturbed(*args, **kwargs)

    return called  # type: ignore[return-value]


def has_strategy() -> bool:
    """Returns whether a strategy of TensorFlow distributes what runs here."""
    return IS_TENSORFLOW and tf.distribute.has_strategy()


def on_device_of(*arguments: Any) -> contextlib.AbstractContextManager[object]:
    """Returns a context in which PyTorch computes on the device of the predictions, the
    first tensor of real numbers. Keras would move all tensors to its default device.
    """
    if IS_TENSORFLOW or IS_JAX:
        return contextlib.nullcontext()
    tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
    tensors.sort(key=lambda tensor: not tensor.is_floating_point())
    if not tensors:
        return contextlib.nullcontext()
    return keras.device(str(tensors[0].device))


def added_to_places(total: Any, places: xp.Tensor, values: xp.Tensor) -> xp.Tensor:
    """Returns a vector with values [n] added to its places, int32 [n]; the vector that
    was passed must not be used any more.
    """
    if IS_TENSORFLOW:
        return tf.tensor_scatter_nd_add(total, places[:, None], values)
    if IS_JAX:
        return total.at[places].add(values)
    return total.index_add_(0, places, values)


# 32 or 64 bits.

# Whether the arithmetic has 64 bits on JAX although arguments and results must not.
_widened: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "widened", default=False
)


def in_64_bits() -> contextlib.AbstractContextManager[object]:
    """Returns a context in which integers and floats may have 64 bits, so that sums are
    exact. JAX has such numbers only there, unless it was started with them.
    """
    if IS_JAX and not jax.config.jax_enable_x64:
        return _jax_in_64_bits()
    return contextlib.nullcontext()


@contextlib.contextmanager
def _jax_in_64_bits() -> Iterator[None]:
    token = _widened.set(True)
    try:
        with jax.enable_x64(True):
            yield
    finally:
        _widened.reset(token)


def has_float64() -> bool:
    """Returns whether arguments and results may be float64."""
    return not IS_JAX or (jax.config.jax_enable_x64 and not _widened.get())


def narrowed(values: _Values) -> _Values:
    """Returns a structure of tensors, float32 for float64 where results may not be."""
    if has_float64():
        return values

    def narrow(x: Any) -> Any:
        is_float64 = xp.is_tensor(x) and x.dtype == xp.float64
        return xp.cast(x, xp.float32) if is_float64 else x

    return _structures.mapped(narrow, values)


# Gradients.


def without_gradients() -> contextlib.AbstractContextManager[object]:
    """Returns a context of metrics, whose gradients nobody takes: PyTorch would prepare
    for them with each operation.
    """
    if IS_TENSORFLOW or IS_JAX:
        return contextlib.nullcontext()
    return torch.no_grad()


def custom_gradient(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function with a gradient of its own.

    Args:
      compute: of tensors. It returns the value, and a function from the gradient in the
        value to the gradients in the tensors.
    """
    if IS_TENSORFLOW:
        return tf.custom_gradient(compute)
    if IS_JAX:
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
