"""The test of calibration, and the resampled outcomes that it uses."""

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.bins import _binning, _simulated_bins
from uncertainty_metrics.numpy.calibration.without_bins.calibration_tests import (
    calibration_test,
)

SIGMAS = 5  # One false alarm in two million.

TOP_LABEL = {"max_prob": True, "class_conditional": False}
BY_DECISION = {"max_prob": True, "class_conditional": True}
BY_CLASS = {"max_prob": False, "class_conditional": True}
POOLED = {"max_prob": False, "class_conditional": False}
POSITIVE = {**TOP_LABEL, "positive_class": True}
every_scheme = pytest.mark.parametrize("scheme", ["even", "adaptive"])
every_score = pytest.mark.parametrize(
    "scores", [TOP_LABEL, BY_DECISION, BY_CLASS, POOLED]
)


def spec_of(scheme="even", scores=TOP_LABEL, **options):
    return CalibrationSpec(scheme, norm="l2", **{**scores, **options})


def calibrated(rng, n=60, classes=3):
    """Draws probabilities, and labels from them."""
    probabilities = rng.dirichlet(np.full(classes, 0.7), n)
    uniforms = rng.uniform(size=(n, 1))
    labels = np.sum(uniforms > np.cumsum(probabilities, axis=1), axis=1)
    return np.minimum(labels, classes - 1), probabilities


def seed_of(rng):
    return int(rng.integers(2**31))


def binned(spec, labels, probabilities, weights=None):
    examples = _examples.examples(labels, probabilities, sample_weight=weights)
    return examples, _binning.bin_statistics(examples, spec)


# The bin of each score.


@every_scheme
@every_score
@pytest.mark.parametrize(
    "options",
    [{}, {"threshold": 0.3}, {"num_bins": 1}, {"num_bins": 40}],
    ids=["default", "threshold", "one", "many"],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_sums_over_scores_equal_the_bin_statistics(
    scheme, scores, options, weighted, dtype, rng
):
    data = catalogue.data(rng, n=90, dtype=dtype)
    spec = spec_of(scheme, scores, **options)
    weights = data.weights if weighted else None
    examples, statistics = binned(spec, data.labels, data.predictions, weights)
    entries = _simulated_bins.entries(examples, spec, statistics)
    weights = np.ones(len(examples.labels)) if not weighted else examples.weights
    weights = np.broadcast_to(weights[:, None], entries.cells.shape).ravel()
    for values, expected in (
        (1.0, statistics.counts),
        (entries.scores.ravel(), statistics.score_sums),
        (entries.outcomes.ravel(), statistics.outcome_sums),
    ):
        sums = np.bincount(
            entries.cells.ravel(), weights * values, entries.num_cells + 1
        )
        np.testing.assert_allclose(sums[:-1], expected.ravel(), rtol=1e-6, atol=1e-9)


# Labels drawn from the forecasts.


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 65, 500])
def test_distribution_of_hits_equals_convolution(n, rng):
    scores = rng.choice([0.0, 1.0, *rng.uniform(size=5)], n)
    expected = np.ones(1)
    for p in scores:
        expected = np.convolve(expected, [1 - p, p])
    found = _simulated_bins._hit_distribution(scores)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_distribution_of_many_hits_is_binomial():
    found = _simulated_bins._hit_distribution(np.full(3000, 0.3))
    expected = stats.binom(3000, 0.3).pmf(np.arange(3001))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@every_scheme
