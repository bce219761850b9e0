"""Uncertainty metrics for TensorFlow and Keras, with a NumPy twin.

    import uncertainty_metrics as um        # TensorFlow functions and Keras classes
    import uncertainty_metrics.numpy as um  # the same functions for NumPy arrays

Every name is imported when it is first used: importing the package imports neither
TensorFlow nor matplotlib nor SciPy.
"""

from uncertainty_metrics import _lazy, _registration
from uncertainty_metrics.version import __version__ as __version__

_TF_CALIBRATION = "uncertainty_metrics.tensorflow.calibration"
_KERAS_CALIBRATION = "uncertainty_metrics.keras.metrics.calibration"
_TF_SCORING = "uncertainty_metrics.tensorflow.scoring_rules"
_KERAS_SCORING = "uncertainty_metrics.keras.metrics.scoring_rules"
_KERAS_LOSSES = "uncertainty_metrics.keras.losses"
_TF_BAYESIAN = "uncertainty_metrics.tensorflow.bayesian_calibration"
_TF_SELECTIVE = "uncertainty_metrics.tensorflow.selective"
_TF_DETECTION = "uncertainty_metrics.tensorflow.detection"
_KERAS_RANKING = "uncertainty_metrics.keras.metrics.ranking"
_TF_CRITERIA = "uncertainty_metrics.tensorflow.information_criteria"
_TF_ENSEMBLE = "uncertainty_metrics.tensorflow.ensemble"
_KERAS_ENSEMBLE = "uncertainty_metrics.keras.metrics.ensemble"
_TF_RECALIBRATION = "uncertainty_metrics.tensorflow.recalibration"
_SEMIPARAMETRIC = "uncertainty_metrics.numpy.semiparametric"
_CENSORED = "uncertainty_metrics.numpy.censored"
_RESAMPLING = "uncertainty_metrics.numpy.resampling"
_RELIABILITY = "uncertainty_metrics.visualization.reliability"
_PLOT_ENSEMBLE = "uncertainty_metrics.visualization.ensemble"
_PLOT_SELECTIVE = "uncertainty_metrics.visualization.selective"

