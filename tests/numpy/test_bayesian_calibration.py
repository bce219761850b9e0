"""The Bayesian ECE in NumPy: against quadrature, a naive loop, and the truth."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import uncertainty_metrics.numpy as um
from tests import references

SIGMAS = 5  # One false alarm in two million.


def seed_of(rng):
    return int(rng.integers(2**31))


def posterior(bins, outcomes, scores, **options):
    """Returns draws where every decision is class 1, whose probability is the score."""
    return um.bayesian_expected_calibration_error(
        bins,
        probabilities=np.asarray(scores),
        labels_true=np.asarray(outcomes, int),
        labels_predicted=np.ones(len(outcomes), int),
        **options,
    )


def examples(rng, n=60):
    """Makes outcomes and scores in [0, 1]; two of five bins are empty."""
    scores = rng.uniform(0, 0.6, n)
    return rng.uniform(size=n) < 0.3, scores


def truth(gap, bins):
    """Returns shares and accuracies of bins whose mean score is wrong by `gap`.

    `studies/bayesian_coverage.py` has more such truths.
    """
    shares = np.linspace(1, 3, bins)
    centres = (np.arange(bins) + 0.5) / bins
    return shares / shares.sum(), centres + np.where(centres < 0.5, gap, -gap)


def draw_examples(truth, rng, n):
    shares, accuracies = truth
    index = rng.choice(len(shares), n, p=shares)
    scores = (index + rng.uniform(size=n)) / len(shares)
    return rng.uniform(size=n) < accuracies[index], scores


def coverage(gap, bins, number, rng, **options):
    """Returns the share of 95% intervals that hold the truth, and the mean estimate."""
    of = truth(gap, bins)
    held, means = [], []
    for _ in range(number):
        samples = posterior(
            bins,
            *draw_examples(of, rng, 1000),
            num_ece_samples=400,
            seed=seed_of(rng),
            **options,
        )
        low, high = np.quantile(samples, [0.025, 0.975])
        held.append(low <= gap <= high)
        means.append(np.mean(samples))
    return np.mean(held), np.mean(means)


def bin_table(outcomes, scores, bins):
    """Returns for each bin the counts of wrong and right, and the sum of scores."""
    table = np.zeros([bins, 3])
    for outcome, score in zip(outcomes, scores, strict=True):
        b = max(int(np.ceil(score * bins)) - 1, 0)
        table[b] += [not outcome, outcome, score]
    return table


def mean_posterior(n, total, b, bins):
    """Returns the posterior of the mean score of a bin, SciPy's truncated Normal."""
    variance = (1 / bins) ** 2 / 12
    precision = 1 / variance + n / variance
    location = ((b + 0.5) / bins / variance + total / variance) / precision
    scale = precision**-0.5
    low, high = b / bins, (b + 1) / bins
    return stats.truncnorm(
        (low - location) / scale, (high - location) / scale, location, scale
    )


def expected_gap(accuracy, mean):
    """Returns E|A - m| for independent A, m: the integral of F_A + F_m - 2 F_A F_m."""
    points = [*accuracy.ppf([1e-12, 0.5, 1 - 1e-12]), *mean.support()]
    points = sorted({point for point in points if 0 < point < 1})

    def integrand(x):
        a, m = accuracy.cdf(x), mean.cdf(x)
        return a + m - 2 * a * m

    edges = [0, *points, 1]
    return sum(
        integrate.quad(integrand, low, high, limit=200)[0]
        for low, high in itertools.pairwise(edges)
    )


def expected_mean(outcomes, scores, bins, alpha):
    """Returns the posterior mean: shares and accuracies are independent."""
    total = 0.0
    for b, (wrong, right, score_sum) in enumerate(bin_table(outcomes, scores, bins)):
        share = (wrong + right + 2 * alpha) / (len(scores) + 2 * bins * alpha)
        accuracy = stats.beta(right + alpha, wrong + alpha)
        mean = mean_posterior(wrong + right, score_sum, b, bins)
        total += share * expected_gap(accuracy, mean)
    return total


@pytest.mark.parametrize("alpha", [None, 0.7])
@pytest.mark.parametrize("bins", [1, 2, 5])
def test_mean_equals_quadrature(bins, alpha, rng):
    outcomes, scores = examples(rng)
    options = {"num_ece_samples": 20000, "prior_alpha": alpha, "seed": seed_of(rng)}
    samples = posterior(bins, outcomes, scores, **options)
    expected = expected_mean(outcomes, scores, bins, alpha or 1 / (2 * bins))
    error = np.std(samples) / np.sqrt(len(samples))
    assert abs(np.mean(samples) - expected) < SIGMAS * error


