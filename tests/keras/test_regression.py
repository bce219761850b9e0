"""The streaming metrics of predicted means and variances."""

import inspect
import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import special, stats

from uncertainty_metrics.keras import losses
from uncertainty_metrics.keras.metrics import regression
from uncertainty_metrics.numpy import regression as np_regression

keras = tf.keras
pytestmark = pytest.mark.keras
LEGACY = not hasattr(keras, "ops")


def ece(y, mean, variance, weights):
    return np_regression.expected_calibration_error(
        mean, variance, y, 7, sample_weight=weights
    )


def coverage(y, mean, variance, weights):
    inside = np.abs(y - mean) <= stats.norm.ppf(0.9) * np.sqrt(variance)
    return np.average(inside, weights=weights)


def width(y, mean, variance, weights):
    return 2 * stats.norm.ppf(0.9) * np.average(np.sqrt(variance), weights=weights)


def deviation(y, mean, variance, weights):
    return np.average(np.sqrt(variance), weights=weights)


def likelihood(y, mean, variance, weights):
    scores = -stats.norm.logpdf(y, mean, np.sqrt(variance))
    return np.average(scores, weights=weights)


def rmse(y, mean, variance, weights):
    return math.sqrt(np.average((y - mean) ** 2, weights=weights))


VARIANCE = {"scale_transform": "variance"}
METRICS = {
    "ExpectedCalibrationError": ({"n_bins": 7, **VARIANCE}, ece),
    "IntervalCoverage": ({"level": 0.8, **VARIANCE}, coverage),
    "IntervalWidth": ({"level": 0.8, **VARIANCE}, width),
    "Sharpness": (VARIANCE, deviation),
    "NegativeLogLikelihood": (VARIANCE, likelihood),
    "RootMeanSquaredError": ({}, rmse),
}
every_metric = pytest.mark.parametrize("name", METRICS)
every_scale_metric = pytest.mark.parametrize(
    "name", [name for name in METRICS if name != "RootMeanSquaredError"]
)


def make(metric, **more):
    return getattr(regression, metric)(**{**METRICS[metric][0], **more})


def expected(name, y, y_pred, weights=None):
    y, y_pred = np.float64(y).reshape(-1), np.float64(y_pred).reshape(-1, 2)
    return METRICS[name][1](y, y_pred[:, 0], y_pred[:, 1], weights)


def forecasts(rng, shape=(60,), dtype=np.float32):
    """Returns targets, and means and variances that float16 holds exactly."""
    mean = np.round(rng.normal(size=shape) * 16) / 16
    variance = np.round(rng.uniform(0.25, 3, shape) * 16) / 16
    y = mean + np.sqrt(1.5 * variance) * rng.normal(size=shape)
    return y.astype(dtype), np.stack([mean, variance], axis=-1).astype(dtype)


def close(result, value, rtol=1e-6):
    np.testing.assert_allclose(float(result), value, rtol=rtol, atol=rtol)


def check(metric, batches, value, rtol=1e-6):
    """Checks the value after the batches, which is the same when it is read again."""
    for batch in batches:
        metric.update_state(*batch)
    for _ in range(2):
        close(metric.result(), value, rtol)


@pytest.mark.tensors
@every_metric
def test_one_example_and_other_axes(name, rng):
    y, y_pred = forecasts(rng)
    check(make(name), [(y[0], y_pred[0])], expected(name, y[0], y_pred[0]))
    with pytest.raises(ValueError, match="`y_pred` must have a last axis of 2"):
        make(name).update_state(np.ones(3), np.ones([3, 3]))


@pytest.mark.thorough
@pytest.mark.tensors
@every_metric
def test_other_precisions(name, rng):
    y, y_pred = forecasts(rng, dtype=np.float64)
    for dtype, rtol in (("float64", 1e-13), ("float16", 1e-6)):
        metric = make(name, dtype="float64")
        check(metric, [(y, tf.cast(y_pred, dtype))], expected(name, y, y_pred), rtol)
        assert metric.result().dtype == tf.float64


VARIANCES = {
    "softplus": lambda x: special.softplus(x) ** 2,
    "exp": lambda x: np.exp(2 * x),
    "identity": np.square,
    "variance": np.asarray,
    "log_variance": np.exp,
}


