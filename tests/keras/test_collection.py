"""A collection gives the values of its metrics, and computes once what they share."""

import collections
import copy
import dataclasses
import pickle

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import assert_close, feed, make_for_graph, parts, read, value
from tests.keras.test_catalogue import groups

keras = tf.keras
pytestmark = pytest.mark.keras

NAMES = {
    "ece": um.ExpectedCalibrationError,
    "mce": um.MaximumCalibrationError,
    "ace": um.AdaptiveCalibrationError,
    "aurc": um.AURC,
    "augrc": um.AUGRC,
    "brier": um.BrierScore,
    "nll": um.NegativeLogLikelihood,
    "accuracy": um.Accuracy,
    "parts": um.BrierDecomposition,
}
# Fewer cells than by default.
FEW = {
    "ace": {"sketch_bits": 3},
    "aurc": {"sketch_bits": 3},
    "augrc": {"sketch_bits": 3},
}


def make(names=tuple(NAMES), **options):
    return {name: NAMES[name](**FEW.get(name, {}), **options) for name in names}


def floats(result):
    return {name: float(part) for name, part in result.items()}


def one_by_one(metrics, *batches):
    """Returns the results of the metrics without a collection."""
    results = {}
    for name, metric in metrics.items():
        for batch in batches:
            metric.update_state(*batch)
        result = metric.result()
        if isinstance(result, dict):
            results |= {f"{name}_{key}": float(part) for key, part in result.items()}
        else:
            results[name] = float(result)
    return results


@pytest.fixture
def batch(rng):
    row = catalogue.CLASS_METRICS[0]
    data = row.lattice(rng)
    return data.labels, data.predictions.astype(np.float32), data.weights


@pytest.mark.first(1, "thorough")
@pytest.mark.tensors
@groups(of_all=id)
def test_values_equal_those_of_the_metrics_alone(rows, rng):
    data = rows[0].lattice(rng)
    made = {f"<{row.metric} {row.name}>": row for row in rows}
    options = {name: row.metric_cases[0][0] for name, row in made.items()}
    collection = um.MetricCollection(
        {name: row.made(options[name]) for name, row in made.items()}
    )
    graph = um.MetricCollection(
        {name: make_for_graph(row, options[name]) for name, row in made.items()}
    )
    for each in parts(data, 3):
        collection.update_state(*each)
        tf.function(graph.update_state)(*map(tf.constant, each))
    for metric in (collection, graph):
        result = metric.result()
        for name, row in made.items():
            found = [v for k, v in result.items() if k.startswith(name)]
            assert_close(
                row, value(found), row.expected(row.metric_cases[0][1], data, True)
            )
            assert_close(row, read(metric.metrics[name]), value(found), 0)
    for name, row in made.items():
        single = feed(row.made(options[name]), data, 3, True)
        np.testing.assert_array_equal(read(collection.metrics[name]), single)


@pytest.mark.tensors
def test_equal_sums_share_a_state_and_arguments_are_read_once(batch):
    metrics = make(from_logits=True)
    more = {"from_logits": True, "sketch_bits": 3}
    metrics |= {
        "rmsce": um.RootMeanSquaredCalibrationError(**more),
        "bins": um.RootMeanSquaredCalibrationError(9, **more),
        "risk": um.CoverageAtRisk(0.1, **more),
        "other": um.ExpectedCalibrationError(9, from_logits=True),
        "again": um.BrierScore(from_logits=True),
    }
    collection = um.MetricCollection(metrics)
    labels, _, weights = batch
    logits = np.float32(np.random.default_rng(0).normal(size=(len(labels), 3)))
    collection.update_state(labels, logits, weights)
    shared = collections.Counter(id(m._units) for m in collection.metrics.values())
    assert sorted(shared.values()) == [1] * 5 + [2] * 3 + [3]
    assert len(collection.variables) == 1 + 3 * len(shared)
    assert len({id(v) for v in collection.variables}) == len(collection.variables)
    signature = (tf.constant(labels), tf.constant(logits), tf.constant(weights))
    traced = tf.function(collection.update_state).get_concrete_function(*signature)
    kinds = collections.Counter(op.type for op in traced.graph.get_operations())
    assert kinds["Softmax"] == 1
    # Three more are needed: for decisions, margins, and the decomposition by class.
    alone = um.MetricCollection([um.ExpectedCalibrationError(from_logits=True)])
    alone = tf.function(alone.update_state).get_concrete_function(*signature)
    of_one = collections.Counter(op.type for op in alone.graph.get_operations())
    assert kinds["ArgMax"] <= of_one["ArgMax"] + 3