@every_score
@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_sums_have_the_moments_of_the_forecasts(scheme, scores, weighted, rng):
    labels, probabilities = calibrated(rng)
    weights = rng.choice([0.5, 1.0, 3.0], len(labels)) if weighted else None
    spec = spec_of(scheme, scores, num_bins=4)
    examples, statistics = binned(spec, labels, probabilities, weights)
    drawn = np.stack(
        list(_simulated_bins.calibrated_sums(examples, spec, statistics, 1500, rng))
    )
    assert drawn.shape == (1500, *statistics.counts.shape)

    entries = _simulated_bins.entries(examples, spec, statistics)
    mean, variance = np.zeros((2, entries.num_cells))
    for i, (cells, p) in enumerate(zip(entries.cells, entries.scores, strict=True)):
        weight = 1.0 if weights is None else weights[i]
        # At most one outcome of a row in a cell is 1, so their probabilities add.
        for cell in set(cells):
            share = np.sum(p[cells == cell])
            mean[cell] += weight * share
            variance[cell] += weight**2 * share * (1 - share)
    drawn = drawn.reshape(1500, -1)
    squares = (drawn - mean) ** 2
    # The constants allow for events so rare that few draws or none have them.
    error = SIGMAS * np.sqrt(variance / 1500) + 0.02
    assert np.all(np.abs(drawn.mean(axis=0) - mean) <= error)
    error = SIGMAS * np.std(squares, axis=0) / np.sqrt(1500) + 0.1
    assert np.all(np.abs(squares.mean(axis=0) - variance) <= error)
    if scores == BY_CLASS:  # Each example has one label.
        total = len(labels) if weights is None else np.sum(weights)
        np.testing.assert_allclose(drawn.sum(axis=1), total)


def test_draws_in_blocks_have_the_same_distribution(rng, monkeypatch):
    data = calibrated(rng)
    for scores in (TOP_LABEL, BY_CLASS):
        spec = spec_of("even", scores)
        examples, statistics = binned(spec, *data)
        arguments = (examples, spec, statistics, 999, rng)
        whole = np.stack(list(_simulated_bins.calibrated_sums(*arguments)))
        with monkeypatch.context() as patch:
            patch.setattr(_simulated_bins, "_BLOCK", 500)
            parts = np.stack(list(_simulated_bins.calibrated_sums(*arguments)))
        assert parts.shape == whole.shape
        error = np.sqrt((whole.var(axis=0) + parts.var(axis=0)) / 999)
        difference = np.abs(parts.mean(axis=0) - whole.mean(axis=0))
        assert np.all(difference <= SIGMAS * error + 1e-9)


# The test.


@every_scheme
@every_score
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_statistic_is_the_calibration_error(scheme, scores, norm, rng):
    labels, probabilities = calibrated(rng)
    options = {"binning_scheme": scheme, **scores, "norm": norm, "num_bins": 7}
    test = calibration_test(labels, probabilities, **options, num_resamples=9, seed=0)
    expected = um.gce(labels, probabilities, **options)
    assert test.statistic == expected
    assert isinstance(test.p_value, float)
    assert (10 * test.p_value) in range(1, 11)


@every_scheme
@pytest.mark.parametrize("scores", [TOP_LABEL, BY_CLASS])
def test_p_value_equals_a_naive_loop(scheme, scores, rng):
    # Labels of overconfident forecasts, so that the p-value is neither 0 nor 1.
    labels, probabilities = calibrated(rng, 12)
    labels = np.where(rng.uniform(size=12) < 0.5, np.argmax(probabilities, 1), labels)

    def error(labels):
        return references.calibration_error(
            labels, probabilities, scheme, *scores.values(), "l2", 2
        )

    naive = np.array(
        [error([rng.choice(3, p=row) for row in probabilities]) for _ in range(100)]
    )
    share = np.mean(naive >= error(labels) - 1e-12)
    options = {"binning_scheme": scheme, **scores, "num_bins": 2}
    options |= {"num_resamples": 2000, "seed": seed_of(rng)}
    p_value = calibration_test(labels, probabilities, **options).p_value
    deviation = np.sqrt(max(p_value * (1 - p_value), 0.005) / 100)
    assert abs(share - p_value) < SIGMAS * deviation + 0.01


@pytest.mark.thorough
@every_scheme
@pytest.mark.parametrize("scores", [TOP_LABEL, BY_CLASS, POSITIVE])
def test_calibrated_forecasts_are_rejected_at_the_level(scheme, scores, rng):
    classes = 2 if scores == POSITIVE else 3
    options = {"binning_scheme": scheme, **scores, "num_bins": 4, "num_resamples": 19}
    data_sets = (calibrated(rng, 30, classes) for _ in range(150))
    p_values = np.array(
        [calibration_test(*data, **options, seed=rng).p_value for data in data_sets]
    )
    for level in (0.1, 0.5):  # Multiples of 1 / (1 + num_resamples).
        share = np.mean(p_values <= level)
        noise = SIGMAS * np.sqrt(level * (1 - level) / len(p_values))
        assert share <= level + noise
        # Ties between the few possible outcomes make the test a little conservative.
        assert share >= 0.8 * level - noise


