"""Every Keras loss through every sweep, in the Keras that is loaded."""

import functools
import inspect
import itertools
import json

import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from sklearn import metrics as sklearn_metrics

import uncertainty_metrics as um
from tests.keras.losses import (
    CLASSES,
    LEGACY,
    REDUCTIONS,
    ROWS,
    classes,
    close,
    data_of,
    every_class,
    every_row,
    first_of_class,
    given,
    logits,
)

keras = tf.keras
pytestmark = pytest.mark.keras
BRIER = next(row for row in ROWS if row.loss == "BrierLoss")


@first_of_class
def test_values_reductions_and_weights(row, rng):
    for (shape, weight_shapes), reduction in itertools.product(
        (
            ([7], [[], [7], [7, 1]]),
            ([3, 4], [[], [3, 1], [3, 4], [3, 4, 1]]),
            ([2, 3, 2], [[], [2, 1, 1], [2, 3, 2]]),
            ([1], [[1]]),
        ),
        REDUCTIONS,
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
            scores = row.scores(y_true, y_pred, weights)
            close(result, given(scores, weights, reduction))


@every_class
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
    whole = rng.integers(0, 3, 6)
    expected = np.mean(row.scores(whole, y_pred))
    for dtype in (np.uint8, np.int32, np.int64, np.float32):
        close(loss(whole.astype(dtype), y_pred), expected)
    y_true, y_pred = data_of(row, rng, [2, 3])
    close(loss(y_true[..., None], y_pred), np.mean(row.scores(y_true, y_pred)))


@pytest.mark.thorough
@every_row
def test_half_precision_is_scored_in_float32_and_float64_in_float64(row, rng):
    y_true, y_pred = row.data(rng, [8])
    for dtype in ("float16", "bfloat16"):
        half = tf.cast(y_pred, dtype)
        result = row.make()(y_true, half)
        assert result.dtype == tf.float32
        close(result, np.mean(row.scores(y_true, tf.cast(half, tf.float64))))
    y_pred = y_pred * (1 - 1e-9)  # Not exact in float32.
    expected = np.mean(row.scores(y_true, y_pred))
    losses = [row.make(dtype=dtype) for dtype in ("float64", tf.float64)]
    for loss in losses + [row.make()] * LEGACY:
        result = loss(y_true, tf.constant(y_pred, tf.float64))
        assert result.dtype == tf.float64
        close(result, expected, 1e-11)


@every_class
def test_weights_belong_to_the_leading_axes(row, rng):
    """As in metrics; Keras alone would align weights of fewer axes to the last axis."""
    y_true, y_pred = data_of(row, rng, [3, 3])
    weights = rng.uniform(0.5, 2, 3).astype(np.float32)
    expected = row.make()(y_true, y_pred, np.repeat(weights[:, None], 3, axis=1))
    for more in (weights, weights[:, None, None, None]):
        close(row.make()(y_true, y_pred, more), expected)


@every_class
def test_weights_of_wrong_shapes_raise(row, rng):
    for shape, others in (
        ([4, 3], ([0], [3], [5], [4, 2], [0, 3], [3, 4], [4, 3, 2], [1, 4, 3])),
        ([4], ([0], [3], [4, 2], [1, 4])),
        ([1], ([0], [4])),  # Keras would repeat the one score.
    ):
        y_true, y_pred = data_of(row, rng, shape)
        for other in others:
            with pytest.raises(ValueError, match=r"`sample_weight` must be broadcast"):
                row.make()(y_true, y_pred, np.ones(other, np.float32))


@every_class
def test_masked_examples_are_left_out(row, rng):
    y_true, y_pred = data_of(row, rng, [4, 3])
    mask = rng.permutation(12).reshape(4, 3) < 7
    weights = rng.uniform(0.5, 2, [4, 3]).astype(np.float32)
    scores = row.scores(y_true, y_pred, mask)
    weighted = row.scores(y_true, y_pred, mask * weights)
    y_pred = tf.constant(y_pred)
    y_pred._keras_mask = tf.constant(mask)
    expected = {"none": np.where(mask, scores, 0), "sum": np.sum(scores[mask])}
    for reduction in REDUCTIONS:
        loss = row.make(reduction=reduction)
        close(loss(y_true, y_pred), expected.get(reduction, np.mean(scores[mask])))
        result = loss(y_true, y_pred, weights)
        close(result, given(weighted, weights, reduction, mask))


# A loss that has `ignore_index`, and one that has not.
@pytest.mark.parametrize("name", ["BrierLoss", "IntervalLoss"])
def test_masks_of_layers_reach_the_loss(name, rng):
    row = next(row for row in CLASSES if row.loss == name)
    y_true, y_pred = data_of(row, rng, [8, 3])
    y_pred[:, 1:][rng.permutation(16).reshape(8, 2) < 8] = 0  # 0 is masked.

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


@pytest.mark.parametrize("name", ["BrierLoss", "RankedProbabilityLoss"])
def test_one_hot_and_smoothed_labels(name, rng):
    """A distribution over the classes is scored by the mean score of its labels."""
    for row in (row for row in ROWS if row.loss == name):
        labels, y_pred = row.data(rng, [6])
        one_hot = np.eye(3)[labels]
        loss = row.make(reduction="none")
        for y_true in (one_hot, 0.9 * one_hot + 0.1 / 3, 0.7 * one_hot + 0.1):
            expected = row.mean_scores(y_true, y_pred)
            close(loss(y_true.astype(np.float32), y_pred), expected)
        for dtype in (np.int32, bool):
            close(loss(one_hot.astype(dtype), y_pred), loss(labels, y_pred))


def test_brier_of_binary_predictions(rng):
    x = rng.normal(size=[4, 3])
    y = rng.integers(0, 2, [4, 3])
    for from_logits, zero_based in itertools.product((False, True), repeat=2):
        p = special.expit(x)
        y_pred = (x if from_logits else p).astype(np.float32)
        # The two classes are wrong by the same amount.
        expected = 2 * (p - y) ** 2 - (not zero_based)
        make = functools.partial(
            um.BrierLoss, from_logits, zero_based=zero_based, reduction="none"
        )
        for sparse, labels, predictions in (
            (None, y, y_pred[..., None]),
            (None, y[..., None], y_pred[..., None]),
            (None, y[..., None], y_pred),
            (None, y.ravel(), y_pred.ravel()),
            (None, y.reshape(-1, 1), y_pred.reshape(-1, 1)),
            (None, y.ravel(), y_pred.reshape(-1, 1)),
            (None, np.eye(2)[y], y_pred[..., None]),
            (True, y, y_pred),
            (False, np.eye(2)[y], y_pred),
        ):
            result = make(sparse_labels=sparse)(labels, predictions)
            close(result, expected.reshape(result.shape))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ignored_labels_are_left_out_as_in_keras(reduction, rng):
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


def test_ignored_labels_with_masks_and_images(rng):
    y, p = classes(rng, [4, 3])
    keep = rng.permutation(12).reshape(4, 3)
    expected = np.mean(BRIER.scores(y, p)[(keep >= 3) & (keep < 9)])
    y[keep < 3] = -1
    p = tf.constant(p, tf.float32)
    p._keras_mask = tf.constant(keep < 9)
    close(um.BrierLoss(ignore_index=-1)(y, p), expected)

    y, x = logits(rng, [2, 4, 5])
    scores = BRIER.scores(y, special.softmax(x, axis=-1))
    y[0, 1] = 255
    expected = np.mean(scores[y != 255])
    loss = um.BrierLoss(True, ignore_index=255)
    for labels in (y, y[..., None].astype(np.uint8), np.float32(y)):
        close(loss(labels, x), expected)
    close(tf.function(loss)(tf.constant(y), tf.constant(x)), expected)
    # Predictions of ignored examples may be wrong.
    loss = um.BrierLoss(ignore_index=255)
    close(loss([255, 0], [[np.nan, 7.0], [1.0, 0.0]]), -1)


# Configuration.


@every_row
def test_config_holds_the_arguments_of_the_constructor(row, rng):
    loss = row.make(name="other", reduction="sum", dtype="float64")
    config = loss.get_config()
    parameters = set(inspect.signature(type(loss).__init__).parameters)
    assert set(config) == parameters - {"self"}
    given = {"name": "other", "reduction": "sum", "dtype": "float64", **row.options}
    for key, value in given.items():
        assert config[key] == (tuple(value) if isinstance(value, list) else value)
    default = row.make()
    assert isinstance(default, keras.losses.Loss)
    assert default.reduction == "sum_over_batch_size"
    assert default.name.replace("_", "") == row.loss.lower()
    assert default.get_config()["dtype"] is None
    data = row.data(rng, [5])
    expected = loss(*data)
    serialized = keras.losses.serialize(loss)
    for again in (
        type(loss).from_config(config),
        type(loss).from_config(json.loads(json.dumps(config))),
        keras.losses.deserialize(serialized),
        keras.losses.deserialize(json.loads(json.dumps(serialized))),
    ):
        assert type(again) is type(loss)
        assert again.get_config() == config
        np.testing.assert_array_equal(again(*data), expected)


BAD_OPTIONS = {
    "BrierLoss": {
        "from_logits": (1, "yes"),
        "zero_based": (None,),
        "sparse_labels": ("no",),
        "reduction": ("median",),
    },
    "RankedProbabilityLoss": {"from_logits": (1,), "sparse_labels": ("no",)},
    "CRPSNormalLoss": {"scale_transform": ("log",)},
    "GaussianNLLLoss": {"scale_transform": (None,)},
    "CRPSSampleLoss": {"estimator": ("pwm",), "alpha": (-0.5, 1.5, None)},
    "PinballLoss": {"quantiles": ([], [0.5, 1.0], 0.0, "median", [np.nan])},
    "IntervalLoss": {"alpha": (0, 1.0, [0.1])},
    "SoftCalibrationLoss": {
        "weight": (-1, np.inf, np.nan, None, True),
        "proper_loss": ("mse", True),
        "num_bins": (0, 2.5),
        "temperature": (0, "low"),
        "norm": ("max", 2),
        "from_logits": (None,),
    },
    "MMCELoss": {"bandwidth": (0, 0.01, np.inf), "weight": (-1e-9,)},
}


@pytest.mark.parametrize("loss", BAD_OPTIONS)
def test_bad_options_raise(loss):
    good = next(row for row in CLASSES if row.loss == loss).options
    for option, values in BAD_OPTIONS[loss].items():
        for value in values:
            with pytest.raises(ValueError, match=f"(?i){option}"):
                getattr(um, loss)(**{**good, option: value})


def test_one_quantile_is_a_number_or_a_sequence(rng):
    y, q = rng.normal(size=[2, 6]).astype(np.float32)
    expected = sklearn_metrics.mean_pinball_loss(y, q, alpha=0.3)
    for quantiles in (0.3, [0.3], (0.3,), np.array([0.3]), np.float64(0.3)):
        loss = um.PinballLoss(quantiles)
        for y_true, y_pred in ((y, q), (y, q[:, None]), (y[:, None], q[:, None])):
            close(loss(y_true, y_pred), expected)


# Arguments that cannot be scored.


def wrong_labels(row):
    return [3, -1, 0.5, np.nan] if row.classifies else [np.nan, np.inf]


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


@pytest.mark.thorough
@pytest.mark.tensors
@first_of_class
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
        if row.of.is_mean:
            close(each[1:], scores[1:])
        else:  # The penalty depends on all examples.
            assert np.all(np.isnan(each))
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
    if not row.classifies:
        bad.append((y_true, y_pred[:, :1]))  # The last axis is too short.
    for y, p in bad:
        with pytest.raises(ValueError, match=r"y_(true|pred)") as raised:
            loss(y, p)
        assert "Received" in str(raised.value)
        if len(y):
            with pytest.raises(ValueError, match=r"y_(true|pred)"):
                tf.function(loss)(tf.constant(y), tf.constant(p))
        else:  # A replica may get no share of the last batch.
            assert float(tf.function(loss)(tf.constant(y), tf.constant(p))) == 0


def test_wrong_or_ambiguous_one_hot_rows_raise():
    for row in ([1, 1, 0], [0, 0, 0], [2, -1, 0], [0.5, 0.2, np.nan]):
        y_true = np.float32([row, [0, 1, 0]])
        y_pred = np.full([2, 3], 1 / 3, np.float32)
        with pytest.raises(ValueError, match=r"`y_true`.*one-hot.*Received"):
            um.BrierLoss()(y_true, y_pred)
        assert np.isnan(tf.function(um.BrierLoss())(y_true, y_pred))
    loss = um.BrierLoss(ignore_index=-1)  # No row becomes the ignored label.
    close(loss([[0, 1], [1, 0]], [[0.5, 0.5], [0.0, 1.0]]), (-0.5 + 1) / 2)
    with pytest.raises(ValueError, match="y_true"):
        loss([[1, 1], [1, 0]], [[0.5, 0.5], [0.0, 1.0]])
    signature = [tf.TensorSpec([None, None]), tf.TensorSpec([None, 3])]
    with pytest.raises(ValueError, match="sparse_labels"):
        tf.function(um.BrierLoss(), input_signature=signature).get_concrete_function()


def test_scores_that_overflow_raise():
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


@pytest.mark.first(3, "thorough")
@every_class
def test_wrong_weights_raise(row, rng):
    y_true, y_pred = row.data(rng, [4])
    loss = row.make()
    compiled = tf.function(loss)
    for wrong in (-1.0, np.inf, np.nan):
        weights = np.array([1.0, wrong, 0.0, 2.0], np.float32)
        given = [weights, weights.astype(int)] if wrong == -1 else [weights]
        for each in given:
            with pytest.raises(ValueError, match="`sample_weight` must be finite and"):
                loss(y_true, y_pred, each)
        assert np.isnan(compiled(y_true, y_pred, weights))


@pytest.mark.tensors
def test_probabilities_as_logits_raise(rng):
    labels, p = rng.integers(0, 3, 8), rng.dirichlet(np.ones(3), 8).astype(np.float32)
    loss = um.BrierLoss(from_logits=True)
    with pytest.raises(ValueError, match="for probabilities use `from_logits=False`"):
        loss(labels, p)
    with pytest.raises(ValueError, match="for logits use `from_logits=True`"):
        um.BrierLoss()(labels, np.log(p))
    # A graph takes them for logits: logits that look like probabilities by accident
    # must not end a training.
    squares = np.sum((np.asarray(tf.nn.softmax(p)) - np.eye(3)[labels]) ** 2, axis=1)
    close(tf.function(loss)(labels, p), np.mean(squares) - 1)
