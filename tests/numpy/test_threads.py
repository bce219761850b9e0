"""NumPy functions give the same values in many threads at once as in one."""

import concurrent.futures
import functools
import pathlib
import re
import sys
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue
from tests.fuzz.outcomes import flat

PACKAGE = pathlib.Path(um.__file__).parent
THREADS = 8


@pytest.fixture
def quick_switches():
    """Makes threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def calls(rng):
    """Returns repeatable calls without arguments, a few for each row."""
    return [
        functools.partial(row.find(um), **row.draw(rng, (50,)))
        for row in catalogue.CALLABLES
        if row.half != "tensors"
        for _ in range(3)
    ]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_many_threads_give_the_values_of_one_thread(rng, quick_switches):
    work = calls(rng)
    expected = [flat(call()) for call in work]
    order = np.concatenate([rng.permutation(len(work)) for _ in range(THREADS)])
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda i: flat(work[i]()), order)
        for i, value in zip(order, found, strict=True):
            np.testing.assert_array_equal(value, expected[i])


def test_bootstraps_in_threads_have_the_values_of_their_seeds(rng, quick_switches):
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
    # `warnings.catch_warnings` in overlapping threads would leave changed filters.
    assert list(warnings.filters) == filters


def test_functions_do_not_change_the_global_state_of_numpy(rng):
    state = np.random.get_state()  # noqa: NPY002
    errors, filters = np.geterr(), list(warnings.filters)
    printed = np.get_printoptions()
    for call in calls(rng):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    for part, before in zip(np.random.get_state(), state, strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(part, before)
    assert np.geterr() == errors
    assert list(warnings.filters) == filters
    assert np.get_printoptions() == printed


def test_modules_keep_no_state():
    """Modules have no `global`, no cache and no global random generator.

    A cache inside a function ends with its call.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        # Their caches are of pure functions, and are bounded.
        if path.name in (
            "ecdf.py",
            "_grid.py",
            "_compiled_loops.py",
            "_two_classes.py",
        ):
            continue
        found = re.search(
            r"^\s*global |lru_cache|^@functools\.cache\b|np\.random\.(?!default_rng|"
            r"Generator|SeedSequence)\w+|np\.seterr",
            path.read_text(),
            re.MULTILINE,
        )
        assert found is None, f"{path.name}: {found}"