def test_power_grows_with_the_gap_and_with_the_data(rng):
    def p_value(n, gap):
        labels = rng.uniform(size=n) < 0.7 - gap
        return calibration_test(
            labels, np.full(n, 0.7), num_resamples=199, seed=seed_of(rng)
        ).p_value

    assert p_value(2000, 0.15) == 0.005  # The gap is 15 standard errors.
    assert p_value(20000, 0.05) == 0.005
    assert np.mean([p_value(200, 0.02) for _ in range(20)]) > 0.1


@pytest.mark.parametrize("hits", [60, 66, 70, 78])
def test_p_value_of_equal_scores_is_binomial(hits, rng):
    labels = np.arange(100) < hits
    p_value = calibration_test(
        labels, np.full(100, 0.7), num_resamples=3000, seed=seed_of(rng)
    ).p_value
    binomial = stats.binom(100, 0.7)
    gap = abs(hits - 70)
    expected = binomial.cdf(70 - gap) + binomial.sf(70 + gap - 1) if gap else 1.0
    deviation = np.sqrt(expected * (1 - expected) / 3000)
    assert abs(p_value - expected) <= SIGMAS * deviation + 1e-3


def test_certain_forecasts_have_extreme_p_values():
    right = calibration_test([0, 1], [[1.0, 0.0], [0.0, 1.0]], num_resamples=19)
    assert right == (0.0, 1.0)
    wrong = calibration_test([1, 0], [[1.0, 0.0], [0.0, 1.0]], num_resamples=19)
    assert wrong == (1.0, 0.05)


def test_forms_of_the_same_predictions(rng):
    labels, probabilities = calibrated(rng)
    seed = seed_of(rng)
    logits = np.log(probabilities)
    for scores in (TOP_LABEL, BY_CLASS):
        options = {**scores, "num_resamples": 200, "seed": seed}
        expected = calibration_test(labels, probabilities, **options)
        for arguments in (
            {"logits": logits},
            {"probs": probabilities.tolist()},
            {
                "probabilities": probabilities.reshape(4, 15, 3),
                "labels_predicted": np.argmax(logits, axis=1).reshape(4, 15),
            },
        ):
            shape = (4, 15) if "labels_predicted" in arguments else (60,)
            found = calibration_test(labels.reshape(shape), **arguments, **options)
            assert found == pytest.approx(expected, abs=1e-9)
        ignored = rng.uniform(size=60) < 0.3
        found = calibration_test(
            np.where(ignored, 255, labels),
            probabilities,
            **options,
            ignore_index=255,
        )
        assert found == calibration_test(
            labels[~ignored], probabilities[~ignored], **options
        )


def test_equal_seeds_give_equal_p_values(rng):
    data, seed = calibrated(rng), seed_of(rng)
    assert calibration_test(*data, seed=seed) == calibration_test(*data, seed=seed)
    tests = [calibration_test(*data, num_resamples=500) for _ in range(5)]
    assert len({test.p_value for test in tests}) > 1


def test_positive_class_needs_two_classes():
    with pytest.raises(ValueError, match="`positive_class` must be False"):
        calibration_test([0], [[0.2, 0.3, 0.5]], positive_class=True)


def test_rows_must_sum_to_1_if_labels_are_drawn_from_them():
    probabilities = np.array([[0.6, 0.6], [0.5, 0.5]])
    calibration_test([0, 1], probabilities, num_resamples=9)
    for scores in (BY_CLASS, POOLED):
        with pytest.raises(
            ValueError, match=r"`probs` must hold rows that sum to 1. Received: sum 1.2"
        ):
            calibration_test([0, 1], probs=probabilities, **scores)
        half = np.float16([[0.3331, 0.3331, 0.3331]])  # The sum is 0.9994.
        calibration_test([0], half, **scores, num_resamples=9)


# Intervals for the accuracies in bins.


