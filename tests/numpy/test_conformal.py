"""Conformal prediction against naive references, exact ranks and coverage."""

import fractions
import math

import numpy as np
import pytest
import scipy.stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.conformal import classifier

conformal = um.conformal

FEW_ARE_ALLOWED = pytest.mark.filterwarnings("ignore:At least .* held-out examples")
SCORES = [("lac", False), ("aps", False), ("aps", True), ("raps", False)]


def class_scores(p, shares, score, penalty, k_reg):
    """Returns the scores of all classes by their definition, one by one."""
    scores = np.zeros(p.shape)
    for (i, k), value in np.ndenumerate(p):
        at_least = np.sum(p[i] >= value)
        above, equal = p[i][p[i] > value].sum(), p[i][p[i] == value].sum()
        scores[i, k] = {
            "lac": 1 - value,
            "aps": above + shares[i] * equal,
            "raps": above + shares[i] * equal + penalty * max(0, at_least - k_reg),
        }[score]
        if score != "lac" and value == 0:
            scores[i, k] = np.inf
    return scores


def test_quantile_has_the_rank_of_exact_arithmetic(rng):
    for n in (*range(1, 60), 99, 999, 9999):
        scores = rng.permutation(n).astype(float)
        for alpha in (0.01, 0.05, 0.1, 1 - 0.9, 0.25, 0.45, 1 - 0.45, 0.9):
            exact = (n + 1) * (
                1 - fractions.Fraction(round(alpha, 6)).limit_denominator(100)
            )
            k = math.ceil(exact)
            expected = k - 1 if k <= n else math.inf
            assert conformal.conformal_quantile(scores, alpha) == expected, (n, alpha)
    with pytest.raises(ValueError, match=r"`scores` must be numbers.*nan at \[1\]"):
        conformal.conformal_quantile([0.0, math.nan], 0.1)


@pytest.mark.parametrize("rows", [60, 7])  # In a block.
@pytest.mark.parametrize(("score", "randomized"), SCORES)
def test_sets_equal_a_naive_loop(score, randomized, rows, rng, monkeypatch):
    monkeypatch.setattr(classifier, "_BLOCK", 5 * rows)
    p = rng.multinomial(8, np.full(5, 0.2), 60) / 8  # With ties, and exact sums.
    y = rng.integers(0, 5, 60)
    given = {"penalty": 0.25, "k_reg": 2}
    model = conformal.ConformalClassifier(score, 0.2, randomized, **given)
    found = model.fit(y, p, seed=1).predict(p, seed=2)
    shares = [
        np.random.default_rng(seed).random(60) if randomized else np.ones(60)
        for seed in (1, 2)
    ]
    scores = class_scores(p, shares[0], score, **given)[np.arange(60), y]
    limit = np.sort(scores)[math.ceil(61 * 0.8) - 1]
    assert model.quantile == pytest.approx(limit, abs=1e-12)
    new = class_scores(p, shares[1], score, **given)
    np.testing.assert_array_equal(found, new <= model.quantile)


def excess(rng, n, alpha, misses):
    """Returns how many standard errors the coverage is inside its bounds.

    The bounds are 1 - alpha and 1 - alpha + 1 / (n + 1). `misses` draws one data set
    and returns its share of misses.
    """
    shares = np.array([misses() for _ in range(150)])
    error = max(np.std(shares), 1e-3) / np.sqrt(len(shares))
    coverage = 1 - np.mean(shares)
    return (coverage - (1 - alpha)) / error, (
        1 - alpha + 1 / (n + 1) - coverage
    ) / error


@FEW_ARE_ALLOWED
@pytest.mark.parametrize(("score", "randomized"), SCORES)
@pytest.mark.parametrize(
    ("n", "classes", "alpha"),
    [
        (20, 2, 0.5),
        (50, 10, 0.1),
        *(
            pytest.param(n, classes, alpha, marks=pytest.mark.exhaustive)
            for n in (20, 200, 2000)
            for classes in (2, 10, 1000)
            for alpha in (0.01, 0.1, 0.5)
        ),
    ],
)
def test_sets_of_new_examples_have_their_coverage(
    score, randomized, n, classes, alpha, rng
):
    def misses():
        p = rng.dirichlet(np.full(classes, 0.3), n + 300)
        rows = np.cumsum(np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True), axis=1)
        y = np.sum(rng.random((n + 300, 1)) > rows[:, :-1], axis=1)
        model = conformal.ConformalClassifier(score, alpha, randomized)
        sets = model.fit(y[:n], p[:n], seed=rng).predict(p[n:], seed=rng)
        return 1 - conformal.coverage(y[n:], sets)

    above, below = excess(rng, n, alpha, misses)
    assert above > -5
    ties = classes == 1000 or (score != "lac" and not randomized)
    assert ties or below > -5


