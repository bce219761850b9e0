from . import conformal as conformal
from . import datasets as datasets
from . import detection as detection
from . import numpy as numpy
from . import regression as regression

# The report.
from ._report.answer_files import read_answers as read_answers
from ._report.calibration_report import report as report

# Calibration errors.
from .tensors.binned_errors import (
    bin_statistics as bin_statistics,
    compute_all_metrics as compute_all_metrics,
    gce as gce,
    general_calibration_error as general_calibration_error,
)
from .tensors.confidence_errors import (
    ece as ece,
    expected_calibration_error as expected_calibration_error,
    maximum_calibration_error as maximum_calibration_error,
    mce as mce,
    rmsce as rmsce,
    root_mean_squared_calibration_error as root_mean_squared_calibration_error,
)
from .tensors.class_wise_errors import (
    ace as ace,
    adaptive_calibration_error as adaptive_calibration_error,
    sce as sce,
    static_calibration_error as static_calibration_error,
    tace as tace,
    thresholded_adaptive_calibration_error as thresholded_adaptive_calibration_error,
)
from .ops._binning import BinStatistics as BinStatistics
from .numpy._metric_state import MetricState as MetricState
from .numpy.calibration.bins.error_difference import (calibration_error_difference as calibration_error_difference)
from .numpy.calibration.watching.calibration_by_group import (calibration_by_group as calibration_by_group)
from .numpy.sketch.score_sketch import ScoreSketch as ScoreSketch
from .numpy.summaries.summary import Summary as Summary
from .numpy.calibration.watching.calibration_drift import (calibration_drift as calibration_drift)
from .numpy.calibration.watching.calibration_monitor import (CalibrationMonitor as CalibrationMonitor)
from .numpy.calibration.watching.miscalibrated_groups import find_miscalibrated_groups as find_miscalibrated_groups
from .tensors.debiased_calibration import (
    calibration_error_interval as calibration_error_interval,
    debiased_calibration_error as debiased_calibration_error,
)

# Calibration beyond bins.
from .numpy.calibration.without_bins.corp import (corp_decomposition as corp_decomposition)
from .tensors.cumulative_calibration import (
    atb as atb,
    averaged_two_bin_calibration_error as averaged_two_bin_calibration_error,
    kolmogorov_smirnov_calibration_error as kolmogorov_smirnov_calibration_error,
    ks_calibration_error as ks_calibration_error,
    kuiper_calibration_error as kuiper_calibration_error,
    spiegelhalter_test as spiegelhalter_test,
)
from .numpy.calibration.risk.risk_calibration import (
    calibration_intercept as calibration_intercept,
    calibration_slope as calibration_slope,
    integrated_calibration_index as integrated_calibration_index,
    observed_expected_ratio as observed_expected_ratio,
)
from .numpy.scoring.miscalibration_costs import miscalibration_cost as miscalibration_cost
from .numpy.scoring.decision_curves import (
    murphy_curve as murphy_curve,
    net_benefit as net_benefit,
)
from .tensors.smooth_calibration import (
    smece as smece,
    smooth_calibration_error as smooth_calibration_error,
)

# Calibration errors of smoothed outcomes.
from .numpy.survival.censored_calibration import (
    CCE as CCE,
    CensoredCalibrationError as CensoredCalibrationError,
    cce as cce,
    cce_conf_int as cce_conf_int,
    censored_calibration_error as censored_calibration_error,
    censored_calibration_error_conf_int as censored_calibration_error_conf_int,
)
from .numpy.calibration.smoothed.semiparametric import (
    SPCE as SPCE,
    SemiparametricCalibrationError as SemiparametricCalibrationError,
    semiparametric_calibration_error as semiparametric_calibration_error,
    semiparametric_calibration_error_conf_int as semiparametric_calibration_error_conf_int,
    spce as spce,
    spce_conf_int as spce_conf_int,
)

# Recalibration.
from .numpy.calibrators.calibration_loss import calibration_loss as calibration_loss
from .numpy.calibrators.label_shift import LabelShift as LabelShift
from .tensors.temperature_scaling import TemperatureScaling as TemperatureScaling
from .tensors.refined_likelihood import (
    refined_negative_log_likelihood as refined_negative_log_likelihood,
)
from .numpy.calibrators.linear_scaling import (
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
)
from .numpy.calibrators.one_against_rest import (
    BetaCalibration as BetaCalibration,
    HistogramBinning as HistogramBinning,
    IsotonicCalibration as IsotonicCalibration,
    PlattScaling as PlattScaling,
)
from .numpy.calibrators.curved_scaling import (
    QuadraticCalibration as QuadraticCalibration,
    SplineCalibration as SplineCalibration,
)
from .numpy.calibrators.ensemble_scaling import EnsembleTemperatureScaling as EnsembleTemperatureScaling
from .numpy.calibrators.venn_abers import VennAbersCalibration as VennAbersCalibration
from .keras.layers import (
    MatrixScalingLayer as MatrixScalingLayer,
    TemperatureScalingLayer as TemperatureScalingLayer,
    VectorScalingLayer as VectorScalingLayer,
)

