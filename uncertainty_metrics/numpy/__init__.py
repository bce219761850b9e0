"""The NumPy half: the same functions, exact and in float64, without TensorFlow.

Every name is imported when it is first used.
"""

from uncertainty_metrics import _lazy

_CALIBRATION = "uncertainty_metrics.numpy.calibration"
_DEBIASED_CALIBRATION = "uncertainty_metrics.numpy.debiased_calibration"
_BAYESIAN_CALIBRATION = "uncertainty_metrics.numpy.bayesian_calibration"
_CALIBRATION_TESTS = "uncertainty_metrics.numpy.calibration_tests"
_CENSORED = "uncertainty_metrics.numpy.censored"
_SEMIPARAMETRIC = "uncertainty_metrics.numpy.semiparametric"
_SCORING_RULES = "uncertainty_metrics.numpy.scoring_rules"
_SELECTIVE = "uncertainty_metrics.numpy.selective"
_DETECTION = "uncertainty_metrics.numpy.detection"
_ENSEMBLE = "uncertainty_metrics.numpy.ensemble"
_MEMBER_CALIBRATION = "uncertainty_metrics.numpy.member_calibration"
_INFORMATION_CRITERIA = "uncertainty_metrics.numpy.information_criteria"
_RECALIBRATION = "uncertainty_metrics.numpy.recalibration"
_RESAMPLING = "uncertainty_metrics.numpy.resampling"
_PLOT_ENSEMBLE = "uncertainty_metrics.visualization.ensemble"
_PLOT_SELECTIVE = "uncertainty_metrics.visualization.selective"
_RELIABILITY = "uncertainty_metrics.visualization.reliability"

_HOMES = {
    "regression": "uncertainty_metrics.numpy.regression",
    "MetricState": "uncertainty_metrics._state",
    # Calibration errors.
    "BinStatistics": _CALIBRATION,
    "GeneralCalibrationError": _CALIBRATION,
    "ace": _CALIBRATION,
    "adaptive_calibration_error": _CALIBRATION,
    "bin_statistics": _CALIBRATION,
    "compute_all_metrics": _CALIBRATION,
    "ece": _CALIBRATION,
    "expected_calibration_error": _CALIBRATION,
    "gce": _CALIBRATION,
    "general_calibration_error": _CALIBRATION,
    "maximum_calibration_error": _CALIBRATION,
    "mce": _CALIBRATION,
    "rmsce": _CALIBRATION,
    "root_mean_squared_calibration_error": _CALIBRATION,
    "sce": _CALIBRATION,
    "static_calibration_error": _CALIBRATION,
    "tace": _CALIBRATION,
    "thresholded_adaptive_calibration_error": _CALIBRATION,
    "debiased_calibration_error": _DEBIASED_CALIBRATION,
    # Bayesian calibration error.
    "bayesian_expected_calibration_error": _BAYESIAN_CALIBRATION,
    "probability_of_lower_calibration_error": _BAYESIAN_CALIBRATION,
    "calibration_test": _CALIBRATION_TESTS,
    # Calibration errors of smoothed outcomes.
    "CCE": _CENSORED,
    "CensoredCalibrationError": _CENSORED,
    "cce": _CENSORED,
    "cce_conf_int": _CENSORED,
    "censored_calibration_error": _CENSORED,
    "censored_calibration_error_conf_int": _CENSORED,
    "SPCE": _SEMIPARAMETRIC,
    "SemiparametricCalibrationError": _SEMIPARAMETRIC,
    "semiparametric_calibration_error": _SEMIPARAMETRIC,
    "semiparametric_calibration_error_conf_int": _SEMIPARAMETRIC,
    "spce": _SEMIPARAMETRIC,
    "spce_conf_int": _SEMIPARAMETRIC,
    # Scoring rules.
    "brier_decomposition": _SCORING_RULES,
    "brier_decomposition_exact": _SCORING_RULES,
    "brier_score": _SCORING_RULES,
    "crps_normal_score": _SCORING_RULES,
    "crps_score": _SCORING_RULES,
    "energy_score": _SCORING_RULES,
    "interval_score": _SCORING_RULES,
    "negative_log_likelihood": _SCORING_RULES,
    "pinball_loss": _SCORING_RULES,
    # Selective prediction and detection.
    "accuracy": _SELECTIVE,
    "area_under_generalized_risk_coverage_curve": _SELECTIVE,
    "area_under_risk_coverage_curve": _SELECTIVE,
    "augrc": _SELECTIVE,
    "aurc": _SELECTIVE,
    "coverage_at_risk": _SELECTIVE,
    "e_aurc": _SELECTIVE,
    "excess_aurc": _SELECTIVE,
    "oracle_collaborative_accuracy": _SELECTIVE,
    "risk_at_coverage": _SELECTIVE,
    "risk_coverage_curve": _SELECTIVE,
    "aupr": _DETECTION,
    "auroc": _DETECTION,
    "fpr_at_tpr": _DETECTION,
    # Ensembles.
    "average_pairwise_diversity": _ENSEMBLE,
    "cosine_distance": _ENSEMBLE,
    "cosine_similarity": _ENSEMBLE,
    "disagreement": _ENSEMBLE,
    "double_fault": _ENSEMBLE,
    "ensemble_cross_entropy": _ENSEMBLE,
    "ensemble_disagreement": _ENSEMBLE,
    "expected_entropy": _ENSEMBLE,
    "gibbs_cross_entropy": _ENSEMBLE,
    "kl_divergence": _ENSEMBLE,
    "knowledge_uncertainty": _ENSEMBLE,
    "logit_kl_divergence": _ENSEMBLE,
    "lp_distance": _ENSEMBLE,
    "mean_member_uncertainty": _ENSEMBLE,
    "model_uncertainty": _ENSEMBLE,
    "mutual_information": _ENSEMBLE,
    "predictive_entropy": _ENSEMBLE,
    "variance_bound": _ENSEMBLE,
    "variation_ratio": _ENSEMBLE,
    "ensemble_calibration": _MEMBER_CALIBRATION,
    # Information criteria.
    "compare_information_criteria": _INFORMATION_CRITERIA,
    "importance_sampling_cross_validation": _INFORMATION_CRITERIA,
    "negative_waic": _INFORMATION_CRITERIA,
    "psis_loo": _INFORMATION_CRITERIA,
    # Recalibration.
    "TemperatureScaling": _RECALIBRATION,
    "calibrated_negative_log_likelihood": _RECALIBRATION,
    # Intervals.
    "bootstrap": _RESAMPLING,
    "bootstrap_difference": _RESAMPLING,
    # Plots.
    "accuracy_confidence_curve": _PLOT_SELECTIVE,
    "accuracy_confidence_diagram": _PLOT_SELECTIVE,
    "ensemble_calibration_diagram": _PLOT_ENSEMBLE,
    "rejection_curve": _PLOT_SELECTIVE,
    "rejection_diagram": _PLOT_SELECTIVE,
    "reliability_curve": _RELIABILITY,
    "reliability_diagram": _RELIABILITY,
    "risk_coverage_diagram": _PLOT_SELECTIVE,
    "uncertainty_histogram": _PLOT_ENSEMBLE,
}

__all__ = sorted(_HOMES)
__getattr__, __dir__ = _lazy.attach(__name__, _HOMES, __all__)
