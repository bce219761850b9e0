"""Good and bad arguments for the functions of the catalogue."""

from __future__ import annotations

import dataclasses
import math

import numpy as np


@dataclasses.dataclass(frozen=True)
class Data:
    """Labels, predictions [N, K] and weights, corner cases included."""

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray

    def arguments(self, weighted=False):
        given = {"labels": self.labels, "probabilities": self.predictions}
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
    return dataclasses.replace(made, predictions=probabilities.astype(dtype))


def tied_classes(rng, n, classes=100):
    """Makes float32 rows of five likely and many equally unlikely classes, and labels.

    The classes are in random order, and the rounded sum of a row depends on that order.
    """
    row = np.repeat(np.float32([0.1, 0.5 / (classes - 5)]), [5, classes - 5])
    p = rng.permuted(np.tile(row, (n, 1)), axis=1)
    shares = np.cumsum(p, axis=1, dtype=np.float64)
    return p, (shares <= rng.random((n, 1)) * shares[:, -1:]).sum(axis=1)


def bad_data(name):
    """Returns arguments that must be refused, with a word of the message.

    The names in `VALUES` are wrong in their values only, so a compiled function cannot
    raise for them.
    """
    labels = np.array([0, 1, 2, 1])
    probabilities = np.array(
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]]
    )

    def wrong(value):
        changed = probabilities.copy()
        changed[2, 1] = value
        return {"probabilities": changed}

    def weights(*values):
        return {"sample_weight": np.array(values)}

    infinite = np.log(probabilities)
    infinite[1, 1] = np.inf
    none = "`labels` must hold at least one example"
    either = "`probabilities` and `logits`"
    word, change = {
        "rank": ("probabilities", {"probabilities": probabilities[None, None]}),
        "lengths": ("labels", {"labels": labels[:3]}),
        "both": (either, {"logits": probabilities}),
        "neither": (either, {"probabilities": None}),
        "swapped": ("swapped", {"labels": probabilities, "probabilities": labels}),
        "empty": (none, {"labels": labels[:0], "probabilities": probabilities[:0]}),
        "weight shape": ("sample_weight", weights(1.0, 1.0, 1.0)),
        "predicted shape": ("labels_predicted", {"labels_predicted": labels[:2]}),
        "ragged": ("labels", {"labels": [[0], [1, 2], [1]]}),
        "label too large": ("labels", {"labels": labels + 1}),
        "label negative": ("labels", {"labels": labels - 1}),
        "label fraction": ("labels", {"labels": labels + 0.5}),
        "label nan": ("labels", {"labels": np.array([0, 1, np.nan, 1])}),
        "negative probability": ("probabilities", wrong(-0.1)),
        "large probability": ("probabilities", wrong(1.1)),
        "nan probability": ("probabilities", wrong(np.nan)),
        "probabilities as logits": (
            "`logits` must be logits; for probabilities use `probabilities`",
            {"probabilities": None, "logits": probabilities},
        ),
        "logits as probabilities": (
            "for logits use `",
            {"probabilities": np.log(probabilities)},
        ),
        "infinite logit": ("logits", {"probabilities": None, "logits": infinite}),
        "negative weight": ("sample_weight", weights(1, 1, -1.0, 1)),
        "nan weight": ("sample_weight", weights(1, 1, np.nan, 1)),
        "infinite weight": ("sample_weight", weights(1, 1, np.inf, 1)),
        "too heavy weights": ("sample_weight", weights(*4 * [1e308])),
        "label beyond int64": (
            "labels",
            {"labels": np.array([0, 1, 2, 2**64 - 1], np.uint64), "ignore_index": -1},
        ),
        "zero weights": (none, weights(0.0, 0.0, 0.0, 0.0)),
        "predicted too large": ("labels_predicted", {"labels_predicted": labels + 1}),
        "swapped binary": (
            "swapped",
            {"labels": np.array([0.2, 0.7]), "probabilities": np.array([0, 1])},
        ),
        "one-hot": ("one-hot", {"labels": np.eye(3)[labels]}),
        "one-hot with logits": (
            "one-hot",
            {
                **{"labels": np.eye(3)[labels], "probabilities": None},
                "logits": np.log(probabilities),
            },
        ),
    }[name]
    given = {"labels": labels, "probabilities": probabilities} | change
    return {k: value for k, value in given.items() if value is not None}, word


