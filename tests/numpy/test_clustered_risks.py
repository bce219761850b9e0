"""Risks, AUROCs, Spiegelhalter's test, thresholds and conformal quantiles of examples
in clusters, against naive loops.
"""

import fractions
import functools
import math
import warnings

import numpy as np
import pytest
from scipy import optimize, special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.conformal import quantile as conformal_quantiles

Z = 4.5  # The limit in standard errors, for any seed.
NUMBER = 30


def drawn(rng, number=NUMBER, correlation=0.5, weighted=False):
    """Makes labels, risks, integer weights and ids of clusters of different sizes."""
    ids = np.repeat(np.arange(number), rng.integers(1, 9, number))
    size = len(ids)
    z = rng.normal(size=number)[ids] + rng.normal(size=size)
    latent = np.sqrt(correlation) * rng.normal(size=number)[ids]
    latent += np.sqrt(1 - correlation) * rng.normal(size=size)
    labels = (special.ndtr(latent) < special.expit(0.2 + 0.8 * z)).astype(int)
    weights = rng.integers(1, 4, size) if weighted else np.ones(size, int)
    order = rng.permutation(size)
    return labels[order], special.expit(z)[order], weights[order], ids[order]


def other_score(p):
    return np.round(np.sin(7 * p) + 3 * p, 2)


def difference(labels, p, **options):
    return um.auroc_difference(labels, p, other_score(p), **options)


def threshold(labels, p, **options):
    found = um.threshold_at_risk(
        correct=labels, confidences=p, risk=0.45, delta=0.2, **options
    )
    return [found]


def quantile(labels, p, **options):
    scores = np.abs(labels - p)
    return [um.conformal.conformal_quantile(scores, 0.3, **options)]


INTERVALS = {
    "intercept": um.calibration_intercept,
    "slope": um.calibration_slope,
    "ratio": um.observed_expected_ratio,
    "auroc": um.auroc_interval,
    "difference": difference,
}
RESULTS = {
    **INTERVALS,
    "ici": um.integrated_calibration_index,
    "spiegelhalter": um.spiegelhalter_test,
}
FUNCTIONS = {**RESULTS, "threshold": threshold, "quantile": quantile}
all_functions = pytest.mark.parametrize("name", FUNCTIONS)


@all_functions
def test_rows_doubled_inside_their_clusters_change_nothing(rng, name):
    labels, p, _, ids = drawn(rng, 300 if name == "threshold" else NUMBER)
    function, twice = FUNCTIONS[name], np.repeat(np.arange(len(ids)), 2)
    once = function(labels, p, clusters=ids)
    doubled = function(labels[twice], p[twice], clusters=ids[twice])
    np.testing.assert_allclose(doubled, once, rtol=1e-7, atol=1e-9)
    if name in RESULTS:
        weighted = function(labels, p, clusters=ids, sample_weight=np.full(len(p), 2))
        np.testing.assert_allclose(weighted, once, rtol=1e-7, atol=1e-9)
        assert once.num_clusters == doubled.num_clusters == NUMBER
        assert doubled.design_effect == pytest.approx(2 * once.design_effect)
        assert weighted.design_effect == pytest.approx(2 * once.design_effect)


@all_functions
@pytest.mark.parametrize("copies", [1, 3])
def test_clusters_of_one_example_are_independent_examples(rng, name, copies):
    labels, p, _, _ = drawn(rng)
    function = FUNCTIONS[name]
    expected = function(labels, p)
    times = np.repeat(np.arange(len(p)), copies)
    ids = np.array([f"question {i}" for i in times])
    found = function(labels[times], p[times], clusters=ids)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if name in RESULTS:
        assert found.num_clusters == len(p)
        assert found.design_effect == copies
        assert expected.num_clusters is None
        assert expected.design_effect is None


@all_functions
def test_only_equality_of_ids_matters(rng, name):
    labels, p, _, ids = drawn(rng, 300 if name == "threshold" else NUMBER)
    function = FUNCTIONS[name]
    expected = function(labels, p, clusters=ids)
    words = [f"patient {i}" for i in np.argsort(rng.permutation(ids.max() + 1))[ids]]
    if name == "threshold":  # A fixed seed chooses clusters by their codes.
        words = [f"patient {i:03}" for i in ids]
        order = np.argsort(ids, kind="stable")
        labels, p, words = labels[order], p[order], np.array(words)[order]
    np.testing.assert_allclose(function(labels, p, clusters=words), expected)


