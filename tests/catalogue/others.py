"""Rows of all other functions, and of losses and plots."""

import functools
import math

import numpy as np

import uncertainty_metrics.numpy as um_np
from tests import penalty_references, references
from tests.catalogue.classifiers import camel
from tests.catalogue.forecasts import QUANTILES
from tests.catalogue.kinds import (
    NO_INTERVAL,
    ForecastRow,
    FunctionRow,
    LossRow,
    MembersRow,
    SetRow,
)


def _logps(rng, shape):
    return {"logps": {name: rng.normal(size=(*shape, 9)) / 5 for name in "ab"}}


def _of_classes(rng, shape, *names):
    found = {name: rng.dirichlet(np.ones(3), shape) for name in names}
    return {"labels": rng.integers(0, 3, shape), **found}


def _of_the_bootstrap(rng, shape):
    given = {"metric": um_np.brier_score, "num_resamples": 9, "seed": 1}
    return given | _of_classes(rng, shape, "probabilities")


def _of_a_difference(rng, shape):
    given = _of_the_bootstrap(rng, shape)
    first = {"probabilities": given.pop("probabilities")}
    second = {"probabilities": rng.dirichlet(np.ones(3), shape)}
    return {**given, "first": first, "second": second}


def _of_an_event(rng, shape):
    given = {"probabilities": rng.random(shape)}
    if rng.random() < 0.5:
        given = {"logits": rng.normal(size=(*shape, 2))}
    return {"labels": rng.integers(0, 2, shape), **given}


def _of_losses(rng, shape):
    confidences = np.round(rng.normal(size=shape), 1)
    return {"confidences": confidences, "losses": rng.exponential(size=shape)}


def _of_thresholds(rng, shape):
    losses = rng.integers(0, 5, (math.prod(shape), 6)) / 4
    losses[:, -1] = 0
    return {"losses": np.sort(losses, axis=1)[:, ::-1], "alpha": 0.2}


def _of_logits(rng, shape):
    logits = 3 * rng.normal(size=(*shape, 4))
    logits[..., 2] = np.where(rng.uniform(size=shape) < 0.3, -np.inf, logits[..., 2])
    return {"logits": logits}


def _of_a_number(rng, shape):
    return {"n": int(rng.integers(1, 9)), "level": 0.9}


def _of_stddevs(rng, shape):
    return {
        "targets": rng.normal(size=shape),
        "means": rng.normal(size=shape),
        "stddevs": np.exp(rng.normal(size=shape)),
    }


def _of_histories(rng, shape):
    return {"history": rng.normal(size=(*shape, 5)), "season": 2}


def _of_intervals(rng, shape):
    return {
        "labels": 2 * rng.normal(size=shape),
        "median": rng.normal(size=shape),
        "lower": rng.normal(size=(*shape, 2)) - 2,
        "upper": rng.normal(size=(*shape, 2)) + 2,
        "alphas": (0.1, 0.5),
    }


def _of_samples(rng, shape):
    samples = np.round(rng.normal(size=(*shape, 5)), 1)
    return {
        "labels": np.round(rng.normal(size=shape), 1),
        "predictive_samples": samples,
        "sample_weight": rng.integers(1, 3, shape),
    }


def _left_out(rng, shape):
    samples = rng.normal(size=(*shape, 9))
    return {
        "labels": rng.normal(size=shape),
        "predictive_samples": samples,
        "logp": -(samples**2) / 2,
    }


def _followed(rng, shape):
    survival = -np.sort(-rng.random((*shape, 2)), axis=-1)
    times, event = rng.random(shape), rng.integers(0, 2, shape)
    return {"times": times, "event": event, "survival": survival, "at": [0.1, 0.3]}


def _seen(rng, shape, *names):
    """Returns times, events, and scores with these names."""
    times, event = np.round(rng.random(shape), 1), rng.integers(0, 2, shape)
    scores = {name: np.round(rng.normal(size=shape), 1) for name in names}
    return {"times": times, "event": event, **scores}


def _risks(rng, shape):
    return _seen(rng, shape, "risk_scores")


