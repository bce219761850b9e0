"""Random arguments, good and bad, for every function and metric of the package.

Whatever the arguments are, there are four outcomes: a number; NaN where the
documentation says so; NaN in a graph for values that cannot be used; or a ValueError or
TypeError that names an argument and says what was received. NumPy and eager TensorFlow
have the same outcome with the same value or the same message, nothing warns, and no
argument is changed.

`tests/parity/test_fuzz.py` runs a few cases of each target. To look for more by hand:

  python -m tests.fuzz --seconds 600 --seed 1

prints a line for each failure; `python -m tests.fuzz --case ece:17` runs one again.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import functools
import inspect
import itertools
import math
import operator
import re
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

Arguments = dict[str, Any]

# Arrays that say how many examples there are.
_SHAPES = ((), (1,), (2,), (7,), (7,), (12,), (3, 4), (2, 3, 2), (5, 1), (0,), (3, 0))
_WEIGHTS = ("sample_weight", "mask")


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
    return _MANY if rng.random() < 0.02 else int(rng.choice([1, 2, 3, 3, 5, 40]))


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
_NUMBERS = {
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
    return {option: _NUMBERS[option] for option in parameters if option in _NUMBERS}


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


# Mutations: each takes a generator and an array and returns what is passed instead.

_DTYPES = (
    *("float16", "float32", "float32", "float64", "longdouble", ml_dtypes.bfloat16),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bool", "complex128", ">f4", ">i8", ">f8", "str", "object", "datetime64[s]"),
)
_VALUES = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 255, 1e5),
    *(5e-324, 1e-45, 1e-40, 1e-30, 1e-17, 1e30, 1e200, 1.7e308, -1e-10, -1e30, -1e300),
    *(np.nextafter(1, 2), np.nextafter(np.float32(1), np.float32(2)), 1 + 1e-3),
    *(np.nextafter(1, 0), float(2**31), float(2**53), float(2**63), -(2.0**63)),
)
_STRANGERS = (
    *(None, "text", b"bytes", 1, 0.5, True, {}, {1, 2}, (), [], [[]], [None], object()),
    *([[0.1], [0.2, 0.3]], ["a", "b"], [1, "a"], 1j, np.float32(0.25), np.int64(1)),
    *(range(3), slice(3), print, float, np.array(["a"]), np.array(None), [[1], 2]),
    *(10**30, [10**30], [1 << 63], np.zeros((1, 1, 1, 1))),
)


def _cast(rng, array):
    dtype = np.dtype(_DTYPES[rng.integers(len(_DTYPES))])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if dtype.kind in "iuM":
            array = np.nan_to_num(array, posinf=9, neginf=0)
        if dtype.kind == "M":
            array = array.astype(np.int64)
        try:
            return array.astype(dtype)
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            # From objects, or between extension types.
            return array


def _value(rng, array):
    if array.size == 0:
        return array
    value = _VALUES[rng.integers(len(_VALUES))]
    if array.dtype.kind in "iu" and (not np.isfinite(value) or rng.random() < 0.5):
        array = array.astype(np.float64)
    array = array.copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.asarray(value).astype(array.dtype)
    if rng.random() < 0.15:
        return np.full_like(array, value)
    array[tuple(int(rng.integers(size)) for size in array.shape)] = value
    return array


def _scaled(rng, array):
    if array.dtype.kind not in "biuf":
        return array
    with np.errstate(all="ignore"):
        return array * _VALUES[rng.integers(len(_VALUES))]


def _reshaped(rng, array):
    changes = [
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[:1] if a.ndim else a,
        lambda a: a[1:] if a.ndim else a,
        lambda a: a[:0] if a.ndim else a,
        lambda a: a[..., :0] if a.ndim else a,
        lambda a: a[..., :1] if a.ndim else a,
        lambda a: a[0] if a.ndim and len(a) else a,
        lambda a: a[..., 0] if a.ndim and a.shape[-1] else a,
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: np.concatenate([a, a]) if a.ndim else a,
        lambda a: np.concatenate([a, a], axis=-1) if a.ndim else a,
    ]
    return changes[rng.integers(len(changes))](array)


def _single(array):
    """Rounds float64 to float32, which a Python number is in TensorFlow."""
    with np.errstate(all="ignore"):
        return array.astype(np.float32) if array.dtype == np.float64 else array


def _unaligned(array):
    if array.dtype.hasobject:
        return array
    buffer = np.frombuffer(b"-" + array.tobytes(), np.uint8)[1:]
    return buffer.view(array.dtype).reshape(array.shape)


def _stored(rng, array):
    """Returns the same values in another container or place."""
    forms = [
        lambda a: _single(a).tolist(),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
        lambda a: np.ascontiguousarray(a[::-1])[::-1] if a.ndim else a,
        lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a,
        lambda a: a.astype(object),
        lambda a: np.ma.masked_array(a),
        lambda a: tuple(_single(a).tolist()) if a.ndim else a,
        lambda a: list(a) if a.ndim and not a.dtype.hasobject else a,
        lambda a: a if a.dtype.kind in "mM" else memoryview(np.ascontiguousarray(a)),
        _unaligned,
    ]
    return forms[rng.integers(len(forms))](array)


def _stranger(rng, array):
    return copy.copy(_STRANGERS[rng.integers(len(_STRANGERS))])


_MUTATIONS = (
    _cast,
    _cast,
    _value,
    _value,
    _value,
    _scaled,
    _reshaped,
    _stored,
    _stranger,
)


def _arrays(arguments):
    return [name for name, value in arguments.items() if isinstance(value, np.ndarray)]


def build(target: Target, seed: int) -> tuple[Arguments, int]:
    """Returns the arguments of a case, the same for the same seed, and in how many ways
    they may be bad.
    """
    rng = np.random.default_rng([seed, *target.name.encode()])
    shape = _SHAPES[rng.integers(len(_SHAPES))]
    arguments = target.make(rng, shape)
    weights = [arguments[name] for name in _WEIGHTS if name in arguments]
    changes = (0 in shape) + any(not np.any(values) for values in weights)
    if rng.random() < 0.4:  # All in one type.
        dtype = np.dtype(str(rng.choice(["float32", "float32", "float16"])))
        for name in _arrays(arguments):
            if arguments[name].dtype == np.float64:
                arguments[name] = arguments[name].astype(dtype)
    for name, values in target.options.items():
        if rng.random() < 0.15:
            arguments[name] = copy.copy(values[rng.integers(len(values))])
            changes += 1
    for _ in range(int(rng.choice([0, 1, 1, 2]))):
        names = _arrays(arguments)
        if not names:
            break
        name = names[rng.integers(len(names))]
        mutation = _MUTATIONS[rng.integers(len(_MUTATIONS))]
        arguments[name] = mutation(rng, arguments[name])
        changes += 1
        if rng.random() < 0.05:
            other = str(
                rng.choice([*names, *target.options, "logits", "probabilities"])
            )
            if other in target.parameters:
                arguments[other] = arguments[name]
                changes += 1
    for name in _arrays(arguments):
        if rng.random() < 0.2:
            arguments[name].flags.writeable = False
    return arguments, changes


# Outcomes.

# Beyond, powers of data overflow float64: to inf or NaN, with NumPy's warning.
_LARGE = 1e100


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call did: `error` is None where it returned `values`, a flat array."""

    values: np.ndarray | None = None
    error: Exception | None = None


