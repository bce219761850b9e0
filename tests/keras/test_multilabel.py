"""Scores of several labels of each example: metrics and losses equal the functions."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

pytestmark = [pytest.mark.keras, pytest.mark.tensors]

keras = tf.keras
METRICS = {
    "brier_score": um.BrierScore,
    "negative_log_likelihood": um.NegativeLogLikelihood,
}


def tags(rng, n=40, labels=3):
    p = rng.random([n, labels]).astype(np.float32)
    y = (rng.random([n, labels]) < p**2).astype(int)
    y[rng.random(y.shape) < 0.1] = -1
    return y, p


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("from_logits", [False, True])
def test_metrics_of_labels_equal_numpy(name, from_logits, rng):
    y, p = tags(rng)
    predictions = np.log(p / (1 - p)) if from_logits else p
    given = {"logits" if from_logits else "probabilities": predictions}
    weights = rng.gamma(1, size=40)
    options = {"ignore_index": -1, "multilabel": True}
    metric = METRICS[name](from_logits=from_logits, **options)
    metric.update_state(y[:15], predictions[:15], weights[:15])
    tf.function(metric.update_state)(
        *map(tf.constant, (y[15:], predictions[15:], weights[15:]))
    )
    function = getattr(um_np, name)
    expected = function(y, **given, **options, sample_weight=weights[:, None])
    assert float(metric.result()) == pytest.approx(expected, rel=1e-5)
    # By hand: the mean over all labels of the score of two classes.
    kept = y >= 0
    q = p[kept].astype(float)
    hit = np.where(y[kept] == 1, q, 1 - q)
    scores = {
        "brier_score": q**2 + (1 - q) ** 2 - 2 * hit,
        "negative_log_likelihood": -np.log(hit),
    }[name]
    every = np.broadcast_to(weights[:, None], y.shape)[kept]
    assert expected == pytest.approx(np.average(scores, weights=every), rel=1e-5)
    # Each label is a group.
    each = METRICS[name](from_logits=from_logits, num_groups=3, **options)
    groups = np.broadcast_to(np.arange(3), y.shape)
    each.update_state({"labels": y, "groups": groups}, predictions)
    found = each.result()
    for label in range(3):
        known = y[:, label] >= 0
        part = {key: value[known, label] for key, value in given.items()}
        alone = function(y[known, label], **part)
        assert float(found[f"{name}_{label}"]) == pytest.approx(alone, rel=1e-5)


# Errors without bins, for scores that are far apart, so that each has its own cell.
UNBINNED = {
    "smooth_calibration_error": um.SmoothCalibrationError,
    "kolmogorov_smirnov_calibration_error": um.KolmogorovSmirnovCalibrationError,
    "kuiper_calibration_error": um.KuiperCalibrationError,
    "averaged_two_bin_calibration_error": um.AveragedTwoBinCalibrationError,
}


@pytest.mark.parametrize("name", UNBINNED)
@pytest.mark.parametrize("from_logits", [False, True])
def test_errors_without_bins_pool_the_labels(name, from_logits, rng):
    y, p = tags(rng)
    p = np.clip(np.round(p, 1), 0.1, 0.9)
    predictions = np.log(p / (1 - p)) if from_logits else p
    weights = rng.integers(0, 4, 40).astype(np.float32)
    metric = UNBINNED[name](from_logits=from_logits, ignore_index=-1, multilabel=True)
    metric.update_state(y[:15], predictions[:15], weights[:15])
    tf.function(metric.update_state)(
        *map(tf.constant, (y[15:], predictions[15:], weights[15:]))
    )
    known = (y >= 0) & (weights[:, None] > 0)
    # Answers, one for each label.
    expected = getattr(um_np, name)(
        correct=y[known],
        confidences=p[known].astype(float),
        sample_weight=np.broadcast_to(weights[:, None], y.shape)[known],
    )
    assert float(metric.result()) == pytest.approx(expected, abs=1e-4)
    assert metric.get_config()["multilabel"] is True
    again = UNBINNED[name].from_config(metric.get_config())
    again.update_state(y, predictions, weights)
    assert float(again.result()) == pytest.approx(float(metric.result()), abs=1e-6)
    again.merge_state([metric])
    assert float(again.result()) == pytest.approx(float(metric.result()), abs=1e-6)


def test_ks_of_labels_equals_sums_in_the_order_of_scores(rng):
    y, p = tags(rng)
    p = np.clip(np.round(p, 1), 0.1, 0.9)
    metric = um.KolmogorovSmirnovCalibrationError(multilabel=True, ignore_index=-1)
    metric.update_state(y, p)
    known = y >= 0
    sums = [
        np.sum((y - p)[known & (p <= score)]) / known.sum() for score in np.unique(p)
    ]
    assert float(metric.result()) == pytest.approx(np.max(np.abs(sums)), abs=1e-6)
    with pytest.raises(ValueError, match="`positive_class` must be False with"):
        um.KolmogorovSmirnovCalibrationError(multilabel=True, positive_class=True)
    with pytest.raises(ValueError, match=r"\[..., L\] with a static L, for `multilab"):
        metric.update_state([0, 1], [[0.2, 0.8], [0.4, 0.6]])
    with pytest.raises(ValueError, match=r"integers in \[0, 2\).* 2 at \[0, 1\]"):
        metric.update_state([[0, 2]], [[0.2, 0.8]])


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_the_debiased_error_has_a_group_for_each_label(scheme, rng):
    y, p = tags(rng)
    options = {"binning_scheme": scheme, "num_bins": 4, "squared": True}
    metric = um.DebiasedCalibrationError(
        **options, multilabel=True, class_conditional=True, ignore_index=-1
    )
    metric.update_state(y[:15], p[:15])
    tf.function(metric.update_state)(tf.constant(y[15:]), tf.constant(p[15:]))
    own = []
    for k in range(3):
        known = y[:, k] >= 0
        answers = {"correct": y[known, k], "confidences": p[known, k]}
        own.append(um_np.debiased_calibration_error(**answers, **options))
    np.testing.assert_allclose(metric.class_errors, own, atol=1e-6)
    assert float(metric.result()) == pytest.approx(np.mean(own), abs=1e-6)
    with pytest.raises(ValueError, match="`class_conditional` must be False for"):
        metric.interval()
    with pytest.raises(ValueError, match="must be True with `multilabel`: a stream"):
        um.DebiasedCalibrationError(multilabel=True)


@pytest.mark.parametrize("name", METRICS)
def test_labels_of_wrong_shapes_or_values_are_refused(name):
    metric = METRICS[name](multilabel=True)
    assert metric.get_config()["multilabel"] is True
    METRICS[name].from_config(metric.get_config())
    with pytest.raises(ValueError, match=r"\[..., L\] with a static L, for `multilab"):
        metric.update_state([0, 1], [[0.2, 0.8], [0.4, 0.6]])
    with pytest.raises(ValueError, match=r"integers in \[0, 2\).* 2 at \[0, 1\]"):
        metric.update_state([[0, 2]], [[0.2, 0.8]])
    with pytest.raises(ValueError, match=r"`y_pred` must be .*\[0, 1\]"):
        metric.update_state([[0, 1]], [[0.2, 1.8]])
    assert float(metric.result()) == 0.0
    with pytest.raises(ValueError, match="`multilabel` must be True or False"):
        METRICS[name](multilabel=1)


def test_the_brier_loss_of_labels_trains_a_tagger(rng):
    x = rng.normal(size=[200, 3]).astype(np.float32)
    y = (rng.random([200, 3]) < 1 / (1 + np.exp(-2 * x))).astype(np.float32)
    y[0] = -1
    options = {"multilabel": True, "ignore_index": -1, "from_logits": True}
    loss = um.BrierLoss(**options)
    logits = rng.normal(size=[200, 3]).astype(np.float32)
    assert float(loss(y, logits)) == pytest.approx(
        um_np.brier_score(y, logits=logits, multilabel=True, ignore_index=-1), rel=1e-5
    )
    weights = rng.gamma(1, size=200).astype(np.float32)
    each = um.BrierLoss(**options, reduction="none")(y, logits)
    assert tuple(each.shape) == (200, 3)
    total = um.BrierLoss(**options, reduction="sum")
    expected = np.sum(weights[:, None] * np.asarray(each))
    assert float(total(y, logits, weights)) == pytest.approx(expected, rel=1e-4)
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(3)])
    metric = um.NegativeLogLikelihood(**options)
    model.compile(keras.optimizers.Adam(0.1), loss, metrics=[metric])
    history = model.fit(x, y, epochs=15, verbose=0).history
    values = history["negative_log_likelihood"]
    assert values[-1] < values[0]
