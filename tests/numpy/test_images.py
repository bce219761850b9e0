"""The mean over images of a metric of each image, and large masks in blocks."""

import functools

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests import catalogue
from uncertainty_metrics.numpy import _image_blocks

VOID = 255
GCE = functools.partial(
    um.gce,
    binning_scheme="adaptive",
    max_prob=False,
    class_conditional=True,
    norm="l2",
    num_bins=4,
)
METRICS = {
    "ece": um.ece,
    "gce": GCE,
    "brier_score": um.brier_score,
    "zero_based": functools.partial(um.brier_score, zero_based=True),
    "negative_log_likelihood": um.negative_log_likelihood,
}
each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def masks(rng, images=6, classes=3):
    """Returns labels and probabilities of images, of which image 2 is void."""
    shape = images, 8, 5
    labels = rng.integers(0, classes, shape)
    labels[rng.random(shape) < 0.2] = VOID
    labels[2] = VOID
    return labels, rng.dirichlet(np.ones(classes), shape)


def alone(metric, labels, probabilities, **options):
    """Returns the value of each image by itself, NaN for a void one."""
    values = [np.nan] * len(labels)
    for i in range(len(labels)):
        if np.any(labels[i] != VOID):
            own = {name: array[i] for name, array in options.items()}
            given = (labels[i], probabilities[i])
            values[i] = metric(*given, ignore_index=VOID, **own)
    return np.array(values)


@each_metric
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_over_images_is_that_of_single_calls(metric, weighted, rng):
    labels, p = masks(rng)
    weights = {"sample_weight": rng.uniform(0.5, 2, labels.shape)} if weighted else {}
    expected = alone(metric, labels, p, **weights)
    found = metric(labels, p, ignore_index=VOID, per_image=True, **weights)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    held = expected[~np.isnan(expected)]
    assert len(held) == 5
    ends = stats.t.interval(0.95, 4, held.mean(), stats.sem(held))
    np.testing.assert_allclose(found[:3], (ends[0], held.mean(), ends[1]), rtol=1e-9)


@catalogue.cases_that_take("per_image")
@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_images_are_those_of_the_reference(row, case, weighted, rng):
    flat = row.data(rng).arguments(weighted)
    images = {name: x.reshape(4, 10, *x.shape[1:]) for name, x in flat.items()}
    found = row.find(um)(**images, **case, per_image=True)
    expected = [
        row.reference(**{name: x[i] for name, x in images.items()}, **case)
        for i in range(4)
    ]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.estimate == pytest.approx(np.mean(expected))


@each_metric
@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("of_weights", [None, "images", "pixels"])
def test_blocks_do_not_change_the_value(
    metric, per_image, of_weights, rng, monkeypatch
):
    labels, p = masks(rng)
    options = {"ignore_index": VOID, "per_image": per_image}
    if of_weights is not None:
        shape = labels.shape if of_weights == "pixels" else labels.shape[:1]
        options["sample_weight"] = rng.uniform(0.5, 2, shape)
    at_once = metric(labels, p, **options)
    monkeypatch.setattr(_image_blocks, "BLOCK_BYTES", p[:2].nbytes + 1)
    in_blocks = metric(labels, p, **options)
    if not per_image:
        at_once, in_blocks = [at_once], [in_blocks]
    for one, other in zip(at_once, in_blocks, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)


@each_metric
def test_error_of_blocks_names_the_place_among_all(metric, rng, monkeypatch):
    labels, p = masks(rng)
    labels[5, 3, 2] = 7
    monkeypatch.setattr(_image_blocks, "BLOCK_BYTES", p[:2].nbytes + 1)
    with pytest.raises(ValueError, match=r"7 at \[5, 3, 2\]"):
        metric(labels, p, ignore_index=VOID)
    with pytest.raises(ValueError, match="at least one example"):
        metric(np.full_like(labels, VOID), p, ignore_index=VOID)


@each_metric
def test_one_image_has_no_interval(metric, rng):
    labels, p = masks(rng, images=3)
    found = metric(labels[1:], p[1:], ignore_index=VOID, per_image=True)
    assert found.estimate == pytest.approx(alone(metric, labels, p)[1])
    assert np.isnan([found.lower, found.upper]).all()


def test_answers_and_columns_have_images_too(rng):
    correct, confidences = rng.integers(0, 2, [4, 9]), rng.random([4, 9])
    found = um.ece(correct=correct, confidences=confidences, per_image=True)
    values = [
        um.ece(correct=y, confidences=p)
        for y, p in zip(correct, confidences, strict=True)
    ]
    np.testing.assert_allclose(found.values, values)
    found = um.ece(correct, confidences, positive_class=True, per_image=True)
    np.testing.assert_allclose(found.values, values)


@pytest.mark.parametrize("name", ["ece", "mce", "sce", "ace", "brier_score"])
def test_votes_have_images_too(name, rng):
    p, shares = rng.dirichlet(np.ones(3), [2, 4, 9])
    found = getattr(um, name)(
        label_distributions=shares, probabilities=p, per_image=True
    )
    values = [
        getattr(um, name)(label_distributions=y, probabilities=q)
        for y, q in zip(shares, p, strict=True)
    ]
    np.testing.assert_allclose(found.values, values, atol=1e-12)


@pytest.mark.parametrize("name", ["ece", "mce", "rmsce"])
def test_grades_have_images_too(name, rng):
    grades, confidences = rng.random([2, 4, 9])
    found = getattr(um, name)(correct=grades, confidences=confidences, per_image=True)
    values = [
        getattr(um, name)(correct=y, confidences=p)
        for y, p in zip(grades, confidences, strict=True)
    ]
    np.testing.assert_allclose(found.values, values, atol=1e-12)


@each_metric
def test_refusals_say_what_is_expected(metric, rng):
    labels, p = masks(rng)
    kept = {"ignore_index": VOID, "per_image": True}
    with pytest.raises(ValueError, match=r"shape \[images, \.\.\.\]"):
        metric(labels[0, 0], p[0, 0], **kept)
    with pytest.raises(ValueError, match="`groups` must be None with `per_image`"):
        metric(labels, p, groups=np.arange(6), **kept)
    with pytest.raises(ValueError, match="`per_image` must be"):
        metric(labels, p, ignore_index=VOID, per_image="yes")


def test_scores_of_pixels_have_no_mean_over_images(rng):
    labels, p = masks(rng)
    with pytest.raises(ValueError, match="`aggregate` must be True"):
        um.brier_score(labels, p, None, False, ignore_index=VOID, per_image=True)


def test_interval_over_images_covers_and_that_over_pixels_does_not(rng):
    """Each image has a frequency of its own, so its pixels repeat one another."""
    repeats, images, pixels = 300, 20, 200
    p = np.broadcast_to([0.2, 0.8], [images, pixels, 2])
    truth = 0.04 + 0.64  # Both classes are equally frequent over all images.
    covered = covered_by_pixels = 0
    for _ in range(repeats):
        frequency = rng.beta(3, 3, [images, 1])
        labels = (rng.random([images, pixels]) < frequency).astype(int)
        found = um.brier_score(labels, p, zero_based=True, per_image=True)
        covered += found.lower <= truth <= found.upper
        scores = 2 * np.square(labels - 0.8).reshape(-1)
        ends = stats.norm.interval(0.95, scores.mean(), stats.sem(scores))
        covered_by_pixels += ends[0] <= truth <= ends[1]
    deviation = np.sqrt(0.95 * 0.05 / repeats)
    assert abs(covered / repeats - 0.95) < 5 * deviation
    assert covered_by_pixels / repeats < 0.6
