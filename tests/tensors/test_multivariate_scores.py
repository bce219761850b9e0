"""Properties of the scores of multivariate forecasts, in both halves."""

import fractions
import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy.spatial import distance

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.numpy import _threads
from uncertainty_metrics.numpy.scoring import _variogram

ROOMS = pytest.mark.parametrize("room", [um_np, um], ids=["numpy", "tensors"])


def both_raise(word, function, *arguments, **options):
    messages = []
    for room in (um_np, um):
        with pytest.raises(ValueError, match=word) as raised:
            getattr(room, function)(*arguments, **options)
        messages.append(str(raised.value))
        assert "Received" in messages[-1]
    assert messages[0] == messages[1]


def test_the_true_correlation_scores_best(rng):
    """On average over many forecasts, by more than 4 standard errors."""
    n, m = 4000, 40
    shapes = {r: np.linalg.cholesky([[1, r], [r, 1]]).T for r in (-0.6, 0.0, 0.6)}
    y = rng.normal(size=[n, 2]) @ shapes[0.6]
    for score in (um_np.variogram_score, um_np.dawid_sebastiani_score):
        drawn = {r: rng.normal(size=[n, m, 2]) @ shape for r, shape in shapes.items()}
        best = score(y, drawn[0.6])
        for wrong in (-0.6, 0.0):
            gain = score(y, drawn[wrong]) - best
            assert gain.mean() > 4 * gain.std() / np.sqrt(n)


@ROOMS
def test_variogram_score_by_hand(room):
    y, samples = np.array([0.0, 4.0]), np.array([[0.0, 1.0], [9.0, 0.0]])
    # Both pairs, (1, 2) and (2, 1), have (4^p - (1^p + 9^p) / 2)^2.
    for p, expected in ((0.5, 0.0), (1, 2.0), (2, 2 * 25.0**2)):
        score = room.variogram_score(y, samples, p)
        np.testing.assert_allclose(score, expected, atol=1e-12)
    weights = [[7.0, 1.0], [0.5, 7.0]]
    np.testing.assert_allclose(room.variogram_score(y, samples, 1, weights), 1.5)
    # A shift of all coordinates does not count, and one coordinate has no pairs.
    shift = np.array([[5.0], [-1.0]])
    same = room.variogram_score(y + 3, samples + shift, 1)
    np.testing.assert_allclose(same, 2.0)
    assert float(room.variogram_score([1.0], [[2.0], [4.0]])) == 0


@pytest.mark.parametrize("p", [0.5, 1, 2])
def test_variogram_score_in_blocks_of_coordinates_equals_all_pairs(p, rng, monkeypatch):
    monkeypatch.setattr(_threads, "BLOCK", 1)
    monkeypatch.setattr(_variogram, "_LEAST", 16)
    d = 50
    y, x = rng.normal(size=d), rng.normal(size=[3, d]) + 1e4
    forecast = np.mean([distance.pdist(row[:, None]) ** p for row in x], axis=0)
    errors = (distance.pdist(y[:, None]) ** p - forecast) ** 2
    score = um_np.variogram_score(y, x, p)
    np.testing.assert_allclose(score, 2 * errors.sum(), rtol=1e-10)
    weights = rng.uniform(size=[d, d])
    expected = distance.squareform(errors)
    score = um_np.variogram_score(y, x, p, weights)
    np.testing.assert_allclose(score, np.sum(weights * expected), rtol=1e-10)


def test_variogram_score_of_order_2_is_exact_for_close_forecasts(rng):
    """Errors of 1e-6 of the labels, whose squares would be lost beside the labels."""
    y, errors = rng.normal(size=7), 1e-6 * rng.normal(size=[3, 7])
    score = um_np.variogram_score(y, y + errors, 2)
    exact, total = np.vectorize(fractions.Fraction), 0
    y, x = exact(y), exact(y + errors)
    for i, j in itertools.permutations(range(7), 2):
        total += ((y[i] - y[j]) ** 2 - ((x[:, i] - x[:, j]) ** 2).sum() / 3) ** 2
    np.testing.assert_allclose(score, float(total), rtol=1e-8)
    mirrored = um_np.variogram_score(np.arange(9.0), -np.arange(9.0)[None], 2)
    np.testing.assert_allclose(mirrored, 0, atol=1e-9)


