"""The debiased calibration error as a Keras metric, in the Keras that is loaded."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from uncertainty_metrics.numpy.debiased_calibration import debiased_calibration_error

keras = tf.keras
pytestmark = pytest.mark.keras

Metric = um.DebiasedCalibrationError


def feed(metric, data, batches=3, weighted=False):
    for part in np.array_split(np.arange(len(data.labels)), batches):
        weights = data.weights[part] * weighted if weighted else None
        metric.update_state(data.labels[part], data.predictions[part], weights)
    return float(metric.result())


def function(data, weighted=False, **options):
    weights = data.weights * weighted if weighted else None
    return debiased_calibration_error(
        data.labels, data.predictions, sample_weight=weights, **options
    )


@pytest.mark.tensors
@pytest.mark.parametrize("weighted", [0, 1, 0.01], ids=["none", "heavy", "light"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_bins": 4},
        {"binning_scheme": "even", "num_bins": 3},
        {"max_prob": False, "class_conditional": True, "threshold": 0.1},
        {"max_prob": False, "binning_scheme": "even"},
    ],
    ids=["default", "few bins", "even", "by class", "pooled"],
)
def test_batches_equal_the_function_on_the_whole(options, weighted, rng):
    data = catalogue.lattice(rng)
    expected = function(data, weighted, **options, squared=True)
    for batches in (1, 3):
        metric = Metric(**options, squared=True)
        result = feed(metric, data, batches, weighted)
        assert result == pytest.approx(expected, abs=1e-6)
        assert float(metric.result()) == result  # Reading changes nothing.
        # The root of a small number is less precise.
        root = feed(Metric(**options), data, batches, weighted)
        assert root**2 == pytest.approx(max(expected, 0), abs=1e-6)
    metric.reset_state()
    assert float(metric.result()) == 0
    assert feed(metric, data, 1, weighted) == pytest.approx(expected, abs=1e-6)


def test_it_is_less_than_the_biased_one(rng):
    data = catalogue.lattice(rng, n=60)
    biased = um.GeneralCalibrationError("adaptive", True, False, "l2", num_bins=4)
    assert feed(Metric(num_bins=4), data) < feed(biased, data)


def test_positive_class_and_logits(rng):
    p = rng.integers(1, 31, 50) / 32
    labels = (rng.uniform(size=50) < 0.5).astype(int)
    expected = debiased_calibration_error(
        labels, p, positive_class=True, num_bins=3, squared=True
    )
    metric = Metric(num_bins=3, positive_class=True, squared=True)
    metric.update_state(labels, p.astype(np.float32))
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)
    metric = Metric(num_bins=3, positive_class=True, squared=True, from_logits=True)
    metric.update_state(labels, np.log(p / (1 - p)))
    assert float(metric.result()) == pytest.approx(expected, abs=1e-4)


def test_before_the_first_batch_and_one_example():
    for metric in (Metric(), Metric(max_prob=False, class_conditional=True)):
        assert float(metric.result()) == 0
        metric.update_state([1], [[0.2, 0.8]])
        assert float(metric.result()) == 0
    assert Metric(dtype="float64").result().dtype == tf.float64
    assert Metric(dtype="bfloat16").result().dtype == tf.float32


def test_config_holds_the_arguments_of_the_constructor():
    options = {
        "binning_scheme": "even",
        "max_prob": False,
        "class_conditional": True,
        "num_bins": 7,
        "threshold": 0.1,
        "num_classes": 3,
        "from_logits": True,
        "ignore_index": 255,
        "name": "other",
        "dtype": "float64",
        "squared": True,
        "positive_class": False,
        "sparse_labels": True,
        "sketch_bits": 5,
    }
    metric = Metric(**options)
    config = metric.get_config()
    assert {**config, "dtype": "float64"} == options
    parameters = set(inspect.signature(Metric.__init__).parameters)
    assert set(config) == parameters - {"self"}
    assert Metric.from_config(config).get_config() == config
    assert Metric().name == "debiased_calibration_error"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("num_bins", 0), ("binning_scheme", "odd"), ("squared", 1)),
        *(("from_logits", 1), ("num_classes", -1), ("threshold", 1.0)),
    ],
)
def test_bad_options_raise(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        Metric(**{name: value})


def test_merge_adds_the_states(rng):
    data = catalogue.lattice(rng)
    whole, first, second = (Metric(num_bins=4) for _ in range(3))
    expected = feed(whole, data, weighted=True)
    parts = [
        catalogue.Data(*(values[part] for values in vars(data).values()))
        for part in (slice(15), slice(15, None))
    ]
    for metric, part in zip((first, second), parts, strict=True):
        feed(metric, part, weighted=True)
    merged = Metric(num_bins=4)
    merged.merge_state([first, second, Metric(num_bins=4)])
    assert float(merged.result()) == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="same metric and options"):
        merged.merge_state([Metric(num_bins=4, squared=True)])


def test_bad_batches(rng):
    data = catalogue.lattice(rng)
    metric = Metric(num_bins=4)
    before = feed(metric, data)
    with pytest.raises(ValueError, match="`y_true` must be integers"):
        metric.update_state([3], [[0.2, 0.3, 0.5]])
    assert float(metric.result()) == before

    @tf.function
    def update(*batch):
        metric.update_state(*batch)

    update(tf.constant([3]), tf.constant([[0.2, 0.3, 0.5]]))
    assert np.isnan(metric.result())
    metric.reset_state()
    assert feed(metric, data) == pytest.approx(before, abs=1e-6)


def test_in_compile_and_after_reload(rng, tmp_path):
    features = rng.normal(size=[64, 4]).astype(np.float32)
    labels = rng.integers(0, 3, 64)
    inputs = keras.Input([4])
    model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(inputs))
    model.compile(
        "sgd",
        "sparse_categorical_crossentropy",
        metrics=[Metric(num_bins=3, squared=True, name="debiased")],
    )
    model.fit(features, labels, batch_size=32, verbose=0)
    model.save(tmp_path / "model.keras")
    model = keras.models.load_model(tmp_path / "model.keras")
    logs = model.evaluate(features, labels, batch_size=32, return_dict=True, verbose=0)
    metric = Metric(num_bins=3, squared=True)
    metric.update_state(labels, model.predict(features, verbose=0))
    assert logs["debiased"] == pytest.approx(float(metric.result()), abs=1e-5)
