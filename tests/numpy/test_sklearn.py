"""Calibrated classifiers and diagrams with scikit-learn's interfaces."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import special
from sklearn import calibration, datasets, frozen, linear_model, model_selection, svm
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import uncertainty_metrics.numpy as um
from uncertainty_metrics.sklearn import Calibrated, ReliabilityDisplay

pytestmark = pytest.mark.usefixtures("close_figures")
X, Y = datasets.load_breast_cancer(return_X_y=True)
NAMES = np.array(["malignant", "benign"])


@parametrize_with_checks([Calibrated(linear_model.LogisticRegression())])
def test_scikit_learn_finds_nothing(estimator, check):
    check(estimator)


def test_the_map_is_fitted_to_out_of_fold_forecasts():
    """For each fold another classifier, and the forecasts of them in one map."""
    folds = model_selection.StratifiedKFold(4, shuffle=True, random_state=0)
    found = Calibrated(GaussianNB(), method="platt", cv=folds).fit(X, NAMES[Y])
    p = np.zeros([len(Y), 2])
    for train, test in folds.split(X, Y):
        p[test] = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])
    # "benign" comes before "malignant", so its column is the first.
    platt = um.PlattScaling().fit(1 - Y, probabilities=p[:, ::-1])
    alone = GaussianNB().fit(X, Y).predict_proba(X)[:, ::-1]
    expected = platt.transform(probabilities=alone)
    np.testing.assert_allclose(found.predict_proba(X), expected)
    assert found.classes_.tolist() == ["benign", "malignant"]
    decided = found.classes_[np.argmax(expected, axis=1)]
    np.testing.assert_array_equal(found.predict(X), decided)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_one_temperature_is_that_of_scikit_learn(classes):
    x, y = datasets.make_classification(
        600, n_informative=5, n_classes=classes, flip_y=0.1, random_state=0
    )
    estimator = linear_model.LogisticRegression(C=100)
    ours = Calibrated(estimator, method="temperature", cv=3).fit(x, y)
    theirs = calibration.CalibratedClassifierCV(
        estimator, method="temperature", ensemble=False, cv=3
    ).fit(x, y)
    np.testing.assert_allclose(
        ours.predict_proba(x), theirs.predict_proba(x), atol=1e-3
    )


def test_a_frozen_classifier_is_not_fitted_again():
    fitted = GaussianNB().fit(X[:300], NAMES[Y[:300]])
    prefit = Calibrated(frozen.FrozenEstimator(fitted), method="beta")
    prefit.fit(X[300:], NAMES[Y[300:]])
    labels = np.searchsorted(fitted.classes_, NAMES[Y[300:]])
    p = fitted.predict_proba(X[300:])
    beta = um.BetaCalibration().fit(labels, probabilities=p)
    expected = beta.transform(probabilities=fitted.predict_proba(X))
    np.testing.assert_array_equal(prefit.predict_proba(X), expected)
    with pytest.raises(ValueError, match="the frozen classifier was fitted with"):
        prefit.fit(X, np.where(Y, "benign", "other"))


def test_margins_are_logits_and_options_of_a_map_are_kept():
    scaled = StandardScaler().fit_transform(X)
    method = um.VectorScaling(ridge=0.5)
    found = Calibrated(svm.LinearSVC(), method=method, cv=3).fit(scaled, Y)
    assert not method.is_fitted
    assert found.calibrator_.get_config() == {"ridge": 0.5}
    margins = found.estimator_.decision_function(scaled)
    expected = special.expit(found.calibrator_.transform(logits=margins))
    np.testing.assert_allclose(found.predict_proba(scaled)[:, 1], expected)


def test_it_works_in_pipelines_and_searches_and_improves_the_score():
    naive = make_pipeline(StandardScaler(), GaussianNB())
    grid = {"calibrated__method": ["platt", "quadratic"]}
    model = make_pipeline(StandardScaler(), Calibrated(GaussianNB()))
    search = model_selection.GridSearchCV(
        model, grid, scoring=um.make_scorers("negative_log_likelihood"), cv=3,
        refit="neg_negative_log_likelihood",
    ).fit(X, Y)  # fmt: skip
    assert set(search.best_params_) == set(grid)
    scores = [
        um.negative_log_likelihood(
            Y, model_selection.cross_val_predict(each, X, Y, method="predict_proba")
        )
        for each in (search.best_estimator_, naive)
    ]
    assert scores[0] < scores[1] / 2
    deep = Calibrated(linear_model.LogisticRegression()).get_params()
    assert {"estimator__C", "method", "cv"} <= set(deep)


def test_weights_go_to_both_and_routing_can_change_this():
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 0.0)
    folds = model_selection.PredefinedSplit(np.arange(len(Y)) // 2 % 2)
    x = StandardScaler().fit_transform(X[:, :2])
    logistic = linear_model.LogisticRegression(tol=1e-10)
    both = Calibrated(logistic, cv=folds).fit(x, Y, sample_weight=weights)
    half = Calibrated(
        logistic, cv=model_selection.PredefinedSplit(folds.test_fold[1::2])
    ).fit(x[1::2], Y[1::2])
    np.testing.assert_allclose(both.predict_proba(x), half.predict_proba(x), rtol=1e-5)
    with pytest.raises(TypeError, match="metadata routing"):
        both.fit(X, Y, groups=Y)
    with sklearn.config_context(enable_metadata_routing=True):
        of_map = Calibrated(
            GaussianNB().set_fit_request(sample_weight=False),
            cv=model_selection.GroupKFold(3),
        ).set_fit_request(sample_weight=True)
        groups = np.arange(len(Y)) // 7
        of_map.fit(X, Y, sample_weight=weights, groups=groups)
        p = model_selection.cross_val_predict(
            GaussianNB().set_fit_request(sample_weight=False), X, Y,
            cv=model_selection.GroupKFold(3), method="predict_proba",
            params={"groups": groups},
        )  # fmt: skip
    alone = GaussianNB().fit(X, Y)
    expected = um.QuadraticCalibration()
    expected.fit(Y, probabilities=p, sample_weight=weights)
    np.testing.assert_allclose(
        of_map.predict_proba(X),
        expected.transform(probabilities=alone.predict_proba(X)),
        rtol=1e-9,
    )


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`method` must be one of"):
        Calibrated(GaussianNB(), method="sigmoid").fit(X, Y)
    with pytest.raises(TypeError, match="`predict_proba` or `decision_function`"):
        Calibrated(linear_model.LinearRegression()).fit(X, Y)
    rare = np.where(np.arange(len(Y)) < 1, 2, Y)
    with (
        pytest.warns(UserWarning, match="least populated"),
        pytest.raises(ValueError, match="training examples have all classes"),
    ):
        Calibrated(GaussianNB()).fit(X, rare)


def test_the_display_draws_the_bins_of_the_functions():
    fitted = GaussianNB().fit(X, NAMES[Y])
    p = fitted.predict_proba(X)[:, 1]
    shown = ReliabilityDisplay.from_estimator(fitted, X, NAMES[Y], num_bins=5)
    curve = um.reliability_curve(
        NAMES[Y] == "malignant", p, num_bins=5, positive_class=True
    )
    assert shown.curve.to_dict() == curve.to_dict()
    assert shown.name == "GaussianNB"
    assert shown.figure_ is shown.ax_.figure
    other = ReliabilityDisplay.from_estimator(
        fitted, X, NAMES[Y], pos_label="benign", name="benign", ax=shown.ax_
    )
    assert other.ax_ is shown.ax_
    (legend,) = shown.figure_.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert any("GaussianNB" in text for text in texts)
    assert any("benign" in text for text in texts)
    alone = ReliabilityDisplay.from_predictions(
        NAMES[Y], p, pos_label="malignant", method="isotonic"
    )
    of_numbers = ReliabilityDisplay.from_predictions(1 * (NAMES[Y] == "malignant"), p)
    assert alone.curve.to_dict() == of_numbers.curve.to_dict()
    with pytest.raises(ValueError, match="pos_label"):
        ReliabilityDisplay.from_predictions(NAMES[Y], p)
    three = np.arange(len(Y)) % 3
    of_three = GaussianNB().fit(X, three)
    shown = ReliabilityDisplay.from_estimator(of_three, X, three)
    expected = um.reliability_curve(three, of_three.predict_proba(X))
    assert shown.curve.to_dict() == expected.to_dict()