@ROOMS
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_variogram_score_scales_with_tiny_and_huge_numbers(room, scale, rng):
    labels, samples = rng.normal(size=[5, 3]), rng.normal(size=[5, 7, 3])
    given = (labels * scale).astype(np.float32), (samples * scale).astype(np.float32)
    expected = um_np.variogram_score(labels, samples)
    found = np.asarray(room.variogram_score(*given)) / scale
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    score = room.variogram_score(np.zeros(2), np.array([[1e200, 0.0]]), 2)
    assert float(score) == np.inf  # The score would be (1e400)^2.
    same = np.full([3, 2], 1e200)
    assert float(room.variogram_score(same[0], same, 2)) == 0


def test_variogram_score_of_labels_of_unknown_shape(rng):
    """The samples alone say how many coordinates there are."""
    labels, samples = rng.normal(size=[4, 3]), rng.normal(size=[4, 6, 3])

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.float64),
            tf.TensorSpec([None, 6, 3], tf.float64),
        ]
    )
    def score(labels, samples):
        return um.variogram_score(labels, samples)

    expected = um_np.variogram_score(labels, samples)
    np.testing.assert_allclose(score(labels, samples), expected, rtol=1e-12)


def test_wrong_orders_and_weights_of_variograms_raise():
    y, samples = [0.0, 1.0], [[0.0, 1.0], [2.0, 0.0]]
    for p in (0, -1, np.nan, np.inf, None, "x", True):
        both_raise("`p` must be a finite number > 0", "variogram_score", y, samples, p)
    for weights, word in (
        ([1.0, 1.0], r"`weights` must be of shape \[d, d\] = \[2, 2\]"),
        (np.ones([3, 3]), "`weights` must be of shape"),
        ([[1.0, -1.0], [1.0, 1.0]], "`weights` must be >= 0. Received: -1.0"),
        ([[1.0, np.inf], [1.0, 1.0]], "`weights` must be finite"),
    ):
        both_raise(word, "variogram_score", y, samples, 1.0, weights)


@ROOMS
def test_dawid_sebastiani_score_of_one_dimension_equals_the_formula(room, rng):
    y, samples = rng.normal(size=6), rng.normal(size=[6, 9])
    mean, variance = samples.mean(axis=1), samples.var(axis=1, ddof=1)
    expected = np.log(variance) + (y - mean) ** 2 / variance
    found = room.dawid_sebastiani_score(y[:, None], samples[..., None])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@ROOMS
def test_dawid_sebastiani_score_in_other_coordinates_adds_a_constant(room, rng):
    """The constant is the logarithm of the squared determinant, for any cloud."""
    y, samples = rng.normal(size=[4, 3]), rng.normal(size=[4, 12, 3])
    expected = room.dawid_sebastiani_score(y, samples)
    for units, shift in (([1.0, 2.0, 4.0], 5.0), ([1e-12, 1.0, 1e9], 0.0)):
        turned = np.diag(units) @ np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
        found = room.dawid_sebastiani_score(
            y @ turned.T + shift, samples @ turned.T + shift
        )
        found = np.asarray(found) - 2 * np.log(np.prod(units))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_covariance_without_an_inverse_raises(rng):
    name = "dawid_sebastiani_score"
    y, samples = rng.normal(size=[4, 3]), rng.normal(size=[4, 9, 3])
    both_raise(r"at least d \+ 1 = 4 samples", name, y, samples[:, :3])
    wrong = []
    for dtype in (np.float64, np.float32):
        changed = samples.astype(dtype)
        changed[2, :, 1] = 0.1  # The mean of these is not exactly 0.1.
        wrong.append(changed)
        changed = samples.astype(dtype)
        changed[2, :, 1] = 2 * changed[2, :, 0] + 1
        wrong.append(changed)
        changed = samples.astype(dtype)
        changed[2] = changed[2, [0, 1, 2, 0, 1, 2, 0, 1, 2]]
        wrong.append(changed)
    function = tf.function(um.dawid_sebastiani_score)
    for changed in wrong:
        word = r"covariance that has an inverse.*singular covariance at \[2\]"
        both_raise(word, name, y.astype(changed.dtype), changed)
        found = np.isnan(function(y.astype(changed.dtype), changed))
        assert found.tolist() == [False, False, True, False]
