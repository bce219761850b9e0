"""Finds the function that computes a definition of `conformance/`."""

import functools
import operator

import numpy as np

import uncertainty_metrics.numpy as um_np
from conformance.run import VECTORS

# Some definitions need options, or their function is in a subpackage. All others have
# the name of their function. The prefix "binary_" means that P(class 1) is scored, the
# prefix "confidence_" that the inputs are answers without classes.
_L2 = {"max_prob": True, "class_conditional": False, "norm": "l2"}
_ROOMS = {
    "conformal_quantile": "conformal",
    "conformal_risk_control": "conformal",
    "class_coverage_gap": "conformal",
    "size_stratified_coverage": "conformal",
    "sample_pit": "regression",
    "sharpness": "regression",
}


def _estimate(of, **inputs):
    return of(**inputs).estimate


def _drift(first, second):
    """Returns D, degrees of freedom and p-value; both halves have this function."""
    periods = []
    for period in (first, second):
        edges = np.linspace(0, 1, len(period["counts"]) + 1)[None]
        sums = {name: np.float64([values]) for name, values in period.items()}
        periods.append(um_np.BinStatistics(edges, **sums))
    drift = um_np.calibration_drift(*periods)
    return drift.statistic, drift.degrees_of_freedom, drift.p_value


def _bin_sums(of, **inputs):
    statistics = of(**inputs)
    return statistics.counts, statistics.score_sums, statistics.outcome_sums


def _curve(of, **inputs):
    curve = of(**inputs)
    return curve.confidences, curve.accuracies, curve.gaps


def _tested_groups(of, **inputs):
    tested = sorted(of(**inputs).tested, key=operator.attrgetter("name"))
    fields = ("gap", "lower", "upper", "p_value", "adjusted_p_value")
    return [[getattr(group, field) for field in fields] for group in tested]


def _recalibrated(calibrator, labels, probabilities, new_probabilities):
    map = calibrator(ridge=0).fit(labels, probabilities=probabilities)
    return map.transform(probabilities=new_probabilities)


_MAPS = {
    "quadratic_calibration": um_np.QuadraticCalibration,
    "spline_calibration": um_np.SplineCalibration,
}
# The vectors of these definitions hold a part of what the function returns.
_PARTS = {
    "bin_statistics": _bin_sums,
    "calibration_by_group": _tested_groups,
    "calibration_intercept": _estimate,
    "calibration_slope": _estimate,
    "reliability_curve": _curve,
}


def function(half, definition):
    """Returns the function of one half of the package that computes a definition."""
    definition = definition.removeprefix("confidence_")
    if definition == "groups_by_name":
        return um_np.ece  # Tensors take groups as integers.
    if definition == "calibration_drift":
        return _drift
    if definition == "l2_calibration_error":
        return functools.partial(half.gce, binning_scheme="even", **_L2)
    if definition == "brier_score_zero_based":
        return functools.partial(half.brier_score, zero_based=True)
    if definition == "normal_negative_log_likelihood":
        return half.regression.negative_log_likelihood
    if definition in _MAPS:  # Only NumPy has these maps.
        return functools.partial(_recalibrated, _MAPS[definition])
    if definition in _PARTS:
        return functools.partial(_PARTS[definition], getattr(half, definition))
    if definition.startswith("binary_"):
        name = definition.removeprefix("binary_")
        return functools.partial(getattr(half, name), positive_class=True)
    room = getattr(half, _ROOMS[definition]) if definition in _ROOMS else half
    return getattr(room, definition)


def definitions_of_tensors(um, um_np):
    """Returns the definitions for which tensors have a function of their own."""

    def plain(found):
        return getattr(found, "func", found)

    return [
        name
        for name in VECTORS
        if plain(function(um, name)) is not plain(function(um_np, name))
    ]
