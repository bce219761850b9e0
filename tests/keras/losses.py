"""The losses with their options, data for them, and the scores of examples."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats
from sklearn import datasets

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.keras._family import keras

LEGACY = not hasattr(keras, "ops")  # tf_keras.
REDUCTIONS = ("none", "sum", "sum_over_batch_size")


# The scores of labels [...] and predictions [..., K], of the NumPy half where it has
# them, which other tests compare with naive references.


def brier(y, p, zero_based=False):
    """Of labels, or of distributions over the classes [..., K]."""
    one_hot = np.eye(p.shape[-1])
    distances = np.sum((p[..., None, :] - one_hot) ** 2, axis=-1)
    shares = one_hot[y] if np.ndim(y) < p.ndim else y
    return np.sum(shares * (distances - (not zero_based)), axis=-1)


def ranked(y, p):
    """Of labels, or of distributions over the classes [..., K]."""
    classes = p.shape[-1]
    happened = np.tri(classes).T  # [y, k]: whether y <= k.
    below = np.cumsum(p, axis=-1)[..., None, :]
    scores = np.sum((below - happened) ** 2, axis=-1)
    shares = np.eye(classes)[y] if np.ndim(y) < p.ndim else y
    return np.sum(shares * scores, axis=-1)


def negative_log_density(y, mean, scale):
    return -stats.norm.logpdf(y, mean, scale)


def pinball(y, predictions, quantiles):
    return um_np.pinball_loss(y, predictions, quantiles).mean(axis=-1)


def winkler(y, bounds, alpha):
    """Of bounds that cross too, as the quantiles they stand for."""
    return 4 / alpha * pinball(y, bounds, [alpha / 2, 1 - alpha / 2])


SCALES = {
    "softplus": lambda x: np.log1p(np.exp(x)),
    "exp": np.exp,
    "identity": lambda x: x,
    "variance": np.sqrt,
    "log_variance": lambda x: np.exp(x / 2),
}


# Labels and predictions for leading axes of any shape. All numbers are multiples of
# 1/64 below 4, which bfloat16 does not hold but float16 does.


def lattice(rng, low, high, shape):
    return rng.integers(64 * low, 64 * high, shape, endpoint=True) / 64


def classes(rng, shape):
    cuts = np.sort(lattice(rng, 0, 1, [*shape, 2]), axis=-1)
    p = np.diff(cuts, axis=-1, prepend=0, append=1)
    return rng.integers(0, 3, shape), p


def logits(rng, shape):
    return rng.integers(0, 3, shape), lattice(rng, -3, 3, [*shape, 3])


def reals(size):
    def make(rng, shape):
        return lattice(rng, -3, 3, shape), lattice(rng, -3, 3, [*shape, size])

    return make


def positive_scales(rng, shape):
    y, y_pred = reals(2)(rng, shape)
    y_pred[..., 1] = np.abs(y_pred[..., 1]) + 0.125
    return y, y_pred


@dataclasses.dataclass(frozen=True)
class Row:
    """A loss with options, data for it, and the scores of examples.

    `bad` are predictions of an example, of label 0, that are wrong.
    """

    loss: str
    options: dict
    data: Callable
    reference: Callable
    bad: list

    @property
    def id(self):
        return "-".join([self.loss, *map(str, self.options.values())])

    @property
    def classifies(self):
        """Whether it is of classes, not of real numbers."""
        return self.data in (classes, logits)

    def make(self, **more):
        return getattr(um, self.loss)(**self.options, **more)

    def scores(self, y_true, y_pred):
        return self.reference(np.asarray(y_true), np.asarray(y_pred, np.float64))


def normal_row(loss, transform, reference):
    positive = transform in ("identity", "variance")
    data = positive_scales if positive else reals(2)
    bad = [0.0, -1.0] if positive else [0.0, np.inf]

    def score(y, p):
        return reference(y, p[..., 0], SCALES[transform](p[..., 1]))

    return Row(loss, {"scale_transform": transform}, data, score, bad)


def sample_row(estimator, **options):
    options = {"estimator": estimator, **options}
    score = functools.partial(um_np.crps_score, **options)
    return Row("CRPSSampleLoss", options, reals(5), score, [0, 1, np.inf, 2, 3])


def pinball_row(quantiles):
    score = functools.partial(pinball, quantiles=quantiles)
    size = len(quantiles)
    options = {"quantiles": quantiles}
    return Row("PinballLoss", options, reals(size), score, [np.nan] * size)


ROWS = [
    Row("BrierLoss", {}, classes, brier, [0.5, 0.7, -0.2]),
    Row(
        "BrierLoss",
        {"from_logits": True},
        logits,
        lambda y, x: brier(y, special.softmax(x, axis=-1)),
        [0.0, np.nan, 1.0],
    ),
    Row(
        "BrierLoss",
        {"zero_based": True},
        classes,
        functools.partial(brier, zero_based=True),
        [1.5, 0.0, 0.0],
    ),
    Row("RankedProbabilityLoss", {}, classes, ranked, [0.5, 0.7, -0.2]),
    Row(
        "RankedProbabilityLoss",
        {"from_logits": True},
        logits,
        lambda y, x: ranked(y, special.softmax(x, axis=-1)),
        [0.0, np.nan, 1.0],
    ),
    *(normal_row("CRPSNormalLoss", name, um_np.crps_normal_score) for name in SCALES),
    *(normal_row("GaussianNLLLoss", name, negative_log_density) for name in SCALES),
    *(sample_row(estimator) for estimator in ("fair", "nrg", "roll")),
    sample_row("almost_fair", alpha=0.75),
    pinball_row([0.1, 0.5, 0.75]),
    pinball_row([0.25]),
    Row(
        "IntervalLoss",
        {"alpha": 0.2},
        reals(2),
        functools.partial(winkler, alpha=0.2),
        [-np.inf, 1.0],
    ),
]
# One for each class, for what does not depend on the options.
CLASSES = list({row.loss: row for row in reversed(ROWS)}.values())

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
every_class = pytest.mark.parametrize("row", CLASSES, ids=lambda row: row.loss)


class Given(keras.losses.Loss):
    """A loss of Keras whose score of each example is `y_pred`."""

    def call(self, y_true, y_pred):
        """Returns the predictions."""
        del y_true
        return y_pred


def given(scores, weights=None, reduction="sum_over_batch_size", mask=None):
    import tensorflow as tf  # The losses are looked at without it, too.

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
    whole = 28 * 64  # No smaller last batch to compile for.
    return (data.data[:whole] / 16).astype(np.float32), data.target[:whole]
