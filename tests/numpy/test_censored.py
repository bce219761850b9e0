"""The censored calibration error against loops, product limits and known truths."""

import inspect
import itertools
import math
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from studies import censored_coverage
from uncertainty_metrics.numpy.calibration.smoothed import _crossfit
from uncertainty_metrics.numpy.survival import _conditional_curves, censored_calibration

AGGREGATIONS = get_args(_conditional_curves.SurvivalAggregation)
KERNELS = {
    "rbf": lambda u: math.exp(-u * u),
    "cubic": lambda u: max(1 - u * u, 0) ** 3,
}
every_aggregation = pytest.mark.parametrize("aggregation", AGGREGATIONS)
every_kernel = pytest.mark.parametrize("kernel_fn", KERNELS)


@pytest.fixture
def data(rng):
    """Makes forecasts on a grid, tied times, and events of 300 examples."""
    n = 300
    p = rng.integers(5, size=n) / 4
    event, censoring = rng.exponential(2 - p), rng.exponential(1 + p)
    times = np.round(np.minimum(event, censoring), 1)
    times[rng.integers(n, size=20)] = 1.0  # Some have their time at the end time.
    return p, times, (event <= censoring).astype(int)


def naive_outcome(time, happened, p, train, end, kernel, aggregation):
    """Returns the pseudo-outcome of one example, from training rows (p, t, e)."""
    weights = [(kernel(q - p), t, e) for q, t, e in train]
    shrink = (
        (lambda h: 1 - h) if aggregation == "Kaplan-Meier" else lambda h: np.exp(-h)
    )
    survival, followed, steps = 1.0, 1.0, []
    for u in sorted({t for _, t, _ in weights if t <= end}):
        at_risk = sum(w for w, t, _ in weights if t >= u)
        events = sum(w for w, t, e in weights if t == u and e == 1)
        lost = sum(w for w, t, e in weights if t == u and e == 0)
        factor = shrink(events / at_risk) if at_risk > 0 else 1.0
        steps.append((u, factor, max(followed, _conditional_curves.LEAST_FOLLOWED)))
        survival *= factor
        if lost > 0:  # Events come before the censorings of the same time.
            followed *= shrink(lost / (at_risk - events))
    outcome = 1 - survival
    for u, factor, before in steps:
        if u > time:
            break
        later = math.prod(f for v, f, _ in steps if v > u)
        outcome -= later * (1 - factor) / before
    if happened and time <= end:
        later = math.prod(f for v, f, _ in steps if v > time)
        before = [g for v, _, g in steps if v >= time]
        # There may be no training example between this time and the end.
        last = max(followed, _conditional_curves.LEAST_FOLLOWED)
        outcome += later / (before[0] if before else last)
    return outcome


def naive_outcomes(data, fold, end, bandwidth, kernel_fn, aggregation):
    """Returns the pseudo-outcomes of all examples."""

    def kernel(distance):
        return (
            1.0 if math.isinf(bandwidth) else KERNELS[kernel_fn](distance / bandwidth)
        )

    outcomes = []
    for p, t, e, k in zip(*data, fold, strict=True):
        train = [r for *r, other in zip(*data, fold, strict=True) if other != k]
        outcomes.append(naive_outcome(t, e, p, train, end, kernel, aggregation))
    return np.array(outcomes)


def pseudo_outcomes(data, fold, end, bandwidth, kernel_fn="rbf", aggregation=None):
    p, times, event = data
    follow_up = _conditional_curves.FollowUp.until(end, p, times, event == 1)
    curves = _conditional_curves.SurvivalCurves(
        follow_up, kernel_fn, aggregation or AGGREGATIONS[0]
    )
    return curves.pseudo_outcomes(fold, bandwidth)


@every_aggregation
@every_kernel
@pytest.mark.parametrize("bandwidth", [0.1, 0.5, 1, math.inf])
def test_pseudo_outcomes_equal_a_loop(data, bandwidth, kernel_fn, aggregation, rng):
    # All forecasts are points of the grid, so that nothing is interpolated, and every
    # forecast occurs in every fold.
    data = [column[:120] for column in data]
    fold = np.arange(120) % 3
    data[0][:15] = np.repeat(np.arange(5) / 4, 3)
    args = data, fold, 1.0, bandwidth, kernel_fn, aggregation
    np.testing.assert_allclose(
        pseudo_outcomes(*args), naive_outcomes(*args), rtol=1e-9, atol=1e-9
    )


