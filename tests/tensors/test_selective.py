"""Selective prediction on tensors, beyond the sweeps of the catalogue."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

FUNCTIONS = (
    ("aurc", {}),
    ("e_aurc", {}),
    ("augrc", {}),
    ("coverage_at_risk", {"risk": 0.3}),
    ("risk_at_coverage", {"coverage": 0.7}),
    ("oracle_collaborative_accuracy", {"fraction": 0.15}),
)
every_function = pytest.mark.parametrize(
    ("name", "options"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS]
)


def make(rng, n=60, dtype=np.float64):
    """Makes tied confidences of any sign, outcomes that they predict, and weights."""
    confidences = np.round(3 * rng.normal(size=n), 1)
    correct = rng.normal(size=n) < confidences
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[0] = 1.0
    return confidences.astype(dtype), correct, weights


def modes(function, *arrays, xla=True):
    """Yields results of eager execution, of a graph and of XLA."""
    signature = [tf.TensorSpec([None, *a.shape[1:]], a.dtype) for a in arrays]
    tensors = [tf.constant(array) for array in arrays]
    yield function(*tensors)
    yield tf.function(function, input_signature=signature)(*tensors)
    if xla:
        yield tf.function(function, jit_compile=True)(*tensors)


def values(room, **data):
    """Returns the values of all functions, so that they compile together."""
    return [getattr(room, name)(**data, **options) for name, options in FUNCTIONS]


@pytest.mark.first(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_given_confidences_equal_numpy(dtype, rng):
    confidences, correct, weights = make(rng, dtype=dtype)
    names = ("confidences", "correct", "sample_weight")
    arrays = (confidences, correct, weights)
    expected = values(um_np, **dict(zip(names, arrays, strict=True)))

    def function(*tensors):
        return values(um, **dict(zip(names, tensors, strict=True)))

    for results in modes(function, *arrays):
        atol = 1e-12 if dtype is np.float64 else 3e-7
        np.testing.assert_allclose(results, expected, rtol=0, atol=atol)
        assert {result.dtype for result in results} == {tf.as_dtype(dtype)}


def test_area_of_tied_groups_is_precise_in_float64():
    # The most confident is right, the other two are wrong: (0 + 1/2 + 2/3) / 3.
    arrays = np.array([0.9, 0.75, 0.75]), np.array([True, False, False])

    def function(confidences, correct):
        return um.aurc(confidences=confidences, correct=correct)

    for result in modes(function, *arrays):
        np.testing.assert_allclose(result, 7 / 18, rtol=0, atol=1e-13)


def test_saturated_logits_are_ranked_as_in_numpy(rng):
    n = 50
    labels, margins = rng.integers(0, 3, n), rng.uniform(20, 60, n)
    logits = np.zeros([n, 3], np.float32)
    logits[np.arange(n), rng.integers(0, 3, n)] = margins
    expected = values(um_np, labels=labels, logits=logits)

    def function(labels, logits):
        return values(um, labels=labels, logits=logits)

    for results in modes(function, labels, logits, xla=False):
        np.testing.assert_allclose(results, expected, rtol=0, atol=3e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("source", ["confidences", "probabilities", "logits"])
def test_risk_coverage_curve_equals_numpy(source, weighted, rng):
    confidences, correct, weights = make(rng)
    if source == "confidences":
        arrays = {"confidences": confidences, "correct": correct.astype(int)}
    elif source == "probabilities":
        rows = rng.multinomial(10, [0.5, 0.3, 0.2], 60) / 10
        arrays = {"labels": rng.integers(0, 3, 60), "probabilities": rows}
    else:
        logits = rng.normal(size=[60, 3])
        arrays = {"labels": rng.integers(0, 3, 60), "logits": logits}
    if weighted:
        arrays["sample_weight"] = weights
    names, data = list(arrays), list(arrays.values())
    expected = um_np.risk_coverage_curve(**arrays)

    def curve(*data):
        return um.risk_coverage_curve(**dict(zip(names, data, strict=True)))

    xla = weighted and source == "confidences"
    eager, *compiled = modes(curve, *data, xla=xla)
    for part, other in zip(eager, expected, strict=True):
        np.testing.assert_allclose(part, other, atol=1e-12)
    for result in compiled:
        # The compiled curve has a fixed length and repeats points of equal coverage.
        kept = np.append(True, np.diff(result.coverages) > 1e-12)
        for part, other in zip(result, expected, strict=True):
            assert part.shape == 60
            np.testing.assert_allclose(part.numpy()[kept], other, atol=1e-12)
        assert not np.any(np.isnan(result.thresholds))
        assert np.all(np.diff(result.thresholds) <= 0)


@every_function
def test_order_of_examples_does_not_matter(name, options, rng):
    confidences, correct, weights = make(rng)
    order = rng.permutation(len(weights))
    first, second = (
        getattr(um, name)(
            confidences=confidences[o],
            correct=correct[o],
            sample_weight=weights[o],
            **options,
        )
        for o in (np.arange(len(order)), order)
    )
    assert float(first) == float(second)


@pytest.mark.first(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_are_reached_despite_rounding(dtype):
    confidences = np.arange(20, 0, -1).astype(dtype)
    correct = np.arange(20) != 10

    def values(confidences, correct, *each_weights):
        for weights in each_weights:
            data = {"confidences": confidences, "correct": correct}
            data["sample_weight"] = weights
            yield um.coverage_at_risk(**data, risk=0.05)
            for coverage in (0.5, 0.55, 0.7):
                yield um.risk_at_coverage(**data, coverage=coverage)

    def function(*arrays):
        return tf.stack(list(values(*arrays)))

    scales = [np.full(20, scale) for scale in (1.0, 0.1, 1 / 3)]
    for found in modes(function, confidences, correct, *scales, xla=False):
        expected = np.tile([1.0, 0.0, 1 / 11, 1 / 14], 3)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


GOOD = {"confidences": [0.9, 0.4, 0.6], "correct": [1, 0, 1]}
LABELS = {"labels": [0, 1, 1], "probabilities": [0.1, 0.8, 0.6]}
BAD = (
    ({}, "with `correct`( or `losses`)? must be given. Received: none of them"),
    ({"confidences": [1.0]}, "Received: `confidences`$"),
    ({"correct": [1]}, "Received: `correct`$"),
    ({"probabilities": [0.5]}, "Received: `probabilities`$"),
    ({**LABELS, **GOOD}, "Received: `labels` and `probabilities` and `conf"),
    ({"labels": [0, 1, 1], "correct": [0, 1, 1]}, "`labels` and `correct`$"),
    ({**GOOD, "logits": [0, 1, 1]}, "Received: `logits` and `confidences` and"),
    ({"labels": [0, 1, 1]}, "`probabilities` and `logits`"),
    ({**GOOD, "ignore_index": -1}, "ignore_index"),
    ({**GOOD, "correct": [1, 0]}, "`confidences` must be of the shape of `correct"),
    ({**GOOD, "confidences": 0.5}, "`confidences` must be of the shape"),
    ({**GOOD, "correct": [[1, 0, 1]]}, "`confidences` must be of the shape"),
    ({"confidences": [], "correct": []}, "`correct` must hold at least one"),
    ({**GOOD, "confidences": [[1], [2, 3], [1]]}, "`confidences` must be a rect"),
    ({**GOOD, "sample_weight": [1, 1]}, "`sample_weight` must be broadcastable"),
)
BAD_VALUES = (
    ({**GOOD, "correct": [1, 2, 0]}, r"`correct` must be 0 or 1. Received: 2 at"),
    ({**GOOD, "correct": [1, 0.5, 0]}, "`correct` must be 0 or 1"),
    ({**GOOD, "correct": [1, np.nan, 0]}, "`correct` must be 0 or 1"),
    ({**GOOD, "confidences": [1, np.nan, 2]}, "`confidences` must be finite"),
    ({**GOOD, "confidences": [1, np.inf, 2]}, "`confidences` must be finite"),
    ({**GOOD, "sample_weight": [1.0, -1, 1]}, "`sample_weight` must be finite"),
    ({**GOOD, "sample_weight": 0}, "`correct` must hold at least one example of"),
    ({**LABELS, "labels": [0, 1, 2]}, "labels"),
    ({**LABELS, "probabilities": [0.5, 0.5, 1.5]}, "probabilities"),
)


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("name", [*dict(FUNCTIONS), "ause", "risk_coverage_curve"])
def test_bad_data_raise_and_are_nan_in_a_graph(name):
    for arguments, word in BAD + BAD_VALUES:
        messages = []
        for room in (um, um_np):
            with pytest.raises(ValueError, match=word) as raised:
                getattr(room, name)(**arguments)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
        assert "Received" in messages[0]
    for arguments, word in BAD if name == "aurc" else ():
        with pytest.raises(ValueError, match=word):
            tf.function(functools.partial(getattr(um, name), **arguments))()
    for arguments, _ in BAD_VALUES if name in ("aurc", "risk_coverage_curve") else ():
        in_graph = tf.function(functools.partial(getattr(um, name), **arguments))()
        assert np.all(np.isnan(tf.nest.flatten(in_graph))), arguments
    for text in ("confidences", "correct"):
        for room in (um, um_np):
            with pytest.raises(TypeError, match=text):
                getattr(room, name)(**{**GOOD, text: ["a", "b", "c"]})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_of_logits_are_ties_in_any_order(dtype):
    logits = tf.zeros([7, 4], dtype)  # Every row has the margin -log(3).
    for function in (um.aurc, tf.function(um.aurc)):
        for labels in 1 - tf.eye(7, dtype=tf.int32):
            value = float(function(labels, logits=logits))
            assert value == pytest.approx(6 / 7, abs=1e-6)


def with_losses(rng, dtype, n=60):
    confidences, _, weights = make(rng, n, dtype)
    # The largest losses have weight 0.
    losses = np.where(weights > 0, rng.choice([0.0, 0.25, 3.0], n), 1e30)
    return confidences, (losses * rng.uniform(1, 2, n)).astype(dtype), weights


LOSS_FUNCTIONS = ("aurc", "auarc", "ause", "prr")


@pytest.mark.first(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_losses_equal_numpy(dtype, rng):
    confidences, losses, weights = with_losses(rng, dtype)

    names = ("confidences", "losses", "sample_weight")
    arrays = confidences, losses, weights

    def of_losses(*arrays, room=um, functions=("aurc", "prr")):
        data = dict(zip(names, arrays, strict=True))
        return [getattr(room, name)(**data) for name in functions]

    def assert_equal(values, expected):
        atol = 1e-11 if dtype is np.float64 else 1e-6
        np.testing.assert_allclose(values, expected, rtol=0, atol=atol)
        assert {value.dtype for value in values} == {tf.as_dtype(dtype)}

    expected = of_losses(*arrays, room=um_np, functions=LOSS_FUNCTIONS)
    assert_equal(of_losses(*arrays, functions=LOSS_FUNCTIONS), expected)
    for values in modes(of_losses, *arrays, xla=False):  # Sweeps test XLA.
        assert_equal(values, expected[::3])
    data = {"confidences": confidences, "losses": losses, "sample_weight": weights}
    curve = um_np.risk_coverage_curve(**data)
    found = um.risk_coverage_curve(**data)
    np.testing.assert_allclose(found.risks, curve.risks, rtol=1e-6)
    tensors = {name: tf.constant(array) for name, array in data.items()}
    compiled = tf.function(um.risk_coverage_curve)(**tensors)
    kept = np.append(True, np.diff(compiled.coverages) > 1e-12)
    np.testing.assert_allclose(compiled.risks[kept], curve.risks, rtol=1e-5)


def test_ratio_of_losses_that_hardly_differ_is_precise(rng):
    """Nearly all losses are equal: float32 arithmetic would have two digits only."""
    n = 20000
    confidences = rng.normal(size=n).astype(np.float32)
    losses = np.full(n, 1000, np.float32)
    losses[np.argsort(-confidences)[7]] = 999
    given = {"confidences": confidences, "losses": losses}
    expected = um_np.prr(**given)
    assert 0.5 < expected < 0.8
    for function in (um.prr, tf.function(um.prr)):
        assert float(function(**given)) == pytest.approx(expected, rel=1e-6)


LOSSES = {"confidences": [0.9, 0.4, 0.6], "losses": [0.5, 2.0, 0.0]}
BAD_LOSSES = (
    ({"losses": [1.0]}, "with `correct` or `losses` must be given. Received: `losses`"),
    ({**LOSSES, "correct": [1, 1, 0]}, "and `correct` and `losses`$"),
    ({**LOSSES, **LABELS}, "and `confidences` and `losses`$"),
    ({**LOSSES, "losses": [1.0, 2.0]}, "`confidences` must be of the shape of `loss"),
    ({**LOSSES, "ignore_index": 3}, "ignore_index"),
)
BAD_LOSS_VALUES = (
    ({**LOSSES, "losses": [1, -0.5, 2]}, r"`losses` must be >= 0. Received: -0.5 at"),
    ({**LOSSES, "losses": [1, np.nan, 2]}, "`losses` must be finite"),
    ({**LOSSES, "losses": [1, np.inf, 2]}, "`losses` must be finite"),
    ({**LOSSES, "confidences": [1, np.nan, 2]}, "`confidences` must be finite"),
    ({**LOSSES, "sample_weight": 0}, "`losses` must hold at least one example of"),
)
EQUAL = (
    ({**LOSSES, "losses": [0.1, 0.1, 0.1]}, "`losses` must be such that some"),
    ({**GOOD, "correct": [1, 1, 1]}, "`correct` must be such that some"),
    ({**LABELS, "labels": [0, 1, 1]}, "`labels` must be such that some"),
)


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("name", [*LOSS_FUNCTIONS, "risk_coverage_curve"])
def test_bad_losses_raise_and_are_nan_in_a_graph(name):
    equal = EQUAL if name == "prr" else ()
    for arguments, word in (*BAD_LOSSES, *BAD_LOSS_VALUES, *equal):
        messages = []
        for room in (um, um_np):
            with pytest.raises(ValueError, match=word) as raised:
                getattr(room, name)(**arguments)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
        assert "Received" in messages[0]
    for arguments, _ in (*BAD_LOSS_VALUES[:1], *equal[:1]):
        if name in ("aurc", "prr"):  # One function for each kernel.
            in_graph = tf.function(functools.partial(getattr(um, name), **arguments))()
            assert np.isnan(in_graph), arguments
