"""Conformal prediction with weights, for losses, and for streams."""

import math
from fractions import Fraction

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from studies import adaptive_errors, risk_control, weighted_coverage
from uncertainty_metrics.numpy.conformal import classifier

conformal = um.conformal

ALPHAS = (0.01, 0.05, 0.1, 1 - 0.9, 0.25, 0.45, 1 - 0.45, 0.9)
LEVELS = [Fraction(round(alpha, 6)).limit_denominator(100) for alpha in ALPHAS]


# Weights.


def weighted_quantile(scores, alpha, weights, weight):
    """Returns the quantile by its definition, in fractions."""
    needed = (1 - alpha) * (sum(weights) + weight)
    for q in sorted(scores):
        if sum(w for s, w in zip(scores, weights, strict=True) if s <= q) >= needed:
            return q
    return math.inf


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 10), Fraction(1, 3)])
def test_weighted_quantile_is_exact(unit, rng):
    for n in (1, 2, 5, 12, 40):
        scores = rng.integers(0, 1 + n // 2, n).astype(float)  # With ties.
        exact = [unit * int(k) for k in rng.integers(1, 5, n)]
        weights = [float(w) for w in exact]
        for alpha, level in zip(ALPHAS, LEVELS, strict=True):
            for new in (0, 1, 2, 7, 100):
                found = conformal.conformal_quantile(
                    scores, alpha, weights, float(unit * new)
                )
                expected = weighted_quantile(scores, level, exact, unit * new)
                assert found == expected, (n, alpha, new)


@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3, 1e-300, 1e290])
def test_equal_weights_give_the_quantile_without_weights(weight, rng):
    for n in (*range(1, 60), 99, 999, 9999):
        scores = rng.permutation(n).astype(float)
        for alpha in ALPHAS:
            found = conformal.conformal_quantile(
                scores, alpha, np.full(n, weight), weight
            )
            assert found == conformal.conformal_quantile(scores, alpha), (n, alpha)


def test_sums_of_many_equal_weights_are_exact():
    n = 10**6 - 1
    for weight in (0.1, 0.7):
        found = conformal.conformal_quantile(np.arange(n), 0.3, weight, weight)
        assert found == 7 * 10**5 - 1


def test_weights_are_repetition_and_weight_0_leaves_out(rng):
    scores, weights = rng.integers(0, 9, 30).astype(float), rng.integers(0, 4, 30)
    repeated = np.repeat(scores, weights)
    scores[weights == 0] = np.nan
    for alpha in ALPHAS:
        found = conformal.conformal_quantile(scores, alpha, weights, 1)
        assert found == conformal.conformal_quantile(repeated, alpha)


def test_each_new_example_has_its_own_quantile(rng):
    scores, weights = rng.normal(size=20), rng.random(20)
    new_weights = np.array([[0.0, 0.5], [3.0, 1e9]])
    found = conformal.conformal_quantile(scores, 0.2, weights, new_weights)
    each = [
        conformal.conformal_quantile(scores, 0.2, weights, w) for w in new_weights.flat
    ]
    np.testing.assert_array_equal(found.reshape(-1), each)
    assert isinstance(each[0], float)
    assert each == sorted(each)
    assert each[-1] == math.inf


def test_an_alpha_just_below_1_takes_the_smallest_score():
    assert conformal.conformal_quantile([3.0, 1.0, 2.0], 1 - 2.0**-53) == 1
    assert conformal.conformal_quantile([3.0, 1.0], 1 - 2.0**-53, [1, 2], 1.0) == 1


SCORES = [("lac", False), ("aps", False), ("aps", True), ("raps", False)]