def test_band_of_equal_scores_ends_at_binomial_quantiles(rng):
    examples = _examples.examples(np.ones(200, int), np.full(200, 0.7))
    spec = spec_of(num_bins=5)
    lower, upper = _simulated_bins.consistency_band(examples, spec, 0.9, 20000, 0)
    assert np.flatnonzero(~np.isnan(lower)).tolist() == [3]
    binomial = stats.binom(200, 0.7)
    noise = SIGMAS * np.sqrt(0.05 * 0.95 / 20000)
    for end, level in ((lower[0, 3], 0.05), (upper[0, 3], 0.95)):
        low, high = binomial.ppf([level - noise, level + noise]) / 200
        assert low <= end <= high


@every_scheme
@every_score
@pytest.mark.parametrize("weighted", [False, True])
def test_band_holds_a_calibrated_model(scheme, scores, weighted, rng):
    held = total = 0
    spec = spec_of(scheme, scores, num_bins=3)
    for _ in range(20):
        weights = rng.choice([1.0, 2.0], 80) if weighted else None
        examples, statistics = binned(spec, *calibrated(rng, 80), weights)
        lower, upper = _simulated_bins.consistency_band(examples, spec, 0.8, 200, rng)
        some = statistics.counts > 0
        np.testing.assert_array_equal(np.isnan(lower), ~some)
        np.testing.assert_array_equal(np.isnan(upper), ~some)
        inside = (lower <= statistics.accuracies) & (statistics.accuracies <= upper)
        held, total = held + np.sum(inside[some]), total + np.sum(some)
    # Bins of a data set are nearly independent; bands of small bins hold more than 80%.
    assert held / total > 0.78 - SIGMAS * np.sqrt(2 * 0.8 * 0.2 / total)


@every_scheme
@every_score
def test_effective_sizes_of_bins_do_not_depend_on_the_scale_of_weights(
    scheme, scores, rng
):
    # m weights of w and n of 2 w have the size (m + 2 n)^2 / (m + 4 n), whatever w is.
    labels, probabilities = calibrated(rng, 90)
    spec = spec_of(scheme, scores, num_bins=3)
    for scale in (1e-200, 1.0, 1e200):
        weights = scale * rng.choice([1.0, 2.0], 90)
        examples, statistics = binned(spec, labels, probabilities, weights)
        sizes = _simulated_bins.effective_sizes(examples, spec, statistics)
        entries = _simulated_bins.entries(examples, spec, statistics)
        for cell, size in enumerate(sizes.ravel()):
            held = weights[np.nonzero(entries.cells == cell)[0]] / scale
            once, twice = np.sum(held < 1.5), np.sum(held > 1.5)
            expected = (once + 2 * twice) ** 2 / max(once + 4 * twice, 1)
            assert size == pytest.approx(expected, rel=1e-9)
    examples, statistics = binned(spec, labels, probabilities)
    sizes = _simulated_bins.effective_sizes(examples, spec, statistics)
    np.testing.assert_array_equal(sizes, statistics.counts)


def test_interval_of_draws_leaves_out_equal_tails(rng):
    draws = rng.permutation(np.arange(1001.0))[:, None] * np.ones(2)
    draws[:, 1] = np.nan
    lower, upper = _simulated_bins.interval(draws, 0.95)
    assert lower[0] == 25
    assert upper[0] == 975
    assert np.isnan(lower[1])
    assert np.isnan(upper[1])


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_errors_of_many_draws_are_those_of_loops(rng, norm):
    counts = rng.integers(0, 4, (3, 5)).astype(float)  # Some bins are empty.
    counts[:, 0] = 2.0
    scores = counts * rng.random((3, 5))
    draws = [counts * rng.random((3, 5)) for _ in range(1000)]  # In several parts.
    statistics = _binning.BinStatistics(None, counts, scores, np.zeros((3, 5)))
    found = list(_simulated_bins.errors_of(statistics, iter(draws), norm))

    def error(gaps, masses):
        per_bin = [abs(g) / m for g, m in zip(gaps, masses, strict=True) if m > 0]
        if norm == "max":
            return max(per_bin)
        power = 1 if norm == "l1" else 2
        each = zip(per_bin, masses[masses > 0], strict=True)
        return sum(m * e**power for e, m in each) / masses.sum()

    for drawn, value in zip(draws, found, strict=True):
        errors = [error(*group) for group in zip(drawn - scores, counts, strict=True)]
        expected = max(errors) if norm == "max" else np.mean(errors)
        expected = np.sqrt(expected) if norm == "l2" else expected
        assert value == pytest.approx(expected, rel=1e-12)
