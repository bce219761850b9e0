# As written by scripts/write_stubs.py.
import collections.abc
from typing import Any, Literal

from uncertainty_metrics._torch import (
    conformal as conformal,
    regression as regression,
)
from uncertainty_metrics import (
    datasets as datasets,
    detection as detection,
    numpy as numpy,
    read_answers as read_answers,
    report as report,
    bin_statistics as bin_statistics,
    compute_all_metrics as compute_all_metrics,
    gce as gce,
    general_calibration_error as general_calibration_error,
    ece as ece,
    expected_calibration_error as expected_calibration_error,
    maximum_calibration_error as maximum_calibration_error,
    mce as mce,
    rmsce as rmsce,
    root_mean_squared_calibration_error as root_mean_squared_calibration_error,
    ace as ace,
    adaptive_calibration_error as adaptive_calibration_error,
    sce as sce,
    static_calibration_error as static_calibration_error,
    tace as tace,
    thresholded_adaptive_calibration_error as thresholded_adaptive_calibration_error,
    BinStatistics as BinStatistics,
    MetricState as MetricState,
    calibration_error_difference as calibration_error_difference,
    calibration_by_group as calibration_by_group,
    ScoreSketch as ScoreSketch,
    Summary as Summary,
    calibration_drift as calibration_drift,
    CalibrationMonitor as CalibrationMonitor,
    find_miscalibrated_groups as find_miscalibrated_groups,
    calibration_error_interval as calibration_error_interval,
    debiased_calibration_error as debiased_calibration_error,
    corp_decomposition as corp_decomposition,
    atb as atb,
    averaged_two_bin_calibration_error as averaged_two_bin_calibration_error,
    kolmogorov_smirnov_calibration_error as kolmogorov_smirnov_calibration_error,
    ks_calibration_error as ks_calibration_error,
    kuiper_calibration_error as kuiper_calibration_error,
    spiegelhalter_test as spiegelhalter_test,
    calibration_intercept as calibration_intercept,
    calibration_slope as calibration_slope,
    integrated_calibration_index as integrated_calibration_index,
    observed_expected_ratio as observed_expected_ratio,
    miscalibration_cost as miscalibration_cost,
    murphy_curve as murphy_curve,
    net_benefit as net_benefit,
    smece as smece,
    smooth_calibration_error as smooth_calibration_error,
    CCE as CCE,
    CensoredCalibrationError as CensoredCalibrationError,
    cce as cce,
    cce_conf_int as cce_conf_int,
    censored_calibration_error as censored_calibration_error,
    censored_calibration_error_conf_int as censored_calibration_error_conf_int,
    SPCE as SPCE,
    SemiparametricCalibrationError as SemiparametricCalibrationError,
    semiparametric_calibration_error as semiparametric_calibration_error,
    semiparametric_calibration_error_conf_int as semiparametric_calibration_error_conf_int,
    spce as spce,
    spce_conf_int as spce_conf_int,
    calibration_loss as calibration_loss,
    LabelShift as LabelShift,
    TemperatureScaling as TemperatureScaling,
    refined_negative_log_likelihood as refined_negative_log_likelihood,
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
    BetaCalibration as BetaCalibration,
    HistogramBinning as HistogramBinning,
    IsotonicCalibration as IsotonicCalibration,
    PlattScaling as PlattScaling,
    QuadraticCalibration as QuadraticCalibration,
    SplineCalibration as SplineCalibration,
    EnsembleTemperatureScaling as EnsembleTemperatureScaling,
    VennAbersCalibration as VennAbersCalibration,
    bootstrap as bootstrap,
    bootstrap_difference as bootstrap_difference,
    calibration_test as calibration_test,
    examples_needed as examples_needed,
    smallest_detectable_error as smallest_detectable_error,
    compare as compare,
    make_scorers as make_scorers,
    class_indices as class_indices,
    bayesian_expected_calibration_error as bayesian_expected_calibration_error,
    probability_of_lower_calibration_error as probability_of_lower_calibration_error,
    brier_decomposition as brier_decomposition,
    brier_decomposition_exact as brier_decomposition_exact,
    brier_score as brier_score,
    negative_log_likelihood as negative_log_likelihood,
    ranked_probability_score as ranked_probability_score,
    crps_normal_score as crps_normal_score,
    crps_quantile_score as crps_quantile_score,
    crps_score as crps_score,
    energy_score as energy_score,
    interval_score as interval_score,
    pinball_loss as pinball_loss,
    threshold_weighted_crps as threshold_weighted_crps,
    weighted_interval_score as weighted_interval_score,
    weighted_interval_score_decomposition as weighted_interval_score_decomposition,
    scaled_brier_score as scaled_brier_score,
    rank_histogram as rank_histogram,
    dawid_sebastiani_score as dawid_sebastiani_score,
    variogram_score as variogram_score,
    crps_distribution as crps_distribution,
    concordance_index as concordance_index,
    survival_at as survival_at,
    d_calibration as d_calibration,
    integrated_brier_score as integrated_brier_score,
    ipcw_brier_score as ipcw_brier_score,
    threshold_at_risk as threshold_at_risk,
    accuracy as accuracy,
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
    area_under_accuracy_rejection_curve as area_under_accuracy_rejection_curve,
    area_under_sparsification_error_curve as area_under_sparsification_error_curve,
    auarc as auarc,
    ause as ause,
    prediction_rejection_ratio as prediction_rejection_ratio,
    prr as prr,
    aupr as aupr,
    auroc as auroc,
    fpr_at_tpr as fpr_at_tpr,
    auroc_difference as auroc_difference,
    auroc_interval as auroc_interval,
    negative_predictive_value as negative_predictive_value,
    positive_predictive_value as positive_predictive_value,
    sensitivity as sensitivity,
    specificity as specificity,
    energy as energy,
    max_logit as max_logit,
    max_softmax as max_softmax,
    Mahalanobis as Mahalanobis,
    ensemble_disagreement as ensemble_disagreement,
    expected_entropy as expected_entropy,
    knowledge_uncertainty as knowledge_uncertainty,
    mean_member_uncertainty as mean_member_uncertainty,
    model_uncertainty as model_uncertainty,
    mutual_information as mutual_information,
    predictive_entropy as predictive_entropy,
    variation_ratio as variation_ratio,
    ensemble_cross_entropy as ensemble_cross_entropy,
    gibbs_cross_entropy as gibbs_cross_entropy,
    variance_bound as variance_bound,
    average_pairwise_diversity as average_pairwise_diversity,
    disagreement as disagreement,
    double_fault as double_fault,
    cosine_distance as cosine_distance,
    cosine_similarity as cosine_similarity,
    kl_divergence as kl_divergence,
    logit_kl_divergence as logit_kl_divergence,
    lp_distance as lp_distance,
    sampled_agreement as sampled_agreement,
    semantic_entropy as semantic_entropy,
    ensemble_calibration as ensemble_calibration,
    compare_information_criteria as compare_information_criteria,
    importance_sampling_cross_validation as importance_sampling_cross_validation,
    negative_waic as negative_waic,
    psis_loo as psis_loo,
    loo_pit as loo_pit,
    accuracy_confidence_curve as accuracy_confidence_curve,
    accuracy_confidence_diagram as accuracy_confidence_diagram,
    risk_coverage_diagram as risk_coverage_diagram,
    rejection_curve as rejection_curve,
    rejection_diagram as rejection_diagram,
    ensemble_calibration_diagram as ensemble_calibration_diagram,
    uncertainty_histogram as uncertainty_histogram,
    decision_curve_diagram as decision_curve_diagram,
    miscalibration_cost_diagram as miscalibration_cost_diagram,
    murphy_diagram as murphy_diagram,
    drift_diagram as drift_diagram,
    calibration_by_group_diagram as calibration_by_group_diagram,
    posterior_diagram as posterior_diagram,
    reliability_curve as reliability_curve,
    reliability_diagram as reliability_diagram,
)
from uncertainty_metrics._torch.loss import Loss as Loss
from uncertainty_metrics._torch.metric import Metric as Metric

