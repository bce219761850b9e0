"""Rows of the scores of real-valued forecasts, and of detectors."""

import math

import numpy as np
import sklearn.metrics

from tests import makers, references, sample_references
from tests.catalogue.classifiers import FEW_CELLS
from tests.catalogue.kinds import DetectionRow, RealRow

QUANTILES = (0.1, 0.5, 0.75)


_ESTIMATORS = (
    *({}, {"estimator": "nrg"}, {"estimator": "roll"}),
    {"estimator": "almost_fair", "alpha": 0.75},
)
_WEIGHTS = {"member_weights": (1, 2, 0, 0.5, 0.25, 1, 3)}
_WEIGHTED = ("fair", "nrg", "almost_fair")
REAL_ROWS = (
    RealRow(
        "crps_normal_score",
        aliases=("regression.crps_normal_score",),
        reference=references.integrated_crps("norm"),
        make=lambda rng, shape: {
            "labels": 3 * rng.normal(size=shape),
            "means": rng.normal(size=shape),
            "stddevs": np.exp(rng.normal(size=shape)),
        },
        metric="CRPSNormal",
        metric_cases=(({"scale_transform": "exp"}, {}),),
        units=2,
        split=lambda p: {"means": p[..., 0], "stddevs": np.exp(p[..., 1])},
        bad_metric_options=({"scale_transform": "square"},),
        bad_values={"stddevs": -1.0},
    ),
    RealRow(
        "crps_score",
        aliases=("regression.crps_score",),
        reference=sample_references.crps,
        make=makers.samples,
        cases=(*_ESTIMATORS, *({"estimator": e, **_WEIGHTS} for e in _WEIGHTED)),
        tail={"predictive_samples": 1},
        metric="CRPSSamples",
        metric_cases=tuple((case, case) for case in _ESTIMATORS),
        units=5,
        split=lambda p: {"predictive_samples": p},
        bad_metric_options=({"estimator": "pwm"}, {"alpha": 1.5}),
        numbers={
            "member_weights": (
                *((1,) * 7, (0,) * 6 + (1,), (0,) * 7, (1, -1, 1, 1, 1, 1, 1)),
                *((1e-30, 1e30, 1, 1, 1, 1, 1), np.ones(7), np.ones((7, 7))),
                *makers.WRONG,
            )
        },
    ),
    RealRow(
        "pinball_loss",
        aliases=("regression.pinball_loss",),
        reference=references.pinball,
        make=lambda rng, shape: {
            "labels": rng.normal(size=shape),
            "quantile_predictions": rng.normal(size=(*shape, 3)),
        },
        cases=({"quantiles": QUANTILES},),
        tail={"quantile_predictions": 1},
        metric="Pinball",
        metric_cases=(({"quantiles": QUANTILES},) * 2,),
        units=3,
        split=lambda p: {"quantile_predictions": p},
        bad_metric_options=({"quantiles": [0.5, 2]}, {"quantiles": []}),
    ),
    RealRow(
        "crps_quantile_score",
        aliases=("regression.crps_quantile_score",),
        reference=lambda labels, quantile_predictions, quantiles: (
            2
            * np.mean(
                references.pinball(labels, quantile_predictions, quantiles), axis=-1
            )
        ),
        make=lambda rng, shape: {
            "labels": rng.normal(size=shape),
            "quantile_predictions": rng.normal(size=(*shape, 3)),
        },
        cases=({"quantiles": QUANTILES},),
        tail={"quantile_predictions": 1},
    ),
    RealRow(
        "interval_score",
        aliases=("regression.interval_score",),
        reference=references.interval,
        make=lambda rng, shape: {
            "labels": 2 * rng.normal(size=shape),
            "lower": rng.normal(size=shape) - 1,
            "upper": rng.normal(size=shape) + 1,
        },
        cases=({"alpha": 0.1}, {"alpha": 0.5}),
        metric="IntervalScore",
        metric_cases=(({"alpha": 0.2},) * 2,),
        units=2,
        split=lambda p: {"lower": p[..., 0], "upper": p[..., 1]},
        bad_metric_options=({"alpha": -0.5},),
    ),
    RealRow(
        "weighted_interval_score",
        aliases=("regression.weighted_interval_score",),
        reference=sample_references.weighted_interval,
        make=lambda rng, shape: {
            "labels": 2 * rng.normal(size=shape),
            "median": rng.normal(size=shape),
            "lower": rng.normal(size=(*shape, 2)) - 1,
            "upper": rng.normal(size=(*shape, 2)) + 1,
        },
        cases=({"alphas": (0.1, 0.5)},),
        tail={"lower": 1, "upper": 1},
        metric="WeightedIntervalScore",
        metric_cases=(({"alphas": (0.1, 0.5)},) * 2,),
        units=5,
        split=lambda p: {
            "median": p[..., 0],
            "lower": p[..., 1::2],
            "upper": p[..., 2::2],
        },
        bad_metric_options=({"alphas": [0.5, 2]}, {"alphas": []}, {"alphas": 0.5}),
        numbers={
            "alphas": ((0.5, 0.1), (0.5, 0.5), (0.1,), (0.1, 1), 0.5, *makers.WRONG)
        },
    ),
    RealRow(
        "threshold_weighted_crps",
        aliases=("regression.threshold_weighted_crps",),
        reference=sample_references.threshold_weighted_crps,
        make=makers.samples,
        cases=(
            *({}, {"lower": 0.25}, {"upper": 0.5, "estimator": "nrg"}),
            {"lower": -0.5, "upper": 1.0, "estimator": "fair"},
        ),
        tail={"predictive_samples": 1},
        numbers=dict.fromkeys(
            ("lower", "upper"), (-math.inf, -0.5, 0, 0.25, np.float64(2), *makers.WRONG)
        ),
    ),
    RealRow(
        "energy_score",
        aliases=("regression.energy_score",),
        reference=sample_references.energy,
        make=makers.vectors,
        cases=_ESTIMATORS,
        tail={"labels": 1, "predictive_samples": 2},
    ),
    RealRow(
        "variogram_score",
        aliases=("regression.variogram_score",),
        reference=sample_references.variogram,
        make=makers.vectors,
        cases=(
            *({}, {"p": 1}),
            {"p": 0.75, "weights": ((0, 1, 2), (0.5, 0, 1), (1, 1, 0))},
        ),
        tail={"labels": 1, "predictive_samples": 2},
        numbers={
            "p": (0.5, 1, 2, math.inf, *makers.WRONG),
            "weights": (
                *(((0, 0, 0),) * 3, ((0, 1, -1),) * 3, ((0, 1), (1, 0)), np.eye(3)),
                *makers.WRONG,
            ),
        },
    ),
    RealRow(
        "dawid_sebastiani_score",
        aliases=("regression.dawid_sebastiani_score",),
        left_out={
            "test_functions_lower_without_float64": "covariances are inverted in it"
        },
        reference=sample_references.dawid_sebastiani,
        make=makers.vectors,
        tail={"labels": 1, "predictive_samples": 2},
    ),
)


def _with_positive(reference):
    """Returns the reference with the option which of the labels is positive."""

    def value(labels, scores, positive="out", **options):
        if positive == "in":
            labels, scores = 1 - labels, -np.asarray(scores, np.float64)
        return reference(labels, scores, **options)

    return value


_IN = {"positive": "in"}


def _detection(name, metric, reference, cases=({}, _IN), bad=()):
    return DetectionRow(
        name,
        reference=_with_positive(reference),
        make=makers.scores,
        cases=cases,
        metric=metric,
        metric_cases=tuple(({**case, **FEW_CELLS}, case) for case in cases),
        bad_metric_options=({"sketch_bits": -1}, {"positive": "ood"}, *bad),
        bad_values={"labels": 2.0},
    )


DETECTION_ROWS = (
    _detection("auroc", "AUROC", sklearn.metrics.roc_auc_score),
    _detection("aupr", "AUPR", sklearn.metrics.average_precision_score),
    _detection(
        *("fpr_at_tpr", "FPRAtTPR", references.fpr_at_tpr),
        ({}, {"tpr": 0.5}, {"tpr": 1.0}, {"tpr": 0.5, **_IN}),
        ({"tpr": 0.0}, {"tpr": 1.5}, {"tpr": None}),
    ),
)
