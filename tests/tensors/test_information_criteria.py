"""Information criteria: TensorFlow, eager and compiled, against NumPy."""

import pathlib
import warnings

import numpy as np
import pytest
import tensorflow as tf

from tests import references
from uncertainty_metrics.numpy.information import information_criteria as np_criteria
from uncertainty_metrics.tensors import information_criteria as tf_criteria

QUIET = pytest.mark.filterwarnings("ignore::UserWarning")
RTOL = {np.float32: 1e-5, np.float64: 1e-11}


def criteria(room):
    return {
        "waic1": room.negative_waic,
        "waic2": lambda logp: room.negative_waic(logp, "waic2"),
        "iscv": room.importance_sampling_cross_validation,
        "psis_loo": room.psis_loo,
    }


NUMPY, TENSORFLOW = criteria(np_criteria), criteria(tf_criteria)
every_criterion = pytest.mark.parametrize("name", NUMPY)
every_dtype = pytest.mark.parametrize("dtype", RTOL)


def all_criteria(logp):
    return {name: tuple(function(logp)) for name, function in TENSORFLOW.items()}


def assert_equal(result, expected, dtype, atol=1.0):
    """Asserts equality; `atol` is a multiple of the tolerance of the dtype."""
    for part, whole in zip(result, expected, strict=True):
        assert part.dtype == dtype
        np.testing.assert_allclose(
            part, whole, rtol=RTOL[dtype], atol=atol * RTOL[dtype]
        )


@QUIET
@every_criterion
@every_dtype
@pytest.mark.parametrize("m", [2, 20, 21, 100, 1000])
def test_equals_numpy(name, dtype, m, rng):
    for scale in (0.01, 5, 200):
        whole = (scale * rng.normal(size=(10, m))).astype(dtype)
        for logp in (whole, whole[:1]):  # One instance has no standard error.
            result = TENSORFLOW[name](logp)
            expected = NUMPY[name](logp.astype(np.float64))
            # The error of a difference is relative to the numbers that are subtracted.
            assert_equal(result, expected, dtype, atol=max(1, scale**2))


@QUIET
@every_dtype
def test_psis_loo_of_ties_and_equal_draws_equals_numpy(dtype, rng):
    logp = rng.normal(size=(6, 60)).astype(dtype)
    logp[1] = -2.5
    logp[2] = np.round(logp[2])
    logp[3] = np.round(4 * logp[3]) / 4
    logp[4, ::7] = -3
    result = tf_criteria.psis_loo(logp)
    assert_equal(result, np_criteria.psis_loo(logp), dtype)
    assert np.isinf(result.pareto_k[1])
    logp = np.zeros([1, 1111], dtype)  # The formulas of the fit would divide by 0.
    logp[:, :100] = -np.log(2)
    assert_equal(tf_criteria.psis_loo(logp), np_criteria.psis_loo(logp), dtype)


@QUIET
@every_dtype
def test_relative_efficiency_equals_numpy(dtype, rng):
    logp = rng.normal(size=(6, 200)).astype(dtype)
    for reff in (0.2, 3):
        result = tf_criteria.psis_loo(logp, reff)
        assert_equal(result, np_criteria.psis_loo(logp, reff), dtype)
    with pytest.raises(ValueError, match="`reff` must be a finite number > 0"):
        tf_criteria.psis_loo(logp, reff=0)


@QUIET
@every_criterion
@every_dtype
def test_further_axes_equal_numpy(name, dtype, rng):
    logp = rng.normal(size=(5, 40, 2, 3)).astype(dtype)
    result = TENSORFLOW[name](logp)
    assert result.estimate.shape == result.sem.shape == [2, 3]
    if name == "psis_loo":
        assert result.pareto_k.shape == [5, 2, 3]
    assert_equal(result, NUMPY[name](logp), dtype)


@QUIET
@every_criterion
def test_all_forms_of_the_data_give_the_same_result(name, rng):
    logp = np.round(rng.normal(size=(4, 30)) * 8) / 8  # Exact in bfloat16.
    expected = NUMPY[name](logp)
    forms = [
        logp.tolist(),
        logp.astype(np.float16),
        tf.Variable(logp, dtype=tf.float32),
    ]
    for form in [*forms, tf.constant(logp, tf.bfloat16)]:
        assert_equal(TENSORFLOW[name](form), expected, np.float32)
    integers = TENSORFLOW[name](np.round(logp).astype(np.int32))
    assert_equal(integers, NUMPY[name](np.round(logp)), np.float32)


@QUIET
@every_criterion
def test_the_mean_of_many_instances_does_not_drift(name, rng):
    logp = (-1000 + 0.1 * rng.normal(size=(300_000, 2))).astype(np.float32)
    estimate, sem = TENSORFLOW[name](logp)[:2]
    expected = NUMPY[name](logp)
    np.testing.assert_allclose(estimate, expected.estimate, rtol=2e-7)
    np.testing.assert_allclose(sem, expected.sem, rtol=1e-3)


@QUIET
@every_criterion
@every_dtype
def test_gradient_equals_finite_differences(name, dtype, rng):
    logp = rng.normal(size=(3, 25)).astype(dtype)
    if name == "psis_loo":
        logp[1] = -2.5
    variable = tf.constant(logp)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        estimate, sem = TENSORFLOW[name](variable)[:2]
        total = estimate + sem
    gradient = tape.gradient(total, variable).numpy()
    expected = references.slopes(
        lambda values: sum(NUMPY[name](values)[:2]), logp.astype(np.float64)
    )
    # Equal draws are at the start of the tail, where the estimate has no derivative.
    kept = [0, 2] if name == "psis_loo" else [0, 1, 2]
    assert np.all(np.isfinite(gradient))
    atol = 1e-7 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(gradient[kept], expected[kept], atol=atol)