@every_aggregation
def test_curves_in_blocks_equal_curves_at_once(data, aggregation, rng, monkeypatch):
    p, times, event = data
    p = p * 0.9 + rng.uniform(size=len(p)) / 10
    fold = np.arange(len(p)) % 3
    args = (p, times, event), fold, 1.0, 0.02, "rbf", aggregation
    expected = pseudo_outcomes(*args)
    monkeypatch.setattr(_conditional_curves, "_BLOCK", 1)
    np.testing.assert_allclose(pseudo_outcomes(*args), expected, rtol=1e-9, atol=1e-12)


@every_aggregation
@pytest.mark.parametrize("bandwidth", [0.01, 0.3, math.inf])
def test_pseudo_outcomes_without_censoring_are_the_labels(bandwidth, aggregation, rng):
    p, times = rng.uniform(size=200), rng.integers(10, size=200) / 5
    fold = np.arange(200) % 5
    # An example that is censored at the end time or later counts as not censored.
    for event, happened in ((np.ones(200), times <= 1), (times < 1, times < 1)):
        outcomes = pseudo_outcomes(
            (p, times, event), fold, 1.0, bandwidth, "rbf", aggregation
        )
        np.testing.assert_allclose(outcomes, happened, atol=1e-9)


def test_survival_curves_are_the_product_limit(data):
    _, times, event = data
    follow_up = _conditional_curves.FollowUp.until(
        1.0, np.zeros(300), times, event == 1
    )
    columns = follow_up.order[: np.count_nonzero(follow_up.key < 600)]
    beyond = np.array([300.0 - len(columns)])
    later, followed, _ = _conditional_curves.product_limits(
        np.ones([1, len(columns)]), beyond, follow_up.lost[columns], None
    )
    for u in np.unique(times[times <= 1]):
        after = np.count_nonzero(times[columns] <= u)
        survival, kept = 1.0, 1.0
        for v in np.unique(times[times <= u]):
            events = np.sum((times == v) & (event == 1))
            survival *= 1 - events / np.sum(times >= v)
            lost = np.sum((times == v) & (event == 0))
            kept *= 1 - lost / max(np.sum(times >= v) - events, 1)
        np.testing.assert_allclose(later[0, 0] / later[0, after], survival, rtol=1e-9)
        np.testing.assert_allclose(followed[0, after], kept, rtol=1e-9)


def _columns(hazards, losses, aggregation):
    """Returns weights whose curves have these hazards.

    There is a weight for an event and for a censoring at each time, and one for all
    that is later.
    """
    weight, kernel = 1.0, []
    for hazard in itertools.chain(*zip(hazards, losses, strict=True)):
        share = hazard if aggregation == "Kaplan-Meier" else -math.log(1 - hazard)
        kernel.append(weight * share)
        weight -= kernel[-1]
    return np.array([kernel]), np.array([weight])


@every_aggregation
@pytest.mark.parametrize("right", ["survival", "censoring", "both", "neither"])
def test_mean_pseudo_outcome_is_right_if_one_curve_is_right(aggregation, right, rng):
    steps = 6
    hazards, losses = rng.uniform(0.05, 0.3, size=[2, steps])
    wrong = rng.uniform(0.05, 0.3, size=[2, steps])
    fitted = hazards if right in ("survival", "both") else wrong[0]
    fitted_losses = losses if right in ("censoring", "both") else wrong[1]
    kernel, beyond = _columns(fitted, fitted_losses, aggregation)
    lost = np.arange(2 * steps) % 2 == 1
    ties = None if aggregation == "Kaplan-Meier" else np.arange(2 * steps)
    later, followed, compensator = (
        curve[0]
        for curve in _conditional_curves.product_limits(kernel, beyond, lost, ties)
    )
    # The sum over all that may happen to an example, with its probability.
    mean, left = 0.0, 1.0
    for step in range(steps):
        after = 2 * step + 1
        base = 1 - later[0] - compensator[after]
        mean += left * hazards[step] * (base + later[after] / followed[after])
        left *= 1 - hazards[step]
        mean += left * losses[step] * base
        left *= 1 - losses[step]
    mean += left * (1 - later[0] - compensator[-1])
    truth = 1 - np.prod(1 - hazards)
    if right == "neither":
        assert abs(mean - truth) > 1e-9
    else:
        np.testing.assert_allclose(mean, truth, rtol=1e-9)


