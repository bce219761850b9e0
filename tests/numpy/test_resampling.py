"""The bootstrap: each resample against a direct call, intervals against SciPy."""

import functools
import tracemalloc

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import (
    _resampled_metrics,
    _resamples,
    regression,
    resampling,
)

pytestmark = pytest.mark.filterwarnings("ignore:The estimate is not in its interval")

N = 23
K = 4
FEW = {"num_resamples": 100, "seed": 0}
SIGMAS = 5  # One false alarm in two million.
QUANTILES = [0.1, 0.4, 0.8]
LEVELS = [0.5, 0.9]


def distributions(rng, *shape):
    return rng.dirichlet(np.full(K, 0.5), size=shape)


def classifier(rng, n=N):
    return {
        "labels": rng.integers(0, K, n),
        "probabilities": distributions(rng, n),
    }


def with_options(rng):
    """Makes float32 logits of [N, 3] pixels, weights of images and an ignored label."""
    labels = rng.integers(0, K, (N, 3))
    labels[2] = labels[5, 1] = 255
    logits = rng.normal(size=(N, 3, K)).astype(np.float32)
    logits[0, 0] = [-np.inf, 1, -np.inf, 0]
    weights = rng.uniform(0.1, 3, N)
    weights[7] = 0
    return {
        "labels": labels,
        "logits": logits,
        "sample_weight": weights,
        "ignore_index": 255,
    }


def decided(rng):
    return {**with_options(rng), "labels_predicted": rng.integers(0, K, (N, 3))}


def binary(rng):
    return {
        "labels": rng.integers(0, 2, N),
        "probabilities": rng.uniform(size=N).round(1),
    }


def members_first(rng):
    return {"logits": rng.normal(size=(3, N, K)), "ensemble_axis": 0}


def labelled_members(rng):
    return {**members_first(rng), "labels": rng.integers(0, K, N)}


def pit_interval(rng):
    lower = rng.uniform(size=N)
    pit = regression.PITInterval(lower, (1 + lower) / 2)
    return {"pit": pit, "mask": rng.uniform(size=N) < 0.8}


def having(make, **options):
    """Returns a maker of the data with options."""
    return lambda rng: {**make(rng), **options}


def normal(*names, shape=(N,), **options):
    """Returns a maker of Normal arrays of these names, with options."""
    return lambda rng: {name: rng.normal(size=shape) for name in names} | options


# Layouts and options that `tests/numpy/test_catalogue.py`, which has a case for every
# function, does not have.
DATA = {
    "general_calibration_error": [
        having(data, **key._asdict())
        for key in um.compute_all_metrics([0, 1], [0.3, 0.7])
        for data in (with_options, decided)
    ],
    "expected_calibration_error": [
        having(binary, positive_class=True, num_bins=5),
        having(binary, sample_weight=np.arange(N) % 3),
    ],
    "debiased_calibration_error": [
        having(decided, squared=True, binning_scheme="even")
    ],
    "coverage_at_risk": [having(with_options, risk=0.5)],
    "crps_normal_score": [normal("labels", "means", stddevs=2.0)],
    "pinball_loss": [normal("labels", "quantile_predictions", quantiles=0.3)],
    "predictive_entropy": [
        members_first,
        normal("logits", shape=(N, K), ensemble_axis=None),
    ],
    "variation_ratio": [having(members_first, ensemble_axis=-3)],
    "ensemble_cross_entropy": [
        labelled_members,
        having(labelled_members, sample_weight=np.arange(N) % 4, ignore_index=1),
    ],
    "lp_distance": [normal("x", "y", shape=(N, K), aggregate=False, p=2)],
}
REGRESSION_DATA = {
    "interval_width": [
        lambda rng: {"uncertainties": rng.uniform(0.5, 2, N), "level": LEVELS}
    ],
    "negative_log_likelihood": [
        having(normal("targets", "mean", shape=(N, 1)), var=np.linspace(1, 2, N))
    ],
    "pit_calibration_error": [pit_interval],
}


OPTION_ARRAYS = {"quantiles", "level"}

every_metric = pytest.mark.parametrize(
    ("module", "name", "data"),
    [
        pytest.param(module, name, data, id=f"{name}-{i}")
        for module, table in ((um, DATA), (regression, REGRESSION_DATA))
        for name, makers in table.items()
        for i, data in enumerate(makers)
    ],
)