def _until(rng, shape):
    return {**_seen(rng, shape), "at": 0.3}


def _scored(rng, shape, *names):
    scores = {name: np.round(rng.normal(size=shape), 1) for name in names}
    return {"labels": rng.integers(0, 2, shape), **scores}


def _one_score(rng, shape):
    return _scored(rng, shape, "scores")


def _decided(rng, shape):
    return _one_score(rng, shape) | {"threshold": 0.1}


def _two_scores(rng, shape):
    return _scored(rng, shape, "scores_1", "scores_2")


def _two_models(rng, shape):
    given = {name: rng.random(shape) for name in ("first", "second")}
    return {"labels": rng.integers(0, 2, shape), **given}


def _named_models(rng, shape):
    models = {name: rng.random(shape) for name in "ab"}
    return {"labels": rng.integers(0, 2, shape), "predictions": models}


def _of_one_column(rng, shape):
    return {"probabilities": rng.random(shape)}


def _of_an_aim(rng, shape):
    return {"probabilities": rng.random(shape), "ratio_width": 0.3}


def _at_own_times(rng, shape):
    return {"event": rng.integers(0, 2, shape), "survival": rng.random(shape)}


def _of_two_periods(rng, shape):
    """Makes sketches of two periods; in the second period the scores are too high."""
    periods = {}
    for name, power in (("first", 1.0), ("second", 1.5)):
        p = rng.random(max(40, math.prod(shape)))
        periods[name] = um_np.ScoreSketch(positive_class=True)
        periods[name].update(rng.random(p.shape) < p**power, p)
    return periods


def _rejected(rng, shape):
    return _of_classes(rng, shape, "probabilities", "ood_probabilities")


def _functions(*names, **more):
    return [FunctionRow(name, **more) for name in names]


def _members(name, **more):
    options = {"ensemble_axis": -2} if "outputs" not in more else {}
    cases = ((options, {}),)
    return MembersRow(name, metric=camel(name), metric_cases=cases, **more)


def _regression(name, options=None, transformed=True, **more):
    """Makes a row whose Keras class has these options, and a scale transform or not."""
    transform, wrong = {"scale_transform": "exp"}, {"scale_transform": "square"}
    options = options or {}
    return ForecastRow(
        f"regression.{name}",
        metric=f"regression.{camel(name)}",
        metric_cases=(({**options, **(transform if transformed else {})}, options),),
        bad_metric_options=(wrong,) if transformed else (),
        **more,
    )


def _in_groups(rng, shape):
    made = _of_an_event(rng, shape)
    return made | {"groups": rng.integers(0, 2, np.shape(made["labels"]))}


def _of_features(rng, shape):
    made = _of_an_event(rng, shape)
    shape = np.shape(made["labels"])
    features = {
        "age": rng.integers(18, 98, shape),
        "ward": rng.choice(["A", "B"], shape),
    }
    return {"features": features, **made}


def _classes(rng, shape):
    return {"labels": rng.integers(0, 3, shape), "classes": (0, 1, 2)}


def _answers(rng, shape):
    return {"answers": rng.integers(0, 3, (*shape, 4))}


def _clusters(rng, shape):
    clusters = rng.integers(0, 3, (*shape, 4))
    return {"clusters": clusters, "log_likelihoods": rng.normal(size=clusters.shape)}


def _detected(rng, shape):
    """Makes boxes of detections, and of true objects nearby, in three images."""
    n, m = max(1, math.prod(shape)), 5
    truth_boxes = rng.integers(0, 9, (m, 4)).astype(np.float64)
    return {
        "boxes": truth_boxes[rng.integers(0, m, n)] + rng.integers(0, 2, (n, 4)),
        "scores": np.round(rng.random(n), 1),
        "classes": rng.integers(0, 2, n),
        "truth_boxes": truth_boxes,
        "truth_classes": rng.integers(0, 2, m),
        "images": rng.integers(0, 3, n),
        "truth_images": rng.integers(0, 3, m),
    }


