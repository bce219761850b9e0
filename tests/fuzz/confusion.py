"""Arguments that are good elsewhere: probabilities as logits, labels as text, and so on.

Each must be refused with a ValueError that names what should have been passed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from tests.fuzz.outcomes import call, told

_ROOMS = {"NumPy": um_np, "TensorFlow": um}


def _data(rng):
    """Makes labels, probabilities, and logits of which some are not in [0, 1]."""
    n, classes = int(rng.integers(8, 30)), int(rng.choice([2, 3, 5, 67]))
    probabilities = rng.dirichlet(np.ones(classes), n)
    logits = 3 * rng.normal(size=(n, classes))
    dtype = rng.choice([np.float32, np.float64])
    return (
        rng.integers(0, classes, n),
        probabilities.astype(dtype),
        logits.astype(dtype),
    )


def _refusal(call_it: Callable[[], object], *words: str) -> str | None:
    """Returns what is wrong unless a ValueError has all the words."""
    done = call(lambda: (call_it() and 0.0) or 0.0, {})
    if type(done.error) is ValueError and all(w in str(done.error) for w in words):
        return None
    return f"{' '.join(words)}: {told(done)}"


def _function(name, wrong, rng):
    labels, probabilities, logits = _data(rng)
    for room, functions in _ROOMS.items():
        function = getattr(functions, name)
        if wrong == "logits":
            problem = _refusal(
                lambda: function(labels, logits=probabilities), "`probabilities`"
            )
        elif wrong == "probabilities":
            problem = _refusal(
                lambda: function(labels, probabilities=logits), "`logits`"
            )
        else:
            text = labels.astype(str)
            text = (text, text.astype(object), text.tolist())[rng.integers(3)]
            problem = _refusal(
                lambda: function(text, probabilities=probabilities), "`labels`"
            )
        if problem:
            return f"{room}: {problem}"
    return None


def _fit(name, rng):
    labels, probabilities, _ = _data(rng)
    scaling = _ROOMS[name].TemperatureScaling()
    return _refusal(lambda: scaling.fit(labels, probabilities), "`probabilities`")


def _positional(name, rng):
    """Probabilities are the second argument."""
    labels, probabilities, _ = _data(rng)
    for room, functions in _ROOMS.items():
        function = getattr(functions, name)
        expected = call(lambda: function(labels, probabilities=probabilities), {})  # noqa: B023
        done = call(lambda: function(labels, probabilities), {})  # noqa: B023
        if told(done) != told(expected):
            return f"{room}: {told(done)} for {told(expected)}"
    return None


def _metric(row, rng):
    labels, probabilities, logits = _data(rng)
    options = dict(row.metric_cases[0][0])
    if "num_classes" in options:
        options["num_classes"] = probabilities.shape[1]
    for from_logits, wrong in ((True, probabilities), (False, logits)):
        metric = getattr(um, row.metric)(**options, from_logits=from_logits)
        problem = _refusal(
            lambda: metric.update_state(labels, wrong),  # noqa: B023
            "`from_logits`",
        )
        if problem:
            return problem
    return None


def _loss(row, rng):
    """Weights must be finite and not negative."""
    options = row.metric_cases[0][0]
    data = row.lattice(rng, 8)
    loss = getattr(um, _LOSSES[row.metric])(**options)
    weights = np.ones(8, np.float32)
    weights[rng.integers(8)] = rng.choice([-1.0, -np.inf, np.inf, np.nan, -1e-30])
    return _refusal(
        lambda: loss(data.labels, data.predictions, weights), "`sample_weight`"
    )


_LOSSES = {
    "BrierScore": "BrierLoss",
    "CRPSNormal": "CRPSNormalLoss",
    "CRPSSamples": "CRPSSampleLoss",
    "IntervalScore": "IntervalLoss",
    "Pinball": "PinballLoss",
}


def _cases():
    for row in catalogue.FUNCTIONS:
        name = row.name
        taken = inspect.signature(getattr(um_np, name)).parameters
        if not {"labels", "logits", "probabilities"} <= set(taken):
            continue
        if any(
            p.default is p.empty and p.name != "labels" for p in taken.values()
        ):  # Options that must be given.
            continue
        for wrong in ("logits", "probabilities", "labels"):
            yield f"{wrong}-{name}", functools.partial(_function, name, wrong)
        yield f"positional-{name}", functools.partial(_positional, name)
    for name in _ROOMS:
        yield f"fit-{name}", functools.partial(_fit, name)
    for row in catalogue.CLASS_METRICS:
        yield f"metric-{row.metric}", functools.partial(_metric, row)
    for row in catalogue.METRICS:
        if row.metric in _LOSSES:
            yield f"weights-{_LOSSES[row.metric]}", functools.partial(_loss, row)


CASES = dict(_cases())


def check(name: str, seed: int) -> str | None:
    """Passes one argument as another."""
    return CASES[name](np.random.default_rng([seed, *name.encode()]))
