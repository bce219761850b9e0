"""The spread of samples on JAX and PyTorch equals a sum over all pairs."""

import numpy as np
import pytest

from tests.backends.conftest import BACKEND
from uncertainty_metrics.ops import _inputs
from uncertainty_metrics.ops._pairwise import pairwise_spread


def value_and_gradient(samples, with_gradient):
    if BACKEND == "jax":
        import jax

        spread = jax.jit(lambda x: pairwise_spread(x, True, with_gradient))
        value, pull = jax.vjp(spread, samples)
        return value, pull(np.ones(value.shape, np.float32))[0]
    import torch

    x = torch.tensor(samples, requires_grad=True)
    value = pairwise_spread(x, True, with_gradient)
    return value.detach().numpy(), torch.autograd.grad(value.sum(), x)[0].numpy()


@pytest.mark.parametrize("m", [2, 3, 16, 17, 36])
@pytest.mark.parametrize("with_gradient", [False, True])
@pytest.mark.parametrize("shortcut", [False, True] if BACKEND == "torch" else [False])
def test_spreads_and_slopes_of_hard_rows(rng, m, with_gradient, shortcut, monkeypatch):
    monkeypatch.setattr(_inputs, "SHORTCUT", shortcut)
    # Neighbouring floats, which no approximate sort key could order.
    near = 1 + np.finfo(np.float32).eps * rng.permutation(m)
    rows = [
        rng.normal(size=(4, m)),
        rng.integers(-2, 3, size=(4, m)),
        1e4 + rng.normal(size=(4, m)),
        [near, -near, np.full(m, 1 / 3), np.where(np.arange(m) % 2, 0.0, -0.0)],
        rng.standard_cauchy((4, m)) * 1e20,
    ]
    samples = np.concatenate(rows).astype(np.float32)
    exact = samples.astype(np.float64)
    difference = exact[:, :, None] - exact[:, None, :]
    spread = np.abs(difference).sum(axis=(1, 2)) / (2 * m * (m - 1))
    slopes = np.sign(difference).sum(axis=2) / (m * (m - 1))
    broken = samples[:3].copy()
    broken[:, 1] = [np.nan, np.inf, -np.inf]

    value, gradient = value_and_gradient(
        np.concatenate([samples, broken]), with_gradient
    )
    np.testing.assert_allclose(value[:-3], spread, rtol=1e-6)
    np.testing.assert_allclose(gradient[:-3], slopes, rtol=1e-6, atol=1e-7)
    assert np.isnan(value[-3:]).all()
    assert np.isnan(gradient[-3:]).all()
