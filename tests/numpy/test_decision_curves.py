"""Net benefit and Murphy curves, against sums over examples and known areas."""

import itertools

import numpy as np
import pytest
from scipy import integrate

import uncertainty_metrics.numpy as um
from tests import references
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells


def draw(rng, dtype, weighted):
    labels = rng.integers(0, 2, 60)
    p = (rng.integers(0, 21, 60) / 20).astype(dtype)
    return labels, p, rng.random(60) if weighted else None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_curves_equal_sums_over_examples(dtype, weighted, rng):
    labels, p, weights = draw(rng, dtype, weighted)
    w = np.ones(60) if weights is None else weights
    w = w / w.sum()
    # Most thresholds are scores.
    thresholds = [0.0, 0.1, 0.3, 0.35, 0.51, 0.95, 0.999]
    found = um.net_benefit(labels, p, thresholds, sample_weight=weights)
    for i, t in enumerate(thresholds):
        acts = p >= dtype(t)  # A user would compare them so.
        odds = t / (1 - t)
        benefit = w[acts & (labels == 1)].sum() - w[acts & (labels == 0)].sum() * odds
        assert found.net_benefit[i] == pytest.approx(benefit, abs=1e-12)
        everybody = w[labels == 1].sum() - w[labels == 0].sum() * odds
        assert found.treat_all[i] == pytest.approx(everybody)
    assert found.treat_none.tolist() == [0.0] * 7

    thresholds.append(1.0)
    found = um.murphy_curve(labels, p, thresholds, sample_weight=weights)
    for score, t in zip(found, thresholds, strict=True):
        above = p > dtype(t)
        regret = t * w[above & (labels == 0)].sum()
        regret += (1 - t) * w[~above & (labels == 1)].sum()
        assert score == pytest.approx(regret, abs=1e-12)


def test_all_forms_of_the_forecast_give_the_same_curves(rng):
    labels = rng.integers(0, 2, 30)
    logits = rng.normal(size=(30, 2))
    p = references.softmax(logits)
    for function in (um.net_benefit, um.murphy_curve):
        expected = function(labels, p[:, 1], [0.2, 0.6])
        for given in ({"logits": logits}, {"probs": p}):
            found = function(labels, thresholds=[0.2, 0.6], **given)
            np.testing.assert_allclose(found, expected, atol=1e-12)
        labels_255 = np.append(labels, 255)
        more = np.append(p[:, 1], 0.5)
        found = function(labels_255, more, [0.2, 0.6], ignore_index=255)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        with pytest.raises(ValueError, match=r"`probabilities`.*one event.*3 classes"):
            function([0, 1, 2], np.full((3, 3), 1 / 3), [0.5])


def test_area_under_the_murphy_curve_is_half_the_brier_score(rng):
    labels, p, weights = draw(rng, np.float64, True)
    ends = np.unique([0.0, *p, 1.0])
    area = sum(
        integrate.quad(
            lambda t: um.murphy_curve(labels, p, [t], sample_weight=weights)[0], a, b
        )[0]
        for a, b in itertools.pairwise(ends)
    )
    brier = np.average((labels - p) ** 2, weights=weights)
    assert area == pytest.approx(brier / 2)


def test_forecasts_of_0_or_1_equal_treating_none_or_all(rng):
    labels = rng.integers(0, 2, 40)
    thresholds = np.linspace(0, 0.9, 10)
    everybody = um.net_benefit(labels, np.ones(40), thresholds)
    np.testing.assert_array_equal(everybody.net_benefit, everybody.treat_all)
    nobody = um.net_benefit(labels, np.zeros(40), thresholds[1:])
    np.testing.assert_array_equal(nobody.net_benefit, nobody.treat_none)


def test_bad_thresholds_raise():
    given = [0, 1], [0.2, 0.7]
    for function, refused in (
        (um.net_benefit, (1.0, 1.5, -0.1, np.nan)),
        (um.murphy_curve, (1.01, -0.1, np.nan, np.inf)),
    ):
        for value in refused:
            with pytest.raises(ValueError, match=r"`thresholds` must be numbers in"):
                function(*given, [0.5, value])
        with pytest.raises(ValueError, match=r"`thresholds` must be numbers in"):
            function(*given)


def test_curves_of_no_scores_are_0():
    nothing = Cells(*np.zeros((3, 0)))
    points = np.array([0.1, 0.5])
    assert np.all(np.array(_pooled_errors.net_benefit(nothing, points)) == 0)
    assert np.all(_pooled_errors.murphy(nothing, points) == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_next_to_a_score_differ_from_it(dtype, rng):
    scores = rng.random(50).astype(dtype)
    weights = rng.random(50)
    for p in scores:
        below, above = (np.nextafter(p, dtype(end)) for end in (0, 1))
        near = np.array([below, p, above], np.float64)
        data = [1, 1], [p, p]
        benefit = um.net_benefit(*data, near, sample_weight=weights[:2]).net_benefit
        np.testing.assert_allclose(benefit, [1, 1, 0])
        loss = um.murphy_curve(*data, near, sample_weight=weights[:2])
        np.testing.assert_allclose(loss, [0, 1 - near[1], 1 - near[2]])