SHAPES = (
    *("rank", "lengths", "both", "neither", "swapped", "empty", "weight shape"),
    *("predicted shape", "ragged"),
)
VALUES = (
    *("label too large", "label negative", "label fraction", "label nan"),
    *("negative probability", "large probability", "nan probability"),
    *("probabilities as logits", "logits as probabilities"),
    *("infinite logit", "negative weight", "nan weight", "infinite weight"),
    *("too heavy weights", "zero weights", "label beyond int64"),
    *("predicted too large", "swapped binary", "one-hot", "one-hot with logits"),
)


# Data for forecasts of real numbers and for detectors; they suit every option.


def samples(rng, shape):
    values = rng.normal(size=(*shape, 7)) + rng.normal(size=(*shape, 1))
    values[..., 1] = values[..., 4]  # A tie.
    labels = rng.normal(size=shape)
    labels.reshape(-1)[0] = values.reshape(-1, 7)[0, 2]
    return {"labels": labels, "predictive_samples": values}


def vectors(rng, shape):
    values = rng.normal(size=(*shape, 6, 3))
    values[..., 1, :] = values[..., 4, :]
    return {"labels": rng.normal(size=(*shape, 3)), "predictive_samples": values}


def scores(rng, shape):
    values = np.round(rng.normal(size=shape), 1)
    labels = (rng.normal(size=shape) < values).astype(float)
    labels.reshape(-1)[:2] = 0, 1
    return {"labels": labels, "scores": values}


# Makers of arguments: each takes a generator, the shape of the examples and the names
# of the function's parameters, and draws one of the forms that the arguments may have.

_MANY = 10**5
CLASSES = [1, 2, 3, 3, 5, 40, 67, 100]


def _number_of_classes(rng, shape):
    if rng.random() < 0.02 and math.prod(shape) < 20:
        return _MANY
    return int(rng.choice(CLASSES))


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


def _weights(rng, shape, takes):
    made = {}
    if "sample_weight" in takes and rng.random() < 0.5:
        made["sample_weight"] = rng.choice([0.0, 0.5, 1, 2.5], shape)
    if "mask" in takes and rng.random() < 0.5:
        made["mask"] = rng.random(shape) < 0.7
    return made


def _labelled(rng, shape, takes):
    """Makes labels, predictions and the other arguments that the function takes."""
    classes = _number_of_classes(rng, shape)
    names = [n for n in ("probabilities", "logits", "probs") if n in takes]
    name, values = _predictions(rng, shape, classes, names)
    if classes == 1:
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


def _confidences(rng, shape, takes):
    # Confidences have one group, whatever the choices of a function are.
    if rng.random() < 0.5 or "class_conditional" in takes:
        return _labelled(rng, shape, takes)
    if "positive_class" in takes or "labels_true" in takes:  # They are probabilities.
        made = {"confidences": rng.integers(0, 17, shape) / 16}
    else:
        made = {"confidences": np.round(rng.normal(size=shape), 1)}
    if "losses" in takes and rng.random() < 0.7:
        made["losses"] = np.round(rng.exponential(size=shape), 1)
    else:
        made["correct"] = rng.integers(0, 2, shape)
    return {**made, **_weights(rng, shape, takes)}


