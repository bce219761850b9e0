"""Finds the function that computes a definition of `conformance/`."""

import functools

import numpy as np

import uncertainty_metrics.numpy as um_np
from conformance.run import VECTORS

# Some definitions need options, or their function is in a subpackage. All others have
# the name of their function. The prefix "binary_" means that P(class 1) is scored.
_L2 = {"max_prob": True, "class_conditional": False, "norm": "l2"}
_ROOMS = {
    "conformal_quantile": "conformal",
    "conformal_risk_control": "conformal",
    "class_coverage_gap": "conformal",
    "size_stratified_coverage": "conformal",
    "sample_pit": "regression",
    "sharpness": "regression",
}


# The vectors of these definitions hold only the estimate, not its interval and p-value.
_ESTIMATES = ("calibration_intercept", "calibration_slope")


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


def function(half, definition):
    """Returns the function of one half of the package that computes a definition."""
    if definition == "calibration_drift":
        return _drift
    if definition == "l2_calibration_error":
        return functools.partial(half.gce, binning_scheme="even", **_L2)
    if definition == "brier_score_zero_based":
        return functools.partial(half.brier_score, zero_based=True)
    if definition == "normal_negative_log_likelihood":
        return half.regression.negative_log_likelihood
    if definition in _ESTIMATES:
        return functools.partial(_estimate, getattr(half, definition))
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