def _in_coco_format(rng, shape):
    given = _detected(rng, shape)
    rows = [
        [
            {"bbox": box, "category_id": category, "image_id": image, "score": 0.5}
            for box, category, image in zip(
                *(
                    given[f"{of}{name}"].tolist()
                    for name in ("boxes", "classes", "images")
                ),
                strict=True,
            )
        ]
        for of in ("", "truth_")
    ]
    truth = {
        "images": [{"id": i} for i in range(3)],
        "categories": [{"id": i} for i in range(2)],
        "annotations": rows[1],
    }
    return {"results": rows[0], "truth": truth}


def _table_of_groups(rng, shape):
    n = 60
    groups = {"a": rng.integers(0, 2, n), "b": rng.choice(["x", "y"], n)}
    return {
        "table": um_np.calibration_by_group(
            correct=rng.integers(0, 2, n), confidences=rng.random(n), groups=groups
        )
    }


_CURVE = {"half": "numpy", "left_out": NO_INTERVAL}
_NO_DRAWS = {
    "test_seeds_determine_the_values": "nothing is drawn; tests of their own do"
}
_SIZES = {**_CURVE, "unbounded": True, "jumps": True}
_IN_FLOAT64 = {
    "test_functions_lower_without_float64": "a small difference of two areas needs it"
}
# The sweep that compares weights with repeated examples.
_WEIGHTS = "test_weights_and_masks_of_other_functions_count_as_repeated_examples"
_COVERAGE = {"jumps": True, "kernel": "coverage"}
_PIT = {"jumps": True, "kernel": "pit"}

