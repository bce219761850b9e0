"""Calibration of predicted means and variances against independent references."""

import fractions
import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn import metrics

from uncertainty_metrics.numpy import regression
from uncertainty_metrics.numpy.calibrators import temperature_scaling
from uncertainty_metrics.numpy.regression import _levels


def make(rng, n=60, scale=1.0):
    """Makes predictions, variances and targets, calibrated if the scale is 1."""
    means = rng.normal(size=n) * 3
    variances = np.exp(rng.normal(size=n))
    targets = means + scale * np.sqrt(variances) * rng.normal(size=n)
    return means, variances, targets


def coverage(means, variances, targets, level, weights=None):
    """Returns the coverage by a loop over examples, with the intervals of SciPy."""
    weights = np.ones(len(means)) if weights is None else weights
    covered = 0.0
    for mean, variance, y, weight in zip(
        means, variances, targets, weights, strict=True
    ):
        low, high = stats.norm.interval(level, mean, np.sqrt(variance))
        covered += weight * (low <= y <= high)
    return covered / sum(weights)


def normalized_error(means, variances, targets, n_bins, weights):
    """Returns the ENCE by a loop over bins of equal mass, in rational numbers."""
    exact = [fractions.Fraction(float(w)) for w in weights]
    rows = list(zip(variances, (targets - means) ** 2, exact, strict=True))
    bins = {}
    for v, square, w in rows:
        below = sum((other for u, _, other in rows if u < v), fractions.Fraction(0))
        at = sum((other for u, _, other in rows if u == v), fractions.Fraction(0))
        place = min(n_bins - 1, int(n_bins * (below + at / 2) / sum(exact)))
        bins.setdefault(place, []).append((v, square, float(w)))
    error = 0.0
    for held in bins.values():
        mass = sum(w for _, _, w in held)
        rmv = math.sqrt(sum(w * v for v, _, w in held) / mass)
        rmse = math.sqrt(sum(w * square for _, square, w in held) / mass)
        error += mass / sum(weights) * abs(rmv - rmse) / rmv
    return error


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bins", [1, 2, 10, 37])
def test_curve_and_its_error_equal_the_loop(n_bins, weighted, rng):
    data = make(rng, scale=1.5)
    weights = rng.uniform(size=60) if weighted else None
    levels = np.linspace(0.1, 0.99, n_bins)
    expected = np.array([coverage(*data, level, weights) for level in levels])
    curve = regression.compute_calibration_curve(*data, n_bins, sample_weight=weights)
    np.testing.assert_array_equal(curve["expected_coverage"], levels)
    np.testing.assert_allclose(curve["observed_coverage"], expected, atol=1e-14)
    total = 60 if weights is None else weights.sum()
    np.testing.assert_allclose(curve["bin_counts"], np.full(n_bins, total))
    error = regression.expected_calibration_error(*data, n_bins, sample_weight=weights)
    assert error == pytest.approx(np.mean(np.abs(expected - levels)), abs=1e-14)
    assert isinstance(error, float)


