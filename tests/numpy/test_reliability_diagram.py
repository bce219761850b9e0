"""Reliability diagrams: the drawing, compared with the numbers."""

import builtins
import pickle
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import figure as mpl_figure

import uncertainty_metrics.numpy as um
from tests.numpy.test_reliability_curve import coin_flips, multiclass
from uncertainty_metrics.visualization import reliability

mpl.use("Agg")

import matplotlib.pyplot as plt

pytestmark = pytest.mark.usefixtures("close_figures")


def rectangles(container):
    return np.array(
        [
            [bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()]
            for bar in container
        ]
    ).reshape(-1, 4)


def number_shown(ax):
    (text,) = ax.texts
    return text.get_text()


def test_bars_show_the_curve(ax):
    labels, probabilities = multiclass()
    curve = um.reliability_curve(labels, probabilities, num_bins=10)
    returned = um.reliability_diagram(labels, probabilities, num_bins=10, ax=ax)
    assert returned is ax
    held = curve.counts[0] > 0
    assert 0 < held.sum() < 10  # Some of the bins are empty.
    left, right = curve.edges[0, :-1][held], curve.edges[0, 1:][held]
    accuracy, confidence = curve.accuracies[0][held], curve.confidences[0][held]
    enough = curve.sizes[0][held] >= 5

    bars, over, under = ax.containers
    expected = np.stack([left, 0 * left, right - left, accuracy], axis=-1)
    np.testing.assert_allclose(rectangles(bars), expected[enough])
    below = accuracy < confidence
    for container, which in ((over, below & enough), (under, ~below & enough)):
        low = np.minimum(accuracy, confidence)[which]
        gap = np.abs(accuracy - confidence)[which]
        expected = np.stack([left[which], low, (right - left)[which], gap], axis=-1)
        np.testing.assert_allclose(rectangles(container), expected)
    diagonal, means, few, _ = ax.lines
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    for drawn, which in ((means, curve.counts >= 5), (few, curve.counts < 5)):
        which = which[0][held]
        np.testing.assert_array_equal(drawn.get_xdata(), confidence[which])
        np.testing.assert_array_equal(drawn.get_ydata(), accuracy[which])

    (strip,) = ax.child_axes
    expected = np.stack(
        [left, 0 * left, right - left, curve.proportions[0][held]], axis=-1
    )
    np.testing.assert_allclose(rectangles(strip.containers[0]), expected)
    assert number_shown(ax) == f"ECE = {um.ece(labels, probabilities, num_bins=10):.3f}"


def test_adaptive_bars_are_at_the_edges_of_their_bins(ax):
    labels, probabilities = multiclass()
    curve = um.reliability_curve(labels, probabilities, binning_scheme="adaptive")
    um.reliability_diagram(labels, probabilities, binning_scheme="adaptive", ax=ax)
    bars = rectangles(ax.containers[0])
    np.testing.assert_allclose(bars[:, 0], curve.edges[0, :-1])
    np.testing.assert_allclose(bars[:, 2], np.diff(curve.edges[0]))
    assert np.ptp(bars[:, 2]) > 0.1


def test_empty_bins_draw_nothing(ax):
    labels, scores = [1] * 5 + [0] * 5, [0.95] * 5 + [0.35] * 5
    um.reliability_diagram(labels, scores, num_bins=10, ax=ax)
    # The confidences .95 and .65 are in two of the ten bins.
    bars, over, under = ax.containers
    assert [len(bars), len(over), len(under)] == [2, 0, 2]
    assert len(ax.patches) == 4
    assert len(ax.child_axes[0].patches) == 2
    np.testing.assert_allclose(rectangles(bars)[:, 0], [0.6, 0.9])
    assert "Overconfident" not in ax.get_legend_handles_labels()[1]


def test_axes_have_labels_and_a_title():
    labels, scores = [0, 1, 1], [0.2, 0.6, 0.9]
    ax = um.reliability_diagram(labels, scores, title="Forecast", y_axis="frequency")
    assert ax.get_xlabel() == "Predicted probability"
    assert ax.get_ylabel() == "Observed relative frequency"
    assert ax.get_title() == "Forecast"
    ax = um.reliability_diagram(labels, scores)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Confidence", "Accuracy")


