"""Every interval, test and guarantee says for which examples it holds: for independent
ones, for clusters of dependent ones, or for any.
"""

import inspect
import re

import pytest

import uncertainty_metrics.numpy as um

ROOMS = (um, um.regression, um.conformal, um.detection)
FUNCTIONS = {
    f"{room.__name__.removeprefix(um.__name__)}.{name}".strip("."): getattr(room, name)
    for room in ROOMS
    for name in room.__all__
    if callable(getattr(room, name))
}
# In `semantic_entropy` a cluster is the answers of one meaning.
TAKE_CLUSTERS = [
    name
    for name, function in FUNCTIONS.items()
    if not inspect.isclass(function)
    and "clusters" in inspect.signature(function).parameters
    and name != "semantic_entropy"
]
# Functions and classes whose result holds an interval, a p-value, a standard error or a
# guarantee, and which take no clusters.
TAKE_NONE = (
    *("bayesian_expected_calibration_error", "probability_of_lower_calibration_error"),
    *("semiparametric_calibration_error_conf_int", "spce_conf_int"),
    *("censored_calibration_error_conf_int", "cce_conf_int"),
    *("SemiparametricCalibrationError", "SPCE", "CensoredCalibrationError", "CCE"),
    *("d_calibration", "negative_waic", "importance_sampling_cross_validation"),
    *("psis_loo", "compare_information_criteria", "CalibrationMonitor"),
    "VennAbersCalibration",
    # `update` of these two takes the clusters, and the drift finds their sums.
    *("ScoreSketch", "Summary", "calibration_drift"),
    *("posterior_diagram", "regression.ecdf_band"),
    *("regression.plot_pit_histogram", "conformal.conformal_risk_control"),
    "conformal.AdaptiveConformal",
)
# `fit` of these classes takes the clusters.
CLASSES = (
    "conformal.ConformalClassifier",
    "conformal.ConformalRegressor",
    "LabelShift",
)
# These words occur in the docstrings of other functions, about something else.
OTHERS = {
    "semiparametric_calibration_error": "an estimate; its interval is another function",
    "spce": "the same",
    "censored_calibration_error": "the same",
    "cce": "the same",
    "report": "its sections say it",
    "regression.PITInterval": "an interval of one target",
    "drift_diagram": "draws the result of `calibration_drift`",
    "calibration_by_group_diagram": "draws the result of `calibration_by_group`",
}
WORDS = re.compile(
    r"Interval\(|p_value|p-value|standard error|guarantee|probability of at least"
)


def says_for_which_examples(docstring):
    return re.search(
        r"\bindependent|depend on each other|may depend|exchangeable", docstring
    )


@pytest.mark.parametrize("name", TAKE_CLUSTERS)
def test_functions_with_clusters_say_for_which_examples_they_are(name):
    assert says_for_which_examples(inspect.getdoc(FUNCTIONS[name]))


@pytest.mark.parametrize("name", CLASSES)
def test_fits_with_clusters_say_what_holds_without_them(name):
    assert "clusters" in inspect.signature(FUNCTIONS[name].fit).parameters
    docstring = inspect.getdoc(FUNCTIONS[name])
    assert "independent" in docstring
    assert "`clusters`" in docstring


@pytest.mark.parametrize("name", TAKE_NONE)
def test_functions_without_clusters_say_for_which_examples_they_hold(name):
    function = FUNCTIONS[name]
    if not inspect.isclass(function):
        assert "clusters" not in inspect.signature(function).parameters
    assert says_for_which_examples(inspect.getdoc(function))
    assert "`clusters`" in inspect.getdoc(function)


def test_no_interval_test_or_guarantee_is_forgotten():
    found = {
        name
        for name, function in FUNCTIONS.items()
        if WORDS.search(inspect.getdoc(function) or "")
    }
    known = {*TAKE_CLUSTERS, *TAKE_NONE, *CLASSES, *OTHERS}
    assert sorted(found - known) == []