def _members(rng, shape, takes):
    members, classes = int(rng.integers(1, 5)), _number_of_classes(rng, shape)
    name, values = _predictions(rng, (*shape, members), classes)
    if classes == 1 and name == "probabilities":
        values = rng.random(values.shape)
    made = {name: values}
    if len(shape) != 1 or rng.random() < 0.2:
        made["ensemble_axis"] = -2
    if "sample_weight" in takes:  # Functions without it only check the labels' shape.
        made["labels"] = rng.integers(0, max(classes, 2), shape)
        if "aggregate" in takes and rng.random() < 0.3:
            made["aggregate"] = False
        if rng.random() < 0.5:
            made["sample_weight"] = rng.choice([0.0, 0.5, 1, 2.5], shape)
        if rng.random() < 0.2:
            made["ignore_index"] = 1
    return made


def _alphas(rng, shape, takes):
    classes = int(rng.integers(2, 6))
    if rng.random() < 0.5:
        return {"logits": 3 * rng.normal(size=(*shape, classes))}
    return {"alphas": np.exp(3 * rng.normal(size=(*shape, classes)))}


def _pair(rng, shape, takes):
    """Makes pairs of logits, or of distributions p and q, and labels if taken."""
    classes = int(rng.choice([1, 2, 3, 5] if "x" in takes else [2, 3, 5]))
    if "q" in takes:
        return {name: _probabilities(rng, shape, classes) for name in ("p", "q")}
    names = [name for name in takes if name in ("x", "y", "logits_1", "logits_2")]
    made = {name: 3 * rng.normal(size=(*shape, classes)) for name in names}
    if "labels" in takes:
        made["labels"] = rng.integers(0, classes, shape)
    return made


def _members_first(rng, shape, takes):
    members, classes = int(rng.integers(2, 5)), int(rng.choice([2, 3, 5]))
    made = {"probs": _probabilities(rng, (members, *shape), classes)}
    if "labels" in takes:
        made["labels"] = rng.integers(0, classes, shape)
    return made


def _forecasts(rng, shape, takes):
    makers = {
        **dict.fromkeys(("predictions", "mean", "targets"), rng.normal),
        **dict.fromkeys(
            ("uncertainties", "var"), lambda size: np.exp(rng.normal(size=size))
        ),
        "pit": rng.uniform,
    }
    made = {name: make(size=shape) for name, make in makers.items() if name in takes}
    if {"uncertainties", "stddevs"} <= {*takes} and rng.random() < 0.2:
        made["stddevs"] = made.pop("uncertainties")
    return {**made, **_weights(rng, shape, takes)}


def _sample_pit(rng, shape, takes):
    values = np.round(rng.normal(size=(*shape, 5)), 1)
    return {"samples": values, "targets": np.round(rng.normal(size=shape), 1)}


def _quantile_pit(rng, shape, takes):
    values = np.sort(np.round(rng.normal(size=(*shape, 3)), 1), axis=-1)
    return {
        "quantile_predictions": values,
        "quantiles": [0.1, 0.5, 0.9],
        "targets": rng.normal(size=shape),
    }


def _log_densities(rng, shape, takes):
    instances = shape or (4,)
    shape = (instances[0], int(rng.integers(2, 30)), *instances[1:])
    return {"logp": rng.normal(size=shape) * rng.choice([0.3, 3.0])}


def _posterior(rng, shape, takes):
    made = _labelled(rng, shape, {*takes, "labels"})
    made["labels_true"] = made.pop("labels")
    return {"num_bins": 5, "num_ece_samples": 3, "seed": 1, **made}


def _two_posteriors(rng, shape, takes):
    return {name: rng.random(shape) for name in ("samples_a", "samples_b")}


def _survival(rng, shape, takes):
    return {
        "probs": rng.random(shape),
        "times": rng.random(shape),
        "event": rng.integers(0, 2, shape),
        "end_time": 0.3,
        "folds": 2,
        "num_repeats": 1,
        "hyperparam_attempts": 2,
    }


