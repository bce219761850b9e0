"""Means over images, and over labels, on tensors equal those of NumPy."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

VOID = 255
SCORES = ("brier_score", "negative_log_likelihood")
NAMES = ("ece", *SCORES)


def masks(rng):
    labels = rng.integers(0, 3, [5, 4, 6])
    labels[rng.random(labels.shape) < 0.2] = VOID
    labels[3] = VOID
    return labels, rng.dirichlet(np.ones(3), labels.shape)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("compiled", [False, True])
def test_mean_over_images_equals_numpy(name, compiled, rng):
    labels, p = masks(rng)
    options = {"ignore_index": VOID, "per_image": True}
    expected = getattr(um_np, name)(labels, p, **options)
    function = functools.partial(getattr(um, name), **options)
    if compiled:
        function = tf.function(function)
    found = function(tf.constant(labels), tf.constant(p))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@catalogue.cases_that_take("per_image")
def test_each_case_equals_numpy(row, case, rng):
    labels, p = masks(rng)
    options = {**case, "ignore_index": VOID, "per_image": True}
    expected = row.find(um_np)(labels, p, **options)
    found = row.find(um)(labels, p, **options)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("form", ["votes", "grades"])
def test_votes_and_grades_have_images_too(form, rng):
    p, shares = rng.dirichlet(np.ones(2), [2, 4, 9])
    given = {"label_distributions": shares, "probabilities": p}
    if form == "grades":
        given = {"correct": shares[..., 1], "confidences": p[..., 1]}
    expected = um_np.mce(**given, per_image=True)
    found = um.mce(**{k: tf.constant(x) for k, x in given.items()}, per_image=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", SCORES)
def test_gradient_of_the_mean_is_finite(name, rng):
    labels, p = masks(rng)
    p = tf.constant(p)
    with tf.GradientTape() as tape:
        tape.watch(p)
        found = getattr(um, name)(labels, p, ignore_index=VOID, per_image=True)
    gradient = tape.gradient(found.estimate, p).numpy()
    assert np.all(np.isfinite(gradient))
    assert np.any(gradient != 0)
    assert not np.any(gradient[3])


@pytest.mark.parametrize("name", SCORES)
def test_multilabel_scores_equal_numpy(name, rng):
    labels, p = rng.integers(0, 2, [9, 4]), rng.random([9, 4])
    labels[0] = -1
    options = {"ignore_index": -1, "multilabel": True}
    expected = getattr(um_np, name)(labels, p, **options)
    function = tf.function(functools.partial(getattr(um, name), **options))
    assert float(function(labels, p)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_images_must_be_static(name):
    function = functools.partial(getattr(um, name), per_image=True)
    with pytest.raises(ValueError, match="static number of images"):
        tf.function(function).get_concrete_function(
            tf.TensorSpec([None, 4], tf.int64), tf.TensorSpec([None, 4, 3])
        )
