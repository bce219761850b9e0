"""Scorers in scikit-learn: any names of classes, missing classes, and signs."""

import pickle
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
    first_two = 2 * 0.75**2, 2 * 0.5**2  # Of the sum over classes.
    assert scorer(fixed, range(3), [0, 2, 1]) == -sum([*first_two, 1 + 1]) / 3
    assert scorer(fixed, range(2), [0, 2]) == -sum(first_two) / 2 / 2
    # The example of the class without a column has weight 0.
    weights = [1.0, 1.0, 0.0]
    found = scorer(fixed, range(3), [0, 2, 1], sample_weight=weights)
    assert found == -sum(first_two) / 2
    only = Fixed(["a"], [[1.0], [1.0]])
    assert scorer(only, range(2), ["a", "a"]) == 0.0
    assert scorer(only, range(2), ["a", "b"]) == -0.5


def test_brier_score_is_that_of_scikit_learn(iris):
    x, y = iris
    for labels in (NAMES[y], NAMES[np.minimum(y, 1)]):
        classes = np.unique(labels)
        fitted = model().fit(x, labels)
        p = fitted.predict_proba(x)
        scorer = um.make_scorers("brier_score")["neg_brier_score"]
        if len(classes) == 2:
            expected = metrics.brier_score_loss(
                labels, p[:, 1], pos_label=fitted.classes_[1]
            )
        else:
            expected = np.mean(np.sum(((labels[:, None] == classes) - p) ** 2, axis=1))
        assert scorer(fitted, x, labels) == pytest.approx(-expected)
        own = um.make_scorers("brier_score", zero_based=False)["neg_brier_score"]
        numbers = np.searchsorted(classes, labels)
        assert own(fitted, x, labels) == pytest.approx(-um.brier_score(numbers, p))


def test_options_go_to_the_metrics_that_have_them(iris):
    x, y = iris
    fitted = model().fit(x, y)
    scorers = um.make_scorers(["ece", "aurc"], num_bins=20)
    assert [*scorers] == ["neg_ece", "neg_aurc"]
    p = fitted.predict_proba(x)
    assert scorers["neg_ece"](fitted, x, y) == -um.ece(y, p, num_bins=20)
    assert scorers["neg_ece"](fitted, x, y) != -um.ece(y, p)
    assert scorers["neg_aurc"](fitted, x, y) == -um.aurc(y, p)
    again = pickle.loads(pickle.dumps(scorers["neg_ece"]))
    assert again(fitted, x, y) == scorers["neg_ece"](fitted, x, y)
    for wrong in ("bins", "sample_weight", "labels"):
        with pytest.raises(ValueError, match=r"`options` must be one of .*'num_bins'"):
            um.make_scorers("ece", **{wrong: 20})


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