def test_one_bin_has_the_distribution_of_score_minus_accuracy(rng):
    # In one bin of many equal scores, the mean score is nearly certain.
    outcomes = rng.uniform(size=10**6) < 0.3
    samples = posterior(1, outcomes, np.full(10**6, 0.5), seed=seed_of(rng))
    right = np.sum(outcomes)
    # E[A] = 0.3 is far below the mean score, so |A - m| = m - A.
    expected = 0.5 - (right + 0.5) / (10**6 + 1)
    variance = 0.3 * 0.7 / 10**6 + 1 / 12 / 10**6
    assert abs(np.mean(samples) - expected) < SIGMAS * np.sqrt(variance / 500)
    # The sample variance of 500 normal draws has this relative deviation.
    assert abs(np.var(samples) / variance - 1) < SIGMAS * np.sqrt(2 / 500) + 0.01


def test_one_bin_of_few_examples_has_the_deviation_of_its_mean_score(rng):
    # Both examples are right and A is nearly 1, so the draws are 1 - m. The mean score
    # m is a Normal of deviation 1 / sqrt(12 (1 + 2)) = 1 / 6, truncated at 3
    # deviations.
    options = {"num_ece_samples": 20000, "prior_alpha": 1e-9, "seed": seed_of(rng)}
    draws = um.bayesian_expected_calibration_error(
        1, probabilities=[[0.5, 0.5]] * 2, labels_true=[0, 0], **options
    )
    deviation = stats.truncnorm(-3, 3).std() / 6
    assert np.std(draws) == pytest.approx(deviation, rel=SIGMAS / np.sqrt(2 * 20000))
    assert np.mean(draws) == pytest.approx(0.5, abs=SIGMAS * deviation / np.sqrt(20000))


def naive_draws(outcomes, scores, bins, alpha, number, rng):
    table = bin_table(outcomes, scores, bins)
    cells = np.concatenate([table[:, 0], table[:, 1]]) + alpha
    means = [
        mean_posterior(wrong + right, total, b, bins)
        for b, (wrong, right, total) in enumerate(table)
    ]
    draws = []
    for _ in range(number):
        q = stats.dirichlet.rvs(cells, random_state=rng)[0]
        error = 0.0
        for b in range(bins):
            both = q[b] + q[bins + b]
            mean = means[b].ppf(rng.uniform())
            error += both * abs(q[bins + b] / both - mean)
        draws.append(error)
    return np.array(draws)


def test_draws_have_the_distribution_of_a_naive_loop(rng):
    outcomes, scores = examples(rng, 30)
    naive = naive_draws(outcomes, scores, 3, 0.4, 500, rng)
    samples = posterior(
        3, outcomes, scores, num_ece_samples=20000, prior_alpha=0.4, seed=seed_of(rng)
    )
    assert stats.ks_2samp(naive, samples).pvalue > 1e-6


def test_default_prior_is_the_prior_of_perks(rng):
    outcomes, scores = examples(rng)
    seed = seed_of(rng)
    np.testing.assert_array_equal(
        posterior(5, outcomes, scores, seed=seed),
        posterior(5, outcomes, scores, seed=seed, prior_alpha=0.1),
    )


def test_95_percent_intervals_hold_the_truth_95_times_of_100(rng):
    share, mean = coverage(0.15, 10, 500, rng)
    # The full study has 94% to 96%.
    assert abs(share - 0.95) < 0.01 + SIGMAS * np.sqrt(0.95 * 0.05 / 500)
    assert mean == pytest.approx(0.15, abs=0.005)


def test_intervals_of_repeated_examples_hold_the_truth_less_often(rng):
    # Weights of 4 pretend four times the evidence; intervals of half the width hold the
    # truth in 67% of the data sets.
    share, _ = coverage(0.15, 10, 300, rng, sample_weight=4.0)
    assert abs(share - 0.67) < 0.03 + SIGMAS * np.sqrt(0.67 * 0.33 / 300)


@pytest.mark.parametrize("bins", [1, 2, 15, 100])
@pytest.mark.parametrize("n", [1, 1000])
def test_draws_of_extreme_scores_and_priors_are_finite(bins, n, rng):
    for outcome, score, alpha in itertools.product(
        (0, 1), (0.0, 0.01, 0.5, 0.999, 1.0), (None, 1e-300, 1e300)
    ):
        options = {"prior_alpha": alpha, "num_ece_samples": 100, "seed": seed_of(rng)}
        samples = posterior(bins, [outcome] * n, [score] * n, **options)
        assert np.all((samples >= 0) & (samples <= 1 + 1e-12))


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("score", [0.0, 0.01, 0.5, 1.0])
def test_draws_are_near_the_gap_if_all_are_right_or_all_are_wrong(outcome, score, rng):
    samples = posterior(15, [outcome] * 1000, [score] * 1000, seed=seed_of(rng))
    # The mean score has a deviation of 1 / (15 sqrt(12 * 1000)), and the prior has the
    # weight of one example of 1001.
    assert np.max(np.abs(samples - abs(outcome - score))) < 0.02