@pytest.mark.parametrize(("score", "randomized"), SCORES)
def test_weights_of_sets_are_repetition(score, randomized, rng):
    p, y = rng.multinomial(8, np.full(5, 0.2), 60) / 8, rng.integers(0, 5, 60)
    groups, weights = rng.choice(["a", "b"], 60), np.repeat([1, 2, 0], 20)
    again = np.repeat(np.arange(60), weights)
    if randomized:  # A repeated example would get another random share.
        again, weights = np.arange(40), np.repeat([1, 0], [40, 20])
    p[weights == 0] = np.nan
    for names in (None, groups):
        names_again = None if names is None else names[again]
        new_names = None if names is None else names[:20]
        plain = conformal.ConformalClassifier(score, 0.2, randomized)
        plain.fit(y[again], p[again], groups=names_again, seed=1)
        expected = plain.predict(p[:20], groups=new_names, seed=2)
        model = conformal.ConformalClassifier(score, 0.2, randomized)
        model.fit(y, p, groups=names, sample_weight=weights, seed=1)
        found = model.predict(p[:20], groups=new_names, test_weight=1, seed=2)
        np.testing.assert_array_equal(found, expected)


def quantiles_in_groups(scores, weights, groups, new_weights):
    """Returns the quantile of each example, computed from the scores of its group."""
    return np.array(
        [
            conformal.conformal_quantile(
                scores[groups == group], 0.2, weights[groups == group], weight
            )
            for group, weight in zip(groups, new_weights, strict=True)
        ]
    )


def drawn_weights(rng, n):
    """Returns weights of held-out examples, groups, and weights of new examples."""
    weights, new_weights = (
        rng.choice([0.3, 1.0, 2.5], n),
        rng.choice([0.0, 0.3, 1, 9, 99], n),
    )
    return weights, rng.integers(0, 2, n), new_weights


def test_weighted_sets_hold_the_classes_with_scores_up_to_the_quantile(
    rng, monkeypatch
):
    monkeypatch.setattr(classifier, "_BLOCK", 5 * 7)  # Blocks of 7 rows.
    p, y = rng.multinomial(8, np.full(5, 0.2), 60) / 8, rng.integers(0, 5, 60)
    weights, groups, new_weights = drawn_weights(rng, 60)
    own = 1 - p[np.arange(60), y]
    for names in (np.zeros(60, int), groups):
        model = conformal.ConformalClassifier("lac", 0.2)
        model.fit(y, p, groups=names, sample_weight=weights)
        limits = quantiles_in_groups(own, weights, names, new_weights)
        sets = model.predict(p, groups=names, test_weight=new_weights)
        np.testing.assert_array_equal(sets, 1 - p <= limits[:, None])
    images = model.predict(
        p.reshape(6, 10, 5),
        groups=groups.reshape(6, 10),
        test_weight=new_weights.reshape(6, 10),
    )
    np.testing.assert_array_equal(images.reshape(60, 5), sets)
    unknown = model.predict(p[:3], groups=[7, 7, 7], test_weight=1.0)
    assert unknown.all()


@pytest.mark.parametrize("score", ["absolute", "normalized", "cqr"])
def test_weighted_intervals_hold_the_targets_with_scores_up_to_the_quantile(score, rng):
    for _ in range(50):
        size = 10.0 ** rng.integers(-2, 4)
        mean, width = (
            size * rng.random(19).round(1),
            size * rng.random(19).round(1) + 0.1,
        )
        y = rng.choice(np.array([0.2, 0.4, size]), 19, p=[0.9, 0.05, 0.05])
        weights, groups, new_weights = drawn_weights(rng, 19)
        given = {
            "absolute": (mean,),
            "normalized": (mean, width),
            "cqr": (mean - width, mean + width),
        }[score]
        if score == "cqr":
            scores = np.maximum(given[0] - y, y - given[1])
        else:
            scores = np.abs(y - mean) / (width if score == "normalized" else 1)
        for names in (None, groups):
            model = conformal.ConformalRegressor(score, 0.2)
            model.fit(y, *given, groups=names, sample_weight=weights)
            lower, upper = model.predict(*given, groups=names, test_weight=new_weights)
            of_group = np.zeros(19, int) if names is None else names
            limits = quantiles_in_groups(scores, weights, of_group, new_weights)
            inside = (lower <= y) & (y <= upper)
            assert inside[scores <= limits].all()
            assert not inside[scores > limits + 1e-12 * (size + np.abs(limits))].any()


