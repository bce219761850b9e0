"""Keras metrics of groups of examples, and of multilabel targets."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from tests.catalogue import FEW_CELLS

keras = tf.keras
pytestmark = pytest.mark.keras

ROWS = [
    row
    for row in catalogue.CLASS_METRICS
    if "num_groups" in inspect.signature(row.metric_class).parameters
]


def draw(row, rng):
    """Returns y_true, y_pred and weights; of the groups 0 to 3 group 2 is empty."""
    data = row.lattice(rng)
    groups = rng.choice([0, 1, 3], 40)
    labels = {"labels": data.labels, "groups": groups}
    return labels, data.predictions, data.weights.astype(np.float32)


def by_group(function, y_true, y_pred, weights, **options):
    """Returns the values, group by group."""
    values = np.full(4, np.nan)
    for g in range(4):
        of = y_true["groups"] == g
        if np.any(weights[of]):
            given = {"probabilities": y_pred[of], "sample_weight": weights[of]}
            values[g] = function(y_true["labels"][of], **given, **options)
    return values


def results(metric):
    """Returns the values and the worst, from the result of a metric."""
    name, result = metric.name, metric.result()
    assert list(result) == [f"{name}_worst", *(f"{name}_{g}" for g in range(4))]
    worst, *values = map(float, result.values())
    return values, worst


def part(y_true, rows):
    return {name: array[rows] for name, array in y_true.items()}


@catalogue.first_of_kernel(ROWS)
def test_values_are_those_of_each_group_alone(row, rng):
    y_true, y_pred, weights = draw(row, rng)
    options, case = row.metric_cases[0]
    metric = row.made(options, num_groups=4, name="m")
    assert np.isnan(results(metric)[0]).all()
    other = type(metric).from_config(metric.get_config())
    for i, each in enumerate((metric, metric, other)):
        rows = slice(i, None, 3)
        each.update_state(part(y_true, rows), y_pred[rows], weights[rows])
    metric.merge_state([um.MetricState.load(saved(other))])
    expected = by_group(row.find(um_np), y_true, y_pred, weights, **case)
    np.testing.assert_allclose(results(metric)[0], expected, atol=1e-6)
    assert results(metric)[1] == pytest.approx(row.worst(expected), abs=1e-6)


def saved(metric):
    import io

    file = io.BytesIO()
    metric.get_state().save(file)
    file.seek(0)
    return file


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ExpectedCalibrationError", um_np.ece),
        ("StaticCalibrationError", um_np.sce),
        ("AdaptiveCalibrationError", um_np.ace),
    ],
)
def test_multilabel(name, function, rng):
    labels = rng.integers(-1, 2, [40, 3])
    y_pred = (rng.integers(1, 32, [40, 3]) / 32).astype(np.float32)
    y_true = {"labels": labels, "groups": rng.choice([0, 1, 3], 40)}
    weights = rng.choice([0.0, 1.0, 2.0], 40).astype(np.float32)
    more = FEW_CELLS if name.startswith("Adaptive") else {}
    options = {"multilabel": True, "ignore_index": -1}
    metric = getattr(um, name)(**options, **more)
    grouped = getattr(um, name)(**options, **more, num_groups=4)
    for rows in (slice(0, 15), slice(15, None)):
        metric.update_state(labels[rows], y_pred[rows], weights[rows])
        grouped.update_state(part(y_true, rows), y_pred[rows], weights[rows])
    expected = function(labels, y_pred, sample_weight=weights, **options)
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)
    expected = by_group(function, y_true, y_pred, weights, **options)
    np.testing.assert_allclose(results(grouped)[0], expected, atol=1e-6)
    assert results(grouped)[1] == pytest.approx(np.nanmax(expected), abs=1e-6)
    with pytest.raises(ValueError, match=r"`y_true` must be integers in \[0, 2\)"):
        metric.update_state(labels + 1, y_pred)
    with pytest.raises(ValueError, match=r"`y_pred`.*for `multilabel`"):
        metric.update_state(labels[:, 0], y_pred)


def test_groups_of_sequences_with_a_mask(rng):
    labels, p = rng.integers(0, 2, [6, 4]), rng.random([6, 4, 1]).astype(np.float32)
    mask = rng.random([6, 4]) < 0.6
    groups = np.array([0, 0, 1, 1, 3, 3])  # One for each sequence.
    masked = tf.constant(p)
    masked._keras_mask = tf.constant(mask)
    y_true = {"labels": labels[..., None], "groups": groups}
    flat = {"labels": labels[mask], "groups": np.repeat(groups, 4)[mask.reshape(-1)]}
    for name, function in (
        ("ExpectedCalibrationError", um_np.ece),
        ("BrierScore", um_np.brier_score),
    ):
        metric = getattr(um, name)(num_groups=4)
        metric.update_state(y_true, masked)
        expected = by_group(function, flat, p[mask][:, 0], np.ones(mask.sum()))
        np.testing.assert_allclose(results(metric)[0], expected, atol=1e-6)


METRICS = ("ExpectedCalibrationError", "Accuracy")


@pytest.mark.parametrize("name", METRICS)
def test_wrong_groups_raise_and_keep_the_state(name):
    y_true = {"labels": [0, 1, 1], "groups": [0, 3, 1]}
    metric, plain = getattr(um, name)(num_groups=4), getattr(um, name)()
    metric.update_state(y_true, [0.2, 0.6, 0.7])
    before = results(metric)
    for wrong, message in (
        ({"groups": [0, 1, 4]}, r"`groups` must be integers in \[0, 4\).*4 at \[2\]"),
        ({"groups": [0, -1, 1]}, r"`groups` must be integers.*-1 at \[1\]"),
        ({"groups": [0, 1, 1.5]}, r"`groups` must be integers.*1.5 at \[2\]"),
        ({"groups": [0, 1]}, r"`groups` must be broadcastable"),
        ({"groups": ["a", "b", "c"]}, r"`groups`.*np\.unique"),
        ({"labels": [0, 1, 2]}, r"`y_true` must be integers in \[0, 2\)"),
        ({"groups": None}, "`y_true` must be a dict.* Received: a dict of 'labels'"),
        ({"group": [0, 1, 1]}, "`y_true` must be a dict of 'labels' and 'groups'"),
    ):
        with pytest.raises(ValueError, match=message):
            metric.update_state({**y_true, **wrong}, [0.2, 0.6, 0.7])
    for wrong in (y_true["labels"], {"labels": [0, 1, 1]}):
        with pytest.raises(ValueError, match="`y_true` must be a dict of 'labels'"):
            metric.update_state(wrong, [0.2, 0.6, 0.7])
    np.testing.assert_equal(results(metric), before)
    plain.update_state(y_true, [0.2, 0.6, 0.7])  # Reads only the labels.
    metric = getattr(um, name)(num_groups=1)
    metric.update_state({**y_true, "groups": [0, 0, 0]}, [0.2, 0.6, 0.7])
    assert float(plain.result()) == float(metric.result()[f"{metric.name}_worst"])
    for wrong in (0, 2.5, "two"):
        with pytest.raises(ValueError, match="`num_groups` must be an integer of"):
            getattr(um, name)(num_groups=wrong)


@pytest.mark.thorough
@pytest.mark.parametrize("name", METRICS)
def test_wrong_groups_of_a_compiled_update_are_nan(name):
    metric = getattr(um, name)(num_groups=2)

    @tf.function(autograph=False)
    def step(groups):
        y_true = {"labels": tf.constant([0, 1]), "groups": groups}
        metric.update_state(y_true, tf.constant([0.2, 0.6]))

    step(tf.constant([0, 1]))
    assert not np.isnan([float(v) for v in metric.result().values()]).any()
    step(tf.constant([0, 2]))
    with pytest.warns(RuntimeWarning, match="refused 1 batch"):
        assert np.isnan([float(v) for v in metric.result().values()]).all()


def test_collection_of_metrics_with_groups_and_without(rng):
    row = ROWS[0]
    y_true, y_pred, weights = draw(row, rng)
    made = (
        lambda: um.ExpectedCalibrationError(num_groups=4, name="ece"),
        lambda: um.MaximumCalibrationError(num_groups=4, name="mce"),
        lambda: um.Accuracy(num_groups=4),
        lambda: um.ExpectedCalibrationError(name="all"),
    )
    collection = um.MetricCollection([make() for make in made])
    for _ in range(2):
        collection.update_state(y_true, y_pred, weights)
    expected = {}
    for make in made:
        metric = make()
        for _ in range(2):
            metric.update_state(y_true, y_pred, weights)
        value = metric.result()
        expected |= value if isinstance(value, dict) else {metric.name: value}
    found = collection.result()
    assert list(found) == list(expected)
    for name, value in found.items():
        np.testing.assert_equal(float(value), float(expected[name]))
    ece, mce, *_ = collection.metrics.values()
    assert ece._hi is mce._hi


def test_sketches_and_plots_of_several_groups_raise():
    metric = um.AdaptiveCalibrationError(num_groups=2, num_classes=2)
    with pytest.raises(ValueError, match="num_groups=2"):
        _ = metric.sketch
    with pytest.raises(
        ValueError, match="`num_groups` must be None: a metric of groups"
    ):
        metric.plot()
    with pytest.raises(ValueError, match="multilabel=True"):
        _ = um.AdaptiveCalibrationError(multilabel=True, num_classes=2).sketch


class Grouped(keras.Sequential):
    """A model whose labels come with groups, as the guide has it."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **more):
        return super().compute_loss(x, y["labels"], y_pred, sample_weight, **more)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.by_group.update_state(y, y_pred, sample_weight)
        return super().compute_metrics(x, y["labels"], y_pred, sample_weight)


def test_fit(rng):
    x = rng.normal(size=[30, 3]).astype(np.float32)
    y = {"labels": rng.integers(0, 2, 30), "groups": rng.integers(0, 2, 30)}
    model = Grouped([keras.Input([3]), keras.layers.Dense(2, activation="softmax")])
    model.by_group = um.ExpectedCalibrationError(name="ece", num_groups=3)
    model.compile("sgd", "sparse_categorical_crossentropy")
    stop = keras.callbacks.EarlyStopping("val_ece_worst", mode="min")
    history = model.fit(
        x, y, 16, validation_data=(x, y), callbacks=[stop], verbose=0
    ).history
    expected = um_np.ece(y["labels"], model(x), groups=y["groups"], num_groups=3)
    assert history["val_ece_worst"][-1] == pytest.approx(expected.worst, abs=1e-6)
    assert history["val_ece_1"][-1] == pytest.approx(expected.values[1], abs=1e-6)
    assert np.isnan(history["val_ece_2"][-1])