def test_title_is_above_the_strip_and_all_stays_in_the_place_of_the_axes():
    figure = mpl_figure.Figure()
    ax = figure.subplots(1, 2)[1]
    place = ax.get_position()
    um.reliability_diagram([0, 1, 1], [0.2, 0.6, 0.9], ax=ax)
    ax.set_title("set later")
    figure.draw_without_rendering()
    (strip,) = ax.child_axes
    main = ax.get_window_extent().transformed(figure.transFigure.inverted())
    top = strip.get_window_extent().transformed(figure.transFigure.inverted())
    np.testing.assert_allclose(
        [main.x0, main.y0, main.x1], [place.x0, place.y0, place.x1]
    )
    assert main.y1 < top.y0
    assert top.y1 == pytest.approx(place.y1)
    assert ax.title.get_window_extent().y0 >= strip.get_window_extent().y1


@pytest.mark.parametrize("y_axis", ["accuracy", "frequency"])
def test_grid_has_a_panel_for_each_class(y_axis):
    labels, probabilities = multiclass()
    panels = um.reliability_diagram(
        labels, probabilities, class_conditional=True, y_axis=y_axis, title="All"
    )
    assert panels.shape == (4,)
    assert len({id(panel) for panel in panels}) == 4
    decided = probabilities.argmax(axis=-1)
    for k, panel in enumerate(panels):
        # Each class is a binary problem with its own scores and outcomes.
        if y_axis == "accuracy":
            of = decided == k
            score, outcome = probabilities[of, k], labels[of] == k
        else:
            score, outcome = probabilities[:, k], labels == k
        own = um.bin_statistics(outcome.astype(int), score, positive_class=True)
        heights = rectangles(panel.containers[0])[:, 3]
        np.testing.assert_allclose(heights, own.accuracies[own.counts >= 5])
        error = um.ece(outcome.astype(int), score, positive_class=True)
        name, annotation = panel.get_title().split("\n")
        assert name == f"Class {k}"
        assert annotation.startswith(f"ECE = {error:.3f}")
        assert (f"n = {len(score)}" in annotation) == (y_axis == "accuracy")
    figure = panels[0].get_figure()
    assert figure.get_suptitle() == "All"
    assert len(figure.legends) == 1


def test_panels_are_of_the_chosen_classes_with_their_names():
    labels, probabilities = multiclass()
    panels = um.reliability_diagram(
        labels,
        probabilities,
        class_conditional=True,
        classes=[3, 1],
        class_names=["a", "b", "c", "d"],
    )
    assert [panel.get_title()[0] for panel in panels] == ["d", "b"]


def test_grid_is_drawn_into_axes_of_the_user():
    labels, probabilities = multiclass()
    axes = mpl_figure.Figure().subplots(2, 2)
    panels = um.reliability_diagram(
        labels, probabilities, class_conditional=True, ax=axes
    )
    assert panels.shape == (2, 2)
    assert panels[1, 0] is axes[1, 0]
    assert panels[1, 0].get_title().startswith("Class 2\n")
    assert plt.get_fignums() == []


def test_a_class_that_is_never_decided_draws_no_bar():
    panels = um.reliability_diagram(
        [0, 1, 2] * 5,
        [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.2, 0.1, 0.7]] * 5,
        class_conditional=True,
    )
    assert [len(panel.patches) for panel in panels] == [4, 0, 2]
    assert panels[1].get_title() == "Class 1\nno examples"
    panels[1].get_figure().draw_without_rendering()