@pytest.mark.tensors
def test_metrics_that_share_sums_all_learn_the_classes(batch):
    def metrics():
        by_class = {"max_prob": False, "class_conditional": True}
        options = {"binning_scheme": "even", "norm": "max", **by_class}
        return {
            "sce": um.StaticCalibrationError(),
            "max": um.GeneralCalibrationError(**options),
        }

    collection = um.MetricCollection(metrics())
    collection.update_state(*batch)
    members = collection.metrics.values()
    assert len({id(metric._units) for metric in members}) == 1
    assert floats(collection.result()) == one_by_one(metrics(), batch)
    assert [state.classes for state in collection.get_state().values()] == [3, 3]


@pytest.mark.thorough
def test_in_compile_and_after_reload(rng, tmp_path):
    keras.utils.set_random_seed(0)
    dense = keras.layers.Dense(3, activation="softmax")
    model = keras.Sequential([keras.Input([4]), dense])
    names = ("ece", "mce", "aurc", "brier", "parts")
    collection = um.MetricCollection(make(names), name="all")
    model.compile("sgd", um.BrierLoss(), metrics=[collection, "accuracy"])
    features = rng.normal(size=(90, 4)).astype(np.float32)
    labels = rng.integers(0, 3, 90)
    model.fit(features, labels, verbose=0, batch_size=32)
    path = tmp_path / "model.keras"
    model.save(path)
    predictions = model.predict(features, verbose=0)
    for each in (model, keras.models.load_model(path)):
        logs = each.evaluate(
            features, labels, batch_size=32, verbose=0, return_dict=True
        )
        for name, result in one_by_one(make(names), (labels, predictions)).items():
            np.testing.assert_allclose(logs[name], result, rtol=0, atol=2e-6)


@pytest.mark.tensors
def test_a_wrong_batch_changes_no_metric(batch):
    labels, predictions, weights = batch
    collection, untouched = (um.MetricCollection(make()) for _ in range(2))
    collection.update_state(*batch)
    before = collection.get_state()
    messages = {
        "in \\[0, 1\\]": (labels, predictions + 1),
        "`sample_weight`": (labels, predictions, -weights - 1),
        "`y_true`": (labels + 7, predictions),
        "have 3 classes": (labels, predictions[:, :2]),
    }
    for word, wrong in messages.items():
        for each in (collection, untouched):
            if each is untouched and "classes" in word:
                continue
            with pytest.raises(ValueError, match=word):
                each.update_state(*wrong)
    assert collection.get_state() == before
    untouched.update_state(*batch)
    assert untouched.get_state() == before


@pytest.mark.thorough
@pytest.mark.tensors
def test_a_wrong_compiled_batch_makes_all_nan_and_warns_once(batch):
    labels, predictions, _ = batch
    predictions = np.where(np.arange(3) == labels[:, None], predictions, 1e9)
    collection = um.MetricCollection(make(), name="all")
    tf.function(collection.update_state)(labels, np.float32(predictions))
    with pytest.warns(RuntimeWarning) as caught:
        assert all(map(np.isnan, value(collection.result())))
    (warning,) = caught
    assert "MetricCollection 'all' is NaN until `reset_state`" in str(warning.message)
    assert "`from_logits=True`" in str(warning.message)
    collection.reset_state()
    collection.update_state(*batch)
    assert floats(collection.result()) == one_by_one(make(), batch)


@pytest.mark.thorough
@pytest.mark.tensors
@pytest.mark.parametrize("order", [1, -1])
def test_a_compiled_batch_that_is_wrong_for_one_metric_makes_all_nan(order, batch):
    labels, predictions, _ = batch
    labels = np.where(np.arange(len(labels)) == 3, -1, labels)
    metrics = [um.ExpectedCalibrationError(ignore_index=-1), um.BrierScore()]
    collection = um.MetricCollection(metrics[::order])
    tf.function(collection.update_state)(labels, predictions)
    with pytest.warns(RuntimeWarning, match="NaN"):
        assert all(map(np.isnan, value(collection.result())))


