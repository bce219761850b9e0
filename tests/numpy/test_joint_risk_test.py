"""The joint test of intercept and slope of risks: against fits by SciPy, and its level
by simulation.
"""

import numpy as np
import pytest
from scipy import linalg, optimize, special, stats

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


def in_clusters(rng, number=50, slope=1.0, sizes=(1, 12)):
    """Returns labels, risks, weights and the clusters of dependent examples."""
    ids = np.repeat(np.arange(number), rng.integers(*sizes, number))
    p = special.expit(rng.normal(-0.5, 1, len(ids)))
    z = (rng.normal(size=number)[ids] + rng.normal(size=len(ids))) / 2**0.5
    came = stats.norm.cdf(z) < special.expit(slope * special.logit(p))
    return came.astype(int), p, rng.integers(1, 4, len(ids)).astype(float), ids


def by_clusters(labels, p, weights, ids):
    """Returns Hotelling's p-value from a loop over clusters."""
    x = special.logit(p)
    scores = np.zeros((ids.max() + 1, 2))
    model, squares = np.zeros((2, 2, 2))
    for i, c in enumerate(ids):
        u, both = labels[i] - p[i], np.array([1.0, x[i]])
        scores[c] += weights[i] * u * both
        model += weights[i] * p[i] * (1 - p[i]) * np.outer(both, both)
        squares += weights[i] * u**2 * np.outer(both, both)
    number, total = len(scores), scores.sum(axis=0)
    sandwich = scores.T @ scores * number / (number - 1)
    statistics = [total @ np.linalg.inv(sandwich) @ total]
    # In coordinates in which the model's variance is the identity.
    x = x - model[0, 1] / model[0, 0]
    unit = np.array([[1, 0], [-model[0, 1] / model[0, 0], 1]])
    root = unit.T @ np.diag(1 / np.sqrt(np.diag(unit @ model @ unit.T)))
    total, together, squares = (
        root.T @ total,
        root.T @ scores.T @ scores @ root,
        root.T @ squares @ root,
    )
    inverse = np.linalg.inv(linalg.sqrtm(squares))
    floor = inverse @ together @ inverse
    statistics.append(total @ np.linalg.inv(floor) @ total)
    return stats.f(2, number - 2).sf(min(statistics) * (number - 2) / 2 / (number - 1))


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_with_clusters_it_is_hotelling_s_test(seed_of, slope):
    given = in_clusters(np.random.default_rng(seed_of), slope=slope)
    found = joint_p_value(*given)
    assert found == pytest.approx(by_clusters(*given), rel=1e-6)
    labels, p, weights, ids = given
    two = np.repeat(np.arange(len(ids)), 2)
    again = joint_p_value(labels[two], p[two], weights[two], ids[two])
    assert again == pytest.approx(found)


def test_clusters_of_one_example_change_nothing(seed_of):
    labels, p, _, ids = in_clusters(np.random.default_rng(seed_of))
    found = joint_p_value(labels, p, clusters=np.arange(len(ids)))
    assert found == joint_p_value(labels, p)


def test_too_few_clusters_have_no_joint_test(seed_of):
    labels, p, _, ids = in_clusters(np.random.default_rng(seed_of))
    with (
        pytest.raises(ValueError, match="at least three clusters"),
        pytest.warns(UserWarning, match="2 clusters"),
    ):
        joint_p_value(labels, p, clusters=ids % 2)


@pytest.mark.parametrize("number", [20, 60])
def test_the_level_with_clusters(seed_of, number):
    rng, draws = np.random.default_rng(seed_of), 300
    found = np.zeros(draws)
    for i in range(draws):
        labels, p, _, ids = in_clusters(rng, number)
        found[i] = joint_p_value(labels, p, clusters=ids)
    for level in (0.05, 0.2):
        error = (level * (1 - level) / draws) ** 0.5
        assert np.mean(found <= level) < level + 0.01 + Z * error
        assert np.mean(found <= level) > 0.5 * level - Z * error
