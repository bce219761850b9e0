"""Every Keras metric on the tensors of JAX and PyTorch."""

import copy
import dataclasses
import pickle
import sys

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.keras
from tests import catalogue
from tests.backends.conftest import BACKEND
from tests.keras.streams import (
    assert_close,
    feed,
    first_alike,
    holder,
    kernel,
    make_for_graph,
    parts,
    read,
    reader,
)
from uncertainty_metrics.ops import _sums

MODULES = set(sys.modules)  # After these imports.
METRICS = [
    row for row in catalogue.METRICS if row.metric != "BayesianExpectedCalibrationError"
]

only_jax = pytest.mark.skipif(BACKEND != "jax", reason="compiled by jax.jit")


def rows(alike=id):
    """Parametrizes over rows; the default run has the first row of each key."""
    params = [
        pytest.param(
            *(row, *row.metric_cases[0]), id=f"{row.metric}-{row.name}", marks=marks
        )
        for row, marks in first_alike(METRICS, alike)
    ]
    return pytest.mark.parametrize(("row", "options", "case"), params)


def tensors(*arrays):
    from keras import ops

    return [ops.convert_to_tensor(array) for array in arrays]


def states(metric):
    return {name: array.tobytes() for name, array in metric.get_state().arrays.items()}


def test_repr_shows_the_value():
    metric = um.BrierDecomposition(name="parts")
    assert repr(metric) == "<BrierDecomposition name=parts, no examples>"
    metric.update_state(*tensors([0, 1], [[0.75, 0.25], [0.25, 0.75]]))
    parts = "uncertainty=-0.5, resolution=0.5, reliability=0.125"
    assert repr(metric) == f"<BrierDecomposition name=parts, {parts}>"


def test_tensorflow_is_not_imported():
    assert not {"tensorflow", "tf_keras"} & MODULES


# JAX compiles each metric, so it has one that stands for each class that reads batches.
@rows(id if BACKEND == "torch" else reader)
def test_batches_with_and_without_weights(row, options, case, rng):
    data = row.lattice(rng)
    metric = row.made(options)
    first, second = parts(data, 2)
    metric.update_state(*first[:2])
    metric.update_state(*tensors(*map(np.asarray, second)))
    weights = np.where(np.arange(40) < 20, 1.0, data.weights)
    mixed = dataclasses.replace(data, weights=weights)
    result = read(metric)
    assert_close(row, result, row.expected(case, mixed, True))
    np.testing.assert_array_equal(read(metric), result)  # Reading changes nothing.
    metric.reset_state()
    assert not np.any(read(metric))


@pytest.mark.exhaustive
@rows()
def test_batches_of_any_size(row, options, case, rng):
    data = row.lattice(rng)
    for weighted in (True, False):
        result = feed(row.made(options), data, 3, weighted)
        assert_close(row, result, row.expected(case, data, weighted))


@rows(holder)
def test_states_add_and_can_be_copied(row, options, case, rng):
    data = row.lattice(rng)
    whole, *shares = (row.made(options) for _ in range(3))
    for share, batch in zip(shares, parts(data, 2), strict=True):
        for metric in (whole, share):
            metric.update_state(*batch)
    merged = row.made(options)
    merged.merge_state([shares[0], shares[1].get_state()])
    expected = row.expected(case, data, True)
    assert_close(row, read(merged), expected)
    again = (
        whole.get_state().to_metric(),
        pickle.loads(pickle.dumps(whole)),
        copy.deepcopy(whole),
    )
    for each in again:
        assert states(each) == states(whole)
        np.testing.assert_array_equal(read(each), read(whole))
    merged.set_state(row.made(options).get_state())
    assert not np.any(read(merged))