@pytest.mark.thorough
@QUIET
@every_criterion
@every_dtype
def test_graph_of_unknown_sizes_equals_numpy(name, dtype, rng):
    # PSIS-LOO needs a static number of draws, since its tail has a static length.
    m = 50 if name == "psis_loo" else None
    run = tf.function(
        lambda logp: tuple(TENSORFLOW[name](logp)),
        input_signature=[tf.TensorSpec([None, m, None], dtype)],
    )
    for n in (7, 3):
        logp = rng.normal(size=(n, 50, 2)).astype(dtype)
        assert_equal(run(logp), NUMPY[name](logp), dtype)
    for shape in ([0, 50, 1], [3, 1, 1]):
        if name != "psis_loo" or shape[1] == 50:
            assert all(np.all(np.isnan(part)) for part in run(np.zeros(shape))[:2])


@pytest.fixture(scope="module", params=[True, False], ids=["xla", "graph"])
def compiled(request):
    return tf.function(all_criteria, jit_compile=request.param)


@pytest.mark.thorough
@QUIET
@pytest.mark.first(1)
def test_compiled_equals_numpy_and_is_nan_where_values_are_wrong(compiled, rng):
    logp = rng.normal(size=(4, 30, 2)).astype(np.float32)
    for name, result in compiled(tf.constant(logp)).items():
        assert_equal(result, NUMPY[name](logp), np.float32)
    for value in (np.nan, np.inf, -np.inf):
        bad = logp.copy()
        bad[2, 5, 1] = value
        for name, result in compiled(tf.constant(bad)).items():
            expected = [part.copy() for part in NUMPY[name](logp)]
            expected[0][1] = expected[1][1] = np.nan
            if name == "psis_loo":
                expected[2][2, 1] = np.nan
            assert_equal(result, expected, np.float32)


@pytest.mark.thorough
@QUIET
def test_xla_of_float64_equals_numpy(rng):
    run = tf.function(lambda logp: tuple(tf_criteria.psis_loo(logp)), jit_compile=True)
    logp = rng.normal(size=(4, 21))
    assert_equal(run(tf.constant(logp)), np_criteria.psis_loo(logp), np.float64)


def unreliable(rng):
    logp = rng.uniform(-0.1, 0, size=(6, 100))
    logp[[1, 4]] = 3 * np.log(rng.uniform(size=(2, 100)))
    return logp


@every_criterion
def test_eager_execution_warns_as_numpy_does(name, rng):
    logp = unreliable(rng)
    texts = []
    for room in (NUMPY, TENSORFLOW):
        with pytest.warns(UserWarning, match="for 2 of 6 instances") as caught:
            room[name](logp)
        (warning,) = caught
        assert pathlib.Path(warning.filename) == pathlib.Path(__file__)
        texts.append(str(warning.message))
    assert texts[0] == texts[1]
    limit = "Pareto k exceeds 0.5" if name == "psis_loo" else "exceeds 0.4"
    assert limit in texts[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for room in (NUMPY, TENSORFLOW):
            room[name](logp[[0, 2, 3, 5]])
        tf.function(TENSORFLOW[name])(tf.constant(logp))


def bad_logps():
    """Yields logp with bad values or shapes, and the message."""
    for value in (np.nan, np.inf, -np.inf):
        logp = np.zeros([3, 4, 2])
        logp[2, 1, 0] = value
        yield logp, rf"`logp` must be finite. Received: {value} at \[2, 1, 0\]"
    for shape, said in (
        ([], "be of shape"),
        ([3], "be of shape"),
        ([3, 1], "have at least 2 members"),
        ([0, 3], "hold at least one instance"),
        ([3, 0], "hold at least one instance"),
        ([3, 4, 0], "hold at least one instance"),
    ):
        yield np.zeros(shape), f"`logp` must {said}"
    yield [[0.0, 1.0], [2.0]], "`logp` must be a rectangular array"


@every_criterion
def test_bad_data_raise_the_same_message_in_both_halves(name):
    for logp, said in bad_logps():
        messages = []
        for room in (NUMPY, TENSORFLOW):
            with pytest.raises(ValueError, match=said) as raised:
                room[name](logp)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
        if "finite" not in said:
            with pytest.raises(ValueError, match=said):
                tf.function(lambda: tuple(TENSORFLOW[name](logp)), autograph=False)()  # noqa: B023
    with pytest.raises(ValueError, match="`logp` must be a dense tensor"):
        TENSORFLOW[name](tf.ragged.constant([[0.0, 1.0], [2.0]]))
    for room in (NUMPY, TENSORFLOW):
        for text in ([["a", "b"]], np.zeros([3, 4], complex)):
            with pytest.raises(TypeError, match="`logp` must hold numbers"):
                room[name](text)


def test_psis_loo_needs_a_static_number_of_members():
    run = tf.function(
        tf_criteria.psis_loo,
        input_signature=[tf.TensorSpec([3, None])],
        autograph=False,
    )
    with pytest.raises(ValueError, match="static number of members"):
        run(np.zeros([3, 4], np.float32))
