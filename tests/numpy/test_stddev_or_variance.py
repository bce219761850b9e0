"""Variances and standard deviations in each other's place are told apart."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from studies import stddev_or_variance

N = 4000
# By name: a call with means, spreads of the wrong kind, and targets.
OF_STDDEVS = {
    "expected_calibration_error": um.regression.expected_calibration_error,
    "compute_calibration_curve": um.regression.compute_calibration_curve,
    "interval_coverage": um.regression.interval_coverage,
    "calibration_error": um.regression.calibration_error,
    "ence": um.regression.ence,
    "negative_log_likelihood": um.regression.negative_log_likelihood,
    "evaluate_calibration": um.regression.evaluate_calibration,
    "probability_integral_transform": um.regression.probability_integral_transform,
    "TemperatureScaling": um.regression.TemperatureScaling().fit,
    "report": lambda m, s, y: um.report(y, means=m, variances=s),
}
OF_VARIANCES = {
    "crps_normal_score": lambda m, v, y: um.crps_normal_score(y, m, v),
    "crps_normal_score, 2-D": lambda m, v, y: um.crps_normal_score(
        (y - m).reshape(-1, 2), 0, v.reshape(-1, 2)
    ),
    "coverage": lambda m, v, y: um.regression.interval_coverage(
        m, targets=y, stddevs=v
    ),
    "PITCalibration": lambda m, v, y: um.regression.PITCalibration().fit(y, m, v),
    "calibration_loss": lambda m, v, y: um.regression.calibration_loss(y, m, v),
    "report": lambda m, v, y: um.report(y, means=m, stddevs=v),
}


@pytest.fixture
def forecasts(rng):
    """Means, standard deviations and targets that are calibrated."""
    means, stddevs = rng.normal(size=N), 0.1 * np.exp(0.8 * rng.normal(size=N))
    return means, stddevs, means + stddevs * rng.normal(size=N)


@pytest.mark.parametrize("name", OF_STDDEVS)
def test_standard_deviations_are_no_variances(name, forecasts):
    message = r"must be variances, and these are standard deviations: .*of 0\.1"
    with pytest.raises(ValueError, match=message):
        OF_STDDEVS[name](*forecasts)


@pytest.mark.parametrize("name", OF_VARIANCES)
def test_variances_are_no_standard_deviations(name, forecasts):
    means, stddevs, targets = forecasts
    message = "must be standard deviations, and these are variances"
    with pytest.raises(ValueError, match=message):
        OF_VARIANCES[name](means, stddevs**2, targets)


def test_what_the_message_advises_is_taken(forecasts):
    means, stddevs, targets = forecasts
    coverage = um.regression.interval_coverage
    right = coverage(means, targets=targets, stddevs=stddevs)
    assert right == coverage(means, stddevs**2, targets)
    in_other_unit = 10 * means, 100 * stddevs, 10 * targets
    assert coverage(*in_other_unit) > 0.99  # As if these were variances.


def test_only_examples_that_count_are_looked_at(forecasts):
    means, stddevs, targets = forecasts
    spreads, rest = np.append(stddevs, stddevs**2), np.arange(2 * N) >= N
    both = np.tile(means, 2), spreads, np.tile(targets, 2)
    um.regression.ence(*both, mask=rest)
    um.regression.ence(*both, sample_weight=rest)
    with pytest.raises(ValueError, match="these are standard deviations"):
        um.regression.ence(*both, sample_weight=~rest)


def test_constant_spreads_give_a_warning(rng):
    targets = 0.1 * rng.normal(size=N)
    with pytest.warns(UserWarning, match="may be standard deviations") as given:
        um.regression.interval_coverage(np.zeros(N), np.full(N, 0.1), targets)
    assert given[0].filename == __file__
    with pytest.warns(UserWarning, match="`variances?` must be variances") as given:
        um.report(targets, means=np.zeros(N), variances=np.full(N, 0.1))
    assert len(given) == 1


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.parametrize("noise", stddev_or_variance.NOISE)
def test_miscalibrated_forecasts_are_not_refused(noise, informative, rng):
    found = [
        stddev_or_variance.outcomes(rng, noise, 500, informative, calibrated=False)
        for _ in range(200)
    ]
    assert "error" not in np.ravel(found)
    assert np.mean(np.ravel(found) == "warning") < 0.05