_FIELDS = ("edges", "counts", "confidences", "accuracies")


def _flat(result: Any) -> np.ndarray:
    if isinstance(result, Mapping):
        parts = [result[key] for key in sorted(result, key=str)]
    elif dataclasses.is_dataclass(result):
        names = _FIELDS[1:] if hasattr(result, "accuracies") else None
        names = names or [f.name for f in dataclasses.fields(result)]
        parts = [getattr(result, name) for name in names]
    elif isinstance(result, tuple | list):
        parts = result
    else:
        return np.asarray(result, np.float64).reshape(-1)
    return np.concatenate([np.zeros(0), *(_flat(part) for part in parts)])


def _call(function: Callable[..., Any], arguments: Arguments) -> Outcome:
    overflows = _overflows(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # Documented advice.
            warnings.simplefilter("ignore", DeprecationWarning)  # Of libraries.
            if overflows:
                warnings.simplefilter("ignore", RuntimeWarning)
            return Outcome(values=_flat(function(**arguments)))
    except Exception as error:
        return Outcome(error=error)


# Messages that need not name an argument.
_WITHOUT_NAMES = ("The values must be of a size", "The arguments seem to be swapped")


def _complaint(known: Collection[str], error: Exception) -> str | None:
    """Returns what is wrong with an exception, or None; `known` are the arguments."""
    if str(error).startswith(_WITHOUT_NAMES) and "Received" in str(error):
        return None
    named = set(re.findall(r"`(\w+)", str(error)))
    if type(error) not in (ValueError, TypeError):
        return f"raises {type(error).__name__}: {error}"
    if "Received" not in str(error):
        return f"does not say what was received: {error}"
    if not named & set(known):
        return f"names no argument: {error}"
    return None


def _tolerance(arguments: Arguments, values: np.ndarray) -> float:
    """Returns how far apart NumPy and TensorFlow may be."""
    wide = not any(_is_narrow(name, value) for name, value in arguments.items())
    largest = max((np.max(np.abs(values), initial=0), 1))
    return largest * (1e-9 if wide else 3e-4)


def _is_narrow(name: str, value: Any) -> bool:
    """Says if predictions make TensorFlow compute in float32."""
    if name in _NUMBERS or name.startswith(("labels", "mask", "correct")):
        return False
    return not (isinstance(value, np.ndarray) and value.dtype == np.float64)


def _is_data(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufV"


def _range(arguments: Arguments) -> tuple[float, float]:
    """Returns the smallest and the largest size of the data."""
    sizes = []
    for value in arguments.values():
        if isinstance(value, list | tuple):
            with contextlib.suppress(ValueError):  # Ragged.
                value = np.asarray(value)
        if _is_data(value):
            sizes.append(np.abs(np.asarray(value, np.float64)).reshape(-1))
    sizes = np.concatenate([[1.0], *sizes])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return sizes.min(), sizes.max()


def _overflows(arguments: Arguments) -> bool:
    smallest, largest = _range(arguments)
    return largest > _LARGE or smallest < 1 / _LARGE


def compare(
    target: Target, arguments: Arguments, ours: Outcome, twin: Outcome, changes: int = 2
):
    """Returns how the outcome in TensorFlow differs from that in NumPy, or None."""
    smallest, largest = _range(arguments)
    flushed = smallest < 1e-37 or largest > 1e38  # To 0 or to infinity, by TensorFlow.
    if flushed and (ours.error is None or twin.error is None):
        return None
    if (ours.error is None) != (twin.error is None):
        return f"NumPy: {_told(twin)}; TensorFlow: {_told(ours)}"
    if ours.error is not None:
        if _told(ours) != _told(twin) and changes < 2:
            return f"messages differ: {_told(twin)} | {_told(ours)}"
        return None  # Each room may see another of several problems first.
    if target.random:
        same = ours.values.shape == twin.values.shape
        return None if same else f"shapes differ: {twin.values} | {ours.values}"
    if smallest < 1e-4 or largest > 1e4 or (target.jumps and _rounds(arguments)):
        return None
    a, b = twin.values, ours.values
    if target.name == "bin_statistics":
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        a, b = a[a != 0], b[b != 0]
    if a.shape != b.shape:
        return f"shapes differ: {a} | {b}"
    finite = np.isfinite(a) & np.isfinite(b)
    atol = _tolerance(arguments, a[finite])
    with np.errstate(all="ignore"):
        differs = np.where(finite, ~(np.abs(a - b) <= atol), ~_alike(a, b))
    if np.any(differs):
        return f"values differ: {a[differs][:3]} | {b[differs][:3]}"
    return None


def _alike(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _rounds(arguments: Arguments) -> bool:
    """Says if a decision may depend on the precision of the arithmetic."""
    return any(
        name.startswith("logits") or _is_narrow(name, value) or _exceeds_one(value)
        for name, value in arguments.items()
    )


def _exceeds_one(value: Any) -> bool:
    """Says if a probability is above 1 by rounding; which of two is, may decide."""
    return _is_data(value) and bool(np.any((value > 1) & (value < 1.001)))


def _told(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}"
    return str(outcome.values[:5])


def _snapshot(arguments: Arguments) -> bytes:
    return repr(
        [
            value.tobytes() if isinstance(value, np.ndarray) else repr(value)
            for value in arguments.values()
        ]
    ).encode()


def check(
    target: Target, seed: int, graph: bool = False, jit_compile: bool = False
) -> str | None:
    """Runs a case, in a graph too if asked; returns what is wrong with it, or None."""
    arguments, changes = build(target, seed)
    before = _snapshot(arguments)
    twin = outcome(target, arguments)
    ours = _call(target.function(um), arguments)
    if _snapshot(arguments) != before:
        return "an argument was changed"
    for room, done in (("NumPy", twin), ("TensorFlow", ours)):
        if done.error is not None:
            complaint = _complaint(target.parameters, done.error)
            if complaint:
                return f"{room} {complaint}"
    bounded = not (target.unbounded or _overflows(arguments))
    if twin.values is not None and bounded and not np.all(np.isfinite(twin.values)):
        return f"NumPy gives {_told(twin)}"
    difference = compare(target, arguments, ours, twin, changes)
    if difference or not graph or target.name == "risk_coverage_curve":
        return difference
    return _check_graph(target, arguments, twin, ours, jit_compile)


def outcome(target: Target, arguments: Arguments) -> Outcome:
    """Returns what the NumPy function does."""
    return _call(target.function(um_np), arguments)


def is_compiled(target: Target, seed: int, one_in: int) -> bool:
    """Says if a case is run in a graph too, which takes most of the time."""
    return zlib.crc32(f"{target.name}:{seed}".encode()) % one_in == 0


def _check_graph(target, arguments, twin, ours, jit_compile) -> str | None:
    """Compares a compiled call with the others."""
    data = {
        name: value
        for name, value in arguments.items()
        if _is_data(value) and name not in _NUMBERS
    }
    rest = {name: value for name, value in arguments.items() if name not in data}
    try:
        tensors = {name: tf.constant(value) for name, value in data.items()}
    except (TypeError, ValueError):
        return None

    def function(tensors):
        result = target.function(um)(**tensors, **rest)
        if dataclasses.is_dataclass(result):
            names = _FIELDS[1:] if hasattr(result, "accuracies") else None
            names = names or [f.name for f in dataclasses.fields(result)]
            result = [getattr(result, name) for name in names]
        if isinstance(result, Mapping):
            result = [result[key] for key in sorted(result, key=str)]
        return tf.nest.map_structure(tf.convert_to_tensor, result)

    compiled = tf.function(function, autograph=False, jit_compile=jit_compile)
    compiled = _call(compiled, {"tensors": tensors})
    if compiled.error is not None:
        complaint = _complaint(target.parameters, compiled.error)
        if complaint:
            return f"in a graph it {complaint}"
        if twin.error is None:
            return f"raises only in a graph: {compiled.error}"
        return None
    if twin.error is not None:
        smallest, largest = _range(arguments)
        flushed = smallest < 1e-37 or largest > 1e38
        if not flushed and not np.any(np.isnan(compiled.values)):
            return f"NumPy: {_told(twin)}; graph: {_told(compiled)}"
        return None
    return compare(target, arguments, compiled, ours)


def _mutated(rng, value):
    for _ in range(int(rng.choice([1, 1, 2]))):
        if isinstance(value, np.ndarray):
            value = _MUTATIONS[rng.integers(len(_MUTATIONS))](rng, value)
    return value


# The metric with the mean of each loss.
LOSSES = {
    "BrierLoss": "BrierScore",
    "CRPSNormalLoss": "CRPSNormal",
    "CRPSSampleLoss": "CRPSSamples",
    "IntervalLoss": "IntervalScore",
    "PinballLoss": "Pinball",
}


def check_loss(name: str, seed: int) -> str | None:
    """Compares a Keras loss with its metric, for arguments that may be bad."""
    rng = np.random.default_rng([seed, *name.encode()])
    rows = [row for row in catalogue.METRICS if row.metric == LOSSES[name]]
    row = rows[rng.integers(len(rows))]
    options = row.metric_cases[rng.integers(len(row.metric_cases))][0]
    data = row.lattice(rng, 8)
    arguments = [data.labels, data.predictions.astype(np.float32)]
    place = rng.integers(2)
    arguments[place] = _mutated(rng, arguments[place])
    if isinstance(arguments[place], np.ndarray):
        arguments[place] = _single(arguments[place])  # As Keras does.
    snapshot = _snapshot(dict(enumerate(arguments)))
    metric = getattr(um, row.metric)(**options)
    loss = getattr(um, name)(**options)
    twin = _call(lambda: metric.update_state(*arguments) or metric.result(), {})
    ours = _call(lambda: loss(*arguments), {})
    if _snapshot(dict(enumerate(arguments))) != snapshot:
        return "an argument was changed"
    if ours.error is not None:
        complaint = _complaint(("y_true", "y_pred"), ours.error)
        if complaint:
            return f"{complaint} of {arguments!r}"
    smallest, largest = _range(dict(enumerate(arguments)))
    if smallest < 1e-4 or largest > 1e4:
        return None
    if (ours.error is None) == (twin.error is None) and (
        twin.error is not None or np.allclose(ours.values, twin.values, 1e-4, 1e-4)
    ):
        return None
    return f"metric: {_told(twin)}; loss: {_told(ours)} of {arguments!r}"


def check_metric(row: Any, seed: int) -> str | None:
    """Updates the Keras metric of a row with arguments that may be bad.

    Returns what is wrong, or None: an update that raises must leave the state alone.
    """
    rng = np.random.default_rng([seed, *row.metric.encode()])
    data = row.lattice(rng, 8)
    metric = getattr(um, row.metric)(**row.metric_cases[0][0])
    metric.update_state(data.labels, data.predictions, data.weights)
    before = [variable.numpy() for variable in metric.variables]
    arguments = [data.labels, data.predictions, data.weights]
    place = rng.integers(3)
    arguments[place] = _mutated(rng, arguments[place])
    snapshot = _snapshot(dict(enumerate(arguments)))
    done = _call(lambda: metric.update_state(*arguments) or 0.0, {})
    if _snapshot(dict(enumerate(arguments))) != snapshot:
        return "an argument was changed"
    if done.error is None:
        return None
    after = [variable.numpy() for variable in metric.variables]
    if not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        return f"the state changed: {done.error}"
    known = ("y_true", "y_pred", "sample_weight")
    complaint = _complaint(known, done.error)
    return complaint and f"{complaint} of {arguments!r}"


def describe(target: Target, seed: int) -> str:
    """Returns the call of a case."""
    with np.printoptions(threshold=20, edgeitems=3):
        parts = [f"{name}={value!r}" for name, value in build(target, seed)[0].items()]
    return f"{target.name}({', '.join(parts)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", help="NAME:SEED of one case to run again")
    parser.add_argument("--only", default="", help="part of the names to run")
    parser.add_argument("--graph", type=int, default=10, help="one case in so many")
    parser.add_argument("--jit", type=int, default=100, help="one case in so many")
    options = parser.parse_args()
    if options.case:
        name, seed = options.case.rsplit(":", 1)
        target = TARGETS[name]
        print(describe(target, int(seed)))
        arguments, _ = build(target, int(seed))
        for room in (um_np, um):
            done = _call(target.function(room), arguments)
            if done.error is not None:
                traceback.print_exception(done.error)
            else:
                print(done.values)
        for jit_compile in (False, True):
            print(check(target, int(seed), graph=True, jit_compile=jit_compile))
        return
    end = time.monotonic() + options.seconds
    count = failures = 0

    def report(case, problem):
        nonlocal count, failures
        count += 1
        if problem:
            failures += 1
            print(f"{case}  {problem}"[:400].replace("\n", " "), flush=True)

    targets = [t for name, t in TARGETS.items() if options.only in name]
    for i in itertools.count(options.seed * 10**6):
        for target in targets:
            if time.monotonic() > end:
                print(f"{failures} failures in {count} cases")
                return
            jit = is_compiled(target, i, options.jit)
            graph = jit or is_compiled(target, i, options.graph)
            report(f"--case {target.name}:{i}", check(target, i, graph, jit))
        for row in catalogue.METRICS:
            if options.only in row.name:
                report(f"{row.metric} {i}", check_metric(row, i))
        for name in LOSSES:
            if options.only in name:
                report(f"{name} {i}", check_loss(name, i))


if __name__ == "__main__":
    main()
