"""Tensors in bfloat16 give the values of the same numbers in float32, bit for bit, and
those in float16 but for the rounding of 1 - p: edges of bins and thresholds are rounded
to the type of the scores.
"""

import math

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import calibrators, catalogue
from tests.backends.conftest import BACKEND
from tests.backends.test_functions import LONG
from tests.fuzz.outcomes import flat
from tests.keras import losses
from tests.keras.streams import first_alike, parts, reader, value
from uncertainty_metrics.ops import to_numpy

ROWS = [row for row in catalogue.CALLABLES if row.half != "tensors"]
METRICS = [
    row for row in catalogue.METRICS if row.metric != "BayesianExpectedCalibrationError"
]
IS_LONG = [pytest.mark.thorough] if BACKEND == "jax" else []  # JAX compiles them.
half = pytest.mark.parametrize(
    "dtype", ["bfloat16", pytest.param("float16", marks=IS_LONG)]
)


def narrow_and_wide(array, dtype):
    """Returns an array as a tensor in 16 bits, and the same numbers in float32."""
    from keras import ops

    narrow = ops.cast(ops.convert_to_tensor(np.float32(array)), dtype)
    return narrow, ops.cast(narrow, "float32")


def pairs_of(arguments, dtype):
    """Returns the arguments with real numbers in 16 bits, and with them in float32."""
    from keras import ops

    narrow, wide = {}, {}
    for name, given in arguments.items():
        is_array = isinstance(given, np.ndarray)
        if is_array and given.dtype.kind == "f":
            narrow[name], wide[name] = narrow_and_wide(given, dtype)
            continue
        if is_array and given.dtype == np.int64:
            given = ops.convert_to_tensor(given.astype(np.int32))
        narrow[name] = wide[name] = given
    return narrow, wide


def drawn(row, rng):
    """Returns arguments with edges of bins that are exact in 16 bits."""
    exact = {"num_bins": 16, "n_bins": 16}
    if row.takes("num_bins"):
        exact["threshold"] = 2.0**-7
    exact = {name: exact[name] for name in exact if row.takes(name)}
    return {**row.draw(rng, (20,)), **exact}


def with_gradient(function, x):
    """Returns the value of a function of a tensor, and its gradient, as float32."""
    if BACKEND == "jax":
        import jax

        found = jax.value_and_grad(function)(x)
    else:
        x = x.detach().requires_grad_()
        found = function(x)
        found.backward()
        found = found, x.grad
    return [np.float32(to_numpy(part)) for part in found]


@half
@pytest.mark.filterwarnings("ignore:.* for which the estimate is unreliable")
@catalogue.first_of_kernel(ROWS, LONG if BACKEND == "jax" else ())
@pytest.mark.first(6 if BACKEND == "jax" else 2 * len(ROWS), "thorough")
def test_functions(row, dtype, rng):
    narrow, wide = pairs_of(drawn(row, rng), dtype)
    rooms = [um_np] if row.half or row.random else [um, um_np]
    for room in rooms:
        found, expected = (flat(row.find(room)(**given)) for given in (narrow, wide))
        # Logarithms of float16 and of float32 differ in the last bit of float64.
        relative, absolute = 1e-15 if room is um_np else 0, 0.0
        if dtype == "float16":  # The 1 - p of one column has 11 bits.
            relative, absolute = 1e-3, 1e-3
        np.testing.assert_allclose(found, expected, relative, absolute)


def test_one_column_is_not_rounded():
    """In bfloat16 1 - p would be 1, and its logarithm 0."""
    p, _ = narrow_and_wide([2.0**-12, 0.75], "bfloat16")
    exact = -(math.log1p(-(2.0**-12)) + math.log(0.75)) / 2
    metric = um.NegativeLogLikelihood()
    metric.update_state([0, 1], p)
    for found in (
        um.negative_log_likelihood([0, 1], p),
        um_np.negative_log_likelihood([0, 1], p),
        metric.result(),
    ):
        np.testing.assert_allclose(float(found), exact, rtol=1e-6)


@half
def test_edges_of_bins_are_rounded_in_both_halves(dtype):
    """A score that was an edge stays in the bin below it."""
    edges = np.linspace(0, 1, 16)[1:]
    p, _ = narrow_and_wide(np.stack([1 - edges, edges], axis=1), dtype)
    for room in (um, um_np):
        options = {"max_prob": False, "class_conditional": True}
        found = room.bin_statistics(np.ones(15, int), p, **options)
        assert np.asarray(found.counts)[1].tolist() == [1] * 15


@half
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.metric, marks=marks)
        for row, marks in first_alike(METRICS, id if BACKEND == "torch" else reader)
    ],
)
def test_metrics(row, dtype, rng):
    data = row.lattice(rng)
    states, results = [], []
    for which in (0, 1):
        metric = row.made(row.metric_cases[0][0])
        for labels, predictions, weights in parts(data, 2):
            given = narrow_and_wide(predictions, dtype)[which]
            metric.update_state(labels, given, weights)
        states.append(metric.get_state().arrays)
        results.append(value(metric.result()))
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name])
    np.testing.assert_array_equal(*results)


@half
@pytest.mark.parametrize("loss", losses.ROWS, ids=lambda loss: loss.id)
def test_losses_and_their_gradients(loss, dtype, rng):
    y, y_pred = loss.data(rng, (4,))
    narrow, wide = narrow_and_wide(y_pred, dtype)
    call = loss.make()
    found, expected = (with_gradient(lambda p: call(y, p), p) for p in (narrow, wide))
    np.testing.assert_array_equal(found[0], expected[0])
    rounded = to_numpy(narrow_and_wide(expected[1], dtype)[1])
    np.testing.assert_array_equal(found[1], rounded)


@half
def test_calibrators_and_accumulated_objects(dtype, rng):
    logits = rng.normal(size=(60, 3))
    labels = np.argmax(3 * logits + rng.gumbel(size=logits.shape), axis=1)
    narrow, wide = narrow_and_wide(logits, dtype)
    p, wide_p = narrow_and_wide(special.softmax(logits, axis=1), dtype)
    for make in calibrators.CLASSES.values():
        found, expected = (make().fit(labels, logits=z) for z in (narrow, wide))
        arrays = [each.transform(logits=wide) for each in (found, expected)]
        np.testing.assert_array_equal(*map(np.asarray, arrays))
        found.transform(logits=narrow)
    found, expected = um.ScoreSketch(), um.ScoreSketch()
    found.update(labels, p)
    expected.update(labels, wide_p)
    assert found.ece(num_bins=16) == expected.ece(num_bins=16)
    um.report(correct=p[:, 0], confidences=p[:, 1])