@pytest.mark.parametrize("options", [{}, {"error_bars": 0.9, "consistency_band": 0.9}])
def test_a_panel_without_examples_is_as_wide_as_the_others(options):
    panels = um.reliability_diagram(
        [0, 1, 2],
        [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.2, 0.1, 0.7]],
        class_conditional=True,
        **options,
    )
    panels[0].get_figure().draw_without_rendering()
    widths = [panel.get_window_extent().width for panel in panels]
    np.testing.assert_allclose(widths, widths[0])
    assert widths[0] > 100
    ax = um.reliability_diagram([1], {"a": [0.7]}, threshold=0.9, **options)
    ax.get_figure().draw_without_rendering()
    assert ax.get_window_extent().width > 300


def test_only_outer_panels_of_a_grid_have_axis_labels():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(7), 100)  # Seven panels: 4 and 3 in a row.
    panels = um.reliability_diagram(
        rng.integers(7, size=100), probabilities, class_conditional=True
    )
    assert [bool(panel.get_xlabel()) for panel in panels] == 3 * [False] + 4 * [True]
    assert [k for k in range(7) if panels[k].get_ylabel()] == [0, 4]


def test_more_than_20_classes_need_a_choice():
    labels, probabilities = multiclass(classes=21)
    options = {"class_conditional": True}
    with pytest.raises(ValueError, match=r"`classes` must be a list .* at most 20"):
        um.reliability_diagram(labels, probabilities, **options)
    panels = um.reliability_diagram(labels, probabilities, classes=[20], **options)
    assert [panel.get_title()[:8] for panel in panels] == ["Class 20"]
    assert um.reliability_curve(labels, probabilities, **options).num_groups == 21


def test_annotation_may_be_of_another_metric(ax):
    curve = um.reliability_curve([0, 1, 1], [0.2, 0.6, 0.9])
    reliability.draw_reliability(curve, annotation="MCE = 0.400", ax=ax)
    assert number_shown(ax) == "MCE = 0.400"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0]}, "`classes` must be None unless class_conditional=True"),
        ({"class_names": ["a"]}, "`class_names` must be None unless"),
        (
            {"class_conditional": True, "classes": [4]},
            r"`classes` must hold 1 to 20 integers in \[0, 4\). Received: \[4\]",
        ),
        ({"class_conditional": True, "classes": []}, "`classes` must hold"),
        ({"class_conditional": True, "classes": [0.5]}, "`classes` must hold"),
        ({"class_conditional": True, "class_names": ["a"]}, "4 names, one per class"),
        ({"class_conditional": True, "class_names": "abcd"}, "4 names, one per class"),
        ({"class_conditional": True, "ax": [1, 2]}, "array of 4 matplotlib Axes"),
        ({"class_conditional": True, "ax": [1, 2, 3, 4]}, "`ax` must be matplotlib"),
    ],
)
def test_bad_options_raise(options, message):
    labels, probabilities = multiclass()
    with pytest.raises(ValueError, match=message):
        um.reliability_diagram(labels, probabilities, **options)
    assert plt.get_fignums() == []


def test_bad_data_raise():
    labels, probabilities = multiclass()
    with pytest.raises(ValueError, match="swapped"):
        um.reliability_diagram(probabilities, labels)
    with pytest.raises(ValueError, match="`y_axis` must be one of"):
        reliability.curve_from_statistics(
            um.bin_statistics(labels, probabilities), y_axis="x"
        )
    curve = um.reliability_curve(labels, probabilities, class_conditional=True)
    with pytest.raises(ValueError, match="`annotation` must be None"):
        reliability.draw_reliability(curve, annotation="ECE")
    axes = mpl_figure.Figure().subplots(4)
    with pytest.raises(ValueError, match="`title` must be None"):
        reliability.draw_reliability(curve, title="All", ax=axes)
    assert plt.get_fignums() == []


def test_intervals_are_drawn_only_if_asked_for(ax):
    curve = um.reliability_curve(*coin_flips())
    assert curve.error_bars is curve.consistency_band is None
    um.reliability_diagram(*coin_flips(), ax=ax)
    assert len(ax.containers) == 3
    assert len(ax.collections) == 0


