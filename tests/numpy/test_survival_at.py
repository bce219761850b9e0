"""Labels and weights at one time, against the IPCW Brier score, values by hand, and
metrics of data without censoring.
"""

import math

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_survival import FOLLOWED, drawn

Z = 4.5  # The limit in standard errors, for any seed.


@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_sums_equal_the_ipcw_brier_score(weighted, rng):
    times, event, survival, weights = drawn(rng)
    times, survival = np.array(times, float), np.array(survival, float)[:, 0]
    weights = np.array(weights, float) if weighted else np.ones(len(times))
    for at in (0.0, 0.5, 7 / 8, 2.0):
        labels, found = um.survival_at(times, event, at, sample_weight=weights)
        losses = (1 - labels - survival) ** 2
        expected = um.ipcw_brier_score(
            times, event, survival, at, sample_weight=weights
        )
        assert found @ losses / weights.sum() == pytest.approx(expected, rel=1e-12)
        # A metric divides by the sum of the weights, which is the same sum.
        assert found.sum() == pytest.approx(weights.sum(), rel=1e-12)
        score = um.brier_score(
            labels, 1 - survival, zero_based=True, sample_weight=found
        )
        assert score / 2 == pytest.approx(expected, rel=1e-12)


def test_labels_and_weights_by_hand():
    # At time 1 the event comes first. Then three examples are at risk, and one of them
    # is censored, so G(1) = 2/3.
    labels, weights = um.survival_at([1, 1, 2, 3], [1, 0, 1, 0], 2)
    assert labels.tolist() == [1, 0, 1, 0]
    assert labels.dtype == np.int64
    np.testing.assert_allclose(weights, [1, 0, 1.5, 1.5])
    # An example that is censored at the time `at` has weight 0.
    labels, weights = um.survival_at([2, 2, 3], [1, 0, 0], 2)
    assert labels.tolist() == [1, 0, 0]
    np.testing.assert_allclose(weights, [1, 0, 2])
    column = um.survival_at([[1.0], [2.0]], [[1], [0]], 1.5)
    assert column.labels.shape == column.sample_weight.shape == (2,)


def test_weights_are_1_without_censoring(rng):
    times = rng.exponential(size=30)
    labels, weights = um.survival_at(times, np.ones(30), 0.7)
    np.testing.assert_array_equal(labels, times <= 0.7)
    np.testing.assert_array_equal(weights, np.ones(30))


METRICS = {
    "ece": lambda y, p, **w: um.ece(y, p, positive_class=True, num_bins=5, **w),
    "auroc": um.auroc,
    "nll": um.negative_log_likelihood,
    "scaled": um.scaled_brier_score,
    "intercept": lambda y, p, **w: um.calibration_intercept(y, p, **w).estimate,
    "slope": lambda y, p, **w: um.calibration_slope(y, p, **w).estimate,
    "ratio": lambda y, p, **w: um.observed_expected_ratio(y, p, **w).estimate,
}


@pytest.mark.thorough
def test_metrics_equal_metrics_without_censoring_on_average(rng):
    """Metrics that leave out censored examples have a larger error."""
    at, n, repeats = 0.8, 1500, 100

    def data(size):
        rate = np.exp(rng.normal(size=size))
        risks = 1 - np.exp(-0.7 * at * rate**1.3)
        return rng.exponential(1 / rate), risks

    times, risks = data(4 * 10**5)
    came = (times <= at).astype(int)
    truth = np.array([metric(came, risks) for metric in METRICS.values()])
    found, left_out = np.empty((2, repeats, len(METRICS)))
    for i in range(repeats):
        times, risks = data(n)
        lost = rng.exponential(1.2, n)
        event, seen = times <= lost, np.minimum(times, lost)
        labels, weights = um.survival_at(seen, event, at)
        known = event | (seen > at)
        for k, metric in enumerate(METRICS.values()):
            found[i, k] = metric(labels, risks, sample_weight=weights)
            left_out[i, k] = metric(labels[known], risks[known])
    spread = found.std(axis=0)
    error = spread * (1 / math.sqrt(repeats) + math.sqrt(n / (4 * 10**5)))
    # Metrics that are no means have a bias of order 1/n.
    assert np.all(np.abs(found.mean(axis=0) - truth) < Z * error + 0.3 * spread)
    for name in ("intercept", "ratio"):
        k = list(METRICS).index(name)
        assert abs(left_out[:, k].mean() - truth[k]) > 3 * abs(
            found[:, k].mean() - truth[k]
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": -1.0}, "`at` must be a finite time >= 0"),
        ({"at": math.inf}, "`at` must be a finite time >= 0"),
        ({"at": [1.0, 2.0]}, "`at` must be a finite time >= 0"),
        ({"at": 3.0}, "`at` must be below 3.0, when the last"),
        ({"times": [np.inf, 2, 3]}, "`times` must be finite"),
        ({"event": [1, 0, 2]}, r"`event` must be 0 \(censored\) or 1"),
        ({"sample_weight": [1, -1, 0]}, "`sample_weight` must be finite and >= 0"),
        ({"sample_weight": [0, 0, 0]}, "`sample_weight` must be positive for at"),
    ],
)
def test_bad_input_raises(change, message):
    good = {**FOLLOWED, "at": 2.5}
    um.survival_at(**good)
    with pytest.raises(ValueError, match=message) as raised:
        um.survival_at(**{**good, **change})
    assert "Received" in str(raised.value)
