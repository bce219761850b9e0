"""Prediction sets in Keras: the layer against the NumPy classifier."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import makers

keras = tf.keras
pytestmark = pytest.mark.keras


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_layer_makes_the_sets_of_the_numpy_classifier(score, rng, tmp_path):
    options = {"score": score, "alpha": 0.3, "penalty": 0.25, "k_reg": 2}
    # Sums of eighths are exact in any order, and many are equal.
    p = rng.multinomial(8, np.full(5, 0.2), 200) / 8
    y = rng.integers(0, 5, 200)
    layer = um.conformal.ConformalSetLayer(**options)
    inputs = keras.layers.Input([5])
    model = keras.Model(inputs, layer(inputs))
    assert model.predict(p, verbose=0).all()  # Before `fit` a set is full.
    assert layer.fit(y[:99], p[:99]) is layer
    known = um_np.conformal.ConformalClassifier(**options).fit(y[:99], p[:99])
    assert layer.quantile == known.quantile
    sets = known.predict(p)
    np.testing.assert_array_equal(model.predict(p, verbose=0), sets)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(p, verbose=0), sets)
    images = layer(p.reshape(4, 50, 5).astype(np.float16))
    np.testing.assert_array_equal(images, sets.reshape(4, 50, 5))
    wrong = np.asarray(layer(np.float32([p[0], p[0] + 1, np.full(5, np.nan)])))
    np.testing.assert_array_equal(np.isnan(wrong).all(axis=1), [False, True, True])
    for labels, probabilities in ((y, p + 1), (y + 1, p), (y, p[:, 0]), (y[:5], p)):
        with pytest.raises(ValueError, match="Received"):
            layer.fit(labels, probabilities)
    assert layer.quantile == known.quantile


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_sets_hold_labels_whose_score_equals_the_quantile(score, rng):
    p, y = makers.tied_classes(rng, 400)
    layer = um.conformal.ConformalSetLayer(score).fit(y, p)
    known = um_np.conformal.ConformalClassifier(score).fit(y, p)
    # Labels have one of two scores, and the larger one is the quantile.
    expected = known.predict(p)
    assert expected[np.arange(400), y].all()
    rounded = np.float32(known.quantile)
    assert rounded <= layer.quantile <= np.nextafter(rounded, np.float32(2))
    graph, compiled = tf.function(layer), tf.function(layer, jit_compile=True)
    of_layer = layer.quantile
    for quantile in (of_layer, known.quantile):
        layer._quantile.assign(quantile)
        for call in (layer, graph, compiled):
            for rows in (p, p.astype(np.float64)):
                np.testing.assert_array_equal(call(tf.constant(rows)) == 1, expected)
    known._quantiles = np.array([of_layer])
    np.testing.assert_array_equal(known.predict(p), expected)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("name", "function", "worst"),
    [
        ("ConformalCoverage", um_np.conformal.coverage, min),
        ("MeanSetSize", lambda y, sets: um_np.conformal.mean_set_size(sets), max),
    ],
)
def test_each_group_has_its_own_value(name, function, worst, compiled, rng):
    y, sets = rng.integers(0, 3, 60), rng.random((60, 3)) < 0.6
    groups = rng.choice([0, 1, 3], 60)
    metric = getattr(um.conformal, name)(num_groups=4, name="m")
    metric = type(metric).from_config(metric.get_config())

    def step(y_true, y_pred):
        metric.update_state(y_true, y_pred)

    step = tf.function(step, autograph=False) if compiled else step
    for rows in (slice(0, 25), slice(25, None)):
        given = {"labels": tf.constant(y[rows]), "groups": tf.constant(groups[rows])}
        step(given, tf.constant(sets[rows]))
    values = {g: function(y[groups == g], sets[groups == g]) for g in (0, 1, 3)}
    expected = {"m_worst": worst(values.values())}
    expected |= {f"m_{g}": values.get(g, np.nan) for g in range(4)}
    found = {key: float(value) for key, value in metric.result().items()}
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)
    if not compiled:
        for wrong in ({"labels": y, "groups": groups + 1}, y):
            with pytest.raises(ValueError, match=r"`groups` must be|`y_true` must be"):
                metric.update_state(wrong, sets)


def test_metrics_read_what_the_layer_makes(rng):
    p, y = rng.dirichlet(np.ones(4), 60), rng.integers(0, 4, 60)
    sets = um.conformal.ConformalSetLayer(alpha=0.25).fit(y, p)(np.float32(p))
    for metric, function in (
        (um.conformal.ConformalCoverage(), um_np.conformal.coverage(y, sets)),
        (um.conformal.MeanSetSize(), um_np.conformal.mean_set_size(sets)),
    ):
        for y_pred in (sets, tf.cast(sets, tf.bool)):
            metric.update_state(y, y_pred)
        np.testing.assert_allclose(metric.result(), function, rtol=1e-6)
        with pytest.raises(ValueError, match=r"`y_pred` must be sets"):
            metric.update_state(y, p[:, 0])
        with pytest.raises(ValueError, match=r"`y_pred` must be booleans"):
            metric.update_state(y, p)
