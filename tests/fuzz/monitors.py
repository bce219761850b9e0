"""Monitors of calibration: an update succeeds, or raises and changes nothing."""

from __future__ import annotations

import math

import numpy as np

import uncertainty_metrics.numpy as um
from tests import makers
from tests.fuzz.mutations import mutated
from tests.fuzz.outcomes import as_text, call, fault, frozen

MONITORS = ("decisions", "positive", "confidences", "pit", "intervals")
_NAMES = (
    "labels",
    "probabilities",
    "correct",
    "confidences",
    "pit",
    "lower",
    "upper",
    "positive_class",
)


def _good(rng, name):
    """Makes good arguments of `update`; `lower` and `upper` are the ends of `pit`."""
    if name in ("decisions", "positive"):
        made = makers.data(rng, 8, 2 if name == "positive" else 3)
        return {"labels": made.labels, "probabilities": made.predictions}
    values = rng.integers(0, 11, 8) / 10
    if name == "confidences":
        return {"correct": rng.integers(0, 2, 8), "confidences": values}
    if name == "pit":
        return {"pit": values}
    return {"lower": values / 2, "upper": values}


def _update(monitor, given):
    if {"lower", "upper"} & {*given}:
        given = {"pit": um.regression.PITInterval(**given)}
    monitor.update(**given)


def check(name: str, seed: int) -> str | None:
    """Updates a monitor with arguments that may be bad.

    If the update raises, the monitor must not change.
    """
    rng = np.random.default_rng([seed, *name.encode()])
    mode = str(rng.choice(["test", "change"]))
    monitor = um.CalibrationMonitor(mode=mode, positive_class=name == "positive")
    _update(monitor, _good(rng, name))
    before = repr(monitor), monitor.log_e_value
    arguments = _good(rng, name)
    place = str(rng.choice([*arguments]))
    arguments[place] = mutated(rng, arguments[place])
    snapshot = frozen(arguments)
    done = call(lambda: _update(monitor, arguments) or monitor.log_e_value, {})
    if frozen(arguments) != snapshot:
        return "an argument was changed"
    if done.error is not None:
        if (repr(monitor), monitor.log_e_value) != before:
            return f"the monitor changed: {done.error}"
        complaint = fault(_NAMES, done.error)
        return f"{complaint} of {arguments!r}" if complaint else None
    if not math.isfinite(monitor.log_e_value):
        return f"{as_text(done)} of {arguments!r}"
    return None
