"""No hot path makes an array [N, bins] or [N, M, M]; `benchmarks/memory.py` measures
the same paths at real sizes.
"""

import importlib
import math
import pathlib
import re
import sys
import tracemalloc

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics.numpy as um_np

sys.path.append(str(pathlib.Path(__file__).parents[2] / "benchmarks"))
harness, memory = map(importlib.import_module, ("harness", "memory"))


def rows(mode):
    return [
        pytest.param(
            row,
            id=f"{i}-{row.title}",
        )
        for i, row in enumerate(memory.ROWS)
        if mode in row.modes
    ]


def peak(function, arguments):
    function(*arguments)  # Imports and caches do not count.
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def share_of_forbidden(row, function_of):
    """Returns the growth of peak memory, as a share of that of the forbidden array."""
    sizes = row.growth.few
    small, large = (peak(function_of(size), row.data(size)) for size in sizes)
    allowed, forbidden = (row.growth.elements(*size) for size in sizes)
    return (large - small) / (np.dtype(np.float32).itemsize * (forbidden - allowed))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # On random data estimates warn.
@pytest.mark.parametrize("row", rows(harness.NUMPY))
def test_numpy_makes_no_forbidden_array(row):
    share = share_of_forbidden(row, lambda size: row.function(harness.NUMPY, size))
    assert share < memory.SHARE


def largest(function, arguments):
    """Returns the elements of the largest tensor of the graph, before any fusion."""
    compiled = tf.function(function, jit_compile=True)
    text = compiled.experimental_get_compiler_ir(*arguments)(stage="hlo")
    shapes = re.findall(r"\b[a-z]+\d*\[([\d,]+)\]", text)
    return max(math.prod(map(int, shape.split(","))) for shape in shapes)


@pytest.mark.thorough
@pytest.mark.parametrize("row", rows(harness.XLA))
@pytest.mark.first(8)
def test_graphs_make_no_forbidden_array(row):
    size = row.growth.few[1]
    arguments = tuple(map(tf.constant, row.data(size)))
    found = largest(row.function(harness.XLA, size), arguments)
    assert found < row.growth.elements(*size)


@pytest.mark.thorough
def test_a_forbidden_array_is_found():
    row = next(row for row in memory.ROWS if row.name == "ece")

    def one_hot(size):
        return lambda labels, p: np.sum(p.max(1)[:, None] < np.linspace(0, 1, size[-1]))

    assert share_of_forbidden(row, one_hot) > memory.SHARE

    size = row.growth.few[1]
    arguments = tuple(map(tf.constant, row.data(size)))
    found = largest(lambda labels, p: tf.one_hot(labels, size[-1]), arguments)
    assert found == row.growth.elements(*size)


@pytest.mark.thorough
@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("name", ["ece", "brier_score", "negative_log_likelihood"])
def test_hundred_large_masks_fit_into_4_gigabytes(name, per_image):
    shape = 100, 512, 512, 21
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, shape[:-1], dtype=np.uint8)
    labels[:, rng.random(shape[1:-1]) < 0.05] = 255  # Void.
    image = rng.dirichlet(np.ones(21), shape[1:-1]).astype(np.float32)
    probabilities = np.empty(shape, np.float32)
    probabilities[:] = image
    function = getattr(um_np, name)
    tracemalloc.start()
    try:
        function(labels, probabilities, ignore_index=255, per_image=per_image)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used + labels.nbytes + probabilities.nbytes < 4e9
    assert used < 0.4 * probabilities.nbytes
