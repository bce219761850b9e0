"""Rows of the functions of classifier predictions."""

import functools
import itertools

import numpy as np

import uncertainty_metrics.numpy as um_np
from tests import references
from tests.catalogue.kinds import NO_INTERVAL, Row
from tests.interval_reference import calibration_error_interval
from tests.refined_reference import refined_negative_log_likelihood

SCHEMES = ("even", "adaptive")
NORMS = ("l1", "l2", "max")
# Enough bits to put different scores of the sweeps into different cells.
FEW_CELLS = {"sketch_bits": 6}

# Reasons to leave out tests.
_SUMS = "it returns the sums of the weights"
_REPEATED = {
    "test_large_equal_weights_do_not_matter": "weights above 1 count as more examples"
}

_LABELLED = ({"from_logits": 1}, {"sparse_labels": "yes"})
_SKETCHED = (*_LABELLED, {"sketch_bits": 99})
_CALIBRATION = (*_SKETCHED, {"num_bins": 0}, {"num_bins": 2.5}, {"num_classes": -1})


def camel(name):
    """Returns the usual name of the Keras class of a function."""
    return name.title().replace("_", "")


def _statistics_array(statistics):
    if isinstance(statistics, np.ndarray):  # The reference makes the array itself.
        return statistics
    parts = (statistics.counts, statistics.confidences, statistics.accuracies)
    parts = [np.asarray(part, np.float64) for part in parts]
    held = parts[0] > 0  # The last bins may be empty if bins depend on the data.
    return np.concatenate([part[held] for part in parts])


def _reference_statistics(labels, probabilities, **options):
    options = {**_TOP_LABEL, **options}
    table = np.concatenate(references.bins(labels, probabilities, **options))
    count, score, outcome = table[table[:, 0] > 0].T
    return np.concatenate([count, score / count, outcome / count])


def _reference_grid(labels, probabilities, **options):
    flags = (True, False)
    return {
        key: references.calibration_error(labels, probabilities, *key, **options)
        for key in itertools.product(SCHEMES, flags, flags, NORMS)
    }


def _grid_array(errors):
    return np.array([float(errors[key]) for key in sorted(errors)])


def _preset(name, alias, scheme, max_prob, class_conditional, norm, threshold=0.0):
    def reference(labels, probabilities, **options):
        options = {"threshold": threshold, **options}
        return references.calibration_error(
            labels, probabilities, scheme, max_prob, class_conditional, norm, **options
        )

    cases = [{}, {"num_bins": 4}, {"num_bins": 5, "threshold": 0.3}]
    few = {}
    if scheme == "adaptive":
        cases.append({"datapoints_per_bin": 7})
        few = FEW_CELLS
    return Row(
        name,
        aliases=(alias,),
        reference=reference,
        cases=tuple(cases),
        metric=camel(name),
        metric_cases=((few, {}), ({"num_bins": 4, "threshold": 0.2},) * 2),
        bad_metric_options=_CALIBRATION,
        kernel=f"{scheme} bins" + ", by class" * class_conditional,
    )


def _selective(name, metric=None, alias=None, option=None, values=(), bad=(), **more):
    cases = tuple({option: value} for value in values) or ({},)
    wrong = tuple({option: value} for value in bad)
    return Row(
        name,
        aliases=(alias,) if alias else (),
        reference=getattr(references, name),
        cases=cases,
        metric=metric or camel(name),
        metric_cases=tuple(({**case, **FEW_CELLS}, case) for case in cases),
        bad_metric_options=(*_SKETCHED, *wrong),
        sketched=True,
        kernel="ranking",
        **more,
    )


def _of_cells(name, metric, alias=None):
    return Row(
        name,
        aliases=(alias,) if alias else (),
        reference=getattr(references, name),
        metric=metric,
        metric_cases=((FEW_CELLS, {}),),
        bad_metric_options=(*_SKETCHED, {"num_classes": -1}),
        kernel="cells",
    )


def _posterior_mean(labels, **options):
    of = um_np.bin_statistics(labels, **options)
    return references.posterior_mean(of.counts[0], of.score_sums[0], of.outcome_sums[0])


