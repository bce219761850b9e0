"""Sweeps over every score of real-valued forecasts, in both halves."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.catalogue import every_real_case, every_real_row

ROOMS = pytest.mark.parametrize("room", [um_np, um], ids=["numpy", "tensors"])
ATOL = {np.float32: 3e-6, np.float64: 1e-12}


def score(room, row, case, arguments):
    return np.asarray(row.find(room)(**arguments, **case))


@every_real_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_the_naive_reference(row, case, dtype, rng):
    """`tests/numpy/test_catalogue.py` compares NumPy with it."""
    arguments = row.arguments(rng, dtype=dtype)
    exact = {name: value.astype(np.float64) for name, value in arguments.items()}
    for value in arguments.values():
        value.flags.writeable = False
    expected = row.reference(**exact, **case)
    result = score(um, row, case, arguments)
    np.testing.assert_allclose(result, expected, atol=max(ATOL[dtype], 1e-11))
    assert result.dtype == dtype


def some(arguments):
    """Returns the index of an example that is valid alone: its bounds do not cross."""
    if "upper" not in arguments:
        return 3
    widths = arguments["upper"] - arguments["lower"]
    return int(np.argmax(widths.reshape(len(widths), -1).min(axis=1)))


def forms(row, rng):
    """Yields pairs of arguments with the same scores, and the tolerance."""
    flat = row.arguments(rng, [24])
    images = {k: v.reshape(2, 3, 4, *v.shape[1:]) for k, v in flat.items()}
    yield flat, images, 1e-14
    yield flat, {name: memoryview(value) for name, value in flat.items()}, 1e-14
    i = some(flat)
    one = {k: v[i : i + 1] for k, v in flat.items()}
    yield one, {k: v[i] for k, v in flat.items()}, 1e-14
    # These numbers are exact in float16.
    exact = {k: np.round(v * 8) / 8 for k, v in row.arguments(rng, [6]).items()}
    if "stddevs" in exact:
        exact["stddevs"] = np.maximum(exact["stddevs"], 0.25)
    yield exact, {name: value.tolist() for name, value in exact.items()}, 3e-6
    yield exact, {name: value.astype(np.float16) for name, value in exact.items()}, 3e-6
    if row.tail.get("labels", 0) == 0:  # Keras passes labels as [..., 1].
        yield exact, {**exact, "labels": exact["labels"][:, None]}, 3e-6
    whole = {
        name: np.round(3 * value) + 10 * (name in ("stddevs", "upper"))
        for name, value in exact.items()
    }
    yield whole, {name: value.astype(np.int64) for name, value in whole.items()}, 1e-5


@every_real_case
@ROOMS
def test_all_forms_of_the_data_have_the_same_scores(room, row, case, rng):
    for same, form, atol in forms(row, rng):
        single = atol > 1e-14  # These tensors are not float64.
        expected = score(um_np if single else room, row, case, same)
        result = score(room, row, case, form).reshape(expected.shape)
        rtol = 1e-6 if single else 1e-12
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


@every_real_case
@ROOMS
def test_examples_do_not_depend_on_each_other(room, row, case, rng):
    arguments, order = row.arguments(rng, [12]), rng.permutation(12)
    whole = score(room, row, case, arguments)
    moved = score(room, row, case, {k: v[order] for k, v in arguments.items()})
    np.testing.assert_array_equal(moved, whole[order])
    i = some(arguments)
    one = score(room, row, case, {k: v[i : i + 1] for k, v in arguments.items()})
    np.testing.assert_allclose(one[0], whole[i], rtol=1e-12, atol=1e-14)


@pytest.mark.thorough
@every_real_case
@pytest.mark.parametrize(
    ("dtype", "jit_compile"),
    [
        *((np.float64, False), (np.float32, True)),
        pytest.param(np.float32, False, marks=pytest.mark.exhaustive),
        pytest.param(np.float64, True, marks=pytest.mark.exhaustive),
    ],
)
def test_compiled_equals_numpy(row, case, dtype, jit_compile, rng):
    arguments = row.arguments(rng, [10], dtype)
    specs = {
        name: tf.TensorSpec([None, *value.shape[1:]], value.dtype)
        for name, value in arguments.items()
    }

    def function(arguments):
        return row.find(um)(**arguments, **case)

    # Without XLA, the graph does not know the size of the batch.
    run = tf.function(
        function,
        jit_compile=jit_compile,
        input_signature=None if jit_compile else [specs],
    )
    result = run({name: tf.constant(value) for name, value in arguments.items()})
    assert result.dtype == dtype
    np.testing.assert_allclose(
        result, score(um_np, row, case, arguments), atol=ATOL[dtype]
    )


@pytest.mark.thorough
@every_real_case
@pytest.mark.parametrize("offset", [1e4, -1e4])
def test_float32_far_from_zero_equals_numpy(row, case, offset, rng):
    arguments = {
        name: value if name in row.bad_values else value + np.float32(offset)
        for name, value in row.arguments(rng, dtype=np.float32).items()
    }
    np.testing.assert_allclose(
        score(um, row, case, arguments),
        score(um_np, row, case, arguments),
        atol=ATOL[np.float32] * (10 if "alpha" in case else 1),
    )


def bad_shapes(row, rng):
    """Yields arguments of a wrong shape, and a word of the message."""
    good = row.arguments(rng, [4])
    names = list(good)
    yield {**good, "labels": good["labels"][:3]}, "|".join(names)
    yield {**good, names[1]: good[names[1]][None, None]}, names[1]
    yield {name: value[:0] for name, value in good.items()}, "labels"
    yield {**good, "labels": [[0.0], [1.0, 2.0]]}, "labels"
    if row.tail.get("labels", 0) == 0 and row.tail:
        swapped = dict(zip(names, reversed(good.values()), strict=True))
        yield swapped, "swapped"
        longer = next(iter(row.tail))
        yield {**good, longer: good[longer][:, :0]}, longer
    elif not row.tail:  # [n, 1] against [n] must not broadcast to [n, n].
        yield {**good, names[1]: np.ones([4, 4])}, names[1]
        yield {**good, names[1]: np.ones([1, 4])}, names[1]


def traced(row, arguments):
    """Calls the function inside a graph."""
    function = row.find(um)
    call = tf.function(lambda: function(**arguments, **row.cases[0]), autograph=False)
    return call()


@every_real_row
@ROOMS
def test_bad_shapes_raise(room, row, rng):
    for arguments, word in bad_shapes(row, rng):
        with pytest.raises(ValueError, match=word) as raised:
            score(room, row, row.cases[0], arguments)
        assert "Received" in str(raised.value)
        if room is um:
            with pytest.raises(ValueError, match=word):
                traced(row, arguments)
    text = {**row.arguments(rng, [2]), "labels": ["a", "b"]}
    with pytest.raises(ValueError, match="`labels` must be numbers"):
        score(room, row, row.cases[0], text)


@pytest.mark.parametrize(
    ("name", "more"),
    [("crps_normal_score", ()), ("interval_score", (0.1,)), ("pinball_loss", (0.5,))],
)
def test_lengths_that_only_the_graph_knows_do_not_broadcast(name, more):
    count = 2 if name == "pinball_loss" else 3
    spec = tf.TensorSpec([None])

    @tf.function(input_signature=[spec] * count, autograph=False)
    def function(*arguments):
        return getattr(um, name)(*arguments, *more)

    pair = [1.0, 2.0]
    assert np.all(np.isfinite(function(*[pair] * count)))
    for short in range(count):
        arguments = [pair if i != short else [1.0] for i in range(count)]
        try:
            result = function(*arguments)
        except tf.errors.InvalidArgumentError:
            continue
        assert np.all(np.isnan(result))


def bad_values(row, rng):
    good = row.arguments(rng, [4])
    changes = [(name, value) for name in good for value in (np.nan, np.inf)]
    for name, value in (*changes, *row.bad_values.items()):
        array = good[name].copy()
        array[(2, *[0] * (array.ndim - 1))] = value
        yield {**good, name: array}, name


@every_real_row
def test_bad_values_raise(row, rng):
    for arguments, name in bad_values(row, rng):
        messages = []
        for room in (um_np, um):
            with pytest.raises(ValueError, match=f"`{name}`") as raised:
                score(room, row, row.cases[0], arguments)
            assert "Received" in str(raised.value)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


@pytest.mark.thorough
@every_real_row
@pytest.mark.parametrize("jit_compile", [False, True])
def test_bad_values_are_nan_in_a_graph_and_others_are_not(row, jit_compile, rng):
    run = tf.function(
        lambda arguments: row.find(um)(**arguments, **row.cases[0]),
        jit_compile=jit_compile,
    )
    for arguments, _ in bad_values(row, rng):
        result = run({name: tf.constant(value) for name, value in arguments.items()})
        rows = np.isnan(result).reshape(4, -1)
        # In a row, the score of one quantile alone may be NaN.
        assert rows[2].any()
        assert not rows[[0, 1, 3]].any()


@ROOMS
def test_every_quantile_needs_its_predictions(room):
    with pytest.raises(ValueError, match="`quantile_predictions`"):
        room.pinball_loss([0.5], [[0.0, 1.0, 2.0]], (0.1, 0.5))


def test_byte_order_does_not_matter_in_a_graph():
    labels, lower, upper = np.array([[0.5, 3.0], [0.0, 0.25], [1.0, 2.0]], ">f8")
    function = tf.function(lambda: um.interval_score(labels, lower, upper, alpha=0.5))
    np.testing.assert_allclose(function(), [1.0, 5.75])