_HOMES = {
    "numpy": "uncertainty_metrics.numpy",
    "regression": "uncertainty_metrics.regression",
    # Calibration errors.
    "ace": _TF_CALIBRATION,
    "adaptive_calibration_error": _TF_CALIBRATION,
    "bin_statistics": _TF_CALIBRATION,
    "compute_all_metrics": _TF_CALIBRATION,
    "ece": _TF_CALIBRATION,
    "expected_calibration_error": _TF_CALIBRATION,
    "gce": _TF_CALIBRATION,
    "general_calibration_error": _TF_CALIBRATION,
    "maximum_calibration_error": _TF_CALIBRATION,
    "mce": _TF_CALIBRATION,
    "rmsce": _TF_CALIBRATION,
    "root_mean_squared_calibration_error": _TF_CALIBRATION,
    "sce": _TF_CALIBRATION,
    "static_calibration_error": _TF_CALIBRATION,
    "tace": _TF_CALIBRATION,
    "thresholded_adaptive_calibration_error": _TF_CALIBRATION,
    "BinStatistics": "uncertainty_metrics.tensorflow._binning",
    "MetricState": "uncertainty_metrics._state",
    "debiased_calibration_error": (
        "uncertainty_metrics.tensorflow.debiased_calibration"
    ),
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
    # Recalibration.
    "TemperatureScaling": _TF_RECALIBRATION,
    "TemperatureScalingLayer": "uncertainty_metrics.keras.layers",
    "calibrated_negative_log_likelihood": _TF_RECALIBRATION,
    # Intervals and tests.
    "bootstrap": _RESAMPLING,
    "bootstrap_difference": _RESAMPLING,
    "calibration_test": "uncertainty_metrics.numpy.calibration_tests",
    # Bayesian calibration error.
    "bayesian_expected_calibration_error": _TF_BAYESIAN,
    "probability_of_lower_calibration_error": _TF_BAYESIAN,
    # Scoring rules.
    "brier_decomposition": _TF_SCORING,
    "brier_decomposition_exact": _TF_SCORING,
    "brier_score": _TF_SCORING,
    "crps_distribution": "uncertainty_metrics.tensorflow.distribution_scores",
    "crps_normal_score": _TF_SCORING,
    "crps_score": _TF_SCORING,
    "energy_score": _TF_SCORING,
    "interval_score": _TF_SCORING,
    "negative_log_likelihood": _TF_SCORING,
    "pinball_loss": _TF_SCORING,
    # Selective prediction and detection.
    "accuracy": _TF_SELECTIVE,
    "area_under_generalized_risk_coverage_curve": _TF_SELECTIVE,
    "area_under_risk_coverage_curve": _TF_SELECTIVE,
    "augrc": _TF_SELECTIVE,
    "aurc": _TF_SELECTIVE,
    "coverage_at_risk": _TF_SELECTIVE,
    "e_aurc": _TF_SELECTIVE,
    "excess_aurc": _TF_SELECTIVE,
    "oracle_collaborative_accuracy": _TF_SELECTIVE,
    "risk_at_coverage": _TF_SELECTIVE,
    "risk_coverage_curve": _TF_SELECTIVE,
    "aupr": _TF_DETECTION,
    "auroc": _TF_DETECTION,
    "fpr_at_tpr": _TF_DETECTION,
    # Ensembles.
    "average_pairwise_diversity": _TF_ENSEMBLE,
    "cosine_distance": _TF_ENSEMBLE,
    "cosine_similarity": _TF_ENSEMBLE,
    "disagreement": _TF_ENSEMBLE,
    "double_fault": _TF_ENSEMBLE,
    "ensemble_cross_entropy": _TF_ENSEMBLE,
    "ensemble_disagreement": _TF_ENSEMBLE,
    "expected_entropy": _TF_ENSEMBLE,
    "gibbs_cross_entropy": _TF_ENSEMBLE,
    "kl_divergence": _TF_ENSEMBLE,
    "knowledge_uncertainty": _TF_ENSEMBLE,
    "logit_kl_divergence": _TF_ENSEMBLE,
    "lp_distance": _TF_ENSEMBLE,
    "mean_member_uncertainty": _TF_ENSEMBLE,
    "model_uncertainty": _TF_ENSEMBLE,
    "mutual_information": _TF_ENSEMBLE,
    "predictive_entropy": _TF_ENSEMBLE,
    "variance_bound": _TF_ENSEMBLE,
    "variation_ratio": _TF_ENSEMBLE,
    "ensemble_calibration": "uncertainty_metrics.numpy.member_calibration",
    # Information criteria.
    "compare_information_criteria": "uncertainty_metrics.numpy.information_criteria",
    "importance_sampling_cross_validation": _TF_CRITERIA,
    "negative_waic": _TF_CRITERIA,
    "psis_loo": _TF_CRITERIA,
    # Keras metrics.
    "AdaptiveCalibrationError": _KERAS_CALIBRATION,
    "CalibrationError": _KERAS_CALIBRATION,
    "ExpectedCalibrationError": _KERAS_CALIBRATION,
    "GeneralCalibrationError": _KERAS_CALIBRATION,
    "MaximumCalibrationError": _KERAS_CALIBRATION,
    "RootMeanSquaredCalibrationError": _KERAS_CALIBRATION,
    "StaticCalibrationError": _KERAS_CALIBRATION,
    "ThresholdedAdaptiveCalibrationError": _KERAS_CALIBRATION,
    "BayesianExpectedCalibrationError": (
        "uncertainty_metrics.keras.metrics.bayesian_calibration"
    ),
    "DebiasedCalibrationError": (
        "uncertainty_metrics.keras.metrics.debiased_calibration"
    ),
    "BrierDecomposition": _KERAS_SCORING,
    "BrierScore": _KERAS_SCORING,
    "CRPSNormal": _KERAS_SCORING,
    "CRPSSamples": _KERAS_SCORING,
    "IntervalScore": _KERAS_SCORING,
    "NegativeLogLikelihood": _KERAS_SCORING,
    "Pinball": _KERAS_SCORING,
    "AUC": "uncertainty_metrics.keras._base",
    "AUGRC": _KERAS_RANKING,
    "AUPR": _KERAS_RANKING,
    "AURC": _KERAS_RANKING,
    "AUROC": _KERAS_RANKING,
    "Accuracy": _KERAS_RANKING,
    "CoverageAtRisk": _KERAS_RANKING,
    "ExcessAURC": _KERAS_RANKING,
    "FPRAtTPR": _KERAS_RANKING,
    "OracleCollaborativeAccuracy": _KERAS_RANKING,
    "RiskAtCoverage": _KERAS_RANKING,
    "EnsembleCrossEntropy": _KERAS_ENSEMBLE,
    "EnsembleDisagreement": _KERAS_ENSEMBLE,
    "ExpectedEntropy": _KERAS_ENSEMBLE,
    "GibbsCrossEntropy": _KERAS_ENSEMBLE,
    "KnowledgeUncertainty": _KERAS_ENSEMBLE,
    "MeanMemberUncertainty": _KERAS_ENSEMBLE,
    "MutualInformation": _KERAS_ENSEMBLE,
    "PredictiveEntropy": _KERAS_ENSEMBLE,
    "VariationRatio": _KERAS_ENSEMBLE,
    # Keras losses.
    "BrierLoss": _KERAS_LOSSES,
    "CRPSNormalLoss": _KERAS_LOSSES,
    "CRPSSampleLoss": _KERAS_LOSSES,
    "GaussianNLLLoss": _KERAS_LOSSES,
    "IntervalLoss": _KERAS_LOSSES,
    "PinballLoss": _KERAS_LOSSES,
    # Keras callbacks.
    "ReliabilityDiagramCallback": "uncertainty_metrics.keras.callbacks",
    # Plots.
    "accuracy_confidence_curve": _PLOT_SELECTIVE,
    "accuracy_confidence_diagram": _PLOT_SELECTIVE,
    "ensemble_calibration_diagram": _PLOT_ENSEMBLE,
    "rejection_curve": _PLOT_SELECTIVE,
    "rejection_diagram": _PLOT_SELECTIVE,
    "risk_coverage_diagram": _PLOT_SELECTIVE,
    "uncertainty_histogram": _PLOT_ENSEMBLE,
    "reliability_curve": _RELIABILITY,
    "reliability_diagram": _RELIABILITY,
}

__all__ = sorted(_HOMES)
__getattr__, __dir__ = _lazy.attach(__name__, _HOMES, [*__all__, "__version__"])
_registration.with_keras()
