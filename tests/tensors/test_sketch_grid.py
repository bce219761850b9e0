"""NumPy and tensors put every score into the same cell."""

import numpy as np
import pytest
import tensorflow as tf

from tests.numpy.test_sketch_grid import BITS, ONE
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import _sketch


@pytest.mark.parametrize("bits", BITS)
def test_tensors_have_the_cells_of_numpy(bits, rng):
    patterns = rng.integers(0, ONE + 1, 200_000).astype(np.int32)
    corners = [0, -0.0, 0.5, 1, *(2.0**-k for k in (23, 24, 25, 29, 30, 126, 149))]
    scores = np.concatenate([patterns.view(np.float32), rng.uniform(size=50_000)])
    scores = np.concatenate([scores, corners, 1 - np.array(corners)])
    scores = scores.astype(np.float32)
    expected = _sketch.index(tf.constant(scores), *bits).numpy()
    np.testing.assert_array_equal(_grid.index(scores, *bits), expected)
