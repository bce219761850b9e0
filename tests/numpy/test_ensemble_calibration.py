"""Calibration of ensembles: numbers against loops, drawings against the numbers."""

import matplotlib as mpl
import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.references import softmax
from uncertainty_metrics.numpy.ensemble import member_calibration
from uncertainty_metrics.visualization import ensemble as plots

mpl.use("Agg")

import matplotlib.pyplot as plt

pytestmark = pytest.mark.usefixtures("close_figures")

ensemble_calibration = member_calibration.ensemble_calibration


def members(rng, n=300, m=3, classes=4, sharpness=1.0):
    """Makes labels, and logits [n, m, classes] that predict them to some degree."""
    labels = rng.integers(classes, size=n)
    logits = rng.normal(size=(n, 1, classes)) + 0.7 * rng.normal(size=(n, m, classes))
    logits[np.arange(n), :, labels] += 1.5
    return labels, sharpness * logits


def loop(labels, probabilities, num_bins, weights):
    """Returns counts, confidences and accuracies of the bins, by a loop."""
    sums = np.zeros((3, num_bins))
    for label, p, weight in zip(labels, probabilities, weights, strict=True):
        decided = int(np.argmax(p))
        edges = np.linspace(0, 1, num_bins + 1)
        b = next(b for b in range(num_bins) if p[decided] <= edges[b + 1])
        sums[:, b] += weight, weight * p[decided], weight * (decided == label)
    with np.errstate(invalid="ignore"):
        return sums[0], sums[1] / sums[0], sums[2] / sums[0]


# The numbers.


def test_by_hand():
    # Two members are right with confidence .6 and one is wrong with .4. The mean of
    # their probabilities is right with .5.
    calibration = ensemble_calibration(
        [0],
        probabilities=[[[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.3, 0.4, 0.3]]],
        num_bins=10,
    )
    nan = np.nan
    expected = np.full((3, 10), nan)
    expected[[0, 1, 2], [5, 5, 3]] = 0.6, 0.6, 0.4
    np.testing.assert_allclose(calibration.edges, np.arange(11) / 10)
    np.testing.assert_allclose(calibration.member_confidences, expected)
    np.testing.assert_array_equal(calibration.member_counts, ~np.isnan(expected))
    np.testing.assert_allclose(
        calibration.member_gaps[[0, 1, 2], [5, 5, 3]], [0.4, 0.4, -0.4]
    )
    np.testing.assert_allclose(calibration.member_eces, 0.4)
    np.testing.assert_allclose(calibration.member_overall_confidences, [0.6, 0.6, 0.4])
    np.testing.assert_array_equal(calibration.member_overall_accuracies, [1, 1, 0])
    assert np.flatnonzero(calibration.ensemble_counts).tolist() == [4]
    assert calibration.ensemble_confidences[4] == pytest.approx(0.5)
    assert calibration.ensemble_gaps[4] == pytest.approx(0.5)
    assert calibration.ensemble_ece == pytest.approx(0.5)
    assert calibration.ensemble_confidence == pytest.approx(0.5)
    assert calibration.ensemble_accuracy == 1
    assert calibration.verdict == (
        "Averaging made calibration worse (ECE from 0.400 to 0.500): confidence went "
        "from 0.533 to 0.500 and accuracy from 0.667 to 1.000, which leaves the "
        "ensemble underconfident."
    )