_TOP_LABEL = {"binning_scheme": "even", "max_prob": True, "class_conditional": False}
_GENERAL_CASES = tuple(
    {
        **dict(zip(_TOP_LABEL, key, strict=True)),
        "norm": norm,
        "num_bins": num_bins,
    }
    for key, norm, num_bins in zip(
        itertools.product(SCHEMES, (True, False), (True, False)),
        itertools.cycle(NORMS),
        itertools.cycle((15, 3, 5, 16)),
        strict=False,
    )
)
# Squares are compared: the slope of their root is too large near 0.
_DEBIASED_CASES = tuple(
    {**case, "squared": True}
    for case in (
        {"num_bins": 4},
        {"binning_scheme": "even", "max_prob": False, "num_bins": 5},
        {"max_prob": False, "class_conditional": True, "threshold": 0.1},
        {"datapoints_per_bin": 7},
    )
)


ROWS = (
    Row(
        "general_calibration_error",
        aliases=("gce",),
        reference=references.calibration_error,
        cases=_GENERAL_CASES,
        metric="GeneralCalibrationError",
        metric_cases=tuple((case, case) for case in _GENERAL_CASES),
        bad_metric_options=_CALIBRATION,
        kernel="even bins",
    ),
    *itertools.starmap(
        _preset,
        (
            ("expected_calibration_error", "ece", "even", True, False, "l1"),
            ("maximum_calibration_error", "mce", "even", True, False, "max"),
            (
                *("root_mean_squared_calibration_error", "rmsce"),
                *("adaptive", True, False, "l2"),
            ),
            ("static_calibration_error", "sce", "even", False, True, "l1"),
            ("adaptive_calibration_error", "ace", "adaptive", False, True, "l1"),
            (
                *("thresholded_adaptive_calibration_error", "tace"),
                *("adaptive", False, True, "l1", 0.01),
            ),
        ),
    ),
    Row(
        "bin_statistics",
        reference=_reference_statistics,
        cases=(
            {},
            {"num_bins": 4, "max_prob": False, "threshold": 0.1},
            {"binning_scheme": "adaptive", "class_conditional": True},
            {
                **{"binning_scheme": "adaptive", "datapoints_per_bin": 7},
                **{"max_prob": False, "class_conditional": True},
            },
        ),
        array=_statistics_array,
        unbounded=True,
        left_out={
            **NO_INTERVAL,
            "test_scale_of_equal_weights_does_not_matter": _SUMS,
            "test_large_equal_weights_do_not_matter": _SUMS,
        },
        kernel="even bins",
    ),
    Row(
        "compute_all_metrics",
        reference=_reference_grid,
        cases=({"num_bins": 5}, {"num_bins": 4, "threshold": 0.3}),
        array=_grid_array,
        left_out={
            "test_halves_agree_in_many_calls": "its graphs take seconds to build"
        },
        kernel="even bins",
    ),
    Row(
        "debiased_calibration_error",
        reference=references.debiased_calibration_error,
        cases=_DEBIASED_CASES,
        metric="DebiasedCalibrationError",
        metric_cases=tuple(
            ({**case, **FEW_CELLS}, case) for case in _DEBIASED_CASES[:3]
        ),
        bad_metric_options=(
            *({"num_bins": 0}, {"binning_scheme": "odd"}, {"squared": 1}),
            *({"from_logits": 1}, {"num_classes": -1}, {"threshold": 1.0}),
        ),
        left_out=_REPEATED,
    ),
    Row(
        "calibration_error_interval",
        reference=calibration_error_interval,
        cases=(
            {"num_bins": 4},
            {"binning_scheme": "even", "num_bins": 5, "level": 0.8},
        ),
        # Squares are compared: the slope of their root is too large near 0.
        array=lambda ends: np.square(np.asarray([float(end) for end in ends])),
        left_out={
            **_REPEATED,
            "test_functions_lower_without_float64": "tails of distributions need it",
        },
    ),
    Row(
        # The same statistic, whose Keras class has the arguments of another package.
        "expected_calibration_error",
        reference=functools.partial(
            references.calibration_error, **_TOP_LABEL, norm="l1"
        ),
        cases=(),
        metric="CalibrationError",
        metric_cases=(
            ({"task": "multiclass", "num_classes": 3, "num_bins": 4}, {"num_bins": 4}),
        ),
        bad_metric_options=_CALIBRATION[:-1],
        kernel="even bins",
    ),
    # The function has a row in `FUNCTION_ROWS`.
    Row(
        "smooth_calibration_error",
        cases=(),
        metric="SmoothCalibrationError",
        metric_cases=(
            (FEW_CELLS, {}),
            ({"bandwidth": 0.05, **FEW_CELLS}, {"bandwidth": 0.05}),
        ),
        bad_metric_options=(*_SKETCHED, {"bandwidth": 0}, {"bandwidth": "wide"}),
        precision=1e-5,
        kernel="cells",
    ),
    _of_cells(
        "kolmogorov_smirnov_calibration_error",
        "KolmogorovSmirnovCalibrationError",
        "ks_calibration_error",
    ),
    _of_cells("kuiper_calibration_error", "KuiperCalibrationError"),
    _of_cells(
        "averaged_two_bin_calibration_error", "AveragedTwoBinCalibrationError", "atb"
    ),
    # This function has a row in `FUNCTION_ROWS` as well.
    Row(
        "bayesian_expected_calibration_error",
        cases=(),
        metric="BayesianExpectedCalibrationError",
        metric_cases=(({"seed": 3}, {}),),
        bad_metric_options=({"num_bins": 0}, {"num_ece_samples": 0}),
        random=True,
        value=_posterior_mean,
    ),
    Row(
        "accuracy",
        reference=references.accuracy,
        metric="Accuracy",
        metric_cases=(({}, {}),),
        bad_metric_options=_LABELLED,
    ),
    _selective("area_under_risk_coverage_curve", "AURC", "aurc", left_out=_REPEATED),
    _selective("excess_aurc", "ExcessAURC", "e_aurc", left_out=_REPEATED),
    _selective("area_under_generalized_risk_coverage_curve", "AUGRC", "augrc"),
    _selective(
        "coverage_at_risk",
        option="risk",
        values=(0.05, 0.5, 1.0),
        bad=(-0.1, 1.5, None),
    ),
    _selective(
        "risk_at_coverage",
        option="coverage",
        values=(0.8, 0.25, 1),
        bad=(0, 1.1, "all"),
    ),
    _selective(
        "oracle_collaborative_accuracy",
        option="fraction",
        values=(0.01, 0.5, 0.0, 1.0),
        bad=(-1, 2, None),
    ),
    Row(
        "brier_score",
        reference=references.brier_score,
        cases=({}, {"zero_based": True}),
        metric="BrierScore",
        metric_cases=(({}, {}), ({"zero_based": True},) * 2),
        bad_metric_options=(*_LABELLED, {"zero_based": 2}),
        differentiable=True,
        jumps=False,
    ),
    Row(
        "negative_log_likelihood",
        reference=references.negative_log_likelihood,
        metric="NegativeLogLikelihood",
        metric_cases=(({}, {}),),
        bad_metric_options=_LABELLED,
        scale=4.0,
        differentiable=True,
        jumps=False,
        unbounded=True,
        zeros=False,
    ),
    Row(  # There is only a Keras class of this name.
        "RefinedNegativeLogLikelihood",
        half="tensors",
        cases=(),
        value=refined_negative_log_likelihood,
        metric="RefinedNegativeLogLikelihood",
        metric_cases=(({}, {}),),
        bad_metric_options=_LABELLED,
        scale=10.0,
        jumps=False,
        unbounded=True,
        zeros=False,
    ),
    Row(
        "ranked_probability_score",
        reference=references.ranked_probability_score,
        metric="RankedProbabilityScore",
        metric_cases=(({}, {}),),
        bad_metric_options=_LABELLED,
        differentiable=True,
        jumps=False,
    ),
    Row(
        "brier_decomposition",
        reference=references.brier_decomposition,
        metric="BrierDecomposition",
        metric_cases=(({}, {}),),
        bad_metric_options=(*_LABELLED, {"exact": None}, {"num_classes": 0}),
        differentiable=True,
    ),
    Row(
        "brier_decomposition_exact",
        reference=references.brier_decomposition_exact,
        metric="BrierDecomposition",
        metric_cases=(({"exact": True}, {}),),
    ),
)
