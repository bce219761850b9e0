"""One row per public name: what the harness needs to put it through every sweep.

A new metric gets all the sweeps from a row: agreement with its reference, NumPy
against TensorFlow, eager against compiled, batches, weights, replicas, bad input.
`tests/repo/test_public_names.py` fails for a public name without a row.

All rows are in `CATALOGUE`. `ROWS` of class probabilities go through the sweeps of
`test_catalogue.py` in each room; `REAL_ROWS`, scores of real-valued forecasts, and
`DETECTION_ROWS` through those of `tests/parity/test_real_scores.py` and
`test_detection.py`. `CALLABLES`, the functions of all kinds, are compared in both
halves, lowered, resampled by the bootstrap, fuzzed and timed with arguments that
`tests/makers.py` makes of the names of their parameters. `METRICS`, `LOSSES`, `PLOTS`
and `OBJECTS` have sweeps of their own. A new metric asks for no entry anywhere else.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import makers, references
from tests.makers import NUMBERS, SHAPES, VALUES, Data, bad_data, data, lattice

__all__ = ("SHAPES", "VALUES", "Data", "bad_data", "data", "lattice")
SCHEMES = ("even", "adaptive")
NORMS = ("l1", "l2", "max")


# Bad shapes in Keras's terms: the predictions are one argument, whatever they are.
KERAS_SHAPES = ("rank", "lengths", "swapped", "empty", "weight shape", "ragged")


class Public:
    """What every row has: a public name, perhaps of `regression`, and its aliases."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def find(self, room: ModuleType) -> Any:
        return operator.attrgetter(self.name)(room)


class Function(Public):
    """What the rows of functions share.

    Attributes:
      half: "numpy" of a function that is the same object in both halves, "tensorflow"
        of one that only tensors have; None where each half has one of its own.
      jumps: whether the value may jump where a prediction is rounded.
      random: whether the value is random.
      unbounded: whether a result may be infinite or NaN; the documentation says where.
      interval: whether the bootstrap has intervals for it.
      kernel: functions of one kernel are the same graph with other constants, of which
        one is compiled by default.
    """

    half: str | None = None
    jumps: bool = False
    random: bool = False
    unbounded: bool = False
    interval: bool = True
    kernel: str | None = None

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        room = um if self.half == "tensorflow" else um_np
        return inspect.signature(self.find(room)).parameters

    @property
    def options(self) -> Mapping[str, tuple]:
        """Values of the options, good and bad ones."""
        return {name: NUMBERS[name] for name in self.parameters if name in NUMBERS}

    def takes(self, option):
        return option in self.parameters

    def made(self, options, **more):
        """Makes the Keras metric of the row."""
        return operator.attrgetter(self.metric)(um)(**options, **more)

    def draw(self, rng, shape) -> dict[str, Any]:
        """Makes good arguments, float64 and int64 arrays, for examples of a shape."""
        return makers.arguments(rng, shape, tuple(self.parameters))