def test_intervals_leave_out_examples_of_weight_0(rng):
    y, weights = rng.normal(size=20), np.repeat([1.0, 0.0], 10)
    y[10:] = 1e9
    model = conformal.ConformalRegressor(alpha=0.2)
    model.fit(y, np.zeros(20), sample_weight=weights)
    expected = conformal.conformal_quantile(np.abs(y[:10]), 0.2)
    assert model.predict([0.0], test_weight=1.0)[1] == [expected]


@pytest.mark.parametrize("shift", [0.5, 1.5])
def test_coverage_is_kept_with_the_true_ratio_and_lost_without(shift, rng):
    found = {
        name: np.array(
            [weighted_coverage.held(rng, name, 100, shift).coverage for _ in range(150)]
        )
        for name in ("none", "true ratio")
    }
    error = {name: of.std() / np.sqrt(150) for name, of in found.items()}
    name = "true ratio"
    assert found[name].mean() > 1 - weighted_coverage.ALPHA - 5 * error[name]
    assert found["none"].mean() < 0.9 - 5 * error["none"]


# Losses.


def first_below(losses, alpha, bound):
    """Returns the index by its definition, in fractions."""
    n = len(losses)
    for g, column in enumerate(zip(*losses, strict=True)):
        if (sum(column) + bound) / (n + 1) <= alpha:
            return g
    return None


@pytest.mark.parametrize("atoms", [1, 3, 10])
@pytest.mark.parametrize("bound", [Fraction(1), Fraction(3, 10), Fraction(7)])
def test_risk_control_is_exact(atoms, bound, rng):
    found = set()
    for n in (1, 4, 9, 19, 30):
        losses = np.sort(rng.integers(0, atoms + 1, (n, 12)), axis=1)[:, ::-1]
        exact = [[bound * int(k) / atoms for k in row] for row in losses]
        floats = [[float(loss) for loss in row] for row in exact]
        for level in LEVELS:
            expected = first_below(exact, bound * level, bound)
            found.add(expected)
            assert expected == conformal.conformal_risk_control(
                floats, float(bound * level), bound=float(bound)
            )
    assert None in found
    assert len(found) > 4


def test_risk_control_of_misses_is_the_conformal_quantile(rng):
    for n in (9, 20, 99):
        scores = rng.integers(0, 30, n) / 8
        thresholds = np.unique(scores)
        losses = scores[:, None] > thresholds
        for alpha in ALPHAS:
            index = conformal.conformal_risk_control(losses, alpha)
            found = math.inf if index is None else thresholds[index]
            assert found == conformal.conformal_quantile(scores, alpha)


def test_rounding_of_losses_and_of_their_sum_does_not_count():
    # The sum of ten times 0.1 is below 1; 0.1 + 0.2 is above 0.3.
    losses = np.full((9, 2), [0.1 + 0.2, 0.3])
    tenth = np.full((10**4 - 1, 1), 0.1)
    for bound in (1.0, 2.0**-60, 2.0**60):  # A factor that is exact.

        def control(losses, alpha, bound=bound):
            return conformal.conformal_risk_control(
                losses * bound, alpha * bound, bound=bound
            )

        assert control(losses[:, ::-1], 0.37) == 0
        assert control(tenth, 0.10009) == 0
        assert control(tenth, 0.10009 - 1e-12) is None


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        ([[0.5, 0.6]], {}, r"`losses` must have rows that never rise.*0.5 before 0.6"),
        ([[0.5, -0.1]], {}, r"`losses` must be in \[0, 1\].*-0.1 at \[0, 1\]"),
        ([[1.5, 0.1]], {}, r"`losses` must be in \[0, 1\].*1.5 at \[0, 0\]"),
        ([[math.nan, 0.1]], {}, "`losses` must be finite"),
        ([0.5, 0.1], {}, r"`losses` must be of shape \[n, G\]"),
        (np.zeros((0, 2)), {}, r"`losses` must be of shape \[n, G\]"),
        ([[0.5]], {"alpha": 1.0}, r"`alpha` must be in \(0, 1\)"),
        ([[0.5]], {"alpha": 2.0, "bound": 2}, r"`alpha` must be in \(0, 2\)"),
        ([[0.5]], {"alpha": "x"}, r"`alpha` must be in \(0, 1\)"),
        ([[0.5]], {"bound": 0.0}, "`bound` must be finite and > 0"),
        ([[0.5]], {"bound": math.inf}, "`bound` must be finite and > 0"),
    ],
)
def test_risk_control_refuses_wrong_arguments(losses, options, message):
    with pytest.raises(ValueError, match=message):
        conformal.conformal_risk_control(losses, **{"alpha": 0.2, **options})


