from . import numpy as numpy
from . import regression as regression
from .keras._base import AUC as AUC

# Keras callbacks.
from .keras.callbacks import ReliabilityDiagramCallback as ReliabilityDiagramCallback
from .keras.layers import TemperatureScalingLayer as TemperatureScalingLayer

# Keras losses.
from .keras.losses import (
    BrierLoss as BrierLoss,
)
from .keras.losses import (
    CRPSNormalLoss as CRPSNormalLoss,
)
from .keras.losses import (
    CRPSSampleLoss as CRPSSampleLoss,
)
from .keras.losses import (
    GaussianNLLLoss as GaussianNLLLoss,
)
from .keras.losses import (
    IntervalLoss as IntervalLoss,
)
from .keras.losses import (
    PinballLoss as PinballLoss,
)
from .keras.metrics.bayesian_calibration import (
    BayesianExpectedCalibrationError as BayesianExpectedCalibrationError,
)

# Keras metrics.
from .keras.metrics.calibration import (
    AdaptiveCalibrationError as AdaptiveCalibrationError,
)
from .keras.metrics.calibration import (
    CalibrationError as CalibrationError,
)
from .keras.metrics.calibration import (
    ExpectedCalibrationError as ExpectedCalibrationError,
)
from .keras.metrics.calibration import (
    GeneralCalibrationError as GeneralCalibrationError,
)
from .keras.metrics.calibration import (
    MaximumCalibrationError as MaximumCalibrationError,
)
from .keras.metrics.calibration import (
    RootMeanSquaredCalibrationError as RootMeanSquaredCalibrationError,
)
from .keras.metrics.calibration import (
    StaticCalibrationError as StaticCalibrationError,
)
from .keras.metrics.calibration import (
    ThresholdedAdaptiveCalibrationError as ThresholdedAdaptiveCalibrationError,
)
from .keras.metrics.debiased_calibration import (
    DebiasedCalibrationError as DebiasedCalibrationError,
)
from .keras.metrics.ensemble import (
    EnsembleCrossEntropy as EnsembleCrossEntropy,
)
from .keras.metrics.ensemble import (
    EnsembleDisagreement as EnsembleDisagreement,
)
from .keras.metrics.ensemble import (
    ExpectedEntropy as ExpectedEntropy,
)
from .keras.metrics.ensemble import (
    GibbsCrossEntropy as GibbsCrossEntropy,
)
from .keras.metrics.ensemble import (
    KnowledgeUncertainty as KnowledgeUncertainty,
)
from .keras.metrics.ensemble import (
    MeanMemberUncertainty as MeanMemberUncertainty,
)
from .keras.metrics.ensemble import (
    MutualInformation as MutualInformation,
)
from .keras.metrics.ensemble import (
    PredictiveEntropy as PredictiveEntropy,
)
from .keras.metrics.ensemble import (
    VariationRatio as VariationRatio,
)
from .keras.metrics.ranking import (
    AUGRC as AUGRC,
)
from .keras.metrics.ranking import (
    AUPR as AUPR,
)
from .keras.metrics.ranking import (
    AURC as AURC,
)
from .keras.metrics.ranking import (
    AUROC as AUROC,
)
from .keras.metrics.ranking import (
    Accuracy as Accuracy,
)
from .keras.metrics.ranking import (
    CoverageAtRisk as CoverageAtRisk,
)
from .keras.metrics.ranking import (
    ExcessAURC as ExcessAURC,
)
from .keras.metrics.ranking import (
    FPRAtTPR as FPRAtTPR,
)
from .keras.metrics.ranking import (
    OracleCollaborativeAccuracy as OracleCollaborativeAccuracy,
)
from .keras.metrics.ranking import (
    RiskAtCoverage as RiskAtCoverage,
)
from .keras.metrics.scoring_rules import (
    BrierDecomposition as BrierDecomposition,
)
from .keras.metrics.scoring_rules import (
    BrierScore as BrierScore,
)
from .keras.metrics.scoring_rules import (
    CRPSNormal as CRPSNormal,
)
from .keras.metrics.scoring_rules import (
    CRPSSamples as CRPSSamples,
)
from .keras.metrics.scoring_rules import (
    IntervalScore as IntervalScore,
)
from .keras.metrics.scoring_rules import (
    NegativeLogLikelihood as NegativeLogLikelihood,
)
from .keras.metrics.scoring_rules import (
    Pinball as Pinball,
)
from .numpy._state import MetricState as MetricState
from .numpy.calibration_tests import calibration_test as calibration_test

