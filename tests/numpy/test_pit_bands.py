"""Uniform PIT values: bands of the ECDF, rank histograms, discrete forecasts."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import regression
from uncertainty_metrics.numpy.regression import ecdf

mpl.use("Agg")

pytestmark = pytest.mark.usefixtures("close_figures")


def probability_within(n, points, lower, upper):
    """Returns the probability that the ECDF of n uniform values is within the band."""
    mass = {0: 1.0}
    lower, upper = np.rint(lower * n), np.rint(upper * n)
    for (before, here), low, high in zip(
        itertools.pairwise(points), lower[1:], upper[1:], strict=True
    ):
        step = min((here - before) / (1 - before), 1.0)
        mass = {
            k: sum(
                share * stats.binom.pmf(k - j, n - j, step)
                for j, share in mass.items()
                if j <= k
            )
            for k in range(int(low), int(high) + 1)
        }
    return sum(mass.values())


@pytest.mark.parametrize(
    ("n", "level", "excess"),
    [(1, 0.8, 0.021), (2, 0.95, 0.011), (4, 0.8, 0.035), (12, 0.9, 2e-3)],
)
def test_the_band_has_its_level(n, level, excess):
    points, lower, upper = band = regression.ecdf_band(n, level)
    np.testing.assert_array_equal(points, np.linspace(0, 1, 101))
    np.testing.assert_allclose(lower, 1 - upper[::-1], atol=1e-15)
    assert lower[0] == upper[0] == 0
    assert lower[-1] == upper[-1] == 1
    assert level <= probability_within(n, *band) <= level + excess


@pytest.mark.parametrize("n", [50, 1000])
def test_uniform_values_stay_within_the_band(n, rng):
    level, repeats = 0.9, 4000
    points, lower, upper = regression.ecdf_band(n, level)
    counts = rng.multinomial(n, [0.01] * 100, repeats).cumsum(axis=1)
    within = np.all((lower[1:] * n <= counts) & (counts <= upper[1:] * n), axis=1)
    bound = 5 * np.sqrt(level * (1 - level) / repeats)
    assert abs(within.mean() - level) < bound + 1e-3
    # Pointwise bands hold the whole curve much less often.
    ends = stats.binom.ppf([[0.05], [0.95]], n, points[1:])
    apart = np.all((ends[0] <= counts) & (counts <= ends[1]), axis=1)
    assert apart.mean() < 0.6


@pytest.mark.parametrize("m", [3, 19])
def test_calibrated_samples_stay_within_the_band(m, rng):
    n, level, repeats = 100, 0.9, 200
    _, lower, upper = regression.ecdf_band(n, level)
    within = 0
    for _ in range(repeats):
        draws = rng.normal(size=[n, m + 1])
        pit = regression.sample_pit(draws[:, 1:], draws[:, 0])
        share = np.cumsum(regression.pit_histogram(pit, 100).counts) / n
        within += np.all((lower[1:] <= share + 1e-12) & (share <= upper[1:] + 1e-12))
    assert within / repeats > level - 5 * np.sqrt(level * (1 - level) / repeats)


def test_bands_widen_with_the_level_and_narrow_with_the_size():
    narrow, wide = (regression.ecdf_band(100, level) for level in (0.5, 0.99))
    assert np.all(wide.lower <= narrow.lower)
    assert np.all(wide.upper >= narrow.upper)
    assert np.any(wide.upper > narrow.upper)
    # For sizes above the exact computation the width is proportional to 1 / sqrt(n).
    ecdf._tail.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ecdf, "_MAX_EXACT", 10**4)
        widths = [
            np.ptp(regression.ecdf_band(n)[1:], axis=0)[50] for n in (10**4, 10**8)
        ]
    ecdf._tail.cache_clear()
    assert widths[0] / widths[1] == pytest.approx(100, rel=0.01)


def test_rank_histogram_equals_the_loop(rng):
    labels = rng.integers(0, 4, [5, 6])
    samples = rng.integers(0, 4, [5, 6, 7])
    weights = rng.uniform(size=[5, 6])
    counts = np.zeros(8)
    for i in np.ndindex(5, 6):
        below = sum(x < labels[i] for x in samples[i])
        possible = range(below, sum(x <= labels[i] for x in samples[i]) + 1)
        for rank in possible:
            counts[rank] += weights[i] / len(possible)
    found = um.rank_histogram(labels, samples, sample_weight=weights)
    np.testing.assert_allclose(found.counts, counts, atol=1e-12)
    np.testing.assert_allclose(found.density, counts / weights.sum() * 8)
    pit = regression.sample_pit(samples, labels)
    histogram = regression.pit_histogram(pit, 8, sample_weight=weights)
    np.testing.assert_allclose(histogram.counts, counts, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_ranks_of_calibrated_samples_are_uniform(ties, rng):
    n, m = 20000, 9
    draws = rng.normal(size=[n, m + 1])
    draws = np.round(draws) if ties else draws
    density = um.rank_histogram(draws[:, 0], draws[:, 1:]).density
    np.testing.assert_allclose(density, 1, atol=5 * np.sqrt(m / n))
    if not ties:
        counts = um.rank_histogram(draws[:, 0], draws[:, 1:]).counts
        ranks = np.sum(draws[:, 1:] < draws[:, :1], axis=1)
        np.testing.assert_array_equal(counts, np.bincount(ranks, minlength=m + 1))


def test_rank_histogram_of_bad_data_raises():
    with pytest.raises(ValueError, match="seem to be swapped"):
        um.rank_histogram(np.zeros([3, 4]), np.zeros(3))
    with pytest.raises(ValueError, match="at least one example of positive weight"):
        um.rank_histogram([0.0], [[1.0, 2.0]], sample_weight=[0.0])


def test_pit_of_calibrated_count_forecasts_is_uniform(rng):
    n = 20000
    rate = rng.uniform(0.2, 5, n)
    y = rng.poisson(rate)
    pit = regression.PITInterval(
        stats.poisson.cdf(y - 1, rate), stats.poisson.cdf(y, rate)
    )
    density = regression.pit_histogram(pit).density
    np.testing.assert_allclose(density, 1, atol=5 * np.sqrt(9 / n))
    assert regression.pit_calibration_error(pit) < 5 * 0.5 / np.sqrt(n)
    _, lower, upper = regression.ecdf_band(n, 1 - 1e-6)
    share = np.cumsum(regression.pit_histogram(pit, 100).counts) / n
    assert np.all((lower[1:] <= share + 1e-12) & (share <= upper[1:] + 1e-12))
    # The upper ends alone are not uniform.
    assert np.max(np.abs(regression.pit_histogram(pit.upper).density - 1)) > 0.2


def line(ax, label):
    (found,) = (line for line in ax.lines if line.get_label() == label)
    return found.get_xydata().T


@pytest.mark.parametrize("consistency_band", [0.9, None])
def test_ecdf_plot_shows_the_ecdf_and_its_band(consistency_band, rng, ax):
    pit, mask = rng.beta(0.7, 0.7, size=300), rng.random(300) < 0.5
    options = {"kind": "ecdf", "consistency_band": consistency_band}
    assert regression.pit_diagram(pit, mask=mask, ax=ax, **options) is ax
    assert ax.get_title() == "PIT ECDF"
    points, drawn = line(ax, "Observed")
    share = [np.mean(pit[mask] <= point) for point in np.linspace(0, 1, 101)]
    np.testing.assert_allclose(drawn, share - points, atol=1e-12)
    assert set(line(ax, "Perfect calibration")[1]) == {0}
    assert len(ax.collections) == (consistency_band is not None)
    if consistency_band is not None:
        _, lower, upper = regression.ecdf_band(mask.sum(), consistency_band)
        (path,) = ax.collections[0].get_paths()
        for end in (lower, upper):
            corners = {tuple(corner) for corner in path.vertices.round(9)}
            ends = np.stack([points, end - points], axis=-1).round(9)
            assert {tuple(corner) for corner in ends} <= corners


def test_unknown_kinds_of_plots_raise():
    with pytest.raises(ValueError, match="`kind` must be one of 'histogram', 'ecdf'"):
        regression.pit_diagram([0.5], kind="bars")