FUNCTION_ROWS = (
    # Calibration.
    FunctionRow(
        "bayesian_expected_calibration_error", random=True, left_out=NO_INTERVAL
    ),
    FunctionRow("probability_of_lower_calibration_error", jumps=True),
    FunctionRow(
        "refined_negative_log_likelihood",
        fixed={"repeats": 1, "seed": 0},
        jumps=True,
        unbounded=True,
    ),
    FunctionRow(
        "calibration_loss",
        make=_of_an_event,
        # Venn-Abers calibration can be fitted to any two classes.
        fixed={"calibrator": um_np.VennAbersCalibration, "folds": 2},
        jumps=True,
        unbounded=True,
        half="numpy",
        left_out={**NO_INTERVAL, _WEIGHTS: "an example is in one fold"},
    ),
    FunctionRow("calibration_test", fixed={"num_resamples": 9, "seed": 0}, **_CURVE),
    FunctionRow("calibration_drift", make=_of_two_periods, **_CURVE),
    FunctionRow("smallest_detectable_error", make=_of_one_column, **_SIZES),
    FunctionRow("examples_needed", make=_of_an_aim, **_SIZES),
    FunctionRow("calibration_error_difference", make=_two_models, jumps=True, **_CURVE),
    FunctionRow("reliability_curve", unbounded=True, fixed={"seed": 0}, **_CURVE),
    FunctionRow(
        "calibration_by_group",
        make=_in_groups,
        unbounded=True,
        words=("groups",),
        half="numpy",
        left_out={**NO_INTERVAL, _WEIGHTS: "weights give effective sizes"},
    ),
    FunctionRow(
        "find_miscalibrated_groups",
        make=_of_features,
        fixed={"min_examples": 5, "seed": 0},
        jumps=True,
        unbounded=True,
        half="numpy",
        left_out={**NO_INTERVAL, _WEIGHTS: "weights give effective sizes"},
    ),
    FunctionRow("class_indices", make=_classes, words=("labels",), **_CURVE),
    FunctionRow("sampled_agreement", make=_answers, jumps=True, **_CURVE),
    FunctionRow("semantic_entropy", make=_clusters, jumps=True, **_CURVE),
    # The references of these functions are in `tests/references.py`.
    FunctionRow(
        "smooth_calibration_error",
        aliases=("smece",),
        jumps=True,
        precision=1e-5,
        kernel="smooth",
    ),
    FunctionRow("corp_decomposition", half="numpy", jumps=True, unbounded=True),
    FunctionRow(
        "spiegelhalter_test", make=_of_an_event, jumps=True, left_out=NO_INTERVAL
    ),
    *(
        FunctionRow(
            name,
            make=_of_an_event,
            fixed={"thresholds": [0.0, 0.2, 0.7]},
            jumps=True,
            half="numpy",
            left_out={**NO_INTERVAL, **_NO_DRAWS},
        )
        for name in ("net_benefit", "murphy_curve")
    ),
    FunctionRow(
        "miscalibration_cost",
        make=_of_an_event,
        fixed={"cross_fitted": False},
        jumps=True,
        half="numpy",
        left_out={
            **NO_INTERVAL,
            **_NO_DRAWS,
            "test_bad_options_raise": "without `cross_fitted` there are no folds",
        },
    ),
    *_functions(
        *("calibration_intercept", "calibration_slope", "observed_expected_ratio"),
        make=_of_an_event,
        half="numpy",
        unbounded=True,
    ),
    FunctionRow("integrated_calibration_index", make=_of_an_event, half="numpy"),
    *(
        FunctionRow(
            f"{name}{end}",
            aliases=(f"{alias}{end}",),
            half="numpy",
            fixed={"seed": 0},
        )
        for name, alias in (
            ("censored_calibration_error", "cce"),
            ("semiparametric_calibration_error", "spce"),
        )
        for end in ("", "_conf_int")
    ),
    # Survival.
    *(
        FunctionRow(name, make=_followed, half="numpy")
        for name in ("ipcw_brier_score", "integrated_brier_score")
    ),
    FunctionRow("d_calibration", make=_at_own_times, half="numpy", jumps=True),
    FunctionRow("concordance_index", make=_risks, half="numpy", jumps=True),
    FunctionRow(
        "survival_at",
        make=_until,
        half="numpy",
        left_out={**NO_INTERVAL, _WEIGHTS: "it returns a value for each example"},
    ),
    # Intervals.
    FunctionRow("bootstrap", make=_of_the_bootstrap, **_CURVE),
    FunctionRow("bootstrap_difference", make=_of_a_difference, **_CURVE),
    FunctionRow(
        "compare",
        make=_named_models,
        fixed={"metrics": "aurc", "num_resamples": 50, "seed": 0},
        jumps=True,
        **_CURVE,
    ),
    FunctionRow("auroc_interval", make=_one_score, half="numpy", jumps=True),
    FunctionRow("auroc_difference", make=_two_scores, half="numpy", jumps=True),
    *_functions(
        *("sensitivity", "specificity"),
        *("positive_predictive_value", "negative_predictive_value"),
        make=_decided,
        half="numpy",
        jumps=True,
    ),
    # Scores.
    FunctionRow("scaled_brier_score", make=_of_an_event, half="numpy"),
    # Scores of distributions.
    *_functions("crps_distribution", "regression.distribution_pit", half="tensors"),
    # Selective prediction.
    FunctionRow(
        "risk_coverage_curve", jumps=True, left_out=NO_INTERVAL, kernel="ranking"
    ),
    FunctionRow(
        "area_under_accuracy_rejection_curve",
        aliases=("auarc",),
        jumps=True,
        scale=9.0,
        kernel="ranking",
    ),
    FunctionRow(
        "area_under_sparsification_error_curve",
        aliases=("ause",),
        jumps=True,
        scale=9.0,
        kernel="oracle",
        left_out=_IN_FLOAT64,
    ),
    FunctionRow(
        "prediction_rejection_ratio",
        aliases=("prr",),
        make=_of_losses,
        jumps=True,
        kernel="oracle",
        left_out=_IN_FLOAT64,
    ),
    FunctionRow("accuracy_confidence_curve", unbounded=True, **_CURVE),
    FunctionRow("rejection_curve", make=_rejected, **_CURVE),
    FunctionRow("threshold_at_risk", unbounded=True, **_CURVE),
    # Out of distribution.
    *_functions(
        *("max_softmax", "max_logit", "energy"),
        make=_of_logits,
        left_out=NO_INTERVAL,
        scale=9.0,
        kernel="largest logits",
    ),
    # Conformal prediction.
    FunctionRow("conformal.conformal_quantile", unbounded=True, **_CURVE),
    FunctionRow(
        "conformal.conformal_risk_control",
        make=_of_thresholds,
        unbounded=True,  # The result is None if no threshold is good enough.
        **_CURVE,
    ),
    SetRow(
        "conformal.coverage",
        metric="conformal.ConformalCoverage",
        metric_cases=(({}, {}),),
    ),
    SetRow(
        "conformal.mean_set_size",
        metric="conformal.MeanSetSize",
        metric_cases=(({}, {}),),
    ),
    FunctionRow("conformal.class_coverage_gap", **_CURVE),
    FunctionRow(
        "conformal.coverage_by_group", words=("labels", "groups"), jumps=True, **_CURVE
    ),
    FunctionRow("conformal.size_stratified_coverage", **_CURVE),
    # Object detection.
    FunctionRow("detection.match_detections", make=_detected, jumps=True, **_CURVE),
    FunctionRow("detection.read_coco", make=_in_coco_format, **_CURVE),
    # Ensembles.
    FunctionRow("model_uncertainty", kernel="entropies"),
    *(
        _members(name, kernel="entropies")
        for name in ("predictive_entropy", "expected_entropy", "mutual_information")
    ),
    _members("ensemble_disagreement", jumps=True, kernel="votes"),
    _members("mean_member_uncertainty"),
    _members("variation_ratio", jumps=True, kernel="votes"),
    _members("ensemble_cross_entropy", unbounded=True),
    _members("gibbs_cross_entropy", unbounded=True, kernel="members"),
    _members("knowledge_uncertainty", outputs=(3,)),
    FunctionRow("ensemble_calibration", unbounded=True, **_CURVE),
    *_functions("disagreement", "double_fault", jumps=True),
    *_functions(
        "logit_kl_divergence", "kl_divergence", unbounded=True, kernel="divergence"
    ),
    FunctionRow("lp_distance"),
    *_functions("cosine_similarity", "cosine_distance", jumps=True, kernel="cosine"),
    FunctionRow("average_pairwise_diversity", jumps=True, unbounded=True),
    FunctionRow("variance_bound"),
    # Information criteria.
    *_functions(
        *("negative_waic", "importance_sampling_cross_validation"),
        unbounded=True,
        kernel="waic",
    ),
    FunctionRow("psis_loo", unbounded=True, left_out=NO_INTERVAL),
    FunctionRow("loo_pit", make=_left_out, **_CURVE),
    FunctionRow("compare_information_criteria", make=_logps, unbounded=True, **_CURVE),
    # Regression.
    FunctionRow("regression.compute_calibration_curve", **_COVERAGE),
    _regression("expected_calibration_error", {"n_bins": 7}, **_COVERAGE),
    _regression("interval_coverage", {"level": 0.8}, **_COVERAGE),
    FunctionRow("regression.calibration_error", **_COVERAGE),
    _regression("interval_width", {"level": 0.8}),
    _regression("sharpness"),
    _regression("root_mean_squared_error", transformed=False),
    _regression("negative_log_likelihood", scale=1000.0),
    FunctionRow(
        "regression.expected_normalized_calibration_error",
        aliases=("regression.ence",),
        jumps=True,
    ),
    FunctionRow("regression.evaluate_calibration", **_COVERAGE),
    FunctionRow("regression.probability_integral_transform"),
    FunctionRow(
        "regression.calibration_loss",
        make=_of_stddevs,
        fixed={"folds": 2},
        jumps=True,
        unbounded=True,
        half="numpy",
        left_out={**NO_INTERVAL, _WEIGHTS: "an example is in one fold"},
    ),
    *_functions(
        *("regression.pit_histogram", "regression.pit_calibration_curve"),
        "regression.pit_calibration_error",
        **_PIT,
    ),
    *_functions("regression.sample_pit", "regression.quantile_pit", jumps=True),
    FunctionRow(
        "regression.quantile_coverage",
        half="numpy",
        jumps=True,
        left_out={
            _WEIGHTS: "a column has the number of examples",
            "test_bootstrap_equals_calls_with_resampled_arguments": "it is a table",
        },
    ),
    FunctionRow("regression.seasonal_error", half="numpy", make=_of_histories),
    FunctionRow("regression.ecdf_band", make=_of_a_number, **_CURVE),
    FunctionRow("rank_histogram", make=_of_samples, **_CURVE),
    FunctionRow(
        "weighted_interval_score_decomposition",
        aliases=("regression.weighted_interval_score_decomposition",),
        make=_of_intervals,
    ),
)


