"""Plots of regression, compared with their data and with independent references."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import colors as mpl_colors
from matplotlib import figure as mpl_figure
from scipy import stats

from uncertainty_metrics.numpy import regression
from uncertainty_metrics.visualization import regression as plots

mpl.use("Agg")

import matplotlib.pyplot as plt

pytestmark = pytest.mark.usefixtures("close_figures")

# These plots draw one model into one Axes.
SINGLE = [plots.reliability_diagram, plots.uncertainty_error_diagram]
PLOTS = [*SINGLE, plots.create_calibration_report]


def forecasts(rng, n=200, scale=1.0):
    """Makes means, variances and targets, calibrated if the scale is 1."""
    deviations = rng.uniform(0.5, 2, n)
    means = rng.normal(size=n)
    targets = means + scale * deviations * rng.normal(size=n)
    return means, deviations**2, targets


def coverages(means, variances, targets, levels):
    z = np.abs(targets - means) / np.sqrt(variances)
    return [np.mean(z <= stats.norm.ppf((1 + level) / 2)) for level in levels]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    (found,) = (line for line in ax.lines if line.get_label() == label)
    return found.get_xydata()


# The reliability diagram.


def test_reliability_line_is_the_coverage(rng, ax):
    data = forecasts(rng, scale=1.5)
    returned = plots.reliability_diagram(*data, n_bins=7, ax=ax, color="black")
    assert returned is ax
    levels = np.linspace(0.1, 0.99, 7)
    observed = coverages(*data, levels)
    label = f"ECE = {np.mean(np.abs(observed - levels)):.3f}"
    np.testing.assert_allclose(line(ax, label), np.stack([levels, observed], axis=-1))
    np.testing.assert_array_equal(line(ax, "Perfect calibration"), [[0, 0], [1, 1]])
    assert ax.lines[0].get_color() == "black"
    assert ax.get_title() == "Reliability Diagram"


@pytest.mark.parametrize(
    ("scale", "shaded", "absent"),
    [(2, "Overconfident", "Underconfident"), (0.5, "Underconfident", "Overconfident")],
)
def test_shade_shows_whether_forecasts_are_over_or_underconfident(
    rng, ax, scale, shaded, absent
):
    plots.reliability_diagram(*forecasts(rng, 1000, scale), ax=ax, show_ece=False)
    assert {shaded, "Observed", "Perfect calibration"} == set(legend(ax))
    (area,) = ax.collections
    (polygon,) = area.get_paths()
    x, y = polygon.vertices.T
    beyond = y < x if shaded == "Overconfident" else y > x
    assert np.all(beyond | np.isclose(x, y))
    assert absent not in legend(ax)


def test_calibrated_forecasts_have_no_shade(ax):
    # Central intervals of any level hold that share of these z-scores.
    z = stats.norm.ppf((1 + (np.arange(100) + 0.5) / 100) / 2)
    plots.reliability_diagram(0 * z, 1 + 0 * z, z, n_bins=1, ax=ax)
    assert "ECE = 0.000" in legend(ax)
    assert len(ax.collections) == 0


def drawn(plot, *data, **options):
    """Yields the drawn lines, points and bars as arrays."""
    made = plot(*data, **options)
    for ax in made.axes if isinstance(made, mpl_figure.Figure) else [made]:
        yield from (part.get_xydata() for part in ax.lines)
        yield from (part.get_offsets() for part in ax.collections)
        yield from (part.get_path().vertices for part in ax.patches)


@pytest.mark.parametrize("plot", PLOTS)
def test_all_forms_of_the_data_give_the_same_plot(plot, rng):
    means, variances, targets = data = forecasts(rng)
    mask = rng.random(200) < 0.7
    rest = [array[mask] for array in data]
    hidden = [np.where(mask, array, np.nan) for array in data]
    stddevs = np.sqrt(variances)
    for same, form, options in (
        (rest, hidden, {"mask": mask}),
        (data, (means[:, None], variances, targets[:, None]), {}),
        (data, (means, None, targets), {"stddevs": stddevs}),
    ):
        found, expected = drawn(plot, *form, **options), drawn(plot, *same)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(ValueError, match="Exactly one of `uncertainties` and `stddevs"):
        plot(means, targets=targets)


# The comparison.


def test_comparison_draws_every_model(rng):
    results = {
        "a": forecasts(rng),
        "$b$": forecasts(rng, scale=2),
        3: list(forecasts(rng, scale=0.5)),
    }
    figure = plots.calibration_comparison_diagram(results, n_bins=5, figsize=(8, 3))
    assert isinstance(figure, mpl_figure.Figure)
    assert figure.get_size_inches().tolist() == [8, 3]
    left, right = figure.axes
    levels = np.linspace(0.1, 0.99, 5)
    names = ["a", r"\$b\$", "3"]
    errors = []
    for name, drawn, data in zip(names, left.lines, results.values(), strict=False):
        observed = coverages(*data, levels)
        np.testing.assert_allclose(drawn.get_ydata(), observed)
        assert drawn.get_label() == name
        errors.append(np.mean(np.abs(observed - levels)))
    bars = right.containers[0]
    np.testing.assert_allclose([bar.get_width() for bar in bars], errors)
    assert [text.get_text() for text in right.texts] == [f"{e:.3f}" for e in errors]
    assert [tick.get_text() for tick in right.get_yticklabels()] == names
    assert right.yaxis_inverted()
    colors = [mpl_colors.to_hex(bar.get_facecolor()) for bar in bars]
    assert colors == [drawn.get_color() for drawn in left.lines[:3]]
    assert len(set(colors)) == len({x.get_marker() for x in left.lines[:3]}) == 3
    (box,) = figure.legends
    assert [text.get_text() for text in box.get_texts()] == [
        *names,
        "Perfect calibration",
    ]
    figure.draw_without_rendering()


def test_comparison_has_the_colors_of_the_user(rng):
    results = {"a": forecasts(rng), "b": forecasts(rng)}
    colors = {"b": "red", "a": "#00ff00", "c": "blue"}
    left, right = plots.calibration_comparison_diagram(results, colors=colors).axes
    assert [drawn.get_color() for drawn in left.lines[:2]] == ["#00ff00", "red"]
    bars = right.containers[0]
    found = [mpl_colors.to_hex(bar.get_facecolor()) for bar in bars]
    assert found == ["#00ff00", "#ff0000"]


def test_comparison_of_a_model_without_error_is_drawn():
    figure = plots.calibration_comparison_diagram({"a": ([0] * 10, [1] * 10, [9] * 10)})
    observed = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_array_equal(observed, np.zeros(10))
    # At the level 0.1, a tenth of the z-scores is covered: no error.
    z = [0.0] + 9 * [9.0]
    data = np.zeros(10), np.ones(10), z
    figure = plots.calibration_comparison_diagram({"a": np.stack(data)}, n_bins=1)
    (bar,) = figure.axes[1].containers[0]
    assert bar.get_width() == 0
    figure.draw_without_rendering()


TRIPLE = ([0.0, 1.0], [1.0, 1.0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"results": {}}, "`results` must hold at least one model"),
        ({"results": [TRIPLE]}, "`results` must be a dict .* Received: list"),
        ({"results": TRIPLE}, "`results` must be a dict"),
        ({"results": {"a": TRIPLE[:2]}}, "a: `results` must .* Received: 2 elements"),
        ({"results": {"a": 4}}, "a: `results` must hold .* Received: int"),
        ({"results": {"a": "abc"}}, "a: `results` must hold .* Received: str"),
        ({"results": {"a": (*TRIPLE[:2], [1.0])}}, "a: `.*` must be of the shape"),
        ({"results": {"a": (*TRIPLE[:2], [1.0, np.nan])}}, "a: `targets` must be fin"),
        ({"results": {"a": ([0.0], [-1.0], [0.0])}}, "a: `uncertainties` must be"),
        ({"colors": {"b": "red"}}, r"`colors` must be .*: no color for \['a'\]"),
        ({"colors": "red"}, "`colors` must be None, or a dict"),
        ({"colors": {"a": "colour"}}, r"`colors\['a'\]` must be a matplotlib color"),
    ],
)
def test_bad_comparisons_raise(options, message):
    with pytest.raises(ValueError, match=message):
        plots.calibration_comparison_diagram(**{"results": {"a": TRIPLE}, **options})
    assert plt.get_fignums() == []


# Uncertainty against error.


def test_points_show_deviations_and_errors(rng, ax):
    means, variances, targets = forecasts(rng)
    returned = plots.uncertainty_error_diagram(means, variances, targets, ax=ax)
    assert returned is ax
    points, entry = ax.collections
    x, y = np.sqrt(variances), np.abs(targets - means)
    np.testing.assert_allclose(points.get_offsets(), np.stack([x, y], axis=-1))
    assert len(entry.get_offsets()) == 0
    r = stats.pearsonr(x, y).statistic
    assert legend(ax) == [f"Correlation = {r:.3f}", "Error = deviation"]
    assert ax.get_xlim()[1] > x.max()
    assert ax.get_ylim()[1] > y.max()
    # The diagonal goes from corner to corner, even after a change of the limits.
    (diagonal,) = (it for it in ax.lines if it.get_label() == "Error = deviation")
    ax.set(xlim=(0, 20), ylim=(0, 30))
    ends = diagonal.get_transform().transform([[0, 0], [1, 1]])
    found = ax.transData.inverted().transform(ends)
    np.testing.assert_allclose(found, [[0, 0], [20, 20]], atol=1e-9)


@pytest.mark.parametrize(
    "data",
    [
        ([0.0, 1.0, 2.0], [0.1, 0.1, 0.1], [0.5, 2.0, 2.5]),  # Equal deviations.
        ([0.0, 1.0], [0.1, 0.2], [0.0, 1.0]),  # Errors of 0.
        ([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [1.1, 1.2, 1.3]),  # Errors near 1.
        ([0.0], [1.0], [1.0]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_correlation_of_a_constant_is_undefined(data):
    ax = plots.uncertainty_error_diagram(*data)
    ax.get_figure().draw_without_rendering()
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["Correlation undefined", "Error = deviation"]


def test_correlation_can_be_left_out(rng, ax):
    plots.uncertainty_error_diagram(*forecasts(rng), ax=ax, show_correlation=False)
    assert legend(ax) == ["Examples", "Error = deviation"]


def test_many_points_are_faint_and_rasterized(rng):
    few = plots.uncertainty_error_diagram(*forecasts(rng, 50)).collections[0]
    many = plots.uncertainty_error_diagram(*forecasts(rng, 20_000)).collections[0]
    assert few.get_alpha() > 5 * many.get_alpha() > 0
    assert many.get_rasterized()
    assert not few.get_rasterized()


# The report.


def test_report_has_four_panels(rng):
    data = forecasts(rng, scale=1.3)
    figure = plots.create_calibration_report(
        *data, model_name="$5 model$", figsize=(9, 7)
    )
    assert figure.get_size_inches().tolist() == [9, 7]
    reliability, scatter, uncertainties, scores = figure.axes
    numbers = regression.evaluate_calibration(*data)
    assert figure.get_suptitle() == (
        f"\\$5 model\\$\nNLL = {numbers['nll']:.3g}, ECE = {numbers['ece']:.3f}, "
        f"RMSE = {numbers['rmse']:.3g}, sharpness = {numbers['sharpness']:.3g}"
    )
    assert f"ECE = {numbers['ece']:.3f}" in legend(reliability)
    assert len(scatter.collections[0].get_offsets()) == 200

    means, variances, targets = data
    filled = uncertainties.patches[0].get_data()
    expected, _ = np.histogram(np.sqrt(variances), filled.edges)
    np.testing.assert_array_equal(filled.values, expected)
    assert filled.values.sum() == 200
    mean = np.mean(np.sqrt(variances))
    np.testing.assert_allclose(uncertainties.lines[0].get_xdata(), mean)

    z = (targets - means) / np.sqrt(variances)
    drawn = scores.patches[0].get_data()
    expected, _ = np.histogram(z, drawn.edges, density=True)
    np.testing.assert_allclose(drawn.values, expected)
    x, y = scores.lines[0].get_data()
    np.testing.assert_allclose(y, stats.norm.pdf(x))
    assert legend(scores)[0] == f"Observed, mean |z| = {np.abs(z).mean():.3g}"
    figure.draw_without_rendering()


def test_axis_label_tells_the_share_of_far_z_scores():
    z = np.array([0.0, 0.5, -0.5, 50.0, -70.0])
    figure = plots.create_calibration_report(0 * z, 1 + 0 * z, z)
    ax = figure.axes[3]
    heights, edges, _ = ax.patches[0].get_data()
    assert edges[[0, -1]].tolist() == [-6, 6]
    assert np.sum(heights * np.diff(edges)) == pytest.approx(1)
    np.testing.assert_allclose((heights * np.diff(edges))[[0, -1]], 0.2)
    assert ax.get_xlabel() == "z-score (40% are beyond)"


# The PIT histogram.


def test_pit_bars_are_the_histogram(rng, ax):
    pit = rng.beta(0.7, 0.7, size=300)
    mask = rng.random(300) < 0.5
    returned = regression.pit_diagram(pit, 12, mask, ax=ax, consistency_band=None)
    assert returned is ax
    counts, edges = np.histogram(pit[mask], np.linspace(0, 1, 13))
    bars = ax.containers[0]
    heights = [bar.get_height() for bar in bars]
    np.testing.assert_allclose(heights, counts * 12 / mask.sum())
    np.testing.assert_allclose([bar.get_x() for bar in bars], edges[:-1])
    assert set(line(ax, "Perfect calibration")[:, 1]) == {1}
    assert legend(ax) == ["Perfect calibration"]


def test_pit_band_is_of_binomial_counts(rng, ax):
    n, bins = 80, 5
    regression.pit_diagram(rng.random(n), bins, ax=ax, consistency_band=0.9)
    (ends,) = (lines for lines in ax.collections if len(lines.get_paths()) == 2)
    low, high = (path.vertices[0, 1] for path in ends.get_paths())
    # Quantiles of the counts of uniform values, by simulation.
    counts = np.random.default_rng(0).multinomial(n, [1 / bins] * bins, 100_000)
    expected = np.quantile(counts[:, 0], [0.05, 0.95]) * bins / n
    np.testing.assert_allclose([low, high], expected)
    assert "90% band if calibrated" in legend(ax)
    assert ax.get_ylim()[1] > high


def test_pit_plot_takes_intervals_of_samples(rng, ax):
    draws = rng.normal(size=[700, 7])
    pit = regression.sample_pit(draws[:, 1:], draws[:, 0])
    regression.pit_diagram(pit, 10, ax=ax)
    heights = [bar.get_height() for bar in ax.containers[0]]
    np.testing.assert_allclose(heights, regression.pit_histogram(pit).density)
    (ends,) = (lines for lines in ax.collections if len(lines.get_paths()) == 2)
    low, high = (path.vertices[0, 1] for path in ends.get_paths())
    expected = stats.binom.ppf([0.025, 0.975], 700, 0.1) / 70
    np.testing.assert_allclose([low, high], expected)


# All plots.


@pytest.mark.parametrize("plot", PLOTS)
def test_bad_data_raise(plot):
    means, variances, targets = (np.array(x) for x in TRIPLE)
    for data, options, message in (
        ((means, -variances, targets), {}, "`uncertainties` must be"),
        ((means, variances * 0, targets), {}, "`uncertainties` must be"),
        ((means, variances, targets[:1]), {}, "must be of the shape"),
        (([], [], []), {}, "at least one"),
        (TRIPLE, {"mask": [0, 2]}, "`mask` must be 0 or 1"),
        (TRIPLE, {"mask": [False, False]}, "at least one"),
    ):
        with pytest.raises(ValueError, match=message):
            plot(*data, **options)
    with pytest.raises(ValueError, match=r"`pit` must be in \[0, 1\]"):
        regression.pit_diagram([0.5, 1.5])
    assert plt.get_fignums() == []