def test_curve_by_hand():
    # |z| is 0, 1 and 2; the intervals of levels from 0, 0.683 and 0.954 on hold these.
    curve = regression.compute_calibration_curve([0, 0, 0], [1, 4, 9], [0, -2, 6], 4)
    levels = [0.1, 0.1 + 0.89 / 3, 0.1 + 2 * 0.89 / 3, 0.99]
    np.testing.assert_allclose(curve["expected_coverage"], levels)
    np.testing.assert_allclose(curve["observed_coverage"], [1 / 3, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("level", [1e-12, 0.5, 0.95, 1 - 1e-15])
def test_limits_are_precise_for_extreme_levels(level):
    limit = _levels.normal_limits([level])[0]
    assert limit == pytest.approx(-stats.norm.ppf((1 - level) / 2), rel=1e-9, abs=1e-15)


def test_levels_may_be_in_any_order(rng):
    data = make(rng)
    levels = [0.9, 0.1, 0.9, 0.5]
    expected = np.array([coverage(*data, level) for level in levels])
    for form in (levels, tuple(levels), np.array(levels)):
        result = regression.interval_coverage(*data, level=form)
        np.testing.assert_allclose(result, expected, atol=1e-14)
    gaps = regression.calibration_error(*data, level=levels)
    np.testing.assert_allclose(gaps, np.abs(expected - levels), atol=1e-14)
    single = regression.calibration_error(*data, level=0.9)
    assert isinstance(single, float)
    assert single == gaps[0]


def test_likelihood_equals_scipy(rng):
    means, variances, targets = make(rng)
    weights = rng.uniform(size=60)
    scores = -stats.norm.logpdf(targets, means, np.sqrt(variances))
    for weight in (None, weights):
        result = regression.negative_log_likelihood(
            means, variances, targets, sample_weight=weight
        )
        assert result == pytest.approx(np.average(scores, weights=weight), rel=1e-13)


def test_likelihood_of_very_small_and_large_variances_by_hand():
    variances = np.array([1e-300, 1e300])
    result = regression.negative_log_likelihood([0, 0], variances, [1e-150, 1e150])
    assert result == pytest.approx(0.5 * (math.log(2 * math.pi) + 1))


def test_widths_and_errors_equal_their_references(rng):
    means, variances, targets = make(rng)
    weights = rng.uniform(size=60)
    stddevs = np.sqrt(variances)
    options = {"sample_weight": weights}
    expected = np.average(stddevs, weights=weights)
    assert regression.sharpness(variances, **options) == pytest.approx(expected)
    low, high = stats.norm.interval(0.8, means, stddevs)
    expected = np.average(high - low, weights=weights)
    width = regression.interval_width(variances, 0.8, **options)
    assert width == pytest.approx(expected)
    widths = regression.interval_width(variances, [0.5, 0.8], **options)
    assert widths[1] == width > widths[0]
    expected = metrics.root_mean_squared_error(targets, means, **options)
    result = regression.root_mean_squared_error(means, targets, **options)
    assert result == pytest.approx(expected)


@pytest.mark.parametrize("n_bins", [1, 3, 10, 100])
@pytest.mark.parametrize("ties", [False, True])
def test_normalized_error_equals_the_loop(n_bins, ties, rng):
    means, variances, targets = make(rng, n=40, scale=2.0)
    if ties:
        variances = np.ceil(variances * 2) / 2
    for weights in (np.ones(40), rng.integers(1, 4, 40) / 4, rng.uniform(size=40)):
        result = regression.ence(
            means, variances, targets, n_bins, sample_weight=weights
        )
        expected = normalized_error(means, variances, targets, n_bins, weights)
        assert result == pytest.approx(expected, abs=1e-13)
    plain = regression.ence(means, variances, targets, n_bins)
    expected = normalized_error(means, variances, targets, n_bins, np.ones(40))
    assert plain == pytest.approx(expected, abs=1e-13)


def test_normalized_error_by_hand():
    # One bin has variances of 1 and errors of 2, the other variances of 9 and no
    # errors.
    data = [0, 0, 0, 0], [9, 1, 9, 1], [0, 2, 0, -2]
    assert regression.ence(*data, n_bins=2) == pytest.approx(0.5 * (1 + 1))
    # In one bin: RMV^2 = 5, RMSE^2 = 2.
    assert regression.ence(*data, n_bins=1) == pytest.approx(1 - math.sqrt(2 / 5))
    assert regression.ence is regression.expected_normalized_calibration_error


def test_evaluate_calibration_has_the_values_of_all_metrics(rng):
    means, variances, targets = data = make(rng)
    options = {
        "mask": rng.uniform(size=60) < 0.7,
        "sample_weight": rng.uniform(size=60),
    }
    values = regression.evaluate_calibration(*data, n_bins=7, **options)
    weights = options["mask"] * options["sample_weight"]
    z = np.abs(targets - means) / np.sqrt(variances)
    expected = {
        "nll": regression.negative_log_likelihood(*data, **options),
        "ece": regression.expected_calibration_error(*data, 7, **options),
        "rmse": regression.root_mean_squared_error(means, targets, **options),
        "sharpness": regression.sharpness(variances, **options),
        "mean_z_score": np.average(z, weights=weights),
    }
    assert values == pytest.approx(expected, rel=1e-14)
    assert list(values) == list(expected)
    assert all(isinstance(value, float) for value in values.values())


def test_examples_that_the_mask_or_the_weight_leaves_out_may_be_nan(rng):
    data, place = make(rng), np.arange(60)
    options = {"mask": place % 2 > 0, "sample_weight": place % 3}
    kept = place[options["mask"] & (options["sample_weight"] > 0)]
    holes = [np.where(np.isin(place, kept), values, np.nan) for values in data]
    expected = regression.evaluate_calibration(
        *(values[kept] for values in data), sample_weight=kept % 3
    )
    found = regression.evaluate_calibration(*holes, **options)
    assert found == pytest.approx(expected, rel=1e-14)


def test_metrics_of_calibrated_and_of_too_narrow_forecasts(rng):
    n = 20000
    means, variances, targets = data = make(rng, n)
    values = regression.evaluate_calibration(*data)
    # The limit is 5 standard errors; the variance of |z| is 1 - 2 / pi.
    spread = math.sqrt((1 - 2 / math.pi) / n)
    assert values["mean_z_score"] == pytest.approx(
        math.sqrt(2 / math.pi), abs=5 * spread
    )
    limit = 5 * 0.5 / math.sqrt(n)
    assert values["ece"] < limit
    assert regression.calibration_error(*data) < limit
    assert regression.ence(*data) < 5 * math.sqrt(10 / (2 * n))
    narrow = regression.evaluate_calibration(means, variances / 4, targets)
    assert narrow["mean_z_score"] == pytest.approx(2 * values["mean_z_score"])
    # For example, a 95% interval of half the width holds 67% of the targets.
    shares = 2 * stats.norm.cdf(_levels.normal_limits(np.linspace(0.1, 0.99, 10)) / 2)
    expected = np.mean(np.linspace(0.1, 0.99, 10) - (shares - 1))
    assert narrow["ece"] == pytest.approx(expected, abs=limit)
    assert regression.ence(means, variances / 4, targets) == pytest.approx(1, abs=0.1)
    scaler = regression.TemperatureScaling().fit(means, variances / 4, targets)
    assert scaler.temperature == pytest.approx(4, abs=4 * 5 * math.sqrt(2 / n))


def test_pit_equals_scipy(rng):
    means, variances, targets = make(rng)
    pit = regression.probability_integral_transform(means, variances, targets)
    expected = stats.norm.cdf(targets, means, np.sqrt(variances))
    np.testing.assert_allclose(pit, expected, rtol=1e-12)
    far = regression.probability_integral_transform([0, 0], [1, 1], [-20, 20])
    np.testing.assert_allclose(far, [stats.norm.cdf(-20), 1.0], rtol=1e-10)


def test_pit_of_normal_forecasts_gives_their_calibration_curve(rng):
    data = make(rng, scale=1.3)
    pit = regression.probability_integral_transform(*data)
    weights = rng.uniform(size=60)
    for n_bins in (1, 10):
        curve = regression.pit_calibration_curve(pit, n_bins, sample_weight=weights)
        expected = regression.compute_calibration_curve(
            *data, n_bins, sample_weight=weights
        )
        for name in ("expected_coverage", "observed_coverage", "bin_counts"):
            np.testing.assert_allclose(curve[name], expected[name], atol=1e-14)
    error = regression.pit_calibration_error(pit, sample_weight=weights)
    expected = regression.expected_calibration_error(*data, sample_weight=weights)
    assert error == pytest.approx(expected, abs=1e-14)


def test_coverage_by_pit_values_counts_ends_despite_rounding():
    # |2 * 0.55 - 1| is 0.1 in decimal numbers, but more than 0.1 in binary ones.
    for dtype in (np.float32, np.float64):
        pit = np.array([0.45, 0.55, 0.995, 0.005, 0.9951], dtype)
        curve = regression.pit_calibration_curve(pit, 2)
        np.testing.assert_allclose(curve["observed_coverage"], [0.4, 0.8])


@pytest.mark.parametrize("m", [1, 2, 7])
def test_sample_pit_equals_the_loop(m, rng):
    samples = rng.integers(0, 4, [30, m])
    targets = rng.integers(0, 4, 30)
    pit = regression.sample_pit(samples, targets)
    assert pit.lower.shape == pit.upper.shape == (30,)
    for row, y, lower, upper in zip(samples, targets, *pit, strict=True):
        assert lower == sum(s < y for s in row) / (m + 1)
        assert upper == (sum(s <= y for s in row) + 1) / (m + 1)


def interval_mass(lower, upper, left, right):
    """Returns the share of an interval between two points."""
    if lower == upper:
        return float(left < lower <= right or lower == left == 0)
    return max(min(upper, right) - max(lower, left), 0) / (upper - lower)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 2, 10, 37])
