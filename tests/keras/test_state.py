"""The states of metrics: adding, saving and sending them, and metrics made of them."""

import copy
import dataclasses
import io
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import STREAMS, every_stream, parts, plain
from uncertainty_metrics.numpy._metric_state import MetricState

pytestmark = pytest.mark.keras
ROOT = pathlib.Path(__file__).parents[2]
# A process of the other Keras takes long: `.ci/run` sends states from tf_keras only.
sent_from_tf_keras = (
    pytest.mark.exhaustive if hasattr(tf.keras, "ops") else pytest.mark.keras
)


def read(metric):
    return np.array(tf.nest.flatten(plain(metric.result())))


def value(state):
    return read(state.to_metric(dtype="float64"))


def fed(stream, *batches):
    metric = stream.make(dtype="float64")
    for batch in batches:
        metric.update_state(*batch)
    return metric


def filled(rng, name="ExpectedCalibrationError"):
    stream = STREAMS[name]
    return fed(stream, *parts(stream.data(rng), 1)).get_state()


def numbers(state):
    """Returns the numbers that the arrays of a state stand for."""
    units, hi, lo = (state.arrays[name] for name in ("units", "hi", "lo"))
    if len(units) > len(hi):  # Scores in units of 2^-9 and of 2^-31.
        scores = units[1] * 2.0**-9 + units[2] * 2.0**-31
        units = np.stack([units[0], scores, units[3]])
    return units + hi.astype(np.float64) + lo


def assert_alike(state, expected):
    """Asserts that states stand for the same numbers."""
    assert (state.metric, state.config) == (expected.metric, expected.config)
    assert state.classes == expected.classes
    assert state.arrays["invalid"] == expected.arrays["invalid"]
    scale = np.max(np.abs(numbers(expected)))
    np.testing.assert_allclose(
        numbers(state), numbers(expected), rtol=1e-12, atol=1e-12 * scale
    )


def pairs(hi, lo=None, units=None, invalid=0):
    """Returns the state of a mean."""
    hi = np.asarray(hi, np.float32)
    arrays = {
        "invalid": np.array(invalid),
        "units": np.zeros(hi.shape, np.int64) if units is None else np.array(units),
        "hi": hi,
        "lo": np.zeros_like(hi) if lo is None else np.asarray(lo, np.float32),
    }
    return MetricState("BrierScore", {}, arrays)


EMPTY = MetricState("BrierScore", {}, {"invalid": np.array(0)})


def test_streams_have_every_metric():
    public = {
        f"{room}{name}"
        for room, module in (
            ("", um),
            *((f"{room}.", getattr(um, room)) for room in catalogue.ROOMS),
        )
        for name in module.__all__
        if hasattr(getattr(module, name), "get_state")
    }
    # A collection has many states, and the coverage of quantiles tests of its own.
    others = {"MetricCollection", "regression.QuantileCoverage"}
    assert public == others | {*STREAMS}


@pytest.mark.first(6, "thorough")
@every_stream
def test_a_state_restores_its_metric(stream, rng, tmp_path):
    first, second, *_ = parts(stream.data(rng), 4)  # In a size that tests share.
    metric = fed(stream, first)
    state = metric.get_state()
    assert state.metric == stream.metric
    assert not {"name", "dtype"} & set(state.config)
    state.save(tmp_path / "state")
    loaded = MetricState.load(tmp_path / "state")
    assert loaded == pickle.loads(pickle.dumps(state)) == copy.deepcopy(state) == state
    again = state.to_metric(name="again", dtype="float64")
    assert again.name == "again"
    assert type(again) is type(metric)
    assert_alike(again.get_state(), state)
    for either in (again, metric):  # Both take updates.
        either.update_state(*second)
    assert_alike(again.get_state(), metric.get_state())
    assert state == loaded
    metric.set_state(state)
    assert_alike(metric.get_state(), state)
    other = dataclasses.replace(state, config={**state.config, "num_bins": 123})
    for refuse in (metric.set_state, lambda other: metric.merge_state([state, other])):
        with pytest.raises(ValueError, match="num_bins"):
            refuse(other)
    assert_alike(metric.get_state(), state)


