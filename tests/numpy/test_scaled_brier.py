"""The scaled Brier score against scikit-learn and values by hand."""

import numpy as np
import pytest
from sklearn import metrics

import uncertainty_metrics.numpy as um


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_score_is_1_minus_the_ratio_of_brier_scores(classes, weighted, rng):
    rows = rng.dirichlet(np.ones(classes), 50)
    labels = rng.integers(0, classes, 50)
    labels[:classes] = np.arange(classes)
    weights = rng.integers(0, 4, 50).astype(float) if weighted else np.ones(50)
    weights[:classes] = 1
    shares = np.bincount(labels, weights) / weights.sum()
    options = {"sample_weight": weights, "labels": np.arange(classes)}
    score, base = (
        metrics.brier_score_loss(labels, p, scale_by_half=False, **options)
        for p in (rows, np.tile(shares, (50, 1)))
    )
    found = um.scaled_brier_score(labels, rows, sample_weight=weights)
    assert found == pytest.approx(1 - score / base)
    logits = np.log(rows) + 3
    again = um.scaled_brier_score(labels, logits=logits, sample_weight=weights)
    assert again == pytest.approx(found)
    if classes == 2:
        again = um.scaled_brier_score(labels, rows[:, 1], sample_weight=weights)
        assert again == pytest.approx(found)


def test_base_rate_has_0_and_the_truth_has_1():
    labels = np.array([0, 0, 0, 1])
    assert um.scaled_brier_score(labels, np.full(4, 0.25)) == pytest.approx(0)
    assert um.scaled_brier_score(labels, labels) == 1
    # The squared errors of P(class 1) are 1, and 3/16 on average for the base rate.
    assert um.scaled_brier_score(labels, 1 - labels) == pytest.approx(1 - 16 / 3)
    ignored = um.scaled_brier_score([*labels, 9], [0.25] * 4 + [1.0], ignore_index=9)
    assert ignored == pytest.approx(0)


def test_one_label_is_refused():
    for labels, weights in (([1, 1, 1], None), ([0, 1, 1], [0, 1, 2])):
        with pytest.raises(ValueError, match="`labels` must hold at least two classes"):
            um.scaled_brier_score(labels, [0.2, 0.5, 0.7], sample_weight=weights)


def test_scorer_treats_larger_scores_as_better():
    (name,) = um.make_scorers("scaled_brier_score")
    assert name == "scaled_brier_score"