def test_histogram_and_curve_of_pit_intervals_equal_the_loop(n_bins, dtype, rng):
    lower = rng.choice([0, 0.1, 0.3, 0.5, 1], 60).astype(dtype)
    upper = rng.choice([0, 1e-3, 0.05, 0.2, 1], 60).astype(dtype)
    pit = regression.PITInterval(lower, np.minimum(lower + upper, 1))
    mask, weights = rng.uniform(size=60) < 0.8, rng.uniform(size=60)
    options = {"mask": mask, "sample_weight": weights}
    histogram = regression.pit_histogram(pit, n_bins, **options)
    plain = regression.pit_histogram((pit.lower, pit.upper), n_bins, **options)
    np.testing.assert_array_equal(plain.counts, histogram.counts)
    ends = [end.astype(np.float32 if dtype == np.float16 else dtype) for end in pit]
    edges = np.linspace(0, 1, n_bins + 1).astype(ends[0].dtype)

    def mass(left, right):
        ends64 = zip(*(end.astype(float) for end in ends), strict=True)
        shares = [interval_mass(*pair, left, right) for pair in ends64]
        return np.sum(weights * mask * shares)

    expected = [mass(float(a), float(b)) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(histogram.counts, expected, atol=1e-12)
    total = np.sum(weights * mask)
    density = np.array(expected) / total * n_bins
    np.testing.assert_allclose(histogram.density, density, atol=1e-12)
    curve = regression.pit_calibration_curve(pit, n_bins, **options)
    limits = _levels.pit_limits(curve["expected_coverage"], ends[0].dtype)
    expected = [mass((1 - p) / 2, (1 + p) / 2) / total for p in limits]
    np.testing.assert_allclose(curve["observed_coverage"], expected, atol=1e-12)
    np.testing.assert_allclose(curve["bin_counts"], total)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("m", [1, 2, 10, 99])
def test_pit_of_samples_of_calibrated_forecasts_is_uniform(m, ties, rng):
    n = 20000
    draws = rng.normal(size=[n, m + 1])
    draws = np.round(draws) if ties else draws
    pit = regression.sample_pit(draws[:, 1:], draws[:, 0])
    # An interval of an example varies no more than one value: 5 standard errors.
    density = regression.pit_histogram(pit).density
    np.testing.assert_allclose(density, 1, atol=5 * math.sqrt(9 / n))
    assert regression.pit_calibration_error(pit) < 5 * 0.5 / math.sqrt(n)
    # If samples are too close together, the outermost ranks are too frequent.
    narrow = regression.sample_pit(draws[:, 1:] / 2, draws[:, 0])
    assert regression.pit_calibration_error(narrow) > 0.05 or m == 1


def test_narrow_pit_intervals_keep_their_mass():
    # Intervals of no width at an edge, and of one or two rounding errors across it.
    for dtype in (np.float32, np.float64):
        at = np.full(5, 0.1, dtype)
        for step in (0, 1, 2):
            upper = at + step * np.spacing(at)
            result = regression.pit_histogram(regression.PITInterval(at, upper), 10)
            assert np.all(result.counts >= 0)
            np.testing.assert_allclose(result.counts.sum(), 5)
            np.testing.assert_allclose(result.counts[:2].sum(), 5)
            assert result.counts[0] == (5 if step == 0 else 0)


def test_quantile_pit_equals_the_loop(rng):
    levels = [0.05, 0.3, 0.5, 0.95]
    knots = np.sort(rng.integers(0, 6, [200, 4]), axis=1)
    targets = rng.choice([-1, 0, 0.5, 1, 2, 3.5, 4, 5, 6], 200)
    pit = regression.quantile_pit(knots, levels, targets)
    known = [0, *levels, 1]
    for row, y, lower, upper in zip(knots.tolist(), targets, *pit, strict=True):
        quantiles = [-math.inf, *row, math.inf]
        j = max(j for j in range(6) if quantiles[j] < y)  # The last one below.
        k = min(k for k in range(6) if quantiles[k] > y)  # The first one above.
        expected = [known[j], known[k]]
        if k > j + 1:  # The target equals those between.
            expected = [
                (known[j] + known[j + 1]) / 2 if j else 0,
                (known[k - 1] + known[k]) / 2 if k < 5 else 1,
            ]
        assert [lower, upper] == pytest.approx(expected, abs=1e-15)


def test_quantile_pit_by_hand():
    knots = [[0.0, 1.0, 1.0, 2.0]] * 6
    targets = [-9.0, 0.0, 0.5, 1.0, 2.0, 9.0]
    pit = regression.quantile_pit(knots, [0.2, 0.4, 0.6, 0.8], targets)
    np.testing.assert_allclose(pit.lower, [0, 0, 0.2, 0.3, 0.7, 0.8])
    np.testing.assert_allclose(pit.upper, [0.2, 0.3, 0.4, 0.7, 1, 1])


@pytest.mark.parametrize("distribution", [stats.norm(), stats.expon()])
@pytest.mark.parametrize("levels", [np.arange(1, 10) / 10, [0.025, 0.25, 0.5, 0.975]])
def test_pit_of_right_quantiles_is_uniform(distribution, levels, rng):
    n = 20000
    targets = distribution.rvs(n, random_state=rng)
    knots = np.tile(distribution.ppf(levels), (n, 1))
    pit = regression.quantile_pit(knots, levels, targets)
    density = regression.pit_histogram(pit).density
    np.testing.assert_allclose(density, 1, atol=5 * math.sqrt(9 / n))
    assert regression.pit_calibration_error(pit) < 5 * 0.5 / math.sqrt(n)
    # Twice as wide, more targets are inside.
    middle = distribution.median()
    pit = regression.quantile_pit(2 * (knots - middle) + middle, levels, targets)
    assert regression.pit_calibration_error(pit) > 0.05


@pytest.mark.parametrize(
    "distribution", [stats.bernoulli(0.5), stats.poisson(1), stats.poisson(20)]
)
def test_pit_of_right_quantiles_of_counts_is_nearly_uniform(distribution, rng):
    targets = distribution.rvs(20000, random_state=rng)
    levels = np.concatenate([[0.01, 0.025], np.arange(1, 20) / 20, [0.975, 0.99]])
    knots = np.tile(distribution.ppf(levels), (20000, 1))
    pit = regression.quantile_pit(knots, levels, targets)
    assert regression.pit_calibration_error(pit) < 0.02 + 5 * 0.5 / math.sqrt(20000)


def test_quantile_pit_keeps_the_coverage_of_the_intervals(rng):
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    knots = np.sort(rng.integers(0, 1000, [50, 1]) + np.arange(5) * 7.0, axis=1)
    targets = knots[:, 0] + rng.integers(-8, 36, 50) + 0.5
    pit = regression.quantile_pit(knots, levels, targets)
    for low, high in ((0, 4), (1, 3)):
        covered = (knots[:, low] <= targets) & (targets <= knots[:, high])
        within = (pit.lower >= levels[low]) & (pit.upper <= levels[high])
        np.testing.assert_array_equal(within, covered)


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_pit_histogram_equals_numpy(n_bins, rng):
    pit = rng.uniform(size=80)
    weights = rng.uniform(size=80)
    for weight in (None, weights):
        result = regression.pit_histogram(pit, n_bins, sample_weight=weight)
        options = {"bins": n_bins, "range": (0, 1), "weights": weight}
        counts, edges = np.histogram(pit, **options)
        np.testing.assert_allclose(result.edges, edges)
        np.testing.assert_allclose(result.counts, counts)
        density, _ = np.histogram(pit, density=True, **options)
        np.testing.assert_allclose(result.density, density)
        assert result.counts.dtype == np.float64


def test_bins_of_the_pit_histogram_are_closed_on_the_right():
    for dtype in (np.float16, np.float32, np.float64):
        pit = np.linspace(0, 1, 11).astype(dtype)
        result = regression.pit_histogram(pit, 10)
        assert result.counts.tolist() == [2.0] + [1.0] * 9


def test_temperature_minimises_the_likelihood(rng):
    means, variances, targets = make(rng, scale=2.0)
    mask, weights = rng.uniform(size=60) < 0.8, rng.uniform(size=60)
    options = {"mask": mask, "sample_weight": weights}

    def likelihood(log_t):
        scaled = np.exp(log_t) * variances
        return regression.negative_log_likelihood(means, scaled, targets, **options)

    best = optimize.minimize_scalar(likelihood, (-3, 3), options={"xtol": 1e-10})
    scaler = regression.TemperatureScaling()
    assert (scaler.temperature, scaler.is_fitted) == (1.0, False)
    assert scaler.fit(means, variances, targets, **options) is scaler
    assert scaler.is_fitted
    assert isinstance(scaler.temperature, float)
    assert scaler.temperature == pytest.approx(np.exp(best.x), rel=1e-6)
    scaled = scaler.transform(variances.reshape(6, 10))
    np.testing.assert_array_equal(scaled, scaler.temperature * variances.reshape(6, 10))
    again = regression.TemperatureScaling().fit(
        means[mask], scaled.reshape(-1)[mask], targets[mask], max_iter=1, lr=9.0
    )
    assert again.temperature != 1.0  # Without weights another temperature is best.
    scaler.fit(means, scaled.reshape(-1), targets, **options)
    assert scaler.temperature == pytest.approx(1.0)


def test_file_of_another_kind_of_scaling_raises(tmp_path):
    scaler = regression.TemperatureScaling().fit([0.0], [1.0], [2.0])
    scaler.save(tmp_path / "scaler.json")
    loaded = regression.TemperatureScaling.load(tmp_path / "scaler.json")
    assert loaded.temperature == 4.0
    with pytest.raises(ValueError, match=r"scaler\.json"):
        temperature_scaling.TemperatureScaling.load(tmp_path / "scaler.json")
