"""Every Keras loss through every sweep, in the Keras that is loaded."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from scipy import integrate, special, stats
from sklearn import datasets
from sklearn import metrics as sklearn_metrics

import uncertainty_metrics as um
from tests import references

keras = tf.keras
pytestmark = pytest.mark.keras

LEGACY = not hasattr(keras, "ops")  # tf_keras.
REDUCTIONS = ("none", "sum", "sum_over_batch_size")


# The reference of each loss: the score of one example in float64.


def brier(y, p, zero_based=False):
    """Of a label or of a distribution over the classes."""
    shares = np.eye(len(p))[y] if np.ndim(y) == 0 else y
    total = 0.0
    for label, share in enumerate(shares):
        distance = sum((q - (k == label)) ** 2 for k, q in enumerate(p))
        total += share * (distance - (not zero_based))
    return total


def normal_crps(y, mean, scale):
    """The integral of (F(x) - 1{x >= y})^2."""
    z = (y - mean) / scale
    left, _ = integrate.quad(lambda x: special.ndtr(x) ** 2, -np.inf, z)
    right, _ = integrate.quad(lambda x: special.ndtr(-x) ** 2, z, np.inf)
    return scale * (left + right)


def sample_crps(y, samples, estimator):
    error = np.mean([abs(x - y) for x in samples])
    m = len(samples)
    if estimator == "roll":
        pairs = [(samples[i], samples[i - 1]) for i in range(m)]
    else:
        pairs = [
            (samples[i], samples[j])
            for i in range(m)
            for j in range(m)
            if estimator == "nrg" or i != j
        ]
    return error - np.mean([abs(a - b) for a, b in pairs]) / 2


def pinball(y, predictions, quantiles):
    return np.mean(
        [
            sklearn_metrics.mean_pinball_loss([y], [prediction], alpha=level)
            for level, prediction in zip(quantiles, predictions, strict=True)
        ]
    )


def winkler(y, lower, upper, alpha):
    if lower > upper:  # As the quantiles they stand for.
        return 4 / alpha * pinball(y, [lower, upper], [alpha / 2, 1 - alpha / 2])
    miss = max(lower - y, y - upper, 0)
    return upper - lower + 2 / alpha * miss


SCALES = {
    "softplus": lambda x: np.log1p(np.exp(x)),
    "exp": np.exp,
    "identity": lambda x: x,
    "variance": np.sqrt,
    "log_variance": lambda x: np.exp(x / 2),
}


# Labels and predictions for leading axes of any shape. All numbers are multiples of
# 1/64 below 4, which bfloat16 does not hold but float16 does.


def lattice(rng, low, high, shape):
    return rng.integers(64 * low, 64 * high, shape, endpoint=True) / 64


def classes(rng, shape):
    cuts = np.sort(lattice(rng, 0, 1, [*shape, 2]), axis=-1)
    p = np.diff(cuts, axis=-1, prepend=0, append=1)
    return rng.integers(0, 3, shape), p


def logits(rng, shape):
    return rng.integers(0, 3, shape), lattice(rng, -3, 3, [*shape, 3])


def reals(size):
    def make(rng, shape):
        return lattice(rng, -3, 3, shape), lattice(rng, -3, 3, [*shape, size])

    return make


def positive_scales(rng, shape):
    y, y_pred = reals(2)(rng, shape)
    y_pred[..., 1] = np.abs(y_pred[..., 1]) + 0.125
    return y, y_pred


@dataclasses.dataclass(frozen=True)
class Row:
    """A loss with options, data for it, and the score of one example.

    `bad` are predictions of an example, of label 0, that are wrong.
    """

    loss: str
    options: dict
    data: Callable
    reference: Callable
    bad: list

    @property
    def id(self):
        return "-".join([self.loss, *map(str, self.options.values())])

    def make(self, **more):
        return getattr(um, self.loss)(**self.options, **more)

    def scores(self, y_true, y_pred):
        y_pred = np.asarray(y_pred, np.float64)
        shape = y_pred.shape[:-1]
        y_true = np.asarray(y_true)
        rows = zip(
            y_true.reshape(int(np.prod(shape)), -1).squeeze(-1),
            y_pred.reshape(-1, y_pred.shape[-1]),
            strict=True,
        )
        return np.reshape([self.reference(y, row) for y, row in rows], shape)


def normal_row(loss, transform, reference):
    positive = transform in ("identity", "variance")
    data = positive_scales if positive else reals(2)
    bad = [0.0, -1.0] if positive else [0.0, np.inf]

    def score(y, row):
        return reference(y, row[0], SCALES[transform](row[1]))

    return Row(loss, {"scale_transform": transform}, data, score, bad)


def sample_row(estimator):
    def score(y, row):
        return sample_crps(y, row, estimator)

    options = {"estimator": estimator}
    return Row("CRPSSampleLoss", options, reals(5), score, [0, 1, np.inf, 2, 3])


def pinball_row(quantiles):
    def score(y, row):
        return pinball(y, row, quantiles)

    options = {"quantiles": quantiles}
    bad = [np.nan] * len(quantiles)
    return Row("PinballLoss", options, reals(len(quantiles)), score, bad)


def negative_log_density(y, mean, scale):
    return -stats.norm.logpdf(y, mean, scale)


ROWS = [
    Row("BrierLoss", {}, classes, brier, [0.5, 0.7, -0.2]),
    Row(
        "BrierLoss",
        {"from_logits": True},
        logits,
        lambda y, row: brier(y, references.softmax(row)),
        [0.0, np.nan, 1.0],
    ),
    Row(
        "BrierLoss",
        {"zero_based": True},
        classes,
        lambda y, row: brier(y, row, zero_based=True),
        [1.5, 0.0, 0.0],
    ),
    *(normal_row("CRPSNormalLoss", name, normal_crps) for name in SCALES),
    *(normal_row("GaussianNLLLoss", name, negative_log_density) for name in SCALES),
    *(sample_row(estimator) for estimator in ("fair", "nrg", "roll")),
    pinball_row([0.1, 0.5, 0.75]),
    pinball_row([0.25]),
    Row(
        "IntervalLoss",
        {"alpha": 0.2},
        reals(2),
        lambda y, row: winkler(y, *row, alpha=0.2),
        [-np.inf, 1.0],
    ),
]
# One for each class, for what does not depend on the options.
CLASSES = list({row.loss: row for row in reversed(ROWS)}.values())

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
every_class = pytest.mark.parametrize("row", CLASSES, ids=lambda row: row.loss)


class Given(keras.losses.Loss):
    """A loss of Keras whose score of each example is `y_pred`."""

    def call(self, y_true, y_pred):
        """Returns the predictions."""
        del y_true
        return y_pred


def given(scores, weights=None, reduction="sum_over_batch_size", mask=None):
    scores = tf.constant(scores, tf.float32)
    if mask is not None:
        scores._keras_mask = tf.constant(mask)
    return Given(reduction=reduction, name="given")(scores, scores, weights)


def data_of(row, rng, shape):
    y_true, y_pred = row.data(rng, shape)
    return y_true, y_pred.astype(np.float32)


def close(actual, desired, tolerance=2e-6):
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance)


@every_row
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_values_reductions_and_weights(row, reduction, rng):
    for shape, weight_shapes in (
        ([7], [[], [7], [7, 1]]),
        ([3, 4], [[], [3, 1], [3, 4], [3, 4, 1]]),
        ([2, 3, 2], [[], [2, 1, 1], [2, 3, 2]]),
        ([1], [[1]]),
    ):
        y_true, y_pred = data_of(row, rng, shape)
        scores = row.scores(y_true, y_pred)
        loss = row.make(reduction=reduction)
        expected = {"none": scores, "sum": np.sum(scores)}.get(
            reduction, np.mean(scores)
        )
        result = loss(y_true, y_pred)
        assert result.dtype == tf.float32
        close(result, expected)
        for weight_shape in weight_shapes:
            weights = rng.uniform(0.5, 2, weight_shape).astype(np.float32)
            result = loss(y_true, y_pred, weights)
            close(result, given(scores, weights, reduction))


@every_row
def test_labels_and_predictions_in_any_form(row, rng):
    y_true, y_pred = data_of(row, rng, [6])
    expected = np.mean(row.scores(y_true, y_pred))
    loss = row.make()
    for y, p in (
        (y_true.tolist(), y_pred.tolist()),
        (y_true[:, None], y_pred),
        (y_true[:, None].tolist(), tf.constant(y_pred)),
        (tf.constant(y_true), tf.Variable(y_pred)),
        (y_true.astype(np.float32), y_pred.astype(np.float64)),
    ):
        close(loss(y, p), expected)
    y_true, y_pred = data_of(row, rng, [2, 3])
    close(loss(y_true[..., None], y_pred), np.mean(row.scores(y_true, y_pred)))


@every_row
def test_integer_labels_of_any_type(row, rng):
    _, y_pred = data_of(row, rng, [6])
    y_true = rng.integers(0, 3, 6)
    expected = np.mean(row.scores(y_true, y_pred))
    for dtype in (np.uint8, np.int32, np.int64, np.float32):
        close(row.make()(y_true.astype(dtype), y_pred), expected)


@every_row
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_predictions_are_scored_in_float32(row, dtype, rng):
    y_true, y_pred = row.data(rng, [8])
    half = tf.cast(y_pred, dtype)
    result = row.make()(y_true, half)
    assert result.dtype == tf.float32
    close(result, np.mean(row.scores(y_true, tf.cast(half, tf.float64))))


@every_row
def test_float64_is_kept(row, rng):
    y_true, y_pred = row.data(rng, [8])
    y_pred = y_pred * (1 - 1e-9)  # Which float32 does not hold.
    expected = np.mean(row.scores(y_true, y_pred))
    losses = [row.make(dtype=dtype) for dtype in ("float64", tf.float64)]
    if LEGACY:
        losses.append(row.make())
    for loss in losses:
        result = loss(y_true, tf.constant(y_pred, tf.float64))
        assert result.dtype == tf.float64
        close(result, expected, 1e-11)


@every_row
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_masked_examples_are_left_out(row, reduction, rng):
    y_true, y_pred = data_of(row, rng, [4, 3])
    mask = rng.permutation(12).reshape(4, 3) < 7
    scores = row.scores(y_true, y_pred)
    loss = row.make(reduction=reduction)
    y_pred = tf.constant(y_pred)
    y_pred._keras_mask = tf.constant(mask)
    expected = {"none": np.where(mask, scores, 0), "sum": np.sum(scores[mask])}
    close(loss(y_true, y_pred), expected.get(reduction, np.mean(scores[mask])))
    weights = rng.uniform(0.5, 2, [4, 3]).astype(np.float32)
    result = loss(y_true, y_pred, weights)
    close(result, given(scores, weights, reduction, mask))


@every_class
def test_masks_of_layers_reach_the_loss(row, rng):
    y_true, y_pred = data_of(row, rng, [8, 3])
    y_pred[:, 1:][rng.permutation(16).reshape(8, 2) < 8] = 0  # The masked value.

    def evaluate(loss, labels):
        inputs = keras.Input(y_pred.shape[1:])
        model = keras.Model(inputs, keras.layers.Masking()(inputs))
        model.compile(loss=loss)
        return model.evaluate(y_pred, labels, batch_size=4, verbose=0)

    class GivenLabels(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return tf.cast(y_true, tf.float32)

    scores = row.scores(y_true, y_pred).astype(np.float32)
    result = evaluate(row.make(), y_true)
    close(result, evaluate(GivenLabels(), scores))
    assert result != pytest.approx(np.mean(scores), rel=1e-3)


# Labels of the Brier loss.


def test_brier_of_one_hot_and_smoothed_labels(rng):
    """A distribution over the classes is scored by the mean score of its labels."""
    labels, p = classes(rng, [6])
    one_hot = np.eye(3)[labels]
    smoothed = 0.9 * one_hot + 0.1 / 3
    mixed = 0.7 * one_hot + 0.3 * one_hot[::-1]
    forecasts = {False: p, True: rng.normal(size=[6, 3])}
    for from_logits, y_pred in forecasts.items():
        probabilities = references.softmax(y_pred) if from_logits else y_pred
        for zero_based in (False, True):
            loss = um.BrierLoss(from_logits, zero_based=zero_based, reduction="none")
            for y_true in (one_hot, smoothed, mixed):
                rows = zip(y_true, probabilities, strict=True)
                expected = [brier(y, q, zero_based) for y, q in rows]
                close(loss(y_true.astype(np.float32), y_pred), expected)
            close(loss(one_hot.astype(np.int32), y_pred), loss(labels, y_pred))
            close(loss(one_hot.astype(bool), y_pred), loss(labels, y_pred))


def test_brier_of_binary_predictions(rng):
    x = rng.normal(size=[4, 3])
    y = rng.integers(0, 2, [4, 3])
    for from_logits in (False, True):
        p = 1 / (1 + np.exp(-x))
        y_pred = (x if from_logits else p).astype(np.float32)
        for zero_based in (False, True):
            # The two classes are wrong by the same amount.
            expected = 2 * (p - y) ** 2 - (not zero_based)
            options = {"zero_based": zero_based, "reduction": "none"}
            loss = um.BrierLoss(from_logits, **options)
            close(loss(y, y_pred[..., None]), expected)
            close(loss(y[..., None], y_pred[..., None]), expected)
            close(loss(y[..., None], y_pred), expected)
            close(loss(y.ravel(), y_pred.ravel()), expected.ravel())
            close(loss(y.reshape(-1, 1), y_pred.reshape(-1, 1)), expected.ravel())
            close(loss(y.ravel(), y_pred.reshape(-1, 1)), expected.ravel())
            close(loss(np.eye(2)[y], y_pred[..., None]), expected)
            loss = um.BrierLoss(from_logits, sparse_labels=True, **options)
            close(loss(y, y_pred), expected)
            loss = um.BrierLoss(from_logits, sparse_labels=False, **options)
            close(loss(np.eye(2)[y], y_pred), expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ignored_labels_are_left_out_as_by_keras(reduction, rng):
    # All examples have the same Brier score and the same likelihood, so that the two
    # losses are proportional.
    y = rng.integers(0, 3, [4, 5])
    p = np.where(np.eye(3)[y] == 1, 0.5, 0.25).astype(np.float32)
    y[rng.permutation(20).reshape(4, 5) < 6] = 255
    loss = um.BrierLoss(ignore_index=255, reduction=reduction)
    other = keras.losses.SparseCategoricalCrossentropy(
        ignore_class=255, reduction=reduction
    )
    for weights in (None, rng.uniform(0.5, 2, [4, 5]), rng.uniform(0.5, 2, [4, 1])):
        result, theirs = (np.asarray(each(y, p, weights)) for each in (loss, other))
        close(result / (0.375 - 1), theirs / np.log(2))
    if reduction == "sum_over_batch_size":
        close(loss(y, p), 0.375 - 1)


def test_ignored_labels_and_masks_meet(rng):
    y, p = classes(rng, [4, 3])
    keep = rng.permutation(12).reshape(4, 3)
    expected = np.mean(ROWS[0].scores(y, p)[(keep >= 3) & (keep < 9)])
    y[keep < 3] = -1
    p = tf.constant(p, tf.float32)
    p._keras_mask = tf.constant(keep < 9)
    close(um.BrierLoss(ignore_index=-1)(y, p), expected)


def test_brier_of_segmented_images(rng):
    y = rng.integers(0, 3, [2, 4, 5])
    x = rng.normal(size=[2, 4, 5, 3]).astype(np.float32)
    scores = ROWS[1].scores(y, x)
    y[0, 1] = 255
    expected = np.mean(scores[y != 255])
    loss = um.BrierLoss(True, ignore_index=255)
    close(loss(y, x), expected)
    close(loss(y[..., None].astype(np.uint8), x), expected)
    close(tf.function(loss)(tf.constant(y), tf.constant(x)), expected)


def test_no_class_of_one_hot_labels_has_the_index_of_wrong_rows():
    loss = um.BrierLoss(ignore_index=-1)
    close(loss([[0, 1], [1, 0]], [[0.5, 0.5], [0.0, 1.0]]), (-0.5 + 1) / 2)
    with pytest.raises(ValueError, match="y_true"):
        loss([[1, 1], [1, 0]], [[0.5, 0.5], [0.0, 1.0]])


# Normal distributions of TFP.

NORMAL_LOSSES = {"CRPSNormalLoss": normal_crps, "GaussianNLLLoss": negative_log_density}
every_normal = pytest.mark.parametrize("name", NORMAL_LOSSES)


def tfd():
    from tensorflow_probability import distributions

    return distributions


@every_normal
@pytest.mark.parametrize("transform", SCALES)
def test_the_scale_of_a_distribution_is_taken_as_it_is(name, transform, rng):
    y, parameters = positive_scales(rng, [5, 2])
    y, mean, scale = (
        each.astype(np.float32) for each in (y, *np.moveaxis(parameters, -1, 0))
    )
    scores = np.vectorize(NORMAL_LOSSES[name])(y, mean, scale)
    weights = rng.uniform(0.5, 2, [5, 1]).astype(np.float32)
    normal = tfd().Normal(mean, scale)
    for reduction in REDUCTIONS:
        loss = getattr(um, name)(transform, reduction=reduction)
        for forecast in (
            normal,
            tfd().Independent(normal, 1),
            tfd().Independent(tfd().Independent(normal, 1), 1),
        ):
            result = loss(y, forecast, weights)
            assert result.dtype == tf.float32
            close(result, given(scores, weights, reduction))
        close(
            tf.function(lambda y, f=loss: f(y, normal))(y),
            given(scores, None, reduction),
        )


@every_normal
def test_shapes_of_distributions_and_labels(name, rng):
    loss = getattr(um, name)(reduction="none")
    y, mean = rng.normal(size=[2, 6]).astype(np.float32)
    scores = np.vectorize(NORMAL_LOSSES[name])(y, mean, 2.0)
    close(loss(y, tfd().Normal(mean, 2.0)), scores)  # One scale for all.
    close(loss(y[:, None], tfd().Normal(mean, 2.0)), scores)
    close(loss(y[:, None], tfd().Normal(mean[:, None], 2.0)), scores[:, None])
    with pytest.raises(ValueError, match="y_pred"):
        loss(y, tfd().Normal(mean[:, None], 2.0))  # Never [6, 6].


def test_likelihood_is_that_of_the_distribution(rng):
    y, mean = rng.normal(size=[2, 9]).astype(np.float32)
    normal = tfd().Normal(mean, rng.uniform(1e-6, 2, 9).astype(np.float32))
    result = um.GaussianNLLLoss(reduction="none")(y, normal)
    close(result, -normal.log_prob(y), 1e-5)


@every_normal
def test_mask_of_a_distribution(name, rng):
    y = rng.normal(size=8).astype(np.float32)
    mask = rng.permutation(8) < 5
    normal = tfd().Normal(np.zeros(8, np.float32), 1.0)
    loss = getattr(um, name)()
    expected = loss(y[mask], tfd().Normal(np.zeros(5, np.float32), 1.0))
    normal._keras_mask = tf.constant(mask)
    close(loss(y, normal), expected)


@every_normal
def test_float64_distributions(name):
    loss = getattr(um, name)(dtype="float64")
    normal = tfd().Normal(np.float64([0.1, 0.2]), np.float64([1.1, 1.2]))
    result = loss(np.float64([0.3, -0.7]), normal)
    assert result.dtype == tf.float64
    reference = NORMAL_LOSSES[name]
    close(result, (reference(0.3, 0.1, 1.1) + reference(-0.7, 0.2, 1.2)) / 2, 1e-12)


@every_normal
def test_other_distributions_raise(name):
    loss = getattr(um, name)()
    zeros = np.zeros(3, np.float32)
    for other in (
        tfd().Laplace(zeros, 1.0),
        tfd().LogNormal(zeros, 1.0),
        tfd().Independent(tfd().StudentT(3.0, zeros, 1.0), 1),
    ):
        with pytest.raises(TypeError, match=r"Normal.*Received"):
            loss(zeros, other)


def test_gradients_reach_the_parameters_of_a_distribution():
    mean, scale = tf.Variable([0.0, 1.0]), tf.Variable([1.0, 2.0])
    y = tf.constant([0.5, -1.0])
    with tf.GradientTape(persistent=True) as tape:
        normal = tfd().Normal(mean, scale)
        loss = um.GaussianNLLLoss()(y, normal)
        expected = -tf.reduce_mean(normal.log_prob(y))
        crps = um.CRPSNormalLoss()(y, normal)
        direct = tf.reduce_mean(um.crps_normal_score(y, mean, scale))
    for ours, theirs in ((loss, expected), (crps, direct)):
        for variable in (mean, scale):
            close(tape.gradient(ours, variable), tape.gradient(theirs, variable))


def probabilistic_model(layer):
    inputs = keras.Input([10])
    return keras.Model(inputs, layer(keras.layers.Dense(2)(inputs)))


@pytest.mark.skipif(not LEGACY, reason="TFP layers need tf_keras")
@every_normal
@pytest.mark.parametrize("kind", ["lambda", "independent", "laplace"])
def test_models_whose_output_is_a_distribution(name, kind, rng):
    import tensorflow_probability as tfp

    family = tfd().Laplace if kind == "laplace" else tfd().Normal
    layer = tfp.layers.IndependentNormal(1)
    if kind != "independent":
        layer = tfp.layers.DistributionLambda(
            lambda x: family(x[..., :1], 0.1 + tf.nn.softplus(x[..., 1:]))
        )
    features, labels = diabetes()
    model = probabilistic_model(layer)
    model.compile(keras.optimizers.Adam(0.02), getattr(um, name)())
    if kind == "laplace":
        with pytest.raises(TypeError, match="Normal"):
            model.fit(features, labels, verbose=0)
        return
    before = model.evaluate(features, labels, batch_size=442, verbose=0)
    normal = model(features)
    y = labels[:, None]
    if name == "GaussianNLLLoss":
        expected = -tf.reduce_mean(normal.log_prob(y))
    else:
        scores = um.crps_normal_score(y, normal.mean(), normal.stddev())
        expected = tf.reduce_mean(scores)
    close(before, expected, 1e-5)
    weights = np.ones(len(labels))
    for sample_weight in (None, weights):
        model.fit(features, labels, sample_weight=sample_weight, epochs=10, verbose=0)
    assert model.evaluate(features, labels, verbose=0) < before - 0.1


@pytest.mark.skipif(not LEGACY, reason="TFP layers need tf_keras")
def test_distributions_of_two_replicas(strategy):
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


# Configuration.


@every_row
def test_config_holds_the_arguments_of_the_constructor(row, rng):
    loss = row.make(name="other", reduction="sum", dtype="float64")
    config = loss.get_config()
    parameters = set(inspect.signature(type(loss).__init__).parameters)
    assert set(config) == parameters - {"self"}
    for key, value in {
        **row.options,
        "name": "other",
        "reduction": "sum",
        "dtype": "float64",
    }.items():
        assert config[key] == (tuple(value) if isinstance(value, list) else value)
    data = row.data(rng, [5])
    expected = loss(*data)
    for again in (
        type(loss).from_config(config),
        type(loss).from_config(json.loads(json.dumps(config))),
        keras.losses.deserialize(keras.losses.serialize(loss)),
        keras.losses.deserialize(
            json.loads(json.dumps(keras.losses.serialize(loss))),
        ),
    ):
        assert type(again) is type(loss)
        assert again.get_config() == config
        np.testing.assert_array_equal(again(*data), expected)


@every_class
def test_defaults_are_those_of_keras(row):
    loss = row.make()
    assert loss.reduction == "sum_over_batch_size"
    assert loss.name.replace("_", "") == row.loss.lower()
    assert loss.get_config()["dtype"] is None
    assert isinstance(loss, keras.losses.Loss)


@pytest.mark.parametrize(
    ("loss", "options", "word"),
    [
        ("BrierLoss", {"from_logits": 1}, "from_logits"),
        ("BrierLoss", {"from_logits": "yes"}, "from_logits"),
        ("BrierLoss", {"zero_based": None}, "zero_based"),
        ("BrierLoss", {"sparse_labels": "no"}, "sparse_labels"),
        ("BrierLoss", {"reduction": "median"}, "[Rr]eduction"),
        ("CRPSNormalLoss", {"scale_transform": "log"}, "scale_transform"),
        ("GaussianNLLLoss", {"scale_transform": None}, "scale_transform"),
        ("CRPSSampleLoss", {"estimator": "pwm"}, "estimator"),
        ("PinballLoss", {"quantiles": []}, "quantiles"),
        ("PinballLoss", {"quantiles": [0.5, 1.0]}, "quantiles"),
        ("PinballLoss", {"quantiles": 0.0}, "quantiles"),
        ("PinballLoss", {"quantiles": "median"}, "quantiles"),
        ("PinballLoss", {"quantiles": [np.nan]}, "quantiles"),
        ("IntervalLoss", {"alpha": 0}, "alpha"),
        ("IntervalLoss", {"alpha": 1.0}, "alpha"),
        ("IntervalLoss", {"alpha": [0.1]}, "alpha"),
    ],
)
def test_bad_options_raise(loss, options, word):
    with pytest.raises(ValueError, match=word):
        getattr(um, loss)(**options)


def test_one_quantile_is_a_number_or_a_sequence(rng):
    y, q = rng.normal(size=[2, 6]).astype(np.float32)
    expected = sklearn_metrics.mean_pinball_loss(y, q, alpha=0.3)
    for quantiles in (0.3, [0.3], (0.3,), np.array([0.3]), np.float64(0.3)):
        loss = um.PinballLoss(quantiles)
        for y_true in (y, y[:, None]):
            for y_pred in (q, q[:, None]):
                if y_true.ndim > y_pred.ndim:
                    continue
                close(loss(y_true, y_pred), expected)


# In models.


@functools.cache
def diabetes():
    data = datasets.load_diabetes()
    features, labels = (
        (part - part.mean(axis=0)) / part.std(axis=0)
        for part in (data.data, data.target)
    )
    return features.astype(np.float32), labels.astype(np.float32)


@functools.cache
def digits():
    data = datasets.load_digits()
    whole = 28 * 64  # No smaller last batch to compile for.
    return (data.data[:whole] / 16).astype(np.float32), data.target[:whole]


def problem(row):
    """Returns features, labels, and the number of outputs."""
    if row.loss == "BrierLoss":
        return *digits(), 10
    sizes = {"CRPSSampleLoss": 5, "PinballLoss": len(row.options.get("quantiles", []))}
    return *diabetes(), sizes.get(row.loss, 2)


def network(features, size, rng, hidden=16, **options):
    keras.utils.set_random_seed(int(rng.integers(2**31)))
    return keras.Sequential(
        [
            keras.Input(features.shape[1:]),
            keras.layers.Dense(hidden, activation="relu"),
            keras.layers.Dense(size, **options),
        ]
    )


@every_class
def test_evaluation_after_reload(row, rng, tmp_path):
    features, labels, size = problem(row)
    features, labels = features[:40], labels[:40]
    softmax = {"activation": "softmax"} if row.loss == "BrierLoss" else {}
    model = network(features, size, rng, **softmax)
    model.compile("sgd", row.make())
    expected = row.scores(labels, model(features))
    weights = rng.uniform(0.5, 2, 40).astype(np.float32)
    path = tmp_path / "model.keras"
    model.save(path)
    again = keras.models.load_model(path)
    assert type(again.loss) is type(model.loss)
    assert again.loss.get_config() == model.loss.get_config()
    for each in (model, again):
        value = each.evaluate(features, labels, 40, verbose=0, sample_weight=weights)
        close(value, np.mean(expected * weights), 1e-5)


# Losses that training must come below, by the best forecasts that ignore the features:
# frequencies of ten digits, and normal labels of variance 1.
_DENSITY = stats.norm.pdf(stats.norm.ppf([0.1, 0.5, 0.75]))
BASELINES = {
    "BrierLoss": 10 * 0.1**2 - 2 * 0.1,
    "CRPSNormalLoss": 1 / np.sqrt(np.pi),
    "CRPSSampleLoss": 1 / np.sqrt(np.pi),
    "GaussianNLLLoss": stats.norm.entropy(),
    "PinballLoss": np.mean(_DENSITY),
    "IntervalLoss": 4 / 0.2 * _DENSITY[0],
}


@every_class
def test_training_lowers_the_loss(row, rng):
    classifies = row.loss == "BrierLoss"
    row = ROWS[1] if classifies else row  # From logits.
    features, labels, size = problem(row)
    model = network(features, size, rng, hidden=32)
    optimizer = keras.optimizers.Adam(0.01)
    # Compiled by XLA as well; tests of the gradients do so for the others.
    model.compile(optimizer, row.make(), jit_compile=classifies)
    history = model.fit(
        features,
        labels,
        batch_size=64 if classifies else 34,
        epochs=5 if classifies else 15,
        verbose=0,
    ).history["loss"]
    baseline = BASELINES[row.loss]
    # The epoch's mean over its batches, and training was on its way.
    assert history[-1] < (-0.8 if classifies else 0.9 * baseline)
    assert history[-1] < history[0] - 0.1 * abs(baseline)


def test_brier_score_in_place_of_the_cross_entropy(rng):
    """A training loop that held `tf.nn.sparse_softmax_cross_entropy_with_logits`."""
    features, target_labels, _ = problem(ROWS[1])
    model = network(features, 10, rng, hidden=32)
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(features, target_labels):
        with tf.GradientTape() as tape:
            logits = model(features, training=True)
            per_example_loss = um.brier_score(labels=target_labels, logits=logits)
            loss = tf.reduce_mean(per_example_loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    batches = tf.data.Dataset.from_tensor_slices((features, target_labels)).batch(64)
    losses = [float(train_step(*batch)) for batch in batches.repeat(5)]
    scores = ROWS[1].scores(target_labels[:64], model(features[:64]))
    logits = model(features[:64])
    close(um.brier_score(target_labels[:64], logits=logits), np.mean(scores))
    assert losses[0] > -0.3
    assert np.mean(losses[-28:]) < -0.8


@every_class
def test_two_replicas_give_the_gradients_of_one(row, strategy, rng):
    y_true, y_pred = data_of(row, rng, [8])
    loss = row.make(reduction="sum")
    with strategy.scope():
        shift = tf.Variable(np.full(y_pred.shape[-1], 0.01, np.float32))

    @tf.function
    def gradients(y_true, y_pred):
        with tf.GradientTape() as tape:
            value = loss(y_true, y_pred + shift)
        return value, tape.gradient(value, shift)

    @tf.function
    def over_replicas(*batch):
        results = strategy.run(gradients, args=batch)
        return [strategy.reduce("SUM", result, axis=None) for result in results]

    dataset = tf.data.Dataset.from_tensor_slices((y_true, y_pred)).batch(8)
    (batch,) = strategy.experimental_distribute_dataset(dataset)
    assert strategy.num_replicas_in_sync == 2
    assert strategy.experimental_local_results(batch[0])[0].shape == [4]
    value, gradient = over_replicas(*batch)
    expected_value, expected = gradients(tf.constant(y_true), tf.constant(y_pred))
    scores = row.scores(y_true, y_pred + np.float32(0.01))
    close(expected_value, np.sum(scores), 1e-5)
    close(value, expected_value, 1e-5)
    close(gradient, expected, 1e-5)
    assert np.any(np.abs(expected) > 1e-3)


# What cannot be scored.


def wrong_labels(row):
    return [3, -1, 0.5, np.nan] if row.loss == "BrierLoss" else [np.nan, np.inf]


@every_row
def test_wrong_values_raise_in_eager_execution(row, rng):
    y_true, y_pred = data_of(row, rng, [4])
    loss = row.make()
    for wrong in wrong_labels(row):
        y = y_true.astype(np.float32)
        y[2] = wrong
        half = tf.constant(y_pred, tf.bfloat16)
        for arguments in ((y, y_pred), (y[:, None], half)):
            with pytest.raises(ValueError, match=r"`y_true`.*Received") as raised:
                loss(*arguments)
            assert "labels" not in str(raised.value)
    y_true[1], y_pred[1] = 0, row.bad
    for weights in (None, [1.0, 0.0, 1.0, 1.0]):  # Keras would make NaN of 0 * NaN.
        with pytest.raises(ValueError, match=r"`y_pred`.*Received"):
            loss(y_true, y_pred, weights)


@pytest.mark.tensors
@every_row
def test_wrong_values_are_nan_in_a_graph(row, rng):
    y_true, y_pred = data_of(row, rng, [4])
    scores = row.scores(y_true, y_pred)
    losses = [row.make(reduction="none"), row.make()]

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.float32),
            tf.TensorSpec([None, y_pred.shape[-1]], tf.float32),
        ]
    )
    def all_of(y_true, y_pred):
        return [loss(y_true, y_pred) for loss in losses]

    each, mean = all_of(y_true.astype(np.float32), y_pred)
    close(each, scores)
    close(mean, np.mean(scores))
    wrong = [(label, y_pred[0]) for label in wrong_labels(row)] + [(0, row.bad)]
    for label, predictions in wrong:
        y, p = y_true.astype(np.float32), y_pred.copy()
        y[0], p[0] = label, predictions
        each, mean = all_of(y, p)
        assert np.isnan(each[0])
        close(each[1:], scores[1:])
        assert np.isnan(mean)


@every_class
def test_wrong_shapes_raise(row, rng):
    y_true, y_pred = data_of(row, rng, [4])
    y_true = y_true.astype(np.float32)
    size = y_pred.shape[-1]
    loss = row.make()
    bad = [
        (y_true[:3], y_pred),
        (y_true, y_pred[:, None]),
        (y_true, np.float32(0.5)),
        (y_pred, y_true),
        (y_true[:0], y_pred[:0]),
        (np.stack([y_true] * (size + 1), axis=1), y_pred),
    ]
    if row.loss != "BrierLoss":
        bad.append((y_true, y_pred[:, :1]))  # Too few on the last axis.
    for y, p in bad:
        with pytest.raises(ValueError, match=r"y_(true|pred)") as raised:
            loss(y, p)
        assert "Received" in str(raised.value)
        if len(y):
            with pytest.raises(ValueError, match=r"y_(true|pred)"):
                tf.function(loss)(tf.constant(y), tf.constant(p))
        else:  # A replica may have no share of the last batch.
            assert float(tf.function(loss)(tf.constant(y), tf.constant(p))) == 0


def test_one_hot_rows_that_are_no_distribution_raise():
    for row in ([1, 1, 0], [0, 0, 0], [2, -1, 0], [0.5, 0.2, np.nan]):
        y_true = np.float32([row, [0, 1, 0]])
        y_pred = np.full([2, 3], 1 / 3, np.float32)
        with pytest.raises(ValueError, match=r"`y_true`.*one-hot.*Received"):
            um.BrierLoss()(y_true, y_pred)
        assert np.isnan(tf.function(um.BrierLoss())(y_true, y_pred))


def test_unknown_shapes_ask_for_the_option():
    signature = [tf.TensorSpec([None, None]), tf.TensorSpec([None, 3])]
    with pytest.raises(ValueError, match="sparse_labels"):
        tf.function(um.BrierLoss(), input_signature=signature).get_concrete_function()


def test_scores_beyond_the_range_raise():
    for loss, y_true, y_pred in (
        (um.CRPSNormalLoss("exp"), [0.0], [[0.0, 100.0]]),
        (um.PinballLoss(0.5), [3e38], [-3e38]),
    ):
        with pytest.raises(ValueError, match=r"`y_pred`.*float32.*Received"):
            loss(y_true, y_pred)
        compiled = tf.function(loss)(tf.constant(y_true), tf.constant(y_pred))
        assert np.isnan(compiled)
    with pytest.raises(ValueError, match="y_true"):
        um.IntervalLoss(0.1)(np.float64([1e300]), [[0.0, 1.0]])


def test_ignored_examples_may_be_wrong():
    loss = um.BrierLoss(ignore_index=255)
    close(loss([255, 0], [[np.nan, 7.0], [1.0, 0.0]]), -1)


@every_row
@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan])
def test_wrong_weights_are_refused(row, weight, rng):
    y_true, y_pred = row.data(rng, [4])
    loss = row.make()
    weights = np.array([1.0, weight, 0.0, 2.0], np.float32)
    with pytest.raises(ValueError, match="`sample_weight` must be finite and >= 0"):
        loss(y_true, y_pred, weights)
    assert np.isnan(tf.function(loss)(y_true, y_pred, weights))
    if weight == -1:
        with pytest.raises(ValueError, match="`sample_weight` must be finite and >= 0"):
            loss(y_true, y_pred, weights.astype(int))


@pytest.mark.tensors
def test_probabilities_are_no_logits(rng):
    labels, p = rng.integers(0, 3, 8), rng.dirichlet(np.ones(3), 8).astype(np.float32)
    loss = um.BrierLoss(from_logits=True)
    with pytest.raises(ValueError, match="for probabilities use `from_logits=False`"):
        loss(labels, p)
    with pytest.raises(ValueError, match="for logits use `from_logits=True`"):
        um.BrierLoss()(labels, np.log(p))
    # In a graph they are what they are called, lest an accident end a training.
    squares = np.sum((np.asarray(tf.nn.softmax(p)) - np.eye(3)[labels]) ** 2, axis=1)
    close(tf.function(loss)(labels, p), np.mean(squares) - 1)