@dataclasses.dataclass(frozen=True)
class Row(Function):
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
      smooth: whether the value is continuous in the predictions.
      value: the function of NumPy, unless another one says what the metric gives.
    """

    name: str
    reference: Callable[..., Any] | None
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
    smooth: bool = False
    random: bool = False
    unbounded: bool = False
    interval: bool = True
    kernel: str | None = None
    value: Callable[..., Any] | None = None

    @property
    def jumps(self):
        return not self.smooth

    def draw(self, rng, shape):
        required = ("norm", "binning_scheme", "max_prob", "class_conditional")
        case = {k: v for k, v in self.cases[0].items() if k in required}
        return {**super().draw(rng, shape), **case}

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

    outputs = (3,)
    activation = "softmax"
    keras_shapes = KERAS_SHAPES

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
        return self.expected_of(case, **data.arguments(weighted))

    def expected_of(self, case, **arguments):
        return self.array((self.value or self.find(um_np))(**arguments, **case))

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
class RealRow(Function):
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
    keras_shapes = KERAS_SHAPES
    good_labels = (0.5, 1.0, -1.0, 2.0)

    @property
    def outputs(self):
        return (self.units,)

    def draw(self, rng, shape):
        size = math.prod(shape)
        made = {
            name: value[:size].reshape((*shape, *value.shape[1:]))
            for name, value in self.arguments(rng, (max(size, 2),)).items()
        }
        return {**made, **self.cases[int(rng.integers(len(self.cases)))]}

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
    jumps = True
    kernel = "detection"
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


# As many as tell the scores of the sweeps apart.
FEW_CELLS = {"sketch_bits": 6}


def _preset(name, alias, metric, scheme, max_prob, class_conditional, norm, threshold):
    def reference(labels, probabilities, **options):
        options = {"threshold": threshold, **options}
        return references.calibration_error(
            labels, probabilities, scheme, max_prob, class_conditional, norm, **options
        )

    cases = [{}, {"num_bins": 4}, {"num_bins": 5, "threshold": 0.3}]
    few = FEW_CELLS if scheme == "adaptive" else {}
    streamed = [(few, {}), ({"num_bins": 4, "threshold": 0.2},) * 2]
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
        kernel=f"{scheme} bins" + ", by class" * class_conditional,
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
        kernel="ranking",
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


def _posterior_mean(labels, **options):
    draws = um.bayesian_expected_calibration_error(15, labels_true=labels, **options)
    return np.mean(draws)


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
        kernel="even bins",
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
        unbounded=True,
        interval=False,
        kernel="even bins",
        bad_options=(({"binning_scheme": "odd"}, "'even', 'adaptive'"),),
    ),
    Row(
        "compute_all_metrics",
        _reference_grid,
        cases=({"num_bins": 5}, {"num_bins": 4, "threshold": 0.3}),
        array=_grid_array,
        bad_options=(({"num_bins": -1}, "num_bins"),),
        slow=True,
        kernel="even bins",
    ),
    Row(
        "debiased_calibration_error",
        references.debiased_calibration_error,
        cases=_DEBIASED_CASES,
        metric="DebiasedCalibrationError",
        metric_cases=tuple(
            ({**case, **FEW_CELLS}, case) for case in _DEBIASED_CASES[:3]
        ),
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
        kernel="even bins",
    ),
    # The function is a row of `FUNCTION_ROWS`.
    Row(
        "bayesian_expected_calibration_error",
        None,
        cases=(),
        metric="BayesianExpectedCalibrationError",
        metric_cases=(({"seed": 3}, {"seed": 3}),),
        bad_metric_options=({"num_bins": 0}, {"num_ece_samples": 0}),
        scale=100.0,
        random=True,
        value=_posterior_mean,
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
        smooth=True,
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
        smooth=True,
        unbounded=True,
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
        make=makers.samples,
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
        make=makers.vectors,
        cases=({}, {"estimator": "nrg"}, {"estimator": "roll"}),
        tail={"labels": 1, "predictive_samples": 2},
        bad_options=(({"estimator": "pwm"}, "'fair', 'nrg', 'roll'"),),
    ),
)


def _detection(name, metric, reference, cases=({},), bad=()):
    return DetectionRow(
        name,
        reference,
        make=makers.scores,
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
class FunctionRow(Function):
    """Any other function; its sweeps know it by its parameters alone.

    Attributes:
      make: makes the arguments, where their names do not tell what they are.
      fixed: options that it must have.
    """

    name: str
    aliases: tuple[str, ...] = ()
    half: str | None = None
    jumps: bool = False
    random: bool = False
    unbounded: bool = False
    interval: bool = True
    kernel: str | None = None
    make: Callable[..., dict[str, Any]] | None = None
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def draw(self, rng, shape):
        made = self.make(rng, shape) if self.make else super().draw(rng, shape)
        return {**made, **self.fixed}


@dataclasses.dataclass(frozen=True)
class MembersRow(FunctionRow):
    """A score of each example of an ensemble, and the mean that Keras streams.

    Attributes:
      metric: name of the Keras class.
      outputs: shape of the predictions of an example.
    """

    metric: str = ""
    outputs: tuple[int, ...] = (4, 3)
    metric_options: Mapping[str, Any] = dataclasses.field(
        default_factory=lambda: {"ensemble_axis": -2}
    )
    scale = 4.0
    sketched = False
    activation = "softmax"
    bad_metric_options = ({"from_logits": 1},)

    @property
    def metric_cases(self):
        return ((self.metric_options, {}),)

    @property
    def _labelled(self):
        return self.takes("labels")

    @property
    def keras_shapes(self):
        return ("empty", "weight shape") + ("lengths", "ragged") * self._labelled

    def labels(self, rng, n):
        return rng.integers(0, 3, n)

    def lattice(self, rng, n=40):
        made = lattice(rng, n * math.prod(self.outputs[:-1]))
        rows = 0.5 * made.predictions + np.float32([0.25, 0.125, 0.125])
        rows = rows.reshape(n, *self.outputs)
        return Data(made.labels[:n], rows, data(rng, n).weights)

    def expected(self, case, data, weighted=False):
        given = {"probabilities": data.predictions.astype(np.float64)}
        weights = data.weights if weighted else None
        if self._labelled:
            given |= {"labels": data.labels, "sample_weight": weights}
            return np.atleast_1d(self.find(um_np)(**given, **self.metric_options))
        if self.takes("alphas"):
            alphas = given["probabilities"]
            scores = self.find(um_np)(alphas=alphas).knowledge_uncertainty
        else:
            scores = self.find(um_np)(**given, **self.metric_options)
        return np.atleast_1d(np.average(scores, weights=weights))

    def metric_values(self):
        of_weights = ["negative weight", "nan weight", "infinite weight"]
        values = ["negative probability", "nan probability", *of_weights]
        return values + ["label too large", "label negative"] * self._labelled

    def bad_keras_data(self, bad):
        (labels, rows, weights), word = CLASS_METRICS[0].bad_keras_data(bad)
        if len(self.outputs) == 2:
            rows = np.repeat(np.asarray(rows)[..., None, :], 4, axis=-2)
        return (labels, rows, weights), "y_pred" if bad == "empty" else word


@dataclasses.dataclass(frozen=True)
class ForecastRow(FunctionRow):
    """A score of predicted means and variances, and its streaming form."""

    metric: str = ""
    metric_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    case: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scale: float = 10.0

    units = 2
    outputs = (2,)
    sketched = False
    activation = None
    keras_shapes = KERAS_SHAPES
    good_labels = RealRow.good_labels
    labels = RealRow.labels
    lattice = RealRow.lattice
    metric_values = RealRow.metric_values
    bad_keras_data = RealRow.bad_keras_data

    @property
    def metric_cases(self):
        scale = {"scale_transform": "exp"} if self.takes("stddevs") else {}
        return (({**self.metric_options, **scale}, self.case),)

    @property
    def bad_metric_options(self):
        wrong = {"scale_transform": "square"} if self.takes("stddevs") else None
        return (wrong,) if wrong else ()

    def expected(self, case, data, weighted=False):
        mean, scale = data.predictions.astype(np.float64).T
        variance = np.exp(2 * scale)
        known = {"predictions": mean, "mean": mean, "targets": data.labels}
        known |= {"uncertainties": variance, "var": variance}
        given = {name: known[name] for name in known if self.takes(name)}
        weights = data.weights if weighted else None
        value = self.find(um_np)(**given, **case, sample_weight=weights)
        return np.atleast_1d(value)


def _logps(rng, shape):
    return {"logps": {name: rng.normal(size=(*shape, 9)) / 5 for name in "ab"}}


def _of_the_bootstrap(rng, shape):
    return {
        "metric": um_np.brier_score,
        "labels": rng.integers(0, 3, shape),
        "probabilities": rng.dirichlet(np.ones(3), shape),
        "num_resamples": 9,
        "seed": 1,
    }


def _of_a_difference(rng, shape):
    given = _of_the_bootstrap(rng, shape)
    first = {"probabilities": given.pop("probabilities")}
    return {**given, "first": first, "second": _probabilities_alone(rng, shape)}


def _probabilities_alone(rng, shape):
    return {"probabilities": rng.dirichlet(np.ones(3), shape)}


def _rejected(rng, shape):
    return {
        "labels": rng.integers(0, 3, shape),
        **_probabilities_alone(rng, shape),
        "ood_probabilities": rng.dirichlet(np.ones(3), shape),
    }


def _regression(name, metric=None, **more):
    name = f"regression.{name}"
    if metric:
        return ForecastRow(name, metric=f"regression.{metric}", **more)
    return FunctionRow(name, **more)


_NUMPY = {"half": "numpy"}
_CURVE = {"half": "numpy", "interval": False}

FUNCTION_ROWS = (
    # Calibration.
    FunctionRow("bayesian_expected_calibration_error", random=True, interval=False),
    FunctionRow("probability_of_lower_calibration_error", jumps=True),
    FunctionRow(
        "calibrated_negative_log_likelihood",
        fixed={"repeats": 1},
        jumps=True,
        unbounded=True,
    ),
    FunctionRow("calibration_test", fixed={"num_resamples": 9, "seed": 0}, **_CURVE),
    FunctionRow("reliability_curve", **_CURVE),
    FunctionRow("censored_calibration_error", ("cce",), **_NUMPY),
    FunctionRow("censored_calibration_error_conf_int", ("cce_conf_int",), **_NUMPY),
    FunctionRow("semiparametric_calibration_error", ("spce",), **_NUMPY),
    FunctionRow(
        "semiparametric_calibration_error_conf_int", ("spce_conf_int",), **_NUMPY
    ),
    # Intervals.
    FunctionRow("bootstrap", make=_of_the_bootstrap, **_CURVE),
    FunctionRow("bootstrap_difference", make=_of_a_difference, **_CURVE),
    # Scores of distributions.
    FunctionRow("crps_distribution", half="tensorflow"),
    FunctionRow("regression.distribution_pit", half="tensorflow"),
    # Selective prediction.
    FunctionRow("risk_coverage_curve", jumps=True, interval=False, kernel="ranking"),
    FunctionRow("accuracy_confidence_curve", **_CURVE),
    FunctionRow("rejection_curve", make=_rejected, **_CURVE),
    # Ensembles.
    FunctionRow("model_uncertainty", kernel="entropies"),
    MembersRow("predictive_entropy", metric="PredictiveEntropy", kernel="entropies"),
    MembersRow("expected_entropy", metric="ExpectedEntropy", kernel="entropies"),
    MembersRow("mutual_information", metric="MutualInformation", kernel="entropies"),
    MembersRow(
        "ensemble_disagreement",
        metric="EnsembleDisagreement",
        jumps=True,
        kernel="votes",
    ),
    MembersRow("mean_member_uncertainty", metric="MeanMemberUncertainty"),
    MembersRow("variation_ratio", metric="VariationRatio", jumps=True, kernel="votes"),
    MembersRow("ensemble_cross_entropy", metric="EnsembleCrossEntropy", unbounded=True),
    MembersRow(
        "gibbs_cross_entropy",
        metric="GibbsCrossEntropy",
        unbounded=True,
        kernel="members",
    ),
    MembersRow(
        "knowledge_uncertainty",
        metric="KnowledgeUncertainty",
        outputs=(3,),
        metric_options={},
    ),
    FunctionRow("ensemble_calibration", **_CURVE),
    FunctionRow("disagreement", jumps=True),
    FunctionRow("double_fault", jumps=True),
    FunctionRow("logit_kl_divergence", unbounded=True, kernel="divergence"),
    FunctionRow("kl_divergence", unbounded=True, kernel="divergence"),
    FunctionRow("lp_distance"),
    FunctionRow("cosine_similarity", jumps=True, kernel="cosine"),
    FunctionRow("cosine_distance", jumps=True, kernel="cosine"),
    FunctionRow("average_pairwise_diversity", jumps=True, unbounded=True),
    FunctionRow("variance_bound"),
    # Information criteria.
    FunctionRow("negative_waic", unbounded=True, kernel="waic"),
    FunctionRow("importance_sampling_cross_validation", unbounded=True, kernel="waic"),
    FunctionRow("psis_loo", unbounded=True, interval=False),
    FunctionRow("compare_information_criteria", make=_logps, **_CURVE),
    # Regression.
    _regression("compute_calibration_curve", jumps=True, kernel="coverage"),
    _regression(
        "expected_calibration_error",
        "ExpectedCalibrationError",
        metric_options={"n_bins": 7},
        case={"n_bins": 7},
        jumps=True,
        kernel="coverage",
    ),
    _regression(
        "interval_coverage",
        "IntervalCoverage",
        metric_options={"level": 0.8},
        case={"level": 0.8},
        jumps=True,
        kernel="coverage",
    ),
    _regression("calibration_error", jumps=True, kernel="coverage"),
    _regression(
        "interval_width",
        "IntervalWidth",
        metric_options={"level": 0.8},
        case={"level": 0.8},
    ),
    _regression("sharpness", "Sharpness"),
    _regression("root_mean_squared_error", "RootMeanSquaredError"),
    _regression("negative_log_likelihood", "NegativeLogLikelihood", scale=1000.0),
    _regression(
        "expected_normalized_calibration_error",
        aliases=("regression.ence",),
        jumps=True,
    ),
    _regression("evaluate_calibration", jumps=True, kernel="coverage"),
    _regression("probability_integral_transform"),
    _regression("pit_histogram", jumps=True, kernel="pit"),
    _regression("pit_calibration_curve", jumps=True, kernel="pit"),
    _regression("pit_calibration_error", jumps=True, kernel="pit"),
    _regression("sample_pit", jumps=True),
    _regression("quantile_pit", jumps=True),
)


@dataclasses.dataclass(frozen=True)
class LossRow(Public):
    """A Keras loss: for each example the score of which a metric is the mean.

    Attributes:
      name: the Keras class.
      metric: the Keras class that has the mean.
      options: of the class, and of that of the metric.
    """

    name: str
    metric: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def of_metric(self):
        """The row of the metric."""
        return next(row for row in METRICS if row.metric == self.metric)


LOSSES = (
    LossRow("BrierLoss", "BrierScore"),
    LossRow("CRPSNormalLoss", "CRPSNormal", {"scale_transform": "exp"}),
    LossRow("CRPSSampleLoss", "CRPSSamples"),
    LossRow(
        "GaussianNLLLoss",
        "regression.NegativeLogLikelihood",
        {"scale_transform": "exp"},
    ),
    LossRow("IntervalLoss", "IntervalScore", {"alpha": 0.2}),
    LossRow("PinballLoss", "Pinball", {"quantiles": _QUANTILES}),
)


@dataclasses.dataclass(frozen=True)
class PlotRow(FunctionRow):
    """A plot: draws into the axes it is given, or into a figure of its own.

    Attributes:
      figure: whether it makes a whole figure, so that it takes no axes.
    """

    half: str | None = "numpy"
    interval: bool = False
    figure: bool = False


def _two_results(rng, shape):
    makes = rng.normal, rng.exponential, rng.normal
    return {"results": {model: [make(size=shape) for make in makes] for model in "ab"}}


PLOTS = (
    PlotRow("accuracy_confidence_diagram"),
    PlotRow("rejection_diagram", make=_rejected),
    PlotRow("risk_coverage_diagram"),
    PlotRow("reliability_diagram"),
    PlotRow("ensemble_calibration_diagram"),
    PlotRow("uncertainty_histogram"),
    PlotRow("regression.plot_pit_histogram"),
    PlotRow("regression.plot_reliability_diagram"),
    PlotRow("regression.plot_uncertainty_vs_error"),
    PlotRow("regression.create_calibration_report", figure=True),
    PlotRow("regression.plot_calibration_comparison", make=_two_results, figure=True),
)


@dataclasses.dataclass(frozen=True)
class ObjectRow(Public):
    """A class of objects that are made, copied and sent.

    Attributes:
      make: makes one, of the module of a half and a generator; None of a module.
      halves: where it is public.
    """

    name: str
    aliases: tuple[str, ...] = ()
    make: Callable[..., Any] | None = None
    halves: tuple[str, ...] = ("numpy", "tensorflow")


def _fitted(room, rng):
    logits = rng.normal(size=(30, 3))
    labels = np.where(rng.random(30) < 0.7, np.argmax(logits, axis=1), 0)
    return room.TemperatureScaling().fit(labels, logits)


def _fitted_forecasts(room, rng):
    scaling = room.regression.TemperatureScaling()
    return scaling.fit(rng.normal(size=30), np.ones(30), rng.normal(size=30))


def _accumulated(room, rng):
    metric = room.GeneralCalibrationError("even", True, False, "l1")
    made = data(rng)
    metric.update_state(made.labels, made.predictions)
    return metric


OBJECTS = (
    ObjectRow(
        "BinStatistics", make=lambda m, rng: m.bin_statistics([0, 1], [0.2, 0.7])
    ),
    ObjectRow("MetricState", make=lambda m, rng: _accumulated(um, rng).get_state()),
    ObjectRow("GeneralCalibrationError", make=_accumulated, halves=("numpy",)),
    ObjectRow("TemperatureScaling", make=_fitted),
    ObjectRow(
        "CensoredCalibrationError",
        ("CCE",),
        lambda m, rng: m.CensoredCalibrationError(end_time=1.0),
    ),
    ObjectRow(
        "SemiparametricCalibrationError",
        ("SPCE",),
        lambda m, rng: m.SemiparametricCalibrationError(folds=3),
    ),
    ObjectRow(
        "regression.PITInterval",
        make=lambda m, rng: m.regression.sample_pit([[0.0, 1.0]], [0.5]),
    ),
    ObjectRow("regression.TemperatureScaling", make=_fitted_forecasts),
    ObjectRow("regression"),
    ObjectRow("numpy", halves=("tensorflow",)),
)


@dataclasses.dataclass(frozen=True)
class KerasRow(Public):
    """What else Keras takes: a layer, a callback, its own metric.

    Attributes:
      make: makes one of a folder; it can be made again of its configuration, where it
        has one.
    """

    name: str
    make: Callable[..., Any]


KERAS_OBJECTS = (
    KerasRow("AUC", lambda folder: um.AUC(num_thresholds=50)),
    KerasRow("TemperatureScalingLayer", lambda folder: um.TemperatureScalingLayer()),
    KerasRow("ReliabilityDiagramCallback", lambda f: um.ReliabilityDiagramCallback(f)),
)

CATALOGUE: tuple[Public, ...] = (
    *(*ROWS, *REAL_ROWS, *DETECTION_ROWS, *FUNCTION_ROWS),
    *(*LOSSES, *PLOTS, *OBJECTS, *KERAS_OBJECTS),
)
FUNCTIONS = tuple(row for row in ROWS if row.cases)
CALLABLES = (*FUNCTIONS, *REAL_ROWS, *DETECTION_ROWS, *FUNCTION_ROWS)
METRICS = tuple(row for row in CATALOGUE if getattr(row, "metric_cases", ()))
CLASS_METRICS = tuple(row for row in ROWS if row.metric)


def public_names(half: str) -> set[str]:
    """Returns the names that a half must have, those of `regression` with a dot."""
    names = set()
    for row in CATALOGUE:
        halves = ("tensorflow",)
        if isinstance(row, ObjectRow):
            halves = row.halves
        elif isinstance(row, Function) and row.half != "tensorflow":
            halves = ("numpy", "tensorflow")  # Those of NumPy alone are there as well.
        if half in halves:
            names |= set(row.names)
        if half == "tensorflow":
            names |= {getattr(row, "metric", None)} - {None, ""}
    return names


def first_of_kernel(rows):
    """Parametrizes over rows; those of a kernel that was there before are left to the
    exhaustive run.
    """
    seen, marked = set(), []
    for row in rows:
        again = row.kernel is not None and row.kernel in seen
        seen.add(row.kernel)
        marks = [pytest.mark.exhaustive] if again else []
        marked.append(pytest.param(row, id=row.name, marks=marks))
    return pytest.mark.parametrize("row", marked)


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


TWINS = tuple(row for row in CALLABLES if row.half is None)
every_twin = pytest.mark.parametrize("row", TWINS, ids=lambda row: row.name)