@every_stream
def test_copies_keep_the_state(stream, rng):
    metric = stream.make(name="kept", dtype="float64")
    for batch in parts(stream.data(rng), 4)[:2]:
        for again, same in (
            copy.deepcopy([metric, metric]),
            pickle.loads(pickle.dumps([metric, metric])),
            [copy.copy(metric)] * 2,
        ):
            assert again is same
            assert type(again) is type(metric)
            assert again.get_config() == metric.get_config()
            assert again.get_state() == metric.get_state()
            again.update_state(*batch)  # Its state is its own.
            assert again.get_state() != metric.get_state()
        metric.update_state(*batch)


def test_a_refused_batch_changes_no_bit():
    """Also where a pair is not a rounded sum and its error."""
    metric = um.BrierScore()
    state = pairs([2.0, -0.0], lo=[1.5, -0.0])
    state = dataclasses.replace(state, config=metric.get_state().config)
    metric.set_state(state)
    with pytest.raises(ValueError, match="y_true"):
        metric.update_state([7], [[0.5, 0.5]])
    for name, array in metric.get_state().arrays.items():
        assert array.tobytes() == state.arrays[name].tobytes(), name


def test_states_with_sums_need_the_right_classes(rng):
    state = filled(rng, "StaticCalibrationError")
    unknown = dataclasses.replace(state, classes=None)
    for function, word in (
        (unknown.to_metric, "`classes` must"),
        (dataclasses.replace(state, classes=4).to_metric, "shape of units"),
        (lambda: um.StaticCalibrationError().merge_state([unknown]), "`classes` must"),
    ):
        with pytest.raises(ValueError, match=word):
            function()


@every_stream
def test_the_sum_of_states_is_the_state_of_all(stream, rng):
    batches = parts(stream.data(rng), 4)
    expected = fed(stream, *batches)
    metrics = [fed(stream, batch) for batch in batches]
    metrics.insert(1, fed(stream))  # Without examples.
    states = [metric.get_state() for metric in metrics]
    for total in (sum(states), sum(states[::-1])):
        assert_alike(total, expected.get_state())
    np.testing.assert_allclose(value(total), read(expected), rtol=1e-6, atol=1e-7)
    merged = fed(stream, batches[0])  # Merging adds to its sums.
    merged.merge_state([metrics[1], *states[2:]])
    assert_alike(merged.get_state(), total)
    before = merged.get_state()
    with pytest.raises(TypeError, match=r"must hold metrics .*Received: <"):
        merged.merge_state([metrics[2], tf.keras.metrics.Mean()])
    assert merged.get_state() == before


@every_stream
def test_objects_that_are_no_states_raise(stream, rng):
    metric = fed(stream, parts(stream.data(rng), 4)[0])
    state = metric.get_state()
    for junk in (None, {}, 3, "state", [state], metric):
        with pytest.raises(TypeError, match=r"`state` must be a `Metr.*Received: "):
            metric.set_state(junk)
    for junk in (None, 3, state, metric, {"metric": state}):
        with pytest.raises(TypeError, match=r"`metrics` must be a list .*Received: "):
            metric.merge_state(junk)
    collection = um.MetricCollection([um.BrierScore()])
    for junk in ("state", [state, None], [state, 3], [collection]):
        with pytest.raises(TypeError, match=r"`metrics` must hold .*Received: "):
            metric.merge_state(junk)
    assert_alike(metric.get_state(), state)


