"""The debiased calibration error: a naive loop, and its expectation."""

import itertools

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.calibration.bins.debiased_calibration import (
    debiased_calibration_error,
)

SIGMAS = 5  # One false alarm in two million.


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
@pytest.mark.parametrize("max_prob", [True, False])
@pytest.mark.parametrize("class_conditional", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_a_naive_loop(scheme, max_prob, class_conditional, weighted, rng):
    data = catalogue.data(rng, n=60)
    choices = {
        "binning_scheme": scheme,
        "max_prob": max_prob,
        "class_conditional": class_conditional,
    }
    points = {"datapoints_per_bin": 7} if scheme == "adaptive" else {}
    for options in (points, {"num_bins": 3}, {"threshold": 0.2}):
        arguments = {**data.arguments(weighted), **choices, **options}
        square = debiased_calibration_error(**arguments, squared=True)
        expected = references.debiased_calibration_error(**arguments, squared=True)
        assert isinstance(square, float)
        assert square == pytest.approx(expected, abs=1e-12)
        root = debiased_calibration_error(**arguments)
        assert root == pytest.approx(np.sqrt(max(expected, 0)), abs=1e-7)


def test_default_error_of_many_examples_equals_rmsce(rng):
    # With so many examples there is no bias.
    data = catalogue.data(rng)
    weight = {"sample_weight": 1e9}
    found = debiased_calibration_error(data.labels, data.predictions, **weight)
    expected = um.rmsce(data.labels, data.predictions, **weight)
    assert found == pytest.approx(expected, abs=1e-6)


def test_by_hand():
    # Two bins: 4 examples at 0.6 with accuracy 1/2, and 1 example at 0.9, which counts
    # 0 as its variance is unknown.
    labels, probabilities = [1, 1, 0, 0, 1], [0.6, 0.6, 0.6, 0.6, 0.9]
    options = {"binning_scheme": "even", "num_bins": 10}
    found = debiased_calibration_error(labels, probabilities, **options, squared=True)
    assert found == pytest.approx(4 / 5 * (0.1**2 - 0.5 * 0.5 / 3))
    assert debiased_calibration_error(labels, probabilities, **options) == 0.0


def test_bins_of_one_example_count_0():
    assert debiased_calibration_error([1], [0.1], squared=True) == 0
    assert debiased_calibration_error([1, 0], [0.1, 0.7], num_bins=5) == 0


def test_squared_error_is_unbiased(rng):
    # Five bins; in all but the last the gap is less than 2 standard errors.
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


def test_bias_of_a_calibrated_model_is_the_variance_of_its_scores(rng):
    # The estimate is too low by the variance of the scores in a bin over its size.
    squares = np.empty(1000)
    for i in range(1000):
        scores = rng.uniform(size=30)
        labels = rng.uniform(size=30) < scores
        options = {"binning_scheme": "even", "num_bins": 1, "positive_class": True}
        squares[i] = debiased_calibration_error(labels, scores, **options, squared=True)
    error = np.std(squares) / np.sqrt(1000)
    assert abs(np.mean(squares) + 1 / 12 / 30) < SIGMAS * error


def test_scores_at_both_ends_of_a_bin_have_the_largest_bias(rng):
    scores = np.repeat([1e-9, 0.2], 20)  # The ends of the first of five bins.
    options = {"binning_scheme": "even", "num_bins": 5, "positive_class": True}
    squares = np.empty(2000)
    for i in range(2000):
        labels = rng.uniform(size=40) < scores
        squares[i] = debiased_calibration_error(labels, scores, **options, squared=True)
    error = np.std(squares) / np.sqrt(2000)
    # The estimate subtracts the variance of the true means as well, over n_b - 1.
    assert abs(np.mean(squares) + 1 / 4 / 25 / 39) < SIGMAS * error


def test_bias_is_the_variance_of_the_true_probabilities(rng):
    """Shows this exactly, over all possible outcomes; the scores do not matter."""
    options = {"binning_scheme": "even", "num_bins": 1, "positive_class": True}
    for n in (2, 5):
        scores, others = rng.uniform(size=[2, n])
        for truths in (others, scores, np.arange(n) % 2.0):
            mean = 0.0
            for labels in itertools.product((0, 1), repeat=n):
                square = debiased_calibration_error(
                    labels, scores, **options, squared=True
                )
                mean += square * np.prod(np.where(labels, truths, 1 - truths))
            bias = mean - np.mean(truths - scores) ** 2
            np.testing.assert_allclose(bias, -np.var(truths, ddof=1) / n, atol=1e-12)
            assert bias >= -1 / (4 * (n - 1)) - 1e-12


def test_weights_are_numbers_of_examples(rng):
    data = catalogue.data(rng)

    def square(weight=None):
        return debiased_calibration_error(
            **data.arguments(), num_bins=4, squared=True, sample_weight=weight
        )

    once, n = square(), len(data.labels)
    for light in (1.0, 0.1, 1e-3, 1e-300, np.full(n, 1 / n)):
        assert square(light) == pytest.approx(once, abs=1e-12)
    uneven = rng.uniform(0.01, 0.4, n)
    assert square(uneven) == pytest.approx(square(uneven / np.mean(uneven)), abs=1e-9)
    assert square(2.0) > once  # Twice the examples have half the variance.
