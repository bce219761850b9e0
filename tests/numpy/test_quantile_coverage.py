"""Coverage of predicted quantiles, and the scale of scores of time series."""

import math

import numpy as np
import pytest
from scipy import stats

from uncertainty_metrics.numpy import regression

LEVELS = (0.05, 0.25, 0.5, 0.7, 0.75, 0.95)


def forecasts(rng, n=60):
    knots = np.sort(rng.normal(size=[n, len(LEVELS)]), axis=1)
    return knots, rng.normal(size=n)


def wilson(share, n, level=0.95):
    z = stats.norm.ppf((1 + level) / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


def test_coverage_equals_counts(rng):
    knots, targets = forecasts(rng)
    table = regression.quantile_coverage(knots, LEVELS, targets, level=0.9)
    assert [row.kind for row in table] == ["interval"] * 2 + ["quantile"] * 6
    np.testing.assert_allclose([row.level for row in table], [0.5, 0.9, *LEVELS])
    for row, (i, j) in zip(table, [(1, 4), (0, 5)], strict=False):
        hits = [
            low <= y <= high
            for low, high, y in zip(knots[:, i], knots[:, j], targets, strict=True)
        ]
        assert row.coverage == pytest.approx(np.mean(hits))
        assert row[3:5] == pytest.approx(wilson(np.mean(hits), 60, 0.9))
        assert row.mean_width == pytest.approx(np.mean(knots[:, j] - knots[:, i]))
    for k, row in enumerate(table.rows[2:]):
        hits = targets <= knots[:, k]
        assert row.coverage == pytest.approx(np.mean(hits))
        assert row[3:5] == pytest.approx(wilson(np.mean(hits), 60, 0.9))
        assert math.isnan(row.mean_width)
    assert repr(table).startswith("Coverage of 60 targets, with 90% intervals\n| of ")
    assert table.to_dict()["mean_width"][-1] is None
    assert len(table) == len(table.to_frame()) == 8


def test_masks_and_weights_count_as_copies(rng):
    knots, targets = forecasts(rng)
    mask, weights = rng.uniform(size=60) < 0.8, rng.integers(0, 3, 60)
    targets[~mask] = np.nan
    knots[weights == 0] = np.inf
    options = {"mask": mask[:, None], "sample_weight": weights}
    found = regression.quantile_coverage(knots, LEVELS, targets[:, None], **options)
    copies = np.repeat(np.arange(60), weights * mask)
    expected = regression.quantile_coverage(knots[copies], LEVELS, targets[copies])
    np.testing.assert_allclose(
        [row[1:] for row in found], [row[1:] for row in expected], rtol=1e-12
    )


def test_clusters_of_copies_are_as_wide_as_one_example_each(rng):
    knots, targets = forecasts(rng)
    once = regression.quantile_coverage(knots, LEVELS, targets)
    many = regression.quantile_coverage(
        *(np.repeat(knots, 5, axis=0), LEVELS, np.repeat(targets, 5)),
        clusters=np.repeat(np.arange(60), 5),
    )
    np.testing.assert_allclose([row[1:] for row in many], [row[1:] for row in once])
    assert many.num_clusters == 60
    assert once.num_clusters is None
    assert "Coverage of 300 targets in 60 clusters" in repr(many)


def test_confidence_intervals_hold_the_coverage_of_dependent_series(rng):
    """Series of 14 horizons that share an error; 200 data sets."""
    held = {"clusters": 0, "independent": 0}
    knots = np.tile(stats.norm.ppf(LEVELS), (560, 1))
    series = np.repeat(np.arange(40), 14)
    for _ in range(200):
        shared, own = rng.normal(size=40), rng.normal(size=560)
        targets = math.sqrt(0.7) * shared[series] + math.sqrt(0.3) * own
        for name, ids in (("clusters", series), ("independent", None)):
            table = regression.quantile_coverage(knots, LEVELS, targets, clusters=ids)
            held[name] += table[1].lower <= 0.9 <= table[1].upper
    assert held["clusters"] / 200 > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 200)
    assert held["independent"] / 200 < 0.85


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"quantiles": (0.5, 0.1, 0.9)}, "quantiles"),
        ({"quantiles": (0.1, 0.9)}, "quantile_predictions"),
        ({"targets": np.full(3, np.nan)}, "targets"),
        ({"quantile_predictions": np.full([3, 3], np.inf)}, "quantile_predictions"),
        ({"targets": np.zeros(4)}, "quantile_predictions"),
        ({"mask": np.zeros(3)}, "targets"),
        ({"sample_weight": -np.ones(3)}, "sample_weight"),
        ({"level": 95}, "level"),
        ({"clusters": [1, 2]}, "clusters"),
    ],
)
def test_wrong_arguments_raise(change, name):
    good = {
        "quantile_predictions": np.tile([0.0, 1.0, 2.0], (3, 1)),
        "quantiles": (0.1, 0.5, 0.9),
        "targets": np.zeros(3),
    }
    with pytest.raises(ValueError, match=f"`{name}`"):
        regression.quantile_coverage(**{**good, **change})


@pytest.mark.parametrize("season", [1, 4])
def test_seasonal_error_equals_the_loop_of_gluonts(season, rng):
    history = rng.normal(size=(2, 3, 20))
    history[0, 1, :7] = np.nan
    history[1, 2, 12] = np.nan
    found = regression.seasonal_error(history, season)
    for i in np.ndindex(2, 3):
        series = history[i]
        differences = [
            abs(series[t] - series[t - season])
            for t in range(season, 20)
            if not math.isnan(series[t] - series[t - season])
        ]
        assert found[i] == pytest.approx(sum(differences) / len(differences))
    assert regression.seasonal_error(history[0, 0], season).shape == ()


@pytest.mark.parametrize(
    ("history", "season", "name"),
    [
        ([1.0, 2.0], 2, "history"),
        (1.0, 1, "history"),
        ([1.0, np.inf, 2.0], 1, "history"),
        ([[1.0, np.nan, 2.0], [1, 2, 3]], 1, "history"),
        ([1.0, 2.0], 0, "season"),
        ([1.0, 2.0], 1.5, "season"),
    ],
)
def test_wrong_histories_raise(history, season, name):
    with pytest.raises(ValueError, match=f"`{name}`"):
        regression.seasonal_error(history, season)