def _interval_reference(labels, bounds, weights, alpha):
    del weights
    return references.interval(labels, bounds[..., 0], bounds[..., 1], alpha)


_LOGITS = {"from_logits": True}
_NORMAL = {
    "options": {"scale_transform": "exp"},
    "variants": tuple(
        {"scale_transform": name}
        for name in ("softplus", "identity", "variance", "log_variance")
    ),
}
LOSSES = (
    LossRow("BrierLoss", metric="BrierScore", variants=(_LOGITS, {"zero_based": True})),
    LossRow("CRPSNormalLoss", metric="CRPSNormal", **_NORMAL),
    LossRow(
        "CRPSSampleLoss",
        metric="CRPSSamples",
        variants=(
            *({"estimator": "nrg"}, {"estimator": "roll"}),
            {"estimator": "almost_fair", "alpha": 0.75},
        ),
    ),
    LossRow("GaussianNLLLoss", metric="regression.NegativeLogLikelihood", **_NORMAL),
    LossRow(
        "IntervalLoss",
        metric="IntervalScore",
        options={"alpha": 0.2},
        reference=_interval_reference,
    ),
    LossRow(
        "RankedProbabilityLoss", metric="RankedProbabilityScore", variants=(_LOGITS,)
    ),
    LossRow("PinballLoss", metric="Pinball", options={"quantiles": QUANTILES}),
    LossRow(
        "SoftCalibrationLoss",
        metric="NegativeLogLikelihood",
        options={"weight": 2.0},
        reference=penalty_references.soft_calibration,
        is_mean=False,
        variants=(
            {**_LOGITS, "norm": "l1", "num_bins": 5, "temperature": 0.03},
            {"proper_loss": None},
            {"proper_loss": "brier"},
        ),
    ),
    LossRow(
        "MMCELoss",
        metric="NegativeLogLikelihood",
        options={"weight": 2.0},
        reference=penalty_references.mmce,
        is_mean=False,
        variants=(
            {**_LOGITS, "bandwidth": 0.02},
            {"proper_loss": None, "bandwidth": 1.0},
        ),
    ),
)


