"""Reliability diagrams by regression on a spline: the numbers and the drawing."""

import matplotlib as mpl
import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_score_curves import curves_of, forecasts
from uncertainty_metrics.numpy.calibration.risk import _spline_curve
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import pooled

mpl.use("Agg")

pytestmark = pytest.mark.usefixtures("close_figures")

Z = 4.5  # The limit in standard errors, for any seed.
SPLINE = {"method": "spline", "positive_class": True}


@pytest.mark.parametrize("weighted", [False, True])
def test_curve_is_the_curve_of_the_integrated_calibration_index(rng, weighted):
    labels, p = forecasts(rng, power=2.0)
    weights = rng.integers(1, 4, 300).astype(float) if weighted else None
    (curve,) = curves_of(labels, p, "spline", sample_weight=weights, error_bars=0.8)
    fitted = _spline_curve.fitted(pooled(p, labels == 1, weights))
    assert (curve.scores[0], curve.scores[-1]) == (p.min(), p.max())
    np.testing.assert_allclose(curve.frequencies, fitted(curve.scores))
    index = um.integrated_calibration_index(labels, p, sample_weight=weights)
    assert curve.error == pytest.approx(index.ici)
    # The band is computed for the effective number of examples.
    weights = np.ones(300) if weights is None else weights
    size = weights.sum() ** 2 / np.sum(weights**2)
    level, scores, *ends, _ = curve.interval
    assert level == 0.8
    np.testing.assert_allclose(ends, fitted.band(scores, 0.8, size))


def test_histograms_are_shares_of_each_outcome(rng):
    labels, p = forecasts(rng)
    weights = rng.random(300)
    options = {"num_bins": 8, "sample_weight": weights}
    (curve,) = curves_of(labels, p, "spline", **options)
    for label, shares in enumerate(curve.shares):
        of = labels == label
        expected, _ = np.histogram(p[of], 8, (0, 1), weights=weights[of])
        np.testing.assert_allclose(shares, expected / expected.sum())
    (only,) = curves_of(np.ones(300, int), p, "spline", num_bins=8)
    assert only.shares[0].sum() == 0
    assert only.shares[1].sum() == pytest.approx(1)


def test_band_holds_the_truth_at_each_score_as_often_as_its_level_says(rng):
    """The truth, a power of p, is not a spline, but close to one."""
    repeats, at = 200, np.array([0.2, 0.5, 0.8])
    held = np.zeros(3)
    for _ in range(repeats):
        labels, p = forecasts(rng, n=400, power=1.5)
        curve = _spline_curve.fitted(pooled(p, labels == 1, None))
        lower, upper = curve.band(at, 0.95, 400.0)
        held += (lower <= at**1.5) & (at**1.5 <= upper)
    noise = Z * np.sqrt(0.95 * 0.05 / repeats)
    assert np.all(np.abs(held / repeats - 0.95) < noise + 0.02)


def test_drawing_shows_the_numbers(rng, ax):
    labels, p = forecasts(rng)
    um.reliability_diagram(labels, p, **SPLINE, num_bins=9, ax=ax)
    (curve,) = curves_of(labels, p, "spline", num_bins=9)
    _, line = ax.lines
    np.testing.assert_array_equal(line.get_data(), (curve.scores, curve.frequencies))
    (band,) = ax.collections
    vertices = {tuple(point) for point in band.get_paths()[0].vertices}
    _, scores, lower, upper, _ = curve.interval
    assert set(zip(scores, lower, strict=True)) <= vertices
    assert set(zip(scores, upper, strict=True)) <= vertices
    (strip,) = ax.child_axes
    below, above = (patch.get_data() for patch in strip.patches)
    np.testing.assert_array_equal(below.values, -curve.shares[0])
    np.testing.assert_array_equal(above.values, curve.shares[1])
    np.testing.assert_array_equal(above.edges, np.linspace(0, 1, 10))
    names = [text.get_text() for text in strip.get_yticklabels()]
    assert (names, strip.get_ylabel()) == (["0", "1"], "Label")
    text = ax.get_legend_handles_labels()[1]
    assert text == [
        *("Perfect calibration", "95% confidence band", "Restricted cubic spline"),
    ]


def test_several_models_and_methods_share_a_diagram(rng, ax):
    labels, p = forecasts(rng)
    um.reliability_diagram(labels, {"a": p, "b": p**2}, **SPLINE, ax=ax)
    assert len(ax.collections) == 2
    isotonic = {**SPLINE, "method": "isotonic", "consistency_band": False}
    um.reliability_diagram(labels, {"c": p}, **isotonic, ax=ax)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name.partition(" =")[0] for name in names if "=" in name] == [
        *("a: ICI", "b: ICI", "c: MCB"),
    ]
    ax.get_figure().draw_without_rendering()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("labels", "p"),
    [
        ([1], [0.7]),
        ([0], [0.0]),
        ([1, 1, 1], [1.0, 1.0, 1.0]),
        ([0, 0, 0], [0.1, 0.2, 0.9]),
        ([0, 1], [0.0, 1.0]),
        ([1, 0], [0.0, 1.0]),
        ([0, 1, 1, 0] * 30, [0.5] * 120),
        ([0, 0, 1, 1] * 5, [0.1, 0.2, 0.8, 0.9] * 5),
    ],
)
def test_degenerate_data_can_be_drawn(labels, p, ax):
    um.reliability_diagram(labels, p, **SPLINE, ax=ax)
    ax.get_figure().draw_without_rendering()
    (curve,) = curves_of(labels, p, "spline")
    for part in (curve.frequencies, *curve.interval[2:4]):
        assert np.all((part >= 0) & (part <= 1))
    if len(set(labels)) == 1:  # The likelihood has no maximum, so the band is [0, 1].
        np.testing.assert_array_equal(curve.interval.lower, 0)
        np.testing.assert_array_equal(curve.interval.upper, 1)


def test_each_class_has_a_panel(rng):
    labels, rows = rng.integers(3, size=200), rng.dirichlet(np.ones(3), 200)
    options = {"class_conditional": True, "y_axis": "frequency"}
    panels = um.reliability_diagram(labels, rows, method="spline", **options)
    curves = curves_of(labels, rows, "spline", class_conditional=True)
    for k, (panel, curve) in enumerate(zip(panels, curves, strict=True)):
        np.testing.assert_array_equal(panel.lines[1].get_ydata(), curve.frequencies)
        assert panel.get_title() == f"Class {k}\nICI = {curve.error:.3f}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"consistency_band": 0.9}, "`consistency_band` must be None unless method="),
        ({"error_bars": 1.5}, "`error_bars` must be in"),
        ({"binning_scheme": "adaptive"}, "`binning_scheme` must be 'even' unless"),
        ({"datapoints_per_bin": 9}, "`datapoints_per_bin` must be None unless"),
    ],
)
def test_bad_options_raise(options, message, ax):
    with pytest.raises(ValueError, match=message):
        um.reliability_diagram([0, 1], [0.2, 0.7], **SPLINE, **options, ax=ax)
