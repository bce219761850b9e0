"""Plots of selective prediction: numbers against loops, plots against the numbers."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import figure as mpl_figure
from scipy import stats
from sklearn import metrics as sklearn_metrics

from uncertainty_metrics.numpy.selective import risk_coverage
from uncertainty_metrics.visualization import rejection
from uncertainty_metrics.visualization import selective as plots

mpl.use("Agg")

import matplotlib.pyplot as plt

pytestmark = pytest.mark.usefixtures("close_figures")

DIAGRAMS = [
    plots.risk_coverage_diagram,
    plots.accuracy_confidence_diagram,
    rejection.rejection_diagram,
]


def classifier(rng, n=200, classes=4):
    """Makes labels, and logits that predict them to some degree."""
    labels = rng.integers(classes, size=n)
    logits = 2 * rng.normal(size=(n, classes))
    logits[np.arange(n), labels] += 2
    return labels, logits


def softmax(logits):
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn(ax):
    """Returns the lines of data, without lines that exist for the legend."""
    return [line for line in ax.lines if len(line.get_xdata())]


# Accuracy against confidence.


def test_accuracies_by_hand():
    curve = plots.accuracy_confidence_curve(
        [0, 1, 1, 0],
        [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.5, 0.5]],
        thresholds=[0.95, 0.9, 0.75, 0.7, 0.0, 0.5],
    )
    np.testing.assert_array_equal(curve.thresholds, [0.95, 0.9, 0.75, 0.7, 0.0, 0.5])
    np.testing.assert_allclose(curve.accuracies, [np.nan, 1, 1, 2 / 3, 0.75, 0.75])
    np.testing.assert_allclose(curve.shares, [0, 0.25, 0.5, 0.75, 1, 1])


@pytest.mark.parametrize("kind", ["probabilities", "logits", "float32"])
def test_accuracies_equal_a_loop(rng, kind):
    labels, logits = classifier(rng)
    p = softmax(logits)
    if kind == "float32":
        p = np.float32(np.round(p, 2))  # Many equal thresholds up to rounding.
    weights = rng.random(len(labels))
    given = {"logits": logits} if kind == "logits" else {"probabilities": p}
    curve = plots.accuracy_confidence_curve(labels, **given, sample_weight=weights)
    np.testing.assert_array_equal(curve.thresholds, np.linspace(0, 1, 101).round(2))
    confidences = p.max(axis=-1)
    right = p.argmax(axis=-1) == labels
    for threshold, accuracy, share in zip(*curve, strict=True):
        kept = confidences >= p.dtype.type(threshold)
        assert share == pytest.approx(weights[kept].sum() / weights.sum())
        if np.any(kept):
            assert accuracy == pytest.approx(
                np.average(right[kept], weights=weights[kept])
            )
        else:
            assert np.isnan(accuracy)


def test_default_thresholds_are_all_values_of_given_confidences(rng):
    confidences = rng.integers(-5, 5, size=40) / 4
    correct = rng.integers(2, size=40)
    curve = plots.accuracy_confidence_curve(confidences=confidences, correct=correct)
    np.testing.assert_array_equal(curve.thresholds, np.unique(confidences))
    np.testing.assert_allclose(
        curve.accuracies,
        [np.mean(correct[confidences >= t]) for t in np.unique(confidences)],
    )
    assert curve.shares[0] == 1


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.6, 0.7, 0.9])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_rounded_confidence_reaches_the_threshold_of_the_same_decimals(
    threshold, dtype
):
    curve = plots.accuracy_confidence_curve(
        confidences=dtype([threshold]), correct=[1], thresholds=[threshold]
    )
    assert curve.shares.tolist() == [1.0]


def test_ignored_examples_are_left_out(rng):
    labels, logits = classifier(rng)
    expected = plots.accuracy_confidence_curve(labels[:50], logits=logits[:50])
    labels[50:] = -1
    curve = plots.accuracy_confidence_curve(labels, logits=logits, ignore_index=-1)
    np.testing.assert_array_equal(curve, expected)
    expected = rejection.rejection_curve(labels[:50], logits=logits[:50])
    curve = rejection.rejection_curve(labels, logits=logits, ignore_index=-1)
    np.testing.assert_array_equal(curve, expected)


# Rejection.


def expected_accuracies(confidences, right):
    """Returns accuracies of the rest, averaged over all orders of equal confidences."""
    orders = [
        order
        for order in itertools.permutations(range(len(right)))
        if all(confidences[a] >= confidences[b] for a, b in itertools.pairwise(order))
    ]
    kept = range(len(right), 0, -1)
    return [np.mean([np.mean(right[list(o[:k])]) for o in orders]) for k in kept]


def test_rejection_by_hand():
    curve = rejection.rejection_curve(
        confidences=[0.9, 0.8, 0.6],
        correct=[1, 0, 1],
        ood_confidences=[0.95, 0.1],
    )
    np.testing.assert_allclose(curve.rejected, [0, 0.2, 0.4, 0.6, 0.8])
    np.testing.assert_allclose(curve.accuracies, [2 / 5, 2 / 4, 1 / 3, 1 / 2, 0])
    np.testing.assert_allclose(curve.maximum, [2 / 5, 2 / 4, 2 / 3, 1, 1])


@pytest.mark.parametrize("levels", [1, 2, 4])
def test_equal_confidences_share_their_accuracy(rng, levels):
    confidences = rng.integers(levels, size=6).astype(float)
    correct = rng.integers(2, size=4)
    curve = rejection.rejection_curve(
        confidences=confidences[:4], correct=correct, ood_confidences=confidences[4:]
    )
    right = np.append(correct, [0, 0])
    np.testing.assert_allclose(
        curve.accuracies, expected_accuracies(confidences, right), atol=1e-12
    )


@pytest.mark.parametrize("rounded", [False, True])
def test_accuracy_after_rejection_is_1_minus_the_risk(rng, rounded):
    confidences, correct = rng.random(80), rng.integers(2, size=80)
    if rounded:
        confidences = confidences.round(1)
    data = {"confidences": confidences, "correct": correct}
    curve = rejection.rejection_curve(**data)
    risks = risk_coverage.risk_coverage_curve(**data)
    kept = np.rint(risks.coverages * 80).astype(int)
    np.testing.assert_allclose(curve.accuracies[80 - kept], 1 - risks.risks)
    area = risk_coverage.area_under_risk_coverage_curve(**data)
    assert 1 - np.mean(curve.accuracies) == pytest.approx(area, rel=1e-12)
    perfect = area - risk_coverage.excess_aurc(**data)
    assert 1 - np.mean(curve.maximum) == pytest.approx(perfect, rel=1e-12)


@pytest.mark.parametrize("rounded", [False, True])
def test_rejection_ratio_equals_auroc_and_areas(rng, rounded):
    known, unknown = rng.random(60), 0.8 * rng.random(30)
    if rounded:
        known, unknown = known.round(1), unknown.round(1)
    correct = rng.random(60) < known
    curve = rejection.rejection_curve(
        confidences=known, correct=correct, ood_confidences=unknown
    )
    right = np.append(correct, np.zeros(30, bool))
    auroc = sklearn_metrics.roc_auc_score(right, np.append(known, unknown))
    assert curve.rejection_ratio == pytest.approx(2 * auroc - 1)

    # The areas between the shares of errors by the trapezoid rule, as in the paper.
    shares = np.append(1 - curve.rejected, 0)
    random = sklearn_metrics.auc(shares, shares * (1 - right.mean()))

    def gain(accuracies):
        errors = shares * (1 - np.append(accuracies, 0))
        return random - sklearn_metrics.auc(shares, errors)

    expected = gain(curve.accuracies) / gain(curve.maximum)
    assert curve.rejection_ratio == pytest.approx(expected)


def test_rejection_ratio_of_the_best_and_the_worst_order():
    def ratio(correct):
        confidences = -np.arange(len(correct))
        return rejection.rejection_curve(
            confidences=confidences, correct=correct
        ).rejection_ratio

    assert ratio([1, 1, 1, 0, 0]) == pytest.approx(1)
    assert ratio([0, 0, 1, 1, 1]) == pytest.approx(-1)
    assert ratio([1, 0, 0, 1]) == pytest.approx(0)
    assert np.isnan(ratio([1, 1]))
    assert np.isnan(ratio([0, 0]))
    assert np.isnan(ratio([1]))


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_rejection_of_a_classifier_uses_its_largest_probabilities(rng, kind):
    labels, logits = classifier(rng, n=40)
    unknown = rng.normal(size=(25, 4))
    for array in (labels, logits, unknown):
        array.flags.writeable = False
    p, q = softmax(logits), softmax(unknown)
    given = {"logits": logits, "ood_logits": unknown}
    if kind == "probabilities":
        given = {"probabilities": p, "ood_probabilities": q}
    curve = rejection.rejection_curve(labels, **given)
    expected = rejection.rejection_curve(
        confidences=p.max(axis=-1),
        correct=p.argmax(axis=-1) == labels,
        ood_confidences=q.max(axis=-1),
    )
    np.testing.assert_allclose(curve, expected)


def test_logits_rank_examples_whose_probabilities_are_rounded_to_1():
    # All of these probabilities are rounded to 1 in float64.
    logits, unknown = [[90.0, 0], [80.0, 0]], [[70.0, 0]]
    curve = rejection.rejection_curve([0, 0], logits=logits, ood_logits=unknown)
    np.testing.assert_allclose(curve.accuracies, [2 / 3, 1, 1])


def test_all_shapes_of_two_classes_give_the_same_curve(rng):
    labels, p = rng.integers(2, size=(3, 5)), rng.random((3, 5))
    unknown = rng.random((2, 5))
    expected = rejection.rejection_curve(labels, p, ood_probabilities=unknown)
    assert expected.rejected.shape == (25,)
    both = [np.stack([1 - x, x], axis=-1) for x in (p, unknown)]
    for known, other in (
        (p[..., None], unknown[..., None]),
        both,
    ):
        curve = rejection.rejection_curve(labels, known, ood_probabilities=other)
        np.testing.assert_allclose(curve, expected)
    one = rejection.rejection_curve([1], [0.8], ood_probabilities=[0.9, 0.6])
    np.testing.assert_allclose(one.accuracies, [1 / 3, 1 / 2, 0])


PAIR = {"logits": [[1.0, 2]]}
HALF = {"probabilities": [0.5]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({**PAIR, "ood_probabilities": [[0.5, 0.5]]}, "must be None with"),
        ({**HALF, "ood_logits": [0.5]}, "`ood_logits` must be None"),
        ({**HALF, "ood_confidences": [1]}, "`ood_confidences` must be"),
        ({**PAIR, "ood_logits": [[1.0, 2, 3]]}, "`ood_logits` must be of"),
        ({**PAIR, "ood_logits": [1.0, 2]}, "`ood_logits` must be of the"),
        ({**HALF, "ood_probabilities": [[0.5]]}, "`ood_probabilities` must be of the"),
        ({"probabilities": [[0.5]], "ood_probabilities": [[0.5, 0.5]]}, "be of the"),
        ({**HALF, "ood_probabilities": [1.5]}, r"`ood_probabilities`: .*in \[0, 1\]"),
        ({**PAIR, "ood_logits": [[np.nan, 2]]}, "`ood_logits`: .*finite"),
        ({**PAIR, "ood_logits": np.zeros((0, 2))}, "`ood_logits`: .*one"),
        ({**PAIR, "ood_logits": [[1.0], [2, 3]]}, "`ood_logits` must be a"),
        ({}, "Exactly one of `probabilities` and `logits`"),
        ({"probabilities": [1.5]}, r"`probabilities` must be in \[0, 1\]"),
        ({"correct": [1], "confidences": [0.1]}, "Either `labels` with one of"),
    ],
)
def test_bad_arguments_of_rejection_raise(arguments, message):
    for function in (rejection.rejection_curve, rejection.rejection_diagram):
        with pytest.raises(ValueError, match=message):
            function([0], **arguments)
    assert plt.get_fignums() == []


def test_bad_confidences_of_rejection_raise():
    data = {"confidences": [0.5], "correct": [1]}
    for bad in ([np.nan], [], [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match="`ood_confidences`"):
            rejection.rejection_curve(**data, ood_confidences=bad)
    with pytest.raises(TypeError, match="`ood_confidences` must hold numbers"):
        rejection.rejection_curve(**data, ood_confidences=["a"])


# The diagrams.


@pytest.mark.parametrize("rounded", [False, True])
def test_risk_coverage_lines_show_the_curve(rng, ax, rounded):
    confidences, correct = rng.random(60), rng.integers(2, size=60)
    if rounded:
        confidences = confidences.round(1)
    data = {"confidences": confidences, "correct": correct}
    data["sample_weight"] = rng.random(60)
    returned = plots.risk_coverage_diagram(**data, title="Risk", ax=ax)
    assert returned is ax
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
        *("Risk", "Coverage", "Risk"),
    )
    curve = risk_coverage.risk_coverage_curve(**data)
    steps, random, perfect = drawn(ax)
    x, y = steps.get_data()
    np.testing.assert_array_equal(x, [0, *curve.coverages])
    np.testing.assert_array_equal(y, [curve.risks[0], *curve.risks])
    assert steps.get_drawstyle() == "steps-pre"
    # Between two points, such steps have the height of the next point.
    for coverage in rng.uniform(0.01, 0.99, size=20):
        height = y[np.searchsorted(x, coverage)]
        assert height == risk_coverage.risk_at_coverage(**data, coverage=coverage)
    assert set(random.get_ydata()) == {curve.risks[-1]}
    x, y = perfect.get_data()
    right = np.average(correct, weights=data["sample_weight"])
    np.testing.assert_allclose(y, np.maximum(0, (x - right) / x), atol=1e-12)
    assert x[-1] == 1
    area = risk_coverage.area_under_risk_coverage_curve(**data)
    assert legend(ax) == [f"AURC = {area:.3g}", "Random order", "Perfect order"]


@pytest.mark.parametrize("rounded", [False, True])
def test_confidence_band_is_wilsons_interval(rng, ax, rounded):
    confidences, correct = rng.random(60), rng.integers(2, size=60)
    if rounded:
        confidences = confidences.round(1)
    data = {"confidences": confidences, "correct": correct}
    plots.risk_coverage_diagram(**data, confidence_band=0.9, ax=ax)
    band = ax.collections[0].get_paths()[0]
    curve = risk_coverage.risk_coverage_curve(**data)
    for threshold, coverage in zip(curve.thresholds, curve.coverages, strict=True):
        kept = correct[confidences >= threshold]
        test = stats.binomtest(int(np.sum(kept == 0)), len(kept))
        expected = test.proportion_ci(confidence_level=0.9, method="wilson")
        # Where two steps meet, the band has the ends of both.
        at = band.vertices[np.isclose(band.vertices[:, 0], coverage)][:, 1]
        for end in expected:
            assert np.min(np.abs(at - end)) < 1e-12
    assert "90% confidence band" in legend(ax)


def test_very_many_examples_are_thinned_without_visible_change(rng, ax):
    n = 60_000
    confidences = rng.random(n)
    correct = rng.random(n) < 0.5 + confidences / 2
    data = {"confidences": confidences, "correct": correct}
    plots.risk_coverage_diagram(**data, confidence_band=0.9, ax=ax)
    x, y = drawn(ax)[0].get_data()
    assert len(x) < 6_000
    curve = risk_coverage.risk_coverage_curve(**data)
    assert (x[0], x[-1], y[-1]) == (0, 1, curve.risks[-1])
    # All drawn points are on the curve, and each part has its highest and lowest
    # points.
    at = np.searchsorted(curve.coverages, x[1:])
    np.testing.assert_array_equal(x[1:], curve.coverages[at])
    np.testing.assert_array_equal(y[1:], curve.risks[at])
    for low in np.arange(0, 1, 0.01):
        seen = y[1:][(low <= x[1:]) & (x[1:] <= low + 0.01)]
        within = (low + 0.002 < curve.coverages) & (curve.coverages < low + 0.008)
        assert seen.min() <= curve.risks[within].min()
        assert seen.max() >= curve.risks[within].max()


def test_confidence_band_of_weights_uses_the_effective_size(rng):
    confidences, correct = rng.random(40), rng.integers(2, size=40)
    weights = rng.choice([1.0, 3.0], 40)
    risks, scaled = (
        plots._risks(
            plots._ThresholdData(
                confidences=confidences,
                correct=correct,
                sample_weight=scale * weights,
            ),
            level=0.9,
        )
        for scale in (1.0, 1e-3)
    )
    np.testing.assert_allclose(scaled.band, risks.band)
    for k in range(40):
        kept = np.argsort(-confidences)[: k + 1]
        n = weights[kept].sum() ** 2 / np.sum(weights[kept] ** 2)
        risk, z = (
            np.average(1 - correct[kept], weights=weights[kept]),
            1.6448536269514722,
        )
        for end in (risks.band[0][k], risks.band[1][k]):
            # At an end of the band, the score test of the risk has its critical value.
            assert abs(end - risk) == pytest.approx(
                z * np.sqrt(max(end * (1 - end), 0) / n), abs=1e-7
            )


def test_thresholds_are_marked(rng, ax):
    labels, logits = classifier(rng)
    p = np.float32(softmax(logits).round(2))
    thresholds = [0.5, 0.9, 0.95, 2.0]
    plots.risk_coverage_diagram(labels, p, thresholds=thresholds, ax=ax)
    marks = drawn(ax)[1]
    expected = plots.accuracy_confidence_curve(labels, p, thresholds=thresholds)
    coverages, risks = marks.get_data()
    np.testing.assert_allclose(coverages, expected.shares[:3])
    np.testing.assert_allclose(risks, 1 - expected.accuracies[:3])
    assert [text.get_text() for text in ax.texts] == ["0.5", "0.9", "0.95"]
    # The marks are points of the curve.
    x, y = drawn(ax)[0].get_data()
    for point in zip(coverages, risks, strict=True):
        assert point in set(zip(x, y, strict=True))
    for bad in ([], 0.5, [np.nan]):
        with pytest.raises(ValueError, match="`thresholds` must be"):
            plots.risk_coverage_diagram(labels, p, thresholds=bad)


def test_each_model_has_a_band_and_its_marks(rng, ax):
    labels, logits = classifier(rng)
    models = {"a": logits, "b": 2 * logits}
    given = {"thresholds": {"a": [0.5], "b": [0.9, 0.5]}, "confidence_band": 0.95}
    plots.risk_coverage_diagram(labels, logits=models, **given, ax=ax)
    assert len(ax.collections) == 3  # Two bands, and one that exists for the legend.
    assert [text.get_text() for text in ax.texts] == ["0.5", "0.9", "0.5"]
    ax.get_figure().draw_without_rendering()


def test_accuracy_lines_show_the_curve(rng, ax):
    labels, logits = classifier(rng)
    models = {"a": softmax(logits), "b": softmax(logits + rng.normal(size=(200, 4)))}
    thresholds = np.linspace(0.2, 1, 9)
    returned = plots.accuracy_confidence_diagram(
        labels, models, thresholds=thresholds, title="Accuracy", ax=ax
    )
    assert returned is ax
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
        *("Accuracy", "Confidence threshold", "Accuracy"),
    )
    (strip,) = ax.child_axes
    for line, share, p in zip(drawn(ax), strip.lines, models.values(), strict=True):
        curve = plots.accuracy_confidence_curve(labels, p, thresholds=thresholds)
        np.testing.assert_array_equal(line.get_data(), curve[:2])
        np.testing.assert_array_equal(share.get_data(), curve[::2])
        assert line.get_color() == share.get_color()
    assert legend(ax) == ["a", "b"]


def test_rejection_lines_show_the_curve(rng, ax):
    labels, logits = classifier(rng)
    unknown = rng.normal(size=(50, 4))
    returned = rejection.rejection_diagram(
        labels, logits=logits, ood_logits=unknown, title="Rejection", ax=ax
    )
    assert returned is ax
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
        *("Rejection", "Share rejected", "Accuracy of the rest"),
    )
    curve = rejection.rejection_curve(labels, logits=logits, ood_logits=unknown)
    line, random, maximum = drawn(ax)
    np.testing.assert_array_equal(line.get_data(), curve[:2])
    assert set(random.get_ydata()) == {curve.accuracies[0]}
    np.testing.assert_array_equal(maximum.get_data(), curve[::2])
    ratio = curve.rejection_ratio
    assert legend(ax) == [f"PRR = {ratio:.3f}", "Random order", "Maximum"]


def test_each_named_model_has_a_line(rng):
    labels, logits = classifier(rng)
    others = logits + rng.normal(size=logits.shape)
    for given in (
        {"logits": {"$a": logits, "b$": others}},
        {"probabilities": {"$a": softmax(logits), "b$": softmax(others)}},
    ):
        for draw, word, others_drawn in (
            (plots.risk_coverage_diagram, "AURC", ["Random order"]),
            (rejection.rejection_diagram, "PRR", ["Random order", "Maximum"]),
        ):
            ax = draw(labels, **given, ax=mpl_figure.Figure().subplots())
            first, second, *rest = legend(ax)
            assert first.startswith(rf"\$a: {word} = ")
            assert second.startswith(rf"b\$: {word} = ")
            assert rest == others_drawn
            lines = drawn(ax)
            assert len(lines) == 2 + 2 * len(others_drawn)
            for i, line in enumerate(lines):
                assert line.get_color() == lines[i % 2].get_color()
            assert lines[0].get_color() != lines[1].get_color()
            ax.get_figure().draw_without_rendering()


def test_models_by_confidences_may_share_correct(rng):
    correct = rng.integers(2, size=30)
    confidences = {name: rng.random(30) for name in ("entropy", "energy")}
    same = dict.fromkeys(("energy", "entropy"), correct)
    for given in (correct, same):
        ax = plots.risk_coverage_diagram(
            confidences=confidences, correct=given, ax=mpl_figure.Figure().subplots()
        )
        for text, (name, values) in zip(legend(ax), confidences.items(), strict=False):
            area = risk_coverage.area_under_risk_coverage_curve(
                confidences=values, correct=correct
            )
            assert text == f"{name}: AURC = {area:.3g}"


def test_noise_of_the_first_few_examples_does_not_set_the_height(ax):
    # The most confident of 200 examples is wrong, and so are 10 others.
    correct = np.ones(200, int)
    correct[[0, *range(100, 200, 10)]] = 0
    data = {"confidences": -np.arange(200.0), "correct": correct}
    plots.risk_coverage_diagram(**data, ax=ax)
    assert np.max(drawn(ax)[0].get_ydata()) == 1
    assert 0.1 < ax.get_ylim()[1] < 0.2
    for draw in (plots.accuracy_confidence_diagram, rejection.rejection_diagram):
        ax = draw(**data, ax=mpl_figure.Figure().subplots())
        assert np.min(drawn(ax)[0].get_ydata()) == 0
        assert 0.8 < ax.get_ylim()[0] < 0.95


@pytest.mark.first(4, "thorough")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", DIAGRAMS)
@pytest.mark.parametrize(
    ("confidences", "correct"),
    [
        ([0.3], [1]),
        ([0.3], [0]),
        ([0.1, 0.2, 0.3], [1, 1, 1]),
        ([0.1, 0.2, 0.3], [0, 0, 0]),
        ([0.5, 0.5, 0.5], [1, 0, 1]),
        ([-1e300, 0.0, 1e300], [1, 0, 1]),
    ],
)
def test_extreme_data_are_drawn(draw, confidences, correct, ax):
    draw(confidences=confidences, correct=correct, ax=ax)
    assert plt.get_fignums() == []  # With given Axes, pyplot gets no figure.
    ax.get_figure().draw_without_rendering()
    low, high = ax.get_ylim()
    rate = np.mean(correct)
    expected = 1 - rate if draw is plots.risk_coverage_diagram else rate
    assert low < expected < high
    assert np.any(np.isclose(drawn(ax)[0].get_ydata(), expected))


def test_thresholds_above_all_confidences_are_drawn(ax):
    plots.accuracy_confidence_diagram([0], [0.2], thresholds=[0.9, 1.0], ax=ax)
    low, high = ax.get_ylim()
    assert low < 0 < 1 < high


def test_text_is_a_type_error():
    with pytest.raises(TypeError, match=r"^a: `logits` must hold numbers"):
        plots.risk_coverage_diagram([0], logits={"a": [["x", "y"]]})