# Intervals and tests.
from .numpy.resampling import (
    bootstrap as bootstrap,
    bootstrap_difference as bootstrap_difference,
)
from .numpy.calibration.without_bins.calibration_tests import (calibration_test as calibration_test)

# Sample sizes.
from .numpy.calibration.bins.sample_sizes import (
    examples_needed as examples_needed,
    smallest_detectable_error as smallest_detectable_error,
)

# Comparisons.
from .numpy.comparison import compare as compare

# Scorers of scikit-learn.
from .numpy.scorers import make_scorers as make_scorers
from .numpy.class_names import class_indices as class_indices

# Bayesian calibration error.
from .tensors.bayesian_calibration import (
    bayesian_expected_calibration_error as bayesian_expected_calibration_error,
    probability_of_lower_calibration_error as probability_of_lower_calibration_error,
)

# Scoring rules.
from .tensors.scoring_rules import (
    brier_decomposition as brier_decomposition,
    brier_decomposition_exact as brier_decomposition_exact,
    brier_score as brier_score,
    negative_log_likelihood as negative_log_likelihood,
    ranked_probability_score as ranked_probability_score,
)
from .tensors.forecast_scores import (
    crps_normal_score as crps_normal_score,
    crps_quantile_score as crps_quantile_score,
    crps_score as crps_score,
    energy_score as energy_score,
    interval_score as interval_score,
    pinball_loss as pinball_loss,
    threshold_weighted_crps as threshold_weighted_crps,
    weighted_interval_score as weighted_interval_score,
    weighted_interval_score_decomposition as weighted_interval_score_decomposition,
)
from .numpy.scoring.scaled_brier import scaled_brier_score as scaled_brier_score
from .numpy.scoring.ranks import rank_histogram as rank_histogram
from .tensors.multivariate_scores import (
    dawid_sebastiani_score as dawid_sebastiani_score,
    variogram_score as variogram_score,
)
from .tensors.distributions.distribution_scores import crps_distribution as crps_distribution

# Survival under censoring.
from .numpy.survival.concordance import concordance_index as concordance_index
from .numpy.survival.survival_at import survival_at as survival_at
from .numpy.survival.survival_scores import (
    d_calibration as d_calibration,
    integrated_brier_score as integrated_brier_score,
    ipcw_brier_score as ipcw_brier_score,
)