def resampled(data, index):
    """Returns the arguments of a resample, without the tables of the package."""
    drawn = {}
    for key, value in data.items():
        axis = int(key == "logits" and data.get("ensemble_axis") in (0, -3))
        option = np.ndim(value) == 0 or key in OPTION_ARRAYS
        if isinstance(value, regression.PITInterval):
            drawn[key] = value._make(np.take(end, index) for end in value)
            continue
        drawn[key] = value if option else np.take(value, index, axis)
    return drawn


def flat(result):
    """Returns all numbers of a result, in order."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple):
        return np.concatenate([flat(part) for part in result])
    return np.ravel(np.asarray(result, float))


def averaged(result):
    """Returns the numbers of a result; scores of N examples become their means."""
    if isinstance(result, tuple):
        return np.concatenate([averaged(part) for part in result])
    if isinstance(result, np.ndarray) and len(result) == N:
        return np.ravel(result.mean(axis=0))
    return flat(result)


@every_metric
@pytest.mark.filterwarnings("ignore")
def test_resamples_equal_calls_and_intervals_have_ends(module, name, data, rng):
    data, function = data(rng), getattr(module, name)
    metric = _resampled_metrics.prepared(function, data)
    estimate = averaged(function(**data))
    np.testing.assert_allclose(flat(metric.estimate), estimate)
    finite = np.isfinite(estimate)
    for _ in range(4):
        index = np.sort(rng.integers(N, size=N))
        expected = averaged(function(**resampled(data, index)))
        value = metric.replicate(np.bincount(index, minlength=N))
        np.testing.assert_allclose(value[finite], expected[finite], atol=1e-12)
    level = {"level": data.pop("level")} if "level" in data else {}
    bound = functools.partial(function, **level)
    interval = um.bootstrap(bound, **data, num_resamples=20, seed=0)
    lower, found, upper = map(flat, interval)
    np.testing.assert_allclose(found, estimate)
    assert np.all(lower[finite] <= upper[finite])
    assert np.all(np.isnan(lower[~finite]) & np.isnan(upper[~finite]))


def test_options_named_as_those_of_the_bootstrap_can_be_bound(rng):
    data = classifier(rng)
    metric = functools.partial(um.calibration_test, num_resamples=9, seed=0)
    interval = um.bootstrap(metric, **data, num_resamples=20, seed=0)
    assert interval.estimate == metric(**data)


@pytest.mark.parametrize("missing", ["labels", "sample_weight"])
def test_resamples_without_examples_raise(missing, rng):
    data = {**classifier(rng, 6), "labels": np.arange(6) % 3}
    data[missing] = np.array([1, 1, 0, 0, 0, 0])
    data |= {"ignore_index": 0} if missing == "labels" else {}
    for metric in (um.ece, um.accuracy, um.brier_score, um.rmsce, um.aurc, um.sce):
        replicate = _resampled_metrics.prepared(metric, data).replicate
        with pytest.raises(ValueError):  # noqa: PT011
            replicate(np.array([0, 0, 3, 3, 0, 0]))


def naive_interval(metric, arrays, level, resamples, method, seed):
    """Returns the interval by the formulas, with a jackknife of single examples."""
    rng, n = np.random.default_rng(seed), len(arrays[0])
    values = []
    for _ in range(resamples):
        index = rng.integers(n, size=n)
        values.append(metric(*(array[index] for array in arrays)))
    values, estimate = np.array(values), metric(*arrays)
    levels = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        left = [metric(*(np.delete(a, i, axis=0) for a in arrays)) for i in range(n)]
        gaps = np.mean(left) - np.array(left)
        acceleration = np.sum(gaps**3) / (6 * np.sum(gaps**2) ** 1.5)
        ties = np.isclose(values, estimate, rtol=1e-10, atol=0)
        below = np.mean((values < estimate) & ~ties) + np.mean(ties) / 2
        z = stats.norm.ppf(below) + stats.norm.ppf(levels)
        levels = stats.norm.cdf(stats.norm.ppf(below) + z / (1 - acceleration * z))
    low, high = np.quantile(values, levels)
    return low, estimate, high


def seed_of(rng):
    return int(rng.integers(2**31))


@pytest.mark.parametrize("method", resampling.METHODS)
@pytest.mark.parametrize("name", ["ece", "accuracy", "negative_log_likelihood", "aurc"])
def test_interval_equals_the_formulas(name, method, rng):
    data, metric = classifier(rng, 60), getattr(um, name)
    options = {"level": 0.9, "method": method, "seed": 3}
    interval = um.bootstrap(metric, **data, num_resamples=200, **options)
    expected = naive_interval(metric, tuple(data.values()), resamples=200, **options)
    np.testing.assert_allclose(interval, expected, rtol=1e-9)


def test_difference_has_the_same_resamples_for_both_models(rng):
    labels, p = classifier(rng, 50).values()
    q = distributions(rng, 50)
    options = {"level": 0.8, "seed": 1}
    interval = um.bootstrap_difference(
        functools.partial(um.ece, num_bins=5),
        {"probabilities": p},
        {"probabilities": q},
        labels=labels,
        num_resamples=100,
        **options,
    )
    expected = naive_interval(
        lambda y, p, q: um.ece(y, p, num_bins=5) - um.ece(y, q, num_bins=5),
        (labels, p, q),
        resamples=100,
        method="bca",
        **options,
    )
    np.testing.assert_allclose(interval, expected, rtol=1e-9)


@pytest.mark.parametrize(("method", "name"), [("bca", "BCa"), ("percentile",) * 2])
def test_ends_agree_with_scipy(method, name, rng):
    labels = np.arange(60) < 15
    scores = rng.normal(size=60) + labels
    resamples = 2000
    ours = um.bootstrap(
        um.auroc,
        labels=labels,
        scores=scores,
        num_resamples=resamples,
        method=method,
        seed=seed_of(rng),
    )
    theirs = stats.bootstrap(
        (labels, scores),
        lambda labels, scores: um.auroc(labels, scores),
        paired=True,
        vectorized=False,
        n_resamples=resamples,
        method=name,
        random_state=rng,
    )
    spread = np.std(theirs.bootstrap_distribution)
    # The error of two quantiles of level 0.025 of a Normal; BCa's bias doubles it.
    error = 2 * np.sqrt(2 * 0.025 / resamples) / stats.norm.pdf(1.96) * spread
    ends = theirs.confidence_interval
    assert abs(ours.lower - ends.low) < SIGMAS * error
    assert abs(ours.upper - ends.high) < SIGMAS * error


def test_jackknife_of_groups_has_the_acceleration_of_single_examples(rng):
    n, values = 4000, rng.exponential(size=4000)
    draws = _resamples.Dependence().jackknife(rng, n)
    means = np.array([[times @ values / times.sum()] for times in draws])
    assert means.shape == (200, 1)
    expected = np.sum((values - values.mean()) ** 3) / 6
    expected /= np.sum((values - values.mean()) ** 2) ** 1.5
    # The acceleration is the skewness over 6 sqrt(200), and the skewness of 200 numbers
    # has the error sqrt(6 / 200).
    error = np.sqrt(6 / 200) / 6 / np.sqrt(200)
    assert abs(_resamples.acceleration(means)[0] - expected) < SIGMAS * 2 * error


def test_widths_agree_with_standard_errors(rng):
    p, labels = rng.uniform(size=2000), np.arange(400) < 150
    scores = rng.normal(size=400) + labels
    of_mean = {"labels": np.ones(2000, int), "probabilities": p}
    of_auroc = {"labels": labels, "scores": scores}
    wins = scores[labels][:, None] > scores[~labels]
    delong = [np.var(wins.mean(a), ddof=1) / wins.shape[1 - a] for a in (0, 1)]
    for metric, data, variance in (
        (um.negative_log_likelihood, of_mean, np.var(np.log(p)) / 2000),
        (um.auroc, of_auroc, sum(delong)),
    ):
        interval = um.bootstrap(metric, **data, num_resamples=2000, seed=seed_of(rng))
        expected = 2 * 1.96 * np.sqrt(variance)
        assert abs((interval.upper - interval.lower) / expected - 1) < 0.2


def test_interval_of_ece_with_gaps_of_one_sign_is_that_of_a_mean(rng):
    # All bins are far too confident, so the ECE is the mean of the gaps.
    scores = rng.uniform(0.7, 1, 500)
    correct = rng.uniform(size=500) < 0.3
    options = {"num_resamples": 300, "seed": 0}
    data = {"labels": correct.astype(int), "probabilities": scores}
    ece = um.bootstrap(um.ece, **data, num_bins=10, positive_class=True, **options)
    mean = um.bootstrap(lambda gaps: gaps.mean(), gaps=scores - correct, **options)
    np.testing.assert_allclose(ece, mean, rtol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("method", resampling.METHODS)
def test_intervals_hold_the_truth(method, rng):
    data_sets, n, held = 200, 100, 0
    for _ in range(data_sets):
        lower, _, upper = um.bootstrap(
            um.negative_log_likelihood,
            labels=np.ones(n, int),
            probabilities=rng.uniform(size=n),
            num_resamples=150,
            method=method,
            seed=seed_of(rng),
        )
        held += lower <= 1 <= upper
    # The coverage is a little below 95%: resamples are few, and the mean is skewed.
    expected, error = 0.935, np.sqrt(0.95 * 0.05 / data_sets)
    assert abs(held / data_sets - expected) < SIGMAS * error


def test_difference_of_similar_models_has_a_narrow_interval(rng):
    p = distributions(rng, 200)
    q = 0.99 * p + 0.01 / K
    labels = rng.integers(0, K, 200)
    options = {"labels": labels, "num_resamples": 200, "seed": 0}
    models = {"probabilities": p}, {"probabilities": q}
    lower, estimate, upper = um.bootstrap_difference(um.brier_score, *models, **options)
    single = um.bootstrap(um.brier_score, probabilities=p, **options)
    assert lower < estimate < upper
    assert upper - lower < 0.1 * (single.upper - single.lower)
    same = um.bootstrap_difference(um.brier_score, models[0], models[0], **options)
    assert same == (0.0, 0.0, 0.0)


def test_models_of_a_difference_may_have_different_arguments(rng):
    # One model has logits, the other probabilities, and each has its labels.
    data = classifier(rng)
    own = {"logits": np.log(data["probabilities"]), "labels": data["labels"]}
    both = um.bootstrap_difference(um.aurc, own, data, num_resamples=30, seed=0)
    np.testing.assert_allclose(both, 0, atol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**400, 2.0**1000])
def test_intervals_scale_with_the_unit_of_the_metric(scale, rng):
    # Cubes of the gaps would underflow or overflow, and spoil the acceleration.
    values = rng.exponential(size=40)
    interval = um.bootstrap(np.mean, a=values, **FEW)
    scaled = um.bootstrap(np.mean, a=values * scale, **FEW)
    np.testing.assert_allclose(np.divide(scaled, scale), interval, rtol=1e-12)


def test_ends_have_the_structure_of_the_result(rng):
    x = rng.normal(size=(N, 2))

    def metric(x):
        return {
            "pair": (x.mean(), x.max(), x.shape[1]),
            "columns": x.mean(axis=0),
            "table": [[x.std(), True]],
        }

    lower, estimate, upper = um.bootstrap(metric, x=x, num_resamples=50, seed=0)
    for end in (lower, estimate, upper):
        assert list(end) == ["pair", "columns", "table"]
        assert all(type(number) is float for number in end["pair"])
        assert end["columns"].shape == (2,)
        assert end["table"].shape == (1, 2)
        # A number that does not vary has an interval of width 0.
        assert end["pair"][2] == 2
        assert end["table"][0, 1] == 1
    assert np.all(lower["columns"] < upper["columns"])


def test_ends_of_named_tuples_are_named_tuples(rng):
    data = classifier(rng)
    lower, estimate, _ = um.bootstrap(
        um.brier_decomposition, **data, num_resamples=30, seed=0
    )
    assert estimate == um.brier_decomposition(**data)
    assert lower._fields == estimate._fields
    scores = um.bootstrap(
        um.pinball_loss,
        labels=rng.normal(size=N),
        quantile_predictions=rng.normal(size=(N, 3)),
        quantiles=QUANTILES,
        num_resamples=30,
    )
    assert scores.upper.shape == (3,)


def test_each_column_has_its_own_interval(rng):
    x = rng.exponential(size=(40, 3))
    together = um.bootstrap(lambda x: x.mean(axis=0), x=x, **FEW)
    for k in range(3):
        alone = um.bootstrap(lambda x: x.mean(), x=x[:, k], **FEW)
        np.testing.assert_allclose([end[k] for end in together], alone, rtol=1e-12)


def test_metric_may_be_any_function_of_arrays(rng):
    x, y = rng.normal(size=(2, 50))
    data = {"x": x.tolist(), "y": y, "scale": 2.0}

    def slope(x, y, scale, power=1):
        return scale * np.cov(x, y)[0, 1] / np.var(x) ** power

    for metric in (slope, functools.partial(slope, power=2)):
        lower, estimate, upper = um.bootstrap(metric, **data, num_resamples=99, seed=0)
        assert estimate == metric(x, y, 2.0)
        assert lower < estimate < upper


def test_images_are_resampled_with_all_their_pixels(rng):
    # All pixels of an image are right, or all are wrong: there are N examples, not 9 N.
    right = rng.integers(0, 2, N)
    labels = np.broadcast_to(right[:, None, None], (N, 3, 3))
    images = {"labels": labels, "probabilities": np.full((N, 3, 3), 0.9)}
    single = {"labels": right, "probabilities": np.full(N, 0.9)}
    for metric in (um.accuracy, um.brier_score, um.ece):
        found, expected = (um.bootstrap(metric, **d, **FEW) for d in (images, single))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_memory_does_not_grow_with_the_number_of_resamples(rng):
    data = {
        "labels": rng.integers(0, 2, 100_000),
        "probabilities": rng.uniform(size=100_000),
    }
    um.bootstrap(um.ece, **data, num_resamples=1)
    tracemalloc.start()
    um.bootstrap(um.ece, **data, num_resamples=40)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 8 * 100_000


def test_undefined_resamples_are_left_out(rng):
    labels = np.array([1, 1, 0, 0, 0, 0])
    with pytest.warns(UserWarning, match=r"undefined for \d+ of 200 resamples"):
        interval = um.bootstrap(
            um.auroc, labels=labels, scores=np.arange(6.0), num_resamples=200, seed=0
        )
    assert interval == (0.0, 0.0, 0.0)
    # The only positive example of 30 is in 64% of the resamples.
    labels = np.arange(30) == 0
    with pytest.warns(UserWarning, match="undefined"):
        um.bootstrap(um.aupr, labels=labels, scores=np.arange(30.0), seed=0)

    def none_twice(x):
        return np.mean(x) if len(set(x)) == len(x) else np.nan

    with pytest.raises(ValueError, match="undefined for 50 of 50"):
        um.bootstrap(none_twice, x=np.arange(30.0), num_resamples=50, seed=0)


def test_infinite_and_undefined_estimates_have_no_ends():
    labels, p = [0, 1, 1, 0], [0.2, 0.5, 0.0, 0.3]
    lower, estimate, upper = um.bootstrap(
        um.negative_log_likelihood, labels=labels, probabilities=p, seed=0
    )
    assert np.isnan(lower)
    assert estimate == np.inf
    assert np.isnan(upper)
    both = {"probabilities": p}
    difference = um.bootstrap_difference(
        um.negative_log_likelihood, both, both, labels=labels, seed=0
    )
    assert np.all(np.isnan(difference))
    # Finite numbers of the same result have ends.
    lower, _, upper = um.bootstrap(
        lambda x: (np.inf, x.mean()), x=np.arange(5.0), seed=0
    )
    assert np.isnan(lower[0])
    assert lower[1] < 2 < upper[1]


def test_an_estimate_outside_its_interval_warns(rng):
    p = rng.uniform(size=300)
    labels = (rng.uniform(size=300) < p).astype(int)
    with pytest.warns(UserWarning, match="not in its interval"):
        um.bootstrap(
            um.ece,
            labels=labels,
            probabilities=p,
            positive_class=True,
            num_bins=100,
            method="percentile",
            seed=0,
        )


def test_warnings_of_a_metric_come_once():
    logp = np.array([[-5.0, -1.0, -3.0]] * 10)
    with pytest.warns(UserWarning, match="variance") as caught:
        um.bootstrap(um.negative_waic, logp=logp, num_resamples=20, seed=0)
    assert len(caught) == 1
