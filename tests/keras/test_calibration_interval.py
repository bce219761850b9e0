"""The confidence interval of the streaming calibration error, and errors by class."""

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

pytestmark = [pytest.mark.keras, pytest.mark.tensors]

Metric = um.DebiasedCalibrationError


def made(rng, n=400):
    """Returns labels and P(class 1), multiples of 1/32 that have a cell each."""
    p = rng.integers(1, 32, n) / 32
    return (rng.uniform(size=n) < p**1.5).astype(int), p.astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
def test_interval_from_cells_equals_interval_from_scores(weighted, rng):
    labels, p = made(rng)
    weights = rng.integers(0, 3, len(p)) / 2 if weighted else None
    metric = Metric(num_bins=5, positive_class=True)
    for part in np.array_split(np.arange(len(p)), 3):
        of_part = weights[part] if weighted else None
        metric.update_state(labels[part], p[part], of_part)
    for level in (0.8, 0.95):
        expected = um_np.calibration_error_interval(
            labels, p, positive_class=True, num_bins=5, level=level,
            sample_weight=weights,
        )  # fmt: skip
        np.testing.assert_allclose(metric.interval(level), expected, atol=1e-6)
    assert metric.interval() == metric.interval(0.95)
    assert all(isinstance(end, float) for end in metric.interval())


def test_interval_of_even_bins_is_close_to_exact(rng):
    labels, p = made(rng, 5000)
    options = {"positive_class": True, "binning_scheme": "even"}
    metric = Metric(**options)
    metric.update_state(labels, p)
    expected = um_np.calibration_error_interval(labels, p, **options)
    np.testing.assert_allclose(metric.interval(), expected, atol=2e-3)
    root = float(metric.result())
    assert metric.interval().estimate == pytest.approx(root, abs=1e-6)


def test_interval_without_examples_is_0_to_1():
    assert Metric().interval() == (0, 0, 1)
    metric = Metric()
    metric.update_state([1, 0], [0.7, 0.2], [0.0, 0.0])
    assert metric.interval() == (0, 0, 1)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"max_prob": False}, "max_prob"),
        ({"class_conditional": True}, "class_conditional"),
    ],
)
def test_interval_of_other_than_decisions_raises(options, name):
    with pytest.raises(
        ValueError, match=f"`{name}` must be .* for a confidence interval"
    ):
        Metric(**options).interval()
    with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
        Metric().interval(95)


def test_class_errors_equal_errors_of_single_classes(rng):
    rows = (rng.multinomial(32, [0.5, 0.3, 0.2], 60) / 32).astype(np.float32)
    labels = rng.integers(0, 3, 60)
    metric = um.StaticCalibrationError(num_bins=4)
    assert metric.class_errors is None
    metric.update_state(labels, rows)
    errors = np.asarray(metric.class_errors)
    by_class = [
        um_np.ece(labels == k, rows[:, k], num_bins=4, positive_class=True)
        for k in range(3)
    ]
    np.testing.assert_allclose(errors, by_class, atol=1e-6)
    assert errors.mean() == pytest.approx(float(metric.result()), abs=1e-6)


def test_debiased_class_errors_equal_errors_of_single_classes(rng):
    rows = (rng.multinomial(32, [0.5, 0.3, 0.2], 60) / 32).astype(np.float32)
    labels = rng.integers(0, 3, 60)
    for squared in (True, False):
        options = {"squared": squared, "num_bins": 4}
        metric = Metric(max_prob=False, class_conditional=True, **options)
        assert metric.class_errors is None
        metric.update_state(labels, rows)
        expected = [
            um_np.debiased_calibration_error(
                labels == k, rows[:, k], positive_class=True, **options
            )
            for k in range(3)
        ]
        np.testing.assert_allclose(metric.class_errors, expected, atol=1e-6)
    one = um.ExpectedCalibrationError()
    one.update_state([1, 0], [[0.3, 0.7], [0.9, 0.1]])
    np.testing.assert_allclose(one.class_errors, [float(one.result())], atol=1e-6)
