"""Metrics of groups: in NumPy and Keras a group has the value of its examples alone."""

from __future__ import annotations

import inspect
import warnings

import numpy as np

import uncertainty_metrics.numpy as um_np
from tests import catalogue
from tests.fuzz.compiling import (
    IS_JAX,
    KEEPS_FLOAT64,
    NOT_CONVERTIBLE,
    RARELY,
    compiled_update,
    tensor,
)
from tests.fuzz.mutations import mutated, single
from tests.fuzz.outcomes import Arguments, Outcome, as_text, call, extent, fault
from uncertainty_metrics.ops import to_numpy

METRICS = {
    f"{row.metric}-{row.name}": row
    for row in catalogue.CLASS_METRICS
    if "num_groups" in inspect.signature(row.metric_class).parameters
}
# Part of the message of NumPy without examples; a batch of Keras may have none.
_NOTHING = "at least one example"


def quietly(result):
    """Returns a result without the warning that a batch was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return result()


def _aligned(value, shape):
    """Broadcasts an array to the shape of the labels, from the first axes on."""
    value = np.asarray(value)
    value = value.reshape((*value.shape, *(1,) * len(shape))[: len(shape)])
    return np.broadcast_to(value.astype(np.float64), shape)


def differs_alone(
    target: catalogue.Function, arguments: Arguments, twin: Outcome
) -> str | None:
    """Returns how a group differs from its value in NumPy alone, or None."""
    smallest, largest = extent(arguments)
    if smallest < 1e-9 or largest > 1e9:  # Sums would lose small numbers.
        return None
    number = int(arguments["num_groups"])
    values, worst, totals = np.split(twin.values, [number, number + 1])
    rest = {k: v for k, v in arguments.items() if k not in ("groups", "num_groups")}
    shape = np.shape(arguments["labels" if "labels" in arguments else "correct"])
    groups = _aligned(arguments["groups"], shape)
    weights = rest.get("sample_weight")
    weights = _aligned(1.0 if weights is None else weights, shape)
    for group in range(min(number, 5)):
        rest["sample_weight"] = np.where(groups == group, weights, 0)
        alone = call(target.find(um_np), rest)
        if alone.error is not None and _NOTHING in str(alone.error):
            right = np.isnan(values[group])
        elif alone.error is not None:
            return f"group {group} alone: {as_text(alone)}"
        else:  # A group without scores is NaN; alone it is 0.
            expected = alone.values[0] or values[group] * 0
            right = np.allclose(values[group], expected, 1e-7, 1e-7, equal_nan=True)
        if not right:
            return f"group {group} has {values[group]}, and alone {as_text(alone)}"
    held = values[~np.isnan(values)]
    worst_held = target.worst(held) if held.size else np.nan
    if not np.array_equal(worst, [worst_held], True):
        return f"the worst of {values} is {worst}"
    return None if np.all(totals >= 0) else f"the weights are {totals}"


def check(name: str, seed: int) -> str | None:
    """Compares a Keras metric, eager and in a graph, with the NumPy function."""
    row = METRICS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    options, case = row.metric_cases[rng.integers(len(row.metric_cases))]
    number, ignored = int(rng.choice([1, 3])), rng.choice([-1, 0])
    common: Arguments = {"num_groups": number}
    if rng.random() < 0.3:
        common["ignore_index"] = int(ignored)
    data = row.lattice(rng, 12)
    given = {
        "groups": rng.choice(rng.integers(0, number, 2), 12),
        "labels": data.labels,
        "probabilities": data.predictions,
        "sample_weight": data.weights.astype(np.float32),
    }
    place = str(rng.choice([*given, "groups", "nothing"]))
    if place in given:
        given[place] = mutated(rng, given[place])
        if not KEEPS_FLOAT64 and isinstance(given[place], np.ndarray):
            given[place] = single(given[place])
    if given["sample_weight"] is None or rng.random() < 0.3:
        del given["sample_weight"]
    twin = call(row.find(um_np), {**given, **case, **common})
    known = ("y_true", "y_pred", "sample_weight", "groups")

    def made():
        return row.made({**options, **common}, sparse_labels=True, name="m")

    def batch(given):
        y_true = {key: given[key] for key in ("labels", "groups")}
        return y_true, given["probabilities"], given.get("sample_weight")

    metric = made()
    ours = call(lambda: metric.update_state(*batch(given)) or metric.result(), {})
    if ours.error is not None:
        complaint = fault(known, ours.error)
        if complaint:
            return f"{complaint} of {given!r}"
        if any(np.any(to_numpy(variable.value)) for variable in made().variables):
            return f"the state changed: {ours.error}"
    problem = _differs(ours, twin, given, number, place, options)
    if problem:
        return f"{problem} of {given!r}"
    try:
        tensors = {key: tensor(value) for key, value in given.items()}
    except NOT_CONVERTIBLE:
        return None
    if rng.random() > 2 / RARELY:
        return None
    if IS_JAX and ours.error is None:
        metric.reset_state()  # Compiled code cannot make its variables.
    elif IS_JAX:
        return None
    else:
        metric = made()
    update = compiled_update(metric)
    compiled = call(lambda: update(*batch(tensors)) or quietly(metric.result), {})
    if compiled.error is not None:
        if ours.error is None:
            return f"raises only in a graph: {compiled.error} of {given!r}"
        return fault(known, compiled.error)
    if ours.error is not None:
        bad = np.all(np.isnan(compiled.values))
        return (
            None if bad else f"{as_text(ours)}; graph: {as_text(compiled)} of {given!r}"
        )
    if not np.allclose(compiled.values, ours.values, 1e-6, 1e-6, equal_nan=True):
        return f"{as_text(ours)}; graph: {as_text(compiled)} of {given!r}"
    return None


def _differs(ours, twin, given, number, place, options):
    """Returns how the outcome of Keras differs from that of NumPy, or None."""
    smallest, largest = extent(given)
    if smallest < 1e-30 or largest > 1e30:  # Beyond float32.
        return None
    if twin.error is not None and _NOTHING in str(twin.error):
        return None
    if "`y_pred` must have 3 classes" in str(ours.error):  # NumPy takes any number.
        return None
    if (ours.error is None) != (twin.error is None):
        return f"NumPy: {as_text(twin)}; Keras: {as_text(ours)}"
    joins = place in ("probabilities", "sample_weight") and "sketch_bits" in options
    if ours.error is not None or joins or smallest < 1e-4 or largest > 1e4:
        return None
    if np.allclose(ours.values, twin.values[: number + 1], 3e-4, 3e-4, equal_nan=True):
        return None
    return f"NumPy: {as_text(twin)}; Keras: {as_text(ours)}"
