"""The losses of the catalogue with their options, data, and the scores of examples."""

import dataclasses
import functools

import numpy as np
import pytest
from scipy import special
from sklearn import datasets

import uncertainty_metrics as um
from tests import catalogue
from uncertainty_metrics.keras._family import keras

LEGACY = not hasattr(keras, "ops")  # The Keras that is loaded is tf_keras.
REDUCTIONS = ("none", "sum", "sum_over_batch_size")

SCALES = {
    "softplus": lambda x: np.log1p(np.exp(x)),
    "exp": np.exp,
    "identity": lambda x: x,
    "variance": np.sqrt,
    "log_variance": lambda x: np.exp(x / 2),
}


# Functions that make labels and predictions, for leading axes of any shape. All numbers
# are multiples of 1/64 below 4: float16 holds them exactly, bfloat16 does not.


def lattice(rng, low, high, shape):
    return rng.integers(64 * low, 64 * high, shape, endpoint=True) / 64


def classes(rng, shape):
    cuts = np.sort(lattice(rng, 0, 1, [*shape, 2]), axis=-1)
    p = np.diff(cuts, axis=-1, prepend=0, append=1)
    return rng.integers(0, 3, shape), p


def logits(rng, shape):
    return rng.integers(0, 3, shape), lattice(rng, -3, 3, [*shape, 3])


def reals(rng, shape, size):
    return lattice(rng, -3, 3, shape), lattice(rng, -3, 3, [*shape, size])


def positive_scales(rng, shape):
    y, y_pred = reals(rng, shape, 2)
    y_pred[..., 1] = np.abs(y_pred[..., 1]) + 0.125
    return y, y_pred


@dataclasses.dataclass(frozen=True)
class Row:
    """A loss of the catalogue, with one choice of options."""

    of: catalogue.LossRow
    options: dict

    @property
    def loss(self):
        return self.of.name

    @property
    def id(self):
        return "-".join([self.loss, *map(str, self.options.values())])

    @property
    def classifies(self):
        """Whether the labels are classes, not real numbers."""
        return self.of.of_metric.activation == "softmax"

    @property
    def _transform(self):
        return self.options.get("scale_transform")

    def make(self, **more):
        return self.of.find(um)(**self.options, **more)

    def data(self, rng, shape):
        if self.classifies:
            return (logits if self.options.get("from_logits") else classes)(rng, shape)
        if self._transform in ("identity", "variance"):
            return positive_scales(rng, shape)
        return reals(rng, shape, *self.of.of_metric.outputs)

    @property
    def bad(self):
        """Invalid predictions for one example with label 0."""
        if self.options.get("from_logits"):
            return [0.0, np.nan, 1.0]
        if self.classifies:
            return [0.5, 0.7, -0.2]
        (size,) = self.of.of_metric.outputs
        wrong = -1.0 if self._transform in ("identity", "variance") else np.inf
        return [0.0] * (size - 1) + [wrong]

    def scores(self, y_true, y_pred, weights=None):
        """Returns the scores [...] of labels [...] and predictions [..., K].

        Functions of the NumPy half compute them; other tests compare these functions
        with naive references.
        """
        case = dict(self.options)
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred, np.float64)
        if case.pop("from_logits", False):
            y_pred = special.softmax(y_pred, axis=-1)
        if case.pop("scale_transform", None):
            scales = SCALES[self._transform](y_pred[..., 1])
            y_pred = np.stack([y_pred[..., 0], np.log(scales)], axis=-1)
        if self.of.reference is not None:
            return self.of.reference(y_true, y_pred, weights, **case)
        pairs = zip(y_true.ravel(), y_pred.reshape(-1, y_pred.shape[-1]), strict=True)
        scores = [
            self.of.of_metric.expected(case, catalogue.Data(y[None], p[None], None))
            for y, p in pairs
        ]
        return np.reshape(scores, y_true.shape)

    def mean_scores(self, shares, y_pred):
        """Returns the scores of labels that are distributions over the classes [N, K].

        Such a score is the mean of the scores of the classes, weighted by `shares`.
        """
        of_classes = [
            self.scores(np.full(len(y_pred), k), y_pred)
            for k in range(shares.shape[-1])
        ]
        return np.sum(shares * np.stack(of_classes, axis=-1), axis=-1)


ROWS = [
    Row(row, {**row.options, **options})
    for row in catalogue.LOSSES
    for options in ({}, *row.variants)
]
# One row for each loss class, for tests that do not depend on the options.
CLASSES = list({row.loss: row for row in reversed(ROWS)}.values())

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
every_class = pytest.mark.parametrize("row", CLASSES, ids=lambda row: row.loss)
# By default one row for each loss class, in the exhaustive run all.
first_of_class = pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row, id=row.id, marks=() if row in CLASSES else pytest.mark.exhaustive
        )
        for row in ROWS
    ],
)


class Given(keras.losses.Loss):
    """A loss of Keras whose score of each example is `y_pred`."""

    def call(self, y_true, y_pred):
        """Returns the predictions."""
        del y_true
        return y_pred


def given(scores, weights=None, reduction="sum_over_batch_size", mask=None):
    import tensorflow as tf  # Tests of other backends import this file without it.

    scores = tf.constant(scores, tf.float32)
    if mask is not None:
        scores._keras_mask = tf.constant(mask)
    return Given(reduction=reduction, name="given")(scores, scores, weights)


def data_of(row, rng, shape):
    y_true, y_pred = row.data(rng, shape)
    return y_true, y_pred.astype(np.float32)


def close(actual, desired, tolerance=2e-6):
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance)


@functools.cache
def diabetes():
    data = datasets.load_diabetes()
    features, labels = (
        (part - part.mean(axis=0)) / part.std(axis=0)
        for part in (data.data, data.target)
    )
    return features.astype(np.float32), labels.astype(np.float32)


@functools.cache
def digits():
    data = datasets.load_digits()
    whole = 28 * 64  # A smaller last batch would have to be compiled as well.
    return (data.data[:whole] / 16).astype(np.float32), data.target[:whole]