# Calibration errors of smoothed outcomes.
from .numpy.censored import (
    CCE as CCE,
)
from .numpy.censored import (
    CensoredCalibrationError as CensoredCalibrationError,
)
from .numpy.censored import (
    cce as cce,
)
from .numpy.censored import (
    cce_conf_int as cce_conf_int,
)
from .numpy.censored import (
    censored_calibration_error as censored_calibration_error,
)
from .numpy.censored import (
    censored_calibration_error_conf_int as censored_calibration_error_conf_int,
)

# Information criteria.
from .numpy.information_criteria import (
    compare_information_criteria as compare_information_criteria,
)
from .numpy.member_calibration import ensemble_calibration as ensemble_calibration

# Intervals and tests.
from .numpy.resampling import (
    bootstrap as bootstrap,
)
from .numpy.resampling import (
    bootstrap_difference as bootstrap_difference,
)
from .numpy.semiparametric import (
    SPCE as SPCE,
)
from .numpy.semiparametric import (
    SemiparametricCalibrationError as SemiparametricCalibrationError,
)
from .numpy.semiparametric import (
    semiparametric_calibration_error as semiparametric_calibration_error,
)
from .numpy.semiparametric import (
    semiparametric_calibration_error_conf_int as semiparametric_calibration_error_conf_int,
)
from .numpy.semiparametric import (
    spce as spce,
)
from .numpy.semiparametric import (
    spce_conf_int as spce_conf_int,
)
from .tensorflow._binning import BinStatistics as BinStatistics

# Bayesian calibration error.
from .tensorflow.bayesian_calibration import (
    bayesian_expected_calibration_error as bayesian_expected_calibration_error,
)
from .tensorflow.bayesian_calibration import (
    probability_of_lower_calibration_error as probability_of_lower_calibration_error,
)

# Calibration errors.
from .tensorflow.calibration import (
    ace as ace,
)
from .tensorflow.calibration import (
    adaptive_calibration_error as adaptive_calibration_error,
)
from .tensorflow.calibration import (
    bin_statistics as bin_statistics,
)
from .tensorflow.calibration import (
    compute_all_metrics as compute_all_metrics,
)
from .tensorflow.calibration import (
    ece as ece,
)
from .tensorflow.calibration import (
    expected_calibration_error as expected_calibration_error,
)
from .tensorflow.calibration import (
    gce as gce,
)
from .tensorflow.calibration import (
    general_calibration_error as general_calibration_error,
)
from .tensorflow.calibration import (
    maximum_calibration_error as maximum_calibration_error,
)
from .tensorflow.calibration import (
    mce as mce,
)
from .tensorflow.calibration import (
    rmsce as rmsce,
)
from .tensorflow.calibration import (
    root_mean_squared_calibration_error as root_mean_squared_calibration_error,
)
from .tensorflow.calibration import (
    sce as sce,
)
from .tensorflow.calibration import (
    static_calibration_error as static_calibration_error,
)
from .tensorflow.calibration import (
    tace as tace,
)
from .tensorflow.calibration import (
    thresholded_adaptive_calibration_error as thresholded_adaptive_calibration_error,
)
from .tensorflow.debiased_calibration import (
    debiased_calibration_error as debiased_calibration_error,
)
from .tensorflow.detection import (
    aupr as aupr,
)
from .tensorflow.detection import (
    auroc as auroc,
)
from .tensorflow.detection import (
    fpr_at_tpr as fpr_at_tpr,
)
from .tensorflow.distribution_scores import crps_distribution as crps_distribution