# Every transform with one metric, and every metric with one transform.
@pytest.mark.tensors
@pytest.mark.parametrize(
    ("name", "transform"),
    [
        *(("NegativeLogLikelihood", transform) for transform in VARIANCES),
        *((name, "softplus") for name in METRICS if name[0] in "EIS"),
    ],
)
def test_scale_transforms(name, transform, rng):
    y, y_pred = forecasts(rng)
    metric = make(name, scale_transform=transform)
    positive = transform in ("identity", "variance")
    if not positive:
        y_pred[:, 1] = rng.normal(size=60)
    variances = VARIANCES[transform](np.float64(y_pred[:, 1]))
    given = np.stack([y_pred[:, 0], variances], axis=-1)
    check(metric, [(y, y_pred)], expected(name, y, given), 2e-6)
    if positive:
        word = {"identity": "scales", "variance": "variances"}[transform]
        for bad in (0.0, -1.0):
            message = f"`y_pred` must hold {word} > 0. Received: {bad} at"
            with pytest.raises(ValueError, match=message):
                metric.update_state([0.5], [[0.5, bad]])
    else:
        metric.update_state([0.5], [[0.5, -1000.0]])  # The scale underflows.
        assert np.isfinite(metric.result())


@every_scale_metric
def test_scale_transform_has_the_default_of_the_losses(name):
    metric = getattr(regression, name)
    parameter = inspect.signature(metric).parameters["scale_transform"]
    for loss in (losses.GaussianNLLLoss, losses.CRPSNormalLoss):
        of_loss = inspect.signature(loss).parameters["scale_transform"]
        assert parameter.default == of_loss.default == "softplus"
    with pytest.raises(ValueError, match="`scale_transform` must be one of"):
        metric(scale_transform="square")


@pytest.mark.tensors
def test_wrong_options_raise():
    with pytest.raises(ValueError, match="`n_bins` must be an integer of at least 1"):
        regression.ExpectedCalibrationError(n_bins=0)
    for metric in (regression.IntervalCoverage, regression.IntervalWidth):
        with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
            metric(level=95)


# Distributions.


def tfd():
    from tensorflow_probability import distributions

    return distributions


@pytest.mark.tensors
@every_metric
def test_normal_distributions(name, rng):
    y, y_pred = forecasts(rng, [6, 2])
    normal = tfd().Normal(y_pred[..., 0], np.sqrt(y_pred[..., 1]))
    value = expected(name, y, y_pred)
    for forecast in (normal, tfd().Independent(normal, 1)):
        batches = (y[:4], forecast[:4]), (y[4:], forecast[4:])
        check(make(name), batches, value, 2e-6)
    weights = np.array([[1.0], [0], [2], [0], [1], [3]])
    y[1] = np.nan
    live = np.broadcast_to(weights > 0, [6, 2])
    counted = np.broadcast_to(weights, [6, 2])[live]
    value = expected(name, y[live], y_pred[live], counted)
    check(make(name), [(y, normal, weights)], value, 2e-6)


@pytest.mark.tensors
@every_metric
def test_distributions_of_other_families(name, rng):
    loc, scale = np.float32(rng.normal(size=[2, 40]))
    scale = np.exp(scale)
    y = np.float32(rng.normal(size=40))
    frozen = stats.laplace(np.float64(loc), np.float64(scale))
    distances = np.abs(2 * frozen.cdf(y) - 1)
    levels = np.linspace(0.1, 0.99, 7)
    shares = np.mean(distances[:, None] <= levels, axis=0)
    values = {
        "ExpectedCalibrationError": np.mean(np.abs(shares - levels)),
        "IntervalCoverage": np.mean(distances <= 0.8),
        "IntervalWidth": np.mean(frozen.ppf(0.9) - frozen.ppf(0.1)),
        "Sharpness": np.mean(frozen.std()),
        "NegativeLogLikelihood": -np.mean(frozen.logpdf(y)),
        "RootMeanSquaredError": np.sqrt(np.mean((y - loc) ** 2)),
    }
    column = tfd().Laplace(loc[:, None], scale[:, None])
    row = tfd().Laplace(loc, scale)
    for batch in ((y, row), (y[:, None], row), (y, column)):
        check(make(name), [batch], values[name], 3e-6)
    mixture = tfd().MixtureSameFamily(
        tfd().Categorical(probs=[0.5, 0.5]), tfd().Normal([-1.0, 1.0], [0.5, 0.5])
    )
    metric = make(name)
    if name == "IntervalWidth":
        with pytest.raises(ValueError, match=r"`y_pred` .*with a `quantile`"):
            metric.update_state(y, mixture)
        return
    metric.update_state(y, mixture)  # Its batch shape is [].
    if name == "Sharpness":
        close(metric.result(), math.sqrt(1.25))
    if name == "RootMeanSquaredError":
        close(metric.result(), math.sqrt(np.mean(np.square(y))))