@pytest.mark.parametrize("right", ["survival", "censoring"])
def test_mean_pseudo_outcome_is_right_for_all_forecasts_if_one_curve_is(right, rng):
    # Neither fitted curve depends on the forecast, but one of the true curves does.
    n = 4000
    p = rng.uniform(size=n)
    hazards = (1.0, 0.2 + p) if right == "survival" else (0.3 + 1.5 * p, 0.5)
    event, censoring = (rng.exponential(size=n) / hazard for hazard in hazards)
    data = p, np.minimum(event, censoring), event <= censoring
    outcomes = pseudo_outcomes(data, np.arange(n) % 5, 1.0, math.inf)
    errors = outcomes - (1 - np.exp(-hazards[0]))
    for errors_of_trend in (errors, errors * (p - 0.5)):
        # The noise of the curves adds to that of the mean, and is about as large.
        assert abs(errors_of_trend.mean()) < 7 * stats.sem(errors_of_trend)


def naive_fit(data, fold, end, bandwidths, kernel_fn, aggregation, w, orthogonal):
    """Returns the squared error, its influence values and its spread, by all pairs."""
    p = data[0]
    factor = {"rbf": 1.0, "cubic": 4.5}[kernel_fn]

    def shares(bandwidth):
        kernel = np.exp(-factor * ((p[:, None] - p) / bandwidth) ** 2)
        kernel *= fold[:, None] != fold
        return kernel / kernel.sum(axis=1, keepdims=True)

    outcomes = naive_outcomes(data, fold, end, math.inf, kernel_fn, aggregation)
    errors = [
        np.mean(w * (p + shares(b) @ (outcomes - p) - outcomes) ** 2)
        for b in bandwidths
    ]
    bandwidth = bandwidths[int(np.argmin(errors))]
    outcomes = naive_outcomes(data, fold, end, bandwidth, kernel_fn, aggregation)
    each = shares(bandwidth * len(p) ** -0.04)
    smooth = p + each @ (outcomes - p)
    c = np.clip(smooth, 0, 1)
    influence = w * (p - c) * (p + c - 2 * outcomes)
    values = w * (p - outcomes) * (p - c)
    if orthogonal:
        variance = each**2 @ ((outcomes - p) * (outcomes - smooth))
        values = influence + w * variance * ((c - p) / (smooth - p)) ** 2
    return np.mean(values), influence, np.mean(w * (p - c) ** 2)


