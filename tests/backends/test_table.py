"""The table of TensorFlow's names is complete, and rounds no number of 64 bits."""

import ast
import pathlib

import numpy as np
import pytest
import scipy.special

SEGMENTS = np.array([0, 1, -1, 1, 3], np.int32)
RNG = np.random.default_rng(0)
REALS = RNG.uniform(0.1, 2, (5, 4)), RNG.uniform(0.1, 2, (5, 4))
# float64 would round these.
INTEGERS = RNG.integers(2**60, 2**61, (5, 4)), RNG.integers(1, 5, (5, 4))


def of_segments(reduce, segments):
    return lambda x, y: np.stack([reduce(x[s == SEGMENTS], axis=0) for s in segments])


# For each name: a call of TensorFlow's name, and the same call in NumPy or SciPy.
OF_BOTH = {
    "sum": (lambda xp, x, y: xp.reduce_sum(x % 3, axis=0), lambda x, y: (x % 3).sum(0)),
    "max": (lambda xp, x, y: xp.reduce_max(x, axis=1), lambda x, y: x.max(1)),
    "min": (lambda xp, x, y: xp.reduce_min(x), lambda x, y: x.min()),
    "cumsum": (
        lambda xp, x, y: xp.cumsum(x % 3, axis=1, reverse=True),
        lambda x, y: np.cumsum((x % 3)[:, ::-1], axis=1)[:, ::-1],
    ),
    "segment_sum": (
        lambda xp, x, y: xp.math.unsorted_segment_sum(x, SEGMENTS, 4),
        of_segments(np.sum, [0, 1, 2, 3]),
    ),
    "segment_max": (
        lambda xp, x, y: xp.gather(
            xp.math.unsorted_segment_max(x, SEGMENTS, 4), [0, 1, 3]
        ),
        of_segments(np.max, [0, 1, 3]),
    ),
    "segment_min": (
        lambda xp, x, y: xp.gather(
            xp.math.unsorted_segment_min(x, SEGMENTS, 4), [0, 1, 3]
        ),
        of_segments(np.min, [0, 1, 3]),
    ),
    "where": (
        lambda xp, x, y: xp.where(y > 1, x, 0),
        lambda x, y: np.where(y > 1, x, 0),
    ),
    "clip": (lambda xp, x, y: xp.clip_by_value(x, 1, 9), lambda x, y: np.clip(x, 1, 9)),
    "sort": (
        lambda xp, x, y: xp.sort(x, direction="DESCENDING"),
        lambda x, y: np.sort(x)[:, ::-1],
    ),
    "argsort": (lambda xp, x, y: xp.argsort(x), lambda x, y: np.argsort(x)),
    "gather": (
        lambda xp, x, y: xp.gather(x, [3, 0], axis=1),
        lambda x, y: x[:, [3, 0]],
    ),
    "scatter_nd": (
        lambda xp, x, y: xp.scatter_nd(
            xp.constant([[0], [2], [1], [4], [3]]), x[:, 0], [5]
        ),
        lambda x, y: x[[0, 2, 1, 4, 3], 0],
    ),
    "add_n": (lambda xp, x, y: xp.add_n([x, y, y]), lambda x, y: x + y + y),
    "stack": (
        lambda xp, x, y: xp.stack([x, y], axis=1),
        lambda x, y: np.stack([x, y], 1),
    ),
    "concat": (
        lambda xp, x, y: xp.concat([x, y], axis=1),
        lambda x, y: np.hstack([x, y]),
    ),
    "top_k": (
        lambda xp, x, y: xp.math.top_k(x, 2).values,
        lambda x, y: np.sort(x)[:, :1:-1],
    ),
}
OF_REALS = {
    "mean": (lambda xp, x, y: xp.reduce_mean(x, axis=0), lambda x, y: x.mean(0)),
    "variance": (
        lambda xp, x, y: xp.math.reduce_variance(x, axis=0),
        lambda x, y: x.var(0),
    ),
    "norm": (
        lambda xp, x, y: xp.math.reduce_euclidean_norm(x, axis=1),
        lambda x, y: np.linalg.norm(x, axis=1),
    ),
    "matmul": (
        lambda xp, x, y: xp.matmul(xp.transpose(x), y),
        lambda x, y: x.T @ y,
    ),
    "cholesky": (
        lambda xp, x, y: xp.linalg.cholesky(xp.matmul(xp.transpose(x), x)),
        lambda x, y: np.linalg.cholesky(x.T @ x),
    ),
    "rfft": (
        lambda xp, x, y: xp.math.real(xp.signal.rfft(x)),
        lambda x, y: np.fft.rfft(x).real,
    ),
    "logsumexp": (
        lambda xp, x, y: xp.reduce_logsumexp(x, axis=-1),
        lambda x, y: scipy.special.logsumexp(x, axis=-1),
    ),
    "log_softmax": (
        lambda xp, x, y: xp.nn.log_softmax(x),
        lambda x, y: scipy.special.log_softmax(x, axis=-1),
    ),
    "pow": (lambda xp, x, y: xp.pow(x, y), lambda x, y: x**y),
    "divide": (lambda xp, x, y: xp.math.divide_no_nan(x, y), lambda x, y: x / y),
    "xlogy": (lambda xp, x, y: xp.math.xlogy(x, y), scipy.special.xlogy),
    "atan2": (lambda xp, x, y: xp.math.atan2(x, y), np.arctan2),
    "number": (
        lambda xp, x, y: xp.maximum(x, 1 / 3),
        lambda x, y: np.maximum(x, 1 / 3),
    ),
}
OF_ONE = {
    **{name: (name, getattr(np, name)) for name in ("sqrt", "exp", "sin", "cos")},
    **{name: (name, getattr(np, name)) for name in ("floor", "square", "abs")},
    **{name: (f"math.{name}", getattr(np, name)) for name in ("log", "log1p", "expm1")},
    **{
        name: (f"math.{name}", getattr(scipy.special, name)) for name in ("erf", "erfc")
    },
    "ceil": ("math.ceil", np.ceil),
    "sigmoid": ("math.sigmoid", scipy.special.expit),
    "softplus": ("math.softplus", lambda x: np.logaddexp(0, x)),
    "softmax": ("nn.softmax", lambda x: scipy.special.softmax(x, axis=-1)),
}