def _smoothed(rng, shape, takes):
    probs, labels = rng.random(shape), rng.integers(0, 2, shape)
    return {"probs": probs, "labels": labels, "folds": 2, "hyperparam_attempts": 2}


def _sets(rng, shape, takes):
    classes = max(_number_of_classes(rng, shape), 2)
    made = {"sets": rng.random((*shape, classes)) < 0.5}
    if "labels" in takes:
        made["labels"] = rng.integers(0, classes, shape)
    if "alpha" in takes:
        made["alpha"] = float(rng.choice([0.1, 0.5]))
    return {**made, **_weights(rng, shape, takes)}


def _of_one_sample(rng, shape, takes):
    values = np.round(rng.normal(size=shape).reshape(-1), 1)
    made = {"scores": values, "alpha": 0.2}
    if "test_weight" in takes and rng.random() < 0.5:
        made["sample_weight"] = rng.choice([0.5, 1, 2.5], values.shape)
        made["test_weight"] = float(rng.choice([0.0, 1.0, 2.5]))
    return made


def _distribution(rng, shape, takes):
    import tensorflow as tf
    import tensorflow_probability as tfp

    names = [name for name in takes if name in ("labels", "targets")]
    loc = rng.normal(size=shape)
    return {
        **{name: rng.normal(size=shape) for name in names},
        "distribution": tfp.distributions.Normal(tf.constant(loc), np.float64(1.5)),
    }


# The first maker whose parameter a function has makes the arguments of the function.
_MAKERS = (
    ("distribution", _distribution),
    ("sets", _sets),
    ("labels_true", _posterior),
    ("confidences", _confidences),
    ("ensemble_axis", _members),
    ("end_time", _survival),
    ("hyperparam_range", _smoothed),
    ("num_models", _members_first),
    ("logits_1", _pair),
    ("x", _pair),
    ("q", _pair),
    ("alphas", _alphas),
    ("logp", _log_densities),
    ("quantiles", _quantile_pit),
    ("samples", _sample_pit),
    ("samples_a", _two_posteriors),
    ("labels", _labelled),
    ("pit", _forecasts),
    ("targets", _forecasts),
    ("uncertainties", _forecasts),
    ("scores", _of_one_sample),
)


def arguments(rng, shape, takes):
    """Makes good arguments for a function, by the names of its parameters."""
    make = next((make for name, make in _MAKERS if name in takes), None)
    if make is None:
        raise LookupError(f"no maker of {[*takes]}: add one to tests/makers.py")
    return make(rng, tuple(shape), takes)


# With more scores than this, the bins of all groups would fill the memory.
_FEW = 10**4


def grouped(rng, made, takes):
    """Changes good arguments now and then: to examples in groups, or to multilabel
    problems, if the function takes them.
    """
    shape = made["labels" if "labels" in made else "correct"].shape
    if "multilabel" in takes and "labels" in made and rng.random() < 0.2:
        if rng.random() < 0.2 or len(shape) < 2:
            shape = (*shape, int(rng.choice([1, 2, 5])))
        made["labels"] = rng.integers(0, 2, shape)
        values = {"probabilities": rng.random(shape), "logits": rng.normal(size=shape)}
        name = str(rng.choice([*values]))
        for other in ("probs", *values):
            made.pop(other, None)
        made |= {name: values[name], "multilabel": True}
        if "labels_predicted" in made:
            made["labels_predicted"] = rng.integers(0, 2, shape)
    sizes = [np.size(made[name]) for name in made]
    if max(sizes) < _FEW and rng.random() < 0.4:
        number = int(rng.choice([1, 2, 4, 40]))
        several = rng.integers(0, len(shape) + 1) if rng.random() < 0.3 else len(shape)
        made["groups"] = rng.choice(rng.integers(0, number, 3), shape[:several])
        if "num_groups" in takes:
            made["num_groups"] = number
        if rng.random() < 0.8:
            made.pop("aggregate", None)
    return made


