"""The joint test of intercept and slope of risks: against fits by SciPy, and its level
by simulation.
"""

import numpy as np
import pytest
from scipy import optimize, special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.calibration.risk.risk_calibration import joint_p_value

Z = 4.5  # The limit in standard errors, for any seed.


def by_fit(labels, p, weights):
    """Returns the p-value by a general optimizer."""
    z, signs = special.logit(p), np.where(labels == 1, 1, -1)

    def loss(ab):
        return -float(weights @ special.log_expit(signs * (ab[0] + ab[1] * z)))

    best = optimize.minimize(
        loss,
        [0.0, 1.0],
        tol=1e-14,
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
    )
    ratio = 2 * (loss([0.0, 1.0]) - best.fun)
    return stats.chi2(2).sf(ratio)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("intercept", "slope"), [(0, 1), (0.4, 1), (0, 0.6), (-1, 2)])
def test_the_p_value_is_that_of_another_fit(seed_of, intercept, slope, weighted):
    rng = np.random.default_rng(seed_of)
    z = rng.normal(-0.5, 1.2, 150)
    labels = (rng.random(150) < special.expit(intercept + slope * z)).astype(int)
    labels[:2] = 0, 1
    p, weights = special.expit(z), np.ones(150)
    if weighted:
        weights = rng.integers(0, 4, 150).astype(float)
        weights[:2] = 1
    found = joint_p_value(labels, p, weights if weighted else None)
    assert found == pytest.approx(by_fit(labels, p, weights), rel=1e-5, abs=1e-12)


@pytest.fixture
def seed_of(request):
    return request.config.getoption("--seed")


def test_it_is_at_most_the_test_of_each_by_its_statistic():
    # The joint likelihood ratio is at least that of the intercept at slope 1.
    labels = np.array([0, 0, 1, 0, 1, 1, 0, 1, 1, 0] * 6)
    p = np.tile(np.linspace(0.1, 0.9, 10), 6)
    alone = um.calibration_intercept(labels, p).p_value
    joint = joint_p_value(labels, p)
    assert -2 * np.log(joint) >= stats.chi2(1).isf(alone) - 1e-9


def test_separated_labels_have_the_limit():
    p = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    labels = (p > 0.5).astype(int)
    # The likelihood tends to 1, so the ratio is that of the risks as they are.
    expected = np.prod(np.where(labels, p, 1 - p))
    assert joint_p_value(labels, p) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("p", [np.full(20, 0.3), np.linspace(0.1, 0.9, 20)])
def test_no_slope_no_test(p):
    labels = np.zeros(20, int) if np.ptp(p) else np.arange(20) % 2
    with pytest.raises(ValueError, match="Received"):
        joint_p_value(labels, p)


def test_the_level(seed_of):
    """Twice the smaller of two p-values, the rule before, finds less than this."""
    rng, draws = np.random.default_rng(seed_of), 400
    found = []
    for _ in range(draws):
        p = special.expit(rng.normal(-1, 1, 300))
        found.append(joint_p_value((rng.random(300) < p).astype(int), p))
    for level in (0.05, 0.2):
        error = (level * (1 - level) / draws) ** 0.5
        assert np.mean(np.array(found) <= level) < level + 0.01 + Z * error
        assert np.mean(np.array(found) <= level) > level - 0.01 - Z * error
