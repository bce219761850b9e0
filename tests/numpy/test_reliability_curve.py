"""The numbers of reliability diagrams, against references."""

import numpy as np
import pytest
from scipy import stats
from sklearn import calibration as sklearn_calibration

import uncertainty_metrics.numpy as um
from uncertainty_metrics.visualization import reliability


def multiclass(seed=0, n=400, classes=4):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(classes, 0.5), n)
    return rng.integers(classes, size=n), probabilities


def coin_flips(n=2000, gap=0.0, seed=0):
    """Makes labels of decisions that are right with probability p - gap, and p."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5, 1, n)
    return (rng.random(n) < p - gap).astype(int), p


def test_by_hand():
    # Confidences .9, .8 and .7 in five bins: two are in (.6, .8], one of them is right.
    curve = um.reliability_curve(
        [0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5
    )
    nan = np.nan
    np.testing.assert_allclose(curve.edges, [[0, 0.2, 0.4, 0.6, 0.8, 1]])
    np.testing.assert_array_equal(curve.counts, [[0, 0, 0, 2, 1]])
    np.testing.assert_allclose(curve.confidences, [[nan, nan, nan, 0.75, 0.9]])
    np.testing.assert_allclose(curve.accuracies, [[nan, nan, nan, 0.5, 1.0]])
    np.testing.assert_allclose(curve.gaps, [[nan, nan, nan, -0.25, 0.1]])
    np.testing.assert_allclose(curve.proportions, [[0, 0, 0, 2 / 3, 1 / 3]])
    np.testing.assert_allclose(curve.errors, [2 / 3 * 0.25 + 1 / 3 * 0.1])
    assert curve.error == pytest.approx(0.2)
    assert (curve.y_axis, curve.num_groups) == ("accuracy", 1)


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
@pytest.mark.parametrize("class_conditional", [False, True])
@pytest.mark.parametrize("y_axis", ["accuracy", "frequency"])
def test_curve_equals_the_bin_statistics(scheme, class_conditional, y_axis):
    labels, probabilities = multiclass()
    weight = np.random.default_rng(1).random(len(labels))
    options = {"sample_weight": weight, "threshold": 0.05, "num_bins": 7}
    options |= {"binning_scheme": scheme, "class_conditional": class_conditional}
    curve = um.reliability_curve(labels, probabilities, y_axis=y_axis, **options)
    max_prob = y_axis == "accuracy"
    stats = um.bin_statistics(labels, probabilities, max_prob=max_prob, **options)
    assert curve.num_groups == (4 if class_conditional else 1)
    np.testing.assert_array_equal(curve.edges, stats.edges)
    np.testing.assert_array_equal(curve.counts, stats.counts)
    np.testing.assert_array_equal(np.nan_to_num(curve.accuracies), stats.accuracies)
    np.testing.assert_array_equal(np.nan_to_num(curve.confidences), stats.confidences)
    np.testing.assert_array_equal(np.isnan(curve.gaps), stats.counts == 0)
    np.testing.assert_allclose(curve.proportions.sum(axis=1), 1.0)
    error = um.gce(labels, probabilities, max_prob=max_prob, norm="l1", **options)
    assert curve.error == error
    assert np.mean(curve.errors) == pytest.approx(error, rel=1e-12)


def test_error_has_the_value_of_the_named_metrics():
    labels, probabilities = multiclass()
    binary, score = labels % 2, probabilities[:, 0]
    curve = um.reliability_curve
    assert curve(labels, probabilities).error == um.ece(labels, probabilities)
    by_class = curve(labels, probabilities, y_axis="frequency", class_conditional=True)
    assert by_class.error == um.sce(labels, probabilities)
    assert curve(binary, score, y_axis="frequency").error == um.ece(
        binary, score, positive_class=True
    )


def test_frequency_equals_scikit_learn():
    rng = np.random.default_rng(3)
    # No score is at an edge, where the two conventions differ.
    scores = rng.integers(10, size=500) / 10 + rng.uniform(0.02, 0.08, 500)
    labels = (rng.random(500) < scores**2).astype(int)
    frequency, predicted = sklearn_calibration.calibration_curve(
        labels, scores, n_bins=10
    )
    two_classes = np.stack([1 - scores, scores], axis=-1)
    for predictions in (scores, two_classes):
        curve = um.reliability_curve(
            labels, predictions, y_axis="frequency", num_bins=10
        )
        held = curve.counts[0] > 0
        np.testing.assert_allclose(curve.accuracies[0][held], frequency)
        np.testing.assert_allclose(curve.confidences[0][held], predicted)


def test_curve_takes_the_same_arguments_as_the_metrics():
    labels, probabilities = multiclass()
    expected = um.reliability_curve(labels, probabilities)
    for other in (
        um.reliability_curve(labels, probs=probabilities),
        um.reliability_curve(labels, logits=np.log(probabilities)),
        um.reliability_curve(
            np.append(labels, 9),
            np.vstack([probabilities, [1, 0, 0, 0]]),
            ignore_index=9,
        ),
    ):
        np.testing.assert_allclose(other.accuracies, expected.accuracies)
    decided = um.reliability_curve(labels, probabilities, labels_predicted=labels)
    assert np.nanmin(decided.accuracies) == 1.0
    points = um.reliability_curve(
        labels, probabilities, binning_scheme="adaptive", datapoints_per_bin=100
    )
    np.testing.assert_array_equal(points.counts, [[100, 100, 100, 100]])


def test_added_statistics_of_two_shards_give_the_whole_curve():
    labels, probabilities = multiclass()
    shards = [
        um.bin_statistics(labels[part], probabilities[part])
        for part in (slice(0, 150), slice(150, None))
    ]
    curve = reliability.curve_from_statistics(shards[0] + shards[1])
    assert curve.error == pytest.approx(um.ece(labels, probabilities), rel=1e-12)


def test_error_bars_are_intervals_of_wilson():
    labels, p = coin_flips(60)
    # One more bin where all are right, and one where none are.
    labels, p = np.append(labels, [1] * 7 + [0] * 4), np.append(p, [0.45] * 7 + [0.03])
    p = np.append(p, [0.03] * 3)
    curve = um.reliability_curve(
        labels, p, num_bins=10, error_bars=0.9, y_axis="frequency"
    )
    level, lower, upper = curve.error_bars
    assert level == 0.9
    rates = []
    for n, rate, low, high in zip(
        curve.counts[0], curve.accuracies[0], lower[0], upper[0], strict=True
    ):
        if n == 0:
            assert np.isnan([low, high]).all()
            continue
        hits = round(n * rate)
        test = stats.binomtest(hits, int(n))
        expected = test.proportion_ci(confidence_level=0.9, method="wilson")
        np.testing.assert_allclose([low, high], expected, atol=1e-12)
        assert low <= rate <= high
        assert high - low > 0.01
        rates.append(rate)
    assert {0.0, 1.0} <= set(rates)


def test_error_bars_do_not_depend_on_the_scale_of_weights():
    labels, p = coin_flips(300)
    expected = um.reliability_curve(labels, p, error_bars=0.95).error_bars
    for weight in (1e-3, 5.0):
        bars = um.reliability_curve(
            labels, p, error_bars=0.95, sample_weight=weight
        ).error_bars
        np.testing.assert_allclose(bars.lower, expected.lower)
        np.testing.assert_allclose(bars.upper, expected.upper)


def test_positive_class_has_the_error_of_ece():
    labels, p = coin_flips(300, gap=0.1)
    p = np.append(p, 1 - p)
    labels = np.append(labels, 1 - labels)
    curve = um.reliability_curve(labels, p, positive_class=True)
    assert curve.error == um.ece(labels, p, positive_class=True)
    assert curve.y_axis == "frequency"
    assert curve.edges.shape == (1, 16)
    with pytest.raises(ValueError, match="`positive_class` must be False"):
        um.reliability_curve(*multiclass(), positive_class=True)


def test_consistency_band_ends_at_binomial_quantiles():
    labels, p = coin_flips(gap=0.15)
    curve = um.reliability_curve(labels, p, num_bins=10, consistency_band=0.8)
    held = curve.counts[0] > 0
    n, rate = curve.counts[0][held], curve.confidences[0][held]
    level, lower, upper = curve.consistency_band
    assert level == 0.8
    assert lower.shape == upper.shape == (1, 10)
    for ends, tail in ((lower, 0.1), (upper, 0.9)):
        assert np.all(np.isnan(ends[0]) == ~held)
        expected = stats.binom.ppf(tail, n, rate) / n
        # A quantile of 1000 draws has a noise of a tenth of the deviation.
        deviation = np.sqrt(rate * (1 - rate) / n)
        assert np.all(np.abs(ends[0][held] - expected) < 0.4 * deviation + 1 / n)


def test_intervals_have_the_bins_of_the_curve():
    labels, probabilities = multiclass()
    curve = um.reliability_curve(
        labels,
        probabilities,
        class_conditional=True,
        y_axis="frequency",
        binning_scheme="adaptive",
        num_bins=5,
        error_bars=0.95,
        consistency_band=0.95,
    )
    for intervals in (curve.error_bars, curve.consistency_band):
        assert intervals.lower.shape == (4, 5)
        assert np.all(intervals.lower <= intervals.upper)
    assert np.all(curve.error_bars.lower <= curve.accuracies)
    assert np.all(curve.accuracies <= curve.error_bars.upper)
    # The band draws labels from the forecasts, not from the labels, which are noise
    # here.
    middle = (curve.consistency_band.lower + curve.consistency_band.upper) / 2
    np.testing.assert_allclose(middle, curve.confidences, atol=0.1)


def test_consistency_band_holds_calibrated_models_only():
    calibrated, off = (
        um.reliability_curve(*coin_flips(gap=gap, seed=1), consistency_band=0.999)
        for gap in (0, 0.2)
    )
    for curve, inside in ((calibrated, True), (off, False)):
        _, lower, upper = curve.consistency_band
        held = curve.counts > 100
        within = (lower <= curve.accuracies) & (curve.accuracies <= upper)
        assert np.all(within[held] == inside)


def test_shares_of_votes_are_the_grades_of_decisions():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 200)
    shares = rng.multinomial(5, p) / 5
    options = {"error_bars": 0.9, "consistency_band": 0.9, "seed": 0}
    found = um.reliability_curve(label_distributions=shares, probabilities=p, **options)
    grades = shares[np.arange(200), p.argmax(axis=1)]
    expected = um.reliability_curve(
        correct=grades, confidences=p.max(axis=1), **options
    )
    for name in ("accuracies", "sizes"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    for name in ("error_bars", "consistency_band"):
        ends = getattr(found, name).lower, getattr(expected, name).lower
        np.testing.assert_allclose(*ends)
    of_classes = um.reliability_curve(
        label_distributions=shares,
        probabilities=p,
        y_axis="frequency",
        class_conditional=True,
    )
    for k in range(3):
        one = um.reliability_curve(correct=shares[:, k], confidences=p[:, k])
        np.testing.assert_allclose(of_classes.accuracies[k], one.accuracies[0])


@pytest.mark.parametrize("clustered", [False, True])
def test_each_of_several_labels_is_a_group(clustered):
    rng = np.random.default_rng(0)
    p = rng.random((120, 3))
    labels = (rng.random((120, 3)) < p**2).astype(int)
    options = {"num_bins": 5, "error_bars": 0.9, "consistency_band": 0.9, "seed": 0}
    clusters = np.arange(120) // 4 if clustered else None
    of_labels = None if clusters is None else np.repeat(clusters[:, None], 3, axis=1)
    found = um.reliability_curve(
        labels, p, multilabel=True, clusters=of_labels, **options
    )
    assert found.y_axis == "frequency"
    assert found.error == pytest.approx(um.sce(labels, p, multilabel=True, num_bins=5))
    for k in range(3):
        one = um.reliability_curve(
            *(labels[:, k], p[:, k]),
            positive_class=True,
            clusters=clusters,
            **options,
        )
        for name in ("counts", "accuracies", "sizes"):
            expected = getattr(one, name)[0]
            np.testing.assert_allclose(getattr(found, name)[k], expected)
        np.testing.assert_allclose(found.error_bars.lower[k], one.error_bars.lower[0])
