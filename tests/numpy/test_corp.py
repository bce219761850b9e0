"""The CORP decomposition by isotonic regression, against a naive pooling of blocks."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    pooled,
)


@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_a_naive_loop(score, weighted, dtype, rng):
    data = catalogue.data(rng, dtype=dtype)
    arguments = {**data.arguments(weighted), "score": score}
    found = um.corp_decomposition(**arguments)
    np.testing.assert_allclose(
        found, references.corp_decomposition(**arguments), rtol=1e-6, atol=1e-12
    )
    labels, p = rng.integers(0, 2, 60), rng.integers(1, 10, 60) / 10
    weights = {"sample_weight": rng.random(60)} if weighted else {}
    options = {"score": score, "positive_class": True, **weights}
    found = um.corp_decomposition(labels, p, **options)
    expected = references.corp_decomposition(labels, p, **options)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    for part in found:
        assert part >= 0


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_add_up_to_the_score(weighted, rng):
    labels, p = rng.integers(0, 2, 200), rng.random(200)
    weights = {"sample_weight": rng.random(200)} if weighted else {}
    for score, mean in (
        ("brier", um.brier_score(labels, p, zero_based=True, **weights) / 2),
        ("log", um.negative_log_likelihood(labels, p, **weights)),
    ):
        miscalibration, discrimination, uncertainty = um.corp_decomposition(
            labels, p, score=score, positive_class=True, **weights
        )
        assert miscalibration - discrimination + uncertainty == pytest.approx(mean)


def test_isotonic_regression_equals_scikit_learn(rng):
    isotonic = pytest.importorskip("sklearn.isotonic")
    p = np.round(rng.random(300), 2)
    outcomes, weights = rng.random(300) < p**2, rng.random(300)
    cells = pooled(p, outcomes, weights)
    model = isotonic.IsotonicRegression().fit(p, outcomes, sample_weight=weights)
    found = _pooled_errors.isotonic(cells)
    np.testing.assert_allclose(found, model.predict(cells.scores), atol=1e-12)


def test_no_monotonic_forecast_beats_isotonic_regression(rng):
    # Any other non-decreasing forecast has a larger Brier score.
    cells = pooled(np.round(rng.random(60), 1), rng.random(60) < 0.5, None)
    fitted = _pooled_errors.isotonic(cells)
    assert np.all(np.diff(fitted) >= 0)

    def loss(q):
        return cells.outcome_sums @ (1 - q) ** 2 + (
            (cells.weights - cells.outcome_sums) @ q**2
        )

    for _ in range(50):
        other = np.sort(np.clip(fitted + 0.1 * rng.normal(size=len(fitted)), 0, 1))
        assert loss(other) >= loss(fitted) - 1e-12


def test_parts_of_certain_forecasts_by_hand():
    options = {"positive_class": True, "score": "log"}
    assert um.corp_decomposition([0, 1], [0.0, 1.0], **options) == pytest.approx(
        (0, np.log(2), np.log(2))
    )
    wrong = um.corp_decomposition([1, 0, 1], [0.0, 0.5, 1.0], **options)
    assert wrong.miscalibration == np.inf
    assert np.isfinite(wrong[1:]).all()
    one_label = um.corp_decomposition([1, 1], [0.4, 0.6], **options)
    assert one_label[1:] == (0.0, 0.0)


def test_parts_of_no_scores_are_0():
    nothing = Cells(*np.zeros((3, 0)))
    assert _pooled_errors.corp(nothing, "log") == (0, 0, 0)
    assert _pooled_errors.isotonic(nothing).shape == (0,)
