"""XLA gets static shapes, no calls back to Python, and no float64 for float32.

An accelerator needs all three, and no other test on a CPU would notice. Lowering a
function shows them without compiling it: a size that is unknown at compile time raises,
and dimensions that depend on data are printed as `<=n`.
"""

import dataclasses
import gc
import inspect
import re
import weakref

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import every_kind
from uncertainty_metrics.keras import _variables
from uncertainty_metrics.keras.metrics import _scores

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors, pytest.mark.thorough]

# Custom calls, but for eigenvalues, which XLA itself expands.
CALLS = r'custom-call(?!.*"Eigh")'
DYNAMIC = rf"<=\d|dynamic-reshape|{CALLS}|(?:outfeed|infeed|send|recv)\("
FLOAT64 = r"(?:f64|c128)\["
BANNED = rf"{DYNAMIC}|{FLOAT64}"


def lowered(function, *specs, **named):
    """Returns the HLO text of a function, which needs only the specs of arguments."""
    graph = tf.function(function, jit_compile=True, autograph=False)
    return graph.experimental_get_compiler_ir(*specs, **named)(stage="hlo")


def check(function, *specs, banned=BANNED, **named):
    __tracebackhide__ = True
    lines = lowered(function, *specs, **named).splitlines()
    found = [line.strip() for line in lines if re.search(banned, line)]
    assert not found, found[0]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def specs_of(arrays):
    """Returns the specs of arrays; float64 becomes float32."""
    return {
        name: spec(
            *array.shape,
            dtype=tf.float32 if array.dtype == np.float64 else array.dtype,
        )
        for name, array in arrays.items()
    }


# Numbers of examples and classes.
N, K = 7, 3
REALS = spec(N)
ROWS = spec(N, K)


def parts(result):
    """Returns the tensors of a result of any class."""
    if dataclasses.is_dataclass(result):
        result = vars(result)
    tensors = [part for part in tf.nest.flatten(result) if tf.is_tensor(part)]
    assert tensors
    return tensors


CALLABLES = [row for row in catalogue.CALLABLES if row.half != "numpy"]


def of_normal(function):
    """Turns a function of a distribution into one of the means of Normals."""
    from tensorflow_probability import distributions

    def call(means, **values):
        return function(distribution=distributions.Normal(means, 1.0), **values)

    return call


def check_function(row, rng, banned):
    arguments, function = row.draw(rng, (N,)), row.find(um)
    if distribution := arguments.pop("distribution", None):
        arguments["means"] = distribution.loc.numpy()
        function = of_normal(function)
    arrays = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}
    options = {k: v for k, v in arguments.items() if k not in arrays}
    check(
        lambda **tensors: parts(function(**tensors, **options)),
        banned=banned,
        **specs_of(arrays),
    )


@catalogue.first_of_kernel(CALLABLES)
def test_functions_lower(row, rng):
    check_function(row, rng, DYNAMIC)


@catalogue.first_of_kernel(CALLABLES)
def test_functions_lower_without_float64(row, rng):
    check_function(row, rng, FLOAT64)


@every_kind
def test_metrics_lower(row, options, rng):
    made = row.made(options)
    takes = inspect.signature(type(made)).parameters
    if "num_classes" in takes and not made._has_sums:
        options = {"num_classes": K, **options}
    made = specs_of(vars(row.lattice(rng, N)))
    metric = row.made(options)

    def update(*batch):
        metric.update_state(*batch)

    check(update, made["labels"], made["predictions"], REALS)
    check(lambda: parts(metric.result()))


@pytest.mark.parametrize("row", catalogue.LOSSES, ids=lambda row: row.name)
def test_losses_and_their_gradients_lower(row, rng):
    loss = row.find(um)(**row.options)
    made = specs_of(vars(row.of_metric.lattice(rng, N)))

    def value_and_gradient(y_true, y_pred, weights):
        with tf.GradientTape() as tape:
            tape.watch(y_pred)
            value = loss(y_true, y_pred, weights)
        return value, tape.gradient(value, y_pred)

    # This loss sorts samples together with their indices, which float32 cannot hold.
    banned = DYNAMIC if row.name == "CRPSSampleLoss" else BANNED
    check(value_and_gradient, made["labels"], made["predictions"], REALS, banned=banned)


@pytest.mark.parametrize("name", ["Temperature", "Vector", "Matrix"])
def test_layers_lower(name):
    layer = getattr(um, f"{name}ScalingLayer")()
    layer(tf.zeros([N, K]))
    check(layer, ROWS)


def kept(x):
    return tf.boolean_mask(x, x > 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.reduce_sum(kept(x)),
        lambda x: tf.size(tf.unique(x)[0]),
        lambda x: tf.reduce_sum(x[: tf.cast(x[0], tf.int32)]),
        lambda x: tf.cast(tf.cast(x, tf.float64) + 1, tf.float32),
        lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex128))),
    ],
)
def test_the_check_finds_dynamic_shapes_and_float64(function):
    with pytest.raises(AssertionError, match=BANNED):
        check(function, REALS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.range(tf.cast(x[0], tf.int32)),
        lambda x: tf.repeat(x, tf.cast(x, tf.int32)),
        lambda x: tf.math.bincount(tf.cast(x, tf.int32)),
        lambda x: tf.numpy_function(np.sin, [x], tf.float32),
        lambda x: [tf.print(x), x][1],
    ],
)
def test_functions_that_cannot_be_lowered_raise(function):
    with pytest.raises(ValueError, match="HLO"):
        check(function, REALS)


def test_graphs_of_many_class_counts_are_not_kept():
    def update(classes):
        rows = np.full([2, classes], 1 / classes, np.float32)
        um.BrierScore(ignore_index=-7).update_state([0, 1], rows)

    def graph(classes):
        scorer = um.BrierScore(ignore_index=-7)._scorer
        options = ((scorer,), None, None)
        return _variables.compiled_update(_scores._batch_sums, options, (classes,))

    update(2)
    first = weakref.ref(graph(2))
    for classes in range(3, 12):
        update(classes)
    gc.collect()
    assert first() is None
    last = graph(11)
    update(11)
    assert graph(11) is last
