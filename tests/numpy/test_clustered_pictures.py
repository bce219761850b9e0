"""Bands and bars of reliability diagrams, of examples in clusters."""

import math

import numpy as np
import pytest
from scipy import special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.visualization import reliability_curves, score_curves

OPTIONS = reliability_curves.CurveOptions(
    num_bins=5,
    binning_scheme="even",
    class_conditional=False,
    y_axis="accuracy",
    threshold=0.0,
    datapoints_per_bin=None,
    error_bars=None,
    consistency_band=None,
    seed=0,
    positive_class=True,
)


def examples(rng, number=60, sizes=(1, 12), correlation=0.5):
    """Returns labels and risks of a calibrated model, and the clusters."""
    ids = np.repeat(np.arange(number), rng.integers(*sizes, number))
    p = rng.uniform(0.2, 0.9, len(ids))
    z = correlation**0.5 * rng.normal(size=number)[ids]
    z += (1 - correlation) ** 0.5 * rng.normal(size=len(ids))
    return (stats.norm.cdf(z) < p).astype(int), p, ids


def test_few_rare_outcomes_do_not_make_the_band_narrow():
    """The spread is at least that of the forecasts."""
    p, ids = np.full(200, 0.9), np.arange(200) // 4
    labels = np.ones(200, int)
    labels[::50] = 0  # 4 of 20 that are expected.
    curve = curve_of(labels, p, ids, consistency_band=0.95)
    width = curve.consistency_band.upper[0, 4] - curve.consistency_band.lower[0, 4]
    residuals = np.bincount(ids, labels - p)
    spread = np.sqrt(residuals @ residuals / 200**2 * 0.09 / np.mean((labels - p) ** 2))
    assert width == pytest.approx(2 * 1.96 * spread, rel=0.15)


def curve_of(labels, p, ids, **options):
    return um.reliability_curve(
        labels, p, clusters=ids, num_bins=5, positive_class=True, seed=0, **options
    )


def test_error_bars_are_those_of_a_loop_over_clusters(rng):
    labels, p, ids = examples(rng)
    weights = rng.integers(1, 4, len(p)).astype(float)
    curve = curve_of(labels, p, ids, error_bars=0.9, sample_weight=weights)
    for b in range(5):
        inside = np.ceil(p * 5) - 1 == b
        if not np.any(inside):
            assert np.isnan(curve.error_bars.lower[0, b])
            continue
        mass, share = weights[inside].sum(), curve.accuracies[0, b]
        excess, whole, number, rare = 0.0, 0.0, 0, 0
        for c in np.unique(ids[inside]):
            own = inside & (ids == c)
            size, hits = weights[own].sum(), weights[own] @ labels[own]
            excess += (hits - share * size) ** 2 / mass**2
            whole += (size / mass) ** 2
            number += 1
            rare += (hits if share <= 0.5 else size - hits) > 0
        ratio = number / (number - 1) * excess / (share * (1 - share))
        inverse = max(ratio, (rare * ratio + whole) / (rare + 1))
        t = stats.t(number - 1).ppf(0.95)
        assert curve.sizes[0, b] == pytest.approx(1 / inverse)
        for end in curve.error_bars.lower[0, b], curve.error_bars.upper[0, b]:
            distance = abs(share - end)
            assert distance == pytest.approx(t * math.sqrt(end * (1 - end) * inverse))


def test_bands_and_bars_of_clusters_are_wider(rng):
    labels, p, ids = examples(rng, sizes=(10, 11), correlation=0.8)
    both = {"error_bars": 0.95, "consistency_band": 0.95}
    clustered, alone = (curve_of(labels, p, c, **both) for c in (ids, None))
    assert np.array_equal(clustered.counts, alone.counts)
    for name in both:
        first, second = getattr(clustered, name), getattr(alone, name)
        widths = (np.nanmean(each.upper - each.lower) for each in (first, second))
        assert next(widths) > 1.3 * next(widths)


def test_clusters_of_one_example_change_nothing(rng):
    labels, p, _ = examples(rng)
    both = {"error_bars": 0.95, "consistency_band": 0.95}
    ids = rng.permutation(len(p))
    first, second = (curve_of(labels, p, c, **both) for c in (ids, None))
    np.testing.assert_array_equal(first.error_bars.lower, second.error_bars.lower)
    band = first.consistency_band.upper
    np.testing.assert_array_equal(band, second.consistency_band.upper)