@pytest.mark.parametrize("score", ["absolute", "normalized", "cqr"])
def test_intervals_have_their_coverage_and_equal_the_definition(score, rng):
    n, alpha = 39, 0.2

    def misses():
        x = rng.uniform(0.5, 2, n + 300)
        y = x * rng.standard_t(3, n + 300)
        forecasts = {
            "absolute": {"means": np.zeros_like(x)},
            "normalized": {"means": np.zeros_like(x), "stddevs": x},
            "cqr": {"lower": -x, "upper": 0.5 * x},
        }[score]
        first = {name: value[:n] for name, value in forecasts.items()}
        rest = {name: value[n:] for name, value in forecasts.items()}
        model = conformal.ConformalRegressor(score, alpha).fit(y[:n], **first)
        lower, upper = model.predict(**rest)
        naive = {
            "absolute": np.abs(y),
            "normalized": np.abs(y) / x,
            "cqr": np.maximum(-x - y, y - 0.5 * x),
        }[score]
        q = np.sort(naive[:n])[31]  # ceil(40 * 0.8) - 1
        inside = naive[n:] <= q
        assert np.mean((lower <= y[n:]) & (y[n:] <= upper)) == np.mean(inside)
        return 1 - conformal.coverage(y[n:], (lower, upper))

    above, below = excess(rng, n, alpha, misses)
    assert above > -5
    assert below > -5


@FEW_ARE_ALLOWED
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", ["absolute", "normalized", "cqr"])
def test_intervals_hold_exactly_the_targets_with_a_score_up_to_the_quantile(
    score, dtype, rng
):
    for _ in range(200):
        size = 10.0 ** rng.integers(-2, 4)
        mean = (size * rng.random(19)).round(1).astype(dtype)
        width = (size * rng.random(19)).round(1).astype(dtype) + dtype(0.1)
        y = rng.choice(np.array([0.2, 0.4, size], dtype), 19, p=[0.9, 0.05, 0.05])
        given = {
            "absolute": (mean,),
            "normalized": (mean, width),
            "cqr": (mean - width, mean + width),
        }[score]
        y64, first, last = (a.astype(np.float64) for a in (y, given[0], given[-1]))
        if score == "cqr":
            scores = np.maximum(first - y64, y64 - last)
        else:
            scores = np.abs(y64 - first) / (last if score == "normalized" else 1)
        groups = rng.integers(0, 2, 19)
        for names in (None, groups):
            model = conformal.ConformalRegressor(score, 0.2)
            model.fit(y, *given, groups=names)
            lower, upper = model.predict(*given, groups=names)
            q = model.quantile
            limits = q if names is None else np.array([q[g] for g in groups.tolist()])
            inside = (lower <= y64) & (y64 <= upper)
            assert inside[scores <= limits].all()
            assert not inside[scores > limits + 1e-12 * (size + np.abs(limits))].any()


def test_an_interval_holds_the_target_that_determined_its_width():
    model = conformal.ConformalRegressor().fit([0.2] * 50, [100.0] * 50)
    lower, upper = model.predict([100.0] * 50)
    assert conformal.coverage([0.2] * 50, (lower, upper)) == 1
    assert lower[0] == pytest.approx(0.2, abs=1e-13)


def test_coverage_counts_targets_at_the_ends_of_intervals():
    sets = np.array([0.0, 0.0, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])
    targets = [0.0, 1.0, 2.0, -1.0]
    assert conformal.coverage(targets, sets) == 0.5
    assert conformal.coverage(targets, sets, sample_weight=[3, 1, 1, 0]) == 0.8


def test_an_interval_whose_ends_cross_has_width_0():
    lower, upper = np.array([0.0, 2.0, 1.0]), np.array([3.0, 1.5, 1.0])
    assert conformal.mean_set_size((lower, upper)) == 1
    assert conformal.mean_set_size((lower, upper), sample_weight=[1, 1, 0]) == 1.5


