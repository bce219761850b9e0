"""Metrics in `fit` with masks: all pixels of all images, without the void ones."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

VOID = 255
METRICS = {
    "expected_calibration_error": um.ExpectedCalibrationError,
    "static_calibration_error": um.StaticCalibrationError,
    "brier_score": um.BrierScore,
    "negative_log_likelihood": um.NegativeLogLikelihood,
}
keras = tf.keras


@pytest.mark.parametrize("from_logits", [False, True])
def test_pixels_of_masks_are_examples_in_fit(from_logits, rng):
    labels = rng.integers(0, 3, [7, 6, 5])
    labels[rng.random(labels.shape) < 0.2] = VOID
    labels[2] = VOID
    x = rng.normal(size=[7, 6, 5, 2]).astype(np.float32)
    activation = None if from_logits else "softmax"
    model = keras.Sequential(
        [keras.Input([6, 5, 2]), keras.layers.Conv2D(3, 1, activation=activation)]
    )
    options = {"ignore_index": VOID, "from_logits": from_logits}
    metrics = [made(**options, name=name) for name, made in METRICS.items()]
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=from_logits, ignore_class=VOID
    )
    model.compile(keras.optimizers.SGD(0.0), loss, metrics=metrics)
    logs = model.fit(x, labels, batch_size=3, verbose=0).history
    predictions = {"logits" if from_logits else "probabilities": model.predict(x)}
    for name in METRICS:
        expected = getattr(um_np, name)(labels, **predictions, ignore_index=VOID)
        assert logs[name][0] == pytest.approx(expected, abs=1e-5)


IMAGES = (
    (um.ExpectedCalibrationError, "ece", {}),
    (
        um.GeneralCalibrationError,
        "gce",
        {
            "binning_scheme": "even",
            "max_prob": False,
            "class_conditional": True,
            "norm": "l2",
            "num_bins": 4,
        },
    ),
    (um.BrierScore, "brier_score", {"zero_based": True}),
    (um.NegativeLogLikelihood, "negative_log_likelihood", {}),
)


def masks(rng, n=7):
    labels = rng.integers(0, 3, [n, 6, 5])
    labels[rng.random(labels.shape) < 0.2] = VOID
    labels[2] = VOID
    return labels, rng.dirichlet(np.ones(3), labels.shape).astype(np.float32)


@pytest.mark.parametrize(("made", "name", "options"), IMAGES)
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.thorough), True]
)
def test_the_mean_over_images_of_all_batches_is_that_of_numpy(
    made, name, options, weighted, rng
):
    labels, p = masks(rng)
    weights = rng.gamma(1, size=labels.shape) if weighted else None
    function = getattr(um_np, name)
    expected = function(
        *(labels, p),
        **options,
        sample_weight=weights,
        ignore_index=VOID,
        per_image=True,
    )
    # The same with the ids of the images as groups.
    ids = np.broadcast_to(np.arange(7)[:, None, None], labels.shape)
    by_group = function(
        *(labels, p),
        **options,
        sample_weight=weights,
        ignore_index=VOID,
        groups=ids,
        num_groups=7,
    )
    assert np.nanmean(by_group.values) == pytest.approx(expected.estimate)

    def new():
        return made(**options, ignore_index=VOID, per_image=True)

    parts = [
        tuple(x[part] for x in (labels, p, weights) if x is not None)
        for part in (slice(0, 4), slice(4, 7))
    ]
    eager, other, compiled = new(), new(), new()
    for part in parts:
        eager.update_state(*part)

    # A graph that does not know the number of images in a batch.
    @tf.function(reduce_retracing=True)
    def update(*part):
        compiled.update_state(*part)  # tf_keras returns an operation.

    for part in (*parts, parts[0]):
        update(*map(tf.constant, part))
    other.update_state(*parts[1])
    merged = new()
    merged.update_state(*parts[0])
    merged.merge_state([other])
    for metric in (eager, merged):
        assert float(metric.result()) == pytest.approx(expected.estimate, abs=1e-5)
    values = np.r_[expected.values, expected.values[:4]]
    assert float(compiled.result()) == pytest.approx(np.nanmean(values), abs=1e-5)
    again = made.from_config(eager.get_config())
    assert again.per_image
    again.set_state(eager.get_state())
    assert float(again.result()) == float(eager.result())
    assert float(new().result()) == 0.0


def test_the_mean_over_images_in_fit(rng):
    labels, _ = masks(rng)
    x = rng.normal(size=[7, 6, 5, 2]).astype(np.float32)
    model = keras.Sequential(
        [keras.Input([6, 5, 2]), keras.layers.Conv2D(3, 1, activation="softmax")]
    )
    metrics = [
        made(**options, ignore_index=VOID, per_image=True, name=name)
        for made, name, options in IMAGES
    ]
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=VOID)
    model.compile(keras.optimizers.SGD(0.0), loss, metrics=metrics)
    logs = model.fit(x, labels, batch_size=3, verbose=0).history
    p = model.predict(x, verbose=0)
    for _, name, options in IMAGES:
        expected = getattr(um_np, name)(
            labels, p, **options, ignore_index=VOID, per_image=True
        )
        assert logs[name][0] == pytest.approx(expected.estimate, abs=1e-5)


def test_metrics_of_images_do_not_share_a_state_with_pooled_ones(rng):
    labels, p = masks(rng)
    metrics = [
        made(**options, ignore_index=VOID, per_image=per_image, name=f"{name}{i}")
        for i, per_image in enumerate((False, True))
        for made, name, options in IMAGES
    ]
    collection = um.MetricCollection(metrics)
    collection.update_state(labels, p)
    result = collection.result()
    for _, name, options in IMAGES:
        given = {**options, "ignore_index": VOID}
        pooled = getattr(um_np, name)(labels, p, **given)
        mean = getattr(um_np, name)(labels, p, **given, per_image=True).estimate
        assert float(result[f"{name}0"]) == pytest.approx(pooled, abs=1e-5)
        assert float(result[f"{name}1"]) == pytest.approx(mean, abs=1e-5)


def test_what_has_no_mean_over_images_is_refused(rng):
    for made, name, options in IMAGES:
        with pytest.raises(ValueError, match="`num_groups` must be None with `per_im"):
            made(**options, num_groups=2, per_image=True)
        metric = made(**options, per_image=True)
        with pytest.raises(ValueError, match=r"the shape \[images, ...\] for `per_im"):
            metric.update_state([0, 1], [[0.2, 0.8], [0.3, 0.7]])
        with pytest.raises(ValueError, match=r"`y_true` must be integers.*9 at \[0, 1"):
            metric.update_state([[0, 9]], [[[0.2, 0.8], [0.3, 0.7]]])
        assert float(metric.result()) == 0.0, name
    with pytest.raises(ValueError, match="`binning_scheme` must be 'even' with `per"):
        um.GeneralCalibrationError("adaptive", True, False, "l1", per_image=True)
    with pytest.raises(ValueError, match="there are no bins of all images"):
        _ = um.ExpectedCalibrationError(per_image=True).counts