# Good and bad values of options.

WRONG = (None, "x", -1, 0, 0.5, 1.5, math.nan, math.inf, True, (), [1])
NUMBERS = {
    "num_bins": (1, 2, 15, np.int64(4), 5.0, 100, *WRONG[1:]),
    "threshold": (0.0, 0.3, np.float32(0.25), 1.0, *WRONG),
    "datapoints_per_bin": (None, 1, 3, 10**6, *WRONG),
    "n_bins": (1, 2, 10, np.int64(4), 5.0, *WRONG[1:]),
    "level": (0.9, [0.5, 0.9], np.array([0.25, 0.75]), *WRONG),
    "tpr": (0.5, 1.0, *WRONG),
    "positive": ("out", "in", *WRONG),
    "temperature": (0.5, np.float32(2), 3, *WRONG),
    "risk": (0.0, 0.5, 1.0, *WRONG),
    "delta": (None, 0.1, *WRONG[1:]),
    "coverage": (0.25, 1.0, *WRONG),
    "fraction": (0.0, 0.5, 1.0, *WRONG),
    "alpha": (0.1, np.float32(0.5), *WRONG),
    "p": (1, 2, 1.5, math.inf, 300.0, *WRONG),
    "quantiles": (0.5, (0.1, 0.5, 0.9), np.array([0.1, 0.5, 0.75]), *WRONG),
    "num_models": (None, 1, 2, 3, *WRONG),
    "error": (None, 0.5, *WRONG),
    "ensemble_axis": (0, 1, -2, None, 2, -1, 9, np.int64(1), *WRONG),
    "bandwidth": (None, 0.1, np.float32(0.25), 3, *WRONG),
    "score": ("brier", "log", *WRONG),
    "num_ece_samples": (1, 4, np.int64(2), *WRONG[1:]),
    "prior_alpha": (None, 0.5, 3, *WRONG),
    "ignore_index": (None, 0, 1, -1, 255, np.int64(1), 2**40, 10**30, *WRONG[1:]),
    "aggregate": (True, False, *WRONG),
    "zero_based": (True, False, *WRONG),
    "squared": (True, False, *WRONG),
    "positive_class": (True, False, None, *WRONG[1:]),
    "multilabel": (False, *WRONG),
    "num_groups": (1, 4, np.int64(7), 5.0, 1000, *WRONG),
    "max_prob": (True, False, *WRONG),
    "class_conditional": (True, False, *WRONG),
    "binning_scheme": ("even", "adaptive", *WRONG),
    "norm": ("l1", "l2", "max", *WRONG),
    "estimator": ("fair", "nrg", "almost_fair", "roll", *WRONG),
    "waic_type": ("waic1", "waic2", *WRONG),
    "criterion": ("waic1", "psis_loo", *WRONG),
    "reff": (1, 0.3, np.float32(2.5), *WRONG),
    "ipcw": (True, False, *WRONG),
}

