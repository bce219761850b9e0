"""The functions on the tensors of JAX and PyTorch agree with NumPy, row by row."""

import warnings

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from tests.backends.conftest import BACKEND
from tests.fuzz.outcomes import flat
from uncertainty_metrics.ops import _execution, _inputs, to_numpy, xp

# Random functions need TensorFlow.
TWINS = tuple(row for row in catalogue.TWINS if not row.random)
# JAX would compile each of the many operations of these functions. In
# `test_functions_compile` it compiles each function as a whole.
LONG = (
    *("calibration_error_interval", "smooth_calibration_error", "psis_loo"),
    *("thresholded_adaptive_calibration_error", "compute_all_metrics"),
    *("general_calibration_error", "static_calibration_error"),
    *("adaptive_calibration_error", "root_mean_squared_calibration_error"),
    *("brier_decomposition", "brier_decomposition_exact", "dawid_sebastiani_score"),
    *("debiased_calibration_error", "kolmogorov_smirnov_calibration_error"),
    *("area_under_sparsification_error_curve", "refined_negative_log_likelihood"),
    *("average_pairwise_diversity", "crps_score", "variogram_score"),
)


def tensors(arguments):
    """Returns the arguments with arrays as tensors, of at most 32 bits."""
    from keras import ops

    made = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            narrow = {8: {"f": np.float32, "i": np.int32}}.get(value.dtype.itemsize, {})
            value = value.astype(narrow.get(value.dtype.kind, value.dtype))
            made[name] = ops.convert_to_tensor(value)
        else:
            made[name] = value
    return made


def rounded(arguments):
    """Returns the arguments with float64 arrays rounded to float32."""
    return {
        name: value.astype(np.float32)
        if isinstance(value, np.ndarray) and value.dtype == np.float64
        else value
        for name, value in arguments.items()
    }


def assert_close(result, expected, rtol=1e-5, atol=0.0):
    finite = np.abs(expected[np.isfinite(expected)])
    atol = max(atol, rtol * finite.max(initial=1.0))
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def tree_of(result):
    """Returns the tensors of a result."""
    from keras import tree

    return tree.flatten(result)


@pytest.fixture(autouse=True)
def few_samples():
    with warnings.catch_warnings():
        # The documented warning about unreliable estimates.
        warnings.filterwarnings("ignore", ".* for which the estimate is unreliable")
        yield


@catalogue.first_of_kernel(TWINS, LONG if BACKEND == "jax" else ())
@pytest.mark.first(12 if BACKEND == "jax" else len(TWINS))
def test_functions_equal_numpy(row, rng):
    from keras import ops, tree

    arguments = rounded(row.draw(rng, (7,)))
    expected = flat(row.find(um_np)(**arguments))
    for given in (tensors(arguments), arguments):
        result = row.find(um)(**given)
        assert_close(flat(result), expected)
        parts = tree.flatten(result)
        assert all(map(ops.is_tensor, parts))
        again = tree.pack_sequence_as(result, parts)
        np.testing.assert_array_equal(flat(again), flat(result))
        types = {str(x.dtype).rpartition(".")[2] for x in parts}
        assert given is arguments or types <= {"float32"}


@pytest.mark.skipif(BACKEND != "torch", reason="JAX has float64 where it is asked for")
@catalogue.each(TWINS)
def test_float64_is_kept(row, rng):
    """A step with fewer digits would give a result with fewer digits."""
    arguments = row.draw(rng, (30,))
    expected = flat(row.find(um_np)(**arguments))
    assert_close(flat(row.find(um)(**arguments)), expected, 1e-11, row.precision)


@pytest.mark.skipif(BACKEND != "torch", reason="JAX is not left to NumPy")
@catalogue.each(TWINS)
def test_shortcut_through_numpy_gives_the_values_of_tensors(row, rng, monkeypatch):
    arguments = row.draw(rng, (30,))
    for given, rtol in ((arguments, 1e-11), (tensors(arguments), 1e-5)):
        expected = row.find(um)(**given)
        with monkeypatch.context() as patch:
            patch.setattr(_inputs, "SHORTCUT", True)
            value = row.find(um)(**given)
        assert_close(flat(value), flat(expected), rtol, row.precision)
        types = [[x.dtype for x in tree_of(result)] for result in (value, expected)]
        assert types[0] == types[1]


@pytest.mark.skipif(BACKEND != "torch", reason="of PyTorch's gradients")
def test_tensors_that_need_a_gradient_are_not_left_to_numpy():
    import torch

    x = torch.ones(2, requires_grad=True)
    assert not _execution.is_for_numpy(x)
    assert _execution.is_for_numpy(x.detach())
    with torch.no_grad():
        assert _execution.is_for_numpy(x)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_segment_sums_keep_the_type_of_the_values(dtype):
    """In float32 the sum would be that of the first."""
    with _execution.in_64_bits():
        values = xp.constant(np.array([2**24, 1, -5, 7, 9], dtype))
        of = xp.constant(np.array([0, 0, 2, -1, -3], np.int32))
        reduced = [
            to_numpy(getattr(xp.math, f"unsorted_segment_{how}")(values, of, 3))
            for how in ("sum", "max", "min")
        ]
    assert [part.dtype for part in reduced] == 3 * [np.dtype(dtype)]
    # In float32 the first sum would be 2^24.
    assert reduced[0].tolist() == [2**24 + 1, 0, -5]
    assert reduced[1][[0, 2]].tolist() == [2**24, -5]
    assert reduced[2][[0, 2]].tolist() == [1, -5]
    lowest = -np.inf if dtype == "float64" else np.iinfo(dtype).min
    assert reduced[1][1] == lowest


@pytest.mark.skipif(BACKEND != "torch", reason="JAX has other hashes, of uint32")
def test_folds_equal_those_of_numpy(rng):
    """Each fold has a temperature of its own, so the value depends on all folds."""
    logits = 3 * rng.normal(size=(40, 3)).astype(np.float32)
    given = {"labels": rng.integers(0, 3, 40), "logits": logits}
    given |= {"folds": 7, "repeats": 3, "seed": int(rng.integers(100))}
    expected = um_np.refined_negative_log_likelihood(**given)
    result = um.refined_negative_log_likelihood(**given)
    np.testing.assert_allclose(float(result), expected, rtol=2e-5)


@pytest.mark.skipif(BACKEND != "jax", reason="compiled by jax.jit")
@catalogue.first_of_kernel(TWINS)
def test_functions_compile(row, rng):
    import jax

    arguments = rounded(row.draw(rng, (7,)))
    expected = flat(row.find(um_np)(**arguments))
    given = tensors(arguments)
    data = {name: x for name, x in given.items() if hasattr(x, "dtype")}
    options = {name: x for name, x in given.items() if name not in data}
    result = jax.jit(lambda data: row.find(um)(**data, **options))(data)
    if row.name == "risk_coverage_curve":  # Compiled, it repeats its last entry.
        result = [part[: expected.size // len(result)] for part in result]
    assert_close(flat(result), expected)