def test_groups_have_quantiles_of_their_own(rng):
    p, y = rng.dirichlet(np.ones(4), 90), rng.integers(0, 4, 90)
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, 90)]
    model = conformal.ConformalClassifier(alpha=0.3).fit(y, p, groups=groups)
    for name in "abc":
        alone = conformal.ConformalClassifier(alpha=0.3)
        alone.fit(y[groups == name], p[groups == name])
        assert model.quantile[name] == alone.quantile
        np.testing.assert_array_equal(
            model.predict(p[:5], groups=[name] * 5), alone.predict(p[:5])
        )
    # Unknown groups, before, between and after the known ones.
    assert model.predict(p[:5], groups=["", "A", "aa", "bb", "d"]).all()
    with pytest.raises(ValueError, match=r"`groups` must be given"):
        model.predict(p)


@pytest.mark.parametrize(("score", "randomized"), SCORES)
def test_each_class_has_the_quantile_of_its_own_examples(score, randomized, rng):
    p, y = rng.dirichlet(np.ones(4), 200), rng.integers(0, 3, 200)  # No class 3.
    names = np.array(["cat", "ant", "dog", "bee"])
    model = conformal.ConformalClassifier(score, 0.3, randomized)
    with pytest.warns(UserWarning, match=r"At least 3 .* alpha = 0.3 .*: 3 has 0\.$"):
        model.fit(y, p, groups="label", seed=1)
    shares = np.random.default_rng(1).random(200) if randomized else np.ones(200)
    scores = class_scores(p, shares, score, 0.01, 5)
    limits = [np.inf] * 4
    for k in range(3):
        of_class = np.sort(scores[y == k, k])
        limits[k] = of_class[math.ceil((len(of_class) + 1) * 0.7) - 1]
    assert list(model.quantile) == [0, 1, 2, 3]
    np.testing.assert_allclose(list(model.quantile.values()), limits, rtol=1e-12)
    new = rng.dirichlet(np.ones(4), (5, 10))
    found = model.predict(new, seed=2)
    shares = np.random.default_rng(2).random(50) if randomized else np.ones(50)
    expected = class_scores(new.reshape(50, 4), shares, score, 0.01, 5) <= limits
    np.testing.assert_array_equal(found, expected.reshape(5, 10, 4))
    np.testing.assert_array_equal(model.predict(new, groups="label", seed=2), found)

    named = conformal.ConformalClassifier(score, 0.3, randomized)
    with pytest.warns(UserWarning, match="bee has 0"):
        named.fit(names[y], p, groups="label", seed=1, class_names=names)
    assert named.quantile == dict(
        zip(names.tolist(), model.quantile.values(), strict=True)
    )
    np.testing.assert_array_equal(named.predict(new, seed=2), found)


def test_weights_and_clusters_of_each_class(rng):
    p, y = rng.dirichlet(np.ones(3), 300), rng.integers(0, 3, 300)
    weights, new_weights = rng.random(300), rng.random(20)
    ids = rng.integers(0, 60, 300)
    new = rng.dirichlet(np.ones(3), 20)
    weighted = conformal.ConformalClassifier(alpha=0.2)
    weighted.fit(y, p, groups="label", sample_weight=weights)
    found = weighted.predict(new, test_weight=new_weights)
    clustered = conformal.ConformalClassifier(alpha=0.2)
    clustered.fit(y, p, groups="label", clusters=ids)
    for k in range(3):
        of_class, scores = y == k, 1 - p[y == k, k]
        limits = conformal.conformal_quantile(
            scores, 0.2, weights[of_class], new_weights
        )
        np.testing.assert_array_equal(found[:, k], 1 - new[:, k] <= limits)
        limit = conformal.conformal_quantile(scores, 0.2, clusters=ids[of_class])
        assert clustered.quantile[k] == limit


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 1 - 0.9, 0.25, 0.3, 0.5, 0.9])
def test_too_few_examples_for_alpha_give_a_warning(alpha):
    exact = fractions.Fraction(round(alpha, 6)).limit_denominator(100)
    needed = math.ceil((1 - exact) / exact)
    given = [0] * needed, [[0.5, 0.5]] * needed
    model = conformal.ConformalClassifier(alpha=alpha).fit(*given)
    assert model.quantile == 0.5
    if needed > 1:
        with pytest.warns(UserWarning, match=f"At least {needed} .*there are"):
            model.fit(given[0][1:], given[1][1:])
        assert model.quantile == math.inf
        with pytest.warns(UserWarning, match="Every set holds everything"):
            conformal.ConformalRegressor(alpha=alpha).fit(
                [0] * (needed - 1), given[0][1:]
            )


