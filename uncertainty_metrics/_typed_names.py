"""Names that people type, and ours for them.

The errors of unknown names, and the table "Names in code" of `docs/names.md`, come from
here. Case and underscores do not count, so a name that differs from ours in nothing
else needs no line.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

# Words for names of the package. Names in a subpackage have its name before a dot.
_WORDS: dict[tuple[str, ...], str] = {
    ("ece", "ExpectedCalibrationError"): (
        "ECE ece_score expected_calibration calibration_error"
    ),
    ("mce", "MaximumCalibrationError"): "MCE max_calibration_error",
    ("rmsce", "RootMeanSquaredCalibrationError"): "RMSCE rms_calibration_error",
    ("sce", "StaticCalibrationError"): "SCE class_wise_ece cw_ece marginal_ece",
    ("ace", "AdaptiveCalibrationError"): "ACE adaptive_ece",
    ("debiased_calibration_error",): "debiased_ece unbiased_ece",
    ("smooth_calibration_error",): "smooth_ece",
    ("ks_calibration_error",): "ks_error ks_ece",
    ("spiegelhalter_test",): "spiegelhalter spiegelhalter_z",
    ("calibration_test",): "hosmer_lemeshow hosmer_lemeshow_test",
    ("integrated_calibration_index",): "ici",
    ("reliability_diagram",): (
        "reliability_plot calibration_plot plot_calibration plot_calibration_curve "
        "plot_reliability_diagram calibration_display"
    ),
    ("reliability_curve",): "calibration_curve",
    ("TemperatureScaling",): "temp_scaling temperature_scaler",
    ("PlattScaling",): "platt platt_calibration logistic_calibration",
    ("IsotonicCalibration",): "isotonic isotonic_regression",
    ("BetaCalibration",): "beta_scaling",
    ("VennAbersCalibration",): "venn_abers",
    ("negative_log_likelihood", "NegativeLogLikelihood"): (
        "nll nll_loss log_loss cross_entropy log_likelihood log_score logarithmic_score"
    ),
    ("brier_score", "BrierScore"): "brier brier_loss brier_score_loss",
    ("scaled_brier_score",): "brier_skill_score bss",
    ("crps_score", "crps_normal_score"): "crps",
    ("crps_score",): "crps_ensemble crps_sample crps_samples",
    ("crps_normal_score",): "crps_gaussian crps_normal",
    ("ranked_probability_score", "RankedProbabilityScore"): "rps",
    ("pinball_loss",): "pinball quantile_loss quantile_score mean_pinball_loss",
    ("interval_score",): "winkler winkler_score",
    ("weighted_interval_score",): "wis",
    ("net_benefit",): "decision_curve decision_curve_analysis dca",
    ("accuracy", "Accuracy"): "acc accuracy_score",
    ("auroc", "AUROC"): "auc roc_auc roc_auc_score auc_roc c_statistic",
    ("aupr", "AUPR"): "auprc pr_auc average_precision average_precision_score",
    ("fpr_at_tpr", "FPRAtTPR"): "fpr95 fpr_at_95 fpr_at_95_tpr",
    ("sensitivity",): "recall recall_score true_positive_rate tpr",
    ("specificity",): "true_negative_rate tnr",
    ("positive_predictive_value",): "precision precision_score ppv",
    ("negative_predictive_value",): "npv",
    ("max_softmax",): "msp max_probability",
    ("predictive_entropy",): "entropy total_uncertainty",
    ("mutual_information",): "bald mutual_info epistemic_uncertainty",
    ("expected_entropy",): "aleatoric_uncertainty",
    ("psis_loo",): "loo",
    ("negative_waic",): "waic",
    ("concordance_index",): "c_index harrell_c",
    ("integrated_brier_score",): "ibs",
    ("regression.interval_coverage",): "picp prediction_interval_coverage",
    ("conformal.coverage", "regression.interval_coverage"): "coverage",
    ("regression.interval_width",): "mpiw",
    ("regression.pit_histogram",): "pit plot_pit",
}

# Names for one argument, ours first. A function has at most one of them.
_ARGUMENTS = (
    "labels y_true target targets",
    "probabilities y_prob y_proba y_pred preds proba",
    "scores y_score",
    "num_bins n_bins bins nbins",
    "sample_weight sample_weights weights weight",
    "num_resamples n_resamples n_boot n_bootstraps",
    "level confidence_level",
    "seed random_state",
)


def plain(name: str) -> str:
    """Returns a name without case and underscores."""
    return name.replace("_", "").lower()


OURS: dict[str, tuple[str, ...]] = {}
for _ours, _words in _WORDS.items():
    for _word in _words.split():
        OURS[plain(_word)] = _ours


def argument_called(typed: str, parameters: Iterable[str]) -> str | None:
    """Returns the parameter that has another name than a user typed, or None."""
    for names in map(str.split, _ARGUMENTS):
        if typed in names:
            return next((name for name in parameters if name in names), None)
    return None


def refuse_arguments(function: Callable[..., Any], given: Iterable[str]) -> None:
    """Raises TypeError, with our name, for an argument of a function or constructor
    that has another name here.
    """
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    called = function.__qualname__.removesuffix(".__init__")
    for typed in given:
        ours = None if typed in parameters else argument_called(typed, parameters)
        if ours:
            raise TypeError(
                f"{called}() got an unexpected keyword argument {typed!r}: here it is "
                f"called `{ours}`"
            ) from None


class Constructor:
    """The base of classes whose constructors say our name of an argument that has
    another name elsewhere, such as `n_bins`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            return
        make = cls.__init__

        @functools.wraps(make)
        def made(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                make(self, *args, **kwargs)
            except TypeError:
                refuse_arguments(make, kwargs)
                raise

        cls.__init__ = made  # type: ignore[method-assign]


def table() -> str:
    """Returns the table "Names in code" of `docs/names.md`."""
    lines = ["| Your words | Name here | Remember |", "|---|---|---|"]
    for ours, words in _WORDS.items():
        cells = ("`" + "`, `".join(names) + "`" for names in (words.split(), ours))
        lines.append(f"| {' | '.join(cells)} | |")
    for ours_, *typed in map(str.split, _ARGUMENTS):
        lines.append(f"| `{'`, `'.join(typed)}` | `{ours_}=` | an argument |")
    return "\n".join(lines) + "\n"
