"""Drawn decision curves and Murphy diagrams, against loops."""

import matplotlib as mpl
import numpy as np
import pytest

import uncertainty_metrics.numpy as um

mpl.use("Agg")

pytestmark = pytest.mark.usefixtures("close_figures")


def forecasts(rng, n=120, dtype=np.float64):
    p = rng.random(n).round(2).astype(dtype)  # Many scores are thresholds.
    return (rng.random(n) < p).astype(int), p


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lines_of_net_benefit_equal_a_loop(rng, ax, weighted, dtype):
    labels, p = forecasts(rng, dtype=dtype)
    weights = rng.random(120) if weighted else np.ones(120)
    given = {"sample_weight": weights} if weighted else {}
    assert um.decision_curve_diagram(labels, p, **given, title="Worth", ax=ax) is ax
    assert ax.get_title() == "Worth"
    model, everyone, nobody = ax.lines
    thresholds = model.get_xdata()
    np.testing.assert_allclose(thresholds, np.arange(100) / 100)
    for treated, line in ((lambda t: p >= dtype(t), model), (lambda _: True, everyone)):
        for t, value in zip(thresholds, line.get_ydata(), strict=True):
            right = np.sum(weights * (treated(t) & (labels == 1)))
            wrong = np.sum(weights * (treated(t) & (labels == 0)))
            expected = (right - wrong * t / (1 - t)) / weights.sum()
            assert value == pytest.approx(expected, abs=1e-9)
    assert set(nobody.get_ydata()) == {0}
    assert legend(ax) == ["Treat by the model", "Treat all", "Treat none"]
    low, high = ax.get_ylim()
    assert low < 0 < np.average(labels, weights=weights) < high


@pytest.mark.parametrize("weighted", [False, True])
def test_lines_of_mean_losses_equal_a_loop(rng, ax, weighted):
    labels, p = forecasts(rng)
    weights = rng.random(120) if weighted else np.ones(120)
    given = {"sample_weight": weights} if weighted else {}
    assert um.murphy_diagram(labels, p, **given, title="Losses", ax=ax) is ax
    model, constant = ax.lines
    thetas = model.get_xdata()
    share = np.average(labels, weights=weights)
    for line, forecast in ((model, p), (constant, np.full(120, share))):
        for theta, value in zip(thetas, line.get_ydata(), strict=True):
            needless = theta * ((forecast > theta) & (labels == 0))
            missed = (1 - theta) * ((forecast <= theta) & (labels == 1))
            expected = np.average(needless + missed, weights=weights)
            assert value == pytest.approx(expected, abs=1e-9)
    brier = np.average((labels - p) ** 2, weights=weights)
    assert legend(ax) == [f"Area = {brier / 2:.4f}", "Share of class 1"]
    assert np.trapezoid(model.get_ydata(), thetas) == pytest.approx(brier / 2, abs=2e-3)


@pytest.mark.parametrize("draw", [um.decision_curve_diagram, um.murphy_diagram])
def test_each_named_model_has_a_line(rng, draw):
    labels, p = forecasts(rng)
    logits = {"$a": np.log((p + 0.01) / (1.01 - p)), "b": np.zeros(120)}
    ax = draw(labels, logits=logits)
    lines = [line for line in ax.lines if not line.get_label().startswith("_")]
    names = [line.get_label().partition(":")[0] for line in lines[:2]]
    assert names == [r"\$a", "b"]
    assert lines[0].get_color() != lines[1].get_color()
    assert len(ax.lines) == (4 if draw is um.decision_curve_diagram else 3)
    # Models with different labels have different shares of class 1.
    ax = draw({"a": labels, "b": np.ones(120, int)}, {"a": p, "b": p})
    assert len(ax.lines) == (5 if draw is um.decision_curve_diagram else 4)
    both = np.stack([1 - p, p], axis=-1)
    for line, expected in zip(
        draw(labels, both).lines, draw(labels, p).lines, strict=True
    ):
        np.testing.assert_allclose(line.get_ydata(), expected.get_ydata())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", [um.decision_curve_diagram, um.murphy_diagram])
@pytest.mark.parametrize(
    ("labels", "p"), [([0], [0.0]), ([1], [1.0]), ([0, 0], [0.5, 1.0]), ([1], [0.0])]
)
def test_extreme_data_are_drawn(draw, labels, p, ax):
    draw(labels, p, ax=ax)
    ax.get_figure().draw_without_rendering()
    low, high = ax.get_ylim()
    assert low < high


def test_one_threshold_is_a_point_and_bad_ones_raise(rng, ax):
    labels, p = forecasts(rng)
    um.decision_curve_diagram(labels, p, thresholds=[0.2], ax=ax)
    assert ax.lines[0].get_marker() == "o"
    for bad in ([], 0.5, [[0.5]], [np.nan], [1.0], [-0.1]):
        with pytest.raises(ValueError, match="`thresholds` must be"):
            um.decision_curve_diagram(labels, p, thresholds=bad)


@pytest.mark.parametrize("draw", [um.decision_curve_diagram, um.murphy_diagram])
def test_more_than_two_classes_raise(draw):
    with pytest.raises(ValueError, match="of one event"):
        draw([0], [[0.2, 0.3, 0.5]])
    with pytest.raises(ValueError, match="a: `probabilities` must be in"):
        draw([0], {"a": [1.5]})