@pytest.mark.tensors
def test_discrete_distributions(rng):
    rates = np.float32(rng.uniform(1, 5, 30))
    y = rng.poisson(rates)
    poisson = tfd().Poisson(rates)
    value = -np.mean(stats.poisson.logpmf(y, rates))
    check(regression.NegativeLogLikelihood(), [(y, poisson)], value, 3e-6)
    upper = stats.poisson.cdf(y, rates)
    lower = upper - stats.poisson.pmf(y, rates)
    weights = np.float32(rng.integers(0, 3, 30))
    levels = np.linspace(0.1, 0.99, 7)[:, None]
    ends = (np.clip(end, (1 - levels) / 2, (1 + levels) / 2) for end in (lower, upper))
    shares = -np.subtract(*ends) / (upper - lower)
    y = np.where(weights > 0, y, np.nan).astype(np.float32)
    live = weights > 0
    for weight in (weights, live.astype(np.float32)):
        coverage = np.average(shares, axis=1, weights=weight)
        for metric, value in (
            (regression.IntervalCoverage(0.99), coverage[-1]),
            (
                regression.ExpectedCalibrationError(7),
                np.mean(np.abs(coverage - levels[:, 0])),
            ),
        ):
            batches = (
                (y[:20], tfd().Poisson(rates[:20]), weight[:20]),
                (y[20:, None], tfd().Poisson(rates[20:]), weight[20:]),
            )
            check(metric, batches, value, 3e-6)


@pytest.mark.tensors
def test_calibrated_discrete_distributions_have_a_small_error(rng):
    # Most targets are 0, where the CDF jumps. A metric that took the middle of the jump
    # would count these targets as inside or outside together, and would not be small.
    n = 20000
    rates = np.float32(rng.uniform(0.05, 0.5, n))
    metric = regression.ExpectedCalibrationError()
    metric.update_state(rng.poisson(rates), tfd().Poisson(rates))
    assert metric.result() < 5 * 0.5 / math.sqrt(n)


@pytest.mark.tensors
@every_metric
def test_wrong_distributions_raise(name):
    metric, normal = make(name), tfd().Normal
    cases = [
        ([0.0, np.nan], normal([0.0, 0.0], 1.0), "`y_true` must be finite. Received"),
        ([0.0, 1.0], normal([0.0, np.nan], [1.0, np.nan]), "a distribution whose par"),
        ([0.0], tfd().MultivariateNormalDiag([[0.0, 1.0]]), "of scalar events"),
        ([0.0] * 3, normal([0.0, 1.0], 1.0), "of the shape of `y_true`"),
    ]
    if name != "RootMeanSquaredError":
        cases += [([0.0, 1.0], normal([0.0, 1.0], [1.0, -1.0]), "a distribution whose")]
    for y, forecast, message in cases:
        with pytest.raises(ValueError, match=message) as raised:
            metric.update_state(y, forecast)
        assert "`y_" in str(raised.value)
    assert float(metric.result()) == 0

    @tf.function(input_signature=[tf.TensorSpec([None])] * 3)
    def update(y, means, scales):
        metric.update_state(y, tfd().Normal(means, scales))

    for y, means, scales in [
        ([0.0, 0.0], [0.0, np.nan], [1.0, np.nan]),
        ([0.0], [0.0, 0.0], [1.0, 1.0]),  # One target would broadcast.
    ]:
        metric.reset_state()
        update(y, means, scales)
        assert np.isnan(metric.result())


@pytest.mark.skipif(not LEGACY, reason="TFP layers need tf_keras")
def test_models_whose_output_is_a_distribution(rng):
    import tensorflow_probability as tfp

    y, y_pred = forecasts(rng)
    layer = tfp.layers.DistributionLambda(
        lambda x: tfd().Normal(x[..., :1], tf.sqrt(x[..., 1:]))
    )
    inputs = keras.Input([2])
    model = keras.Model(inputs, layer(inputs))
    model.compile(
        loss=lambda y, normal: -normal.log_prob(y),
        metrics=[make(name, name=name) for name in METRICS],
    )
    logs = model.evaluate(y_pred, y, batch_size=20, verbose=0, return_dict=True)
    for name in METRICS:
        close(logs[name], expected(name, y, y_pred), 3e-6)


def test_registered_names_differ_from_those_of_classifiers():
    from uncertainty_metrics.keras.metrics import named_calibration_errors

    for name in METRICS:
        registered = keras.utils.get_registered_name(getattr(regression, name))
        assert registered == f"uncertainty_metrics>regression.{name}"
    other = keras.utils.get_registered_name(
        named_calibration_errors.ExpectedCalibrationError
    )
    assert other == "uncertainty_metrics>ExpectedCalibrationError"