@pytest.mark.parametrize(("score", "randomized"), SCORES[1:])
def test_a_class_of_probability_0_is_not_in_sets(score, randomized, rng):
    """As the forecasts of a forest of few trees, of which most are certain."""
    p = rng.multinomial(10, rng.dirichlet(np.full(3, 0.1), 300)) / 10
    y = np.array([rng.choice(3, p=row) for row in p])
    model = conformal.ConformalClassifier(score, 0.1, randomized, k_reg=1)
    sets = model.fit(y[:150], p[:150], seed=1).predict(p[150:], seed=2)
    assert not sets[p[150:] == 0].any()
    # If more than alpha of the labels are impossible, nothing is out of question.
    y = np.argmin(p, axis=1)
    assert model.fit(y[:150], p[:150], seed=1).quantile == math.inf
    assert model.predict(p[150:], seed=2).all()


def test_names_of_classes_must_be_those_of_the_labels():
    p, names = [[0.5, 0.5]] * 12, ["a", "b"]
    fit = conformal.ConformalClassifier().fit
    assert fit(["a", "b"] * 6, p, class_names=names).is_fitted
    assert fit([7, 3] * 6, p, class_names=[3, 7]).is_fitted
    for labels, wrong, message in (
        (["a", "c"] * 6, names, r"`labels` must be names in `class_names`.*'c'"),
        ([0, 1] * 6, names, "`labels` must be names in `class_names`.*int64"),
        ([None, "a"] * 6, names, "`labels` must hold a name for each example"),
        (["a", "b"] * 6, ["a", "b", "c"], "`class_names` must hold a name for each"),
        (["a", "b"] * 6, ["a", "a"], "`class_names` must hold distinct names"),
        (["a", "b"] * 6, "ab", "`class_names` must be the names of two or more"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(labels, p, class_names=wrong)
    model = fit([0, 1] * 6, p)
    with pytest.raises(ValueError, match='`groups` must be other than "label"'):
        model.predict(p, groups="label")
    model = fit([0, 1] * 12, p * 2, groups="label")
    with pytest.raises(ValueError, match='`groups` must be None or "label"'):
        model.predict(p, groups=[0, 1] * 6)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("score", "randomized"), SCORES)
def test_sets_hold_the_label_of_each_class_often_enough(score, randomized, ties, rng):
    """Classes of 4, 16 and 180 of 200 examples; the forecasts are wrong."""
    alpha, counts = 0.2, np.array([4, 16, 180])
    y = np.repeat(np.arange(3), counts)
    new = np.repeat(np.arange(3), 100)

    def forecasts(labels):
        p = rng.dirichlet([0.2, 0.5, 2.0], len(labels))
        p = 0.7 * p + 0.3 * np.eye(3)[labels] * rng.random((len(labels), 1))
        p /= p.sum(axis=1, keepdims=True)
        return rng.multinomial(4, p) / 4 if ties else p

    missed = []
    for _ in range(300):
        model = conformal.ConformalClassifier(score, alpha, randomized)
        model.fit(y, forecasts(y), groups="label", seed=rng)
        sets = model.predict(forecasts(new), seed=rng)
        missed.append(~sets[np.arange(300), new].reshape(3, 100).T)
    shares = np.mean(missed, axis=1)  # Of each data set and class.
    errors = np.maximum(shares.std(axis=0), 1e-3) / np.sqrt(len(shares))
    assert np.all(shares.mean(axis=0) <= alpha + 5 * errors)
    if not ties and (score == "lac" or randomized):
        least = alpha - 1 / (counts + 1)
        assert np.all(shares.mean(axis=0) >= least - 5 * errors)


def test_measures_of_sets_equal_their_definitions(rng):
    y, sets = rng.integers(0, 3, 200), rng.random((200, 3)) < 0.6
    weights = rng.integers(0, 3, 200)
    again = np.repeat(np.arange(200), weights)
    right = sets[np.arange(200), y]
    sizes = sets.sum(axis=1)
    gap = np.mean([abs(right[y == k].mean() - 0.9) for k in range(3)])
    worst = min(right[sizes == size].mean() for size in np.unique(sizes))
    for function, expected, arguments in (
        (conformal.coverage, right.mean(), (y, sets)),
        (conformal.mean_set_size, sizes.mean(), (sets,)),
        (conformal.class_coverage_gap, gap, (y, sets, 0.1)),
        (conformal.size_stratified_coverage, worst, (y, sets)),
    ):
        assert function(*arguments) == pytest.approx(expected, abs=1e-12)
        alike = [a[again] if isinstance(a, np.ndarray) else a for a in arguments]
        weighted = function(*arguments, sample_weight=weights)
        assert weighted == pytest.approx(function(*alike), abs=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: conformal.ConformalRegressor("cqr").fit([1.0], [1.0]),
        lambda: conformal.ConformalRegressor().fit([1.0], [1.0], stddevs=[1.0]),
        lambda: conformal.ConformalRegressor("normalized").fit([1.0], [1.0], [0.0]),
        lambda: conformal.ConformalRegressor().predict([1.0]),
        lambda: conformal.ConformalClassifier("lac", 0.1, randomized=True),
        lambda: conformal.ConformalClassifier("raps", penalty=-1.0),
        lambda: conformal.ConformalClassifier(alpha=1.0),
        lambda: conformal.ConformalClassifier().predict([[0.5, 0.5]]),
        lambda: conformal.coverage([0], [[0.5, 0.0]]),
        lambda: conformal.coverage([2], [[True, False]]),
        lambda: um.threshold_at_risk([1], [0.5], delta=0.1, sample_weight=[1.0]),
    ],
)
def test_errors_show_what_was_received(wrong):
    with pytest.raises(ValueError, match="Received"):
        wrong()


