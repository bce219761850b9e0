"""The semiparametric calibration error, against naive loops and known truths."""

import inspect

import numpy as np
import pytest
from scipy import interpolate

from uncertainty_metrics.numpy.calibration.smoothed import _crossfit
from uncertainty_metrics.numpy.calibration.smoothed import semiparametric as um

KINDS = [
    {"smoothing": smoothing, "orthogonal": orthogonal}
    for smoothing in ("kernel", "spline")
    for orthogonal in (False, True)
]
every_kind = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values()))
)
TRUTH = (1 / 30) ** 0.5  # The error of uniform forecasts p with frequencies p^2.


def squares(rng, n):
    """Makes uniform forecasts p, and labels of frequency p^2."""
    probs = rng.uniform(size=n)
    return probs, rng.uniform(size=n) < probs**2


def folds_of(probs, folds, seed):
    ranks = np.argsort(np.argsort(probs, kind="stable"))
    rng = np.random.default_rng(seed)
    return _crossfit.fold_numbers(ranks // folds, folds, rng)


def naive_weight(p, name, trunc):
    if name == "relative":
        return 1 / max(min(p, 1 - p) ** 2, trunc)
    if name == "chi":
        return 1 / max(p * (1 - p), trunc)
    return 1.0


def naive_kernel(probs, values, fold, sigma):
    """Returns kernel means and estimates of their variances."""
    shares = np.zeros([len(probs), len(probs)])
    for i, p in enumerate(probs):
        others = np.flatnonzero(fold != fold[i])
        exponents = -sigma * (probs[others] - p) ** 2
        kernel = np.exp(exponents - exponents.max())
        shares[i, others] = kernel / kernel.sum()
    means = shares @ values
    return means, shares**2 @ (values * (values - means))


def naive_error(probs, labels, sigmas, fold, orthogonal, weights, trunc, normalize):
    """Returns the squared error, its standard error and its spread."""
    n = len(probs)
    w = np.array([naive_weight(p, weights, trunc) for p in probs])
    residuals = labels - probs
    losses = [
        np.mean(w * (naive_kernel(probs, residuals, fold, sigma)[0] - residuals) ** 2)
        for sigma in sigmas
    ]
    sigma = sigmas[np.argmin(losses)] * n**0.08
    means, variances = naive_kernel(probs, residuals, fold, sigma)
    frequency = probs + means
    influence = w * (probs - frequency) * (probs + frequency - 2 * labels)
    if orthogonal:
        values = influence + w * variances
    else:
        values = w * (probs - labels) * (probs - frequency)
    unit = w.mean() if normalize else 1.0
    estimate = values.mean() / unit
    centred = influence / unit - (estimate * w / unit if normalize else 0)
    squared_error = np.var(centred, ddof=1) / n
    noise = np.mean(w**2 * variances * (labels - frequency) ** 2) / unit**2 / n
    if not orthogonal:
        squared_error = max(squared_error - noise, squared_error / 2)
    return estimate, squared_error**0.5, np.mean(w * means**2) / unit


def naive_interval(estimate, error, spread):
    """Returns the squares of the lower end, the estimate and the upper end, for 90%."""
    # The ends t solve (estimate - t)^2 = limit (1 + (t - estimate) / (2 spread)).
    limit = (1.6448536269514722 * error) ** 2
    ends = estimate + np.sort(np.roots([1, -limit / (2 * spread), -limit]))
    return np.maximum(np.insert(ends, 1, estimate), 0)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("weights", ["constant", "relative", "chi"])
def test_equals_the_naive_loop(orthogonal, normalize, weights, rng):
    probs = np.concatenate([rng.beta(0.4, 2, 40), [0.0, 1.0], np.full(8, 0.3)])
    labels = (rng.uniform(size=50) < np.sqrt(probs)).astype(float)
    sigmas = (3 * np.geomspace(1, 30, 6)) ** 2
    seed = int(rng.integers(100))
    fold = folds_of(probs, 4, seed)
    choices = {"orthogonal": orthogonal, "weights": weights, "normalize": normalize}
    expected = naive_error(probs, labels, sigmas, fold, trunc=0.1, **choices)
    options = {"folds": 4, "weight_trunc": 0.1, "seed": seed, **choices}
    interval = um.spce_conf_int(probs, labels, sigmas, alpha=0.1, **options)
    ends = naive_interval(*expected)
    np.testing.assert_allclose(np.square(interval), ends, atol=1e-6)
    assert um.spce(probs, labels, sigmas, **options) == interval.estimate


def test_default_candidates_follow_the_documented_range(rng):
    probs, labels = squares(rng, 80)
    widths = np.geomspace(2 * 80**0.4, 0.4 * 80, 5)
    options = {"hyperparam_attempts": 5, "default_hyperparam_range": (0, 0.4)}
    options["seed"] = 0
    expected = um.spce(probs, labels, (widths / np.ptp(probs)) ** 2, seed=0)
    assert um.spce(probs, labels, **options) == pytest.approx(expected, rel=1e-12)
    options["default_hyperparam_range"] = np.array([0, 0.4])
    assert um.spce(probs, labels, **options) == pytest.approx(expected, rel=1e-12)
    # The default range is below 2 n^0.4 = 0.144 n, so there is one candidate.
    one = um.spce(probs, labels, [(widths[0] / np.ptp(probs)) ** 2], seed=0)
    assert um.spce(probs, labels, seed=0) == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("weights", ["constant", "chi"])
def test_spline_equals_scipy(weights, rng):
    n = 120
    probs, labels = squares(rng, n)
    w = np.array([naive_weight(p, weights, 0.05) for p in probs])
    w /= w.mean()
    residuals = labels - probs
    sums = [0.7 * np.sum(w * residuals**2), 0.9 * np.sum(w * residuals**2)]
    fold = folds_of(probs, 3, 5)

    def fit(total, part):
        means = np.empty(n)
        for k in range(3):
            train = np.flatnonzero(fold != k)
            train = train[np.argsort(probs[train])][part]
            share = w[train].sum() / w.sum()
            points = probs[train], residuals[train], w[train] ** 0.5
            spline = interpolate.UnivariateSpline(*points, s=total * share, ext="const")
            limits = residuals[train].min(), residuals[train].max()
            means[fold == k] = np.clip(spline(probs[fold == k]), *limits)
        return means

    everything = slice(None)
    losses = [np.mean(w * (fit(s, everything) - residuals) ** 2) for s in sums]
    best = sums[np.argmin(losses)] / (1 + 2 * n**-0.6)
    first, second = fit(best, slice(0, None, 2)), fit(best, slice(1, None, 2))
    variances = ((first - second) / 2) ** 2
    whole, halves = fit(best, everything), (first + second) / 2
    plug_in = np.mean(w * residuals * whole)
    orthogonal = np.mean(w * (residuals * (first + second) - first * second))
    for flag, estimate, gaps in (
        (False, plug_in, whole),
        (True, orthogonal, halves),
    ):
        options = {"folds": 3, "seed": 5, "weights": weights, "normalize": True}
        options |= {"smoothing": "spline", "orthogonal": flag}
        result = um.spce(probs, labels, sums, **options)
        assert result**2 == pytest.approx(max(estimate, 0), abs=1e-5)
        # The noise of the halves adds to the standard error of the orthogonal estimate.
        centred = w * gaps * (2 * residuals - gaps) - estimate * w
        squared_error = np.var(centred, ddof=1) / n
        noise = np.mean(w**2 * variances * (residuals - gaps) ** 2) / n
        error = squared_error + (1.5 if flag else -1) * noise
        error = max(error, squared_error / 2) ** 0.5
        ends = naive_interval(estimate, error, np.mean(w * gaps**2))
        interval = um.spce_conf_int(probs, labels, sums, alpha=0.1, **options)
        np.testing.assert_allclose(np.square(interval), ends, atol=1e-5)


def smoothing_data(rng):
    lump = np.concatenate([np.zeros(100), rng.uniform(size=100)])
    return {
        "uniform": rng.uniform(size=200),
        "low": rng.beta(0.2, 3, 200),
        "rounded": np.round(rng.uniform(size=200), 1),
        "same": np.full(200, 0.3),
        "lump": lump,
        "close": 0.5 + 1e-12 * rng.normal(size=200),
        "outlier": np.concatenate([[1.0, 0.9], 1e-3 * rng.uniform(size=198)]),
    }


@pytest.mark.parametrize("name", smoothing_data(np.random.default_rng(0)))
def test_kernel_smoother_equals_the_naive_loop(name, rng):
    probs = smoothing_data(rng)[name]
    values = rng.normal(size=200)
    fold = _crossfit.fold_numbers(np.zeros(200), 5, rng)
    smoother = _crossfit.KernelSmoother(probs, fold, 5)
    for widths in (1e-3, 1, 8, 50, 130, 1e3, 1e9):
        sigma = (widths / smoother.range) ** 2
        means, variances = smoother.smooth_with_variances(values, sigma)
        expected, expected_variances = naive_kernel(probs, values, fold, sigma)
        np.testing.assert_allclose(means, expected, atol=1e-6)
        np.testing.assert_allclose(variances, expected_variances, atol=1e-5)
        np.testing.assert_array_equal(smoother.smooth(values, sigma), means)


def test_kernel_of_extreme_widths_is_the_mean_or_the_nearest_value(rng):
    probs, values = rng.permutation(30) / 30, rng.normal(size=30)
    fold = _crossfit.fold_numbers(np.zeros(30), 2, rng)
    smoother = _crossfit.KernelSmoother(probs, fold, 2)
    others = [values[fold != f].mean() for f in fold]
    np.testing.assert_allclose(smoother.smooth(values, 1e-12), others, atol=1e-9)
    for i, mean in enumerate(smoother.smooth(values, 1e12)):
        distance = np.where(fold == fold[i], 2, np.abs(probs - probs[i]))
        nearest = values[distance < distance.min() + 1e-9]
        assert mean == pytest.approx(nearest.mean(), rel=1e-3, abs=0.05) or (
            nearest.min() <= mean <= nearest.max()
        )


def test_many_pairs_are_summed_in_blocks(rng, monkeypatch):
    probs, values = rng.uniform(size=50), rng.normal(size=50)
    fold = _crossfit.fold_numbers(np.zeros(50), 5, rng)
    smoother = _crossfit.KernelSmoother(probs, fold, 5)
    whole = smoother.smooth(values, 1e4)
    monkeypatch.setattr(_crossfit, "_BLOCK", 7)
    np.testing.assert_array_equal(smoother.smooth(values, 1e4), whole)


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_are_even(folds, rng):
    strata = rng.integers(0, 4, 53)
    fold = _crossfit.fold_numbers(strata, folds, rng)
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1
    for stratum in range(4):
        assert np.ptp(np.bincount(fold[strata == stratum], minlength=folds)) <= 1
    assert np.any(fold != _crossfit.fold_numbers(strata, folds, rng))


@pytest.mark.thorough
@every_kind
def test_intervals_hold_the_truth_and_have_the_width_of_the_theory(kind, rng):
    """The 95% intervals of the error, with the delta method for their width."""
    data_sets, n = (120, 600) if kind["smoothing"] == "kernel" else (20, 300)
    intervals = np.array(
        [
            um.spce_conf_int(*squares(rng, n), seed=i, hyperparam_attempts=5, **kind)
            for i in range(data_sets)
        ]
    )
    held = np.sum((intervals[:, 0] <= TRUTH) & (intervals[:, 2] >= TRUTH))
    error = (data_sets * 0.95 * 0.05) ** 0.5
    assert held > 0.95 * data_sets - 4.5 * error
    # Var((p - c) (p + c - 2 y)) = E 4 (p - c)^2 c (1 - c) + (p - c)^4 - theta^2.
    p = (np.arange(10**5) + 0.5) / 10**5
    variance = np.mean(4 * (p - p**2) ** 2 * p**2 * (1 - p**2)) + 1 / 630 - 1 / 900
    expected = 2 * 1.96 * (variance / n) ** 0.5 / (2 * TRUTH)
    width = np.median(intervals[:, 2] - intervals[:, 0])
    assert expected * 0.85 < width < expected * 1.5


@pytest.mark.thorough
@pytest.mark.parametrize("orthogonal", [False, True])
def test_intervals_of_calibrated_forecasts_start_at_0(orthogonal, rng):
    """This holds in 97.5% of the data sets or more."""
    lower = []
    for i in range(80):
        probs = rng.beta(0.5, 0.5, size=300)
        labels = rng.uniform(size=300) < probs
        lower.append(um.spce_conf_int(probs, labels, seed=i, orthogonal=orthogonal)[0])
    assert np.mean(np.equal(lower, 0)) > 0.975 - 4.5 * (0.975 * 0.025 / 80) ** 0.5


@pytest.mark.thorough
@every_kind
@pytest.mark.parametrize("weights", ["relative", "chi"])
@pytest.mark.parametrize("normalize", [False, True])
def test_large_samples_reach_the_weighted_truth(kind, weights, normalize, rng):
    probs, labels = squares(rng, 10000)
    p = (np.arange(10**4) + 0.5) / 10**4
    w = np.array([naive_weight(x, weights, 0.05) for x in p])
    truth = np.average((p - p**2) ** 2, weights=w if normalize else None)
    if not normalize:
        truth = np.mean(w * (p - p**2) ** 2)
    options = {"weights": weights, "normalize": normalize, "hyperparam_attempts": 4}
    interval = um.spce_conf_int(probs, labels, alpha=1e-5, **options, **kind)
    assert interval.lower < truth**0.5 < interval.upper
    assert interval.upper - interval.lower < 0.4 * truth**0.5


@pytest.mark.parametrize("normalize", [False, True])
def test_standard_error_agrees_with_the_jackknife(normalize, rng):
    w, values = rng.uniform(1, 5, size=[2, 400])

    def mean(kept):
        return (w * values)[kept].mean() / (w[kept].mean() if normalize else 1)

    parts = [mean(np.arange(400) != i) for i in range(400)]
    jackknife = np.sqrt(399 * np.var(parts))
    estimate = mean(slice(None))
    error = _crossfit.standard_error(estimate, w * values, w, normalize)
    assert error == pytest.approx(jackknife, rel=0.01)


def test_width_of_the_interval_is_a_normal_quantile_of_alpha(rng):
    probs, labels = squares(rng, 20000)
    wide, narrow = (
        um.spce_conf_int(probs, labels, alpha=alpha, seed=0) for alpha in (0.1, 0.5)
    )
    assert wide[1] == narrow[1] > 0
    ratio = (wide[2] - wide[0]) / (narrow[2] - narrow[0])
    assert ratio == pytest.approx(1.6448536 / 0.6744897502, rel=0.01)


@every_kind
def test_extreme_data_have_their_known_errors(kind, rng):
    coins = np.arange(400) % 2
    same = um.spce_conf_int(np.full(400, 0.1), coins, **kind)
    assert same.estimate == pytest.approx(0.4, abs=0.02)
    assert same.lower < 0.4 < same.upper
    one_class = um.spce(np.full(50, 0.25), np.ones(50), **kind)
    assert one_class == pytest.approx(0.75)
    varied = rng.uniform(0.4, 0.6, size=200)
    right = np.mean((1 - varied) ** 2) ** 0.5
    assert um.spce(varied, np.ones(200), **kind) == pytest.approx(right, rel=0.01)
    hard = rng.integers(0, 2, 100)
    assert um.spce(hard, hard, **kind) == pytest.approx(0, abs=1e-6)
    assert um.spce(hard, 1 - hard, **kind) == pytest.approx(1)
    for n in (2, 3, 5):  # There are as many folds as examples.
        interval = um.spce_conf_int(rng.uniform(size=n), coins[:n], folds=n, **kind)
        assert np.all(np.isfinite(interval))
        assert np.all(np.diff(interval) >= 0)
    tiny = np.repeat([0.0, 5e-324, 1e-300], 20)
    assert um.spce(tiny, np.zeros(60), **kind) == pytest.approx(0, abs=1e-6)


def test_class_and_functions_agree(rng):
    probs, labels = squares(rng, 100)
    options = {"folds": 3, "weight_trunc": 0.2, "weights": "chi", "orthogonal": True}
    options |= {"normalize": True, "smoothing": "kernel", "hyperparam_attempts": 4}
    options |= {"default_hyperparam_range": (0.1, 0.3), "seed": 5, "progress": False}
    metric = um.SemiparametricCalibrationError(**options)
    for data in ((probs, labels), (probs, labels, [9.0])):
        assert metric.rms_calibration_error(*data) == um.spce(*data, **options)
        interval = um.spce_conf_int(*data, alpha=0.2, **options)
        assert metric.rms_calibration_error_conf_int(*data, alpha=0.2) == interval
    assert metric == um.SPCE(*options.values())
    parameters = inspect.signature(um.SPCE).parameters
    assert list(parameters) == [*options, "bootstrap_size"]
    assert um.spce is um.semiparametric_calibration_error
    assert um.spce_conf_int is um.semiparametric_calibration_error_conf_int


GOOD = {"probs": [0.1, 0.4, 0.6, 0.9], "labels": [0, 1, 0, 1], "folds": 2}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"probs": [[0.1, 0.4], [0.6, 0.9]]}, "`probs`"),
        ({"probs": 0.3, "labels": 1}, "`probs`"),
        ({"probs": [0.1, 0.4, 0.6]}, "`labels` must be of the shape of `probs`"),
        ({"labels": [[0, 1], [0, 1]]}, "`labels` must be of the shape"),
        ({"probs": [0.1, 0.4, 0.6, 1.5]}, r"`probs` must be in \[0, 1\].*1.5 at \[3\]"),
        ({"probs": [0.1, -0.4, 0.6, 0.5]}, r"`probs` must be in \[0, 1\]"),
        ({"labels": [0, 1, 2, 1]}, "`labels` must be 0 or 1"),
        ({"labels": [0, 1, -1, 1]}, "`labels` must be 0 or 1"),
        ({"probs": [0, 1, 0, 1], "labels": [0.1, 0.4, 0.6, 0.9]}, r"\(probs, labels\)"),
        ({"probs": [0, 1, 0, 1], "labels": [0, 1, 2, 1]}, "`labels` must be 0 or 1"),
        ({"folds": 5}, "`folds` must be at least 2 and at most 4"),
    ],
)
def test_bad_input_raises(bad, words):
    arguments = {**GOOD, **bad}
    with pytest.raises(ValueError, match=words) as raised:
        um.spce_conf_int(**arguments)
    assert "Received" in str(raised.value)
    with pytest.raises(ValueError, match=words):
        um.spce(**arguments)