@pytest.mark.parametrize("name", risk_control.LOSSES)
@pytest.mark.parametrize(("n", "alpha"), [(9, 0.1), (9, 0.3), (60, 0.05)])
def test_expected_loss_of_new_examples_is_at_most_alpha(name, n, alpha, rng):
    found = risk_control.mean_losses(rng, name, n, alpha, 300)
    assert risk_control.spare(found, alpha) > -5


# Streams.


def naive_quantile(scores, level):
    """Returns the quantile at a level, which may be below 0 or above 1."""
    k = math.ceil((len(scores) + 1) * (1 - level))
    if k > len(scores):
        return math.inf
    return -math.inf if k < 1 else sorted(scores)[k - 1]


def drawn_stream(rng, examples):
    """Yields recent scores and the next score, with ties and a shift."""
    for t in range(examples):
        recent = rng.integers(0, 8, rng.integers(0, 25)) / 8
        yield recent, float(rng.integers(0, 10) / 8 * (1 + (t > examples / 2)))


@pytest.mark.parametrize("rate", [Fraction(1, 200), Fraction(1, 10), Fraction(7, 10)])
@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)])
def test_one_rate_follows_the_recursion_in_fractions(rate, alpha, rng):
    adaptive = conformal.AdaptiveConformal(float(alpha), rate=float(rate))
    level, misses = alpha, 0
    for t, (recent, score) in enumerate(drawn_stream(rng, 300)):
        assert adaptive.alpha_t == pytest.approx(float(level), abs=1e-12)
        q = naive_quantile(recent, level)
        assert adaptive.quantile(recent) == q
        adaptive.update(score)
        miss = score > q
        misses += miss
        level += rate * (alpha - miss)
        assert adaptive.num_updates == t + 1
        assert adaptive.mean_error == misses / (t + 1)
        spare = (alpha + rate * (1 - alpha)) / rate
        bound = min(1, alpha + spare / (t + 1))
        assert adaptive.error_bound == pytest.approx(float(bound))
        assert misses <= alpha * (t + 1) + spare
        assert misses >= alpha * (t + 1) - (1 - alpha + rate * alpha) / rate


class Aggregation:
    """The aggregation of Gibbs and Candes (2024); with our rule if `safe`."""

    rates = tuple(0.001 * 2**i for i in range(8))

    def __init__(self, alpha, safe):
        self.alpha, self.safe = alpha, safe
        self.levels, self.weights = [alpha] * 8, [1.0] * 8
        self.t = self.misses = 0
        memory = 500
        self.sigma = 1 / (2 * memory)
        loss = ((1 - alpha) ** 2 * alpha**3 + alpha**2 * (1 - alpha) ** 3) / 3
        self.eta = math.sqrt((math.log(2 * 8 * memory) + 1) / (memory * loss))

    def level(self):
        pairs = zip(self.weights, self.levels, strict=True)
        level = sum(w * a for w, a in pairs) / sum(self.weights)
        slowest = self.alpha + self.rates[0] * (self.alpha * self.t - self.misses)
        return min(level, 0.0) if self.safe and slowest <= 1e-15 else level

    def step(self, recent, score):
        """Updates the levels with the score of an example."""
        self.misses += naive_quantile(recent, self.level()) < score
        self.t += 1
        beta = (1 + sum(s >= score for s in recent)) / (len(recent) + 1)
        for i, (level, rate) in enumerate(zip(self.levels, self.rates, strict=True)):
            loss = self.alpha * (beta - level) - min(0, beta - level)
            self.weights[i] *= math.exp(-self.eta * loss)
            miss = naive_quantile(recent, level) < score
            self.levels[i] += rate * (self.alpha - miss)
        uniform = self.sigma * sum(self.weights) / 8
        self.weights = [(1 - self.sigma) * w + uniform for w in self.weights]
        self.weights = [w / sum(self.weights) for w in self.weights]


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_aggregated_rates_are_the_algorithm_of_the_paper(alpha, rng):
    adaptive = conformal.AdaptiveConformal(alpha, rate="aggregated")
    naive = Aggregation(alpha, safe=True)
    for t in range(600):
        recent, score = rng.normal(size=37), float(rng.normal() * (1 + (t > 300)))
        assert adaptive.alpha_t == pytest.approx(naive.level(), abs=1e-9)
        assert adaptive.quantile(recent) == naive_quantile(recent, naive.level())
        adaptive.update(score)
        naive.step(recent, score)
        assert adaptive.mean_error == naive.misses / (t + 1)


