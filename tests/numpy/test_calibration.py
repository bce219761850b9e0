"""Calibration errors worked by hand, against scikit-learn, and over batches."""

import numpy as np
import pytest
from sklearn import calibration as sklearn_calibration

import uncertainty_metrics.numpy as um
from tests import catalogue, references

LABELS = [0, 1, 1]
PROBABILITIES = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]


def test_by_hand():
    # Five even bins: 0.8 and 0.7 share (0.6, 0.8], mean 0.75 and half of them right;
    # 0.9 is alone and right.
    assert um.ece(LABELS, PROBABILITIES, num_bins=5) == pytest.approx(
        2 / 3 * 0.25 + 1 / 3 * 0.1
    )
    assert um.mce(LABELS, PROBABILITIES, num_bins=5) == pytest.approx(0.25)
    rms = np.sqrt(2 / 3 * 0.25**2 + 1 / 3 * 0.1**2)
    even = um.gce(LABELS, PROBABILITIES, "even", True, False, "l2", 5)
    assert even == pytest.approx(rms)
    # Three adaptive bins hold one example each: gaps 0.3, 0.8 and 0.1.
    assert um.rmsce(LABELS, PROBABILITIES, num_bins=3) == pytest.approx(
        np.sqrt((0.3**2 + 0.8**2 + 0.1**2) / 3)
    )
    # Outcomes are in parentheses. Class 0: 0.9 (1), 0.8 (0) and 0.3 (0) are each alone
    # in a bin. Class 1: 0.1 (0) and 0.2 (1) share the first bin, 0.7 (1) is alone.
    zero = (0.1 + 0.8 + 0.3) / 3
    one = (abs(0.3 - 1) + 0.3) / 3
    assert um.sce(LABELS, PROBABILITIES, num_bins=5) == pytest.approx((zero + one) / 2)


def test_static_calibration_error_by_hand():
    # Two bins, outcomes in parentheses. Class 0: 0.3 (0) is below 1/2; 0.9 (1) and 0.8
    # (0) are above, with the gap |1.7 - 1| / 3. Class 1: 0.1 (0) and 0.2 (1) are below,
    # with the gap |0.3 - 1| / 3; 0.7 (1) is above.
    zero = 0.3 / 3 + 0.7 / 3
    one = 0.7 / 3 + 0.3 / 3
    assert um.sce(LABELS, PROBABILITIES, num_bins=2) == pytest.approx((zero + one) / 2)


def test_norms_over_groups_by_hand():
    # One bin for each decision: for class 0 the gap is |1.7 - 1| / 2, for class 1 it is
    # |0.7 - 1|.
    zero, one = 0.35, 0.3
    for norm, value in (
        ("l1", (zero + one) / 2),
        ("l2", np.sqrt((zero**2 + one**2) / 2)),
        ("max", zero),
    ):
        error = um.gce(LABELS, PROBABILITIES, "even", True, True, norm, 1)
        assert error == pytest.approx(value)


def test_threshold_keeps_scores_above_it():
    probabilities = [[1.0, 0.0], [0.0, 1.0], [0.4, 0.6]]
    stats = um.bin_statistics([0, 1, 1], probabilities, max_prob=False, num_bins=2)
    assert stats.counts.sum() == 6  # A threshold of 0 keeps scores of 0.
    stats = um.bin_statistics(
        [0, 1, 1], probabilities, max_prob=False, num_bins=2, threshold=0.4
    )
    assert stats.counts.tolist() == [[0, 3]]  # A score at the threshold is left out.


