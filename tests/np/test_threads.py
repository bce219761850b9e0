"""NumPy functions called by many threads at once give the values of one."""

import concurrent.futures
import pathlib
import re
import sys
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue

PACKAGE = pathlib.Path(um.__file__).parent
THREADS = 8


@pytest.fixture
def quick_switches():
    """Lets threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def calls(rng):
    """Yields functions without arguments, and the flat arrays that they return."""
    for row in catalogue.FUNCTIONS:
        data = row.data(rng, n=200).arguments(True)
        for case in row.cases:
            yield row.array, getattr(um, row.name), {**data, **case}
    for row in (*catalogue.REAL_ROWS, *catalogue.DETECTION_ROWS):
        arguments = row.arguments(rng, (50,))
        for case in row.cases:
            yield np.asarray, getattr(um, row.name), {**arguments, **case}
    members = {"logits": rng.normal(size=(50, 4, 3))}
    for name in (
        *("ensemble_disagreement", "expected_entropy", "mean_member_uncertainty"),
        *("model_uncertainty", "mutual_information", "predictive_entropy"),
        *("variation_ratio",),
    ):
        yield np.asarray, getattr(um, name), members
    labels = rng.integers(0, 3, 50)
    for name in ("ensemble_cross_entropy", "gibbs_cross_entropy"):
        yield np.asarray, getattr(um, name), {"labels": labels, **members}
    logp = rng.normal(size=(20, 60))
    for name in ("importance_sampling_cross_validation", "negative_waic"):
        yield np.asarray, getattr(um, name), {"logp": logp}
    yield (
        np.concatenate,
        lambda logp: [*map(np.atleast_1d, um.psis_loo(logp))],
        {"logp": logp},
    )
    p = rng.uniform(size=200)
    z = (rng.uniform(size=200) < p).astype(int)
    for function in (um.calibration_test, um.bayesian_expected_calibration_error):
        yield *_seeded(function, z, p), {}
    yield np.asarray, um.debiased_calibration_error, {"labels": z, "probabilities": p}
    yield np.asarray, um.semiparametric_calibration_error, {"probs": p, "labels": z}
    forecasts = {
        "predictions": rng.normal(size=50),
        "uncertainties": np.exp(rng.normal(size=50)),
        "targets": rng.normal(size=50),
    }
    for name in (
        *("calibration_error", "expected_calibration_error", "interval_coverage"),
        *("expected_normalized_calibration_error", "probability_integral_transform"),
    ):
        yield np.asarray, getattr(um.regression, name), forecasts


def _seeded(function, z, p):
    if function is um.calibration_test:
        return (
            lambda result: np.asarray([result.statistic, result.p_value]),
            lambda: function(z, p, num_resamples=50, seed=3),
        )
    return np.asarray, lambda: function(
        5, probabilities=p, labels_true=z, num_ece_samples=20, seed=3
    )


@pytest.mark.filterwarnings("ignore:.*for which the estimate is unreliable")
def test_threads_give_the_values_of_one(rng, quick_switches):
    work = list(calls(rng))

    def run(i):
        array, function, arguments = work[i]
        return array(function(**arguments))

    expected = [run(i) for i in range(len(work))]
    order = np.concatenate([rng.permutation(len(work)) for _ in range(THREADS)])
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for i, value in zip(order, pool.map(run, order), strict=True):
            np.testing.assert_array_equal(value, expected[i])


def test_bootstraps_in_threads_are_those_of_their_seeds(rng, quick_switches):
    filters = list(warnings.filters)
    p = rng.uniform(size=100)
    z = (rng.uniform(size=100) < p).astype(int)

    def run(seed):
        interval = um.bootstrap(
            um.brier_score, labels=z, probabilities=p, num_resamples=50, seed=seed
        )
        return interval.lower, interval.upper

    expected = [run(seed) for seed in range(24)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(run, range(24))) == expected
    # `warnings.catch_warnings` in threads that overlap leaves those of one of them.
    assert list(warnings.filters) == filters


def test_functions_leave_the_state_of_numpy_alone(rng):
    state = np.random.get_state()  # noqa: NPY002
    errors, filters = np.geterr(), list(warnings.filters)
    printed = np.get_printoptions()
    for array, function, arguments in calls(rng):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array(function(**arguments))
    for part, before in zip(np.random.get_state(), state, strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(part, before)
    assert np.geterr() == errors
    assert list(warnings.filters) == filters
    assert np.get_printoptions() == printed


def test_modules_keep_no_state():
    """Names of modules are bound once: no `global`, no cache, no global generator."""
    for path in sorted(PACKAGE.glob("*.py")):
        found = re.search(
            r"^\s*global |lru_cache|functools\.cache\b|np\.random\.(?!default_rng|"
            r"Generator|SeedSequence)\w+|np\.seterr",
            path.read_text(),
            re.MULTILINE,
        )
        assert found is None, f"{path.name}: {found}"