@all_functions
def test_examples_that_do_not_count_have_no_clusters(rng, name):
    labels, p, _, ids = drawn(rng)
    function = FUNCTIONS[name]
    expected = function(labels, p, clusters=ids)
    if name in RESULTS:
        weights = np.append(np.ones(len(p)), [0, 0])
        more = np.append(labels, [0, 1]), np.append(p, [0.5, 0.5])
        found = function(*more, clusters=np.append(ids, [99, 0]), sample_weight=weights)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert found.num_clusters == NUMBER


@all_functions
def test_few_clusters_give_a_warning_and_one_an_error(rng, name):
    labels, p, _, ids = drawn(rng)
    function = FUNCTIONS[name]
    with pytest.warns(UserWarning, match="There are 3 clusters"):
        function(labels, p, clusters=ids % 3)
    with pytest.raises(ValueError, match="`clusters` must hold at least two ids"):
        function(labels, p, clusters=np.zeros(len(p), int))
    with pytest.raises(ValueError, match="clusters"):
        function(labels, p, clusters=ids[1:])


def variance_of_sums(parts, leverages, model):
    """Returns the variance of the sum of scores of clusters.

    Args:
      parts: for each cluster the scores of its examples, and their weights.
      leverages: for each cluster.
      model: the variance of the sum for independent examples.
    """
    number = len(parts)
    sums = [sum(w * s for s, w in part) for part in parts]
    squares = sum(w * s**2 for part in parts for s, w in part)
    sandwich = sum((s / (1 - h)) ** 2 for s, h in zip(sums, leverages, strict=True))
    sandwich *= (number - 1) / number
    return max(sandwich, sum(s**2 for s in sums) / squares * model)


def logistic_z(a, b, labels, z, weights, ids, of_slope):
    """Returns the z of the score of a, or of b, in logit q = a + b z, by loops."""
    q = special.expit(a + b * z)
    information = weights * q * (1 - q)
    x = np.ones_like(z)
    if of_slope:
        x = z - np.average(z, weights=information)
    parts, leverages = [], []
    for cluster in np.unique(ids):
        rows = np.flatnonzero(ids == cluster)
        parts.append([((labels[i] - q[i]) * x[i], weights[i]) for i in rows])
        leverages.append(sum(information[i] * x[i] ** 2 for i in rows))
    model = sum(leverages)
    leverages = [h / model for h in leverages]
    total = sum(w * s for part in parts for s, w in part)
    return total / math.sqrt(variance_of_sums(parts, leverages, model))


