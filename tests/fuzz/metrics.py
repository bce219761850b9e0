"""Keras metrics and losses: an update adds or raises, a loss is the metric's mean."""

from __future__ import annotations

import numpy as np

import uncertainty_metrics as um
from tests import catalogue
from tests.fuzz.mutations import mutated, single
from tests.fuzz.outcomes import call, extent, fault, frozen, told

LOSSES = {row.name: row for row in catalogue.MEANS}


def loss_and_metric(name):
    """Returns the row of the metric that is the mean of a loss, and both made."""
    loss = LOSSES[name]
    row = loss.of_metric
    return row, loss.find(um)(**loss.options), row.made(loss.options)


def check_loss(name: str, seed: int) -> str | None:
    """Compares a Keras loss with its metric, for arguments that may be bad."""
    rng = np.random.default_rng([seed, *name.encode()])
    row, loss, metric = loss_and_metric(name)
    data = row.lattice(rng, 8)
    arguments = [data.labels, data.predictions.astype(np.float32)]
    place = rng.integers(2)
    arguments[place] = mutated(rng, arguments[place])
    if isinstance(arguments[place], np.ndarray):
        arguments[place] = single(arguments[place])  # As Keras does.
    snapshot = frozen(dict(enumerate(arguments)))
    twin = call(lambda: metric.update_state(*arguments) or metric.result(), {})
    ours = call(lambda: loss(*arguments), {})
    if frozen(dict(enumerate(arguments))) != snapshot:
        return "an argument was changed"
    if ours.error is not None:
        complaint = fault(("y_true", "y_pred"), ours.error)
        if complaint:
            return f"{complaint} of {arguments!r}"
    smallest, largest = extent(dict(enumerate(arguments)))
    if smallest < 1e-4 or largest > 1e4:
        return None
    if name == "GaussianNLLLoss" and _differs_in_scale(ours, twin):
        return None
    if (ours.error is None) == (twin.error is None) and (
        twin.error is not None or np.allclose(ours.values, twin.values, 1e-4, 1e-4)
    ):
        return None
    return f"metric: {told(twin)}; loss: {told(ours)} of {arguments!r}"


def _differs_in_scale(loss, metric):
    """Says if a loss of the logarithm of a scale and a metric of the scale differ in
    one that is out of range: 0, which has no logarithm, or infinite.
    """
    if metric.error is None:
        return loss.error is not None and np.max(metric.values) > 1e30
    return loss.error is None and "in the range of" in str(metric.error)


METRICS = {f"{row.metric}-{row.name}": row for row in catalogue.METRICS}


def check_metric(name: str, seed: int) -> str | None:
    """Updates a Keras metric with arguments that may be bad.

    An update that raises must leave the state alone.
    """
    row = METRICS[name]
    rng = np.random.default_rng([seed, *row.metric.encode()])
    data = row.lattice(rng, 8)
    metric = row.made(row.metric_cases[0][0])
    metric.update_state(data.labels, data.predictions, data.weights)
    before = [variable.numpy() for variable in metric.variables]
    arguments = [data.labels, data.predictions, data.weights]
    place = rng.integers(3)
    arguments[place] = mutated(rng, arguments[place])
    snapshot = frozen(dict(enumerate(arguments)))
    done = call(lambda: metric.update_state(*arguments) or 0.0, {})
    if frozen(dict(enumerate(arguments))) != snapshot:
        return "an argument was changed"
    if done.error is None:
        return None
    after = [variable.numpy() for variable in metric.variables]
    if not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        return f"the state changed: {done.error}"
    known = ("y_true", "y_pred", "sample_weight")
    complaint = fault(known, done.error)
    return complaint and f"{complaint} of {arguments!r}"
