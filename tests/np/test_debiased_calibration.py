"""The debiased calibration error: a naive loop, and what is expected of it."""

import itertools

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.debiased_calibration import debiased_calibration_error

SIGMAS = 5  # One false alarm in two million.


def naive(labels, probabilities, scheme, max_prob, class_conditional, **options):
    """The squared error by a loop over bins; weights are numbers of examples."""
    squares = []
    for table in references.bins(
        labels, probabilities, scheme, max_prob, class_conditional, **options
    ):
        total, square = sum(weight for weight, _, _ in table), 0.0
        for n, score_sum, outcome_sum in table:
            if n >= 2:
                accuracy = outcome_sum / n
                gap = score_sum / n - accuracy
                variance = accuracy * (1 - accuracy) / (n - 1)
                square += n / total * (gap * gap - variance)
        squares.append(square)
    return np.mean(squares)


every_case = pytest.mark.parametrize(
    ("scheme", "max_prob", "class_conditional"),
    list(itertools.product(("even", "adaptive"), (True, False), (False, True))),
)


def options_of(scheme, max_prob, class_conditional):
    return {
        "binning_scheme": scheme,
        "max_prob": max_prob,
        "class_conditional": class_conditional,
    }


@every_case
@pytest.mark.parametrize(
    "options",
    [{}, {"num_bins": 3}, {"threshold": 0.2}],
    ids=["default", "few bins", "threshold"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_a_naive_loop(
    scheme, max_prob, class_conditional, options, weighted, rng
):
    case = (scheme, max_prob, class_conditional)
    data = catalogue.data(rng, n=60)
    if scheme == "adaptive" and not options:
        options = {"datapoints_per_bin": 7}
    if weighted:
        weights = rng.integers(0, 4, 60).astype(float)
        weights[0] = 1.0
        options = {**options, "sample_weight": weights}
    expected = naive(data.labels, data.predictions, *case, **options)
    arguments = {**options_of(*case), **options}
    square = debiased_calibration_error(
        data.labels, data.predictions, **arguments, squared=True
    )
    assert isinstance(square, float)
    assert square == pytest.approx(expected, abs=1e-12)
    root = debiased_calibration_error(data.labels, data.predictions, **arguments)
    assert root == pytest.approx(np.sqrt(max(expected, 0)), abs=1e-7)


def test_defaults_are_those_of_rmsce_without_its_bias(rng):
    # Many examples leave no bias.
    data = catalogue.data(rng)
    weight = {"sample_weight": 1e9}
    found = debiased_calibration_error(data.labels, data.predictions, **weight)
    expected = um.rmsce(data.labels, data.predictions, **weight)
    assert found == pytest.approx(expected, abs=1e-6)


def test_by_hand():
    # Two bins: accuracy 1/2 of 4 at 0.6, and 1 of 1 at 0.9, which tells nothing.
    labels, probabilities = [1, 1, 0, 0, 1], [0.6, 0.6, 0.6, 0.6, 0.9]
    found = debiased_calibration_error(
        labels, probabilities, binning_scheme="even", num_bins=10, squared=True
    )
    assert found == pytest.approx(4 / 5 * (0.1**2 - 0.5 * 0.5 / 3))
    root = debiased_calibration_error(
        labels, probabilities, binning_scheme="even", num_bins=10
    )
    assert root == 0.0


def test_one_example_counts_0():
    assert debiased_calibration_error([1], [0.1], squared=True) == 0
    assert debiased_calibration_error([1, 0], [0.1, 0.7], num_bins=5) == 0


def test_squared_error_is_unbiased(rng):
    # Five forecasts of as many accuracies, all but the last below 2 standard errors.
    sizes = np.array([2, 5, 10, 20, 40])
    forecasts = np.array([0.15, 0.35, 0.5, 0.7, 0.9])
    accuracies = np.array([0.25, 0.3, 0.5, 0.75, 0.7])
    truth = np.sum(sizes * (accuracies - forecasts) ** 2) / np.sum(sizes)
    scores = np.repeat(forecasts, sizes)
    debiased, plain = np.empty((2, 1000))
    for i in range(1000):
        labels = rng.uniform(size=len(scores)) < np.repeat(accuracies, sizes)
        options = {"binning_scheme": "even", "num_bins": 5, "positive_class": True}
        debiased[i] = debiased_calibration_error(
            labels, scores, **options, squared=True
        )
        plain[i] = um.gce(labels, scores, "even", True, False, "l2", 5,
                          positive_class=True) ** 2  # fmt: skip
    error = np.std(debiased) / np.sqrt(1000)
    assert abs(np.mean(debiased) - truth) < SIGMAS * error
    assert np.mean(plain) - truth > 4 * SIGMAS * error


def test_calibrated_model_with_scores_that_vary(rng):
    # The estimate is low by the variance of the scores in a bin over its size.
    squares = np.empty(1000)
    for i in range(1000):
        scores = rng.uniform(size=30)
        labels = rng.uniform(size=30) < scores
        squares[i] = debiased_calibration_error(
            labels,
            scores,
            binning_scheme="even",
            num_bins=1,
            positive_class=True,
            squared=True,
        )
    error = np.std(squares) / np.sqrt(1000)
    assert abs(np.mean(squares) + 1 / 12 / 30) < SIGMAS * error


def test_weights_are_numbers_of_examples(rng):
    data = catalogue.data(rng)
    weights = rng.integers(0, 4, len(data.labels))
    weights[0] = 1
    times = np.repeat(np.arange(len(weights)), weights)

    def square(labels, probabilities, **options):
        return debiased_calibration_error(
            labels, probabilities, num_bins=4, squared=True, **options
        )

    once = square(data.labels, data.predictions)
    np.testing.assert_allclose(
        square(data.labels, data.predictions, sample_weight=weights),
        square(data.labels[times], data.predictions[times]),
        atol=1e-12,
    )
    for light in (1.0, 0.1, 1e-3, 1e-300, np.full(len(weights), 1 / len(weights))):
        found = square(data.labels, data.predictions, sample_weight=light)
        assert found == pytest.approx(once, abs=1e-12)
    uneven = rng.uniform(0.01, 0.4, len(weights))
    found = square(data.labels, data.predictions, sample_weight=uneven)
    scaled = square(
        data.labels, data.predictions, sample_weight=uneven / np.mean(uneven)
    )
    assert found == pytest.approx(scaled, abs=1e-9)
    twice = square(data.labels, data.predictions, sample_weight=2.0)
    assert twice > once  # Twice the examples, half the variance.


def test_forms_of_the_same_predictions(rng):
    logits = rng.normal(size=[2, 5, 4, 3])
    probabilities = references.softmax(logits)
    labels = rng.integers(0, 3, [2, 5, 4])
    expected = debiased_calibration_error(labels, probabilities, squared=True)
    given = labels.copy(), probabilities.copy()
    for arguments in (
        {"labels": labels, "logits": logits},
        {"labels": labels.tolist(), "probs": probabilities.tolist()},
        {
            "labels": np.concatenate([labels.ravel(), [255]]),
            "probabilities": np.concatenate(
                [probabilities.reshape(-1, 3), [[0.2, 0.3, 0.5]]]
            ),
            "ignore_index": 255,
        },
        {
            "labels": labels,
            "probabilities": probabilities,
            "labels_predicted": np.argmax(logits, axis=-1),
        },
    ):
        found = debiased_calibration_error(**arguments, squared=True)
        assert found == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(labels, given[0])
    np.testing.assert_array_equal(probabilities, given[1])
    p = probabilities.reshape(-1, 3)[:, 0]
    found = debiased_calibration_error(
        labels.ravel() == 0, p, positive_class=True, num_bins=4, squared=True
    )
    expected = naive(
        labels.ravel() == 0, p, "adaptive", True, False,
        num_bins=4, positive_class=True,
    )  # fmt: skip
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bad", catalogue.SHAPES + catalogue.VALUES)
def test_bad_data_raises(bad):
    arguments, word = catalogue.bad_data(bad)
    with pytest.raises(ValueError, match=word) as raised:
        debiased_calibration_error(**arguments)
    assert "Received" in str(raised.value)


def test_text_raises():
    with pytest.raises(ValueError, match="`labels` must be numbers"):
        debiased_calibration_error(["cat"], [0.5])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("num_bins", 0), ("binning_scheme", "odd"), ("max_prob", 1)),
        *(("class_conditional", None), ("threshold", 1.0), ("squared", 1)),
        *(("datapoints_per_bin", 0), ("positive_class", 0)),
    ],
)
def test_bad_options_raise(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        debiased_calibration_error([0, 1], [0.2, 0.7], **{name: value})