# Ensembles.
from .tensorflow.ensemble import (
    average_pairwise_diversity as average_pairwise_diversity,
)
from .tensorflow.ensemble import (
    cosine_distance as cosine_distance,
)
from .tensorflow.ensemble import (
    cosine_similarity as cosine_similarity,
)
from .tensorflow.ensemble import (
    disagreement as disagreement,
)
from .tensorflow.ensemble import (
    double_fault as double_fault,
)
from .tensorflow.ensemble import (
    ensemble_cross_entropy as ensemble_cross_entropy,
)
from .tensorflow.ensemble import (
    ensemble_disagreement as ensemble_disagreement,
)
from .tensorflow.ensemble import (
    expected_entropy as expected_entropy,
)
from .tensorflow.ensemble import (
    gibbs_cross_entropy as gibbs_cross_entropy,
)
from .tensorflow.ensemble import (
    kl_divergence as kl_divergence,
)
from .tensorflow.ensemble import (
    knowledge_uncertainty as knowledge_uncertainty,
)
from .tensorflow.ensemble import (
    logit_kl_divergence as logit_kl_divergence,
)
from .tensorflow.ensemble import (
    lp_distance as lp_distance,
)
from .tensorflow.ensemble import (
    mean_member_uncertainty as mean_member_uncertainty,
)
from .tensorflow.ensemble import (
    model_uncertainty as model_uncertainty,
)
from .tensorflow.ensemble import (
    mutual_information as mutual_information,
)
from .tensorflow.ensemble import (
    predictive_entropy as predictive_entropy,
)
from .tensorflow.ensemble import (
    variance_bound as variance_bound,
)
from .tensorflow.ensemble import (
    variation_ratio as variation_ratio,
)
from .tensorflow.information_criteria import (
    importance_sampling_cross_validation as importance_sampling_cross_validation,
)
from .tensorflow.information_criteria import (
    negative_waic as negative_waic,
)
from .tensorflow.information_criteria import (
    psis_loo as psis_loo,
)

# Recalibration.
from .tensorflow.recalibration import (
    TemperatureScaling as TemperatureScaling,
)
from .tensorflow.recalibration import (
    calibrated_negative_log_likelihood as calibrated_negative_log_likelihood,
)

# Scoring rules.
from .tensorflow.scoring_rules import (
    brier_decomposition as brier_decomposition,
)
from .tensorflow.scoring_rules import (
    brier_decomposition_exact as brier_decomposition_exact,
)
from .tensorflow.scoring_rules import (
    brier_score as brier_score,
)
from .tensorflow.scoring_rules import (
    crps_normal_score as crps_normal_score,
)
from .tensorflow.scoring_rules import (
    crps_score as crps_score,
)
from .tensorflow.scoring_rules import (
    energy_score as energy_score,
)
from .tensorflow.scoring_rules import (
    interval_score as interval_score,
)
from .tensorflow.scoring_rules import (
    negative_log_likelihood as negative_log_likelihood,
)
from .tensorflow.scoring_rules import (
    pinball_loss as pinball_loss,
)

# Selective prediction and detection.
from .tensorflow.selective import (
    accuracy as accuracy,
)
from .tensorflow.selective import (
    area_under_generalized_risk_coverage_curve as area_under_generalized_risk_coverage_curve,
)
from .tensorflow.selective import (
    area_under_risk_coverage_curve as area_under_risk_coverage_curve,
)
from .tensorflow.selective import (
    augrc as augrc,
)
from .tensorflow.selective import (
    aurc as aurc,
)
from .tensorflow.selective import (
    coverage_at_risk as coverage_at_risk,
)
from .tensorflow.selective import (
    e_aurc as e_aurc,
)
from .tensorflow.selective import (
    excess_aurc as excess_aurc,
)
from .tensorflow.selective import (
    oracle_collaborative_accuracy as oracle_collaborative_accuracy,
)
from .tensorflow.selective import (
    risk_at_coverage as risk_at_coverage,
)
from .tensorflow.selective import (
    risk_coverage_curve as risk_coverage_curve,
)
from .visualization.ensemble import (
    ensemble_calibration_diagram as ensemble_calibration_diagram,
)
from .visualization.ensemble import (
    uncertainty_histogram as uncertainty_histogram,
)
from .visualization.reliability import (
    reliability_curve as reliability_curve,
)
from .visualization.reliability import (
    reliability_diagram as reliability_diagram,
)

# Plots.
from .visualization.selective import (
    accuracy_confidence_curve as accuracy_confidence_curve,
)
from .visualization.selective import (
    accuracy_confidence_diagram as accuracy_confidence_diagram,
)
from .visualization.selective import (
    rejection_curve as rejection_curve,
)
from .visualization.selective import (
    rejection_diagram as rejection_diagram,
)
from .visualization.selective import (
    risk_coverage_diagram as risk_coverage_diagram,
)

__version__: str
