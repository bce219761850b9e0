"""Threads that share the work of a function: equal values, errors and settings."""

import multiprocessing
import os
import platform
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue
from tests.fuzz.outcomes import flat
from uncertainty_metrics.numpy import _threads
from uncertainty_metrics.numpy.calibration.bins import _scores
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.information import _psis

# Functions whose work on large arrays must be shared.
SHARED = {
    "adaptive_calibration_error",
    "average_pairwise_diversity",
    "brier_decomposition",
    "brier_decomposition_exact",
    "brier_score",
    "crps_normal_score",
    "crps_score",
    "expected_calibration_error",
    "energy",
    "energy_score",
    "ensemble_cross_entropy",
    "ensemble_disagreement",
    "expected_entropy",
    "interval_score",
    "mutual_information",
    "negative_log_likelihood",
    "negative_waic",
    "pinball_loss",
    "psis_loo",
    "regression.compute_calibration_curve",
    "regression.probability_integral_transform",
    "ranked_probability_score",
    "regression.negative_log_likelihood",
    "static_calibration_error",
    "thresholded_adaptive_calibration_error",
}


@pytest.fixture
def small_work(monkeypatch):
    """Lets a function share its work for small arrays, too."""
    monkeypatch.setattr(_threads, "LARGE", 0)
    monkeypatch.setattr(_threads, "BLOCK", 16)
    monkeypatch.setattr(_scores, "BLOCK", 500)
    for module in (_predictions, _psis):
        monkeypatch.setattr(module, "_BLOCK", 500)


def use(monkeypatch, threads):
    monkeypatch.setattr(_threads, "number_of_threads", lambda: threads)


@pytest.fixture
def starts(monkeypatch):
    """Returns a list that gets an entry whenever threads share some work."""
    found = []
    shared = _threads._shared

    def counting(*arguments):
        found.append(arguments)
        return shared(*arguments)

    monkeypatch.setattr(_threads, "_shared", counting)
    return found


def each_call(rng):
    for row in catalogue.CALLABLES:
        if row.half != "tensors":
            for _ in range(2):
                yield row.name, row.find(um), row.draw(rng, (400,))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_values_do_not_depend_on_the_number_of_threads(
    rng, small_work, starts, monkeypatch
):
    shared = set()
    for name, function, arguments in each_call(rng):
        values = []
        for threads in (1, 2, 16):
            use(monkeypatch, threads)
            starts.clear()
            values.append(flat(function(**arguments)))
        if starts:
            shared.add(name)
        for value in values[1:]:
            np.testing.assert_array_equal(value, values[0], err_msg=name)
    missing = SHARED - shared
    assert not missing


def test_sums_of_parts_are_added_in_the_order_of_the_parts(small_work, monkeypatch):
    # In another order the sum would round in another way.
    terms = 2.0 ** np.arange(-60, 60) * np.resize([1, -1, 3], 120)
    found = []
    for threads in (1, 2, 16):
        use(monkeypatch, threads)
        sums = _threads.map_rows(lambda rows: terms[rows].sum(), len(terms), 1)
        found.append(sums)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) > 10


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_the_first_wrong_row_is_named(rng, small_work, monkeypatch, threads):
    use(monkeypatch, threads)
    p = rng.dirichlet(np.ones(4), 500)
    p[[400, 77], [1, 2]] = 1.5
    for function in (um.brier_score, um.ece, um.sce, um.ace):
        with pytest.raises(ValueError, match=r"Received: 1\.5 at \[77, 2\]"):
            function(np.zeros(500, int), p)


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_the_error_of_the_first_part_is_raised(small_work, monkeypatch, threads):
    use(monkeypatch, threads)
    last = threading.Event()

    def function(rows):
        if rows.start == 0:
            last.wait(0.05)  # A later part fails before this one.
        else:
            last.set()
        raise ValueError(f"row {rows.start}")

    before = threading.active_count()
    with pytest.raises(ValueError, match="row 0"):
        _threads.map_rows(function, 100, 1)
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_threads_have_the_settings_of_the_caller(small_work, monkeypatch, threads):
    use(monkeypatch, threads)
    zeros, seen = np.zeros(100), []

    def divide():
        return _threads.map_rows(lambda rows: 1 / zeros[rows], 100, 1)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        divide()
    with np.errstate(divide="call", call=lambda *error: seen.append(error)):
        divide()
    assert seen
    with warnings.catch_warnings(record=True) as caught, np.errstate(divide="warn"):
        warnings.simplefilter("always")
        divide()
    assert {each.category for each in caught} == {RuntimeWarning}
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        divide()