@pytest.mark.parametrize(
    ("scheme", "strategy"), [("even", "uniform"), ("adaptive", "quantile")]
)
def test_bins_of_the_positive_class_equal_scikit_learn(scheme, strategy, rng):
    # No score is at the edge of a bin, where the conventions differ.
    p = rng.permutation((np.arange(400) + rng.uniform(0.1, 0.9)) / 400)
    labels = (rng.uniform(size=400) < p**2).astype(int)
    stats = um.bin_statistics(
        labels, p, binning_scheme=scheme, num_bins=8, positive_class=True
    )
    accuracies, confidences = sklearn_calibration.calibration_curve(
        labels, p, n_bins=8, strategy=strategy
    )
    held = stats.counts[0] > 0
    np.testing.assert_allclose(stats.accuracies[0, held], accuracies)
    np.testing.assert_allclose(stats.confidences[0, held], confidences)


def test_adaptive_bins_may_be_more_than_examples():
    assert um.ace([0, 1], [[0.6, 0.4], [0.3, 0.7]], num_bins=15) == pytest.approx(0.35)


def test_datapoints_per_bin_sets_the_number_of_bins(rng):
    data = catalogue.data(rng, n=47)
    stats = um.bin_statistics(
        data.labels, rng.dirichlet(np.ones(3), 47), binning_scheme="adaptive",
        datapoints_per_bin=10,
    )  # fmt: skip
    assert stats.counts.shape == (1, 4)
    assert set(stats.counts[0]) <= {11, 12}
    assert um.rmsce(
        data.labels, data.predictions, datapoints_per_bin=100
    ) == pytest.approx(um.rmsce(data.labels, data.predictions, num_bins=1))
    with pytest.raises(ValueError, match="datapoints_per_bin"):
        um.rmsce([0], [[0.5, 0.5]], datapoints_per_bin=1, sample_weight=[1e12])


def test_sparse_sums_for_many_classes_equal_the_reference(rng):
    probabilities = rng.dirichlet(np.full(200, 0.02), 60).astype(np.float32)
    labels = rng.integers(0, 200, 60)
    for options in ({}, {"threshold": 0.01}, {"sample_weight": rng.uniform(size=60)}):
        expected = references.calibration_error(
            labels, probabilities, "even", False, True, "l1", **options
        )
        assert um.sce(labels, probabilities, **options) == pytest.approx(
            expected, abs=1e-12
        )


def test_sums_over_blocks_of_rows_equal_one_sum(rng, monkeypatch):
    data = catalogue.data(rng, n=100)
    whole = um.sce(data.labels, data.predictions)
    monkeypatch.setattr("uncertainty_metrics.numpy.calibration.bins._scores.BLOCK", 30)
    monkeypatch.setattr(
        "uncertainty_metrics.numpy.calibration.bins._scores.CLASS_TILE", 2
    )
    assert um.sce(data.labels, data.predictions) == pytest.approx(whole, abs=1e-15)


def test_error_of_a_calibrated_forecast_vanishes_with_more_examples(rng):
    errors = []
    for n in (1_000, 100_000):
        p = rng.uniform(size=n)
        labels = (rng.uniform(size=n) < p).astype(int)
        errors.append(um.ece(labels, p, positive_class=True))
        # Each bin's gap has a standard deviation of at most sqrt(1/4 / n_b).
        assert errors[-1] < np.sqrt(15 / n)
    assert errors[1] < errors[0]


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
@pytest.mark.parametrize("class_conditional", [False, True])
def test_streaming_object_has_the_values_of_all_data(scheme, class_conditional, rng):
    data = catalogue.data(rng)
    metric = um.GeneralCalibrationError(scheme, False, class_conditional, "l2", 6)
    assert metric.result() == 0.0
    assert metric.counts is None
    for part in np.array_split(np.arange(40), 3):
        batch = data.labels[part], data.predictions[part]
        metric.update_state(*batch, sample_weight=data.weights[part])
        metric.result()  # Calls between updates change nothing.
    options = {
        **{"binning_scheme": scheme, "class_conditional": class_conditional},
        **{"max_prob": False, "num_bins": 6},
    }
    stats = um.bin_statistics(**data.arguments(True), **options)
    whole = um.gce(**data.arguments(True), **options, norm="l2")
    assert metric.result() == pytest.approx(whole, abs=1e-12)
    for name in ("counts", "confidences", "accuracies"):
        values = getattr(stats, name)
        expected = values if class_conditional else values[0]
        np.testing.assert_allclose(getattr(metric, name), expected, atol=1e-12)
    metric.reset_state()
    assert metric.result() == 0.0


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
@pytest.mark.parametrize(
    "bad",
    [
        bad
        for bad in catalogue.SHAPES + catalogue.VALUES
        # A batch without weight adds nothing; `ignore_index` is of the constructor.
        if bad not in ("zero weights", "label beyond int64")
    ],
)
def test_streaming_object_keeps_its_state_when_it_raises(scheme, bad, rng):
    data = catalogue.data(rng)
    metric = um.GeneralCalibrationError(scheme, False, True, "l1")
    metric.update_state(**data.arguments())
    before = metric.result()
    arguments, word = catalogue.bad_data(bad)
    with pytest.raises(ValueError, match=word):
        metric.update_state(**arguments)
    with pytest.raises(ValueError, match="3 classes"):
        metric.update_state([0, 1], [0.2, 0.7])
    assert metric.result() == before


