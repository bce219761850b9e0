"""Metrics of shares: votes for classes, and grades of answers."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.ops import to_numpy

pytestmark = pytest.mark.keras

# Metrics, and the functions whose value they have for scores that share no cell.
OF_DECISIONS = {
    "ExpectedCalibrationError": "ece",
    "MaximumCalibrationError": "mce",
    "RootMeanSquaredCalibrationError": "rmsce",
    "SmoothCalibrationError": "smece",
    "KolmogorovSmirnovCalibrationError": "ks_calibration_error",
    "KuiperCalibrationError": "kuiper_calibration_error",
    "AveragedTwoBinCalibrationError": "atb",
}
OF_CLASSES = {
    "StaticCalibrationError": "sce",
    "AdaptiveCalibrationError": "ace",
    "ThresholdedAdaptiveCalibrationError": "tace",
}


def voted(rng, n=60, classes=3):
    """Makes shares of three votes, and forecasts in steps of 1/32."""
    p = rng.multinomial(29, np.ones(classes) / classes, n) + 1
    p = (p / p.sum(axis=1, keepdims=True)).astype(np.float32)
    votes = rng.multinomial(3, np.ones(classes) / classes, n)
    return (votes / 3).astype(np.float32), p


def graded(rng, n=60):
    confidences = (rng.integers(1, 32, n) / 32).astype(np.float32)
    return (rng.binomial(4, confidences) / 4).astype(np.float32), confidences


def fed(metric, *data, weights=None):
    """Returns the result after two batches."""
    half = len(data[0]) // 2
    for rows in (slice(half), slice(half, None)):
        w = None if weights is None else weights[rows]
        metric.update_state(*(each[rows] for each in data), sample_weight=w)
    return float(metric.result())


@pytest.mark.parametrize("name", [*OF_DECISIONS, *OF_CLASSES])
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_votes_have_the_values_of_the_functions(name, weighted, rng):
    shares, p = voted(rng)
    weights = rng.integers(0, 4, 60).astype(np.float32) if weighted else None
    if name in OF_DECISIONS:
        decided = np.argmax(p, axis=1)
        data = {
            "correct": shares[np.arange(60), decided],
            "confidences": p[np.arange(60), decided],
        }
    else:
        data = {"label_distributions": shares, "probabilities": p}
    function = getattr(um_np, {**OF_DECISIONS, **OF_CLASSES}[name])
    expected = function(**data, sample_weight=weights)
    found = fed(getattr(um, name)(label_distributions=True), shares, p, weights=weights)
    assert found == pytest.approx(expected, rel=1e-4, abs=2e-6)


@pytest.mark.parametrize("name", OF_DECISIONS)
@pytest.mark.parametrize("axes", [1, 2])
def test_metrics_of_grades_have_the_values_of_the_functions(name, axes, rng):
    grades, confidences = graded(rng)
    expected = getattr(um_np, OF_DECISIONS[name])(
        correct=grades, confidences=confidences
    )
    options = {"label_distributions": True, "positive_class": True}
    if axes == 2:
        grades, confidences = grades.reshape(12, 5), confidences.reshape(12, 5)
        options["sparse_labels"] = True
    metric = getattr(um, name)(**options)
    assert fed(metric, grades, confidences) == pytest.approx(expected, rel=1e-4)
    column = getattr(um, name)(**{**options, "sparse_labels": None})
    column.update_state(grades.reshape(-1, 1), confidences.reshape(-1, 1))
    assert float(column.result()) == pytest.approx(expected, rel=1e-4)


def test_bins_hold_the_mean_over_the_votes(rng):
    shares, p = voted(rng)
    options = {"positive_class": None, "num_bins": 4}
    metric = um.ExpectedCalibrationError(label_distributions=True, **options)
    fed(metric, shares, p)
    expected = um_np.bin_statistics(
        label_distributions=shares, probabilities=p, num_bins=4
    )
    found = metric.bin_statistics
    for name in ("counts", "score_sums", "outcome_sums"):
        np.testing.assert_allclose(
            to_numpy(getattr(found, name)), getattr(expected, name), rtol=1e-6
        )


def test_metrics_of_shares_work_in_fit_and_count_wrong_batches(rng):
    shares, p = voted(rng)
    model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Softmax()])
    metric = um.ExpectedCalibrationError(label_distributions=True)
    model.compile(metrics=[metric], loss="categorical_crossentropy")
    model.evaluate(np.log(p), shares, batch_size=20, verbose=0)
    expected = um_np.ece(label_distributions=shares, probabilities=p)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-4)
    shares[7] = [0.5, 0.7, 0.0]
    with pytest.warns(RuntimeWarning, match="1 batch"):
        model.evaluate(np.log(p), shares, batch_size=20, verbose=0)


def test_one_hot_rows_are_labels_and_rows_without_the_option_their_largest(rng):
    shares, p = voted(rng)
    one_hot = np.eye(3, dtype=np.float32)[np.argmax(shares, axis=1)]
    plain, option = (
        um.ExpectedCalibrationError(),
        um.ExpectedCalibrationError(label_distributions=True),
    )
    assert fed(option, one_hot, p) == pytest.approx(fed(plain, one_hot, p), rel=1e-6)


def test_groups_have_the_errors_of_their_shares(rng):
    shares, p = voted(rng)
    groups = rng.integers(0, 2, 60)
    metric = um.ExpectedCalibrationError(label_distributions=True, num_groups=2)
    metric.update_state({"labels": shares, "groups": groups}, p)
    found = metric.result()
    for group in range(2):
        of = groups == group
        expected = um_np.ece(label_distributions=shares[of], probabilities=p[of])
        key = f"expected_calibration_error_{group}"
        assert float(found[key]) == pytest.approx(expected, rel=1e-5)


def test_a_collection_shares_the_sums(rng):
    shares, p = voted(rng)
    metrics = [
        kind(label_distributions=True)
        for kind in (um.ExpectedCalibrationError, um.MaximumCalibrationError)
    ]
    plain = um.ExpectedCalibrationError(name="of_labels")
    collection = um.MetricCollection([*metrics, plain])
    collection.update_state(shares, p)
    found = collection.result()
    for name, function in [
        ("expected_calibration_error", um_np.ece),
        ("maximum_calibration_error", um_np.mce),
    ]:
        expected = function(label_distributions=shares, probabilities=p)
        assert float(found[name]) == pytest.approx(expected, rel=1e-5)
    expected = um_np.ece(np.argmax(shares, axis=1), p)
    assert float(found["of_labels"]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([[0.5, 0.2, 0.0]], [[0.2, 0.3, 0.5]], "a distribution over the classes"),
        ([[1.5, -0.5, 0.0]], [[0.2, 0.3, 0.5]], "a distribution over the classes"),
        ([[np.nan, 0.5, 0.5]], [[0.2, 0.3, 0.5]], "a distribution over the classes"),
        ([3.0], [0.5], r"`y_true` must hold grades in \[0, 1\]. Received: 3.0"),
        ([np.nan], [0.5], r"`y_true` must hold grades in \[0, 1\]. Received: nan"),
        ([0.5], [1.5], r"`y_pred` must be in \[0, 1\]"),
        ([0.5], [[0.2, 0.3, 0.5]], r"shares of shape \[\.\.\., 3\]"),
    ],
)
def test_wrong_shares_raise_and_change_nothing(y_true, y_pred, message):
    metric = um.ExpectedCalibrationError(
        label_distributions=True, positive_class=len(np.shape(y_pred)) == 1 or None
    )
    with pytest.raises(ValueError, match=message):
        metric.update_state(np.float32(y_true), np.float32(y_pred))
    assert float(metric.result()) == 0.0


def test_a_wrong_share_of_weight_0_does_not_count():
    metric = um.ExpectedCalibrationError(label_distributions=True, positive_class=True)
    metric.update_state(
        np.float32([0.5, 7, np.nan]), np.float32([0.75, 0.5, 0.5]), [1.0, 0.0, 0.0]
    )
    assert float(metric.result()) == pytest.approx(0.25)


def test_options_that_do_not_go_together_raise():
    for options in ({"ignore_index": 1}, {"multilabel": True}):
        with pytest.raises(ValueError, match="With `label_distributions`, `ignore_ind"):
            um.ExpectedCalibrationError(label_distributions=True, **options)


def test_a_sketch_of_shares_is_refused_and_the_state_is_kept(rng):
    shares, p = voted(rng)
    metric = um.AdaptiveCalibrationError(label_distributions=True)
    value = fed(metric, shares, p)
    with pytest.raises(ValueError, match="with label_distributions=True"):
        metric.sketch  # noqa: B018
    copy = um.AdaptiveCalibrationError.from_config(metric.get_config())
    copy.set_state(metric.get_state())
    assert copy.label_distributions
    assert float(copy.result()) == value
