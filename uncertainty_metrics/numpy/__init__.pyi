from . import regression as regression
from ._state import MetricState as MetricState

# Bayesian calibration error.
from .bayesian_calibration import (
    bayesian_expected_calibration_error as bayesian_expected_calibration_error,
)
from .bayesian_calibration import (
    probability_of_lower_calibration_error as probability_of_lower_calibration_error,
)

# Calibration errors.
from .calibration import (
    BinStatistics as BinStatistics,
)
from .calibration import (
    GeneralCalibrationError as GeneralCalibrationError,
)
from .calibration import (
    ace as ace,
)
from .calibration import (
    adaptive_calibration_error as adaptive_calibration_error,
)
from .calibration import (
    bin_statistics as bin_statistics,
)
from .calibration import (
    compute_all_metrics as compute_all_metrics,
)
from .calibration import (
    ece as ece,
)
from .calibration import (
    expected_calibration_error as expected_calibration_error,
)
from .calibration import (
    gce as gce,
)
from .calibration import (
    general_calibration_error as general_calibration_error,
)
from .calibration import (
    maximum_calibration_error as maximum_calibration_error,
)
from .calibration import (
    mce as mce,
)
from .calibration import (
    rmsce as rmsce,
)
from .calibration import (
    root_mean_squared_calibration_error as root_mean_squared_calibration_error,
)
from .calibration import (
    sce as sce,
)
from .calibration import (
    static_calibration_error as static_calibration_error,
)
from .calibration import (
    tace as tace,
)
from .calibration import (
    thresholded_adaptive_calibration_error as thresholded_adaptive_calibration_error,
)
from .calibration_tests import calibration_test as calibration_test

# Calibration errors of smoothed outcomes.
from .censored import (
    CCE as CCE,
)
from .censored import (
    CensoredCalibrationError as CensoredCalibrationError,
)
from .censored import (
    cce as cce,
)
from .censored import (
    cce_conf_int as cce_conf_int,
)
from .censored import (
    censored_calibration_error as censored_calibration_error,
)
from .censored import (
    censored_calibration_error_conf_int as censored_calibration_error_conf_int,
)
from .debiased_calibration import (
    debiased_calibration_error as debiased_calibration_error,
)
from .detection import (
    aupr as aupr,
)
from .detection import (
    auroc as auroc,
)
from .detection import (
    fpr_at_tpr as fpr_at_tpr,
)

# Ensembles.
from .ensemble import (
    average_pairwise_diversity as average_pairwise_diversity,
)
from .ensemble import (
    cosine_distance as cosine_distance,
)
from .ensemble import (
    cosine_similarity as cosine_similarity,
)
from .ensemble import (
    disagreement as disagreement,
)
from .ensemble import (
    double_fault as double_fault,
)
from .ensemble import (
    ensemble_cross_entropy as ensemble_cross_entropy,
)
from .ensemble import (
    ensemble_disagreement as ensemble_disagreement,
)
from .ensemble import (
    expected_entropy as expected_entropy,
)
from .ensemble import (
    gibbs_cross_entropy as gibbs_cross_entropy,
)
from .ensemble import (
    kl_divergence as kl_divergence,
)
from .ensemble import (
    knowledge_uncertainty as knowledge_uncertainty,
)
from .ensemble import (
    logit_kl_divergence as logit_kl_divergence,
)
from .ensemble import (
    lp_distance as lp_distance,
)
from .ensemble import (
    mean_member_uncertainty as mean_member_uncertainty,
)
from .ensemble import (
    model_uncertainty as model_uncertainty,
)
from .ensemble import (
    mutual_information as mutual_information,
)
from .ensemble import (
    predictive_entropy as predictive_entropy,
)
from .ensemble import (
    variance_bound as variance_bound,
)
from .ensemble import (
    variation_ratio as variation_ratio,
)

# Information criteria.
from .information_criteria import (
    compare_information_criteria as compare_information_criteria,
)
from .information_criteria import (
    importance_sampling_cross_validation as importance_sampling_cross_validation,
)
from .information_criteria import (
    negative_waic as negative_waic,
)
from .information_criteria import (
    psis_loo as psis_loo,
)
from .member_calibration import ensemble_calibration as ensemble_calibration

# Recalibration.
from .recalibration import (
    TemperatureScaling as TemperatureScaling,
)
from .recalibration import (
    calibrated_negative_log_likelihood as calibrated_negative_log_likelihood,
)

# Intervals.
from .resampling import (
    bootstrap as bootstrap,
)
from .resampling import (
    bootstrap_difference as bootstrap_difference,
)

# Scoring rules.
from .scoring_rules import (
    brier_decomposition as brier_decomposition,
)
from .scoring_rules import (
    brier_decomposition_exact as brier_decomposition_exact,
)
from .scoring_rules import (
    brier_score as brier_score,
)
from .scoring_rules import (
    crps_normal_score as crps_normal_score,
)
from .scoring_rules import (
    crps_score as crps_score,
)
from .scoring_rules import (
    energy_score as energy_score,
)
from .scoring_rules import (
    interval_score as interval_score,
)
from .scoring_rules import (
    negative_log_likelihood as negative_log_likelihood,
)
from .scoring_rules import (
    pinball_loss as pinball_loss,
)

# Selective prediction and detection.
from .selective import (
    accuracy as accuracy,
)
from .selective import (
    area_under_generalized_risk_coverage_curve as area_under_generalized_risk_coverage_curve,
)
from .selective import (
    area_under_risk_coverage_curve as area_under_risk_coverage_curve,
)
from .selective import (
    augrc as augrc,
)
from .selective import (
    aurc as aurc,
)
from .selective import (
    coverage_at_risk as coverage_at_risk,
)
from .selective import (
    e_aurc as e_aurc,
)
from .selective import (
    excess_aurc as excess_aurc,
)
from .selective import (
    oracle_collaborative_accuracy as oracle_collaborative_accuracy,
)
from .selective import (
    risk_at_coverage as risk_at_coverage,
)
from .selective import (
    risk_coverage_curve as risk_coverage_curve,
)
from .semiparametric import (
    SPCE as SPCE,
)
from .semiparametric import (
    SemiparametricCalibrationError as SemiparametricCalibrationError,
)
from .semiparametric import (
    semiparametric_calibration_error as semiparametric_calibration_error,
)
from .semiparametric import (
    semiparametric_calibration_error_conf_int as semiparametric_calibration_error_conf_int,
)
from .semiparametric import (
    spce as spce,
)
from .semiparametric import (
    spce_conf_int as spce_conf_int,
)

# Plots.
from .visualization import (
    accuracy_confidence_curve as accuracy_confidence_curve,
)
from .visualization import (
    accuracy_confidence_diagram as accuracy_confidence_diagram,
)
from .visualization import (
    ensemble_calibration_diagram as ensemble_calibration_diagram,
)
from .visualization import (
    rejection_curve as rejection_curve,
)
from .visualization import (
    rejection_diagram as rejection_diagram,
)
from .visualization import (
    reliability_curve as reliability_curve,
)
from .visualization import (
    reliability_diagram as reliability_diagram,
)
from .visualization import (
    risk_coverage_diagram as risk_coverage_diagram,
)
from .visualization import (
    uncertainty_histogram as uncertainty_histogram,
)