def test_a_state_is_a_copy_that_cannot_change(rng):
    stream = STREAMS["ExpectedCalibrationError"]
    first, second = parts(stream.data(rng), 2)
    metric = fed(stream, first)
    state, before = metric.get_state(), metric.get_state()
    metric.update_state(*second)
    assert state == before != metric.get_state()
    with pytest.raises(ValueError, match="read-only"):
        state.arrays["units"][0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.metric = "another"
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    made = MetricState(state.metric, state.config, arrays, state.classes)
    arrays["units"][:] = -1
    assert made == state
    with pytest.raises(TypeError, match="unhashable"):
        hash(state)
    assert state != "a state"


@pytest.mark.parametrize("name", ["StaticCalibrationError", "BrierDecomposition"])
def test_states_without_classes_add_to_any(name, rng):
    data = STREAMS[name].data(rng)
    make = getattr(um, name)
    unknown, three = make(), make()
    three.update_state(data.labels, data.predictions)
    assert unknown.get_state().classes is None
    assert set(unknown.get_state().arrays) == {"invalid"}
    state = three.get_state()
    assert state.classes == 3
    for total in (unknown.get_state() + state, state + unknown.get_state()):
        assert total == state
    unknown.merge_state([state])
    assert unknown.get_state() == state
    five = make()
    five.update_state([4], np.eye(5)[:1])
    with pytest.raises(ValueError, match="classes 3 and 5"):
        state + five.get_state()
    with pytest.raises(ValueError, match="classes 3 and 5"):
        three.set_state(five.get_state())
    assert three.get_state() == state


def test_invalid_batches_add():
    metric = um.BrierScore()

    @tf.function
    def update(labels, predictions):
        metric.update_state(labels, predictions)

    update(tf.constant([7]), tf.constant([[0.5, 0.5]]))
    state = metric.get_state()
    assert state.arrays["invalid"] == 1
    assert (state + state).arrays["invalid"] == 2
    with pytest.warns(RuntimeWarning, match="1 batch"):
        assert np.isnan(read((um.BrierScore().get_state() + state).to_metric()))


def exact(state):
    return state.arrays["hi"].astype(np.longdouble) + state.arrays["lo"]


@pytest.mark.tensors
def test_pairs_add_with_48_bits(rng):
    hi = (rng.normal(size=[1000, 2]) * 10.0 ** rng.integers(-3, 6, [1000, 2])).astype(
        np.float32
    )
    hi[:, 0] = abs(hi[:, 0])  # Weights are >= 0.
    lo = (hi * rng.uniform(-(2.0**-25), 2.0**-25, hi.shape)).astype(np.float32)
    states = [pairs(*pair) for pair in zip(hi, lo, strict=True)]
    expected = sum(exact(state) for state in states)
    size = sum(abs(exact(state)) for state in states)
    totals = [sum(states), sum(states[::-1]), sum(states[500:]) + sum(states[:500])]
    for total in totals:
        assert np.all(abs(exact(total) - expected) <= 1e-13 * size)
        # Normalised: `hi` is the number rounded.
        np.testing.assert_array_equal(
            exact(total).astype(np.float32), total.arrays["hi"]
        )
    for a, b in itertools.pairwise(states[:20]):
        assert a + b == b + a


@pytest.mark.tensors
def test_integers_add_exactly_and_infinity_stays():
    total = pairs([0, 0], units=[2**53, 1]) + pairs([0, 0], units=[1, 2**60])
    assert total.arrays["units"].tolist() == [2**53 + 1, 2**60 + 1]
    infinite = pairs([np.inf, 1])
    assert infinite + pairs([2, 3]) == pairs([2, 3]) + infinite == pairs([np.inf, 4])
    largest = np.finfo(np.float32).max
    assert pairs([largest, 0]) + pairs([largest, 0]) == pairs([np.inf, 0])


@pytest.mark.tensors
def test_sum_may_start_with_0_or_an_empty_state():
    state = pairs([1, 2])
    assert 0 + state == state + EMPTY == EMPTY + state == sum([state]) == state
    assert sum([]) == 0
    for other in (1, 1.0, None, "state"):
        with pytest.raises(TypeError):
            other + state
        with pytest.raises(TypeError):
            state + other


@pytest.mark.tensors
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"metric": "NegativeLogLikelihood"}, "BrierScore.*NegativeLogLikelihood"),
        ({"config": {"from_logits": True}}, "from_logits None and True"),
        ({"arrays": pairs([1]).arrays}, "shape of hi"),
    ],
)
def test_states_of_different_metrics_do_not_add(change, word):
    state = pairs([1, 2])
    other = dataclasses.replace(state, **change)
    assert other != state
    for a, b in ((state, other), (other, state)):
        with pytest.raises(ValueError, match=r"same metric and options.*Received"):
            a + b
    with pytest.raises(ValueError, match=word):
        state + other


GOOD = pairs([1, 2]).arrays
ONE, TWO = {"invalid": np.array(0)}, GOOD["hi"]


