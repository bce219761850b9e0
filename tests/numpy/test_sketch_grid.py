"""The cells of scores in NumPy; `tests/tensors` shows that tensors have the same."""

import fractions

import numpy as np
import pytest

from uncertainty_metrics.numpy import _exact_sums
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy.sketch import _grid

ONE = 0x3F800000  # The bits of 1.0.
BITS = [(0,), (2, 0), (4,), (7,), (4, 2, 13), (3, 1, 10), (20,)]


@pytest.mark.parametrize("bits", BITS[:-1])
def test_cells_ascend_and_are_narrow(bits, rng):
    patterns = rng.integers(0, ONE + 1, 20000).astype(np.int32)
    near_one = 1 - 2.0 ** rng.uniform(-25, -1, 5000)
    scores = np.concatenate([patterns.view(np.float32), near_one, [0, -0.0, 0.5, 1]])
    scores = np.sort(scores)
    found = _grid.index(scores.astype(np.float32), *bits)
    assert found.dtype == np.int32
    assert np.all(np.diff(found) >= 0)
    assert (found[0], found[-1]) == (0, _grid.num_cells(*bits) - 1)
    least, largest = _grid.limits(*bits)
    assert least.shape == largest.shape == (_grid.num_cells(*bits),)
    assert np.all(np.diff(least) >= 0)
    assert np.all(np.diff(largest) >= 0)
    single = scores.astype(np.float32)
    assert np.all((least[found] <= single) & (single <= largest[found]))
    low, high = _grid.rounded_limits(*bits)
    assert np.all((low[found] <= scores) & (scores <= high[found]))
    # Bounds of errors depend on the width of cells: absolute, and relative to p and to
    # 1 - p.
    even = bits[2] if len(bits) == 3 else bits[0] + 1
    rounding = 2.0**-23  # The error of float64 scores after rounding to float32.
    assert np.all((high - low)[found] <= 2.0**-even + rounding)
    width = (high - low)[found]
    distance = np.minimum(scores, 1 - scores)
    assert np.all(width <= 2.0 ** -bits[0] * distance * 1.001 + 2.0**-22)
    large = (scores > 2.0**-30) & (scores < 0.5)
    assert np.all(width[large] <= (2.0 ** -bits[0] + 2.0**-22) * distance[large])


def summed(values, cells, num_cells):
    total = Total(ExactSums.zeros(num_cells))
    total.add(np.asarray(values), np.asarray(cells))
    return total.sums()


def test_sums_are_exact_in_any_order(rng):
    values = rng.random(2000) * 10.0 ** rng.integers(-320, 290, 2000)
    values[:100] = 0
    cells = rng.integers(0, 8, 2000)
    cells[cells == 5] = 4
    whole = summed(values, cells, 8)
    total = ExactSums.zeros(8)
    for part in np.array_split(rng.permutation(2000), 7):
        total += summed(values[part], cells[part], 8)
    assert total.equals(whole)
    exact = [
        float(sum(map(fractions.Fraction, values[cells == cell].tolist())))
        for cell in range(8)
    ]
    np.testing.assert_allclose(whole.values, exact, rtol=1e-15)


def test_digits_do_not_overflow_for_many_terms(rng, monkeypatch):
    values, cells = rng.random(500), rng.integers(0, 3, 500)
    expected = summed(values, cells, 3)
    monkeypatch.setattr(_exact_sums, "_BLOCK", 7)
    monkeypatch.setattr(_exact_sums, "_MAX_BLOCKS", 2)
    assert summed(values, cells, 3).equals(expected)


def test_equal_sums_have_equal_digits():
    nothing = ExactSums.zeros(2)
    assert (nothing + nothing).equals(nothing)
    assert summed([0.0, 0.0], [0, 1], 2).equals(nothing)
    some = summed([2.0**40, 0.5], [0, 1], 2)
    assert (some.lowest, some.digits.tolist()) == (-1, [[0, 2**31], [0, 0], [2**8, 0]])
    # Negative terms are subtracted exactly, and a sum below 0 counts as 0.
    for values, expected in (
        ([2.0**40, -(2.0**40), 0.5, -1e-300], [0, 0.5]),
        ([2.0**40, -(2.0**41), 1.0, -0.5], [0, 0.5]),
        ([0.7, -0.7, 2.0**50, -(2.0**50)], [0, 0]),
    ):
        assert summed(values, [0, 0, 1, 1], 2).values.tolist() == expected