def check(compute, expected, arguments):
    from uncertainty_metrics.ops import _execution, to_numpy, xp

    with _execution.in_64_bits():
        x, y = map(xp.constant, arguments)
        result = to_numpy(compute(xp, x, y))
    expected = np.asarray(expected(*arguments))
    assert result.dtype == expected.dtype or expected.dtype == np.intp
    np.testing.assert_allclose(result, expected, rtol=1e-13 * (result.dtype == float))


@pytest.mark.parametrize("arguments", [REALS, INTEGERS], ids=["float64", "int64"])
@pytest.mark.parametrize("name", OF_BOTH)
def test_functions_keep_64_bits(name, arguments):
    check(*OF_BOTH[name], arguments)


@pytest.mark.parametrize("name", OF_REALS)
def test_functions_of_reals_keep_float64(name):
    check(*OF_REALS[name], REALS)


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_argument_keep_float64(name):
    import operator

    path, expected = OF_ONE[name]
    compute = operator.attrgetter(path)
    check(lambda xp, x, y: compute(xp)(x), lambda x, y: expected(x), REALS)


def used_names():
    """Returns the names behind `xp.` in the package, with a dot where there are two."""
    found = set()
    root = pathlib.Path(__file__).parents[2] / "uncertainty_metrics"
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                first, *others = ast.unparse(node).split(".")
                if first == "xp" and all(map(str.isidentifier, others)):
                    found.add(".".join(others[:2]))
    return found


def listed_names():
    """Returns the names of the table, with a dot those of a table within."""
    from uncertainty_metrics.ops import xp

    found = set()
    for name, value in vars(xp).items():
        inner = vars(value) if isinstance(value, type(xp)) else {}
        found |= {f"{name}.{part}" for part in inner} or {name}
    return found


def test_the_table_has_the_names_that_the_arithmetic_uses():
    tables = {name.split(".")[0] for name in listed_names() if "." in name}
    # The types have attributes of their own.
    used = {n if n.split(".")[0] in tables else n.split(".")[0] for n in used_names()}
    assert used - tables == listed_names()
