from . import conformal as conformal
from .. import datasets as datasets
from . import detection as detection
from . import regression as regression
from ._metric_state import MetricState as MetricState

# The report.
from .._report.answer_files import read_answers as read_answers
from .._report.calibration_report import report as report

# Calibration errors.
from .calibration.bins.binned_errors import (
    bin_statistics as bin_statistics,
    compute_all_metrics as compute_all_metrics,
    gce as gce,
    general_calibration_error as general_calibration_error,
)
from .calibration.bins.confidence_errors import (
    ece as ece,
    expected_calibration_error as expected_calibration_error,
    maximum_calibration_error as maximum_calibration_error,
    mce as mce,
    rmsce as rmsce,
    root_mean_squared_calibration_error as root_mean_squared_calibration_error,
)
from .calibration.bins.class_wise_errors import (
    ace as ace,
    adaptive_calibration_error as adaptive_calibration_error,
    sce as sce,
    static_calibration_error as static_calibration_error,
    tace as tace,
    thresholded_adaptive_calibration_error as thresholded_adaptive_calibration_error,
)
from .calibration.bins.streaming_calibration import (
    BinStatistics as BinStatistics,
    GeneralCalibrationError as GeneralCalibrationError,
)
from .calibration.bins.debiased_calibration import (
    calibration_error_interval as calibration_error_interval,
    debiased_calibration_error as debiased_calibration_error,
)
from .calibration.bins.error_difference import (calibration_error_difference as calibration_error_difference)
from .calibration.watching.calibration_by_group import (calibration_by_group as calibration_by_group)
from .sketch.score_sketch import ScoreSketch as ScoreSketch
from .summaries.summary import Summary as Summary
from .calibration.watching.calibration_drift import (calibration_drift as calibration_drift)
from .calibration.watching.calibration_monitor import (CalibrationMonitor as CalibrationMonitor)

# Calibration beyond bins.
from .calibration.watching.miscalibrated_groups import find_miscalibrated_groups as find_miscalibrated_groups
from .calibration.without_bins.corp import (corp_decomposition as corp_decomposition)
from .calibration.without_bins.cumulative_calibration import (
    atb as atb,
    averaged_two_bin_calibration_error as averaged_two_bin_calibration_error,
    kolmogorov_smirnov_calibration_error as kolmogorov_smirnov_calibration_error,
    ks_calibration_error as ks_calibration_error,
    kuiper_calibration_error as kuiper_calibration_error,
    spiegelhalter_test as spiegelhalter_test,
)
from .calibration.risk.risk_calibration import (
    calibration_intercept as calibration_intercept,
    calibration_slope as calibration_slope,
    integrated_calibration_index as integrated_calibration_index,
    observed_expected_ratio as observed_expected_ratio,
)
from .scoring.miscalibration_costs import miscalibration_cost as miscalibration_cost
from .scoring.decision_curves import (
    murphy_curve as murphy_curve,
    net_benefit as net_benefit,
)
from .calibration.smoothed.smooth_calibration import (
    smece as smece,
    smooth_calibration_error as smooth_calibration_error,
)

# Bayesian calibration error.
from .calibration.bins.bayesian_calibration import (
    bayesian_expected_calibration_error as bayesian_expected_calibration_error,
    probability_of_lower_calibration_error as probability_of_lower_calibration_error,
)
from .calibration.without_bins.calibration_tests import (calibration_test as calibration_test)

# Calibration errors of smoothed outcomes.
from .survival.censored_calibration import (
    CCE as CCE,
    CensoredCalibrationError as CensoredCalibrationError,
    cce as cce,
    cce_conf_int as cce_conf_int,
    censored_calibration_error as censored_calibration_error,
    censored_calibration_error_conf_int as censored_calibration_error_conf_int,
)
from .calibration.smoothed.semiparametric import (
    SPCE as SPCE,
    SemiparametricCalibrationError as SemiparametricCalibrationError,
    semiparametric_calibration_error as semiparametric_calibration_error,
    semiparametric_calibration_error_conf_int as semiparametric_calibration_error_conf_int,
    spce as spce,
    spce_conf_int as spce_conf_int,
)

# Scoring rules.
from .scoring.brier_decompositions import (
    brier_decomposition as brier_decomposition,
    brier_decomposition_exact as brier_decomposition_exact,
)
from .scoring.scoring_rules import (
    brier_score as brier_score,
    negative_log_likelihood as negative_log_likelihood,
    ranked_probability_score as ranked_probability_score,
)
from .scoring.forecast_scores import (
    crps_normal_score as crps_normal_score,
    crps_score as crps_score,
    interval_score as interval_score,
    pinball_loss as pinball_loss,
    threshold_weighted_crps as threshold_weighted_crps,
    weighted_interval_score as weighted_interval_score,
)
from .scoring.quantile_scores import (
    crps_quantile_score as crps_quantile_score,
    weighted_interval_score_decomposition as weighted_interval_score_decomposition,
)
from .scoring.scaled_brier import scaled_brier_score as scaled_brier_score
from .scoring.ranks import rank_histogram as rank_histogram
from .scoring.multivariate_scores import (
    dawid_sebastiani_score as dawid_sebastiani_score,
    energy_score as energy_score,
    variogram_score as variogram_score,
)

# Survival under censoring.
from .survival.concordance import concordance_index as concordance_index
from .survival.survival_at import survival_at as survival_at
from .survival.survival_scores import (
    d_calibration as d_calibration,
    integrated_brier_score as integrated_brier_score,
    ipcw_brier_score as ipcw_brier_score,
)