@pytest.mark.tensors
def test_metrics_that_do_not_validate_are_nan(batch):
    labels, predictions, _ = batch
    quiet = um.CalibrationError("binary", validate_args=False)
    collection = um.MetricCollection([quiet])
    collection.update_state(labels % 2, predictions[:, 0] + 7)
    with pytest.warns(RuntimeWarning, match="NaN"):
        assert np.isnan(read(collection))


@pytest.mark.tensors
def test_states_add_and_are_saved(batch, tmp_path):
    halves = [
        [column[part] for column in batch] for part in (slice(17), slice(17, None))
    ]
    first, second, third = (um.MetricCollection(make()) for _ in range(3))
    first.update_state(*halves[0])
    second.update_state(*halves[1])
    second.get_state()["aurc"].save(tmp_path / "state.npz")
    states = second.get_state()
    states["aurc"] = um.MetricState.load(tmp_path / "state.npz")
    third.merge_state([first, states])
    expected = one_by_one(make(), *halves)
    for metric in (third, copy.deepcopy(third), pickle.loads(pickle.dumps(third))):
        assert floats(metric.result()) == pytest.approx(expected, abs=1e-6)
        assert len(metric.variables) == len(first.variables)
    third.set_state(um.MetricCollection(make()).get_state())
    third.update_state(*batch)
    assert floats(third.result()) == pytest.approx(expected, abs=1e-6)
    # Each is also a state of the metric alone.
    single = um.AUGRC(sketch_bits=3)
    single.merge_state([first.get_state()["augrc"], second.metrics["augrc"]])
    assert float(single.result()) == pytest.approx(expected["augrc"], abs=1e-6)


@pytest.mark.tensors
def test_wrong_states_raise(batch):
    collection = um.MetricCollection(make())
    collection.update_state(*batch)
    states = collection.get_state()
    twice = states["mce"] + states["mce"]
    refused = dataclasses.replace(
        states["ace"], arrays={**states["ace"].arrays, "invalid": np.array(1)}
    )
    for wrong, word in (
        ({"ece": states["ece"]}, "a dict of the states of ece, mce"),
        ({**states, "ece": states["mce"]}, "same metric and options"),
        ({**states, "mce": twice}, "the same sums for 'ece' and 'mce'"),
        ({**states, "ace": refused}, "the same `invalid` for all metrics"),
    ):
        for change in (collection.set_state, lambda w: collection.merge_state([w])):
            with pytest.raises(ValueError, match=word):
                change(wrong)
    for wrong in (None, 3, "ece", states["ece"], [states], collection.metrics["ece"]):
        with pytest.raises(TypeError, match="`state` must be a dict of the states of"):
            collection.set_state(wrong)
        with pytest.raises(TypeError, match="`state` must be a dict of the states of"):
            collection.merge_state([states, wrong])
    for wrong in (None, 3, states, collection):
        with pytest.raises(TypeError, match="`metrics` must be a list of collections"):
            collection.merge_state(wrong)
    with pytest.raises(TypeError, match="`ece` must be a `MetricState`"):
        collection.set_state({**states, "ece": None})
    assert collection.get_state() == states


@pytest.mark.tensors
def test_members_cannot_be_changed_without_their_collection(batch):
    metrics = make()
    collection = um.MetricCollection(metrics)
    collection.update_state(*batch)
    member = metrics["ece"]
    assert collection.metrics["ece"] is member
    assert float(member.result()) == float(collection.result()["ece"])
    np.testing.assert_allclose(np.sum(member.counts), batch[2].sum())
    for change in (
        lambda: member.update_state(*batch),
        lambda: member.merge_state([member]),
        lambda: member.set_state(member.get_state()),
    ):
        with pytest.raises(ValueError, match="cannot be changed alone"):
            change()


class Counted(um.BrierScore):
    """Counts its calls."""

    calls = 0

    def _read(self, y_true, y_pred, sample_weight):
        self.calls += 1
        return super()._read(y_true, y_pred, sample_weight)