def _two_results(rng, shape):
    makes = rng.normal, rng.exponential, rng.normal
    return {"results": {model: [make(size=shape) for make in makes] for model in "ab"}}


def _posteriors(rng, shape):
    return {"samples": {model: rng.gamma(9.0, 0.01, shape) for model in "ab"}}


_plot = functools.partial(FunctionRow, half="numpy")

PLOTS = (
    _plot("accuracy_confidence_diagram"),
    _plot("rejection_diagram", make=_rejected),
    _plot("risk_coverage_diagram"),
    _plot("reliability_diagram"),
    _plot("drift_diagram", make=_of_two_periods),
    _plot("decision_curve_diagram", make=_of_an_event),
    _plot("miscalibration_cost_diagram", make=_of_an_event),
    _plot("murphy_diagram", make=_of_an_event),
    _plot("posterior_diagram", make=_posteriors),
    _plot("calibration_by_group_diagram", make=_table_of_groups),
    _plot("ensemble_calibration_diagram"),
    _plot("uncertainty_histogram"),
    _plot("regression.pit_diagram", aliases=("regression.plot_pit_histogram",)),
    _plot(
        "regression.reliability_diagram",
        aliases=("regression.plot_reliability_diagram",),
    ),
    _plot(
        "regression.uncertainty_error_diagram",
        aliases=("regression.plot_uncertainty_vs_error",),
    ),
    _plot("regression.create_calibration_report"),
    _plot(
        "regression.calibration_comparison_diagram",
        aliases=("regression.plot_calibration_comparison",),
        make=_two_results,
    ),
)