_FLAG = ("True or False", ("yes", 1, None))
_COUNT = ("", (0, 2.5, "x", None))
_LEVEL = (r"in \(0, 1\)", (0, 1.0, 95, math.nan, "wide", True))
_TWO = "two ascending numbers in"
# For each option: a pattern for what the message says it must be, and bad values.
BAD_OPTIONS = {
    "num_bins": ("", (0, -1, 2.5, "x", None)),
    "n_bins": ("an integer of at least 1", (0, 2.5, None)),
    "num_resamples": ("an integer of at least 1", (0, -1, 2.5, None, True)),
    "num_ece_samples": _COUNT,
    "num_repeats": ("an integer of at least 1", _COUNT[1]),
    "repeats": _COUNT,
    "hyperparam_attempts": _COUNT,
    "folds": ("", (1, 99, 2.5, None)),
    "threshold": ("", (-0.1, 1.0, 1.5, math.nan, None, "x")),
    "datapoints_per_bin": ("", (0, 2.5, "x")),
    "alpha": ("in", (0, 1.0, 1.5, -1, math.nan, None, "5%")),
    "error_bars": _LEVEL,
    "consistency_band": _LEVEL,
    "confidence_band": _LEVEL,
    "risk": (r"in \[0, 1\]", (-0.1, 1.01, math.nan, None, "half", [0.1, 0.2])),
    "coverage": (r"in \(0, 1\]", (0, -1, 1.01, math.nan, None, "half", [0.1, 0.2])),
    "fraction": (r"in \[0, 1\]", (-0.1, 1.01, math.nan, None, "half", [0.1, 0.2])),
    "tpr": (r"in \(0, 1\]", (0.0, -0.5, 1.01, math.nan, None, "most")),
    "positive": ("one of 'out', 'in'", ("ood", None, 1)),
    "temperature": ("finite and > 0", (0, -1.0, math.nan, math.inf, None, "hot")),
    "weight_trunc": (r"in \(0, 1\]", (0, math.nan, None)),
    "prior_alpha": ("", (0, -1, math.nan, math.inf, "x")),
    "seed": ("", (-1, 1.5, "a")),
    "ignore_index": ("", (0.5, "x", math.nan)),
    "end_time": ("a finite number > 0", (0.0, -1, math.nan, "1 year", None)),
    "hyperparam_range": ("", ([], [0.1, 0], [math.nan], [1.0, math.inf])),
    "default_hyperparam_range": (_TWO, ((0.1, 0), 0.1, (0, 2), (0.1,), (-0.1, 0.1))),
    "thresholds": ("", ([], 0.5, [[0.5]], [math.nan], [math.inf])),
    "figsize": (r"\(width, height\) in inches", ((3, 0), 3, (3, 4, 5), (3, math.nan))),
    "level": ("", (0.0, 1.0, math.nan, "all", (), (0.5, 1.5))),
    "quantiles": ("", ((0.1, 0.5, 1.0), 0.0, ())),
    "color": ("a matplotlib color", ("colour",)),
    "ax": ("matplotlib Axes", (3, "ax")),
    "binning_scheme": ("one of 'even', 'adaptive'", ("odd", None)),
    "norm": ("one of 'l1', 'l2', 'max'", ("l3", None)),
    "y_axis": ("one of 'accuracy', 'frequency'", ("both", None)),
    "method": ("one of '", ("basic", None)),
    "statistic": ("one of '", ("ece", None)),
    "score": ("one of '(brier|log)', '(brier|log)'", ("crps", None)),
    "bandwidth": ("at least 1e-05", (0, 1e-6, -1.0, math.nan, math.inf, True, "x")),
    "weights": ("one of 'constant', 'relative', 'chi'", ("flat", None)),
    "survival_aggregation": ("one of 'Kaplan-Meier', 'Nelson-Aalen'", ("KM", None)),
    "kernel_fn": ("one of 'rbf', 'cubic'", ("box", None)),
    "smoothing": ("one of 'kernel', 'spline'", ("bins", None)),
    "estimator": (
        "one of 'fair', 'nrg', 'almost_fair', 'roll'",
        ("pwm", None, np.ones(2)),
    ),
    "waic_type": ("one of 'waic1', 'waic2'", ("waic", None)),
    "reff": ("a finite number > 0", (0, -1.0, math.nan, math.inf, None, True, "x")),
    "criterion": ("one of 'psis_loo', 'waic1', 'waic2', 'iscv'", ("loo", None, "waic")),
    "positive_class": ("True, False or None", (1, "yes")),
    **dict.fromkeys(
        (
            *("max_prob", "class_conditional", "squared", "density"),
            "multilabel",
            *("zero_based", "aggregate", "orthogonal", "normalize", "progress"),
            *("show_ece", "show_correlation", "ipcw"),
        ),
        _FLAG,
    ),
}