class CalibrationError(Metric):
    def __init__(
        self,
        task: Literal['binary', 'multiclass'],
        adaptive: bool = False,
        num_bins: int = 10,
        norm: Literal['l1', 'l2', 'max'] = 'l1',
        num_classes: int | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        num_groups: int | None = None,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class GeneralCalibrationError(Metric):
    def __init__(
        self,
        binning_scheme: Literal['even', 'adaptive'],
        max_prob: bool,
        class_conditional: bool,
        norm: Literal['l1', 'l2', 'max'],
        num_bins: int = 15,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        per_image: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class AdaptiveCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class ExpectedCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        per_image: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class MaximumCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class RootMeanSquaredCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class StaticCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class ThresholdedAdaptiveCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        threshold: float | None = None,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class BayesianExpectedCalibrationError(Metric):
    def __init__(
        self,
        num_bins: int = 15,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        prior_alpha: float | None = None,
        num_ece_samples: int = 500,
        seed: int = 0,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class AveragedTwoBinCalibrationError(Metric):
    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class KolmogorovSmirnovCalibrationError(Metric):
    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class KuiperCalibrationError(Metric):
    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class SmoothCalibrationError(Metric):
    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        bandwidth: float | None = None,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        label_distributions: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class DebiasedCalibrationError(Metric):
    def __init__(
        self,
        binning_scheme: Literal['even', 'adaptive'] = 'adaptive',
        max_prob: bool = True,
        class_conditional: bool = False,
        num_bins: int = 15,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        squared: bool = False,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class BrierDecomposition(Metric):
    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = 'brier_decomposition',
        dtype: Any = None,
        *,
        exact: bool = False,
        sparse_labels: bool | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class CRPSNormal(Metric):
    def __init__(
        self,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        name: str | None = 'crps_normal',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class CRPSSamples(Metric):
    def __init__(
        self,
        estimator: Literal['fair', 'nrg', 'almost_fair', 'roll'] = 'fair',
        name: str | None = 'crps_samples',
        dtype: Any = None,
        *,
        alpha: float = 0.95,
        **of_torchmetrics: Any,
    ) -> None: ...

class IntervalScore(Metric):
    def __init__(
        self,
        alpha: float,
        name: str | None = 'interval_score',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class Pinball(Metric):
    def __init__(
        self,
        quantiles: float | collections.abc.Sequence[float],
        name: str | None = 'pinball',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class WeightedIntervalScore(Metric):
    def __init__(
        self,
        alphas: collections.abc.Sequence[float],
        name: str | None = 'weighted_interval_score',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class RefinedNegativeLogLikelihood(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = 'refined_nll',
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class BrierScore(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = 'brier_score',
        dtype: Any = None,
        *,
        zero_based: bool = False,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        multilabel: bool = False,
        per_image: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class NegativeLogLikelihood(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = 'negative_log_likelihood',
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        multilabel: bool = False,
        per_image: bool = False,
        **of_torchmetrics: Any,
    ) -> None: ...

class RankedProbabilityScore(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = 'ranked_probability_score',
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class AUGRC(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class AURC(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class Accuracy(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = 'accuracy',
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class CoverageAtRisk(Metric):
    def __init__(
        self,
        risk: float = 0.05,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class ExcessAURC(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class OracleCollaborativeAccuracy(Metric):
    def __init__(
        self,
        fraction: float = 0.01,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class RiskAtCoverage(Metric):
    def __init__(
        self,
        coverage: float = 0.8,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class AUPR(Metric):
    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Literal['out', 'in'] = 'out',
        **of_torchmetrics: Any,
    ) -> None: ...

class AUROC(Metric):
    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Literal['out', 'in'] = 'out',
        num_classes: int | None = None,
        multilabel: bool = False,
        average: Literal['macro'] | None = 'macro',
        **of_torchmetrics: Any,
    ) -> None: ...

class FPRAtTPR(Metric):
    def __init__(
        self,
        tpr: float = 0.95,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Literal['out', 'in'] = 'out',
        **of_torchmetrics: Any,
    ) -> None: ...

class EnsembleCrossEntropy(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int = 1,
        sparse_labels: bool | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class EnsembleDisagreement(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
        **of_torchmetrics: Any,
    ) -> None: ...

class ExpectedEntropy(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
        **of_torchmetrics: Any,
    ) -> None: ...

class GibbsCrossEntropy(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int = 1,
        sparse_labels: bool | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class KnowledgeUncertainty(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = 'knowledge_uncertainty',
        dtype: Any = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class MeanMemberUncertainty(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
        **of_torchmetrics: Any,
    ) -> None: ...

class MutualInformation(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
        **of_torchmetrics: Any,
    ) -> None: ...

class PredictiveEntropy(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
        **of_torchmetrics: Any,
    ) -> None: ...

class VariationRatio(Metric):
    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
        **of_torchmetrics: Any,
    ) -> None: ...

class BrierLoss(Loss):
    def __init__(
        self,
        from_logits: bool = False,
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'brier_loss',
        dtype: Any = None,
        zero_based: bool = False,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
        multilabel: bool = False,
    ) -> None: ...

class CRPSNormalLoss(Loss):
    def __init__(
        self,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'crps_normal_loss',
        dtype: Any = None,
    ) -> None: ...

class CRPSSampleLoss(Loss):
    def __init__(
        self,
        estimator: Literal['fair', 'nrg', 'almost_fair', 'roll'] = 'fair',
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'crps_sample_loss',
        dtype: Any = None,
        alpha: float = 0.95,
    ) -> None: ...

class GaussianNLLLoss(Loss):
    def __init__(
        self,
        scale_transform: Literal['softplus', 'exp', 'identity', 'variance', 'log_variance'] = 'softplus',
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'gaussian_nll_loss',
        dtype: Any = None,
    ) -> None: ...

class IntervalLoss(Loss):
    def __init__(
        self,
        alpha: float,
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'interval_loss',
        dtype: Any = None,
    ) -> None: ...

class MMCELoss(Loss):
    def __init__(
        self,
        weight: float,
        from_logits: bool = False,
        *,
        bandwidth: float = 0.2,
        proper_loss: Literal['nll', 'brier', None] = 'nll',
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'mmce_loss',
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None: ...

class PinballLoss(Loss):
    def __init__(
        self,
        quantiles: float | collections.abc.Sequence[float],
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'pinball_loss',
        dtype: Any = None,
    ) -> None: ...

class RankedProbabilityLoss(Loss):
    def __init__(
        self,
        from_logits: bool = False,
        *,
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'ranked_probability_loss',
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None: ...

class SoftCalibrationLoss(Loss):
    def __init__(
        self,
        weight: float,
        from_logits: bool = False,
        *,
        num_bins: int = 15,
        temperature: float = 0.01,
        norm: Literal['l1', 'l2'] = 'l2',
        proper_loss: Literal['nll', 'brier', None] = 'nll',
        reduction: Literal['sum_over_batch_size', 'sum', 'none'] = 'sum_over_batch_size',
        name: str | None = 'soft_calibration_loss',
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None: ...