@pytest.mark.tensors
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"metric": 3}, "metric"),
        *(
            ({"config": config}, "config")
            for config in ([("a", 1)], {"a": {1, 2}}, {"a": np.zeros(2)})
        ),
        *(
            ({"arrays": arrays}, word)
            for arrays, word in (
                ([0], "arrays"),
                ({}, "arrays"),
                ({"units": GOOD["units"]}, "arrays"),
                ({**GOOD, "more": TWO}, "arrays"),
                ({**GOOD, 3: TWO}, "arrays"),
                ({**ONE, "hi": TWO}, "arrays"),
                ({"invalid": np.array(0.0)}, "invalid"),
                ({"invalid": np.array([0])}, "invalid"),
                ({**GOOD, "units": TWO}, "units"),
                ({**GOOD, "units": np.zeros([2, 2], int)}, "units"),
                ({**GOOD, "hi": TWO.astype(float)}, "hi"),
                ({**GOOD, "hi": np.float32(0)}, "hi"),
                ({**GOOD, "hi": np.array(["a", "b"])}, "hi"),
                ({**GOOD, "lo": TWO[:1]}, "lo"),
            )
        ),
        ({"classes": 0}, "classes"),
        ({"classes": "3"}, "classes"),
    ],
)
def test_bad_states_raise(change, word):
    with pytest.raises(ValueError, match=f"`{word}` must.*Received"):
        dataclasses.replace(pairs([1, 2]), **change)


def test_tuples_in_a_config_are_lists_as_in_json():
    state = um.Pinball([0.1, 0.9]).get_state()
    assert state.config["quantiles"] == [0.1, 0.9]
    config = {**state.config, "quantiles": (0.1, 0.9)}
    assert dataclasses.replace(state, config=config) == state


# The file.

HEADER = {
    "format": "uncertainty_metrics.MetricState",
    "version": 1,
    "metric": "BrierScore",
    "config": {"from_logits": False, "ignore_index": None, "sparse_labels": None},
    "classes": None,
    "arrays": ["invalid", "units", "hi", "lo"],
}


def archive(header, **arrays):
    """Writes a file by hand, as the documentation of the class describes it."""
    file = io.BytesIO()
    text = header if isinstance(header, np.ndarray) else np.array(json.dumps(header))
    np.savez(file, header=text, **arrays)
    file.seek(0)
    return file


@pytest.mark.tensors
def test_the_file_is_as_documented(tmp_path):
    state = dataclasses.replace(pairs([2, -1]), config=HEADER["config"])
    assert MetricState.load(archive(HEADER, **state.arrays)) == state
    assert read(state.to_metric()) == -0.5
    big_endian = {
        name: array.astype(array.dtype.newbyteorder(">"))
        for name, array in state.arrays.items()
    }
    assert MetricState.load(archive(HEADER, **big_endian)) == state

    path = tmp_path / "state.of.any.ending"
    state.save(str(path))
    with np.load(path, allow_pickle=False) as found:
        assert list(found) == ["header", "invalid", "units", "hi", "lo"]
        assert json.loads(found["header"].item()) == HEADER
        assert {name: found[name].dtype.name for name in found if name != "header"} == {
            **dict.fromkeys(("invalid", "units"), "int64"),
            **dict.fromkeys(("hi", "lo"), "float32"),
        }


@pytest.mark.tensors
def test_equal_states_make_equal_files(rng, tmp_path):
    state = filled(rng)
    config = dict(reversed(state.config.items()))
    arrays = dict(reversed(state.arrays.items()))
    same = dataclasses.replace(state, config=config, arrays=arrays)
    assert same == state
    for name, written in (("a", state), ("b", same)):
        written.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.tensors
@pytest.mark.parametrize(
    ("header", "change", "word"),
    [
        ({**HEADER, "format": "another"}, {}, "format"),
        ({**HEADER, "version": 2}, {}, "version.*later"),
        ({**HEADER, "version": "1"}, {}, "version"),
        ({"version": 1}, {}, "path"),
        ({"format": HEADER["format"], "version": 1}, {}, "header"),
        ([1], {}, "path"),
        (np.array("{"), {}, "path"),
        (np.array([1, 2]), {}, "path"),
        (np.array({"format": HEADER["format"]}), {}, "path"),  # A pickle.
        ({**HEADER, "config": [1]}, {}, "config"),
        (HEADER, {"invalid": np.array({})}, "path"),  # A pickle.
        (HEADER, {"units": GOOD["hi"]}, "units"),
        (HEADER, {"hi": GOOD["hi"][:1]}, "lo"),
        (HEADER, {"other": GOOD["hi"]}, "path"),
        ({**HEADER, "arrays": ["invalid"]}, {}, "path"),
        ({**HEADER, "arrays": [*GOOD, "other"]}, {"other": GOOD["hi"]}, "arrays"),
    ],
)
def test_wrong_files_raise(header, change, word):
    with pytest.raises(ValueError, match=f"`{word}.*Received"):
        MetricState.load(archive(header, **{**GOOD, **change}))


