"""Scores of logits against SciPy, and their sign."""

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics.numpy as um


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_scores_equal_scipy(dtype, size, rng):
    logits = (size * rng.normal(size=(3, 4, 5))).astype(dtype)
    logits[0, 0, 1] = -np.inf
    wide = logits.astype(np.float64)
    expected = special.softmax(wide, axis=-1).max(axis=-1)
    np.testing.assert_allclose(um.max_softmax(logits), expected, rtol=1e-14)
    np.testing.assert_array_equal(um.max_logit(logits), wide.max(axis=-1))
    for t in (0.1, 1.0, 3, 1000.0):
        expected = -t * special.logsumexp(wide / t, axis=-1)
        found = um.energy(logits, temperature=t)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_scores_of_extreme_logits_by_hand():
    logits = [[1e308, -1e308, 0.0], [-1e308, -1e308, -np.inf]]
    np.testing.assert_array_equal(um.max_softmax(logits), [1, 0.5])
    np.testing.assert_array_equal(um.energy(logits), [-1e308, 1e308])
    # At a temperature near 0, the energy is minus the maximum logit.
    cold = um.energy([[3.0, 1.0]], temperature=1e-3)
    np.testing.assert_allclose(cold, -um.max_logit([[3.0, 1.0]]))
    assert um.max_softmax([2.0, 2.0]) == 0.5
    assert um.max_logit(np.array([[3, 2]])).dtype == np.float64


def test_scores_have_the_sign_that_docstrings_say(rng):
    """Rows without a large logit stand for examples out of distribution."""
    known, unknown = rng.normal(size=(2, 400, 10))
    known[:, 3] += 8
    labels = np.repeat([0, 1], 400)
    logits = np.concatenate([known, unknown])
    for name in ("energy", "max_logit", "max_softmax"):
        score = getattr(um, name)
        out = "Larger is more out of distribution." in score.__doc__
        assert out != ("Larger is more in distribution." in score.__doc__)
        scores = score(logits) if out else -score(logits)
        assert um.auroc(labels, scores) > 0.95
        # The same with label 1 for examples in distribution.
        turned = um.fpr_at_tpr(1 - labels, -scores)
        assert turned == um.fpr_at_tpr(labels, scores, positive="in")
