"""Scorers in scikit-learn: any names of classes, missing classes, and signs."""

import re

import numpy as np
import pytest
from sklearn import datasets, linear_model, metrics, model_selection, pipeline
from sklearn.preprocessing import StandardScaler

import uncertainty_metrics.numpy as um

NAMES = np.array(["versicolor", "setosa", "virginica"])


@pytest.fixture(scope="module")
def iris():
    x, y = datasets.load_iris(return_X_y=True)
    return x[:, :2], y


def model():
    return pipeline.make_pipeline(StandardScaler(), linear_model.LogisticRegression())


def test_cross_validation_takes_classes_of_any_name(iris):
    """Scores equal scikit-learn's, and the functions of this package for each fold."""
    x, y = iris
    folds = model_selection.StratifiedKFold(3, shuffle=True, random_state=0)
    scorers = um.make_scorers("accuracy", "negative_log_likelihood", "ece", "aurc")
    neg_nll = "neg_negative_log_likelihood"
    assert list(scorers) == ["accuracy", neg_nll, "neg_ece", "neg_aurc"]
    scoring = {**scorers, "log": "neg_log_loss", "right": "accuracy"}
    found = model_selection.cross_validate(
        model(), x, NAMES[y], cv=folds, scoring=scoring
    )
    np.testing.assert_allclose(found[f"test_{neg_nll}"], found["test_log"], rtol=1e-9)
    np.testing.assert_allclose(found["test_accuracy"], found["test_right"])
    for i, (train, test) in enumerate(folds.split(x, y)):
        p = model().fit(x[train], y[train]).predict_proba(x[test])
        for name in ("ece", "aurc"):
            expected = -getattr(um, name)(y[test], p)
            np.testing.assert_allclose(found[f"test_neg_{name}"][i], expected)


def test_grid_search_takes_one_or_several_scorers(iris):
    x, y = iris
    grid = {"logisticregression__C": [1e-3, 1.0]}
    scorers = um.make_scorers()
    search = model_selection.GridSearchCV(
        model(), grid, scoring=scorers, refit="neg_brier_score", cv=3
    ).fit(x, y - 1)
    assert search.best_params_ == {"logisticregression__C": 1.0}
    brier = scorers["neg_brier_score"]
    assert search.best_score_ == search.cv_results_["mean_test_neg_brier_score"].max()
    one = model_selection.GridSearchCV(model(), grid, scoring=brier, cv=3).fit(x, y)
    np.testing.assert_allclose(one.best_score_, search.best_score_)


class Fixed:
    """A classifier with fixed classes and probabilities."""

    def __init__(self, classes, probabilities):
        self.classes_ = np.array(classes)
        self.probabilities = np.array(probabilities)

    def predict_proba(self, x):
        return self.probabilities[: len(x)]


def test_classes_that_are_missing_in_a_fold():
    """Column 1 is class 2 here, but the functions alone would take it for class 1."""
    scorer = um.make_scorers("brier_score")["neg_brier_score"]
    fixed = Fixed([0, 2], [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    expected = um.brier_score([0, 2, 1], [[0.25, 0, 0.75], [0.5, 0, 0.5], [1, 0, 0]])
    assert scorer(fixed, range(3), [0, 2, 1]) == -expected
    assert scorer(fixed, range(2), [0, 2]) == -um.brier_score(
        [0, 1], fixed.probabilities[:2]
    )
    # The example of the class without a column has weight 0.
    weights = [1.0, 1.0, 0.0]
    assert scorer(fixed, range(3), [0, 2, 1], sample_weight=weights) == scorer(
        fixed, range(2), [0, 2]
    )
    only = Fixed(["a"], [[1.0], [1.0]])
    assert scorer(only, range(2), ["a", "a"]) == 1.0
    assert scorer(only, range(2), ["a", "b"]) == 0.0


def can_be_made(name):
    try:
        um.make_scorers(name)
    except ValueError:
        return False
    return True


def test_every_metric_has_the_sign_that_its_docstring_says(rng):
    """Mostly right forecasts score no worse than the opposite, too."""
    y = rng.permuted(np.tile([0, 1], 20))
    good = np.where(np.eye(2)[y] == 1, 0.95, 0.05)
    y[:2] = 1 - y[:2]
    names = list(filter(can_be_made, um.__all__))
    assert {"ece", "aurc", "coverage_at_risk", "ranked_probability_score"} <= {*names}
    for name in names:
        ((key, scorer),) = um.make_scorers(name).items()
        larger = re.search(r"[Ll]arger\s+is\s+better", getattr(um, name).__doc__)
        assert key == (name if larger else f"neg_{name}")
        right, wrong = (scorer(Fixed([0, 1], p), y, y) for p in (good, good[:, ::-1]))
        assert right >= wrong, key


@pytest.mark.parametrize("name", ["bin_statistics", "threshold_at_risk", "numpy", None])
def test_other_names_raise(name):
    with pytest.raises(ValueError, match=r"`metrics` must be one of .*Received"):
        um.make_scorers("ece", name)


def test_functions_work_in_make_scorer_of_scikit_learn_for_numeric_labels(iris):
    """Such scorers work if labels are the numbers of the columns."""
    x, y = iris
    alone = metrics.make_scorer(
        um.ece, response_method="predict_proba", greater_is_better=False, num_bins=5
    )
    fitted = model().fit(x, y)
    expected = -um.ece(y, fitted.predict_proba(x), num_bins=5)
    np.testing.assert_allclose(alone(fitted, x, y), expected)