@rows(holder)
def test_a_state_of_another_backend_takes_updates(row, options, case, rng, tmp_path):
    """Its sums are int64; on this backend they add to the same bits as in NumPy."""
    data = row.lattice(rng)
    metric = row.made(options)
    metric.update_state(data.labels, data.predictions)
    state = metric.get_state()
    assert state.arrays["units"].dtype == np.int64
    large = {
        "units": rng.integers(0, 2**44, state.arrays["units"].shape),
        "hi": np.float32(2.0 ** rng.integers(-9, 9, state.arrays["hi"].shape)),
        "lo": np.float32(2.0 ** rng.integers(-40, -30, state.arrays["lo"].shape)),
    }
    arrays = {**state.arrays, **large}
    dataclasses.replace(state, arrays=arrays).save(tmp_path / "state.npz")
    found = um.MetricState.load(tmp_path / "state.npz")
    metric.set_state(found)
    assert states(metric) == {name: array.tobytes() for name, array in arrays.items()}
    # A batch without weights changes only the units of a metric.
    before, added = metric.get_state(), row.made(options)
    added.update_state(data.labels, data.predictions)
    metric.update_state(data.labels, data.predictions)
    sums = before.arrays["units"] + added.get_state().arrays["units"]
    assert metric.get_state().arrays["units"].tobytes() == sums.tobytes()


@rows(reader)
def test_bad_data_raises_and_keeps_the_state(row, options, case, rng):
    data = row.lattice(rng)
    metric = row.made(options)
    metric.update_state(data.labels, data.predictions)
    state = states(metric)
    for bad in ("lengths", *row.metric_values()[:3]):
        if bad in (*row.keras_shapes, *row.metric_values()):
            arguments, word = row.bad_keras_data(bad)
            with pytest.raises(ValueError, match=word):
                metric.update_state(*arguments)
            assert states(metric) == state, bad


@pytest.mark.skipif(BACKEND != "torch", reason="gradients of tensors, of PyTorch")
@rows(reader)
def test_metrics_keep_no_gradient(row, options, case, rng):
    data = row.lattice(rng)
    labels, predictions, weights = tensors(
        data.labels, data.predictions, np.float32(data.weights)
    )
    predictions.requires_grad_()
    metric = row.made(options)
    metric.update_state(labels, predictions, weights)
    assert predictions.requires_grad
    assert predictions.grad_fn is None
    for variable in metric.variables:
        assert not variable.value.requires_grad
    assert_close(row, read(metric), row.expected(case, data, True))
    result = metric.result()
    for part in result.values() if isinstance(result, dict) else [result]:
        assert not part.requires_grad
    if row.metric_values():
        bad, word = row.bad_keras_data("nan weight")
        given = tensors(*map(np.asarray, bad))
        given[1] = given[1].requires_grad_()
        with pytest.raises(ValueError, match=word):
            metric.update_state(*given)


@only_jax
@rows(kernel)
def test_stateless_methods_work_in_jit(row, options, case, rng):
    import jax

    data = row.lattice(rng)
    metric = make_for_graph(row, options)

    @jax.jit
    def step(state, *batch):
        state = metric.stateless_update_state(state, *batch)
        return state, metric.stateless_result(state)

    def run(state, *batches):
        for batch in batches:
            state, result = step(state, *(np.float32(part) for part in batch))
        for variable, value in zip(metric.variables, state, strict=True):
            variable.assign(value)
        return result

    def of(result):
        parts = result.values() if isinstance(result, dict) else [result]
        return np.array([float(part) for part in parts])

    empty = [variable.value for variable in metric.variables]
    result = of(run(empty, *parts(data, 2)))
    if isinstance(metric.result(), dict):  # Compiled code sorts the keys.
        result = read(metric)
    expected = row.expected(case, data, True)
    assert_close(row, result, expected)
    assert_close(row, read(metric), expected)
    weights = np.where(np.arange(40) == 3, np.nan, data.weights)
    bad = dataclasses.replace(data, weights=weights)
    assert np.all(np.isnan(of(run(empty, *parts(bad, 2)))))
    with pytest.warns(RuntimeWarning, match="1 batch"):
        assert np.all(np.isnan(read(metric)))
    assert np.all(np.isnan(read(metric)))  # It warns once.
    metric.reset_state()
    assert not np.any(read(metric))


def test_masked_predictions_are_left_out(rng):
    row = next(row for row in METRICS if row.metric == "ExpectedCalibrationError")
    data = row.lattice(rng)
    labels, predictions = tensors(
        data.labels.reshape(8, 5), data.predictions.reshape(8, 5, 3)
    )
    mask = rng.uniform(size=[8, 5]) < 0.7
    from keras.src.backend import set_keras_mask

    set_keras_mask(predictions, tensors(mask)[0])
    metric = um.ExpectedCalibrationError()
    metric.update_state(labels, predictions)
    kept = dataclasses.replace(data, weights=np.float64(mask.reshape(-1)))
    assert_close(row, read(metric), row.expected({}, kept, True))


