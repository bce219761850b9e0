"""Reliability diagrams without bins: numbers against references, and the drawing."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import figure as mpl_figure
from sklearn import isotonic

import uncertainty_metrics.numpy as um
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.visualization import _reliability_panel, score_curves
from uncertainty_metrics.visualization.reliability_curves import CurveOptions

mpl.use("Agg")

pytestmark = pytest.mark.usefixtures("close_figures")

SIGMAS = 5


def forecasts(rng, n=300, rounded=False, power=1.0):
    """Makes labels and P(class 1) of a model, calibrated if the power is 1."""
    p = rng.random(n)
    if rounded:
        p = p.round(1)
    return (rng.random(n) < p**power).astype(int), p


def curves_of(labels, p, method, sample_weight=None, **options):
    """Returns the numbers of a diagram."""
    chosen = {
        "num_bins": 15,
        "binning_scheme": "even",
        "class_conditional": False,
        "y_axis": "frequency",
        "threshold": 0.0,
        "datapoints_per_bin": None,
        "error_bars": None,
        "consistency_band": False,
        "seed": 0,
        "positive_class": False,
    }
    data = ClassifierData(labels, p, sample_weight=sample_weight)
    return score_curves.score_curves(method, data, CurveOptions(**chosen | options))


def reflected(t, p, bandwidth):
    """Returns the Gaussian kernel with reflections at 0 and 1, by a sum of images."""
    images = [sign * p + 2 * k for sign in (1, -1) for k in range(-4, 5)]
    z = [(t - image) / bandwidth for image in images]
    return sum(np.exp(-(z_**2) / 2) for z_ in z) / bandwidth / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_isotonic_curve_equals_scikit_learn(rng, rounded, weighted):
    labels, p = forecasts(rng, rounded=rounded)
    weights = rng.integers(1, 4, size=300).astype(float) if weighted else None
    (curve,) = curves_of(labels, p, "isotonic", sample_weight=weights)
    fit = isotonic.IsotonicRegression(out_of_bounds="clip")
    fit.fit(p, labels, sample_weight=weights)
    np.testing.assert_allclose(curve.frequencies, fit.predict(curve.scores), atol=1e-12)
    # Between its points, the curve is linear as in scikit-learn.
    at = np.unique(p)
    drawn = np.interp(at, curve.scores, curve.frequencies)
    np.testing.assert_allclose(drawn, fit.predict(at), atol=1e-12)
    assert set(curve.scores.round(12)) <= set(at.round(12))
    weights = np.ones(300) if weights is None else weights
    gain = np.average(
        (labels - p) ** 2 - (labels - fit.predict(p)) ** 2, weights=weights
    )
    assert curve.error == pytest.approx(gain, abs=1e-12)
    # The size at a point is the number of examples in its block of equal values.
    effective = weights.sum() ** 2 / np.sum(weights**2)
    for size, value in zip(curve.sizes, curve.frequencies, strict=True):
        block = np.isclose(fit.predict(p), value, atol=1e-12)
        share = weights[block].sum() / weights.sum()
        assert size == pytest.approx(effective * share)


@pytest.mark.parametrize("weighted", [False, True])
def test_smooth_curve_equals_a_loop(rng, weighted):
    labels, p = forecasts(rng, power=2.0)
    weights = rng.random(300) if weighted else np.ones(300)
    (curve,) = curves_of(labels, p, "smooth", sample_weight=weights)
    s = curve.error
    # The error equals its bandwidth: the integral over t of the smoothed residuals.
    grid = (np.arange(2000) + 0.5) / 2000
    residuals = weights * (labels - p) / weights.sum()
    means = [abs(np.sum(residuals * reflected(t, p, s))) for t in grid]
    assert np.mean(means) == pytest.approx(s, abs=1e-5)
    for t, value, size in zip(
        curve.scores[::30], curve.frequencies[::30], curve.sizes[::30], strict=True
    ):
        kernel = weights * reflected(t, p, s)
        expected = t + np.sum(kernel * (labels - p)) / np.sum(kernel)
        assert value == pytest.approx(np.clip(expected, 0, 1), abs=1e-4)
        n = weights.sum() ** 2 / np.sum(weights**2)
        expected = n * np.sum(kernel) / weights.sum() * 2 * np.sqrt(np.pi) * s
        assert size == pytest.approx(expected, rel=1e-3)
    for t, value in zip(curve.density_scores[::30], curve.densities[::30], strict=True):
        expected = np.sum(weights * reflected(t, p, s)) / weights.sum()
        assert value == pytest.approx(expected, abs=1e-3)


def test_isotonic_density_is_a_histogram(rng):
    labels, p = forecasts(rng)
    (curve,) = curves_of(labels, p, "isotonic", num_bins=8)
    expected, edges = np.histogram(p, 8, (0, 1), density=True)
    np.testing.assert_array_equal(curve.density_scores, edges)
    np.testing.assert_allclose(curve.densities, expected)


def test_isotonic_band_has_quantiles_of_fits_to_redrawn_labels(rng):
    labels, p = forecasts(rng, n=200, rounded=True)
    (curve,) = curves_of(labels, p, "isotonic", consistency_band=0.8)
    level, scores, lower, upper, sizes = curve.band
    assert level == 0.8
    np.testing.assert_allclose(scores, np.unique(p))
    fits = []
    for _ in range(400):
        fit = isotonic.IsotonicRegression().fit(p, rng.random(200) < p)
        fits.append(fit.predict(scores))
    for end, tail in ((lower, 0.1), (upper, 0.9)):
        # The share of fits below an end is the level, up to the noise of 400 draws here
        # and 1000 draws in the band. Fits equal to the end may be on either side.
        noise = SIGMAS * np.sqrt(tail * (1 - tail) * (1 / 400 + 1 / 1000))
        assert np.all(np.mean(fits < end - 1e-9, axis=0) <= tail + noise)
        assert np.all(np.mean(fits <= end + 1e-9, axis=0) >= tail - noise)
    near = [np.sum(np.abs(p - score) <= 0.05 + 1e-9) for score in scores]
    assert np.all(np.abs(sizes - near) <= 1e-6)


@pytest.mark.parametrize("method", ["isotonic", "smooth"])
def test_band_holds_calibrated_models_only(rng, method):
    for power, inside in ((1.0, True), (3.0, False)):
        labels, p = forecasts(rng, n=3000, power=power)
        (curve,) = curves_of(labels, p, method, consistency_band=0.9999)
        _, scores, lower, upper, _ = curve.band
        drawn = np.interp(scores, curve.scores, curve.frequencies)
        middle = (scores > 0.3) & (scores < 0.8)
        within = (lower <= drawn) & (drawn <= upper)
        # The band between the extremes of 1000 draws misses a point with probability
        # 1/500.
        assert (
            np.mean(within[middle]) > 0.9 if inside else np.mean(within[middle]) < 0.1
        )


@pytest.mark.parametrize("method", ["isotonic", "smooth"])
def test_seeds_determine_the_band(rng, method):
    labels, p = forecasts(rng, n=50)
    bands = [
        curves_of(labels, p, method, consistency_band=0.9, seed=seed)[0].band
        for seed in (1, 1, np.random.default_rng(1), 2)
    ]
    for same in bands[1:3]:
        np.testing.assert_array_equal(same.lower, bands[0].lower)
    assert np.any(bands[3].lower != bands[0].lower)


def test_isotonic_curve_has_a_band_by_default(rng):
    labels, p = forecasts(rng, n=50)
    for method, given, level in (
        *(("isotonic", None, 0.95), ("isotonic", False, None)),
        *(("smooth", None, None), ("smooth", 0.8, 0.8)),
    ):
        (curve,) = curves_of(labels, p, method, consistency_band=given)
        assert (curve.band and curve.band.level) == level
    ax = um.reliability_diagram(labels, p, consistency_band=False)
    assert len(ax.containers) == 3


@pytest.mark.parametrize("method", ["isotonic", "smooth"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_is_a_binary_problem(rng, method, weighted):
    labels, probabilities = rng.integers(3, size=200), rng.dirichlet(np.ones(3), 200)
    weights = rng.random(200) if weighted else None
    options = {"sample_weight": weights, "threshold": 0.1}
    by_class = curves_of(
        labels, probabilities, method, class_conditional=True, **options
    )
    decided = probabilities.argmax(axis=-1)
    by_decision = curves_of(
        *(labels, probabilities, method),
        **{**options, "class_conditional": True, "y_axis": "accuracy"},
    )
    for k in range(3):
        kept = probabilities[:, k] > 0.1
        mine = decided == k
        for curve, of in ((by_class[k], kept), (by_decision[k], mine)):
            own = None if weights is None else weights[of]
            (expected,) = curves_of(
                (labels[of] == k).astype(int),
                probabilities[of, k],
                method,
                positive_class=True,
                sample_weight=own,
            )
            np.testing.assert_allclose(curve.scores, expected.scores)
            np.testing.assert_allclose(curve.frequencies, expected.frequencies)
            np.testing.assert_allclose(curve.sizes, expected.sizes)
            assert curve.error == pytest.approx(expected.error, abs=1e-9)
    panels = um.reliability_diagram(
        labels,
        probabilities,
        class_conditional=True,
        y_axis="frequency",
        method=method,
        **options,
    )
    for k, panel in enumerate(panels):
        line = panel.lines[1]
        np.testing.assert_array_equal(line.get_xdata(), by_class[k].scores)
        name = {"isotonic": "MCB", "smooth": "smECE"}[method]
        assert panel.get_title().startswith(f"Class {k}\n{name} = ")


@pytest.mark.first(4, "thorough")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["isotonic", "smooth"])
@pytest.mark.parametrize(
    ("labels", "p"),
    [
        ([1], [0.7]),
        ([0], [0.0]),
        ([1, 1, 1], [1.0, 1.0, 1.0]),
        ([0, 1], [0.0, 1.0]),
        ([1, 0], [0.0, 1.0]),
        ([0, 1, 1, 0] * 30, [0.5] * 120),
    ],
)
def test_extreme_data_are_drawn(method, labels, p, ax):
    um.reliability_diagram(
        labels, p, positive_class=True, method=method, consistency_band=0.9, ax=ax
    )
    ax.get_figure().draw_without_rendering()
    (curve,) = curves_of(labels, p, method, consistency_band=0.9)
    assert np.all(np.isfinite(curve.frequencies))
    rates = {
        t: np.mean([y for y, q in zip(labels, p, strict=True) if q == t]) for t in p
    }
    if method == "isotonic" and all(
        rates[a] <= rates[b] for a, b in itertools.pairwise(sorted(rates))
    ):
        assert dict(zip(curve.scores, curve.frequencies, strict=True)) == rates


def test_a_class_that_is_never_decided_has_an_empty_panel(rng):
    panels = um.reliability_diagram(
        [0, 1, 2],
        [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.2, 0.1, 0.7]],
        class_conditional=True,
        method="isotonic",
    )
    assert panels[1].get_title() == "Class 1\nno examples"
    panels[0].get_figure().draw_without_rendering()
    widths = [panel.get_window_extent().width for panel in panels]
    np.testing.assert_allclose(widths, widths[0])


# The drawing.


@pytest.mark.parametrize("method", ["isotonic", "smooth"])
def test_lines_show_the_curve(ax, method):
    # With this seed, some sizes are below 5 for both methods.
    labels, p = forecasts(np.random.default_rng(0), n=25)
    options = {"method": method, "positive_class": True, "consistency_band": 0.9}
    um.reliability_diagram(labels, p, **options, seed=0, ax=ax)
    (curve,) = curves_of(labels, p, method, consistency_band=0.9)
    full, faded = ax.lines[1:3]
    few = curve.sizes < 5
    assert np.any(few)
    np.testing.assert_array_equal(full.get_xdata(), curve.scores)
    np.testing.assert_array_equal(
        full.get_ydata(), np.where(few, np.nan, curve.frequencies)
    )
    np.testing.assert_array_equal(faded.get_ydata(), curve.frequencies)
    assert faded.get_alpha() < 0.5
    (band,) = ax.collections
    vertices = {tuple(point) for point in band.get_paths()[0].vertices}
    _, scores, lower, upper, _ = curve.band
    assert set(zip(scores, lower, strict=True)) <= vertices
    assert set(zip(scores, upper, strict=True)) <= vertices
    assert ax.get_ylabel() == "Observed relative frequency"
    (strip,) = ax.child_axes
    if method == "isotonic":
        shown = strip.patches[0].get_data()
        np.testing.assert_array_equal(shown.values, curve.densities)
        np.testing.assert_array_equal(shown.edges, curve.density_scores)
    else:
        (line,) = strip.lines
        expected = curve.density_scores, curve.densities
        np.testing.assert_array_equal(line.get_data(), expected)
    assert strip.get_ylabel() == "Density"


def test_one_diagram_can_show_models_of_all_methods(rng, ax):
    labels, p = forecasts(rng)
    for method in ("bins", "isotonic", "smooth"):
        um.reliability_diagram(
            labels, {method: p}, method=method, positive_class=True, ax=ax
        )
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name.partition(" =")[0] for name in names if "=" in name] == [
        *("bins: ECE", "isotonic: MCB", "smooth: smECE"),
    ]
    ax.get_figure().draw_without_rendering()


def test_widest_of_two_bands_by_hand():
    def band(scores, lower, upper):
        return score_curves.ScoreBand(0.9, *map(np.array, (scores, lower, upper)), None)

    scores, lower, upper = _reliability_panel.widest(
        [
            band([0.0, 1.0], [0.0, 0.8], [0.2, 1.0]),
            band([0.5, 0.6], [0.1, 0.6], [1, 0.6]),
        ]
    )
    np.testing.assert_allclose(scores, [0, 0.5, 0.6, 1])
    np.testing.assert_allclose(lower, [0, 0.1, 0.48, 0.8])
    np.testing.assert_allclose(upper, [0.2, 1, 0.68, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error_bars": 0.9}, '`error_bars` must be None unless method="bins"'),
        ({"binning_scheme": "adaptive"}, "`binning_scheme` must be 'even' unless"),
        ({"datapoints_per_bin": 9}, "`datapoints_per_bin` must be None unless"),
        ({"consistency_band": 1.5}, "`consistency_band` must be in"),
        ({"classes": [0]}, "`classes` must be None unless class_conditional"),
        ({"y_axis": "x"}, "`y_axis` must be one of"),
    ],
)
def test_bad_options_raise(options, message):
    for method in ("isotonic", "smooth"):
        with pytest.raises(ValueError, match=message):
            um.reliability_diagram(
                *([0, 1], [0.2, 0.7]),
                **{"method": method, "ax": mpl_figure.Figure().subplots(), **options},
            )
