"""Rank metrics of long vectors, which graphs sort by XLA, against sums over groups."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from uncertainty_metrics.ops import _ranking
from uncertainty_metrics.ops._execution import LONG

TINY = np.float32(1e-45)  # The smallest float32, below the normal numbers.
NAMES = ("auroc", "aurc", "augrc")


def make(rng, n):
    """Makes scores of which many are equal or hardly differ, outcomes and weights."""
    largest = np.finfo(np.float32).max
    special = [-0.0, 0.0, TINY, -TINY, 3e-39, largest, -largest]
    special += [1.0, np.nextafter(np.float32(1), np.float32(2))]
    scores = rng.normal(size=n).astype(np.float32)
    at = rng.random(n) < 0.5
    scores[at] = rng.choice(np.array(special, np.float32), at.sum())
    outcomes = (rng.normal(size=n) < np.clip(scores, -1, 1)).astype(np.int32)
    return scores, outcomes, rng.choice([0.0, 0.25, 1.0, 3.5], n).astype(np.float32)


def expected(scores, outcomes, weights):
    """Returns `NAMES` as loops over groups; AURC for weights that are integers."""
    values, group = np.unique(-scores.astype(np.float64), return_inverse=True)
    mass, hits = (
        np.bincount(group, each.astype(np.float64), len(values))
        for each in (weights, weights * outcomes)
    )
    misses, before, missed, area, risks, joint = mass - hits, 0.0, 0.0, 0.0, 0.0, 0.0
    for count, right, wrong in zip(mass, hits, misses, strict=True):
        area += right * (misses.sum() - missed - wrong / 2)
        joint += count * (missed + wrong / 2)
        places = np.arange(1, count + 1)
        risks += np.sum((missed + wrong * places / max(count, 1)) / (before + places))
        before, missed = before + count, missed + wrong
    total = mass.sum()
    return (
        area / hits.sum() / misses.sum(),
        risks / total,
        joint / total**2,
    )


def values(scores, outcomes, weights=None):
    detection = {"labels": outcomes, "scores": scores, "sample_weight": weights}
    selection = {"correct": outcomes, "confidences": scores, "sample_weight": weights}
    area = um.aurc(**selection) if weights is None else tf.constant(0.0)
    return um.auroc(**detection), area, um.augrc(**selection)


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize(
    ("size", "jit_compile"),
    [(LONG, False), (LONG, True), (None, False), (500, False), (500, True)],
)
def test_rankings_are_exact(size, jit_compile, rng):
    scores, outcomes, weights = make(rng, size or 500)
    assert len(set(scores)) < len(scores)
    arrays = scores, outcomes, weights
    signature = [tf.TensorSpec([size], array.dtype) for array in arrays]
    run = tf.function(values, jit_compile=jit_compile, input_signature=signature[:2])
    found = run(*map(tf.constant, arrays[:2]))
    ones = np.ones_like(weights)
    np.testing.assert_allclose(found, expected(scores, outcomes, ones), rtol=1e-6)
    weighted = tf.function(values, jit_compile=jit_compile, input_signature=signature)
    found = weighted(*map(tf.constant, arrays))
    wanted = expected(*arrays)
    np.testing.assert_allclose(found[::2], wanted[::2], rtol=1e-6)
    for wrong in (np.nan, np.inf, -np.inf):
        scores[3] = wrong
        assert np.isnan(run(tf.constant(scores), tf.constant(outcomes))).all()


@pytest.mark.parametrize("size", [2**20, None])
def test_long_sums_do_not_drift_in_xla(size):
    numbers = np.linspace(0.1, 0.7, 2**20, dtype=np.float32)
    signature = [tf.TensorSpec([size], tf.float32)]
    total = tf.function(_ranking._total, jit_compile=True, input_signature=signature)
    found = total(tf.constant(numbers)).numpy()
    np.testing.assert_allclose(found, numbers.sum(dtype=np.float64), rtol=4e-7)
