"""Losses with a penalty of the whole batch: gradients, limits and estimates."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy.integrate import trapezoid

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import references
from tests.keras.losses import ROWS, classes, close

pytestmark = [pytest.mark.keras, pytest.mark.tensors]
PENALIZED = [row for row in ROWS if not row.of.is_mean]
every_penalized = pytest.mark.parametrize("row", PENALIZED, ids=lambda row: row.id)


def value_and_gradient(loss, y_true, y_pred, weights=None):
    y_pred = tf.convert_to_tensor(y_pred)
    with tf.GradientTape() as tape:
        tape.watch(y_pred)
        value = loss(y_true, y_pred, weights)
    return value, tape.gradient(value, y_pred)


@pytest.mark.first(2, "thorough")
@every_penalized
def test_gradients_equal_finite_differences(row, rng):
    y = rng.integers(0, 3, 7)
    weights = rng.uniform(0.5, 2, 7)
    x = rng.normal(size=[7, 3])
    y_pred = x if row.options.get("from_logits") else special.softmax(x, axis=-1)

    def mean(predictions):
        return np.mean(weights * row.scores(y, predictions, weights))

    expected = references.slopes(mean, y_pred)
    compiled = tf.function(value_and_gradient)
    for dtype, call, tolerance in (
        ("float64", value_and_gradient, 1e-7),
        ("float32", value_and_gradient, 2e-5),
        ("float32", compiled, 2e-5),
    ):
        given = y_pred.astype(dtype), weights.astype(dtype)
        value, gradient = call(row.make(dtype=dtype), y, *given)
        close(value, mean(y_pred))
        close(gradient, expected, tolerance)


# Predictions with ties, with probabilities of 0 and 1, or at corners of losses.
CORNERS = {
    True: [[0, 0, 0], [0, 0, 0], [1e3, -1e3, 0], [-1e3, 1e3, 1e3], [1e30, 0, 0]],
    False: [[1, 0, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [1, 0, 0]],
}


@every_penalized
def test_values_and_gradients_are_finite_anywhere(row):
    y_pred = np.float32(CORNERS[bool(row.options.get("from_logits"))])
    loss = row.make()
    for labels in ([0, 1, 2, 0, 1], [0, 0, 0, 0, 0]):
        for rows in (slice(None), slice(1), slice(2, 4)):
            value, gradient = value_and_gradient(loss, labels[rows], y_pred[rows])
            if not row.options.get("from_logits"):  # The loops clip p.
                close(value, np.mean(row.scores(labels[rows], y_pred[rows])), 1e-5)
            assert np.all(np.isfinite([value, *np.ravel(gradient)]))


def test_the_kernel_has_no_slope_at_equal_confidences():
    # The gaps are u = (-2, 1, 1, 1) / 3, and the products of pairs sum to -6 / 9. The
    # slope in each gap is the sum of the others.
    loss = um.MMCELoss(1, True, proper_loss=None)
    value, gradient = value_and_gradient(loss, [0, 1, 1, 1], np.zeros([4, 3]))
    close(value, -1 / 18)
    expected = np.zeros([4, 3])
    expected[0] = 2 / 12 * np.array([2, -1, -1]) / 9
    close(gradient, expected, 1e-7)


def test_a_batch_of_one(rng):
    y, p = classes(rng, [1])
    confidence, hit = p.max(), p.argmax() == y[0]
    for norm in ("l1", "l2"):
        loss = um.SoftCalibrationLoss(1, proper_loss=None, norm=norm)
        close(loss(y, np.float32(p)), abs(confidence - hit))
    assert float(um.MMCELoss(1, proper_loss=None)(y, np.float32(p))) == 0


def test_low_temperatures_give_the_error_of_even_bins(rng):
    p = rng.dirichlet([1, 1, 1], 300).astype(np.float32)
    from_edges = np.abs(60 * p.max(axis=1) - np.round(60 * p.max(axis=1)))
    p = p[from_edges > 0.01]
    y = rng.integers(0, 3, len(p))
    for norm, num_bins in itertools.product(("l1", "l2"), (4, 15)):
        options = {"norm": norm, "num_bins": num_bins}
        loss = um.SoftCalibrationLoss(1, proper_loss=None, temperature=1e-6, **options)
        expected = um_np.gce(*(y, p, "even", True, False), norm=norm, num_bins=num_bins)
        close(loss(y, p), expected, 1e-5)


def test_errors_of_batches_are_unbiased(rng):
    """The mean of MMCE^2 over batches is its value in the population."""
    p = np.array([[0.6, 0.4], [0.9, 0.1], [0.7, 0.3]])
    chances = np.array([0.2, 0.3, 0.5])
    accuracies = np.array([0.5, 0.95, 0.4])
    gaps = chances * (p[:, 0] - accuracies)
    kernel = np.exp(-np.abs(p[:, :1] - p[:, 0]) / 0.2)
    expected = gaps @ kernel @ gaps
    kinds = rng.choice(3, [400, 4], p=chances)
    y = rng.random(kinds.shape) > accuracies[kinds]
    loss = tf.function(um.MMCELoss(1, proper_loss=None))
    values = tf.map_fn(
        lambda batch: loss(*batch),
        (tf.constant(y, tf.int32), tf.constant(p[kinds], tf.float32)),
        tf.float32,
    ).numpy()
    error = values.std() / len(values) ** 0.5
    assert abs(values.mean() - expected) < 5 * error


def test_one_hot_and_smoothed_labels():
    """A decision is right to the share of its class in the label."""
    p = np.float32([[0.75, 0.25, 0], [0.25, 0.5, 0.25]])
    shares = np.float32([[0.5, 0.5, 0], [0, 0.75, 0.25]])
    loss = um.MMCELoss(1, proper_loss=None)
    expected = (0.75 - 0.5) * (0.5 - 0.75) * np.exp(-0.25 / 0.2)
    close(loss(shares, p), expected)
    for row in PENALIZED:
        if not row.options.get("from_logits"):
            loss = row.make()
            close(loss(np.eye(3)[[0, 2]], p), loss([0, 2], p))
    likelihoods = (np.log(4 / 3) + np.log(4)) / 2, 0.75 * np.log(2) + np.log(4) / 4
    close(um.MMCELoss(0)(shares, p), np.mean(likelihoods))


@pytest.mark.parametrize("name", ["SoftCalibrationLoss", "MMCELoss"])
def test_weights_of_zero_and_of_any_scale(name, rng):
    y, p = classes(rng, [8])
    p = np.float32(p)
    weights = np.float32([1, 0, 2, 0.5, 1, 0, 1, 3])
    kept = weights > 0
    loss = getattr(um, name)(2, reduction="none")
    some = loss(y[kept], p[kept], weights[kept])
    close(np.asarray(loss(y, p, weights))[kept], some)
    close(np.asarray(loss(y, p, 1e-3 * weights))[kept], 1e-3 * some)
    of_ignoring = getattr(um, name)(2, ignore_index=255)
    close(of_ignoring(np.where(kept, y, 255), p, weights), np.mean(some))


def test_many_examples_need_no_array_of_pairs(rng):
    n = 200_000  # All pairs would take 160 GB.
    p = rng.uniform(0.5, 1, n)
    y = (rng.random(n) > p**2).astype(int)
    p = np.float32(np.stack([p, 1 - p], axis=1))
    # The gap at p is p - p^2, and the density of p is 2 on [0.5, 1].
    grid = np.linspace(0.5, 1, 501)
    gap = 2 * (grid - grid**2)
    kernel = np.exp(-np.abs(grid[:, None] - grid) / 0.2)
    expected = trapezoid(trapezoid(kernel * gap, grid) * gap, grid)
    close(um.MMCELoss(1, proper_loss=None)(y, p), expected, 0.003)