def interval_of(z_at, best, number, level=0.95):
    """Returns the ends at which a z that falls has the quantile of Student's t."""
    t = stats.t(number - 1).ppf((1 + level) / 2)

    def end(sign):
        far = 0.1
        while abs(z_at(best + sign * far)) < t:
            far *= 1.5
        ends = sorted((best, best + sign * far))
        return optimize.brentq(lambda x: z_at(x) + sign * t, *ends, xtol=1e-12)

    return end(-1), best, end(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_and_slope_equal_score_tests_by_loops(rng, weighted):
    labels, p, weights, ids = drawn(rng, weighted=weighted)
    z = special.logit(p)
    options = {"sample_weight": weights, "clusters": ids}

    def z_of_intercept(a):
        return logistic_z(a, 1.0, labels, z, weights, ids, of_slope=False)

    def best_intercept(b):
        def surplus(a):
            return weights @ (special.expit(a + b * z) - labels)

        return optimize.brentq(surplus, -90, 90, xtol=1e-13)

    def z_of_slope(b):
        return logistic_z(best_intercept(b), b, labels, z, weights, ids, of_slope=True)

    found = um.calibration_intercept(labels, p, **options)
    expected = interval_of(z_of_intercept, best_intercept(1.0), NUMBER)
    np.testing.assert_allclose(found[:3], expected, atol=1e-6)
    p_value = 2 * stats.t(NUMBER - 1).sf(abs(z_of_intercept(0.0)))
    assert found.p_value == pytest.approx(p_value, rel=1e-6)

    found = um.calibration_slope(labels, p, **options)
    best = optimize.brentq(z_of_slope, -5, 9, xtol=1e-12)
    expected = interval_of(z_of_slope, best, NUMBER)
    np.testing.assert_allclose(found[:3], expected, atol=1e-6)
    p_value = 2 * stats.t(NUMBER - 1).sf(abs(z_of_slope(1.0)))
    assert found.p_value == pytest.approx(p_value, rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_ratio_equals_score_tests_by_loops(rng, weighted):
    labels, p, weights, ids = drawn(rng, weighted=weighted)
    expected, total = weights @ p, weights.sum()

    def z_at(ratio):
        parts, leverages = [], []
        for cluster in np.unique(ids):
            rows = np.flatnonzero(ids == cluster)
            parts.append([(labels[i] - ratio * p[i], weights[i]) for i in rows])
            leverages.append(weights[rows] @ p[rows] / expected)
        number = min(ratio * expected, total)
        model = number * (1 - number / total)
        sums = sum(w * s for part in parts for s, w in part)
        return sums / math.sqrt(variance_of_sums(parts, leverages, model))

    options = {"sample_weight": weights, "clusters": ids, "level": 0.8}
    found = um.observed_expected_ratio(labels, p, **options)
    best = weights @ labels / expected
    np.testing.assert_allclose(
        found, interval_of(z_at, best, NUMBER, level=0.8), atol=1e-6
    )


def test_design_effect_of_the_slope_is_the_ratio_of_sandwich_and_information(rng):
    labels, p, _, ids = drawn(rng, 200)
    found = um.calibration_slope(labels, p, clusters=ids)
    z = special.logit(p)
    rows = np.stack([z, np.ones_like(z)])
    a = optimize.brentq(
        lambda a: np.sum(special.expit(a + found.estimate * z) - labels), -90, 90
    )
    q = special.expit(found.estimate * z + a)
    inverse = np.linalg.inv((rows * (q * (1 - q))) @ rows.T)
    sums = np.stack(
        [((labels - q) * rows)[:, ids == c].sum(axis=1) for c in range(200)]
    )
    sandwich = inverse @ sums.T @ sums @ inverse
    # They differ by the leverages, which are about 1 / 200.
    effect = sandwich[0, 0] / inverse[0, 0]
    assert found.design_effect == pytest.approx(effect, rel=0.1)


def test_design_effect_of_the_curve_by_its_sandwich(rng):
    """Two risks: the curve goes through both shares of events."""
    ids = np.repeat(np.arange(40), 6)
    p = np.where(np.arange(240) % 3 == 0, 0.2, 0.7)
    labels = (rng.normal(size=40)[ids] + rng.normal(size=240) > 0).astype(int)
    found = um.integrated_calibration_index(labels, p, clusters=ids)
    variances = []
    for risk in (0.2, 0.7):
        at = p == risk
        rate = labels[at].mean()
        residuals = np.where(at, labels - rate, 0.0)
        sums = np.array([residuals[ids == c].sum() for c in range(40)])
        information = at.sum() * rate * (1 - rate)
        sandwich = sums @ sums * 40 / 39 / information**2
        variances.append((at.mean() * sandwich, at.mean() / information))
    clustered, independent = np.sum(variances, axis=0)
    assert found.design_effect == pytest.approx(clustered / independent, rel=1e-6)
    assert tuple(found) == tuple(um.integrated_calibration_index(labels, p))


def obuchowski(labels, scores, weights, ids, others=None):
    """Returns AUROC, variance and its parts for positives and negatives, by loops over
    all pairs; with other scores, of the difference.
    """

    def wins(x, y):
        return float(x > y) + (x == y) / 2

    positive, negative = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    m, n = weights[positive].sum(), weights[negative].sum()

    def win(i, j):
        found = wins(scores[i], scores[j])
        return found if others is None else found - wins(others[i], others[j])

    table = np.array([[win(i, j) for j in negative] for i in positive])
    v10, v01 = table @ weights[negative] / n, weights[positive] @ table / m
    auroc = v10 @ weights[positive] / m
    first, second = [], []
    for c in np.unique(ids):  # Without the cluster the mean differs by the sum of both.
        own, other = ids[positive] == c, ids[negative] == c
        w, v = weights[positive], weights[negative]
        first.append((w * (v10 - auroc))[own].sum() / w[~own].sum())
        second.append((v * (v01 - auroc))[other].sum() / v[~other].sum())
    factor = (len(first) - 1) / len(first)
    first, second = np.array([first, second])
    variance = factor * np.sum((first + second) ** 2)
    return auroc, variance, [factor * np.sum(x**2) for x in (first, second)]


def test_clusters_of_equal_sizes_have_the_variance_of_obuchowskis_paper(rng):
    ids, labels = np.repeat(np.arange(25), 4), np.tile([0, 1, 0, 1], 25)
    scores = rng.normal(size=25)[ids] + rng.normal(size=100) + labels
    wins = (scores[labels == 1][:, None] > scores[labels == 0]).astype(float)
    auroc, m = wins.mean(), 50
    x, y = (
        (wins.mean(axis=axis) - auroc).reshape(25, 2).sum(axis=1) for axis in (1, 0)
    )
    s10, s01, s11 = (25 / (24 * m) * (a @ b) for a, b in ((x, x), (y, y), (x, y)))
    found = um.auroc_interval(labels, scores, clusters=ids)
    variance = s10 / m + s01 / m + 2 * s11 / m
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def effective(weights, ids):
    sums = np.array([weights[ids == c].sum() for c in np.unique(ids)])
    return sums.sum() ** 2 / (sums @ sums)


@pytest.mark.parametrize("weighted", [False, True])
def test_auroc_has_obuchowskis_variance(rng, weighted):
    labels, p, weights, ids = drawn(rng, weighted=weighted)
    scores = np.round(p, 1)
    found = um.auroc_interval(labels, scores, sample_weight=weights, clusters=ids)
    auroc, variance, _ = obuchowski(labels, scores, weights, ids)
    assert found.estimate == pytest.approx(auroc)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    # The interval is that of so many independent examples.
    effect = found.design_effect
    m, n = (weights[labels == k].sum() / effect for k in (1, 0))
    s = (1 - auroc) / (2 - auroc) + auroc / (1 + auroc)
    hanley = (1 + ((m + n) / 2 - 1) * s) / (m * n)
    own, wrong = variance / auroc / (1 - auroc), min(m, n) * min(auroc, 1 - auroc)
    k = min(effective(weights[labels == k], ids[labels == k]) for k in (0, 1))
    inverse = (1 + 2 / k) * max(own, (wrong * own + 10 * hanley) / (wrong + 10))
    share = stats.t(NUMBER - 1).ppf(0.975) ** 2 * min(inverse, 1 / k)
    roots = np.roots([1 + share, -2 * auroc - share, auroc**2])
    np.testing.assert_allclose(found, (roots.min(), auroc, roots.max()), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_difference_of_aurocs_has_obuchowskis_variance(rng, weighted):
    labels, p, weights, ids = drawn(rng, weighted=weighted)
    first, second = np.round(p, 1), other_score(p)
    options = {"sample_weight": weights, "clusters": ids}
    found = um.auroc_difference(labels, first, second, **options)
    mean, variance, parts = obuchowski(labels, first, weights, ids, second)
    assert found.estimate == pytest.approx(mean)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    sizes = [effective(weights[labels == k], ids[labels == k]) for k in (1, 0)]
    freedom = sum(parts) ** 2 / sum(
        part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True)
    )
    t = stats.t(min(freedom, NUMBER - 1))
    error = (found.upper - found.estimate) / t.ppf(0.975)
    assert error >= math.sqrt(variance) * (1 - 1e-9)
    assert found.p_value == pytest.approx(2 * t.sf(abs(mean) / error))


def test_all_positives_in_one_cluster_leave_auroc_uncertain():
    """One independent positive example says next to nothing."""
    ids = np.concatenate([np.zeros(20, int), np.arange(1, 31)])
    labels = (ids == 0).astype(int)
    scores = labels + np.sin(np.arange(50))
    found = um.auroc_interval(labels, scores, clusters=ids)
    assert found.upper - found.lower > 0.5
    assert um.auroc_interval(labels, scores).lower > found.lower
    lower, _, upper, p_value = difference(labels, scores, clusters=ids)
    assert upper - lower > 0.3
    assert p_value > 0.05


def test_separated_clusters_count_as_one_example_each():
    """No placement differs: the interval is that of one example from each cluster, with
    the quantile of Student's t.
    """
    ids = np.repeat(np.arange(40), 5)
    labels = (ids < 20).astype(int)
    scores = labels + np.arange(200) / 1000
    found = um.auroc_interval(labels, scores, clusters=ids)
    level = 1 - 2 * stats.norm.sf(stats.t(39).ppf(0.975))
    once = um.auroc_interval(labels[::5], scores[::5], level=level)
    np.testing.assert_allclose(found, once)


def test_spiegelhalter_by_loops(rng):
    labels, p, weights, ids = drawn(rng, 200, weighted=True)
    found = um.spiegelhalter_test(labels, p, sample_weight=weights, clusters=ids)
    parts = [
        [((labels[i] - p[i]) * (1 - 2 * p[i]), weights[i]) for i in rows]
        for rows in (np.flatnonzero(ids == c) for c in range(200))
    ]
    model = np.sum(weights * (1 - 2 * p) ** 2 * p * (1 - p))
    variance = variance_of_sums(parts, [1 / 200] * 200, model)
    total = sum(w * s for part in parts for s, w in part)
    assert found.z == pytest.approx(total / math.sqrt(variance))
    assert found.p_value == pytest.approx(2 * stats.t(199).sf(abs(found.z)))
    assert found.design_effect == pytest.approx(variance / model)


def test_spiegelhalter_of_few_surprises_counts_clusters(rng):
    """At confidence .98 in 50 clusters one cluster is expected to be surprised. Right
    decisions alone are then no evidence, and one wrong cluster is none either.
    """
    ids, p = np.repeat(np.arange(50), 10), np.full(500, 0.98)
    for wrong in (ids < 0, ids == 3):
        labels = (~wrong).astype(int)
        together = um.spiegelhalter_test(labels, p, clusters=ids)
        assert together.p_value > 0.1
    mixed = rng.permutation(ids)  # Now the ten wrong decisions have ten clusters.
    assert um.spiegelhalter_test(labels, p, clusters=mixed).p_value > 0.1


def test_spiegelhalter_in_clusters_needs_uncertain_scores():
    with pytest.raises(ValueError, match="a score other than 0, 1/2 and 1"):
        um.spiegelhalter_test([0, 1] * 30, [0.5] * 60, clusters=np.arange(60) // 3)


@pytest.mark.parametrize("risk", [0.3, 0.45])
def test_threshold_equals_bets_by_loops(rng, risk):
    labels, p, _, ids = drawn(rng, 300)
    p = np.round(p, 2)  # Equal scores.
    found = um.threshold_at_risk(
        correct=labels, confidences=p, risk=risk, delta=0.2, clusters=ids
    )
    number = 300
    first = np.random.default_rng(0).permutation(number)[:30]
    for_starts = np.isin(ids, first)
    others = p[~for_starts]
    sizes = [np.sum(ids == c) for c in range(number) if c not in first]
    num_bets = 1 + math.ceil(math.log2(270) / 2)
    members = [np.flatnonzero((ids == c) & ~for_starts) for c in range(number)]

    def passes(least):
        capital = 0.0
        for j in range(num_bets):
            bet = 2.0**-j / ((1 - risk) * max(sizes)) * (1 - 2.0**-20)
            product = 1.0
            for rows in members:
                decided = rows[p[rows] >= least]
                errors = np.sum(labels[decided] == 0)
                product *= 1 + bet * (risk * len(decided) - errors)
            capital += product * 2.0 ** -(j + 1)
        return capital >= 4 / 0.2

    distinct = np.unique(others)[::-1]
    tested = {score: passes(score) for score in distinct}
    ordered, best = np.sort(p[for_starts])[::-1], math.inf
    for share in (1 / 8, 1 / 4, 1 / 2, 3 / 4):
        start = ordered[math.ceil(len(ordered) * share) - 1]
        for place in range(np.sum(distinct >= start) - 1, len(distinct)):
            if not tested[distinct[place]]:
                break
            after = distinct[place + 1] if place + 1 < len(distinct) else -math.inf
            best = min(best, np.nextafter(after, np.inf) if after > -1 else -math.inf)
    assert found == best


def test_threshold_without_errors_decides_all():
    ids = np.repeat(np.arange(200), 3)
    correct, confidences = np.ones(600), np.linspace(0, 1, 600)
    options = {"risk": 0.1, "delta": 0.05, "clusters": ids}
    answers = {"correct": correct, "confidences": confidences}
    assert um.threshold_at_risk(**answers, **options) == -math.inf
    assert um.threshold_at_risk(np.ones(600), np.full(600, 0.9), **options) == 0.0
    assert um.threshold_at_risk(**answers, **{**options, "risk": 1.0}) == -math.inf
    # No bet can be won against a risk of 0.
    assert um.threshold_at_risk(**answers, **{**options, "risk": 0.0}) == math.inf


def test_threshold_takes_clusters_with_delta_only():
    with pytest.raises(ValueError, match="`clusters` must be None without `delta`"):
        um.threshold_at_risk(
            correct=[1, 0], confidences=[0.5, 0.6], risk=0.1, clusters=[1, 2]
        )


def exact_quantile(scores, ids, alpha):
    """Returns the hierarchical quantile in exact arithmetic."""
    shares = {c: fractions.Fraction(1, ids.count(c)) for c in ids}
    alpha = fractions.Fraction(round(alpha, 6)).limit_denominator(1000)
    needed, total = (1 - alpha) * (len(shares) + 1), fractions.Fraction(0)
    for i in np.argsort(scores, kind="stable"):
        total += shares[ids[i]]
        if total >= needed:
            return scores[i]
    return math.inf


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.3, 1 - 0.45, 0.9])
@pytest.mark.parametrize("ties", [False, True])
def test_hierarchical_quantile_has_exact_masses(rng, alpha, ties, monkeypatch):
    # All others have a sample.
    for name, few in (("_FEW", 8), ("_SAMPLED", 6), ("_AROUND", 1)):
        monkeypatch.setattr(conformal_quantiles, name, few)
    for number in (2, 3, 9, 20, 39, 50):
        ids = np.repeat(np.arange(number), rng.integers(1, 8, number))
        scores = rng.permutation(len(ids)).astype(float)
        if ties:
            scores = np.where(scores % 5 == 0, np.inf, scores % 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = um.conformal.conformal_quantile(scores, alpha, clusters=ids)
        assert found == exact_quantile(scores, ids.tolist(), alpha)


@pytest.mark.parametrize("sizes", ["equal", "unequal"])
@pytest.mark.parametrize(
    "values", ["distinct", "ascending", "rounded", "equal", "two", "infinite"]
)
def test_quantile_by_samples_is_that_by_sorting(rng, sizes, values, monkeypatch):
    n = 50_000
    scores = {
        "distinct": rng.normal(size=n),
        "ascending": np.arange(n) / n,
        "rounded": np.round(rng.normal(size=n), 1),
        "equal": np.zeros(n),
        "two": rng.integers(0, 2, n).astype(float),
        "infinite": np.where(rng.random(n) < 0.2, np.inf, rng.normal(size=n)),
    }[values]
    ids = np.repeat(np.arange(n // 10), 10)
    if sizes == "unequal":
        ids = np.sqrt(rng.random(n) * n).astype(int)
    alphas = 0.9, 0.5, 0.1, 0.01, 1e-5
    quantile = functools.partial(um.conformal.conformal_quantile, scores, clusters=ids)
    found = [quantile(alpha=alpha) for alpha in alphas]
    monkeypatch.setattr(conformal_quantiles, "_FEW", n)
    assert found == [quantile(alpha=alpha) for alpha in alphas]


def test_conformal_classes_take_the_quantile_of_their_scores(rng):
    labels, p, _, ids = drawn(rng)
    options = {"clusters": ids}
    model = um.conformal.ConformalClassifier(alpha=0.2).fit(labels, p, **options)
    scores = np.where(labels == 1, 1 - p, p)
    quantile = um.conformal.conformal_quantile(scores, 0.2, **options)
    assert model.quantile == pytest.approx(quantile)
    assert model.num_clusters == NUMBER
    assert model.fit(labels, p).num_clusters is None

    model = um.conformal.ConformalRegressor(alpha=0.2).fit(labels, p, **options)
    quantile = um.conformal.conformal_quantile(np.abs(labels - p), 0.2, **options)
    assert model.quantile == pytest.approx(quantile)
    # Each group has the clusters that it has examples of.
    groups = (rng.random(len(p)) < 0.5).astype(int)
    model.fit(labels, p, groups=groups, **options)
    for group, found in model.quantile.items():
        own = groups == group
        expected = exact_quantile(np.abs(labels - p)[own], ids[own].tolist(), 0.2)
        assert found == expected
    with pytest.raises(ValueError, match="`sample_weight` must be None with `clust"):
        model.fit(labels, p, sample_weight=np.ones(len(p)), **options)
    with pytest.raises(ValueError, match="`sample_weight` must be None with `clust"):
        um.conformal.conformal_quantile(p, 0.2, np.ones(len(p)), 1.0, **options)


def test_one_label_has_an_open_interval_as_wide_as_its_clusters_allow(rng):
    """All labels of a cluster may be the same by dependence."""
    _, p, _, ids = drawn(rng)
    for label in (0, 1):
        labels = np.full(len(p), label)
        together = um.calibration_intercept(labels, p, clusters=ids)
        apart = um.calibration_intercept(labels, p)
        assert together.estimate == apart.estimate
        assert math.isinf(together.estimate)
        for found in (together, um.observed_expected_ratio(labels, p, clusters=ids)):
            assert found.lower <= found.estimate <= found.upper
    # Events: the risks may be lower than those of independent examples tell.
    assert together.lower < apart.lower < math.inf
    ratio = um.observed_expected_ratio(np.zeros(len(p), int), p, clusters=ids)
    assert ratio.upper > um.observed_expected_ratio(np.zeros(len(p), int), p).upper


def test_separated_labels_have_an_infinite_slope(rng):
    _, p, _, ids = drawn(rng)
    for labels, estimate in ((p > 0.5, math.inf), (p < 0.5, -math.inf)):
        found = um.calibration_slope(labels.astype(int), p, clusters=ids)
        assert found.estimate == estimate
        assert found.lower <= estimate <= found.upper
        assert not math.isinf(found.lower if estimate > 0 else found.upper)
        assert found.p_value < 1


def test_clusters_whose_sums_agree_exactly_do_not_fail():
    """Each cluster has as many events as it expects: nothing varies between them."""
    labels, ids = np.tile([1, 0], 40), np.repeat(np.arange(40), 2)
    p = np.where(np.arange(80) % 4 < 2, 0.5, 0.25)
    for function in (um.calibration_intercept, um.observed_expected_ratio):
        found = function(labels, np.full(80, 0.5), clusters=ids)
        assert found.lower == pytest.approx(found.estimate, abs=1e-3)
        assert found.upper == pytest.approx(found.estimate, abs=1e-3)
    for function in INTERVALS.values():
        assert not np.any(np.isnan(function(labels, p + labels / 100, clusters=ids)))


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_intervals_of_clusters_hold_the_truth_and_others_do_not(rng, correlation):
    """50 questions asked 10 times, with risks of their own; 0 and 1 are the truth."""
    num_draws, held, without = 150, np.zeros(4), np.zeros(4)
    ids = np.repeat(np.arange(50), 10)
    for _ in range(num_draws):
        z = np.repeat(rng.normal(-0.5, 1, 50), 10)
        latent = np.sqrt(correlation) * rng.normal(size=50)[ids]
        latent += np.sqrt(1 - correlation) * rng.normal(size=500)
        p = special.expit(z)
        labels = (special.ndtr(latent) < p).astype(int)
        for counts, given in ((held, {"clusters": ids}), (without, {})):
            results = (
                um.calibration_intercept(labels, p, **given),
                um.calibration_slope(labels, p, **given),
                um.observed_expected_ratio(labels, p, **given),
            )
            for k, (interval, truth) in enumerate(zip(results, (0, 1, 1), strict=True)):
                counts[k] += interval.lower <= truth <= interval.upper
            counts[3] += um.spiegelhalter_test(labels, p, **given).p_value > 0.05
    error = Z * math.sqrt(0.95 * 0.05 / num_draws)
    assert np.all(held / num_draws > 0.93 - error)
    if correlation:
        assert np.all(without / num_draws < 0.8)