def test_aggregated_level_is_0_where_the_level_of_the_slowest_rate_is_exactly_0():
    adaptive = conformal.AdaptiveConformal(0.5, rate="aggregated")
    recent = np.arange(50.0)
    for _ in range(1000):  # Then the level is 0.5 + 0.001 (0.5 * 1000 - 1000).
        adaptive.update(np.nextafter(adaptive.quantile(recent), math.inf))
    assert adaptive.mean_error == 1
    assert adaptive.alpha_t == 0
    assert adaptive.quantile(recent) == math.inf


def test_the_published_aggregation_can_miss_twice_alpha_and_ours_cannot():
    recent = list(range(1, 200))
    for safe in (False, True):
        naive = Aggregation(0.1, safe)
        for t in range(4000):
            q = naive_quantile(recent, naive.level())
            naive.step(recent, 0.0 if t % 5 else q + 1e-9)
        misses = naive.misses / 4000
        assert misses <= 0.1 + 100.9 / 4000 if safe else misses > 0.19


@pytest.mark.parametrize("rate", [0.005, 0.3, "aggregated"])
@pytest.mark.parametrize(
    "stream", [*adaptive_errors.STREAMS, *adaptive_errors.ADVERSARIES]
)
def test_bound_holds_for_any_stream_at_any_time(stream, rate, rng):
    examples = 3000 if stream == "one in five just above q" else 600
    found = adaptive_errors.run(rng, stream, rate, examples)
    assert found.room > -1e-9
    assert found.mean_error <= found.bound


def test_sets_hold_everything_at_levels_up_to_0_and_nothing_from_1_on():
    adaptive = conformal.AdaptiveConformal(0.5, rate=1.0)
    assert adaptive.quantile([]) == math.inf  # There are no scores yet.
    adaptive.update(3.0)
    assert adaptive.alpha_t == 1.0
    assert adaptive.quantile([1.0, 2.0]) == -math.inf
    adaptive.update(0.0)  # An empty set misses every label.
    assert adaptive.alpha_t == 0.5
    adaptive.quantile([1.0, 2.0])
    adaptive.update(math.inf)
    assert adaptive.alpha_t == 0.0
    assert adaptive.quantile([1.0, 2.0]) == math.inf
    adaptive.update(math.inf)  # An infinite interval holds every target.
    assert adaptive.alpha_t == 0.5
    assert adaptive.mean_error == 0.5
    assert adaptive.error_bound == 0.75


def test_each_update_needs_a_quantile_of_its_own():
    adaptive = conformal.AdaptiveConformal(0.1)
    recent = np.arange(5.0)
    with pytest.raises(ValueError, match="call `quantile` first"):
        adaptive.update(1.0)
    adaptive.quantile(recent)
    recent[:] = 9  # The caller may write to its array.
    for score in (math.nan, -math.inf, "x", None, [1.0, 2.0]):
        with pytest.raises(ValueError, match="`score` must be a real number"):
            adaptive.update(score)
    adaptive.update(np.float32(5.0))
    with pytest.raises(ValueError, match="call `quantile` first"):
        adaptive.update(1.0)
    for scores in ([math.nan], 1.0, [[1.0]]):
        with pytest.raises(ValueError, match="`scores` must be"):
            adaptive.quantile(scores)
    for rate in (0.0, -1, math.inf, math.nan, "fast", None, True):
        with pytest.raises(ValueError, match="`rate` must be finite and > 0, or"):
            conformal.AdaptiveConformal(0.1, rate=rate)
