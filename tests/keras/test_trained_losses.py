"""Losses of distributions, and models that are trained with losses."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.keras.losses import (
    CLASSES,
    LEGACY,
    REDUCTIONS,
    ROWS,
    SCALES,
    close,
    diabetes,
    digits,
    given,
    positive_scales,
)

keras = tf.keras
pytestmark = pytest.mark.keras

# Normal distributions of TFP.


def negative_log_density(y, mean, scale):
    return -stats.norm.logpdf(y, mean, scale)


NORMAL_LOSSES = {
    "CRPSNormalLoss": um_np.crps_normal_score,
    "GaussianNLLLoss": negative_log_density,
}
every_normal = pytest.mark.parametrize("name", NORMAL_LOSSES)


def tfd():
    from tensorflow_probability import distributions

    return distributions


@every_normal
def test_distributions_need_no_scale_transform(name, rng):
    y, parameters = positive_scales(rng, [5, 2])
    y, mean, scale = (
        each.astype(np.float32) for each in (y, *np.moveaxis(parameters, -1, 0))
    )
    scores = NORMAL_LOSSES[name](y, mean, scale)
    weights = rng.uniform(0.5, 2, [5, 1]).astype(np.float32)
    normal = tfd().Normal(mean, scale)
    twice = tfd().Independent(tfd().Independent(normal, 1), 1)
    for transform, reduction in itertools.product(SCALES, REDUCTIONS):
        loss = getattr(um, name)(transform, reduction=reduction)
        for forecast in (normal, tfd().Independent(normal, 1), twice):
            result = loss(y, forecast, weights)
            assert result.dtype == tf.float32
            close(result, given(scores, weights, reduction))
    close(tf.function(lambda y: loss(y, normal))(y), np.mean(scores))


@every_normal
def test_shapes_and_masks_of_distributions(name, rng):
    loss = getattr(um, name)(reduction="none")
    y, mean = rng.normal(size=[2, 6]).astype(np.float32)
    scores = NORMAL_LOSSES[name](y, mean, 2.0)
    close(loss(y, tfd().Normal(mean, 2.0)), scores)  # All have one scale.
    close(loss(y[:, None], tfd().Normal(mean, 2.0)), scores)
    close(loss(y[:, None], tfd().Normal(mean[:, None], 2.0)), scores[:, None])
    with pytest.raises(ValueError, match="y_pred"):
        loss(y, tfd().Normal(mean[:, None], 2.0))  # Not broadcast to [6, 6].
    mask = rng.permutation(6) < 4
    normal = tfd().Normal(mean, 2.0)
    normal._keras_mask = tf.constant(mask)
    close(getattr(um, name)()(y, normal), np.mean(scores[mask]))


@every_normal
def test_float64_and_other_distributions(name):
    loss = getattr(um, name)(dtype="float64")
    normal = tfd().Normal(np.float64([0.1, 0.2]), np.float64([1.1, 1.2]))
    y = np.float64([0.3, -0.7])
    result = loss(y, normal)
    assert result.dtype == tf.float64
    close(result, np.mean(NORMAL_LOSSES[name](y, normal.loc, normal.scale)), 1e-12)
    zeros = np.zeros(3, np.float32)
    for other in (
        tfd().Laplace(zeros, 1.0),
        tfd().LogNormal(zeros, 1.0),
        tfd().Independent(tfd().StudentT(3.0, zeros, 1.0), 1),
    ):
        with pytest.raises(TypeError, match=r"Normal.*Received"):
            loss(zeros, other)


def test_scores_and_gradients_are_those_of_the_distribution(rng):
    y, mean = (tf.Variable(x, dtype=tf.float32) for x in rng.normal(size=[2, 9]))
    scale = tf.Variable(rng.uniform(1e-3, 2, 9), dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        normal = tfd().Normal(mean, scale)
        pairs = (
            (um.GaussianNLLLoss(reduction="none")(y, normal), -normal.log_prob(y)),
            (
                um.CRPSNormalLoss(reduction="none")(y, normal),
                um.crps_normal_score(y, mean, scale),
            ),
        )
    for ours, theirs in pairs:
        close(ours, theirs, 1e-5)
        for variable in (mean, scale):
            slopes = [tape.gradient(scores, variable) for scores in (ours, theirs)]
            close(*slopes, 1e-5)


def probabilistic_model(layer):
    inputs = keras.Input([10])
    return keras.Model(inputs, layer(keras.layers.Dense(2)(inputs)))


@pytest.mark.skipif(not LEGACY, reason="TFP layers need tf_keras")
@every_normal
def test_models_whose_output_is_a_distribution(name, rng):
    import tensorflow_probability as tfp

    layer = tfp.layers.IndependentNormal(1)
    if name == "GaussianNLLLoss":
        layer = tfp.layers.DistributionLambda(
            lambda x: tfd().Normal(x[..., :1], 0.1 + tf.nn.softplus(x[..., 1:]))
        )
    features, labels = diabetes()
    model = probabilistic_model(layer)
    model.compile(keras.optimizers.Adam(0.02), getattr(um, name)())
    before = model.evaluate(features, labels, batch_size=442, verbose=0)
    normal = model(features)
    y = labels[:, None]
    if name == "GaussianNLLLoss":
        expected = -tf.reduce_mean(normal.log_prob(y))
    else:
        scores = um.crps_normal_score(y, normal.mean(), normal.stddev())
        expected = tf.reduce_mean(scores)
    close(before, expected, 1e-5)
    for sample_weight in (None, np.ones(len(labels))):
        model.fit(features, labels, sample_weight=sample_weight, epochs=10, verbose=0)
    assert model.evaluate(features, labels, verbose=0) < before - 0.1


@pytest.mark.skipif(not LEGACY, reason="TFP layers need tf_keras")
def test_two_replicas_train_distributions_as_one_machine(strategy):
    import tensorflow_probability as tfp

    features, labels = (part[:64] for part in diabetes())
    results = []
    for one in (tf.distribute.get_strategy(), strategy):
        with one.scope():
            model = probabilistic_model(tfp.layers.IndependentNormal(1))
            model.set_weights([np.full([10, 2], 0.1), np.zeros(2)])
            model.compile(keras.optimizers.SGD(0.1), um.CRPSNormalLoss())
        model.fit(features, labels, batch_size=64, verbose=0)
        results.append(np.concatenate([w.ravel() for w in model.get_weights()]))
    close(results[1], results[0], 1e-5)


# Losses in models.


def problem(row):
    """Returns features, labels, and the number of outputs."""
    if row.classifies:
        return *digits(), 10
    return *diabetes(), *row.of.of_metric.outputs


# Losses with a penalty take seconds to compile: the exhaustive run has them, and
# `test_lowering.py` lowers them.
TRAINED = [
    pytest.param(
        row, id=row.loss, marks=[] if row.of.is_mean else [pytest.mark.exhaustive]
    )
    for row in CLASSES
]


@pytest.mark.first(2)
@pytest.mark.parametrize("row", TRAINED)
def test_training_and_evaluation_after_reload(row, rng, tmp_path):
    classifies = row.classifies
    if classifies:
        of_logits = (r for r in ROWS if r.options.get("from_logits"))
        row = next(r for r in of_logits if r.loss == row.loss)
    features, labels, size = problem(row)
    keras.utils.set_random_seed(int(rng.integers(2**31)))
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(size)]
    model = keras.Sequential([keras.Input(features.shape[1:]), *layers])
    # XLA compiles losses of classes here; tests of the gradients compile the others.
    model.compile(keras.optimizers.Adam(0.01), row.make(), jit_compile=classifies)
    batch, epochs = (64, 5) if classifies else (34, 15)
    history = model.fit(
        features, labels, batch_size=batch, epochs=epochs, verbose=0
    ).history["loss"]
    assert history[-1] < (-0.8 if row.loss == "BrierLoss" else 0.9 * history[0])

    features, labels = features[:batch], labels[:batch]
    weights = rng.uniform(0.5, 2, batch).astype(np.float32)
    expected = np.mean(row.scores(labels, model(features), weights) * weights)
    path = tmp_path / "model.keras"
    model.save(path)
    again = keras.models.load_model(path)
    assert type(again.loss) is type(model.loss)
    assert again.loss.get_config() == model.loss.get_config()
    for each in (model, again):
        value = each.evaluate(features, labels, batch, verbose=0, sample_weight=weights)
        close(value, expected, 1e-5)
