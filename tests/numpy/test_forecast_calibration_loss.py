"""How much of the CRPS recalibration would gain, against integrals by quadrature."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.regression import _mapped_normal

calibration_loss = um.regression.calibration_loss


def crps(cdf, y, knots):
    """Returns the CRPS of a CDF by quadrature between its knots."""
    ends = np.unique([-12.0, *knots, y, 12.0])
    total = 0.0
    for a, b in itertools.pairwise(ends):
        total += integrate.quad(
            lambda u: (cdf(u) - (u >= y)) ** 2, a, b, epsabs=1e-13, epsrel=1e-11
        )[0]
    return total


def folds_of(n, seed=0, folds=5):
    return np.random.default_rng(seed).permutation(n) % folds


def drawn(rng, n, spread=2.0, bias=0.0):
    means, stddevs = rng.normal(size=n), rng.uniform(0.5, 2, size=n)
    targets = means + stddevs * (spread * rng.normal(size=n) + bias)
    return targets, means, stddevs


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_quadrature_of_the_map_of_the_other_folds(rng, weighted):
    n = 24
    data = drawn(rng, n, 1.5, 0.3)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    fold, after, wider = folds_of(n, seed=3, folds=4), np.empty(n), np.empty(n)
    z = (data[0] - data[1]) / data[2]
    for k in range(4):
        rest = fold != k
        map = um.regression.PITCalibration().fit(
            *(each[rest] for each in data),
            sample_weight=None if weights is None else weights[rest],
        )

        def cdf(u, map=map):
            return float(map.transform(stats.norm.cdf(u)))

        knots = z[rest]
        for i in np.flatnonzero(fold == k):
            after[i] = data[2][i] * crps(cdf, z[i], knots)
        ends = np.unique([-12.0, *knots, 12.0])
        entropy = sum(
            integrate.quad(lambda u: cdf(u) * (1 - cdf(u)), a, b)[0]
            for a, b in itertools.pairwise(ends)
        )
        wider[fold == k] = np.sign(entropy - 1 / np.sqrt(np.pi))
    before = um.crps_normal_score(*data)
    gains = before - after
    found = calibration_loss(*data, folds=4, level=0.9, seed=3, sample_weight=weights)
    shares = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    assert found.loss == pytest.approx(shares @ before, rel=1e-12)
    assert found.refined == pytest.approx(shares @ after, rel=1e-8)
    assert found.difference == pytest.approx(shares @ gains, rel=1e-7)
    assert found.share == pytest.approx(shares @ gains / (shares @ before), rel=1e-7)
    assert found.overconfident == pytest.approx(shares @ (gains * (wider > 0)))
    assert found.underconfident == pytest.approx(shares @ (gains * (wider < 0)))
    if weights is None:
        interval = stats.ttest_1samp(gains, 0).confidence_interval(0.9)
        assert [found.lower, found.upper] == pytest.approx(list(interval))


def test_where_values_of_the_cdf_round_to_1():
    knots, below = np.array([20.0, 20.5, 23.0]), np.array([0.2, 0.5, 0.9])
    tail = stats.norm.logsf

    def cdf(u):
        if u < knots[0]:
            return 0.2 * stats.norm.cdf(u)
        i = np.searchsorted(knots, u, "right")
        start, end = tail(knots[i - 1]), tail(knots[i]) if i < 3 else -np.inf
        share = np.expm1(tail(u) - start) / np.expm1(end - start)
        return below[i - 1] + share * ([*below, 1.0][i] - below[i - 1])

    z = np.array([19.0, 20.0, 20.2, 22.0, 24.0])
    mapped = _mapped_normal.MappedNormal(knots, below)
    np.testing.assert_allclose(mapped.cdf(z), [cdf(u) for u in z], atol=1e-11)
    ends = np.unique([-8.0, 0, 8, *z, *np.linspace(20, 25, 51)])
    for y, found in zip(z, mapped.crps(z), strict=True):
        expected = sum(
            integrate.quad(lambda u, y=y: (cdf(u) - (u >= y)) ** 2, a, b)[0]
            for a, b in itertools.pairwise(ends)
        )
        assert found == pytest.approx(expected, rel=1e-7)
    mirrored = _mapped_normal.MappedNormal(-knots[::-1], 1 - below[::-1])
    np.testing.assert_allclose(mirrored.crps(-z), mapped.crps(z), rtol=1e-11)
    assert mirrored.expected_crps() == pytest.approx(mapped.expected_crps())
    # Far out, the distribution is one of steps.
    far = _mapped_normal.MappedNormal(1e40 * knots, below)
    steps = 1e40 * np.array([0, 20.0, 20.5, 23.0])
    masses = np.diff([0, *below, 1.0])
    np.testing.assert_allclose(
        far.crps(1e40 * z),
        [
            masses @ np.abs(steps - y)
            - masses @ np.abs(steps[:, None] - steps) @ masses / 2
            for y in 1e40 * z
        ],
        rtol=1e-9,
    )


def test_close_and_distant_knots_agree_with_the_map_without_them(rng):
    # Points where the map is the identity change nothing.
    z = np.sort(np.concatenate([rng.normal(size=50), [1e-9, 2e-9, 5.0, 6.5, -7.0]]))
    identity = _mapped_normal.MappedNormal(z, stats.norm.cdf(z))
    y = np.linspace(-9, 9, 101)
    np.testing.assert_allclose(identity.cdf(y), stats.norm.cdf(y), atol=1e-14)
    expected = um.crps_normal_score(y, 0.0, 1.0)
    np.testing.assert_allclose(identity.crps(y), expected, rtol=1e-12)
    assert identity.expected_crps() == pytest.approx(1 / np.sqrt(np.pi), rel=1e-12)


def test_the_unit_of_the_targets(rng):
    targets, means, stddevs = drawn(rng, 100)
    first = calibration_loss(targets, means, stddevs)
    second = calibration_loss(8 * targets - 3, 8 * means - 3, 8 * stddevs)
    np.testing.assert_allclose(second[:5], 8 * np.array(first[:5]), rtol=1e-9)
    assert second.share == pytest.approx(first.share)


@pytest.mark.parametrize("spread", [1.0, 2.0, 0.5, 30.0])
def test_the_gain_is_at_most_the_truth_on_average(spread):
    # The best map makes N(0, 1) of z into N(0, spread^2).
    def of(law):
        z = spread * law.normal(size=200)
        return calibration_loss(z, 0 * z, 1 + 0 * z, seed=None)

    found = np.array([of(np.random.default_rng([7, i])) for i in range(40)])
    difference, lower = found[:, 2], found[:, 3]
    before = um.crps_normal_score(
        spread * stats.norm.ppf((np.arange(10**5) + 0.5) / 10**5), 0.0, 1.0
    ).mean()
    truth = before - spread / np.sqrt(np.pi)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert difference.mean() < truth + 3 * error
    assert np.mean(lower > truth) < 0.15
    if spread != 1:
        side = {True: found[:, 6], False: found[:, 7]}[spread > 1]
        np.testing.assert_allclose(side, difference)
        assert np.all(lower > 0)
        assert difference.mean() > truth - 0.02 * spread


def test_clusters_are_in_one_fold(rng):
    ids = np.repeat(np.arange(30), 4)
    common = rng.normal(size=30)[ids]
    targets = common + 0.1 * rng.normal(size=120)
    zeros, ones = np.zeros(120), np.ones(120)
    found = calibration_loss(targets, zeros, ones, clusters=ids)
    assert found.num_clusters == 30
    assert found.design_effect > 1.5
    # Copies of an example in one cluster: the estimate of a mean over clusters.
    single = rng.normal(size=30) * 1.5
    once = calibration_loss(single, zeros[:30], ones[:30])
    copies = calibration_loss(
        np.repeat(single, 4),
        zeros,
        ones,
        clusters=ids,
        sample_weight=np.full(120, 0.25),
    )
    np.testing.assert_allclose(copies[:5], once[:5], rtol=1e-9)
    with pytest.raises(ValueError, match="`folds` must be at most 30, the number of c"):
        calibration_loss(targets, zeros, ones, clusters=ids, folds=31)


def test_examples_of_weight_0_are_left_out(rng):
    targets, means, stddevs = drawn(rng, 40)
    weights = (np.arange(40) < 30).astype(float)
    ids = np.arange(40).astype(str)
    expected = calibration_loss(targets[:30], means[:30], stddevs[:30])
    targets[30:] = np.nan
    found = calibration_loss(targets, means, stddevs, sample_weight=weights)
    assert found == pytest.approx(expected)
    found = calibration_loss(
        targets, means, stddevs, sample_weight=weights, clusters=ids
    )
    assert found[:3] == pytest.approx(expected[:3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "`folds` must be an integer of at least 2"),
        ({"folds": 9}, "`folds` must be at most 8, the number of examples"),
        ({"level": 1}, "`level`"),
        ({"stddevs": np.zeros(8)}, "`stddevs`"),
        ({"means": np.zeros(7)}, "`means`"),
        ({"targets": [*np.zeros(7), np.nan]}, "`targets`"),
        ({"targets": [1e60, *np.zeros(7)]}, "standard deviations"),
        ({"sample_weight": np.full(8, 0.2)}, "weights of sum 2"),
        ({"clusters": np.zeros(8)}, "`clusters` must hold at least two ids"),
    ],
)
def test_errors(options, message):
    data = {"targets": np.arange(8.0), "means": np.zeros(8), "stddevs": np.ones(8)}
    with pytest.raises(ValueError, match=message):
        calibration_loss(**{**data, **options})
    with pytest.raises(ValueError, match="at least two examples"):
        calibration_loss([1.0, 2.0], [0.0, 0.0], [1.0, 1.0], folds=2)
