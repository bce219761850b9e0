"""Keras metrics and losses: updates add or raise, a loss is the mean of its metric."""

from __future__ import annotations

import numpy as np
from scipy import special

import uncertainty_metrics as um
from tests import catalogue
from tests.fuzz.compiling import NOT_CONVERTIBLE, RARELY, compiled, tensor
from tests.fuzz.mutations import mutated, single
from tests.fuzz.outcomes import as_text, call, extent, fault, frozen
from uncertainty_metrics.ops import to_numpy

LOSSES = {row.name: row for row in catalogue.MEANS}


def loss_and_metric(name):
    """Returns the Row of the metric of a loss, the loss, and the metric."""
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
    return f"metric: {as_text(twin)}; loss: {as_text(ours)} of {arguments!r}"


def _differs_in_scale(loss, metric):
    """Says if a loss and its metric differ in a scale that is 0 or infinite.

    The loss takes the logarithm of the scale, the metric the scale itself.
    """
    if metric.error is None:
        return loss.error is not None and np.max(metric.values) > 1e30
    return loss.error is None and "in the range of" in str(metric.error)


PENALTIES = {row.name: row for row in catalogue.LOSSES if not row.is_mean}


def check_penalty(name: str, seed: int) -> str | None:
    """Compares a loss that has a penalty with its reference, eager and in a graph.

    Arguments may be bad; a metric that takes the same arguments tells which are.
    """
    row = PENALTIES[name]
    rng = np.random.default_rng([seed, *name.encode()])
    options = row.options | (rng.choice(row.variants) if rng.random() < 0.5 else {})
    from_logits = options.get("from_logits", False)
    loss = row.find(um)(**options)
    metric = row.of_metric.made({}, from_logits=from_logits)
    data = row.of_metric.lattice(rng, 8)
    predictions = data.predictions.astype(np.float32)
    if from_logits:
        with np.errstate(divide="ignore"):
            predictions = np.log(predictions)
    weights = data.weights.astype(np.float32) if rng.random() < 0.5 else None
    arguments = [data.labels, predictions, weights]
    place = rng.integers(4)
    if place < 3:
        arguments[place] = mutated(rng, arguments[place])
        if isinstance(arguments[place], np.ndarray):
            arguments[place] = single(arguments[place])
    snapshot = frozen(dict(enumerate(arguments)))
    # The metric would not read an example of weight 0.
    read = arguments if place == 2 else arguments[:2]
    twin = call(lambda: metric.update_state(*read) or metric.result(), {})
    ours = call(lambda: loss(*arguments), {})
    if frozen(dict(enumerate(arguments))) != snapshot:
        return "an argument was changed"
    if ours.error is not None:
        complaint = fault(("y_true", "y_pred", "sample_weight"), ours.error)
        if complaint:
            return f"{complaint} of {arguments!r}"
    smallest, largest = extent(dict(enumerate(arguments)))
    if smallest < 1e-4 or largest > 1e4:
        return None
    if (ours.error is None) != (twin.error is None):
        return f"metric: {as_text(twin)}; loss: {as_text(ours)} of {arguments!r}"
    problem = _penalty_differs(rng, row, loss, options, arguments, ours)
    return f"{problem} of {arguments!r}" if problem else None


def _penalty_differs(rng, row, loss, options, arguments, ours):
    """Returns how a loss, eager or in a graph, differs from its reference, or None."""
    try:
        tensors = [None if a is None else tensor(a) for a in arguments]
    except NOT_CONVERTIBLE:
        return None
    done = {"eager": ours}
    if rng.random() < 2 / RARELY:
        done["graph"] = call(lambda: compiled(loss)(*tensors), {})
    if ours.error is not None:
        other = done.get("graph", ours)
        if np.shape(arguments[1])[:1] == (0,):  # A replica may have no examples.
            return None
        if other.error is None and not np.all(np.isnan(other.values)):
            return f"{as_text(ours)}; graph: {as_text(other)}"
        return None
    labels, predictions, weights = (None if t is None else to_numpy(t) for t in tensors)
    if np.size(predictions) == np.size(labels):  # P(class 1), maybe without an axis.
        predictions = predictions.reshape(-1, 1)
    labels = labels.reshape(predictions.shape[:-1]).astype(np.int64)
    predictions = predictions.astype(np.float64)
    if predictions.shape[-1] == 1:  # P(class 1).
        other = 0 * predictions if options.get("from_logits") else 1 - predictions
        predictions = np.concatenate([other, predictions], axis=-1)
    if options.get("from_logits"):
        predictions = special.softmax(predictions, axis=-1)
    if options.get("from_logits") and np.min(predictions, initial=1.0) < 1e-7:
        return None  # The reference clips these.
    given = {k: v for k, v in options.items() if k != "from_logits"}
    if weights is not None and not np.any(weights):
        expected = 0.0  # The reference would divide by their sum.
    else:
        scores = row.reference(labels, predictions, weights, **given)
        weights = 1.0 if weights is None else weights.astype(np.float64)
        if np.size(weights) == np.size(scores):  # Maybe with one more axis.
            weights = np.reshape(weights, np.shape(scores))
        expected = np.mean(scores * weights)
    for room, found in done.items():
        same = found.error is None and np.allclose(found.values, expected, 1e-3, 1e-3)
        if not same:
            return f"{room}: {as_text(found)} for {expected}"
    return None


METRICS = {f"{row.metric}-{row.name}": row for row in catalogue.METRICS}


def check_metric(name: str, seed: int) -> str | None:
    """Updates a Keras metric with arguments that may be bad.

    An update that raises must not change the state.
    """
    row = METRICS[name]
    rng = np.random.default_rng([seed, *row.metric.encode()])
    data = row.lattice(rng, 8)
    metric = row.made(row.metric_cases[0][0])
    metric.update_state(data.labels, data.predictions, data.weights)
    before = [to_numpy(variable.value) for variable in metric.variables]
    arguments = [data.labels, data.predictions, data.weights]
    place = rng.integers(3)
    arguments[place] = mutated(rng, arguments[place])
    snapshot = frozen(dict(enumerate(arguments)))
    done = call(lambda: metric.update_state(*arguments) or 0.0, {})
    if frozen(dict(enumerate(arguments))) != snapshot:
        return "an argument was changed"
    if done.error is None:
        return None
    after = [to_numpy(variable.value) for variable in metric.variables]
    if not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        return f"the state changed: {done.error}"
    known = ("y_true", "y_pred", "sample_weight")
    complaint = fault(known, done.error)
    return complaint and f"{complaint} of {arguments!r}"