@pytest.mark.tensors
def test_files_that_hold_no_state_raise(tmp_path, rng):
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    for content in (b"", b"text", pickle.dumps([1]), file.getvalue()):
        with pytest.raises(ValueError, match=r"MetricState\.save"):
            MetricState.load(io.BytesIO(content))
    with pytest.raises(FileNotFoundError):
        MetricState.load(tmp_path / "absent")


@pytest.mark.parametrize(
    "name",
    [
        *("NoSuchMetric", "", "AUC", "brier_score", "numpy", "BrierLoss"),
        *("BinStatistics", "regression", "regression.BrierScore", "os.system"),
        *("numpy.GeneralCalibrationError", "keras.metrics.ranking.AURC"),
        *("numpy.regression.np.os.system", "__class__", "regression.__name__"),
    ],
)
def test_only_metrics_are_made_from_names(name):
    state = MetricState(name, {}, ONE)
    with pytest.raises(ValueError, match=r"`metric` must .*Received"):
        state.to_metric()


def test_a_state_that_does_not_fit_its_metric_raises(rng):
    state = filled(rng)
    few = {
        name: array[..., :3] if array.ndim else array
        for name, array in state.arrays.items()
    }
    with pytest.raises(ValueError, match="shape of"):
        dataclasses.replace(state, arrays=few).to_metric()
    with pytest.raises(TypeError, match="num_bin"):
        dataclasses.replace(state, config={"num_bin": 3}).to_metric()


@pytest.mark.parametrize(
    ("metric", "config", "classes"),
    [
        ("StaticCalibrationError", {}, 10**12),
        ("StaticCalibrationError", {"num_classes": 10**12}, 10**12),
        ("StaticCalibrationError", {"num_classes": 10**12}, None),
        ("AdaptiveCalibrationError", {"num_classes": 10**400}, None),
        ("StaticCalibrationError", {"num_bins": 10**6, "num_classes": 10**6}, 10**6),
        ("BrierDecomposition", {}, 10**6),
    ],
)
@pytest.mark.parametrize("empty", [False, True])
def test_options_take_no_more_memory_than_arrays(metric, config, classes, empty):
    size = 0 if empty else 3
    units, pair = np.zeros([4, size], np.int64), np.zeros([3, size], np.float32)
    sums = {"units": units, "hi": pair, "lo": pair}
    arrays = {"invalid": np.zeros([], np.int64), **({} if empty else sums)}
    state = MetricState(metric, config, arrays, classes)
    message = rf"`arrays` must .*Received: {3 * size} cells"
    with pytest.raises(ValueError, match=message):
        state.to_metric()
    if not config:
        metric = getattr(um, metric)()
        state = dataclasses.replace(state, config=metric.get_state().config)
        with pytest.raises(ValueError, match=r"`arrays` must .*Received"):
            metric.set_state(state)


@pytest.mark.tensors
def test_states_need_no_tensorflow(rng, tmp_path):
    state = filled(rng)
    state.save(tmp_path / "state")
    code = (
        "import sys, uncertainty_metrics.numpy._metric_state as states\n"
        f"state = states.MetricState.load({str(tmp_path / 'state')!r})\n"
        f"sum([state] * 3).save({str(tmp_path / 'sum')!r})\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    assert MetricState.load(tmp_path / "sum") == sum([state] * 3)


@sent_from_tf_keras
def test_states_pass_from_one_keras_to_the_other(rng, tmp_path):
    sent, received = tmp_path / "sent", tmp_path / "received"
    names = ["ExpectedCalibrationError", "BrierDecomposition", "regression.Sharpness"]
    states = [filled(rng, name) for name in names]
    sent.write_bytes(pickle.dumps(states))
    code = (
        "import pickle, numpy as np, tensorflow as tf\n"
        f"states = pickle.load(open({str(sent)!r}, 'rb'))\n"
        "values = [state.to_metric(dtype='float64').result() for state in states]\n"
        "values = [np.array(tf.nest.flatten(value)) for value in values]\n"
        "found = hasattr(tf.keras, 'ops'), values\n"
        f"pickle.dump(found, open({str(received)!r}, 'wb'))\n"
    )
    is_keras_3 = hasattr(tf.keras, "ops")
    other = {**os.environ, "TF_USE_LEGACY_KERAS": str(int(is_keras_3))}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=other)
    there, values = pickle.loads(received.read_bytes())
    assert there is not is_keras_3
    for found, state in zip(values, states, strict=True):
        np.testing.assert_array_equal(found, value(state))
