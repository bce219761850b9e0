"""Scores of logits on tensors: bad arguments and gradients."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

GOOD = [[2.0, 0.5, -1.0], [0.1, 0.3, 3.0]]
NAMES = ("energy", "max_logit", "max_softmax")
BAD_SHAPES = (
    ([[1.0], [2.0]], "K >= 2"),
    (1.0, "K >= 2"),
    (np.zeros((0, 3)), "at least one example"),
    ([[1.0, 2.0], [1.0]], "rectangular"),
)
BAD_VALUES = (
    ([[1.0, np.nan]], "finite, or -inf for some"),
    ([[1.0, np.inf]], "finite, or -inf for some"),
    ([[-np.inf, -np.inf]], "finite, or -inf for some"),
    ([[0.2, 0.8], [0.5, 0.5]], "for probabilities pass their logarithm"),
)


@pytest.mark.parametrize("name", NAMES)
def test_bad_logits_raise_and_are_nan_in_a_graph(name):
    for logits, word in BAD_SHAPES + BAD_VALUES:
        messages = []
        for room in (um, um_np):
            with pytest.raises(ValueError, match=f"`logits` must .*{word}") as raised:
                getattr(room, name)(logits)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
        assert "Received" in messages[0]
    in_graph = tf.function(getattr(um, name))
    for logits, _ in BAD_VALUES:
        assert np.all(np.isnan(in_graph(tf.constant(logits))))
    mixed = in_graph(tf.constant([GOOD[0], [1.0, np.nan, 2.0]]))
    assert list(np.isnan(mixed)) == [False, True]


def test_bad_temperatures_raise():
    for room in (um, um_np):
        for wrong in (0, -1.0, np.nan, np.inf, None, "hot", True):
            with pytest.raises(
                ValueError, match="`temperature` must be finite and > 0"
            ):
                room.energy(GOOD, temperature=wrong)
    # A temperature outside float32 raises instead of giving NaN.
    with pytest.raises(ValueError, match="too large or too small"):
        um.energy(tf.constant(GOOD), temperature=1e-300)


def test_gradients_equal_finite_differences():
    logits = tf.constant(GOOD, tf.float64)
    for name in NAMES:
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = tf.reduce_sum(getattr(um, name)(logits))
        found = tape.gradient(value, logits).numpy()
        for i in range(2):
            for k in range(3):
                step = np.zeros((2, 3))
                step[i, k] = 1e-6
                ends = (
                    getattr(um_np, name)(np.array(GOOD) + sign * step).sum()
                    for sign in (1, -1)
                )
                slope = np.subtract(*ends) / 2e-6
                np.testing.assert_allclose(found[i, k], slope, atol=1e-8)
