"""One row per public name: what the harness needs to put it through every sweep.

A new metric gets all the sweeps from a row: agreement with its reference, NumPy
against TensorFlow, eager against compiled, batches, weights, replicas, bad input.
`tests/repo/test_public_names.py` fails for a public name without a row.

Functions of class probabilities are in `ROWS`, which `test_catalogue.py` of each room
reads; scores of real-valued forecasts are in `REAL_ROWS`, read by
`tests/parity/test_real_scores.py`, and detection metrics in `DETECTION_ROWS`, read by
`tests/parity/test_detection.py`. The Keras metrics of all are in `METRICS`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

import uncertainty_metrics.numpy as um_np
from tests import references

SCHEMES = ("even", "adaptive")
NORMS = ("l1", "l2", "max")


@dataclasses.dataclass(frozen=True)
class Row:
    """A function of classifier predictions, and its streaming form.

    Attributes:
      name: the public name of the function, in both namespaces.
      aliases: other public names of the same object.
      cases: sets of options to run it with.
      reference: called as the function, with NumPy arrays; naive and independent.
      metric: name of the Keras class, or None.
      metric_cases: options of the Keras class; for each a case of the function, both
        with the same value for the same data.
      array: turns a result into a flat float array.
      bad_options: options that must raise ValueError, with a word of the message.
      bad_metric_options: the same of the Keras class.
      scale: what to compare absolute differences with.
      differentiable: whether gradients in the predictions are tested.
      zeros: whether the data have probabilities of 0, where a score may be infinite.
      scale_free: whether weights of any one scale give the same value; else only those
        of less than 1 do.
      sketched: whether the metric joins scores that hardly differ.
      slow: whether its graphs are so large that few of them are built.
    """

    name: str
    reference: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    cases: tuple[Mapping[str, Any], ...] = ({},)
    metric: str | None = None
    metric_cases: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()
    array: Callable[[Any], np.ndarray] = lambda value: np.atleast_1d(np.asarray(value))
    bad_options: tuple[tuple[Mapping[str, Any], str], ...] = ()
    bad_metric_options: tuple[Mapping[str, Any], ...] = ()
    scale: float = 1.0
    differentiable: bool = False
    zeros: bool = True
    scale_free: bool = True
    sketched: bool = False
    slow: bool = False

    def takes(self, option):
        return option in inspect.signature(getattr(um_np, self.name)).parameters

    def bad_data(self):
        """Returns the names of bad data that have to do with this function."""
        return [bad for bad in SHAPES + VALUES if self._concerns(bad)]

    def _concerns(self, bad):
        return "predicted" not in bad or self.takes("labels_predicted")

    def data(self, rng, n=40, dtype=np.float64):
        made = data(rng, n=n, dtype=dtype)
        if self.zeros:
            return made
        mixed = (0.9 * made.predictions + 0.1 / 3).astype(dtype)
        return dataclasses.replace(made, predictions=mixed)

    # What the Keras sweeps need to know.

    units = 3
    activation = "softmax"

    def labels(self, rng, n):
        return rng.integers(0, 3, n)

    def logits(self, rng, shape):
        """Makes logits that the metric tells apart."""
        if not self.sketched:
            return rng.normal(size=[*shape, 3]).astype(np.float32)
        logits = np.zeros([*shape, 3], np.float32)
        logits[..., 0] = rng.integers(1, 80, shape) / 16  # A cell for each margin.
        logits[..., 1] = -np.inf
        return rng.permuted(logits, axis=-1)

    def lattice(self, rng, n=40):
        made = lattice(rng, n)
        if self.zeros:
            return made
        rows = np.array([[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]], np.float32)
        rows = rng.permuted(rows[rng.integers(0, 2, n)], axis=1)
        return dataclasses.replace(made, predictions=rows)

    def expected(self, case, data, weighted=False):
        """Returns what the metric must give after all the data, a flat array."""
        value = getattr(um_np, self.name)(**data.arguments(weighted), **case)
        return self.array(value)

    def metric_values(self):
        """Returns the names of data that only their values make bad, for the metric."""
        left_out = ("infinite logit", "zero weights", "swapped binary")
        left_out += ("too heavy weights", "label beyond int64")  # Tested by functions.
        left_out += ("probabilities as logits",)  # With an option: a test of its own.
        return [
            bad
            for bad in VALUES
            if not (bad in left_out or "predicted" in bad or "one-hot" in bad)
        ]

    def bad_keras_data(self, bad):
        """Returns y_true, y_pred, weights or None, and a word of the message."""
        arguments, word = bad_data(bad)
        word = word.replace("labels", "y_true").replace("probabilities", "y_pred")
        return (
            arguments["labels"],
            arguments["probabilities"],
            arguments.get("sample_weight"),
        ), word


@dataclasses.dataclass(frozen=True)
class RealRow:
    """A score of real-valued forecasts, elementwise, and its streaming form.

    Attributes:
      name: the public name of the function, in both namespaces.
      reference: called as the function; naive and independent.
      make: makes the arguments, all but the options, of a generator, a leading shape
        and a type.
      cases: sets of options to run it with.
      tail: number of axes of each argument after those of the scores.
      metric: name of the Keras class, or None.
      metric_cases: options of the Keras class; for each a case of the function.
      units: size of the last axis of the metric's `y_pred`.
      split: turns `y_pred` [..., units] into the arguments after the labels.
      bad_options: options that must raise ValueError, with a word of the message.
      bad_metric_options: the same of the Keras class.
      bad_values: changes of one argument to a value it must not have.
    """

    name: str
    reference: Callable[..., Any]
    make: Callable[..., dict[str, np.ndarray]]
    cases: tuple[Mapping[str, Any], ...] = ({},)
    tail: Mapping[str, int] = dataclasses.field(default_factory=dict)
    metric: str | None = None
    metric_cases: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()
    units: int = 1
    split: Callable[..., dict[str, np.ndarray]] | None = None
    bad_options: tuple[tuple[Mapping[str, Any], str], ...] = ()
    bad_metric_options: tuple[Mapping[str, Any], ...] = ()
    bad_values: Mapping[str, float] = dataclasses.field(default_factory=dict)
    scale = 10.0
    sketched = False
    activation = None
    good_labels = (0.5, 1.0, -1.0, 2.0)

    def labels(self, rng, n):
        return rng.normal(size=n).astype(np.float32)

    def arguments(self, rng, shape=(40,), dtype=np.float64):
        made = self.make(rng, tuple(shape))
        return {name: value.astype(dtype) for name, value in made.items()}

    def lattice(self, rng, n=40):
        """Makes numbers that bfloat16 holds exactly."""

        def draw(*shape):
            return (rng.integers(-32, 33, shape) / 16).astype(np.float32)

        weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n)
        weights[0] = 1.0
        predictions = np.sort(draw(n, self.units), axis=1)
        return Data(draw(n), predictions, weights)

    def expected(self, case, data, weighted=False):
        scores = getattr(um_np, self.name)(
            data.labels, **self.split(data.predictions.astype(np.float64)), **case
        )
        scores = scores.reshape(len(data.labels), -1).mean(axis=1)
        weights = data.weights if weighted else None
        return np.atleast_1d(np.average(scores, weights=weights))

    def metric_values(self):
        return ["label nan", "nan prediction", "negative weight", "nan weight"]

    def bad_keras_data(self, bad):
        labels = np.array(self.good_labels)
        predictions = np.ones([4, self.units]) / 2

        def wrong(array, value):
            array = array.copy()
            array.reshape(-1)[2] = value
            return array

        return {
            "rank": ((labels, predictions[None, None], None), "y_pred"),
            "lengths": ((labels[:3], predictions, None), "y_true"),
            "swapped": ((predictions, labels, None), "swapped|y_pred"),
            "empty": ((labels[:0], predictions[:0], None), "y_true"),
            "weight shape": ((labels, predictions, np.ones(3)), "sample_weight"),
            "ragged": (([[0.0], [1.0, 2.0], [1.0]], predictions, None), "y_true"),
            "label nan": ((wrong(labels, np.nan), predictions, None), "y_true"),
            "nan prediction": ((labels, wrong(predictions, np.nan), None), "y_pred"),
            "negative weight": (
                (labels, predictions, np.array([1, 1, -1.0, 1])),
                "sample_weight",
            ),
            "nan weight": (
                (labels, predictions, np.array([1, 1, np.nan, 1])),
                "sample_weight",
            ),
        }[bad]


class DetectionRow(RealRow):
    """A metric of scores that tell positive examples from negative ones."""

    scale = 1.0
    sketched = True
    good_labels = (0.0, 1.0, 1.0, 0.0)

    def labels(self, rng, n):
        return rng.integers(0, 2, n)

    def lattice(self, rng, n=40):
        made = super().lattice(rng, n)
        labels = rng.integers(0, 2, n)
        labels[:2] = 0, 1
        made.weights[:2] = 1.0
        return dataclasses.replace(made, labels=labels)

    def expected(self, case, data, weighted=False):
        value = getattr(um_np, self.name)(
            data.labels,
            data.predictions[:, 0],
            sample_weight=data.weights if weighted else None,
            **case,
        )
        return np.atleast_1d(value)


def _statistics_array(statistics):
    if isinstance(statistics, np.ndarray):  # The reference makes the array itself.
        return statistics
    parts = (statistics.counts, statistics.confidences, statistics.accuracies)
    parts = [np.asarray(part, np.float64) for part in parts]
    held = parts[0] > 0  # Bins that depend on the data may have empty ones at the end.
    return np.concatenate([part[held] for part in parts])


def _reference_statistics(labels, probabilities, **options):
    options = {
        "binning_scheme": "even",
        "max_prob": True,
        "class_conditional": False,
        **options,
    }
    table = np.concatenate(references.bins(labels, probabilities, **options))
    table = table[table[:, 0] > 0]
    return np.concatenate(
        [table[:, 0], table[:, 1] / table[:, 0], table[:, 2] / table[:, 0]]
    )


def _reference_grid(labels, probabilities, **options):
    return {
        (scheme, max_prob, class_conditional, norm): references.calibration_error(
            labels, probabilities, scheme, max_prob, class_conditional, norm, **options
        )
        for scheme, max_prob, class_conditional, norm in itertools.product(
            SCHEMES, (True, False), (True, False), NORMS
        )
    }


def _grid_array(errors):
    return np.array([float(errors[key]) for key in sorted(errors)])


_BAD_CALIBRATION_METRIC = (
    {"num_bins": 0},
    {"num_bins": 2.5},
    {"from_logits": 1},
    {"sparse_labels": "yes"},
    {"sketch_bits": 99},
    {"num_classes": -1},
)


def _preset(name, alias, metric, scheme, max_prob, class_conditional, norm, threshold):
    def reference(labels, probabilities, **options):
        options = {"threshold": threshold, **options}
        return references.calibration_error(
            labels, probabilities, scheme, max_prob, class_conditional, norm, **options
        )

    cases = [{}, {"num_bins": 4}, {"num_bins": 5, "threshold": 0.3}]
    streamed = [({}, {}), ({"num_bins": 4, "threshold": 0.2},) * 2]
    bad = [({"num_bins": 0}, "num_bins"), ({"threshold": 1.5}, "threshold")]
    if scheme == "adaptive":
        cases.append({"datapoints_per_bin": 7})
        bad.append(({"datapoints_per_bin": 0}, "datapoints_per_bin"))
    return Row(
        name,
        reference,
        (alias,),
        tuple(cases),
        metric,
        tuple(streamed),
        bad_options=tuple(bad),
        bad_metric_options=_BAD_CALIBRATION_METRIC,
    )


_GENERAL_CASES = tuple(
    {
        "binning_scheme": scheme,
        "max_prob": max_prob,
        "class_conditional": class_conditional,
        "norm": norm,
        "num_bins": num_bins,
    }
    for (scheme, max_prob, class_conditional), norm, num_bins in zip(
        itertools.product(SCHEMES, (True, False), (True, False)),
        itertools.cycle(NORMS),
        itertools.cycle((15, 3, 5, 16)),
        strict=False,
    )
)


# As many as tell the scores of the sweeps apart.
FEW_CELLS = {"sketch_bits": 6}


def _selective(
    name, alias, metric, reference, option=None, values=(None,), bad=(), **flags
):
    cases = tuple({} if option is None else {option: value} for value in values)
    return Row(
        name,
        reference,
        (alias,) if alias else (),
        cases,
        metric,
        tuple(({**case, **FEW_CELLS}, case) for case in cases),
        bad_options=tuple(({option: value}, option) for value in bad),
        bad_metric_options=(
            {"from_logits": 1},
            {"sparse_labels": "yes"},
            {"sketch_bits": 99},
            *({option: value} for value in bad),
        ),
        sketched=True,
        **flags,
    )


_SELECTIVE = (
    _selective(
        "area_under_risk_coverage_curve",
        "aurc",
        "AURC",
        references.area_under_risk_coverage_curve,
        scale_free=False,
    ),
    _selective(
        "excess_aurc", "e_aurc", "ExcessAURC", references.excess_aurc, scale_free=False
    ),
    _selective(
        "area_under_generalized_risk_coverage_curve",
        "augrc",
        "AUGRC",
        references.area_under_generalized_risk_coverage_curve,
    ),
    _selective(
        "coverage_at_risk",
        None,
        "CoverageAtRisk",
        references.coverage_at_risk,
        "risk",
        (0.05, 0.5, 1.0),
        (-0.1, 1.5, None),
    ),
    _selective(
        "risk_at_coverage",
        None,
        "RiskAtCoverage",
        references.risk_at_coverage,
        "coverage",
        (0.8, 0.25, 1),
        (0, 1.1, "all"),
    ),
    _selective(
        "oracle_collaborative_accuracy",
        None,
        "OracleCollaborativeAccuracy",
        references.oracle_collaborative_accuracy,
        "fraction",
        (0.01, 0.5, 0.0, 1.0),
        (-1, 2, None),
    ),
)

# The root of a small square is too steep to compare.
_DEBIASED_CASES = (
    {"num_bins": 4, "squared": True},
    {"binning_scheme": "even", "max_prob": False, "num_bins": 5, "squared": True},
    {
        "max_prob": False,
        "class_conditional": True,
        "threshold": 0.1,
        "squared": True,
    },
    {"datapoints_per_bin": 7, "squared": True},
)

_TOP_LABEL = {"binning_scheme": "even", "max_prob": True, "class_conditional": False}

ROWS = (
    Row(
        "general_calibration_error",
        references.calibration_error,
        ("gce",),
        _GENERAL_CASES,
        "GeneralCalibrationError",
        tuple((case, case) for case in _GENERAL_CASES),
        bad_metric_options=_BAD_CALIBRATION_METRIC,
        bad_options=(
            ({**_TOP_LABEL, "norm": "l3"}, "'l1', 'l2', 'max'"),
            (
                {**_TOP_LABEL, "norm": "l1", "binning_scheme": "odd"},
                "'even', 'adaptive'",
            ),
            ({**_TOP_LABEL, "norm": "l1", "max_prob": None}, "max_prob"),
            ({**_TOP_LABEL, "norm": "l1", "class_conditional": 2}, "class_conditional"),
            ({**_TOP_LABEL, "norm": "l1", "num_bins": 2.5}, "num_bins"),
            ({**_TOP_LABEL, "norm": "l1", "threshold": -0.1}, "threshold"),
            (
                {**_TOP_LABEL, "norm": "l1", "datapoints_per_bin": 5},
                "datapoints_per_bin",
            ),
        ),
    ),
    _preset(
        "expected_calibration_error",
        "ece",
        "ExpectedCalibrationError",
        *("even", True, False, "l1", 0.0),
    ),
    _preset(
        "maximum_calibration_error",
        "mce",
        "MaximumCalibrationError",
        *("even", True, False, "max", 0.0),
    ),
    _preset(
        "root_mean_squared_calibration_error",
        "rmsce",
        "RootMeanSquaredCalibrationError",
        *("adaptive", True, False, "l2", 0.0),
    ),
    _preset(
        "static_calibration_error",
        "sce",
        "StaticCalibrationError",
        *("even", False, True, "l1", 0.0),
    ),
    _preset(
        "adaptive_calibration_error",
        "ace",
        "AdaptiveCalibrationError",
        *("adaptive", False, True, "l1", 0.0),
    ),
    _preset(
        "thresholded_adaptive_calibration_error",
        "tace",
        "ThresholdedAdaptiveCalibrationError",
        *("adaptive", False, True, "l1", 0.01),
    ),
    Row(
        "bin_statistics",
        _reference_statistics,
        cases=(
            {},
            {"num_bins": 4, "max_prob": False, "threshold": 0.1},
            {"binning_scheme": "adaptive", "class_conditional": True},
            {
                "binning_scheme": "adaptive",
                "max_prob": False,
                "class_conditional": True,
                "datapoints_per_bin": 7,
            },
        ),
        array=_statistics_array,
        bad_options=(({"binning_scheme": "odd"}, "'even', 'adaptive'"),),
    ),
    Row(
        "compute_all_metrics",
        _reference_grid,
        cases=({"num_bins": 5}, {"num_bins": 4, "threshold": 0.3}),
        array=_grid_array,
        bad_options=(({"num_bins": -1}, "num_bins"),),
        slow=True,
    ),
    Row(
        "debiased_calibration_error",
        references.debiased_calibration_error,
        cases=_DEBIASED_CASES,
        metric="DebiasedCalibrationError",
        metric_cases=tuple((case, case) for case in _DEBIASED_CASES[:3]),
        bad_options=(
            ({"binning_scheme": "odd"}, "'even', 'adaptive'"),
            ({"max_prob": 1}, "max_prob"),
            ({"class_conditional": None}, "class_conditional"),
            ({"num_bins": 0}, "num_bins"),
            ({"threshold": 1.0}, "threshold"),
            ({"datapoints_per_bin": 0}, "datapoints_per_bin"),
            ({"positive_class": 0}, "positive_class"),
            ({"squared": 1}, "squared"),
        ),
        bad_metric_options=(
            *({"num_bins": 0}, {"binning_scheme": "odd"}, {"squared": 1}),
            *({"from_logits": 1}, {"num_classes": -1}, {"threshold": 1.0}),
        ),
        scale_free=False,
    ),
    Row(
        # The same statistic under the arguments of another package.
        "expected_calibration_error",
        functools.partial(
            references.calibration_error,
            binning_scheme="even",
            max_prob=True,
            class_conditional=False,
            norm="l1",
        ),
        cases=(),
        metric="CalibrationError",
        metric_cases=(
            ({"task": "multiclass", "num_classes": 3, "num_bins": 4}, {"num_bins": 4}),
        ),
        bad_metric_options=_BAD_CALIBRATION_METRIC[:-1],
    ),
    Row(
        "accuracy",
        references.accuracy,
        metric="Accuracy",
        metric_cases=(({}, {}),),
        bad_metric_options=({"from_logits": 1}, {"sparse_labels": "yes"}),
    ),
    *_SELECTIVE,
    Row(
        "brier_score",
        references.brier_score,
        cases=({}, {"zero_based": True}),
        metric="BrierScore",
        metric_cases=(({}, {}), ({"zero_based": True},) * 2),
        bad_options=(
            ({"aggregate": 1}, "aggregate"),
            ({"zero_based": "yes"}, "zero_based"),
        ),
        bad_metric_options=(
            {"from_logits": 1},
            {"sparse_labels": "yes"},
            {"zero_based": 2},
        ),
        differentiable=True,
    ),
    Row(
        "negative_log_likelihood",
        references.negative_log_likelihood,
        metric="NegativeLogLikelihood",
        metric_cases=(({}, {}),),
        bad_options=(({"aggregate": None}, "aggregate"),),
        bad_metric_options=({"from_logits": 1}, {"sparse_labels": "yes"}),
        scale=4.0,
        differentiable=True,
        zeros=False,
    ),
    Row(
        "brier_decomposition",
        references.brier_decomposition,
        metric="BrierDecomposition",
        metric_cases=(({}, {}),),
        bad_metric_options=(
            {"from_logits": 1},
            {"exact": None},
            {"sparse_labels": "yes"},
            {"num_classes": 0},
        ),
        differentiable=True,
    ),
    Row(
        "brier_decomposition_exact",
        references.brier_decomposition_exact,
        metric="BrierDecomposition",
        metric_cases=(({"exact": True}, {}),),
    ),
)


def _samples(rng, shape):
    samples = rng.normal(size=(*shape, 7)) + rng.normal(size=(*shape, 1))
    samples[..., 1] = samples[..., 4]  # A tie.
    labels = rng.normal(size=shape)
    labels.reshape(-1)[0] = samples.reshape(-1, 7)[0, 2]
    return {"labels": labels, "predictive_samples": samples}


def _vectors(rng, shape):
    samples = rng.normal(size=(*shape, 6, 3))
    samples[..., 1, :] = samples[..., 4, :]
    return {"labels": rng.normal(size=(*shape, 3)), "predictive_samples": samples}


_QUANTILES = (0.1, 0.5, 0.75)

REAL_ROWS = (
    RealRow(
        "crps_normal_score",
        references.crps_normal,
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
        references.crps_samples,
        make=_samples,
        cases=({}, {"estimator": "nrg"}, {"estimator": "roll"}),
        tail={"predictive_samples": 1},
        metric="CRPSSamples",
        metric_cases=tuple(
            ({"estimator": e}, {"estimator": e}) for e in ("fair", "nrg", "roll")
        ),
        units=5,
        split=lambda p: {"predictive_samples": p},
        bad_options=(({"estimator": "pwm"}, "'fair', 'nrg', 'roll'"),),
        bad_metric_options=({"estimator": "pwm"},),
    ),
    RealRow(
        "pinball_loss",
        references.pinball,
        make=lambda rng, shape: {
            "labels": rng.normal(size=shape),
            "quantile_predictions": rng.normal(size=(*shape, 3)),
        },
        cases=({"quantiles": _QUANTILES},),
        tail={"quantile_predictions": 1},
        metric="Pinball",
        metric_cases=(({"quantiles": _QUANTILES},) * 2,),
        units=3,
        split=lambda p: {"quantile_predictions": p},
        bad_options=(
            ({"quantiles": (0.1, 0.5, 1.0)}, "quantiles"),
            ({"quantiles": 0.0}, "quantiles"),
            ({"quantiles": ()}, "quantiles"),
            ({"quantiles": (0.1, 0.5)}, "quantile_predictions"),
        ),
        bad_metric_options=({"quantiles": [0.5, 2]}, {"quantiles": []}),
    ),
    RealRow(
        "interval_score",
        references.interval,
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
        bad_options=(({"alpha": 0}, "alpha"), ({"alpha": 1.0}, "alpha")),
        bad_metric_options=({"alpha": -0.5},),
    ),
    RealRow(
        "energy_score",
        references.energy,
        make=_vectors,
        cases=({}, {"estimator": "nrg"}, {"estimator": "roll"}),
        tail={"labels": 1, "predictive_samples": 2},
        bad_options=(({"estimator": "pwm"}, "'fair', 'nrg', 'roll'"),),
    ),
)


def _scores(rng, shape):
    scores = np.round(rng.normal(size=shape), 1)
    labels = (rng.normal(size=shape) < scores).astype(float)
    labels.reshape(-1)[:2] = 0, 1
    return {"labels": labels, "scores": scores}


def _detection(name, metric, reference, cases=({},), bad=()):
    return DetectionRow(
        name,
        reference,
        make=_scores,
        cases=cases,
        metric=metric,
        metric_cases=tuple(({**case, **FEW_CELLS}, case) for case in cases),
        bad_options=tuple((options, next(iter(options))) for options in bad),
        bad_metric_options=({"sketch_bits": -1}, *bad),
        bad_values={"labels": 2.0},
    )


DETECTION_ROWS = (
    _detection("auroc", "AUROC", sklearn.metrics.roc_auc_score),
    _detection("aupr", "AUPR", sklearn.metrics.average_precision_score),
    _detection(
        "fpr_at_tpr",
        "FPRAtTPR",
        references.fpr_at_tpr,
        ({}, {"tpr": 0.5}, {"tpr": 1.0}),
        ({"tpr": 0.0}, {"tpr": 1.5}, {"tpr": None}),
    ),
)


@dataclasses.dataclass(frozen=True)
class Data:
    """Labels, predictions [N, K] and weights that go through the corners."""

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray

    def arguments(self, weighted=False):
        given = {"labels": self.labels, "probabilities": self.predictions}
        return {**given, "sample_weight": self.weights} if weighted else given


def data(rng, n=40, classes=3, dtype=np.float64) -> Data:
    """Makes predictions with ties, exact edges, zeros, ones and an absent class."""
    probabilities = rng.dirichlet(np.full(classes, 0.5), n)
    probabilities[: n // 3] = rng.multinomial(15, np.full(classes, 1 / classes), n // 3)
    probabilities[: n // 3] /= 15  # On the edges of 3, 5 and 15 bins.
    probabilities[n // 3 : n // 2] = np.eye(classes)[
        rng.integers(0, classes, n // 2 - n // 3)
    ]
    probabilities[n // 2 : n // 2 + 3] = 1 / classes  # A tie of all classes.
    order = rng.permutation(n)
    labels = np.where(
        rng.uniform(size=n) < 0.5,
        np.argmax(probabilities, axis=1),
        rng.integers(0, classes, n),
    )
    labels = np.minimum(labels, classes - 2)  # The last class is absent.
    weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n)
    weights[0] = 1.0
    return Data(labels[order], probabilities[order].astype(dtype), weights)


def lattice(rng, n=40, classes=3, dtype=np.float32) -> Data:
    """Makes multiples of 1/32, each of which has a sketch cell of its own."""
    made = data(rng, n, classes)
    probabilities = rng.multinomial(32, np.full(classes, 1 / classes), n) / 32
    probabilities[: n // 4] = np.eye(classes)[rng.integers(0, classes, n // 4)]
    return dataclasses.replace(made, predictions=probabilities.astype(dtype))


def bad_data(name):
    """Returns arguments that must be refused, with a word of the message.

    The names in `VALUES` are wrong in their values only, so a compiled function cannot
    raise for them.
    """
    labels = np.array([0, 1, 2, 1])
    probabilities = np.array(
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]]
    )
    good = {"labels": labels, "probabilities": probabilities}

    def wrong(value):
        changed = probabilities.copy()
        changed[2, 1] = value
        return {**good, "probabilities": changed}

    infinite = np.log(probabilities)
    infinite[1, 1] = np.inf
    return {
        "rank": ({**good, "probabilities": probabilities[None, None]}, "probabilities"),
        "lengths": ({**good, "labels": labels[:3]}, "labels"),
        "both": ({**good, "logits": probabilities}, "`probabilities` and `logits`"),
        "neither": ({"labels": labels}, "`probabilities` and `logits`"),
        "swapped": ({"labels": probabilities, "probabilities": labels}, "swapped"),
        "empty": ({"labels": labels[:0], "probabilities": probabilities[:0]}, "labels"),
        "weight shape": ({**good, "sample_weight": np.ones(3)}, "sample_weight"),
        "predicted shape": (
            {**good, "labels_predicted": labels[:2]},
            "labels_predicted",
        ),
        "ragged": ({**good, "labels": [[0], [1, 2], [1]]}, "labels"),
        "label too large": ({**good, "labels": labels + 1}, "labels"),
        "label negative": ({**good, "labels": labels - 1}, "labels"),
        "label fraction": ({**good, "labels": labels + 0.5}, "labels"),
        "label nan": ({**good, "labels": np.array([0, 1, np.nan, 1])}, "labels"),
        "negative probability": (wrong(-0.1), "probabilities"),
        "large probability": (wrong(1.1), "probabilities"),
        "nan probability": (wrong(np.nan), "probabilities"),
        "probabilities as logits": (
            {"labels": labels, "logits": probabilities},
            "`logits` must be logits; for probabilities use `probabilities`",
        ),
        "logits as probabilities": (
            {"labels": labels, "probabilities": np.log(probabilities)},
            "for logits use `",
        ),
        "infinite logit": ({"labels": labels, "logits": infinite}, "logits"),
        "negative weight": (
            {**good, "sample_weight": np.array([1, 1, -1.0, 1])},
            "sample_weight",
        ),
        "nan weight": (
            {**good, "sample_weight": np.array([1, 1, np.nan, 1])},
            "sample_weight",
        ),
        "infinite weight": (
            {**good, "sample_weight": np.array([1, 1, np.inf, 1])},
            "sample_weight",
        ),
        "too heavy weights": (
            {**good, "sample_weight": np.full(4, 1e308)},
            "sample_weight",
        ),
        "label beyond int64": (
            {**good, "labels": np.array([0, 1, 2, 2**64 - 1], np.uint64)}
            | {"ignore_index": -1},
            "labels",
        ),
        "zero weights": ({**good, "sample_weight": np.zeros(4)}, "labels"),
        "predicted too large": (
            {**good, "labels_predicted": labels + 1},
            "labels_predicted",
        ),
        "swapped binary": (
            {"labels": np.array([0.2, 0.7]), "probabilities": np.array([0, 1])},
            "swapped",
        ),
        "one-hot": ({**good, "labels": np.eye(3)[labels]}, "one-hot"),
        "one-hot with logits": (
            {"labels": np.eye(3)[labels], "logits": np.log(probabilities)},
            "one-hot",
        ),
    }[name]


SHAPES = (
    *("rank", "lengths", "both", "neither", "swapped", "empty", "weight shape"),
    *("predicted shape", "ragged"),
)
VALUES = (
    *("label too large", "label negative", "label fraction", "label nan"),
    *("negative probability", "large probability", "nan probability"),
    *("probabilities as logits", "logits as probabilities"),
    *("infinite logit", "negative weight", "nan weight", "infinite weight"),
    *("too heavy weights", "zero weights", "label beyond int64"),
    *("predicted too large", "swapped binary", "one-hot", "one-hot with logits"),
)


# Public names that are not functions of predictions, and the tests that hold them.
OTHERS = {
    **dict.fromkeys(
        (
            *("cosine_distance", "cosine_similarity", "disagreement", "double_fault"),
            *("average_pairwise_diversity", "ensemble_cross_entropy"),
            *("ensemble_disagreement", "expected_entropy", "gibbs_cross_entropy"),
            *("kl_divergence", "knowledge_uncertainty", "logit_kl_divergence"),
            *("lp_distance", "mean_member_uncertainty", "model_uncertainty"),
            *("mutual_information", "predictive_entropy", "variance_bound"),
            "variation_ratio",
        ),
        "tests/np/test_ensemble.py",
    ),
    **dict.fromkeys(
        (
            *("ensemble_calibration", "ensemble_calibration_diagram"),
            "uncertainty_histogram",
        ),
        "tests/np/test_ensemble_calibration.py",
    ),
    **dict.fromkeys(
        (
            *("accuracy_confidence_curve", "accuracy_confidence_diagram"),
            *("rejection_curve", "rejection_diagram", "risk_coverage_diagram"),
        ),
        "tests/np/test_selective_plots.py",
    ),
    **dict.fromkeys(
        (
            *("compare_information_criteria", "importance_sampling_cross_validation"),
            *("negative_waic", "psis_loo"),
        ),
        "tests/np/test_information_criteria.py",
    ),
    **dict.fromkeys(
        (
            *("SPCE", "SemiparametricCalibrationError", "spce", "spce_conf_int"),
            "semiparametric_calibration_error",
            "semiparametric_calibration_error_conf_int",
        ),
        "tests/np/test_semiparametric.py",
    ),
    **dict.fromkeys(
        (
            *("CCE", "CensoredCalibrationError", "cce", "cce_conf_int"),
            "censored_calibration_error",
            "censored_calibration_error_conf_int",
        ),
        "tests/np/test_censored.py",
    ),
    **dict.fromkeys(
        ("TemperatureScaling", "calibrated_negative_log_likelihood"),
        "tests/np/test_recalibration.py",
    ),
    **dict.fromkeys(
        ("bootstrap", "bootstrap_difference"), "tests/np/test_resampling.py"
    ),
    "calibration_test": "tests/np/test_calibration_tests.py",
    "regression": "tests/np/test_regression.py",
    "BinStatistics": "tests/parity/test_bin_statistics.py",
    "MetricState": "tests/keras/test_state.py",
    "bayesian_expected_calibration_error": "tests/np/test_bayesian_calibration.py",
    "numpy": "tests/repo/test_imports.py",
    "probability_of_lower_calibration_error": "tests/np/test_bayesian_calibration.py",
    "risk_coverage_curve": "tests/np/test_selective.py",
    "reliability_curve": "tests/np/test_reliability_curve.py",
    "reliability_diagram": "tests/np/test_reliability_diagram.py",
}

# Those of TensorFlow and Keras alone.
TENSORFLOW_ONLY = {"crps_distribution": "tests/tf/test_crps_distribution.py"}
KERAS_ONLY = {
    "AUC": "tests/keras/test_ranking.py",
    "BayesianExpectedCalibrationError": "tests/keras/test_bayesian_calibration.py",
    "BrierLoss": "tests/keras/test_losses.py",
    "TemperatureScalingLayer": "tests/keras/test_layers.py",
    "CRPSNormalLoss": "tests/keras/test_losses.py",
    "CRPSSampleLoss": "tests/keras/test_losses.py",
    "GaussianNLLLoss": "tests/keras/test_losses.py",
    **dict.fromkeys(
        (
            *("EnsembleCrossEntropy", "EnsembleDisagreement", "ExpectedEntropy"),
            *("GibbsCrossEntropy", "KnowledgeUncertainty", "MeanMemberUncertainty"),
            *("MutualInformation", "PredictiveEntropy", "VariationRatio"),
        ),
        "tests/keras/test_ensemble.py",
    ),
    "IntervalLoss": "tests/keras/test_losses.py",
    "PinballLoss": "tests/keras/test_losses.py",
    "ReliabilityDiagramCallback": "tests/keras/test_callbacks.py",
}

# Those of `um.regression`.
REGRESSION = {
    "PITInterval": "tests/np/test_regression.py",
    **dict.fromkeys(
        (
            *("TemperatureScaling", "calibration_error", "compute_calibration_curve"),
            *("ence", "evaluate_calibration", "expected_calibration_error"),
            *("expected_normalized_calibration_error", "interval_coverage"),
            *("interval_width", "negative_log_likelihood", "pit_calibration_curve"),
            *("pit_calibration_error", "pit_histogram", "quantile_pit", "sample_pit"),
            *("probability_integral_transform", "root_mean_squared_error", "sharpness"),
        ),
        "tests/np/test_regression.py",
    ),
    **dict.fromkeys(
        (
            *("create_calibration_report", "plot_calibration_comparison"),
            *("plot_pit_histogram", "plot_reliability_diagram"),
            "plot_uncertainty_vs_error",
        ),
        "tests/np/test_regression_plots.py",
    ),
}
REGRESSION_TENSORFLOW_ONLY = {
    "distribution_pit": "tests/parity/test_regression.py",
    **dict.fromkeys(
        (
            *("ExpectedCalibrationError", "IntervalCoverage", "IntervalWidth"),
            *("NegativeLogLikelihood", "RootMeanSquaredError", "Sharpness"),
        ),
        "tests/keras/test_regression.py",
    ),
}

FUNCTIONS = tuple(row for row in ROWS if row.cases)
METRICS = tuple(row for row in ROWS + REAL_ROWS + DETECTION_ROWS if row.metric)
CLASS_METRICS = tuple(row for row in ROWS if row.metric)


every_row = pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row.name)
every_bad = pytest.mark.parametrize(
    ("row", "bad"),
    [
        pytest.param(row, bad, id=f"{row.name}-{bad}")
        for row in FUNCTIONS
        for bad in row.bad_data()
    ],
)


def cases_that_take(option):
    """Parametrizes over the cases of the functions with an option."""
    return pytest.mark.parametrize(
        ("row", "case"),
        [
            pytest.param(row, case, id=f"{row.name}-{i}")
            for row in FUNCTIONS
            if row.takes(option)
            for i, case in enumerate(row.cases)
        ],
    )


every_case = pytest.mark.parametrize(
    ("row", "case"),
    [
        pytest.param(row, case, id=f"{row.name}-{i}")
        for row in FUNCTIONS
        for i, case in enumerate(row.cases)
    ],
)


every_real_case = pytest.mark.parametrize(
    ("row", "case"),
    [
        pytest.param(row, case, id=f"{row.name}-{i}")
        for row in REAL_ROWS
        for i, case in enumerate(row.cases)
    ],
)
every_real_row = pytest.mark.parametrize("row", REAL_ROWS, ids=lambda row: row.name)


def metric_cases():
    """Returns (row, class options, function options, id) of every Keras class."""
    return [
        (row, *case, f"{row.metric}-{row.name}-{i}")
        for row in METRICS
        for i, case in enumerate(row.metric_cases)
    ]