@pytest.mark.parametrize("from_logits", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_numbers_equal_a_loop(rng, from_logits, weighted):
    labels, logits = members(rng, n=120)
    p = softmax(logits)
    weights = rng.integers(3, size=120) if weighted else np.ones(120)
    given = {"logits": logits} if from_logits else {"probabilities": p}
    calibration = ensemble_calibration(
        labels, **given, num_bins=7, sample_weight=weights if weighted else None
    )
    # The last row is the ensemble.
    found = [
        np.vstack([of_members, of_ensemble])
        for of_members, of_ensemble in (
            (calibration.member_counts, calibration.ensemble_counts),
            (calibration.member_confidences, calibration.ensemble_confidences),
            (calibration.member_accuracies, calibration.ensemble_accuracies),
        )
    ]
    overall = [
        [*calibration.member_overall_confidences, calibration.ensemble_confidence],
        [*calibration.member_overall_accuracies, calibration.ensemble_accuracy],
    ]
    eces = [*calibration.member_eces, calibration.ensemble_ece]
    for m, model in enumerate([*np.moveaxis(p, 1, 0), p.mean(axis=1)]):
        expected = loop(labels, model, 7, weights)
        np.testing.assert_allclose([values[m] for values in found], expected)
        right = model.argmax(axis=-1) == labels
        means = np.average([model.max(axis=-1), right], 1, weights)
        np.testing.assert_allclose(np.array(overall)[:, m], means)
        ece = um.ece(labels, model, num_bins=7, sample_weight=weights)
        assert eces[m] == pytest.approx(ece)


def test_averaging_overconfident_members_helps_and_underconfident_ones_harms(rng):
    labels, logits = members(rng, n=2000, m=5, sharpness=4.0)
    calibration = ensemble_calibration(labels, logits)
    assert calibration.ensemble_ece < calibration.member_eces.min()
    assert calibration.verdict.startswith("Averaging made calibration better (ECE from")
    assert (
        np.mean(calibration.member_overall_confidences)
        > calibration.ensemble_confidence
    )
    calibration = ensemble_calibration(labels, logits / 16)
    assert calibration.ensemble_ece > calibration.member_eces.max()
    assert calibration.verdict.startswith("Averaging made calibration worse (ECE from")
    assert calibration.verdict.endswith("which leaves the ensemble underconfident.")


@pytest.mark.parametrize(
    ("labels", "confidences", "direction"),
    [
        ([0, 0, 1], [1.0, 1.0, 0.0], "calibrated"),
        ([1, 1, 0], [0.9, 0.8, 0.6], "overconfident"),
        ([0, 0, 0], [0.9, 0.8, 0.6], "underconfident"),
        ([0, 1], [0.6, 0.9], "overconfident in some bins and underconfident in others"),
        # The gaps are .65 or .55 of overconfidence, and .2 of underconfidence.
        ([1, 0], [0.65, 0.8], "overconfident"),
        (
            [1, 0],
            [0.55, 0.8],
            "overconfident in some bins and underconfident in others",
        ),
    ],
)
def test_verdict_of_one_member(labels, confidences, direction):
    # The last axis holds P(class 1) alone; the confidence is P(class 0).
    probabilities = 1 - np.array(confidences)[:, None, None]
    calibration = ensemble_calibration(labels, probabilities=probabilities)
    assert calibration.ensemble_ece == calibration.member_eces[0]
    assert calibration.verdict.startswith("Averaging left calibration as it was (ECE")
    assert calibration.verdict.endswith(f"which leaves the ensemble {direction}.")


def test_one_member_and_equal_members_are_the_ensemble(rng):
    labels, logits = members(rng, m=1)
    # The mean of equal float32 numbers is exact in float64.
    p = softmax(logits).astype(np.float32)
    for copies in (1, 3):
        calibration = ensemble_calibration(
            labels, probabilities=np.repeat(p, copies, axis=1)
        )
        for member in range(copies):
            for name in ("counts", "confidences", "accuracies", "gaps"):
                np.testing.assert_array_equal(
                    getattr(calibration, f"member_{name}")[member],
                    getattr(calibration, f"ensemble_{name}"),
                )


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -4])
def test_ensemble_axis_may_be_any_axis(rng, axis):
    labels = rng.integers(3, size=(4, 5))
    p = rng.dirichlet(np.ones(3), size=(4, 5, 2))
    moved = np.moveaxis(p, 2, axis).copy()
    moved.flags.writeable = labels.flags.writeable = False
    calibration = ensemble_calibration(labels, probabilities=moved, ensemble_axis=axis)
    expected = ensemble_calibration(labels.ravel(), probabilities=p.reshape(20, 2, 3))
    np.testing.assert_allclose(calibration.member_gaps, expected.member_gaps)
    assert calibration.ensemble_ece == pytest.approx(expected.ensemble_ece)


def test_predictions_of_class_1_equal_two_classes(rng):
    labels = rng.integers(2, size=50)
    logits = rng.normal(size=(50, 3, 1))
    both = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    one, two = ensemble_calibration(labels, logits), ensemble_calibration(labels, both)
    np.testing.assert_allclose(one.ensemble_gaps, two.ensemble_gaps)
    p = softmax(both)[..., 1:]
    three = ensemble_calibration(labels[:, None], probabilities=p)
    np.testing.assert_allclose(three.member_eces, two.member_eces)