def test_threshold_is_the_lowest_whose_risk_is_allowed(rng):
    for _ in range(20):
        confidences, correct = rng.integers(0, 8, 40) / 8, rng.random(40) < 0.7
        kept = [
            t
            for t in np.unique(confidences)
            if not correct[confidences >= t].mean() < 0.75
        ]
        found = um.threshold_at_risk(
            risk=0.25, confidences=confidences, correct=correct
        )
        assert found == min(kept, default=math.inf)


def test_threshold_allows_for_the_rounding_of_the_risk():
    correct = np.arange(10) > 0  # Only the least confident of ten is wrong.
    for risk in (0.1, 1 - 0.9):  # By rounding, the second is below 0.1.
        given = {"correct": correct, "confidences": np.arange(1, 11) / 16}
        assert um.threshold_at_risk(risk=risk, **given) == 1 / 16


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize(("n", "risk"), [(5, 0.5), (13, 0.5), (13, 0.3), (200, 0.15)])
def test_threshold_with_a_guarantee_equals_a_loop(n, risk, delta, rng):
    for _ in range(20):
        confidences = rng.permutation(n) / n
        correct = rng.random(n) < 0.8 + 0.2 * confidences
        right = correct[np.argsort(-confidences)]
        best = 0
        for start in (1 / 8, 1 / 4, 1 / 2, 3 / 4):
            for s in range(max(1, math.ceil(n * start)), n + 1):
                bound = scipy.stats.binom.cdf(np.sum(~right[:s]), s, risk)
                if bound > delta / 4:
                    break
                best = max(best, s)
        found = um.threshold_at_risk(
            risk=risk, delta=delta, confidences=confidences, correct=correct
        )
        assert np.sum(confidences >= found) == best
        assert (found == -math.inf) == (best == n)


def test_threshold_of_five_right_answers():
    """0.5^4 is above delta / 4, and no test starts later than at four examples."""
    given = {"correct": [1] * 5, "confidences": [1.0, 0.8, 0.6, 0.4, 0.2]}
    assert um.threshold_at_risk(risk=0.5, delta=0.2, **given) == math.inf
    # At 0.26 the test of four passes, and so does that of all five.
    assert um.threshold_at_risk(risk=0.5, delta=0.26, **given) == -math.inf


@pytest.mark.parametrize("levels", [None, 5, 1])
def test_threshold_keeps_its_guarantee(levels, rng):
    risk, delta, runs = 0.15, 0.2, 400

    def confident(n):
        drawn = rng.random(n)
        return drawn if levels is None else np.ceil(drawn * levels) / levels

    # Examples of a confidence above 1/2 have a risk of 0.151, more than is allowed.
    broken = found = 0
    for _ in range(runs):
        confidences = confident(150)
        wrong = rng.random(150) < np.where(confidences > 0.5, 0.151, 0.10)
        if levels == 1:
            wrong = rng.random(150) < 0.151
        t = um.threshold_at_risk(
            risk=risk, delta=delta, confidences=confidences, correct=~wrong
        )
        broken += (t > 0.5 and t < math.inf) or (levels == 1 and t < math.inf)
        found += t < math.inf
    assert scipy.stats.binom.sf(broken - 1, runs, delta) > 1e-6
    confidences = confident(3000)
    correct = rng.random(3000) < confidences**0.1
    t = um.threshold_at_risk(
        risk=risk, delta=delta, confidences=confidences, correct=correct
    )
    assert t < 0.9  # Where the risk is low, a threshold is found.
