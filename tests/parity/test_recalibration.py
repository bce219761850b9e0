"""Temperature scaling: TensorFlow does what NumPy does, eager and compiled."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.numpy import recalibration as np_recalibration
from uncertainty_metrics.tensorflow import (
    _inputs,
    _temperature,
    calibrated_likelihood,
)

ROOMS = (um_np, um)
RTOL = {np.float32: 2e-5, np.float64: 1e-10}
every_dtype = pytest.mark.parametrize("dtype", RTOL)


def network(rng, n=400, classes=4, dtype=np.float64):
    logits = rng.normal(size=[n, classes])
    noise = rng.gumbel(size=[n, classes])
    return np.argmax(logits + noise, axis=1), (3 * logits).astype(dtype)


def fits(labels, logits, **options):
    return [room.TemperatureScaling().fit(labels, logits, **options) for room in ROOMS]


def _likelihood(room, labels, logits=None, probabilities=None, **options):
    return room.calibrated_negative_log_likelihood(
        labels, probabilities, logits, **options
    )


def likelihoods(*data, **options):
    return [np.asarray(_likelihood(room, *data, **options)) for room in ROOMS]


@every_dtype
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_same_temperature(dtype, scale, rng):
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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
def test_narrow_types(dtype, rng):
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


def test_impossible_classes_and_left_out_rows(rng):
    labels, logits = network(rng)
    impossible = rng.uniform(size=logits.shape) < 0.2
    impossible[np.arange(400), labels] = False
    logits[impossible] = -np.inf
    weights = rng.integers(0, 2, 400)
    logits[weights == 0] = np.nan
    exact, found = fits(labels, logits, sample_weight=weights)
    np.testing.assert_allclose(found.temperature, exact.temperature, rtol=1e-10)
    expected, result = likelihoods(labels, logits, sample_weight=weights)
    np.testing.assert_allclose(result, expected, rtol=1e-10)
    live = np.where(weights[:, None] > 0, logits, 0)
    np.testing.assert_allclose(found.transform(live), exact.transform(live), rtol=1e-10)


@every_dtype
@pytest.mark.parametrize("options", [{}, {"folds": 5, "repeats": 3, "seed": 2**31}])
def test_same_calibrated_likelihood(dtype, options, rng):
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


def test_same_folds():
    count, keys = np_recalibration.fold_keys(7, 3, 2**32 - 1)
    for key in keys:
        expected = np_recalibration._fold_numbers(1000, count, key)
        found = calibrated_likelihood._fold_numbers(
            tf.range(1000), count, tf.constant(key)
        )
        np.testing.assert_array_equal(found, expected)


def temperature(labels, logits, weights):
    examples = _inputs.examples(labels, logits=logits, sample_weight=weights)
    return _temperature.optimal_temperature(examples)


def likelihood(labels, logits, weights):
    return um.calibrated_negative_log_likelihood(
        labels, logits=logits, sample_weight=weights
    )


@pytest.mark.parametrize("function", [temperature, likelihood])
@pytest.mark.parametrize(
    ("dtype", "jit_compile"),
    [(np.float32, False), (np.float32, True), (np.float64, False)],
)
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
        return um_np.calibrated_negative_log_likelihood(
            labels, logits=logits, sample_weight=weights
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
        with pytest.raises(ValueError, match="must be"):
            exact(*bad)
    worst = np.argmin(logits, axis=1), logits, weights
    if function is temperature:
        assert np.isnan(compiled(*worst))
    else:  # At an infinite temperature.
        np.testing.assert_allclose(compiled(*worst), np.log(3), rtol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_transform_in_a_graph(jit_compile, rng):
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


def test_same_messages(rng):
    labels, logits = network(rng)
    wrong = logits.copy()
    wrong[3, 1] = np.inf
    impossible = logits.copy()
    impossible[3, labels[3]] = -np.inf
    cases = [
        ("fit", (np.argmax(logits, axis=1), logits), {}),
        ("fit", (np.argmin(logits, axis=1), logits), {}),
        ("fit", (labels, impossible), {}),
        ("fit", (labels, wrong), {}),
        ("fit", (labels - 1, logits), {}),
        ("fit", (labels, logits), {"sample_weight": -np.ones(400)}),
        ("fit", (labels, logits), {"sample_weight": np.zeros(400)}),
        ("fit", (labels[:3], logits), {}),
        ("fit", (logits, labels), {}),
        ("fit", ([], np.ones([0, 3])), {}),
        ("transform", (wrong,), {}),
        ("transform", (np.ones([0, 3]),), {}),
        ("likelihood", (np.argmax(logits, axis=1), logits), {}),
        ("likelihood", (labels, wrong), {}),
        ("likelihood", (labels,), {}),
        ("likelihood", (labels, None, logits), {}),
        ("likelihood", ([0, 1], None, [[0.0, 0.0], [0.5, 0.5]]), {}),
        ("likelihood", (labels, logits), {"folds": 1}),
        ("likelihood", (labels, logits), {"folds": 401}),
        ("likelihood", (labels, logits), {"repeats": 0}),
        ("likelihood", (labels, logits), {"seed": -1}),
    ]
    for method, arguments, options in cases:
        messages = []
        for room in ROOMS:
            scaling = room.TemperatureScaling().fit(labels, logits)
            before = scaling.temperature
            if method == "likelihood":
                call = functools.partial(_likelihood, room)
            else:
                call = getattr(scaling, method)
            with pytest.raises(ValueError, match=r".") as raised:
                call(*arguments, **options)
            messages.append(str(raised.value))
            assert scaling.temperature == before
        assert messages[0] == messages[1], (method, options)
    unfitted = []
    for room in ROOMS:
        scaling = room.TemperatureScaling()
        with pytest.raises(ValueError, match="call `fit` first") as raised:
            scaling.transform(logits)
        unfitted.append(str(raised.value))
        scaling.fit(labels, logits)
        for call in (scaling.transform, functools.partial(scaling.fit, labels)):
            with pytest.raises(TypeError, match="`logits` must hold numbers"):
                call("abc")
    assert unfitted[0] == unfitted[1]