def test_ignored_examples_and_examples_of_weight_0_do_not_count(rng):
    labels, logits = members(rng, n=60)
    expected = ensemble_calibration(labels[:40], logits[:40])
    weights = np.repeat([1.0, 0.0], [40, 20])
    ignored = np.where(weights > 0, labels, -1)
    logits[40:] = np.nan
    for other in (
        ensemble_calibration(labels, logits, sample_weight=weights),
        ensemble_calibration(ignored, logits, ignore_index=-1),
    ):
        np.testing.assert_array_equal(other.member_counts, expected.member_counts)
        assert other.ensemble_ece == expected.ensemble_ece


@pytest.mark.parametrize(
    "call", [ensemble_calibration, plots.ensemble_calibration_diagram]
)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Exactly one of `probabilities` and `logits`"),
        ({"logits": np.zeros((4, 2, 3)), "probabilities": 1}, "Exactly one of"),
        ({"logits": np.zeros((4, 3))}, "`logits` must be of rank 3 or more"),
        ({"probabilities": np.zeros((4, 0, 3))}, "`probabilities` must hold"),
        ({"logits": np.zeros((4, 2, 3)), "ensemble_axis": 2}, "`ensemble_axis` must"),
        ({"logits": np.zeros((4, 2, 3)), "ensemble_axis": 0.5}, "`ensemble_axis` must"),
        ({"logits": np.zeros((4, 2, 3)), "ensemble_axis": 0}, "`labels` must be"),
        ({"logits": np.zeros((5, 2, 3))}, "`labels` must be of shape"),
        ({"probabilities": np.full((4, 2, 3), 1.5)}, r"must be in \[0, 1\]"),
        ({"probabilities": np.full((4, 2, 1), 0.5)}, r"integers in \[0, 2\)"),
        ({"logits": np.zeros((4, 2, 3)), "sample_weight": -1}, "`sample_weight`"),
    ],
)
def test_bad_arguments_raise(call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call([0, 1, 2, 0], **arguments)
    assert plt.get_fignums() == []


# The diagram.


def texts(ax):
    legend = ax.get_legend()
    return legend.get_title().get_text(), [t.get_text() for t in legend.get_texts()]


def test_lines_show_the_numbers(rng, ax):
    labels, logits = members(rng)
    weights = rng.random(len(labels))
    options = {"num_bins": 8, "sample_weight": weights}
    calibration = ensemble_calibration(labels, logits, **options)
    returned = plots.ensemble_calibration_diagram(
        labels, logits, title="Mixup", ax=ax, **options
    )
    assert returned is ax
    assert ax.get_title() == "Mixup"
    *lines, together, ensemble, zero = ax.lines
    assert len(lines) == 3
    held = calibration.member_counts > 0
    assert not np.all(held)  # With four classes, no confidence is below 1/4.
    for m, line in enumerate(lines):
        np.testing.assert_array_equal(
            line.get_xydata(),
            np.stack(
                [calibration.member_confidences[m], calibration.member_gaps[m]], axis=-1
            )[held[m]],
        )
    held = calibration.ensemble_counts > 0
    expected = np.stack(
        [calibration.ensemble_confidences, calibration.ensemble_gaps], axis=-1
    )[held]
    np.testing.assert_array_equal(ensemble.get_xydata(), expected)
    (points,) = ax.collections
    np.testing.assert_array_equal(points.get_offsets(), expected)
    shares = calibration.ensemble_counts[held] / calibration.ensemble_counts.sum()
    np.testing.assert_allclose(points.get_sizes() / points.get_sizes().sum(), shares)
    assert (
        ensemble.get_linewidth() > together.get_linewidth() > lines[0].get_linewidth()
    )
    np.testing.assert_array_equal(zero.get_ydata(), [0, 0])
    low, high = ax.get_ylim()
    assert low == -high
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["Overconfident"] < 0.5 < heights["Underconfident"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Confidence", "Accuracy - confidence")
    assert plt.get_fignums() == []

    # The line of all members together has the examples of all in the same bins.
    p = softmax(logits).reshape(-1, 4)
    pooled = um.bin_statistics(
        np.repeat(labels, 3), p, num_bins=8, sample_weight=np.repeat(weights, 3)
    )
    held = pooled.counts[0] > 0
    confidences = pooled.confidences[0][held]
    np.testing.assert_allclose(together.get_xdata(), confidences)
    np.testing.assert_allclose(
        together.get_ydata(), pooled.accuracies[0][held] - confidences, atol=1e-12
    )

    eces = calibration.member_eces
    assert texts(ax)[1] == [
        f"Members: ECE = {eces.min():.3f} to {eces.max():.3f}",
        f"Members together: mean ECE = {eces.mean():.3f}",
        f"Ensemble: ECE = {calibration.ensemble_ece:.3f}",
    ]


def test_legend_of_one_member_has_one_ece(ax):
    plots.ensemble_calibration_diagram(
        [0, 1], probabilities=[[[0.9, 0.1]], [[0.0, 1.0]]], ax=ax
    )
    assert texts(ax)[1][0] == "Member: ECE = 0.050"
    ax.get_figure().draw_without_rendering()


# The histogram.


def histograms(ax):
    """Returns (values, edges) of each outline."""
    return [
        (patch.get_data().values, patch.get_data().edges)
        for patch in ax.patches
        if not patch.get_fill()
    ]


@pytest.mark.parametrize("density", [True, False])
def test_histograms_have_common_bins(rng, ax, density):
    sets = {"known": rng.gamma(1, size=50), "unknown": rng.gamma(3, size=(8, 10))}
    returned = plots.uncertainty_histogram(
        sets, num_bins=12, density=density, title="Two", xlabel="Entropy", ax=ax
    )
    assert returned is ax
    assert (ax.get_title(), ax.get_xlabel()) == ("Two", "Entropy")
    assert ax.get_ylabel() == ("Density" if density else "Examples")
    values = np.concatenate([v.ravel() for v in sets.values()])
    for (heights, edges), inside in zip(histograms(ax), sets.values(), strict=True):
        np.testing.assert_allclose(edges, np.linspace(values.min(), values.max(), 13))
        expected = np.histogram(inside, edges)[0]
        assert expected.sum() == inside.size
        if density:
            expected = expected / inside.size / np.diff(edges)
        np.testing.assert_allclose(heights, expected)
    assert plt.get_fignums() == []
    title, labels = texts(ax)
    larger = sets["unknown"].reshape(-1, 1) > sets["known"]
    assert title == f"AUROC = {larger.mean():.3f}"
    assert labels == ["known", "unknown"]


def test_auroc_needs_two_sets_and_counts_ties_half(rng):
    def drawn(sets):
        ax = mpl.figure.Figure().subplots()
        return plots.uncertainty_histogram(sets, ax=ax)

    assert texts(drawn({"a": [1, 2], "b": [2, 3]}))[0] == "AUROC = 0.875"
    assert texts(drawn({"b": [2, 3], "a": [1, 2]}))[0] == "AUROC = 0.125"
    assert texts(drawn({name: rng.random(5) for name in "abc"}))[0] == ""
    assert drawn([1.0, 2.0]).get_legend() is None
    assert len(histograms(drawn([1.0, 2.0]))) == 1


@pytest.mark.parametrize(
    "values", [[0.0], [0.0, 1e-300], [1.0, np.nextafter(1.0, 2)], [-2.0, -2.0], [1, 0]]
)
def test_histogram_of_equal_or_nearly_equal_values_is_drawn(values, ax):
    plots.uncertainty_histogram({"$a": values, "b$": values}, ax=ax)
    ax.get_figure().draw_without_rendering()
    for heights, edges in histograms(ax):
        assert np.sum(heights * np.diff(edges)) == pytest.approx(1)
        assert np.all(np.diff(edges) > 0)


@pytest.mark.parametrize(
    ("uncertainties", "options", "message"),
    [
        ({}, {}, "`uncertainties` must hold at least one set"),
        ([], {}, "`uncertainties` must hold at least one num"),
        ({"a": [1.0], "b": []}, {}, r"`uncertainties\['b'\]` must hold at least one"),
        ({"a": [np.nan]}, {}, r"`uncertainties\['a'\]` must be finite"),
    ],
)
def test_bad_arguments_of_the_histogram_raise(uncertainties, options, message):
    with pytest.raises(ValueError, match=message):
        plots.uncertainty_histogram(uncertainties, **options)
    assert plt.get_fignums() == []