# Selective prediction and detection.
from .selective.accuracy import accuracy as accuracy
from .selective.risk_coverage import (
    area_under_generalized_risk_coverage_curve as area_under_generalized_risk_coverage_curve,
    area_under_risk_coverage_curve as area_under_risk_coverage_curve,
    augrc as augrc,
    aurc as aurc,
    coverage_at_risk as coverage_at_risk,
    e_aurc as e_aurc,
    excess_aurc as excess_aurc,
    oracle_collaborative_accuracy as oracle_collaborative_accuracy,
    risk_at_coverage as risk_at_coverage,
    risk_coverage_curve as risk_coverage_curve,
)
from .selective.threshold_at_risk import threshold_at_risk as threshold_at_risk
from .selective.rejection import (
    area_under_accuracy_rejection_curve as area_under_accuracy_rejection_curve,
    area_under_sparsification_error_curve as area_under_sparsification_error_curve,
    auarc as auarc,
    ause as ause,
    prediction_rejection_ratio as prediction_rejection_ratio,
    prr as prr,
)
from .selective.detection import (
    aupr as aupr,
    auroc as auroc,
    fpr_at_tpr as fpr_at_tpr,
)
from .selective.auroc_intervals import (
    auroc_difference as auroc_difference,
    auroc_interval as auroc_interval,
)
from .selective.decision_rates import (
    negative_predictive_value as negative_predictive_value,
    positive_predictive_value as positive_predictive_value,
    sensitivity as sensitivity,
    specificity as specificity,
)

# Out of distribution.
from .selective.out_of_distribution import (
    energy as energy,
    max_logit as max_logit,
    max_softmax as max_softmax,
)
from .selective.mahalanobis import Mahalanobis as Mahalanobis

# Ensembles.
from .ensemble.uncertainty import (
    ensemble_disagreement as ensemble_disagreement,
    expected_entropy as expected_entropy,
    knowledge_uncertainty as knowledge_uncertainty,
    mean_member_uncertainty as mean_member_uncertainty,
    model_uncertainty as model_uncertainty,
    mutual_information as mutual_information,
    predictive_entropy as predictive_entropy,
    variation_ratio as variation_ratio,
)
from .ensemble.cross_entropy import (
    ensemble_cross_entropy as ensemble_cross_entropy,
    gibbs_cross_entropy as gibbs_cross_entropy,
    variance_bound as variance_bound,
)
from .ensemble.diversity import (
    average_pairwise_diversity as average_pairwise_diversity,
    disagreement as disagreement,
    double_fault as double_fault,
)
from .ensemble.distances import (
    cosine_distance as cosine_distance,
    cosine_similarity as cosine_similarity,
    kl_divergence as kl_divergence,
    logit_kl_divergence as logit_kl_divergence,
    lp_distance as lp_distance,
)
from .ensemble.sampled_answers import (
    sampled_agreement as sampled_agreement,
    semantic_entropy as semantic_entropy,
)
from .ensemble.member_calibration import ensemble_calibration as ensemble_calibration

# Information criteria.
from .information.information_criteria import (
    compare_information_criteria as compare_information_criteria,
    importance_sampling_cross_validation as importance_sampling_cross_validation,
    negative_waic as negative_waic,
    psis_loo as psis_loo,
)
from .information.leave_one_out import loo_pit as loo_pit

# Recalibration.
from .calibrators.calibration_loss import calibration_loss as calibration_loss
from .calibrators.label_shift import LabelShift as LabelShift
from .calibrators.temperature_scaling import (
    TemperatureScaling as TemperatureScaling,
    refined_negative_log_likelihood as refined_negative_log_likelihood,
)
from .calibrators.linear_scaling import (
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
)
from .calibrators.one_against_rest import (
    BetaCalibration as BetaCalibration,
    HistogramBinning as HistogramBinning,
    IsotonicCalibration as IsotonicCalibration,
    PlattScaling as PlattScaling,
)
from .calibrators.curved_scaling import (
    QuadraticCalibration as QuadraticCalibration,
    SplineCalibration as SplineCalibration,
)
from .calibrators.ensemble_scaling import EnsembleTemperatureScaling as EnsembleTemperatureScaling
from .calibrators.venn_abers import VennAbersCalibration as VennAbersCalibration

# Intervals.
from .resampling import (
    bootstrap as bootstrap,
    bootstrap_difference as bootstrap_difference,
)

# Sample sizes.
from .calibration.bins.sample_sizes import (
    examples_needed as examples_needed,
    smallest_detectable_error as smallest_detectable_error,
)

# Comparisons.
from .comparison import compare as compare

# Scorers of scikit-learn, and labels that are names.
from .scorers import make_scorers as make_scorers
from .class_names import class_indices as class_indices

# Plots.
from ..visualization.selective import (
    accuracy_confidence_curve as accuracy_confidence_curve,
    accuracy_confidence_diagram as accuracy_confidence_diagram,
    risk_coverage_diagram as risk_coverage_diagram,
)
from ..visualization.rejection import (
    rejection_curve as rejection_curve,
    rejection_diagram as rejection_diagram,
)
from ..visualization.ensemble import (
    ensemble_calibration_diagram as ensemble_calibration_diagram,
    uncertainty_histogram as uncertainty_histogram,
)
from ..visualization.decisions import (
    decision_curve_diagram as decision_curve_diagram,
    miscalibration_cost_diagram as miscalibration_cost_diagram,
    murphy_diagram as murphy_diagram,
)
from ..visualization.drift import drift_diagram as drift_diagram
from ..visualization.groups import calibration_by_group_diagram as calibration_by_group_diagram
from ..visualization.posterior import posterior_diagram as posterior_diagram
from ..visualization.reliability import (
    reliability_curve as reliability_curve,
    reliability_diagram as reliability_diagram,
)
