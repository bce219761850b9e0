"""The public functions, and good arguments for each."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um_np
from tests import catalogue

Arguments = dict[str, Any]

# Arrays that say how many examples there are.
SHAPES = ((), (1,), (2,), (7,), (7,), (12,), (3, 4), (2, 3, 2), (5, 1), (0,), (3, 0))
WEIGHTS = ("sample_weight", "mask")


@dataclasses.dataclass(frozen=True)
class Target:
    """A public function and how to call it.

    Attributes:
      name: path of the function in both namespaces.
      make: makes good arguments, float64 and int64 arrays, of a generator and the shape
        of the examples.
      options: values of options, good and bad ones.
      jumps: whether the value may jump where a prediction is rounded.
      random: whether the value is random.
      unbounded: whether a result may be infinite or NaN; the documentation says where.
    """

    name: str
    make: Callable[[np.random.Generator, tuple[int, ...]], Arguments]
    options: Mapping[str, tuple] = dataclasses.field(default_factory=dict)
    jumps: bool = False
    random: bool = False
    unbounded: bool = False

    def function(self, room: Any) -> Callable[..., Any]:
        return operator.attrgetter(self.name)(room)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function(um_np)).parameters


# Arguments.


def _probabilities(rng, shape, classes):
    """Makes rows on the edges of bins, with ties, zeros and ones."""
    kind = rng.integers(4)
    if kind == 0:
        rows = rng.dirichlet(np.full(classes, 0.5), shape)
    elif kind == 1:
        rows = rng.multinomial(15, np.full(classes, 1 / classes), shape) / 15
    elif kind == 2:
        labels = rng.integers(0, classes, shape)
        rows = (labels[..., None] == np.arange(classes)).astype(np.float64)
    else:
        rows = np.full((*shape, classes), 1 / classes)
    return rows.reshape(*shape, classes)


def _predictions(rng, shape, classes, names=("probabilities", "logits")):
    """Makes probabilities or logits, of all classes or of class 1."""
    name = str(rng.choice(names))
    if name.startswith("logits"):
        values = 3 * rng.normal(size=(*shape, classes))
        values[rng.random(values.shape) < 0.05] = -np.inf
        values[..., 0] = rng.normal(size=shape)
        return name, values
    return name, _probabilities(rng, shape, classes)


_MANY = 10**5


def _number_of_classes(rng):
    return (
        _MANY if rng.random() < 0.02 else int(rng.choice([1, 2, 3, 3, 5, 40, 67, 100]))
    )


def _labelled(rng, shape, function):
    """Makes labels, predictions and what else the function takes."""
    takes = inspect.signature(function(um_np)).parameters
    classes = _number_of_classes(rng)
    names = [n for n in ("probabilities", "logits", "probs") if n in takes]
    name, values = _predictions(rng, shape, classes, names)
    binary = classes == 1
    if binary:
        values = rng.random((*shape, 1)) if name != "logits" else values
        values = values[..., 0] if rng.random() < 0.5 and shape else values
    labels = rng.integers(0, max(classes, 2), shape)
    made = {"labels": labels, name: values}
    if rng.random() < 0.2 and shape:
        made["labels"] = labels[..., None]
    if "labels_predicted" in takes and rng.random() < 0.3:
        made["labels_predicted"] = rng.integers(0, max(classes, 2), shape)
    made.update(_weights(rng, shape, takes))
    if "ignore_index" in takes and rng.random() < 0.3:
        made["ignore_index"] = int(rng.choice([0, 1, 255, -1, 99]))
    if "aggregate" in takes and rng.random() < 0.5:
        made["aggregate"] = False
    return made


def _weights(rng, shape, takes):
    made = {}
    if "sample_weight" in takes and rng.random() < 0.5:
        made["sample_weight"] = rng.choice([0.0, 0.5, 1, 2.5], shape)
    if "mask" in takes and rng.random() < 0.5:
        made["mask"] = rng.random(shape) < 0.7
    return made


def _confidences(rng, shape, function):
    if rng.random() < 0.5:
        return _labelled(rng, shape, function)
    made = {
        "confidences": np.round(rng.normal(size=shape), 1),
        "correct": rng.integers(0, 2, shape),
    }
    return {
        **made,
        **_weights(rng, shape, inspect.signature(function(um_np)).parameters),
    }


def _members(rng, shape, labels=False):
    members, classes = int(rng.integers(1, 5)), _number_of_classes(rng)
    name, values = _predictions(rng, (*shape, members), classes)
    if classes == 1 and name == "probabilities":
        values = rng.random(values.shape)
    made = {name: values}
    if len(shape) != 1 or rng.random() < 0.2:
        made["ensemble_axis"] = -2
    if labels:
        made["labels"] = rng.integers(0, max(classes, 2), shape)
        if rng.random() < 0.3:
            made["aggregate"] = False
        if rng.random() < 0.5:
            made["sample_weight"] = rng.choice([0.0, 0.5, 1, 2.5], shape)
        if rng.random() < 0.2:
            made["ignore_index"] = 1
    return made


def _alphas(rng, shape):
    classes = int(rng.integers(1, 6))
    if rng.random() < 0.5:
        return {"logits": 3 * rng.normal(size=(*shape, classes))}
    return {"alphas": np.exp(3 * rng.normal(size=(*shape, classes)))}


def _pair(rng, shape, names, kind):
    classes = int(rng.choice([1, 2, 3, 5]))
    make = {
        "probabilities": lambda: _probabilities(rng, shape, classes),
        "logits": lambda: 3 * rng.normal(size=(*shape, classes)),
    }[kind]
    return {name: make() for name in names}


def _double_fault(rng, shape):
    made = _pair(rng, shape, ("logits_1", "logits_2"), "logits")
    classes = max(made["logits_1"].shape[-1], 2)
    return {**made, "labels": rng.integers(0, classes, shape)}


def _members_first(rng, shape, labels=False):
    members, classes = int(rng.integers(1, 5)), int(rng.choice([2, 3, 5]))
    made = {"probs": _probabilities(rng, (members, *shape), classes)}
    if labels:
        made["labels"] = rng.integers(0, classes, shape)
    return made


def _forecasts(rng, shape, function):
    takes = inspect.signature(function(um_np)).parameters
    makers = {
        **dict.fromkeys(("predictions", "mean", "targets"), rng.normal),
        **dict.fromkeys(
            ("uncertainties", "var"), lambda size: np.exp(rng.normal(size=size))
        ),
        "pit": rng.uniform,
    }
    made = {name: make(size=shape) for name, make in makers.items() if name in takes}
    if "uncertainties" in made and rng.random() < 0.2:
        made["stddevs"] = made.pop("uncertainties")
    return {**made, **_weights(rng, shape, takes)}


def _sample_pit(rng, shape):
    samples = np.round(rng.normal(size=(*shape, 5)), 1)
    return {"samples": samples, "targets": np.round(rng.normal(size=shape), 1)}


def _quantile_pit(rng, shape):
    values = np.sort(np.round(rng.normal(size=(*shape, 3)), 1), axis=-1)
    return {
        "quantile_predictions": values,
        "quantiles": [0.1, 0.5, 0.9],
        "targets": rng.normal(size=shape),
    }


def _log_densities(rng, shape):
    instances = shape or (4,)
    shape = (instances[0], int(rng.integers(1, 30)), *instances[1:])
    return {"logp": rng.normal(size=shape) * rng.choice([0.3, 3.0])}


def _bayesian(rng, shape):
    made = _labelled(rng, shape, lambda room: room.bin_statistics)
    made = {
        {"labels": "labels_true"}.get(name, name): value for name, value in made.items()
    }
    return {"num_bins": 5, "num_ece_samples": 3, "seed": 1, **made}


def _two_posteriors(rng, shape):
    return {name: rng.random(shape) for name in ("samples_a", "samples_b")}


# Targets.

_WRONG = (None, "x", -1, 0, 0.5, 1.5, math.nan, math.inf, True, (), [1])
NUMBERS = {
    "num_bins": (1, 2, 15, np.int64(4), 5.0, 100, *_WRONG[1:]),
    "threshold": (0.0, 0.3, np.float32(0.25), 1.0, *_WRONG),
    "datapoints_per_bin": (None, 1, 3, 10**6, *_WRONG),
    "n_bins": (1, 2, 10, np.int64(4), 5.0, *_WRONG[1:]),
    "level": (0.9, [0.5, 0.9], np.array([0.25, 0.75]), *_WRONG),
    "tpr": (0.5, 1.0, *_WRONG),
    "risk": (0.0, 0.5, 1.0, *_WRONG),
    "coverage": (0.25, 1.0, *_WRONG),
    "fraction": (0.0, 0.5, 1.0, *_WRONG),
    "alpha": (0.1, np.float32(0.5), *_WRONG),
    "p": (1, 2, 1.5, math.inf, 300.0, *_WRONG),
    "quantiles": (0.5, (0.1, 0.5, 0.9), np.array([0.1, 0.5, 0.75]), *_WRONG),
    "num_models": (None, 1, 2, 3, *_WRONG),
    "error": (None, 0.5, *_WRONG),
    "ensemble_axis": (0, 1, -2, None, 2, -1, 9, np.int64(1), *_WRONG),
    "num_ece_samples": (1, 4, np.int64(2), *_WRONG[1:]),
    "prior_alpha": (None, 0.5, 3, *_WRONG),
    "ignore_index": (None, 0, 1, -1, 255, np.int64(1), 2**40, 10**30, *_WRONG[1:]),
    "aggregate": (True, False, *_WRONG),
    "zero_based": (True, False, *_WRONG),
    "squared": (True, False, *_WRONG),
    "positive_class": (True, False, *_WRONG),
    "max_prob": (True, False, *_WRONG),
    "class_conditional": (True, False, *_WRONG),
    "binning_scheme": ("even", "adaptive", *_WRONG),
    "norm": ("l1", "l2", "max", *_WRONG),
    "estimator": ("fair", "nrg", "roll", *_WRONG),
    "waic_type": ("waic1", "waic2", *_WRONG),
    "criterion": ("waic1", "psis_loo", *_WRONG),
}


def _options(name):
    parameters = inspect.signature(operator.attrgetter(name)(um_np)).parameters
    return {option: NUMBERS[option] for option in parameters if option in NUMBERS}


def _target(name, make, **flags):
    return Target(name, make, _options(name), **flags)


def _catalogued() -> Iterator[Target]:
    for row in catalogue.FUNCTIONS:
        function = operator.attrgetter(row.name)
        make = _labelled
        if "confidences" in inspect.signature(function(um_np)).parameters:
            make = _confidences
        case = {k: v for k, v in row.cases[0].items() if k in ("norm", *_SPEC)}
        yield _target(
            row.name,
            functools.partial(_with, make, function, case),
            jumps="negative_log" not in row.name and row.name != "brier_score",
            unbounded=row.name in ("negative_log_likelihood", "bin_statistics"),
        )
    for row in (*catalogue.REAL_ROWS, *catalogue.DETECTION_ROWS):
        yield _target(
            row.name,
            functools.partial(_real, row),
            jumps=isinstance(row, catalogue.DetectionRow),
        )


_SPEC = ("binning_scheme", "max_prob", "class_conditional")


def _with(make, function, case, rng, shape):
    return {**make(rng, shape, function), **case}


def _real(row, rng, shape):
    size = math.prod(shape)
    made = row.arguments(rng, (max(size, 2),))
    made = {
        name: value[:size].reshape((*shape, *value.shape[1:]))
        for name, value in made.items()
    }
    case = row.cases[int(rng.integers(len(row.cases)))]
    return {**made, **case}


def _others() -> Iterator[Target]:
    for name, jumps in (
        ("model_uncertainty", False),
        ("predictive_entropy", False),
        ("expected_entropy", False),
        ("mutual_information", False),
        ("ensemble_disagreement", True),
        ("mean_member_uncertainty", False),
        ("variation_ratio", True),
    ):
        yield _target(name, _members, jumps=jumps)
    for name in ("ensemble_cross_entropy", "gibbs_cross_entropy"):
        yield _target(name, functools.partial(_members, labels=True), unbounded=True)
    yield _target("knowledge_uncertainty", _alphas)
    logits = functools.partial(_pair, names=("logits_1", "logits_2"), kind="logits")
    vectors = functools.partial(_pair, names=("x", "y"), kind="logits")
    pair = functools.partial(_pair, names=("p", "q"), kind="probabilities")
    yield _target("disagreement", logits, jumps=True)
    yield _target("logit_kl_divergence", logits, unbounded=True)
    yield _target("kl_divergence", pair, unbounded=True)
    yield _target("lp_distance", vectors)
    yield _target("cosine_similarity", vectors, jumps=True)
    yield _target("cosine_distance", vectors, jumps=True)
    yield _target("double_fault", _double_fault, jumps=True)
    yield _target(
        "average_pairwise_diversity", _members_first, jumps=True, unbounded=True
    )
    yield _target("variance_bound", functools.partial(_members_first, labels=True))
    for name in ("negative_waic", "importance_sampling_cross_validation", "psis_loo"):
        yield _target(name, _log_densities, unbounded=True)
    yield _target("bayesian_expected_calibration_error", _bayesian, random=True)
    yield _target("probability_of_lower_calibration_error", _two_posteriors, jumps=True)
    for name, jumps in (
        ("compute_calibration_curve", True),
        ("expected_calibration_error", True),
        ("negative_log_likelihood", False),
        ("interval_coverage", True),
        ("calibration_error", True),
        ("sharpness", False),
        ("interval_width", False),
        ("root_mean_squared_error", False),
        ("expected_normalized_calibration_error", True),
        ("evaluate_calibration", True),
        ("probability_integral_transform", False),
        ("pit_histogram", True),
        ("pit_calibration_curve", True),
        ("pit_calibration_error", True),
    ):
        name = f"regression.{name}"
        function = operator.attrgetter(name)
        make = functools.partial(_with, _forecasts, function, {})
        yield _target(name, make, jumps=jumps)
    yield _target("regression.sample_pit", _sample_pit, jumps=True)
    yield _target("regression.quantile_pit", _quantile_pit, jumps=True)
    selective = operator.attrgetter("risk_coverage_curve")
    make = functools.partial(_with, _confidences, selective, {})
    yield _target("risk_coverage_curve", make, jumps=True)
    function = operator.attrgetter("debiased_calibration_error")
    make = functools.partial(_with, _labelled, function, {})
    yield _target("debiased_calibration_error", make, jumps=True)


TARGETS = {target.name: target for target in (*_catalogued(), *_others())}
