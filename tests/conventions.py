"""The two conventions of two classes, for every public name that chooses between them.

Names are found by their signatures, so a new one cannot escape the tests.
"""

import inspect
import re

import numpy as np

WARNING = "One column of P.class 1. is scored by its decisions"

# With one column of P(class 1), `positive_class=None` means False, and warns; the other
# names below mean False for both classes' scores, without a warning.
DECISIONS = (
    *("ece", "expected_calibration_error", "mce", "maximum_calibration_error"),
    *("rmsce", "root_mean_squared_calibration_error"),
    *("gce", "general_calibration_error", "GeneralCalibrationError"),
    *("bin_statistics", "compute_all_metrics", "bayesian_expected_calibration_error"),
    *("reliability_curve", "reliability_diagram"),
    *("ExpectedCalibrationError", "MaximumCalibrationError", "CalibrationError"),
    *("RootMeanSquaredCalibrationError", "BayesianExpectedCalibrationError"),
)
CLASSES = (
    *("sce", "static_calibration_error", "ace", "adaptive_calibration_error"),
    *("tace", "thresholded_adaptive_calibration_error"),
    *("StaticCalibrationError", "AdaptiveCalibrationError"),
    "ThresholdedAdaptiveCalibrationError",
)
_TOP_LABEL = {"binning_scheme": "even", "max_prob": True, "class_conditional": False}
OPTIONS = {
    "gce": _TOP_LABEL | {"norm": "l1"},
    "general_calibration_error": _TOP_LABEL | {"norm": "l1"},
    "GeneralCalibrationError": _TOP_LABEL | {"norm": "l1"},
    "CalibrationError": {"task": "binary"},
    "BayesianExpectedCalibrationError": {"num_bins": 15},
    "bayesian_expected_calibration_error": {"num_bins": 15, "seed": (0, 1)},
    "calibration_by_group": {"groups": ["all"] * 400},
    "find_miscalibrated_groups": {"features": {"all": ["all"] * 400}, "seed": 0},
    "calibration_test": {"seed": 0, "num_resamples": 20},
    "examples_needed": {"error": 0.05},
}


def names(room):
    """Returns the public functions and classes of a room with the argument."""
    found = []
    for name in sorted({*dir(room), *getattr(room, "__all__", ())}):
        try:
            public = None if name.startswith("_") else getattr(room, name, None)
            parameters = inspect.signature(public).parameters if public else ()
        except (ImportError, TypeError, ValueError):
            continue  # Of TensorFlow alone, not callable, or a type of Python.
        if "positive_class" in parameters:
            found.append(name)
    return found


def low(rng, n=400):
    """Returns labels and P(class 1), of which each is too low by 0.08; float32."""
    truth = rng.uniform(0.08, 1, n)
    return (rng.random(n) < truth).astype(np.int32), np.float32(truth - 0.08)


def ours(caught):
    """Returns the warnings of one column, of those that were caught."""
    return [each for each in caught if re.match(WARNING, str(each.message))]


def columns(p):
    """Returns one column of P(class 1) as a column for each class."""
    return np.stack([1 - p, p], axis=-1)


def flat(value):
    """Returns all numbers of a result, float64 [n]."""
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "outcome_sums"):
        value = [value.counts, value.score_sums, value.outcome_sums]
    elif hasattr(value, "get_lines"):  # Axes.
        value = [patch.get_height() for patch in value.patches]
    elif hasattr(value, "error") and hasattr(value, "accuracies"):
        value = [value.error, value.accuracies]
    elif hasattr(value, "worst") and hasattr(value, "tested"):
        value = [value.worst.gap]
    if isinstance(value, list | tuple):
        return np.concatenate([np.zeros(0), *map(flat, value)])
    return np.asarray(value, np.float64).reshape(-1)
