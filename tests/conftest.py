"""Set-up shared by all tests: a quiet TensorFlow, and a seed for the random data."""

import collections
import functools
import gc
import importlib.util
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
# This level takes 60% of the compile time, and still fuses a multiplication and an
# addition into one operation with one rounding.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1")
# Without most optimizations the tests of metrics on JAX take 70% of the time.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest

# Files that import packages of the extra `test`, which the extra `dev` leaves out, or
# Polars, which is in the environment of the engines.
NEEDED = {
    "engines/test_frames.py": "polars",
    "keras/test_beam.py": "apache_beam",
    "numpy/test_frames.py": "pandas",
    "numpy/test_information_criteria.py": "arviz",
    "numpy/test_object_detection.py": "pycocotools",
    "repo/test_colabs.py": "nbformat",
}
collect_ignore = [
    file for file, package in NEEDED.items() if not importlib.util.find_spec(package)
]
if os.environ.get("KERAS_BACKEND", "tensorflow") == "tensorflow":
    collect_ignore.append("backends")  # They need KERAS_BACKEND=jax or torch.


def pytest_addoption(parser):
    parser.addoption(
        "--seed", type=int, default=0, help="seed of the random data in the tests"
    )
    parser.addoption(
        "--name", help="runs the tests that concern this public name, in a minute"
    )


@functools.lru_cache(1)
def _concerned(name):
    from tests.concerned import Concerned  # It imports TensorFlow.

    return Concerned(name)


def pytest_ignore_collect(collection_path, config):
    """Leaves out files that do not concern the name of `--name`."""
    name = config.getoption("--name")
    if name and collection_path.name.startswith("test_"):
        return not _concerned(name).reads(collection_path) or None
    return None


def pytest_configure(config):
    config.addinivalue_line("markers", "keras: runs under tf_keras too")
    config.addinivalue_line("markers", "tensors: the same tensors in both Keras")
    for marker in (
        "thorough: shows again what other tests show; CONTRIBUTING.md has its command",
        "exhaustive: runs now and then, or in a step of `.ci/run` of its own",
        "first(n, marker): the cases after n have the marker, by default `exhaustive`",
    ):
        config.addinivalue_line("markers", marker)


def _runs_here(item):
    """Returns whether no mark of a test says that it cannot run in this environment."""
    skipped = any(mark.args[0] for mark in item.iter_markers("skipif"))
    return not (skipped or item.get_closest_marker("skip"))


def _is_left_out(item):
    """Returns whether the Row of a test leaves it out."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    left_out = getattr(parameters.get("row"), "left_out", ())
    return getattr(item, "originalname", None) in left_out


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items, config):
    """Leaves out tests that cannot run here, instead of skipping them, and those that
    their Rows leave out. Keeps the tests of the name of `--name`. Marks the cases after
    the first n of a test with `first`.
    """
    items[:] = [item for item in items if _runs_here(item) and not _is_left_out(item)]
    if name := config.getoption("--name"):
        items[:] = filter(_concerned(name).holds, items)
    seen = collections.Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        seen[test] += 1
        for mark in item.iter_markers("first"):
            number, marker = (*mark.args, "exhaustive")[:2]
            if seen[test] > number:
                item.add_marker(marker)


def pytest_collection_finish():
    """Excludes imported objects, which stay anyway, from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng(request):
    """A generator that depends on the test and on --seed."""
    seed = request.config.getoption("--seed")
    return np.random.default_rng([seed, *request.node.name.encode()])