@pytest.mark.parametrize("label", [2**32, 2**40 + 1, -(2**32) + 1])
def test_labels_beyond_int32_raise(label):
    """JAX itself would take the lower 32 bits of a label."""
    probabilities = np.float32([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    labels = np.array([0, label, 1])
    metric = um.BrierScore()
    with pytest.raises(ValueError, match="y_true"):
        metric.update_state(labels, probabilities)


def test_scores_add_without_rounding(rng):
    """A float32 sum of a thousand scores would have only seven digits."""
    scores = rng.uniform(0.5, 1, 1000).astype(np.float32)
    metric = um.ExpectedCalibrationError(num_bins=1)
    metric.update_state(np.ones(1000, int), np.stack([1 - scores, scores], axis=1))
    units = metric.get_state().arrays["units"].reshape(4).tolist()
    exact = sum(round(float(score) * 2**_sums.SCORE_BITS) for score in scores)
    shift = _sums.SCORE_BITS - _sums.WHOLE_BITS
    assert [units[0], units[1] * 2**shift + units[2], units[3]] == [1000, exact, 1000]


def test_collections_take_states_of_no_examples():
    """Such a state has no sums while the number of classes is unknown."""
    metric = um.MetricCollection([um.AdaptiveCalibrationError(), um.BrierScore()])
    nothing, batch = metric.get_state(), ([0, 1], [[0.9, 0.1], [0.3, 0.7]])
    metric.update_state(*batch)
    before = [tuple(variable.shape) for variable in metric.variables]
    metric.set_state(nothing)
    assert [tuple(variable.shape) for variable in metric.variables] == before
    assert all(float(value) == 0 for value in metric.result().values())
    metric.update_state(*batch)
    result = {name: float(value) for name, value in metric.result().items()}
    expected = {"adaptive_calibration_error": 0.2, "brier_score": -0.9}
    assert result == pytest.approx(expected, rel=1e-6)


def test_statistics_of_more_examples_than_int32_holds(rng):
    data = METRICS[0].lattice(rng)
    metric = um.ExpectedCalibrationError()
    metric.update_state(data.labels, data.predictions)
    counts = np.asarray(metric.counts)
    state = metric.get_state()
    arrays = {**state.arrays, "units": state.arrays["units"] * 2**31}
    metric.set_state(dataclasses.replace(state, arrays=arrays))
    np.testing.assert_array_equal(np.asarray(metric.counts), counts * 2.0**31)


def test_a_temperature_out_of_range_warns():
    metric = um.RefinedNegativeLogLikelihood(from_logits=True)
    metric.update_state([0, 1, 0, 1], [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(np.asarray(metric.temperature), 4 / np.log(3), rtol=1e-4)
    np.testing.assert_allclose(
        np.asarray(metric.calibration_part),
        np.log1p(np.exp(-4)) + 1 - np.log(4) + 0.75 * np.log(3),
        rtol=1e-4,
    )
    for labels, way in (([0, 1, 0, 0], "below 1/16"), ([1, 0, 1, 0], "above 16")):
        metric.reset_state()
        metric.update_state(labels, [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]])
        with pytest.warns(RuntimeWarning, match=f"The best temperature .* is {way}"):
            metric.result()


@pytest.mark.parametrize("name", ["AUROC", "AUPR", "FPRAtTPR"])
def test_labels_of_one_class_have_no_value(name):
    metric = getattr(um, name)()
    assert float(metric.result()) == 0.0
    metric.update_state(*tensors([0, 0], [0.1, 0.2]))
    with pytest.warns(RuntimeWarning, match=rf"{name} .* is NaN: it needs"):
        assert np.isnan(float(metric.result()))
    metric.update_state(*tensors([1, 1], [0.3, 0.4]))
    assert float(metric.result()) == (0.0 if name == "FPRAtTPR" else 1.0)
    metric.reset_state()
    assert float(metric.result()) == 0.0
    assert float(getattr(metric, "error_bound", 0.0)) == 0.0