def test_the_spline_has_the_band_of_the_sandwich(rng):
    labels, p, ids = examples(rng)
    data = ClassifierData(labels=labels, probabilities=p, clusters=ids)
    (curve,) = score_curves.score_curves("spline", data, OPTIONS)
    (alone,) = score_curves.score_curves(
        "spline", ClassifierData(labels=labels, probabilities=p), OPTIONS
    )
    np.testing.assert_allclose(curve.frequencies, alone.frequencies)
    # The sandwich of a logistic regression on any basis of the same splines.
    fit = _spline_basis(p)
    at = _spline_basis(p, curve.scores)
    q = special.expit(fit @ np.linalg.lstsq(at, special.logit(curve.frequencies))[0])
    inverse = np.linalg.inv((fit * (q * (1 - q))[:, None]).T @ fit)
    sums = np.zeros((60, fit.shape[1]))
    np.add.at(sums, ids, fit * (labels - q)[:, None])
    sandwich = inverse @ (sums.T @ sums * 60 / 59) @ inverse
    variance = np.maximum(
        np.einsum("ij,jk,ik->i", at, sandwich, at),
        np.einsum("ij,jk,ik->i", at, inverse, at),
    )
    half = stats.t(59).ppf(0.975) * np.sqrt(variance)
    upper = special.expit(special.logit(curve.frequencies) + half)
    np.testing.assert_allclose(curve.interval.upper, upper, rtol=1e-4)


def _spline_basis(p, at=None):
    """Returns Harrell's restricted cubic splines with five knots."""
    z = special.logit(p)
    shares = np.array([0.05, 0.275, 0.5, 0.725, 0.95]) * len(z)
    ordered, low = np.sort(z), np.ceil(shares - 1e-9).astype(int) - 1
    high = np.floor(shares + 1e-9).astype(int)
    knots = (ordered[low] + ordered[high]) / 2
    z = z if at is None else special.logit(at)
    first, *inner, before, last = knots
    cubes = {k: np.maximum(z - k, 0) ** 3 for k in knots}
    columns = [np.ones_like(z), z]
    for k in (first, *inner):
        share = (last - k) / (last - before)
        columns.append(cubes[k] - share * cubes[before] + (share - 1) * cubes[last])
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("method", ["smooth", "isotonic"])
def test_bands_without_bins_are_wider(rng, method):
    labels, p, ids = examples(rng, sizes=(10, 11), correlation=0.8)
    options = reliability_curves.CurveOptions(
        **{**vars(OPTIONS), "consistency_band": 0.95}
    )
    widths = []
    for c in (ids, None):
        data = ClassifierData(labels=labels, probabilities=p, clusters=c)
        (curve,) = score_curves.score_curves(method, data, options)
        widths.append(np.mean(curve.band.upper - curve.band.lower))
    assert widths[0] > 1.2 * widths[1]


def test_a_calibrated_model_is_inside_as_often_as_promised(rng):
    inside, draws = np.zeros((3, 60)), 60
    for i in range(draws):
        labels, p, ids = examples(rng, 80)
        both = {"error_bars": 0.9, "consistency_band": 0.9}
        curve = curve_of(labels, p, ids, **both)
        some = curve.counts[0] > 0
        for row, ends, values in (
            (0, curve.error_bars, curve.confidences),
            (1, curve.consistency_band, curve.accuracies),
        ):
            held = (ends.lower <= values + 1e-12) & (values <= ends.upper + 1e-12)
            inside[row, i] = np.mean(held[0, some])
        data = ClassifierData(labels=labels, probabilities=p, clusters=ids)
        (curve,) = score_curves.score_curves("spline", data, OPTIONS)
        held = (curve.interval.lower <= curve.scores) & (
            curve.scores <= curve.interval.upper
        )
        inside[2, i] = np.mean(held)
    promised = np.array([0.9, 0.9, 0.95])
    error = inside.std(axis=1) / draws**0.5
    assert np.all(inside.mean(axis=1) > promised - 0.03 - 4.5 * error)


def test_each_model_may_have_its_clusters(rng):
    labels, p, ids = examples(rng)
    figure = pytest.importorskip("matplotlib.figure")
    for method in ("bins", "isotonic", "smooth", "spline"):
        band = {} if method == "spline" else {"consistency_band": 0.9}
        ax = um.reliability_diagram(
            labels,
            {"a": p, "b": p**2},
            clusters=ids,
            method=method,
            positive_class=True,
            seed=0,
            ax=figure.Figure().subplots(),
            **band,
        )
        assert ax.lines


def test_classes_have_clusters(rng):
    ids = np.repeat(np.arange(30), 5)
    p = rng.dirichlet(np.ones(3), 150)
    labels = rng.integers(0, 3, 150)
    given = {"class_conditional": True, "y_axis": "frequency", "num_bins": 4}
    curve = um.reliability_curve(
        labels, p, clusters=ids, error_bars=0.9, consistency_band=0.9, seed=0, **given
    )
    for k in range(3):
        one = um.reliability_curve(
            (labels == k).astype(int),
            p[:, k],
            clusters=ids,
            error_bars=0.9,
            positive_class=True,
            num_bins=4,
        )
        np.testing.assert_allclose(curve.error_bars.lower[k], one.error_bars.lower[0])
    options = reliability_curves.CurveOptions(
        **{**vars(OPTIONS), **given, "positive_class": None}
    )
    data = ClassifierData(labels=labels, probabilities=p, clusters=ids)
    curves = score_curves.score_curves("spline", data, options)
    for k in range(3):
        data = ClassifierData(
            labels=(labels == k).astype(int), probabilities=p[:, k], clusters=ids
        )
        (one,) = score_curves.score_curves("spline", data, OPTIONS)
        np.testing.assert_allclose(curves[k].interval.upper, one.interval.upper)
