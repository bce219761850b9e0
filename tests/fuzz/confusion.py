"""Arguments that fit another place: probabilities as logits, labels as text, ...

Each must be refused with a ValueError that names what should have been passed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from tests.fuzz.metrics import LOSSES, loss_and_metric
from tests.fuzz.outcomes import TARGETS, as_text, call

_ROOMS = {"NumPy": um_np, "tensors": um}


def _data(rng):
    """Makes labels, probabilities, and logits of which some are not in [0, 1]."""
    n, classes = int(rng.choice([8, 29])), int(rng.choice([2, 3, 67]))
    probabilities = rng.dirichlet(np.ones(classes), n)
    logits = 3 * rng.normal(size=(n, classes))
    dtype = rng.choice([np.float32, np.float64])
    return (
        rng.integers(0, classes, n),
        probabilities.astype(dtype),
        logits.astype(dtype),
    )


def _refusal(call_it: Callable[[], object], *words: str) -> str | None:
    """Returns a complaint unless a call raises a ValueError with all the words."""
    done = call(lambda: (call_it() and 0.0) or 0.0, {})
    if type(done.error) is ValueError and all(w in str(done.error) for w in words):
        return None
    return f"{' '.join(words)}: {as_text(done)}"


def _function(name, options, wrong, rng):
    labels, probabilities, logits = _data(rng)
    text = labels.astype(str)
    text = (text, text.astype(object), text.tolist())[rng.integers(3)]
    given, word = {
        "logits": ({"labels": labels, "logits": probabilities}, "`probabilities`"),
        "probabilities": ({"labels": labels, "probabilities": logits}, "`logits`"),
        "labels": ({"labels": text, "probabilities": probabilities}, "`labels`"),
    }[wrong]
    for room, functions in _ROOMS.items():
        function = functools.partial(getattr(functions, name), **given, **options)
        problem = _refusal(function, word)
        if problem:
            return f"{room}: {problem}"
    return None


def _fit(name, rng):
    labels, probabilities, _ = _data(rng)
    scaling = _ROOMS[name].TemperatureScaling()
    fit = functools.partial(scaling.fit, labels, probabilities)
    return _refusal(fit, "`probabilities`")


def _positional(name, options, rng):
    """Checks that probabilities are the second argument."""
    labels, probabilities, _ = _data(rng)
    for room, functions in _ROOMS.items():
        function = functools.partial(getattr(functions, name), labels, **options)
        expected = call(function, {"probabilities": probabilities})
        done = call(functools.partial(function, probabilities), {})
        if as_text(done) != as_text(expected):
            return f"{room}: {as_text(done)} for {as_text(expected)}"
    return None


def _metric(row, rng):
    labels, probabilities, logits = _data(rng)
    options = dict(row.metric_cases[0][0])
    if "num_classes" in options:
        options["num_classes"] = probabilities.shape[1]
    for from_logits, wrong in ((True, probabilities), (False, logits)):
        metric = row.made(options, from_logits=from_logits)
        update = functools.partial(metric.update_state, labels, wrong)
        problem = _refusal(update, "from_logits")
        if problem:
            return problem
    return None


def _loss(name, rng):
    """Checks that a loss refuses weights that are negative or not finite."""
    row, loss, _ = loss_and_metric(name)
    data = row.lattice(rng, 8)
    weights = np.ones(8, np.float32)
    weights[rng.integers(8)] = rng.choice([-1.0, -np.inf, np.inf, np.nan, -1e-30])
    call_it = functools.partial(loss, data.labels, data.predictions, weights)
    return _refusal(call_it, "`sample_weight`")


def _functions():
    """Yields functions that take probabilities or logits, and options they need."""
    for row in TARGETS.values():
        takes = {"labels", "logits", "ensemble_axis"} & set(row.parameters)
        if takes == {"labels", "logits"}:
            yield row.name, getattr(row, "cases", [{}])[0]


def _cases():
    for name, options in _functions():
        for wrong in ("logits", "probabilities", "labels"):
            case = functools.partial(_function, name, options, wrong)
            yield f"{wrong}-{name}", case
        if "binning_scheme" not in options:  # The second argument.
            yield f"positional-{name}", functools.partial(_positional, name, options)
    for name in _ROOMS:
        yield f"fit-{name}", functools.partial(_fit, name)
    for row in catalogue.CLASS_METRICS:
        yield f"metric-{row.metric}", functools.partial(_metric, row)
    for name in LOSSES:
        yield f"weights-{name}", functools.partial(_loss, name)


CASES = dict(_cases())


def check(name: str, seed: int) -> str | None:
    """Passes an argument in a wrong way; returns what is wrong, or None."""
    return CASES[name](np.random.default_rng([seed, *name.encode()]))