def test_vanishing_weights_leave_the_prior(rng):
    # The weights are negligible, so the draws are those of the prior of the one bin.
    options = {"prior_alpha": 2.0, "num_ece_samples": 20000, "seed": seed_of(rng)}
    samples = posterior(1, [0, 1], [0.5, 0.5], sample_weight=1e-30, **options)
    expected = expected_gap(stats.beta(2, 2), mean_posterior(0, 0, 0, 1))
    error = np.std(samples) / np.sqrt(len(samples))
    assert abs(np.mean(samples) - expected) < SIGMAS * error


def test_draws_are_independent(rng):
    outcomes, scores = examples(rng)
    samples = posterior(5, outcomes, scores, num_ece_samples=10000, seed=seed_of(rng))
    correlation = np.corrcoef(samples[:-1], samples[1:])[0, 1]
    assert abs(correlation) < SIGMAS / np.sqrt(len(samples))


def test_more_weight_makes_the_posterior_narrower(rng):
    outcomes, scores = draw_examples(truth(0.15, 5), rng, 2000)
    options = {"num_ece_samples": 4000, "seed": seed_of(rng)}
    one, four = (
        np.std(posterior(5, outcomes, scores, sample_weight=weight, **options))
        for weight in (1.0, 4.0)
    )
    # The relative error of a standard deviation of 4000 draws is 1 / sqrt(8000).
    assert abs(one / four - 2) < 2 * SIGMAS * np.sqrt(2 / 8000) + 0.05


def test_forms_of_the_same_predictions(rng):
    logits = rng.normal(size=[2, 5, 4, 3])
    probabilities = references.softmax(logits)
    labels = rng.integers(0, 3, [2, 5, 4])
    seed = seed_of(rng)
    expected = um.bayesian_expected_calibration_error(
        7, probabilities=probabilities, labels_true=labels, seed=seed
    )
    assert expected.shape == (500,)
    assert expected.dtype == np.float64
    for options in (
        {"logits": logits, "labels_true": labels},
        {"logits": logits.tolist(), "labels_true": labels.tolist()},
        {"probs": probabilities.reshape(-1, 3), "labels_true": labels.ravel()},
        {
            "probabilities": probabilities,
            "labels_true": labels.astype(float),
            "labels_predicted": np.argmax(logits, axis=-1),
        },
    ):
        samples = um.bayesian_expected_calibration_error(7, **options, seed=seed)
        np.testing.assert_allclose(samples, expected, atol=1e-9)


def naive_lower(a, b):
    return np.mean([(x < y) + (x == y) / 2 for x in a for y in b])


def test_probability_of_lower_equals_all_pairs(rng):
    for sizes in ((1, 1), (1, 7), (30, 20)):
        a, b = (np.round(rng.uniform(size=size), 1) for size in sizes)  # Ties.
        value = um.probability_of_lower_calibration_error(a, b)
        assert isinstance(value, float)
        assert value == pytest.approx(naive_lower(a, b), abs=1e-12)
        reverse = um.probability_of_lower_calibration_error(b, a)
        assert value + reverse == pytest.approx(1)
    assert um.probability_of_lower_calibration_error([1, 1], [1, 1, 1]) == 0.5
    assert um.probability_of_lower_calibration_error([0.1], [0.2, 0.3]) == 1
    assert um.probability_of_lower_calibration_error([0.3], [0.1, 0.2]) == 0


def test_probability_of_lower_takes_many_draws(rng):
    # There are 10^11 pairs. The i-th smallest of a is below all but i - 1 values of b.
    size = 300_000
    a = rng.permutation(size).astype(float)
    b = rng.permutation(size) + 0.5
    value = um.probability_of_lower_calibration_error(a, b)
    assert value == pytest.approx((size + 1) / (2 * size), abs=1e-12)


def test_probability_of_lower_tells_models_apart(rng):
    samples = [
        posterior(5, *draw_examples(truth(gap, 5), rng, 5000), seed=seed_of(rng))
        for gap in (0.05, 0.15)
    ]
    assert um.probability_of_lower_calibration_error(*samples) > 0.999
