"""Temperature scaling on tensors equals NumPy, eager and compiled."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.numpy.calibrators import (
    temperature_scaling as np_recalibration,
)
from uncertainty_metrics.ops import _inputs, _temperature
from uncertainty_metrics.tensors import refined_likelihood

ROOMS = (um_np, um)
RTOL = {np.float32: 2e-5, np.float64: 1e-10}
every_dtype = pytest.mark.parametrize("dtype", RTOL)


def network(rng, n=400, classes=4, dtype=np.float64):
    logits = rng.normal(size=[n, classes])
    noise = rng.gumbel(size=[n, classes])
    return np.argmax(logits + noise, axis=1), (3 * logits).astype(dtype)


def fits(labels, logits=None, **options):
    return [room.TemperatureScaling().fit(labels, logits, **options) for room in ROOMS]


def _likelihood(room, labels, logits=None, probabilities=None, **options):
    return room.refined_negative_log_likelihood(
        labels, probabilities, logits, **options
    )


def likelihoods(*data, **options):
    return [np.asarray(_likelihood(room, *data, **options)) for room in ROOMS]


@pytest.mark.first(2, "thorough")
@every_dtype
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_temperature_equals_numpy(dtype, scale, rng):
    labels, logits = network(rng, dtype=dtype)
    logits *= dtype(scale)
    weights = rng.integers(0, 3, 400)
    for data, options in (
        ((labels, logits), {}),
        ((labels, logits), {"sample_weight": weights, "ignore_index": 1}),
        ((labels > 1, logits[:, 0]), {}),
        ((labels.reshape(4, 100), logits.reshape(4, 100, 4)), {}),
    ):
        if data[0].dtype == bool:
            data = labels > 1, logits[:, 2] - logits[:, 0]
        exact, found = fits(*data, **options)
        assert isinstance(found.temperature, float)
        np.testing.assert_allclose(
            found.temperature, exact.temperature, rtol=RTOL[dtype]
        )
        result = found.transform(data[1])
        assert result.dtype == dtype
        np.testing.assert_allclose(result, exact.transform(data[1]), rtol=RTOL[dtype])


@every_dtype
def test_nearly_separable_logits_by_hand(dtype):
    logits, weight = np.array([[1, 0], [1, 0]], dtype), 1e30
    found = um.TemperatureScaling().fit([0, 1], logits, sample_weight=[weight, 1])
    rtol = {np.float32: 1e-5, np.float64: 1e-9}[dtype]
    np.testing.assert_allclose(found.temperature, 1 / np.log(weight), rtol=rtol)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
def test_narrow_dtypes_equal_numpy(dtype, rng):
    labels, logits = network(rng)
    narrow = tf.cast(np.round(logits * 4) / 4, dtype)
    exact, found = fits(labels, np.asarray(tf.cast(narrow, tf.float64)))
    found.fit(labels, narrow)
    np.testing.assert_allclose(found.temperature, exact.temperature, rtol=2e-5)
    result = found.transform(narrow)
    assert result.dtype == (tf.float32 if dtype == "int32" else dtype)
    expected = np.asarray(tf.cast(narrow, tf.float32)) / found.temperature
    rtol = {"float16": 6e-4, "bfloat16": 4e-3, "int32": 2e-7}[dtype]
    np.testing.assert_allclose(tf.cast(result, tf.float32), expected, rtol=rtol)


def test_impossible_classes_and_rows_without_weight_equal_numpy(rng):
    labels, logits = network(rng)
    impossible = rng.uniform(size=logits.shape) < 0.2
    impossible[np.arange(400), labels] = False
    logits[impossible] = -np.inf
    weights = rng.integers(0, 2, 400)
    logits[weights == 0] = np.nan
    exact, found = fits(labels, logits, sample_weight=weights)
    np.testing.assert_allclose(found.temperature, exact.temperature, rtol=1e-10)
    expected, result = likelihoods(labels, logits, sample_weight=weights, seed=0)
    np.testing.assert_allclose(result, expected, rtol=1e-10)
    live = np.where(weights[:, None] > 0, logits, 0)
    np.testing.assert_allclose(found.transform(live), exact.transform(live), rtol=1e-10)


@pytest.mark.first(1, "thorough")
@every_dtype
@pytest.mark.parametrize(
    "options", [{"seed": 0}, {"folds": 5, "repeats": 3, "seed": 2**31}]
)
def test_refined_likelihood_equals_numpy(dtype, options, rng):
    labels, logits = network(rng, dtype=dtype)
    weights = rng.uniform(0, 2, 400) * (rng.uniform(size=400) < 0.8)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    for data, more in (
        ((labels, logits), {}),
        ((labels, logits), {"sample_weight": weights, "ignore_index": 2}),
        ((labels, None, p), {}),
        ((labels > 1, None, p[:, 2] / (p[:, 2] + p[:, 0])), {}),
    ):
        exact, result = likelihoods(*data, **options, **more)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, exact, rtol=RTOL[dtype])


def test_folds_of_rows_far_smaller_than_the_largest_by_hand():
    """Their variance underflows, in units of the largest difference of all rows."""
    logits = np.float32([[0, -1, -3], [1e30, 0, 0]])
    # The first row alone has the temperature 3 / ln(2), and the second none.
    expected = (float(logits[1, 0]) * np.log(2) / 3 + np.log(3)) / 2
    for room, rtol in ((um_np, 1e-9), (um, 1e-3)):
        value = room.refined_negative_log_likelihood(
            [1, 1], logits=logits, folds=2, repeats=1
        )
        np.testing.assert_allclose(value, expected, rtol=rtol)


def test_folds_equal_numpy():
    count, keys = np_recalibration.fold_keys(7, 3, 2**32 - 1)
    for key in keys:
        expected = np_recalibration._fold_numbers(1000, count, key)
        found = refined_likelihood._fold_numbers(
            tf.range(1000), count, tf.constant(key)
        )
        np.testing.assert_array_equal(found, expected)


def temperature(labels, logits, weights):
    examples = _inputs.examples(labels, logits=logits, sample_weight=weights)
    return _temperature.optimal_temperature(examples)


def likelihood(labels, logits, weights):
    return um.refined_negative_log_likelihood(
        labels, logits=logits, sample_weight=weights, seed=0
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("function", "dtype", "jit_compile"),
    [
        *((temperature, np.float64, False), (likelihood, np.float32, True)),
        *((temperature, np.float32, True), (likelihood, np.float64, False)),
        *((temperature, np.float32, False), (likelihood, np.float32, False)),
    ],
)
@pytest.mark.first(2)
def test_compiled_equals_numpy(function, dtype, jit_compile, rng):
    compiled = tf.function(
        function,
        jit_compile=jit_compile,
        input_signature=[
            tf.TensorSpec([None], tf.int64),
            tf.TensorSpec([None, 3], dtype),
            tf.TensorSpec([None], dtype),
        ],
    )

    def exact(labels, logits, weights):
        if function is temperature:
            scaling = um_np.TemperatureScaling()
            return scaling.fit(labels, logits, sample_weight=weights).temperature
        return um_np.refined_negative_log_likelihood(
            labels, logits=logits, sample_weight=weights, seed=0
        )

    labels, logits = network(rng, 60, 3, dtype)
    weights = rng.integers(0, 3, 60).astype(dtype)
    data = labels, logits, weights
    np.testing.assert_allclose(compiled(*data), exact(*data), rtol=RTOL[dtype])
    best = np.argmax(logits, axis=1)
    wrong = logits.copy()
    wrong[np.argmax(weights), 1] = np.nan
    for bad in (
        (best, logits, weights),
        (labels + 3, logits, weights),
        (labels, wrong, weights),
        (labels, logits, -weights),
        (labels, logits, 0 * weights),
    ):
        assert np.isnan(compiled(*bad))
        with pytest.raises(ValueError, match=r"must (be|hold) "):
            exact(*bad)
    worst = np.argmin(logits, axis=1), logits, weights
    if function is temperature:
        assert np.isnan(compiled(*worst))
    else:  # The best temperature is infinite, so the forecasts are uniform.
        np.testing.assert_allclose(compiled(*worst), np.log(3), rtol=1e-6)


@pytest.mark.first(1, "thorough")
@every_dtype
def test_temperature_of_probabilities_equals_numpy(dtype, rng):
    labels, logits = network(rng)
    p = tf.nn.softmax(logits).numpy().astype(dtype)
    one = p[:, 1] / (p[:, 0] + p[:, 1])
    p[0] = np.eye(4)[labels[0]]
    p[1] = np.eye(4)[labels[1] - 1]  # Its label had probability 0.
    for data in (
        (labels, p),
        (labels.reshape(4, 100), p.reshape(4, 100, 4)),
        (labels == 1, one),
        (labels == 1, one[:, None]),
    ):
        exact, found = fits(data[0], probabilities=data[1])
        np.testing.assert_allclose(
            found.temperature, exact.temperature, rtol=RTOL[dtype]
        )
        result = found.transform(probabilities=data[1])
        assert result.dtype == dtype
        expected = exact.transform(probabilities=data[1])
        np.testing.assert_allclose(result, expected, rtol=RTOL[dtype], atol=1e-7)
        compiled = tf.function(lambda p, found=found: found.transform(probabilities=p))
        np.testing.assert_allclose(compiled(data[1]), expected, rtol=1e-4, atol=1e-7)
    exact, found = fits(labels, probabilities=p)
    of_logits = um_np.TemperatureScaling().fit(labels, np.log(np.maximum(p, 2**-24)))
    np.testing.assert_allclose(exact.temperature, of_logits.temperature, rtol=1e-6)
    bad = p.copy()
    bad[0, 0], bad[1], bad[2, 1] = np.nan, 0, -0.1
    for jit_compile in (False, True):
        compiled = tf.function(
            lambda p: found.transform(probabilities=p), jit_compile=jit_compile
        )
        np.testing.assert_array_equal(
            np.isnan(compiled(bad)).all(axis=1), np.arange(400) < 3
        )


@pytest.mark.parametrize("jit_compile", [False, True])
def test_transform_in_a_graph_equals_numpy_and_fit_raises(jit_compile, rng):
    labels, logits = network(rng, dtype=np.float32)
    exact, found = fits(labels, logits)
    compiled = tf.function(
        found.transform,
        jit_compile=jit_compile,
        input_signature=[tf.TensorSpec([None, 4])],
    )
    logits[0, 0], logits[1, 2] = np.nan, np.inf
    result = compiled(logits)
    np.testing.assert_array_equal(np.isnan(result), ~(logits < np.inf))
    rest = logits[2:]
    np.testing.assert_allclose(result[2:], exact.transform(rest), rtol=2e-5)
    with pytest.raises(RuntimeError, match="`fit` needs eager execution"):
        tf.function(lambda: found.fit(labels, rest))()


def bad_calls(rng):
    """Yields the method, its bad arguments and options, and the message."""
    labels, logits = network(rng)
    best, worst = np.argmax(logits, axis=1), np.argmin(logits, axis=1)
    infinite = "or no temperature fits"
    yield "fit", (best, logits), {}, "likelihood grows without bound"
    yield "fit", (worst, logits), {}, infinite
    yield "fit", (labels, np.full([400, 4], 0.1)), {}, infinite
    yield "fit", ([0, 1], [[1.3, 0.0], [1.3, 0.0]]), {}, infinite
    impossible = logits.copy()
    impossible[3, labels[3]] = -np.inf
    above = "`logits` must be above -inf at every label"
    yield "fit", (labels, impossible), {}, above
    finite = "`logits` must be finite, or -inf"
    for method in ("fit", "likelihood"):
        yield method, ([0, 2], [[0.0, 1.0]] * 2), {}, r"integers in \[0, 2\). Rec.* 2"
        for row in ([np.nan, 1.0], [np.inf, 1.0], [-np.inf] * 2):
            yield method, ([0, 1], [row, [0.0, 1.0]]), {}, finite
        yield method, ([], np.ones([0, 2])), {}, "`labels` must hold at least one exam"
        yield method, ([0, 1], [[0.0, 1.0]] * 3), {}, "`logits` must be of shape"
        yield method, ([0, 1], [[0.0, 1.0], [0.0]]), {}, "`logits` must be a rectang"
        yield method, ([[0.5, 1.0], [0.0, 1.0]], [0, 1]), {}, "swapped"
        for weight, said in ((-1, "`sample_weight` must be"), (0, "`labels` must")):
            options = {"sample_weight": np.full(400, weight)}
            yield method, (labels, logits), options, said
    for bad in ([np.nan], [[0.0, np.inf]]):
        yield "transform", (bad,), {}, "`logits` must be finite or -inf"
    yield "transform", (np.ones([0, 3]),), {}, "`logits` must hold at least one"
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    yield "transform", (p,), {}, "for probabilities use `probabilities`"
    yield "fit", (labels, p), {}, "for probabilities use `probabilities`"
    yield "fit", (labels, logits, p), {}, "Exactly one of"
    yield "fit", (labels,), {}, "Exactly one of"
    yield "transform", (), {}, "Exactly one of"
    in_range = r"`probabilities` must be in \[0, 1\]"
    yield "fit", (labels,), {"probabilities": logits}, in_range
    yield "transform", (), {"probabilities": logits}, in_range
    of_shape = r"`probabilities` must be of shape \[..., 4\]"
    yield "transform", (), {"probabilities": p[:, :3]}, of_shape
    zero = p.copy()
    zero[5] = 0
    above = "`probabilities` must be above 0 for at least"
    yield "fit", (labels,), {"probabilities": zero}, above
    yield "transform", (), {"probabilities": zero}, above
    yield "likelihood", (best, logits), {}, "outside fold 0 of repeat"
    yield "likelihood", (labels,), {}, "Exactly one of"
    yield "likelihood", (labels, None, logits), {}, r"`probabilities` .*in \[0, 1\]"
    rows = [[0.0, 0.0], [0.5, 0.5]]
    yield "likelihood", ([0, 1], None, rows), {}, "`probabilities` must be above 0 for"
    rows = [[0.9, 0.1]] * 4
    yield "likelihood", ([0] * 4, None, rows), {}, "`probabilities` must be wrong about"
    yield "likelihood", (labels, logits), {"folds": 401}, "`folds` must be"
    for seed in (-1, 2**32, 0.5, True):
        yield "likelihood", (labels, logits), {"seed": seed}, "`seed` must be"


def test_bad_calls_raise_the_same_message_and_keep_the_temperature(rng):
    labels, logits = network(rng)
    scalings = [room.TemperatureScaling() for room in ROOMS]
    for scaling in scalings:
        assert (scaling.temperature, scaling.is_fitted) == (1.0, False)
        with pytest.raises(ValueError, match="call `fit` first"):
            scaling.transform(logits)
        scaling.fit(labels, logits)
    for method, arguments, options, said in bad_calls(rng):
        messages = []
        for room, scaling in zip(ROOMS, scalings, strict=True):
            before = scaling.temperature
            call = functools.partial(_likelihood, room)
            if method != "likelihood":
                call = getattr(scaling, method)
            with pytest.raises(ValueError, match=said) as raised:
                call(*arguments, **options)
            messages.append(str(raised.value))
            assert scaling.temperature == before
        assert messages[0] == messages[1], (method, options)
    for scaling in scalings:
        for call in (scaling.transform, functools.partial(scaling.fit, labels)):
            with pytest.raises(TypeError, match="`logits` must hold numbers"):
                call("abc")
