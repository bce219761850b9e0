"""What a sample would show, and how many examples are needed."""

import math

import numpy as np
import pytest
from scipy import special, stats

import uncertainty_metrics.numpy as um


def test_the_needed_examples_show_the_error():
    for error in (0.02, 0.1):
        n = um.examples_needed(error=error, num_bins=10)

        def detectable(n):
            # Forecasts of 0.5 have the largest variance; ten bins of equal mass.
            p = 0.5 + np.linspace(-1e-9, 1e-9, n)
            return um.smallest_detectable_error(p, num_bins=10)

        assert detectable(10 * (n // 10)) == pytest.approx(error, rel=0.01)


def test_one_bin_of_many_examples_is_nearly_normal():
    """With k bins of the variance v, theta is about z sqrt(V_0) + z' sqrt(V)."""
    n, k = 200_000, 1000
    p = np.linspace(0.499, 0.501, n)
    found = um.smallest_detectable_error(p, num_bins=k, power=0.9) ** 2
    at_zero = 2 * k * 0.25**2 / n**2
    variance = at_zero + 4 * 0.25 * found / n
    z, z_power = stats.norm.ppf([0.975, 0.9])
    expected = z * math.sqrt(at_zero) + z_power * math.sqrt(variance)
    assert found == pytest.approx(expected, rel=0.05)


def test_more_examples_show_smaller_errors(rng):
    p = rng.uniform(size=5000)
    errors = [um.smallest_detectable_error(p[:n]) for n in (50, 200, 1000, 5000)]
    assert sorted(errors, reverse=True) == errors
    powers = [um.smallest_detectable_error(p, power=q) for q in (0.5, 0.8, 0.99)]
    assert sorted(powers) == powers
    levels = [um.smallest_detectable_error(p, level=q) for q in (0.8, 0.95, 0.99)]
    assert sorted(levels) == levels
    assert um.smallest_detectable_error([0.2, 0.4]) == math.inf
    assert um.smallest_detectable_error(np.ones(1000)) == 0


def test_all_forms_of_forecasts_give_the_same_error(rng):
    p = rng.uniform(size=300)
    expected = um.smallest_detectable_error(p)
    both = np.stack([1 - p, p], axis=1)
    assert um.smallest_detectable_error(confidences=p) == expected
    assert um.smallest_detectable_error(both, positive_class=True) == expected
    decided = um.smallest_detectable_error(both)
    assert decided == pytest.approx(
        um.smallest_detectable_error(confidences=np.maximum(p, 1 - p))
    )
    logits = np.log(both)
    assert um.smallest_detectable_error(logits=logits) == pytest.approx(decided)


def test_the_power_is_that_of_simulated_intervals(rng):
    shown, draws = 0, 200
    for _ in range(draws):
        p = rng.uniform(0.3, 0.7, 1000)
        error = um.smallest_detectable_error(p)
        labels = rng.uniform(size=1000) < p + error * rng.choice([-1, 1])
        shown += um.calibration_error_interval(labels, p).lower > 0
    low, high = (stats.binom.ppf(q, draws, 0.8) for q in (1e-6, 1 - 1e-6))
    assert low - 0.03 * draws <= shown <= high + 0.03 * draws


def test_the_ratio_and_the_slope_need_what_riley_et_al_say(rng):
    p = special.expit(rng.normal(-2, 1.2, 400))
    q, z = p.mean(), stats.norm.ppf(0.975)
    n = um.examples_needed(p, ratio_width=0.3)
    error = math.sqrt((1 - q) / (n * q))
    assert 2 * math.sinh(z * error) == pytest.approx(0.3, rel=0.01)
    n = um.examples_needed(p, slope_width=0.3)
    # The information matrix of intercept and slope, by its definition.
    information = np.zeros((2, 2))
    for risk in p:
        x = np.array([1.0, special.logit(risk)])
        information += np.outer(x, x) * risk * (1 - risk) / len(p)
    variance = np.linalg.inv(n * information)[1, 1]
    assert 2 * z * math.sqrt(variance) == pytest.approx(0.3, rel=0.01)


def test_the_auroc_needs_the_variance_of_hanley_and_mcneil(rng):
    p = special.expit(rng.normal(-1, 1.5, 60))
    pairs = [
        (a * (1 - b), (a > b) + (a == b) / 2) for a in p.tolist() for b in p.tolist()
    ]
    area = np.average([hit for _, hit in pairs], weights=[w for w, _ in pairs])
    n = um.examples_needed(p, auroc_width=0.1)
    ones = n * p.mean()
    # Newcombe's variance has (n / 2 - 1) in place of the numbers of both classes.
    spread = (1 - area) / (2 - area) + area / (1 + area)
    variance = area * (1 - area) * (1 + (n / 2 - 1) * spread) / (ones * (n - ones))
    width = 2 * stats.norm.ppf(0.975) * math.sqrt(variance)
    assert width == pytest.approx(0.1, rel=0.01)
    assert um.examples_needed(p, auroc_width=0.05) > 3 * n


BAD = {
    "no forecasts": (um.smallest_detectable_error, {}, "`probabilities`, `logits`"),
    "two": (
        um.smallest_detectable_error,
        {"probabilities": [0.5], "confidences": [0.5]},
        "Exactly one of",
    ),
    "range": (um.smallest_detectable_error, {"confidences": [1.5]}, "`confidences`"),
    "power": (
        um.smallest_detectable_error,
        {"confidences": [0.5], "power": 1},
        "`power`",
    ),
    "no aim": (um.examples_needed, {}, "Exactly one of `error`"),
    "aims": (um.examples_needed, {"error": 0.1, "auroc_width": 0.1}, "Exactly one of"),
    "error": (um.examples_needed, {"error": 0}, "`error`"),
    "tiny": (um.examples_needed, {"error": 1e-12}, "`error` must be larger"),
    "width": (
        um.examples_needed,
        {"probabilities": [0.5], "ratio_width": -1},
        "`ratio_width` must be finite and above 0",
    ),
    "slope": (
        um.examples_needed,
        {"probabilities": [0.5, 0.5], "slope_width": 1},
        "`probabilities` must be of different sizes",
    ),
    "sure": (
        um.examples_needed,
        {"probabilities": [1.0, 1.0], "ratio_width": 1},
        "neither all 0 nor all 1",
    ),
    "none": (um.examples_needed, {"auroc_width": 0.1}, "Exactly one of `prob"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_say_what_is_wrong(name):
    function, given, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        function(**given)