def test_streaming_object_ignores_the_label_ignore_index(rng):
    data = catalogue.data(rng)
    metric = um.GeneralCalibrationError("adaptive", True, False, "max", ignore_index=1)
    metric.update_state(np.ones(4), np.full([4, 3], np.nan))
    metric.update_state(data.labels, data.predictions)
    assert metric.result() == um.gce(
        data.labels, data.predictions, "adaptive", True, False, "max", ignore_index=1
    )


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_streaming_object_does_not_keep_the_arrays_of_a_batch(scheme, rng):
    held, copied = (
        um.GeneralCalibrationError(scheme, False, True, "l1", 5) for _ in range(2)
    )
    labels, probabilities = np.zeros(40, np.int64), np.zeros([40, 3])
    for _ in range(3):  # The caller uses the same arrays for all batches.
        labels[:] = rng.integers(0, 3, 40)
        probabilities[:] = rng.dirichlet([0.5, 1, 2], 40)
        held.update_state(labels, probabilities)
        copied.update_state(labels.copy(), probabilities.copy())
    assert held.result() == copied.result()


def test_options_of_the_streaming_object_are_frozen():
    metric = um.GeneralCalibrationError(
        "adaptive", True, False, "l1", datapoints_per_bin=1
    )
    before = metric.spec
    metric.update_state([0, 1, 1], PROBABILITIES)
    assert metric.spec is before
    with pytest.raises(AttributeError):
        metric.spec.num_bins = 3


@pytest.mark.parametrize("binning_scheme", ["even", "adaptive"])
def test_streaming_objects_can_be_added(binning_scheme, rng):
    data = catalogue.data(rng, n=60)
    options = (binning_scheme, False, True, "l1", 7)
    whole, empty = (um.GeneralCalibrationError(*options) for _ in range(2))
    parts = []
    for rows in np.array_split(np.arange(60), 3):
        batch = data.labels[rows], data.predictions[rows]
        parts.append(um.GeneralCalibrationError(*options))
        for metric in (parts[-1], whole):
            metric.update_state(*batch, sample_weight=data.weights[rows] + 1)
    before = [part.result() for part in parts]
    for total in (sum(parts), parts[0] + empty + (parts[1] + parts[2])):
        assert total.result() == pytest.approx(whole.result(), abs=1e-15)
        np.testing.assert_allclose(total.counts, whole.counts, rtol=1e-14)
    assert [part.result() for part in parts] == before  # The terms did not change.
    assert empty.result() == 0
    other = um.GeneralCalibrationError(*options[:-1], 8)
    with pytest.raises(ValueError, match="same metric and options"):
        whole + other
    other = um.GeneralCalibrationError(*options)
    other.update_state([0, 1], [[0.5, 0.5], [0.1, 0.9]])
    with pytest.raises(ValueError, match="3 classes"):
        whole + other
    with pytest.raises(TypeError):
        whole + 1