@pytest.mark.parametrize("class_conditional", [False, True])
def test_error_bars_and_band_show_the_curve(class_conditional):
    labels, probabilities = multiclass(classes=3)
    options = {
        "class_conditional": class_conditional,
        "num_bins": 6,
        "error_bars": 0.9,
        "consistency_band": 0.95,
        "seed": 0,
    }
    curve = um.reliability_curve(labels, probabilities, **options)
    panels = um.reliability_diagram(labels, probabilities, **options)
    for group, panel in enumerate(np.atleast_1d(panels)):
        held = curve.counts[group] > 0
        lower, upper = (ends[group][held] for ends in curve.consistency_band[1:])
        assert not panel.containers  # Bars would hide the ends of band and error bars.
        band, bars, _ = panel.collections  # The third is for the legend.
        drawn = {tuple(point) for point in band.get_paths()[0].vertices.round(9)}
        scores = curve.confidences[group][held]
        ends = np.concatenate([np.stack([scores, y], -1) for y in (lower, upper)])
        assert drawn == {tuple(point) for point in ends.round(9)}
        few = curve.sizes[group][held] < 5
        for line, which in zip(lines_of(panel), (~few, few), strict=False):
            expected = np.stack([scores, curve.accuracies[group][held]], -1)[which]
            np.testing.assert_array_equal(line.get_xydata(), expected)
        confidence = curve.confidences[group][held]
        for segment, x, low, high in zip(
            bars.get_segments(),
            confidence,
            *(ends[group][held] for ends in curve.error_bars[1:]),
            strict=True,
        ):
            np.testing.assert_allclose(segment, [[x, low], [x, high]])
        labels_shown = panel.get_legend_handles_labels()[1]
        assert {"90% error bars", "95% band if calibrated"} < set(labels_shown)