OPTIONS = [
    {},
    {"orthogonal": True, "weights": "chi"},
    {"kernel_fn": "cubic", "weights": "relative", "weight_trunc": 0.1},
    {"survival_aggregation": "Nelson-Aalen", "normalize": True, "weights": "chi"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("censoring", [True, False])
def test_interval_equals_a_loop(data, options, censoring):
    p, times, event = (column[:100] for column in data)
    times[0] = 1.2
    if not censoring:
        event = np.ones_like(event)
    # With these bandwidths curves are computed at all forecasts, not interpolated.
    bandwidths = [1.0, 0.5, 0.25]
    interval = censored_calibration.censored_calibration_error_conf_int(
        p, times, event, 1.0, bandwidths, alpha=0.1, num_repeats=1, seed=3, **options
    )

    ranks = np.argsort(np.argsort(p, kind="stable"))
    fold = _crossfit.fold_numbers(ranks // 5, 5, np.random.default_rng(3))
    trunc = options.get("weight_trunc", 0.05)
    w = {
        "constant": np.ones(100),
        "relative": 1 / np.maximum(np.minimum(p, 1 - p) ** 2, trunc),
        "chi": 1 / np.maximum(p * (1 - p), trunc),
    }[options.get("weights", "constant")]
    estimate, influence, spread = naive_fit(
        (p, times, event),
        fold,
        1.0,
        bandwidths,
        options.get("kernel_fn", "rbf"),
        options.get("survival_aggregation", "Kaplan-Meier"),
        w,
        options.get("orthogonal", False),
    )
    if "normalize" in options:
        estimate, spread = estimate / w.mean(), spread / w.mean()
        influence = (influence - estimate * w) / w.mean()
    reach = stats.norm.ppf(0.95) * stats.sem(influence)
    # The ends t solve (t - estimate)^2 = reach^2 (1 + (t - estimate) / (2 spread)).
    low, high = np.roots([1, -(reach**2) / (2 * spread), -(reach**2)])[::-1] + estimate
    low, high = sorted([low, high])
    expected = np.sqrt(np.maximum([low, estimate, high], 0))
    np.testing.assert_allclose(interval, expected, rtol=2e-6, atol=1e-6)
    metric = censored_calibration.CensoredCalibrationError(
        1.0, num_repeats=1, seed=3, **options
    )
    assert metric.rms_calibration_error(p, times, event, bandwidths) == (
        interval.estimate
    )


def test_repeats_are_summarised_by_medians(data):
    p, times, event = data
    metric = censored_calibration.CensoredCalibrationError(1.0, num_repeats=3, seed=0)
    follow_up = censored_calibration._follow_up(p, times, event, 1.0)
    generator = np.random.default_rng(0)
    bandwidths = 1 / np.geomspace(300**0.4, 30, 20)
    fits = [metric._fit(follow_up, bandwidths, generator) for _ in range(3)]
    assert len({fit.estimate for fit in fits}) == 3
    interval = metric.rms_calibration_error_conf_int(p, times, event)
    median = sorted(fit.estimate for fit in fits)[1]
    np.testing.assert_allclose(interval.estimate, math.sqrt(max(median, 0)), rtol=1e-12)
    error = sorted(fit.error for fit in fits)[1]
    spread = sorted(fit.spread for fit in fits)[1]
    expected = _crossfit.Fit(median, error, spread).interval(0.05)
    np.testing.assert_allclose(interval, expected, rtol=1e-12)


def test_interval_of_a_small_error_is_that_of_the_root():
    fit = _crossfit.Fit(0.04, 0.0004, 0.04)
    root, z = 0.2, stats.norm.ppf(0.975)
    error = fit.error / (2 * root)
    np.testing.assert_allclose(
        fit.interval(0.05),
        [root - z * error, root, root + z * error],
        rtol=1e-5,
    )
    assert _crossfit.Fit(-0.01, 0.001, 0.001).interval(0.05)[:2] == (0, 0)
    assert _crossfit.Fit(0.0, 0.0, 0.0).interval(0.05) == (0, 0, 0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "orthogonal"), [("wave", False), ("overconfident", True)]
)
def test_intervals_hold_the_truth(name, orthogonal, request):
    data_sets = 40

    def metric(*data, seed):
        return censored_calibration.cce_conf_int(
            *data, num_repeats=1, orthogonal=orthogonal, seed=seed
        )

    above, below, lost, bias = censored_coverage.coverage(
        metric,
        censored_coverage.TRUTHS[name],
        800,
        data_sets,
        request.config.getoption("--seed"),
    )
    assert 0.2 < lost < 0.5
    # For these truths the coverage is at least 91%, and the bias at most 0.5.
    most = stats.binom(data_sets, 0.09).isf(1e-5)
    assert (above + below) * data_sets <= most
    assert abs(bias) < 0.5 + 4.5 / math.sqrt(data_sets)


def test_counting_censored_examples_as_event_free_would_be_wrong(rng):
    truth = censored_coverage.TRUTHS["calibrated"]
    p, times, event = truth.draw(rng, 4000)
    lower, estimate, _ = censored_calibration.cce_conf_int(
        p, times, event, 1.0, num_repeats=1
    )
    assert estimate < 0.06
    assert lower < 0.03
    naive = censored_calibration.cce(
        p, np.where(event, times, 2.0), event, 1.0, num_repeats=1
    )
    assert naive > 0.1


def test_right_constant_forecasts_have_no_error(rng):
    n = 2000
    times = rng.integers(1, 5, size=n)
    event = np.ones(n)
    p = np.full(n, np.mean(times <= 2))
    interval = censored_calibration.cce_conf_int(p, times, event, 2, seed=0)
    assert interval.lower == 0
    assert interval.upper < 0.05
    off = censored_calibration.cce(p / 2, times, event, 2, seed=0)
    np.testing.assert_allclose(off, p[0] / 2, rtol=1e-3)


def test_all_forms_of_the_data_give_the_same_interval(data):
    p, times, event = data
    times = np.round(times * 8) / 8
    expected = censored_calibration.cce_conf_int(p, times, event, 1.0, seed=0)
    assert all(type(value) is float for value in expected)
    result = censored_calibration.cce_conf_int(
        p, 8 * times.astype(np.float32), event, 8, seed=0
    )
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    options = {"default_hyperparam_range": (0.0, 0.2), "num_repeats": 1, "seed": 0}
    value = censored_calibration.cce(*data, 1.0, **options)
    options["default_hyperparam_range"] = np.array([0.0, 0.2])
    assert censored_calibration.cce(*data, 1.0, **options) == value


def test_higher_levels_are_wider_and_normalize_divides_by_the_mean_weight(data):
    wide = censored_calibration.cce_conf_int(*data, 1.0, alpha=0.01, seed=0)
    narrow = censored_calibration.cce_conf_int(*data, 1.0, alpha=0.5, seed=0)
    assert wide.lower <= narrow.lower <= narrow.estimate <= narrow.upper < wide.upper
    assert censored_calibration.cce(
        *data, 1.0, weights="chi", seed=0
    ) > 1.9 * censored_calibration.cce(*data, 1.0, seed=0)
    ratio = censored_calibration.cce(*data, 1.0, weights="chi", normalize=True, seed=0)
    w = _crossfit.weight_function(data[0], "chi").mean()
    np.testing.assert_allclose(
        ratio,
        censored_calibration.cce(*data, 1.0, weights="chi", seed=0) / math.sqrt(w),
        rtol=1e-9,
    )


def test_isolated_forecasts_and_extreme_bandwidths_give_finite_intervals(rng):
    n = 200
    p = np.append(rng.uniform(0, 0.1, size=n - 1), 1.0)
    times, event = rng.exponential(size=n), rng.integers(2, size=n)
    for kernel_fn in KERNELS:
        for hyperparam_range in (None, [1e-300], [1e-3], [100.0]):
            for end in (1.0, times.max()):
                interval = censored_calibration.cce_conf_int(
                    p, times, event, end, hyperparam_range, kernel_fn=kernel_fn
                )
                assert 0 <= interval.lower <= interval.estimate <= interval.upper
                assert interval.upper < 5


def test_events_all_at_one_time_or_never_equal_the_closed_form(rng):
    p = rng.uniform(0, 0.1, size=200)
    for event in (0, 1):
        for end in (0.5, 1.0):
            value = censored_calibration.cce(p, np.ones(200), np.full(200, event), end)
            happened = event == 1 and end == 1
            expected = np.sqrt(np.mean((p - happened) ** 2))
            np.testing.assert_allclose(value, expected, rtol=0.01)


GOOD = {
    "probs": [0.1, 0.4, 0.6, 0.9, 0.5],
    "times": [1.0, 2.0, 0.5, 3.0, 1.5],
    "event": [0, 1, 1, 0, 1],
    "end_time": 2.0,
}
# Bad values of each argument with their messages, beside those of
# `tests/numpy/test_interface.py`.
BAD = {
    "probs": [
        ([0.1, 0.4, 1.6, 0.9, 0.5], r"in \[0, 1\].*1.6 at \[2\]"),
        (np.zeros([5, 2]), r"of shape \[n\]"),
        ([], "at least one example"),
    ],
    "times": [
        ([1.0, 2.0], r"of the shape of `probs`, \[5\].*\[2\]"),
        (np.ones([5, 5]), "of the shape of `probs`"),
        (1.0, r"of the shape of `probs`, \[5\].*\[\]"),
        ([1, 2, -1.0, 3, 1], r">= 0. Received: -1.0 at \[2\]"),
        ([1, 2, np.inf, 3, 1], r"finite. Received: inf at \[2\]"),
    ],
    "event": [
        ([0, 1], "of the shape of `probs`"),
        ([0, 1, 2, 0, 1], r"0 \(censored\) or 1.*2.0 at \[2\]"),
        ([0, 1, 0.5, 0, 1], r"0 \(censored\) or 1"),
    ],
    "end_time": [(3.5, "at most the largest of `times`, 3.0.*3.5")],
    "folds": [(1, "at least 2 and at most 5"), (6, "at least 2 and at most 5")],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_raise(name):
    for function in (censored_calibration.cce, censored_calibration.cce_conf_int):
        for value, message in BAD[name]:
            with pytest.raises(ValueError, match=f"`{name}` must .*{message}"):
                function(**{**GOOD, name: value})
    assert censored_calibration.cce(**GOOD) >= 0


def test_class_and_functions_have_the_same_defaults():
    functions = (censored_calibration.cce, censored_calibration.cce_conf_int)
    fields = inspect.signature(censored_calibration.CensoredCalibrationError).parameters
    for function in functions:
        parameters = inspect.signature(function).parameters
        for name, field in fields.items():
            assert parameters[name].default == field.default
        others = {"probs", "times", "event", "hyperparam_range", "alpha"}
        assert set(parameters) - set(fields) <= others


def test_events_at_the_end_time_count():
    times, event = np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True])
    follow_up = _conditional_curves.FollowUp.until(2.0, np.full(4, 0.5), times, event)
    assert follow_up.happened.tolist() == [True, True, False, False]
    assert follow_up.lost.tolist() == [False, False, True, False]
