"""Both halves put every score into the right bin."""

import fractions

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.numpy.calibration.bins import _binning as np_binning
from uncertainty_metrics.ops import _binning as tf_binning

EVEN_BINS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 49, 100, 1000]


def corner_scores(num_bins, dtype, rng):
    edges = np.linspace(0, 1, num_bins + 1).astype(dtype)
    multiples = (np.arange(num_bins + 1) / num_bins).astype(dtype)
    near = np.concatenate([edges, multiples])
    if dtype != "bfloat16":
        zero, one = np.array(0, dtype), np.array(1, dtype)
        near = np.concatenate([near, np.nextafter(near, zero), np.nextafter(near, one)])
    scores = np.concatenate([near, rng.uniform(size=500).astype(dtype)])
    return scores[(scores >= 0) & (scores <= 1)]


@pytest.mark.first(6, "thorough")
@pytest.mark.parametrize("num_bins", EVEN_BINS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_even_bins_are_closed_on_the_right_to_the_last_bit(num_bins, dtype, rng):
    scores = corner_scores(num_bins, dtype, rng)
    edges = np.linspace(0, 1, num_bins + 1).astype(dtype)
    expected = np.array([np.sum(score > edges[1:-1]) for score in scores])
    np.testing.assert_array_equal(np_binning.even_index(scores, num_bins), expected)
    for jit_compile in (None, False, True) if num_bins == 15 else (None,):
        index = tf_binning.even_index
        if jit_compile is not None:
            index = tf.function(index, jit_compile=jit_compile)
        np.testing.assert_array_equal(index(tf.constant(scores), num_bins), expected)


@pytest.mark.parametrize("num_bins", [2**20 - 1, 2**20, 2**20 + 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_million_even_bins_are_closed_on_the_right(num_bins, dtype, rng):
    scores = corner_scores(num_bins, dtype, rng)
    edges = np.linspace(0, 1, num_bins + 1).astype(dtype)
    expected = np.searchsorted(edges[1:-1], scores, "left")
    for jit_compile in (False, True):
        index = tf.function(tf_binning.even_index, jit_compile=jit_compile)
        np.testing.assert_array_equal(index(tf.constant(scores), num_bins), expected)


def test_bfloat16_scores_are_compared_with_rounded_edges(rng):
    scores = tf.cast(corner_scores(15, "float32", rng), tf.bfloat16)
    edges = np.linspace(0, 1, 16).astype(tf.bfloat16.as_numpy_dtype).astype(np.float64)
    values = np.asarray(scores).astype(np.float64)
    expected = np.array([np.sum(value > edges[1:-1]) for value in values])
    np.testing.assert_array_equal(tf_binning.even_index(scores, 15), expected)
    np.testing.assert_array_equal(
        np_binning.even_index(np.asarray(scores), 15), expected
    )


def test_scores_at_edges_have_the_specified_bins():
    for dtype in (np.float32, np.float64):
        scores = np.array([0.0, 0.2, 0.4, 1.0], dtype)
        np.testing.assert_array_equal(np_binning.even_index(scores, 5), [0, 0, 1, 4])


@pytest.mark.parametrize("num_bins", [1, 4, 15, 40])
@pytest.mark.parametrize("weights", [None, "integers", "reals", "tenths"])
def test_adaptive_bins_hold_equal_mass(num_bins, weights, rng):
    scores = np.sort(rng.choice(np.linspace(0, 1, 12), 30))
    mass = {
        None: np.ones(30),
        "integers": rng.integers(1, 5, 30).astype(float),
        "reals": rng.uniform(0.1, 3, 30),
        "tenths": np.full(30, 0.1),
    }[weights]
    exact = [fractions.Fraction(m) for m in mass]
    expected = []
    for score in scores:
        below = sum(m for s, m in zip(scores, exact, strict=True) if s < score)
        at = sum(m for s, m in zip(scores, exact, strict=True) if s == score)
        bin_ = int(num_bins * (below + at / 2) / sum(exact))
        expected.append(min(num_bins - 1, bin_))
    integers = None
    if weights is not None:
        integers = np_binning.integer_masses(mass, num_bins)
    starts = np_binning.adaptive_starts(scores, num_bins, integers)
    index = np.searchsorted(starts[1:-1], np.arange(30), side="right")
    np.testing.assert_array_equal(index, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_probabilities_may_exceed_1_by_rounding_only(dtype):
    one = np.ones((), dtype)
    above = np.nextafter(one, one + one)
    # float64 may hold what float32 arithmetic made.
    much = one + 8 * np.finfo("float32" if dtype == "float64" else dtype).eps
    for shape in ([-1], [-1, 1], [-1, 2]):
        for module in (um, um_np):
            for name in ("ece", "ace", "sce"):
                function = getattr(module, name)
                scores = np.array([above, one, one, above], dtype)
                if shape == [-1, 2]:
                    scores = np.stack([one - one + 0 * scores, scores], axis=1)
                value = function([0, 1, 1, 0], scores.reshape(shape))
                assert float(value) == pytest.approx(0.5)
                with pytest.raises(ValueError, match=r"probabilities.*\[0, 1\]"):
                    function([0, 1, 1, 0], (scores * much / above).reshape(shape))