def entries(ax):
    """Returns the legend's entries, as a dict from label to handle."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def lines_of(ax):
    """Returns the lines of models, without the diagonal and lines for the legend."""
    return [line for line in ax.lines[1:] if len(line.get_xdata())]


@pytest.mark.parametrize("options", [{}, {"error_bars": 0.9}])
def test_bins_of_few_examples_have_a_small_dot_only(ax, options):
    # Three bins: four overconfident examples, six underconfident and four
    # underconfident ones.
    p = [0.55] * 4 + [0.75] * 6 + [0.85] * 4
    labels = [1, 0, 0, 0] + [1] * 6 + [1] * 4
    um.reliability_diagram(labels, p, num_bins=10, ax=ax, **options)
    if not options:
        bars, over, under = ax.containers
        np.testing.assert_allclose(rectangles(bars)[:, 0], [0.7])
        assert len(over) == 0
        np.testing.assert_allclose(rectangles(under)[:, 0], [0.7])
    means, few = lines_of(ax)
    np.testing.assert_allclose(means.get_xydata(), [[0.75, 1]])
    np.testing.assert_allclose(few.get_xydata(), [[0.55, 0.25], [0.85, 1]])
    assert few.get_markerfacecolor() == "white"
    assert few.get_linestyle() == "None"
    assert few.get_markersize() < means.get_markersize()
    assert "Fewer than 5 examples" in entries(ax)


def test_gap_of_an_underconfident_bin_has_the_color_of_accuracy(ax):
    um.reliability_diagram([1] * 6 + [0] * 6, [0.6] * 6 + [0.9] * 6, ax=ax)
    shown = entries(ax)
    under, over = shown["Underconfident"][0], shown["Overconfident"][0]
    # The area in the color of accuracy ends at the accuracy.
    assert under.get_facecolor() == shown["Accuracy"][0].get_facecolor()
    assert over.get_facecolor() != shown["Accuracy"][0].get_facecolor()
    assert under.get_hatch() != over.get_hatch()


def test_bins_of_small_effective_size_are_faded(ax):
    weights = [100, 1, 1, 1, 1, 1, 1, 1, 1, 1]  # The effective size is about 1.
    um.reliability_diagram([1] * 10, [0.7] * 10, sample_weight=weights, ax=ax)
    assert "Fewer than 5 examples" in entries(ax)


def test_each_named_model_has_a_line(ax):
    labels, p = coin_flips()
    models = {"$a": p, "b$": p**2}
    options = {"num_bins": 8, "error_bars": 0.9, "consistency_band": 0.9, "seed": 0}
    returned = um.reliability_diagram(labels, models, title="Two", ax=ax, **options)
    assert returned is ax
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
        *("Two", "Confidence", "Accuracy"),
    )
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])
    lines = lines_of(ax)
    (strip,) = ax.child_axes
    assert len({drawn.get_color() for drawn in lines}) == 2
    assert len({drawn.get_marker() for drawn in lines}) == 2
    assert len({drawn._dash_pattern[1] is None for drawn in lines}) == 2
    assert not any(patch.get_hatch() for patch in ax.patches)
    found, curves = [], []
    shares = [patch for patch in strip.patches if not patch.get_fill()]
    band, *bars = ax.collections
    for i, (name, drawn) in enumerate(zip(models, lines, strict=True)):
        curve = um.reliability_curve(labels, models[name], **options)
        held = curve.counts[0] > 0
        np.testing.assert_array_equal(drawn.get_xdata(), curve.confidences[0][held])
        np.testing.assert_array_equal(drawn.get_ydata(), curve.accuracies[0][held])
        found.append(f"{name}: ECE = {curve.error:.3f}".replace("$", r"\$"))
        np.testing.assert_array_equal(shares[i].get_data().values, curve.proportions[0])
        np.testing.assert_array_equal(shares[i].get_data().edges, curve.edges[0])
        ends = [segment[:, 1].tolist() for segment in bars[i].get_segments()]
        assert ends == np.stack([x[0][held] for x in curve.error_bars[1:]], -1).tolist()
        curves.append(curve)
    # There is one band. At each score it is the widest of all models with scores on
    # both sides.
    drawn_points = {tuple(point) for point in band.get_paths()[0].vertices.round(9)}
    expected_points = set()
    bands = [
        [part[0][c.counts[0] > 0] for part in (c.confidences, *c.consistency_band[1:])]
        for c in curves
    ]
    for x in np.concatenate([scores for scores, *_ in bands]):
        around = [b for b in bands if b[0][0] <= x <= b[0][-1]]
        lower = min(np.interp(x, scores, low) for scores, low, _ in around)
        upper = max(np.interp(x, scores, high) for scores, _, high in around)
        expected_points |= {(x.round(9), lower.round(9)), (x.round(9), upper.round(9))}
    assert drawn_points == expected_points
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    expected = {"Perfect calibration", *found, "90% band if calibrated (widest)"}
    assert set(shown) == expected | {"90% error bars"}
    ax.get_figure().draw_without_rendering()


def test_models_may_have_different_data():
    labels, p = coin_flips(100)
    other_labels, other = coin_flips(60, seed=1)
    for given in (
        {"probs": {"a": p, "b": other}},
        {"logits": {"a": np.log(p / (1 - p)), "b": np.log(other / (1 - other))}},
    ):
        ax = um.reliability_diagram({"a": labels, "b": other_labels}, **given)
        expected = [
            curve.accuracies[held]
            for curve in (
                um.reliability_curve(labels, p),
                um.reliability_curve(other_labels, other),
            )
            for held in (curve.sizes >= 5, (curve.sizes > 0) & (curve.sizes < 5))
            if np.any(held)
        ]
        for line, heights in zip(lines_of(ax), expected, strict=True):
            np.testing.assert_allclose(line.get_ydata(), heights)
    assert len(ax.get_figure().legends) == 1  # A new figure has its legend below.


def test_a_second_call_adds_a_model():
    labels, p = coin_flips(400)
    options = {"num_bins": 8, "consistency_band": 0.9, "error_bars": 0.9}
    for ax in (None, mpl_figure.Figure().subplots()):
        own = ax is None
        ax = um.reliability_diagram(labels, p, title="First", ax=ax, **options)
        figure = ax.get_figure()
        for given in (p**2, {"cubed": p**3}):
            assert um.reliability_diagram(labels, given, ax=ax, **options) is ax
        together = mpl_figure.Figure().subplots()
        models = {"Model 1": p, "Model 2": p**2, "cubed": p**3}
        um.reliability_diagram(labels, models, ax=together, **options)
        assert ax.get_title() == "First"
        assert ax.containers == []
        assert len(ax.child_axes) == 1
        for kind in ("lines", "collections", "patches", "texts"):
            assert len(getattr(ax, kind)) == len(getattr(together, kind))
        for line, expected in zip(ax.lines, together.lines, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), expected.get_xydata())
            assert line.get_color() == expected.get_color()
        legends = figure.legends if own else [ax.get_legend()]
        assert [
            [text.get_text() for text in legend.get_texts()] for legend in legends
        ] == [[text.get_text() for text in together.get_legend().get_texts()]]
        assert len(
            [a for a in ax.get_children() if isinstance(a, type(legends[0]))]
        ) == (0 if own else 1)
        figure.draw_without_rendering()


def test_a_second_call_keeps_artists_of_the_user(ax):
    labels, p = coin_flips(100)
    (line,) = ax.plot([0, 1], [1, 0])
    um.reliability_diagram(labels, p, ax=ax)
    text = ax.text(0.1, 0.1, "note")
    um.reliability_diagram(labels, {"": p**2}, ax=ax)
    um.reliability_diagram(labels, {"Model 1": p**3}, method="isotonic", ax=ax)
    assert line in ax.lines
    assert text in ax.texts
    names = [label.partition(":")[0] for label in entries(ax)]
    assert {"Model 1", "Model 2", "Model 1 (2)"} <= set(names)
    with pytest.raises(
        ValueError, match="`y_axis` must be 'accuracy', as in the diagram"
    ):
        um.reliability_diagram(labels, p, y_axis="frequency", ax=ax)
    ax.clear()
    um.reliability_diagram(labels, p, ax=ax)
    assert len(ax.containers) == 3
    ax.get_figure().draw_without_rendering()


def test_diagrams_by_class_take_no_second_model():
    labels, probabilities = multiclass()
    axes = mpl_figure.Figure().subplots(2, 2)
    options = {"class_conditional": True, "ax": axes}
    um.reliability_diagram(labels, probabilities, **options)
    lines = len(axes[0, 0].lines)
    with pytest.raises(ValueError, match="`ax` must be Axes without a diagram"):
        um.reliability_diagram(labels, probabilities, **options)
    with pytest.raises(ValueError, match="`ax` must be Axes without the diagram"):
        um.reliability_diagram(labels, probabilities, ax=axes[0, 0])
    assert len(axes[0, 0].lines) == lines


@pytest.mark.parametrize("method", ["bins", "isotonic"])
@pytest.mark.parametrize("size", [(3.3, 3.8), (5, 6.4)])  # A column, and our own size.
def test_the_number_is_between_diagram_and_strip(method, size):
    figure = mpl_figure.Figure(figsize=size, layout="constrained")
    ax = figure.subplots()
    um.reliability_diagram(*coin_flips(), method=method, title="Title", ax=ax)
    figure.draw_without_rendering()
    (text,), (strip,) = ax.texts, ax.child_axes
    found = text.get_window_extent()
    assert found.y0 >= ax.get_window_extent().y1
    assert found.y1 <= strip.get_window_extent().y0


@pytest.mark.parametrize("layout", ["constrained", "tight"])
def test_a_long_legend_is_below_if_a_layout_makes_room(layout):
    labels, p = coin_flips(300)
    figure = mpl_figure.Figure(figsize=(3.5, 4), layout=layout)
    ax = figure.subplots()
    um.reliability_diagram(labels, {f"model {k}": p**k for k in range(1, 6)}, ax=ax)
    figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    whole = ax.get_tightbbox()
    assert legend.y1 <= ax.xaxis.get_label().get_window_extent().y0 + 2
    assert min(legend.x0, legend.y0, whole.x0) >= -1
    assert legend.x1 <= figure.bbox.x1 + 1
    assert ax.get_window_extent().height > 100
    pickle.loads(pickle.dumps(figure))


@pytest.mark.parametrize(("size", "columns"), [(10, 2), (18, 1)])
def test_a_legend_below_has_as_many_columns_as_fit(size, columns):
    labels, p = coin_flips(300)
    models = {f"model {k}": p**k for k in range(1, 6)}
    with mpl.rc_context({"font.size": size}):
        figure = um.reliability_diagram(labels, models).get_figure()
    (legend,) = figure.legends
    figure.draw_without_rendering()
    found = legend.get_window_extent()
    assert min(found.x0, found.y0) >= 0
    assert found.x1 <= figure.bbox.x1
    assert len({round(text.get_window_extent().x0) for text in legend.texts}) == columns


@pytest.mark.filterwarnings("error")
def test_a_model_with_a_single_bin_is_visible():
    options = {"num_bins": 1, "consistency_band": 0.9, "error_bars": 0.9}
    options["positive_class"] = False
    ax = um.reliability_diagram([0, 1], {"a": [0.2, 0.7]}, **options)
    (mean,) = lines_of(ax)
    assert len(mean.get_xdata()) == 1
    assert ax.collections[0].get_linewidth()[0] > 0
    ax.get_figure().draw_without_rendering()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_conditional": True}, "`class_conditional` must be False for several"),
        ({"classes": [0]}, "`classes` must be None unless"),
        ({"class_names": ["a"]}, "`class_names` must be None unless"),
    ],
)
def test_bad_arguments_for_several_models_raise(options, message):
    with pytest.raises(ValueError, match=message):
        um.reliability_diagram(
            **{"labels": [1], "probabilities": {"a": [0.8]}, **options}
        )
    assert plt.get_fignums() == []


def test_error_without_matplotlib_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    for module in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    assert um.reliability_curve([0, 1], [0.2, 0.9]).error == pytest.approx(0.15)
    with pytest.raises(ImportError, match=r"needs matplotlib.*`plot`"):
        um.reliability_diagram([0, 1], [0.2, 0.9])


def tagged(number):
    rng = np.random.default_rng(0)
    p = rng.random((60, number))
    return (rng.random((60, number)) < p).astype(int), p


@pytest.mark.parametrize("method", ["bins", "isotonic"])
def test_each_label_has_a_panel(method):
    labels, p = tagged(3)
    names = ["a", "b", "c"]
    panels = um.reliability_diagram(
        labels, p, multilabel=True, method=method, class_names=names, seed=0
    )
    assert [panel.get_title()[0] for panel in panels] == names
    assert panels[0].get_ylabel() == "Observed relative frequency"


def test_of_many_labels_those_with_the_largest_errors_are_drawn():
    labels, p = tagged(14)
    p[:, [2, 5]] = 0.5  # Their errors are the smallest: a single bin.
    curve = um.reliability_curve(labels, p, multilabel=True)
    smallest = np.sort(np.argsort(curve.errors)[:2])
    panels = um.reliability_diagram(labels, p, multilabel=True)
    shown = [int(panel.get_title().split()[1]) for panel in panels]
    assert shown == sorted({*range(14)} - {*smallest.tolist()})
    title = panels[0].get_figure().get_suptitle()
    assert title == "The 12 of 14 labels with the largest error"
    (only,) = um.reliability_diagram(labels, p, multilabel=True, classes=[2])
    assert only.get_title().startswith("Label 2")
    with pytest.raises(ValueError, match="`multilabel` must be False for several"):
        um.reliability_diagram(labels, {"a": p}, multilabel=True)


def test_a_diagram_of_votes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 60)
    shares = rng.multinomial(3, p) / 3
    given = {"label_distributions": shares, "num_bins": 5}
    ax = um.reliability_diagram(**given, probabilities={"a": p, "b": p[:, ::-1]})
    assert ax.get_ylabel() == "Accuracy"