# Selective prediction and detection.
from .numpy.selective.threshold_at_risk import threshold_at_risk as threshold_at_risk
from .tensors.accuracy import accuracy as accuracy
from .tensors.risk_coverage import (
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
from .tensors.rejection import (
    area_under_accuracy_rejection_curve as area_under_accuracy_rejection_curve,
    area_under_sparsification_error_curve as area_under_sparsification_error_curve,
    auarc as auarc,
    ause as ause,
    prediction_rejection_ratio as prediction_rejection_ratio,
    prr as prr,
)
from .tensors.detection import (
    aupr as aupr,
    auroc as auroc,
    fpr_at_tpr as fpr_at_tpr,
)
from .numpy.selective.auroc_intervals import (
    auroc_difference as auroc_difference,
    auroc_interval as auroc_interval,
)
from .numpy.selective.decision_rates import (
    negative_predictive_value as negative_predictive_value,
    positive_predictive_value as positive_predictive_value,
    sensitivity as sensitivity,
    specificity as specificity,
)

# Out of distribution.
from .tensors.out_of_distribution import (
    energy as energy,
    max_logit as max_logit,
    max_softmax as max_softmax,
)
from .numpy.selective.mahalanobis import Mahalanobis as Mahalanobis

# Ensembles.
from .tensors.ensemble.uncertainty import (
    ensemble_disagreement as ensemble_disagreement,
    expected_entropy as expected_entropy,
    knowledge_uncertainty as knowledge_uncertainty,
    mean_member_uncertainty as mean_member_uncertainty,
    model_uncertainty as model_uncertainty,
    mutual_information as mutual_information,
    predictive_entropy as predictive_entropy,
    variation_ratio as variation_ratio,
)
from .tensors.ensemble.cross_entropy import (
    ensemble_cross_entropy as ensemble_cross_entropy,
    gibbs_cross_entropy as gibbs_cross_entropy,
    variance_bound as variance_bound,
)
from .tensors.ensemble.diversity import (
    average_pairwise_diversity as average_pairwise_diversity,
    disagreement as disagreement,
    double_fault as double_fault,
)
from .tensors.ensemble.distances import (
    cosine_distance as cosine_distance,
    cosine_similarity as cosine_similarity,
    kl_divergence as kl_divergence,
    logit_kl_divergence as logit_kl_divergence,
    lp_distance as lp_distance,
)
from .numpy.ensemble.sampled_answers import (
    sampled_agreement as sampled_agreement,
    semantic_entropy as semantic_entropy,
)
from .numpy.ensemble.member_calibration import ensemble_calibration as ensemble_calibration

# Information criteria.
from .numpy.information.information_criteria import compare_information_criteria as compare_information_criteria
from .tensors.information_criteria import (
    importance_sampling_cross_validation as importance_sampling_cross_validation,
    negative_waic as negative_waic,
    psis_loo as psis_loo,
)
from .numpy.information.leave_one_out import loo_pit as loo_pit

# Keras metrics.
from .keras.metrics.calibration import (
    CalibrationError as CalibrationError,
    GeneralCalibrationError as GeneralCalibrationError,
)
from .keras.metrics.named_calibration_errors import (
    AdaptiveCalibrationError as AdaptiveCalibrationError,
    ExpectedCalibrationError as ExpectedCalibrationError,
    MaximumCalibrationError as MaximumCalibrationError,
    RootMeanSquaredCalibrationError as RootMeanSquaredCalibrationError,
    StaticCalibrationError as StaticCalibrationError,
    ThresholdedAdaptiveCalibrationError as ThresholdedAdaptiveCalibrationError,
)
from .keras.metrics.bayesian_calibration import BayesianExpectedCalibrationError as BayesianExpectedCalibrationError
from .keras.metrics.cell_calibration import (
    AveragedTwoBinCalibrationError as AveragedTwoBinCalibrationError,
    KolmogorovSmirnovCalibrationError as KolmogorovSmirnovCalibrationError,
    KuiperCalibrationError as KuiperCalibrationError,
    SmoothCalibrationError as SmoothCalibrationError,
)
from .keras.metrics.debiased_calibration import DebiasedCalibrationError as DebiasedCalibrationError
from .keras.metrics.brier_decompositions import BrierDecomposition as BrierDecomposition
from .keras.metrics.forecast_scores import (
    CRPSNormal as CRPSNormal,
    CRPSSamples as CRPSSamples,
    IntervalScore as IntervalScore,
    Pinball as Pinball,
    WeightedIntervalScore as WeightedIntervalScore,
)
from .keras.metrics.refined_likelihood import RefinedNegativeLogLikelihood as RefinedNegativeLogLikelihood
from .keras.metrics.scoring_rules import (
    BrierScore as BrierScore,
    NegativeLogLikelihood as NegativeLogLikelihood,
    RankedProbabilityScore as RankedProbabilityScore,
)
from .keras._family import AUC as AUC
from .keras.metrics.selective import (
    AUGRC as AUGRC,
    AURC as AURC,
    Accuracy as Accuracy,
    CoverageAtRisk as CoverageAtRisk,
    ExcessAURC as ExcessAURC,
    OracleCollaborativeAccuracy as OracleCollaborativeAccuracy,
    RiskAtCoverage as RiskAtCoverage,
)
from .keras.metrics.detection import (
    AUPR as AUPR,
    AUROC as AUROC,
    FPRAtTPR as FPRAtTPR,
)
from .keras.metrics.ensemble import (
    EnsembleCrossEntropy as EnsembleCrossEntropy,
    EnsembleDisagreement as EnsembleDisagreement,
    ExpectedEntropy as ExpectedEntropy,
    GibbsCrossEntropy as GibbsCrossEntropy,
    KnowledgeUncertainty as KnowledgeUncertainty,
    MeanMemberUncertainty as MeanMemberUncertainty,
    MutualInformation as MutualInformation,
    PredictiveEntropy as PredictiveEntropy,
    VariationRatio as VariationRatio,
)
from .keras.metrics.collection import MetricCollection as MetricCollection

# Keras losses.
from .keras.losses import (
    BrierLoss as BrierLoss,
    CRPSNormalLoss as CRPSNormalLoss,
    CRPSSampleLoss as CRPSSampleLoss,
    GaussianNLLLoss as GaussianNLLLoss,
    IntervalLoss as IntervalLoss,
    MMCELoss as MMCELoss,
    PinballLoss as PinballLoss,
    RankedProbabilityLoss as RankedProbabilityLoss,
    SoftCalibrationLoss as SoftCalibrationLoss,
)

# Keras callbacks.
from .keras.callbacks import ReliabilityDiagramCallback as ReliabilityDiagramCallback

# Plots.
from .visualization.selective import (
    accuracy_confidence_curve as accuracy_confidence_curve,
    accuracy_confidence_diagram as accuracy_confidence_diagram,
    risk_coverage_diagram as risk_coverage_diagram,
)
from .visualization.rejection import (
    rejection_curve as rejection_curve,
    rejection_diagram as rejection_diagram,
)
from .visualization.ensemble import (
    ensemble_calibration_diagram as ensemble_calibration_diagram,
    uncertainty_histogram as uncertainty_histogram,
)
from .visualization.decisions import (
    decision_curve_diagram as decision_curve_diagram,
    miscalibration_cost_diagram as miscalibration_cost_diagram,
    murphy_diagram as murphy_diagram,
)
from .visualization.drift import drift_diagram as drift_diagram
from .visualization.groups import calibration_by_group_diagram as calibration_by_group_diagram
from .visualization.posterior import posterior_diagram as posterior_diagram
from .visualization.reliability import (
    reliability_curve as reliability_curve,
    reliability_diagram as reliability_diagram,
)

__version__: str