def test_shared_work_starts_no_threads_within(small_work, monkeypatch, starts):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    within = _threads.map_rows(lambda rows: _threads.number_of_threads(), 100, 1)
    assert set(within) == {1}
    assert len(starts) == 1
    assert _threads.number_of_threads() == 4


def test_small_arrays_are_the_work_of_one_thread(rng, monkeypatch, starts):
    use(monkeypatch, 16)
    um.brier_score(np.zeros(1000, int), rng.dirichlet(np.ones(10), 1000))
    assert not starts
    um.brier_score(np.zeros(10_000, int), rng.dirichlet(np.ones(100), 10_000))
    assert starts


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries")
def test_blocks_use_the_memory_of_the_blocks_before_them():
    code = (
        "import resource, numpy as np, uncertainty_metrics.numpy as um\n"
        "def pages():\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "logits, labels = np.zeros((4000, 500), np.float32), np.zeros(4000, int)\n"
        "um.ranked_probability_score(labels, logits=logits)\n"
        "before = pages()\n"
        "um.ranked_probability_score(labels, logits=logits)\n"
        "print(pages() - before)"
    )
    # Without MALLOC_ variables, which set the limits of the library.
    given = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    environment = {**given, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    # The five arrays of a block have a thousand pages in all; there are 31 blocks.
    assert int(done.stdout) < 2000, done.stderr


@pytest.mark.parametrize(
    ("told", "expected"), [("3", 3), ("5,2", 5), ("", None), ("0", None), ("x", None)]
)
def test_environment_says_how_many_threads(monkeypatch, told, expected):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert _threads.number_of_threads() == (expected or 3)


def test_a_worker_of_a_pool_uses_one_thread(monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    found = []
    thread = threading.Thread(target=lambda: found.append(_threads.number_of_threads()))
    thread.start()
    thread.join()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found.append(pool.apply(_threads.number_of_threads))
    assert found == [1, 1]
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert _threads.number_of_threads() == 1


def test_a_worker_of_joblib_uses_one_thread(monkeypatch):
    joblib = pytest.importorskip("joblib")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            work = [joblib.delayed(_threads.number_of_threads)() for _ in range(2)]
            assert joblib.Parallel()(work) == [1, 1]


@pytest.mark.parametrize("threads", [1, 3])
def test_items_are_worked_on_ahead_in_their_order(monkeypatch, threads):
    use(monkeypatch, threads)
    taken, both_work = [], threading.Barrier(min(threads, 2), timeout=10)

    def items():
        for i in range(6):
            taken.append(i)
            yield i

    def work(i):
        both_work.wait()  # With several threads, two items must be at work at once.
        return i * i

    found = _threads.map_ahead(work, items())
    assert next(found) == 0
    assert len(taken) == (1 if threads == 1 else threads + 1)
    assert list(found) == [1, 4, 9, 16, 25]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_error_of_the_first_item_is_raised(monkeypatch, threads):
    use(monkeypatch, threads)

    def items():
        yield from range(3)
        raise OSError("no more items")

    def work(i):
        if i == bad:
            raise ValueError(f"item {i}")
        return i

    bad = 2
    with pytest.raises(ValueError, match="item 2"):
        list(_threads.map_ahead(work, items()))
    bad = None
    found = _threads.map_ahead(work, items())
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="no more items"):
        next(found)
