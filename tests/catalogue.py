"""One row per public name: what the harness needs to put it through every sweep.

A new metric gets all the sweeps from a row: agreement with its reference, NumPy
against TensorFlow, eager against compiled, batches, weights, replicas, bad input.
`tests/repo/test_public_names.py` fails for a public name without a row.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

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
    """

    name: str
    reference: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    cases: tuple[Mapping[str, Any], ...] = ({},)
    metric: str | None = None
    metric_cases: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()
    array: Callable[[Any], np.ndarray] = lambda value: np.atleast_1d(np.asarray(value))
    bad_options: tuple[tuple[Mapping[str, Any], str], ...] = ()


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

_TOP_LABEL = {"binning_scheme": "even", "max_prob": True, "class_conditional": False}

ROWS = (
    Row(
        "general_calibration_error",
        references.calibration_error,
        ("gce",),
        _GENERAL_CASES,
        "GeneralCalibrationError",
        tuple((case, case) for case in _GENERAL_CASES),
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
    ),
)

# Public names that are not functions of predictions, and the tests that hold them.
OTHERS = {
    "BinStatistics": "tests/parity/test_bin_statistics.py",
    "numpy": "tests/repo/test_imports.py",
    "reliability_curve": "tests/np/test_reliability_diagram.py",
    "reliability_diagram": "tests/np/test_reliability_diagram.py",
}

FUNCTIONS = tuple(row for row in ROWS if row.cases)
METRICS = tuple(row for row in ROWS if row.metric)


every_row = pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row.name)
every_case = pytest.mark.parametrize(
    ("row", "case"),
    [
        pytest.param(row, case, id=f"{row.name}-{i}")
        for row in FUNCTIONS
        for i, case in enumerate(row.cases)
    ],
)


def metric_cases():
    """Returns (row, class options, function options, id) of every Keras class."""
    return [
        (row, *case, f"{row.metric}-{i}")
        for row in METRICS
        for i, case in enumerate(row.metric_cases)
    ]


@dataclasses.dataclass(frozen=True)
class Data:
    """Labels, probabilities [N, K] and weights that go through the corners."""

    labels: np.ndarray
    probabilities: np.ndarray
    weights: np.ndarray

    def arguments(self, weighted=False):
        given = {"labels": self.labels, "probabilities": self.probabilities}
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
    return dataclasses.replace(made, probabilities=probabilities.astype(dtype))


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
        "infinite logit": ({"labels": labels, "logits": infinite}, "logits"),
        "negative weight": (
            {**good, "sample_weight": np.array([1, 1, -1.0, 1])},
            "sample_weight",
        ),
        "nan weight": (
            {**good, "sample_weight": np.array([1, 1, np.nan, 1])},
            "sample_weight",
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
    }[name]


SHAPES = (
    *("rank", "lengths", "both", "neither", "swapped", "empty", "weight shape"),
    *("predicted shape", "ragged"),
)
VALUES = (
    *("label too large", "label negative", "label fraction", "label nan"),
    *("negative probability", "large probability", "nan probability"),
    *("infinite logit", "negative weight", "nan weight", "zero weights"),
    *("predicted too large", "swapped binary", "one-hot"),
)