class Shifted(um.BrierScore):
    """Has an update of its own, which no collection would call."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(y_true + 1, y_pred, sample_weight)


class Shifting(Counted):
    """Reads the labels in another way, alone and in a collection."""

    def _read(self, y_true, y_pred, sample_weight):
        return super()._read(y_true + 1, y_pred, sample_weight)


@pytest.mark.tensors
def test_metrics_that_read_alike_read_a_batch_once(batch):
    members = [Counted(name=name) for name in "ab"]
    collection = um.MetricCollection(members)
    collection.update_state(*batch)
    assert sum(member.calls for member in members) == 1
    alone = Counted()
    alone.update_state(*batch)
    assert alone.calls == 1
    assert floats(collection.result()) == dict.fromkeys("ab", float(alone.result()))


@pytest.mark.tensors
def test_a_class_with_an_update_of_its_own_is_refused(batch):
    with pytest.raises(ValueError, match=r"does not replace `update_state`.*Shifted"):
        um.MetricCollection([Shifted()])
    labels, predictions, weights = batch
    wide = np.concatenate([0 * predictions[:, :1], predictions], axis=1)
    collection = um.MetricCollection([Shifting(name="shifted"), um.BrierScore()])
    collection.update_state(labels, wide, weights)
    shifted = um.BrierScore()
    shifted.update_state(labels + 1, wide, weights)
    assert float(collection.result()["shifted"]) == float(shifted.result())


def test_wrong_metrics_raise(batch):
    used, taken = um.BrierScore(), um.BrierScore()
    used.update_state(*batch)
    um.MetricCollection([taken])
    for metrics, word in (
        (um.BrierScore(), "a list of metrics of this package"),
        ("brier_score", "a list of metrics of this package"),
        ([], "at least one metric"),
        ({}, "at least one metric"),
        ([keras.metrics.MeanSquaredError()], "metrics of this package"),
        ([um.BrierScore, um.AURC()], "metrics of this package"),
        ([um.MetricCollection([um.AURC()])], "metrics that are not collections"),
        ([taken], "in no other collection"),
        ([used], "without examples"),
        ([um.BrierScore(), um.BrierScore()], "each only once"),
        (
            [um.AURC(), um.BrierScore(name="a"), um.Accuracy(name="a")],
            "a name of its own",
        ),
        ({1: um.BrierScore()}, "names that are strings"),
    ):
        with pytest.raises(ValueError, match=word):
            um.MetricCollection(metrics)


@pytest.mark.thorough
def test_two_replicas_give_the_value_of_one(strategy, rng):
    data = catalogue.CLASS_METRICS[0].lattice(rng, n=41)
    names = ("ece", "mce", "parts")
    with strategy.scope():
        collection = um.MetricCollection(make(names))
    # The shape of these sums depends on the number of classes.
    assert not collection.metrics["parts"]._has_sums
    columns = (data.labels, np.float32(data.predictions), data.weights)
    dataset = tf.data.Dataset.from_tensor_slices(columns).batch(12)

    @tf.function
    def step(batch):
        strategy.run(collection.update_state, args=batch)

    for each in strategy.experimental_distribute_dataset(dataset):
        step(each)
    expected = one_by_one(make(names), columns)
    assert floats(collection.result()) == pytest.approx(expected, abs=1e-6)
    collection.set_state(collection.get_state())
    assert floats(collection.result()) == pytest.approx(expected, abs=1e-6)
    collection.reset_state()
    assert not any(floats(collection.result()).values())


@pytest.mark.tensors
def test_collections_of_forecasts_and_of_unlabelled_predictions(rng):
    labels = rng.normal(size=20).astype(np.float32)
    forecasts = rng.normal(size=(20, 2)).astype(np.float32)

    def metrics():
        return {
            "crps": um.CRPSNormal(),
            "width": um.regression.IntervalWidth(),
            "nll": um.regression.NegativeLogLikelihood(),
            "samples": um.CRPSSamples(),  # NumPy computes its scores.
        }

    collection = um.MetricCollection(metrics())
    collection.update_state(labels, forecasts)
    collection.update_state(labels[:3], forecasts[:3])
    batches = (labels, forecasts), (labels[:3], forecasts[:3])
    expected = one_by_one(metrics(), *batches)
    assert floats(collection.result()) == pytest.approx(expected, abs=1e-6)

    members = rng.dirichlet(np.ones(3), (20, 4))
    entropies = um.MetricCollection([um.PredictiveEntropy(), um.MutualInformation()])
    entropies.update_state(None, members)
    functions = um.predictive_entropy, um.mutual_information
    means = [
        np.mean(each(probabilities=members, ensemble_axis=1)) for each in functions
    ]
    np.testing.assert_allclose(value(entropies.result()), means, atol=1e-6)
