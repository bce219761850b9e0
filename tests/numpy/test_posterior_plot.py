"""The plot of posteriors, compared with the draws."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import figure as mpl_figure
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.visualization import posterior

mpl.use("Agg")


pytestmark = pytest.mark.usefixtures("close_figures")


def patches(ax, hatched=False):
    """Returns (values, edges) of each filled step histogram."""
    return [
        (patch.get_data().values, patch.get_data().edges)
        for patch in ax.patches
        if isinstance(patch, mpl.patches.StepPatch)
        and patch.get_fill()
        and bool(patch.get_hatch()) == hatched
    ]


def texts(ax):
    legend = ax.get_legend()
    return legend.get_title().get_text(), [t.get_text() for t in legend.get_texts()]


def test_two_posteriors_have_common_bins_and_an_overlap(ax, rng):
    samples = {"a": rng.normal(0.05, 0.01, 3000), "b": rng.normal(0.06, 0.01, 2000)}
    assert posterior.posterior_diagram(samples, title="Two", ax=ax) is ax
    assert ax.get_title() == "Two"
    first, second = patches(ax)
    np.testing.assert_array_equal(first[1], second[1])  # Both have the same bins.
    for (density, edges), draws in zip((first, second), samples.values(), strict=True):
        expected = np.histogram(draws, edges, density=True)[0]
        np.testing.assert_allclose(density, expected)
        assert np.sum(density * np.diff(edges)) == pytest.approx(1)

    ((shared, edges),) = patches(ax, hatched=True)
    np.testing.assert_allclose(shared, np.minimum(first[0], second[0]))
    title, labels = texts(ax)
    lower = um.probability_of_lower_calibration_error(*samples.values())
    overlap = np.sum(shared * np.diff(edges))
    assert title == f"P(a < b) = {lower:.3f}\nOverlap = {overlap:.3f}"
    # Two Normals whose means differ by one deviation share 2 Phi(-1/2) of their areas.
    assert overlap == pytest.approx(2 * stats.norm.cdf(-0.5), abs=0.1)
    for label, (name, draws) in zip(labels, samples.items(), strict=True):
        low, high = np.quantile(draws, [0.025, 0.975])
        expected = f"{name}: {np.mean(draws):.3g}, 95% in [{low:.3g}, {high:.3g}]"
        assert label == expected


def test_one_posterior_needs_no_name(ax, rng):
    draws = rng.gamma(9.0, 0.01, 400)
    um.posterior_diagram(draws, ax=ax)
    ((density, edges),) = patches(ax)
    expected = np.histogram(draws, edges, density=True)[0]
    np.testing.assert_allclose(density, expected)
    low, high = np.quantile(draws, [0.025, 0.975])
    label = f"{np.mean(draws):.3g}, 95% in [{low:.3g}, {high:.3g}]"
    assert texts(ax) == ("", [label])


def test_means_and_intervals_are_marked(ax, rng):
    samples = {name: rng.gamma(9.0, 0.01, 400) for name in "abc"}
    posterior.posterior_diagram(samples, ax=ax)
    lines = [np.asarray(line.get_xdata(), float) for line in ax.lines]
    for draws in samples.values():
        for expected in (
            [np.mean(draws)] * 2,
            np.quantile(draws, [0.025, 0.975]),
            [np.mean(draws)],
        ):
            assert any(
                len(line) == len(expected) and np.allclose(line, expected)
                for line in lines
            )
    assert len(patches(ax)) == 3
    assert not patches(ax, hatched=True)
    assert texts(ax)[0] == ""


def test_the_legend_of_a_new_figure_is_below(rng):
    samples = {name: rng.gamma(9.0, 0.01, 400) for name in ("short", 30 * "long")}
    ax = posterior.posterior_diagram(samples)
    figure = ax.get_figure()
    figure.draw_without_rendering()
    assert ax.get_legend() is None
    (legend,) = figure.legends
    assert legend.get_title().get_text().startswith("P(short < long")
    assert legend.get_window_extent().y1 < ax.xaxis.get_label().get_window_extent().y0
    # The Axes leave no room for a legend inside.
    top = max(density.max() for density, _ in patches(ax))
    assert ax.get_ylim()[1] == pytest.approx(1.05 * top, rel=0.01)


@pytest.mark.parametrize(
    "samples",
    [
        {"one": [0.1]},
        {"a": [0.1], "b": [0.1, 0.1]},
        {"a": np.zeros(5), "b": np.zeros(3)},
        {"a": [0.0, 1e-12], "b": [0.5]},
        {"a": np.linspace(0.1, 0.1001, 50), "b": np.linspace(0.8, 0.9, 50)},
        {"$x": np.float32([0.1, 0.2]), "y$": np.float64([0.2, 0.3]), "_": [1, 0]},
    ],
)
def test_extreme_draws_are_drawn(samples, ax):
    posterior.posterior_diagram(samples, ax=ax)
    ax.get_figure().canvas.draw()
    for density, edges in patches(ax):
        assert np.sum(density * np.diff(edges)) == pytest.approx(1)
        assert len(density) <= 400
    assert len(patches(ax)) == len(samples)


def test_overlap_is_1_for_equal_draws_and_0_for_distant_ones(rng):
    draws = rng.normal(0.1, 0.01, 200)
    for other, expected in ((draws, "1.000"), (draws + 0.5, "0.000")):
        ax = mpl_figure.Figure().subplots()
        posterior.posterior_diagram({"a": draws, "b": other}, ax=ax)
        assert texts(ax)[0].endswith(f"Overlap = {expected}")


def test_bad_arguments_raise(ax):
    for bad in ({}, [], [[0.1]], [np.nan], None):
        with pytest.raises(ValueError, match=r"`samples` must (be|hold) "):
            posterior.posterior_diagram(bad, ax=ax)
    for bad in ([], [np.nan], [[0.1]], 0.1):
        with pytest.raises(ValueError, match=r"`samples\['b'\]` must be"):
            posterior.posterior_diagram({"a": [0.1], "b": bad}, ax=ax)
    with pytest.raises(ValueError, match="`ax` must be matplotlib Axes"):
        posterior.posterior_diagram({"a": [0.1]}, ax="axes")
