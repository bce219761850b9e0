"""Sweeps over the calibration of means and variances, in both halves."""

import contextlib
import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import stats

from tests import references
from uncertainty_metrics import regression as tf_regression
from uncertainty_metrics._results import PITHistogram, PITInterval
from uncertainty_metrics.numpy import regression as np_regression
from uncertainty_metrics.numpy.regression import _levels
from uncertainty_metrics.ops import _inputs

tfd = tfp.distributions
ROOMS = pytest.mark.parametrize(
    "room", [np_regression, tf_regression], ids=["numpy", "tensors"]
)
TOLERANCE = {np.float32: 3e-6, np.float64: 1e-12}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
NORMAL = ("predictions", "uncertainties", "targets")


@dataclasses.dataclass(frozen=True)
class Row:
    """A function: the names of its data, its options, and whether it is a mean."""

    name: str
    data: tuple[str, ...] = NORMAL
    cases: tuple[dict, ...] = ({},)
    mean: bool = True

    def arguments(self, rng, n=40, dtype=np.float64, weighted=False):
        means = rng.normal(size=n)
        variances = np.exp(rng.normal(size=n))
        targets = means + 1.3 * np.sqrt(variances) * rng.normal(size=n)
        lower = np.round(rng.uniform(size=n), 1)
        values = {
            "lower": lower,
            "upper": np.minimum(lower + rng.choice([0, 0.1, 0.25, 0.7], n), 1),
            "pit": np.round(rng.uniform(size=n), 1),
            "samples": np.round(rng.normal(size=[n, 5]), 1),
            "quantile_predictions": np.sort(rng.normal(size=[n, 3]), axis=1),
            **dict.fromkeys(("predictions", "mean"), means),
            **dict.fromkeys(("uncertainties", "var"), variances),
            "stddevs": np.sqrt(variances),
            "targets": targets,
        }
        made = {name: values[name].astype(dtype) for name in self.data}
        if weighted:
            made["sample_weight"] = rng.uniform(size=n).astype(dtype)
            made["mask"] = rng.uniform(size=n) < 0.8
        for value in made.values():
            value.flags.writeable = False  # Functions must not change their inputs.
        return made


BINS = ({}, {"n_bins": 1}, {"n_bins": 7})
LEVELS = ({}, {"level": 0.5}, {"level": (0.9, 0.1, 0.9)})
MEANS = [
    Row("compute_calibration_curve", cases=BINS),
    Row("expected_calibration_error", cases=BINS),
    Row("negative_log_likelihood", ("mean", "var", "targets")),
    Row("interval_coverage", cases=LEVELS),
    Row("calibration_error", cases=LEVELS),
    Row("sharpness", ("uncertainties",)),
    Row("interval_width", ("uncertainties",), LEVELS),
    Row("root_mean_squared_error", ("predictions", "targets")),
    Row("expected_normalized_calibration_error", cases=BINS),
    Row("evaluate_calibration", cases=BINS),
    Row("pit_histogram", ("pit",), BINS),
    Row("pit_calibration_curve", ("pit",), BINS),
    Row("pit_calibration_error", ("pit",), BINS),
    Row("pit_histogram", ("lower", "upper"), BINS),
    Row("pit_calibration_curve", ("lower", "upper"), BINS),
    Row("evaluate_calibration", ("predictions", "stddevs", "targets"), BINS),
    Row("sharpness", ("stddevs",)),
]
QUANTILES = ({"quantiles": (0.1, 0.5, 0.8)},)
TRANSFORMS = [
    Row("probability_integral_transform", mean=False),
    Row("sample_pit", ("samples", "targets"), mean=False),
    Row("quantile_pit", ("quantile_predictions", "targets"), QUANTILES, mean=False),
]


def rows(of):
    return pytest.mark.parametrize("row", of, ids=lambda row: f"{row.name}-{row.data}")


def cases(of):
    return pytest.mark.parametrize(
        ("row", "case"),
        [
            pytest.param(row, case, id=f"{row.name}-{row.data}-{i}")
            for row in of
            for i, case in enumerate(row.cases)
        ],
    )


def flat(result):
    """Returns the numbers of a result; both ends of an interval as a complex number."""
    if isinstance(result, PITInterval):
        return np.asarray(result.lower) + 1j * np.asarray(result.upper)
    if isinstance(result, PITHistogram):
        result = result._asdict()
    if isinstance(result, dict):
        return np.concatenate([np.reshape(value, -1) for value in result.values()])
    return np.asarray(result)


def raw(room, row, case, arguments):
    if "lower" in row.data:
        arguments = dict(arguments)
        arguments["pit"] = arguments.pop("lower"), arguments.pop("upper")
    return getattr(room, row.name)(**arguments, **case)


def call(room, row, case, arguments):
    return flat(raw(room, row, case, arguments))


@cases(MEANS + TRANSFORMS)
@DTYPES
def test_tensorflow_equals_numpy(row, case, dtype, rng):
    for n, weighted in ((40, False), (1, False), (40, True))[: 2 + row.mean]:
        arguments = row.arguments(rng, n, dtype, weighted)
        result = call(tf_regression, row, case, arguments)
        expected = call(np_regression, row, case, arguments)
        assert np.all(np.isfinite(expected))
        np.testing.assert_allclose(
            result, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
        )
        assert result.real.dtype == dtype
        assert expected.real.dtype == np.float64


def complete(row, arguments):
    """Returns the arguments as tensors; means always have a mask and weights."""
    if row.mean:
        ones = np.ones(len(arguments[row.data[0]]))
        arguments = {"mask": ones, "sample_weight": ones, **arguments}
    return {name: tf.constant(value) for name, value in arguments.items()}


# Compiling is slow, and the other functions add one line of arithmetic to these.
GRAPHS = [
    row
    for row in MEANS + TRANSFORMS
    if row.name == "expected_normalized_calibration_error"
    or not row.name.endswith(("calibration_error", "width"))
]


@pytest.mark.thorough
@rows(GRAPHS)
def test_graphs_of_any_size_equal_eager_values_and_give_nan_for_bad_ones(row, rng):
    case = row.cases[-1]
    good = complete(row, row.arguments(rng))
    specs = {
        name: tf.TensorSpec([None, *value.shape[1:]], value.dtype)
        for name, value in good.items()
    }
    run = tf.function(
        lambda arguments: raw(tf_regression, row, case, arguments),
        input_signature=[specs],
    )
    for n in (40, 1):
        arguments = complete(row, row.arguments(rng, n=n))
        result, eager = flat(run(arguments)), call(tf_regression, row, case, arguments)
        np.testing.assert_allclose(result, eager, rtol=1e-12, atol=1e-14)
    for arguments, _ in bad_values(row, rng):
        result = flat(run(complete(row, arguments)))
        expected = np.full(result.shape, True) if row.mean else np.arange(4) == 2
        np.testing.assert_array_equal(np.isnan(result), expected)
    for name in row.data[1:]:  # One example must not broadcast to many.
        good = complete(row, row.arguments(rng, n=4))
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            result = flat(run({**good, name: good[name][:1]}))
            assert np.all(np.isnan(result))


@DTYPES
def test_interval_coverage_counts_targets_at_the_ends(dtype):
    limit = dtype(_levels.normal_limits([0.95])[0])
    targets = np.array([limit, -limit, np.nextafter(limit, dtype(9))])
    data = np.zeros(3, dtype), np.ones(3, dtype), targets

    def coverage(*data):
        weighted = {"sample_weight": data[1]}
        return [
            tf_regression.interval_coverage(*data, **options)
            for options in ({}, weighted)
        ]

    for run in (coverage, tf.function(coverage, jit_compile=True)):
        np.testing.assert_allclose(run(*map(tf.constant, data)), 2 / 3, rtol=1e-6)
    if dtype == np.float64:
        assert np_regression.interval_coverage(*data) == 2 / 3


def forms(row, rng):
    """Yields pairs of arguments with the same result."""
    whole = row.arguments(rng, weighted=row.mean)
    names = [name for name in whole if whole[name].ndim == 1]
    for columns in (names, names[:1], names[-1:]):
        yield whole, {k: v[:, None] if k in columns else v for k, v in whole.items()}
    images = {k: v.reshape(2, 4, 5, *v.shape[1:]) for k, v in whole.items()}
    yield whole, images
    if not row.mean:
        return
    order = rng.permutation(40)
    yield whole, {k: v[order] for k, v in whole.items()}
    images = {k: images[k] for k in row.data}
    half = {k: v[:1] for k, v in images.items()}
    yield half, {**images, "mask": [True, False]}
    data = {k: whole[k] for k in row.data}
    weights = rng.integers(0, 4, 40)
    repeated = {k: np.repeat(v, weights) for k, v in data.items()}
    yield repeated, {**data, "sample_weight": weights}
    kept = rng.uniform(size=40) < 0.6
    rest = {k: v[kept] for k, v in data.items()}
    junk = {
        name: np.where(kept, value, rng.choice([np.nan, -1.0, np.inf], 40))
        for name, value in data.items()
    }
    for removed in (
        {"mask": kept},
        {"mask": kept.astype(int)},
        {"mask": kept[:, None].tolist()},
        {"sample_weight": kept.astype(float)},
        {"mask": kept, "sample_weight": np.where(kept, 1.0, 0.0)},
    ):
        yield rest, {**junk, **removed}


@rows(MEANS + TRANSFORMS)
@ROOMS
def test_all_forms_of_the_data_give_the_same_result(room, row, rng):
    case = row.cases[-1]
    for same, arguments in forms(row, rng):
        result, expected = (call(room, row, case, a) for a in (arguments, same))
        if not row.mean:  # The result has the shape of the targets.
            assert result.shape == np.shape(arguments["targets"])
            one = {k: v[3:4] for k, v in same.items()}
            np.testing.assert_allclose(call(room, row, case, one), expected[3:4])
        np.testing.assert_allclose(
            result.reshape(expected.shape), expected, rtol=1e-12, atol=1e-14
        )


@rows([row for row in MEANS + TRANSFORMS if {"uncertainties", "var"} & {*row.data}])
@ROOMS
def test_standard_deviations_may_replace_variances(room, row, rng):
    case = row.cases[-1]
    (name,) = {"uncertainties", "var"} & {*row.data}
    arguments = row.arguments(rng, weighted=row.mean)
    both = {**arguments, "stddevs": np.sqrt(arguments[name])}
    given = {key: value for key, value in both.items() if key != name}
    neither = {key: value for key, value in arguments.items() if key != name}
    expected = call(room, row, case, arguments)
    np.testing.assert_allclose(call(room, row, case, given), expected, rtol=1e-12)
    position = {**given, name: None}  # As in a call by position.
    np.testing.assert_allclose(call(room, row, case, position), expected, rtol=1e-12)
    message = f"Exactly one of `{name}` and `stddevs` must be given. Received: "
    for arguments, received in (
        (both, f"`{name}` and `stddevs`"),
        (neither, "none of them"),
    ):
        with pytest.raises(ValueError, match=re.escape(message + received)):
            call(room, row, case, arguments)
    if "targets" in given:
        del given["targets"]
        with pytest.raises(ValueError, match="`targets` must be given"):
            call(room, row, case, given)


@ROOMS
def test_temperature_scaling_takes_standard_deviations(room, rng):
    means, variances, targets = Row("").arguments(rng).values()
    stddevs = np.sqrt(variances)
    scaler = room.TemperatureScaling().fit(means, targets=targets, stddevs=stddevs)
    expected = room.TemperatureScaling().fit(means, variances, targets).temperature
    assert scaler.temperature == pytest.approx(expected)
    scaled = scaler.transform(stddevs=stddevs)
    np.testing.assert_allclose(scaled, np.sqrt(scaler.transform(variances)))
    for bad in ({}, {"uncertainties": variances, "stddevs": stddevs}):
        with pytest.raises(ValueError, match="Exactly one of `uncertainties` and `std"):
            scaler.transform(**bad)
    for value in (-1.0, 0.0, np.nan, 1e-200, 1e200):
        with pytest.raises(ValueError, match="`stddevs` must be") as raised:
            scaler.transform(stddevs=[1.0, value])
        assert "Received" in str(raised.value)


def bad_shapes(row, rng):
    """Yields arguments of a wrong shape, and a word of the message."""
    good = row.arguments(rng, n=4)
    last = row.data[-1]
    for name in row.data[:-1]:
        yield {**good, name: good[name][:3]}, name
        yield {**good, name: np.ones([1, 4])}, name
        yield {**good, name: 1.0}, name
    yield {name: value[:0] for name, value in good.items()}, last
    yield {**good, last: [[0.5], [0.25, 0.75]]}, last
    if row.mean:
        for name in ("mask", "sample_weight"):
            yield {**good, name: np.ones(3)}, name
            yield {**good, name: np.ones([4, 4])}, name
    elif len(row.data) == 2:
        swapped = dict(zip(row.data, reversed(good.values()), strict=True))
        yield swapped, "swapped"
        yield {**swapped, row.data[0]: good["targets"][:, None]}, "swapped"
        yield {**good, row.data[0]: good[row.data[0]][:, :0]}, row.data[0]


def traced(row, arguments):
    """Calls the function inside a graph."""
    case = row.cases[0]
    call = tf.function(
        lambda: raw(tf_regression, row, case, arguments), autograph=False
    )
    return call()


@rows(MEANS + TRANSFORMS)
@ROOMS
def test_bad_shapes_raise(room, row, rng):
    for arguments, word in bad_shapes(row, rng):
        with pytest.raises(ValueError, match=word) as raised:
            call(room, row, row.cases[0], arguments)
        assert "Received" in str(raised.value)
        if room is tf_regression:
            with pytest.raises(ValueError, match=word):
                traced(row, arguments)
    good = row.arguments(rng, n=2)
    for name in (*row.data, *(("mask", "sample_weight") if row.mean else ())):
        with pytest.raises(TypeError, match=name):
            call(room, row, row.cases[0], {**good, name: ["a", "b"]})


BAD = {
    **dict.fromkeys(("pit", "lower", "upper"), (np.nan, -0.1, 1.1)),
    **dict.fromkeys(("uncertainties", "var", "stddevs"), (np.nan, np.inf, 0.0, -1.0)),
}


def bad_values(row, rng):
    good = row.arguments(rng, n=4)
    for name in row.data:
        for value in BAD.get(name, (np.nan, np.inf)):
            array = good[name].copy()
            array[(2, *[0] * (array.ndim - 1))] = value
            yield {**good, name: array}, name
    if row.mean:
        for value in (2.0, -1.0, np.nan):
            yield {**good, "mask": np.array([1.0, 1.0, value, 0.0])}, "mask"
        for value in (-1.0, np.nan, np.inf):
            weights = np.array([1.0, 1.0, value, 0.0])
            yield {**good, "sample_weight": weights}, "sample_weight"
        yield {**good, "mask": np.zeros(4)}, row.data[-1]
        yield {**good, "sample_weight": np.zeros(4)}, row.data[-1]
    if "lower" in row.data:
        crossed = np.array([0.0, 0.5, 0.8, 0.8])
        yield {**good, "lower": crossed, "upper": crossed - [0, 0, 0.25, 0]}, "lower"
    if row.name == "quantile_pit":
        crossed = good[row.data[0]].copy()
        crossed[2] = crossed[2][::-1]
        yield {**good, row.data[0]: crossed}, row.data[0]


@rows(MEANS + TRANSFORMS)
def test_bad_values_raise(row, rng):
    for arguments, name in bad_values(row, rng):
        messages = []
        for room in (np_regression, tf_regression):
            with pytest.raises(ValueError, match=f"`{name}`") as raised:
                call(room, row, row.cases[0], arguments)
            assert "Received" in str(raised.value)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


@ROOMS
def test_quantiles_must_ascend(room):
    for bad in (0.5, [0.5], [0.5, 0.5], [0.8, 0.5, 0.1]):
        with pytest.raises(ValueError, match="`quantiles`"):
            room.quantile_pit(np.ones([2, 3]), np.ones(2), bad)


def test_gradients_of_the_likelihood_equal_finite_differences(rng):
    arguments = Row("", ("mean", "var", "targets")).arguments(rng, n=5)
    weights, mask = np.array([1.0, 2.0, 0.5, 0.0, 1.0]), np.array([1, 1, 1, 1, 0])
    for name, value in arguments.items():
        variable = tf.constant(value)

        def loss(value, name=name):
            return tf_regression.negative_log_likelihood(
                **{**arguments, name: value}, mask=mask, sample_weight=weights
            )

        with tf.GradientTape() as tape:
            tape.watch(variable)
            result = loss(variable)
        expected = references.slopes(loss, value)
        np.testing.assert_allclose(tape.gradient(result, variable), expected, atol=1e-8)


@pytest.mark.parametrize("spread", ["var", "stddevs"])
def test_gradients_of_a_likelihood_by_numpy_equal_finite_differences(
    spread, rng, monkeypatch
):
    monkeypatch.setattr(_inputs, "SHORTCUT", True)
    arguments = Row("", ("mean", "var", "targets")).arguments(rng, n=5)
    arguments[spread] = arguments.pop("var")
    for name, value in arguments.items():
        variable = tf.constant(value)

        def loss(value, name=name):
            return tf_regression.negative_log_likelihood(**{**arguments, name: value})

        with tf.GradientTape() as tape:
            tape.watch(variable)
            result = loss(variable)
        gradient = tape.gradient(result, variable)
        np.testing.assert_allclose(gradient, references.slopes(loss, value), atol=1e-8)


def test_gradients_are_finite_if_masked_values_are_nan():
    variances = tf.constant([1.0, -1.0, np.nan])
    with tf.GradientTape() as tape:
        tape.watch(variances)
        loss = tf_regression.negative_log_likelihood(
            [0.0, np.nan, 0.0], variances, [1.0, 0.0, np.inf], mask=[1, 0, 0]
        )
    assert tape.gradient(loss, variances).numpy().tolist() == [0.0, 0.0, 0.0]


def test_float32_sums_do_not_drift(rng):
    n = 200_000
    means = np.full(n, 1000.0, np.float32)
    variances = rng.uniform(0.5, 2, n).astype(np.float32)
    targets = means + rng.normal(size=n).astype(np.float32)
    result = tf_regression.evaluate_calibration(means, variances, targets)
    expected = np_regression.evaluate_calibration(means, variances, targets)
    for name, value in expected.items():
        assert float(result[name]) == pytest.approx(value, rel=3e-6), name
    result = tf_regression.ence(means, variances, targets)
    expected = np_regression.ence(means, variances, targets)
    assert float(result) == pytest.approx(expected, rel=1e-4)


def test_temperature_scaling_equals_numpy(rng, tmp_path):
    data = Row("").arguments(rng, weighted=True, dtype=np.float32)
    tensors = {name: tf.constant(value) for name, value in data.items()}
    expected = np_regression.TemperatureScaling().fit(**data)
    scaler = tf_regression.TemperatureScaling().fit(**tensors)
    assert scaler.temperature == expected.temperature
    variances = tensors["uncertainties"]
    scaled = scaler.transform(variances)
    assert scaled.dtype == tf.float32
    np.testing.assert_allclose(
        scaled, expected.transform(data["uncertainties"]), rtol=1e-6
    )
    assert scaler.transform(tf.cast(variances, tf.float64)).dtype == tf.float64
    compiled = tf.function(
        scaler.transform, input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    np.testing.assert_array_equal(compiled(variances), scaled)
    assert np.isnan(compiled([1.0, 0.0, -1.0, np.inf])).tolist() == [False] + [True] * 3
    expected.save(tmp_path / "scaler.json")
    loaded = tf_regression.TemperatureScaling.load(tmp_path / "scaler.json")
    assert loaded.temperature == expected.temperature
    assert isinstance(loaded, tf_regression.TemperatureScaling)


@ROOMS
def test_temperature_scaling_refuses_bad_data(room):
    scaler = room.TemperatureScaling()
    with pytest.raises(ValueError, match="call `fit` first"):
        scaler.transform([1.0])
    scaler.fit([0.0], [1.0], [2.0])
    with pytest.raises(ValueError, match="temperature is 0"):
        scaler.fit([1.0, 2.0], [1.0, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="`uncertainties` must be variances > 0"):
        scaler.fit([0.0], [0.0], [2.0])
    assert scaler.temperature == 4.0
    for bad in ([0.0], [-1.0], [np.nan], [np.inf], []):
        with pytest.raises(ValueError, match="uncertainties"):
            scaler.transform(bad)
    with pytest.raises(TypeError, match="uncertainties"):
        scaler.transform(["a"])


Y = np.array([-1.5, -1.0, 0.0, 0.3, 1.0, 2.0, 2.5, 7.0])


@pytest.mark.first(4, "thorough")
@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (tfd.Normal(np.float64(1), 2.0), stats.norm(1, 2)),
        (tfd.Gamma(np.float64(2), 3.0), stats.gamma(2, scale=1 / 3)),
        (tfd.Uniform(np.float64(0), 2.0), stats.uniform(0, 2)),
        (tfd.StudentT(np.float64(3), 0.5, 2.0), stats.t(3, 0.5, 2)),
        (tfd.Weibull(np.float64(1.5), 2.0), stats.weibull_min(1.5, scale=2)),
        (tfd.Poisson(np.float64(2)), stats.poisson(2)),
        (tfd.Geometric(probs=np.float64(0.3)), stats.geom(0.3, -1)),
        (tfd.Bernoulli(probs=np.float64(0.3)), stats.bernoulli(0.3)),
        (tfd.Categorical(probs=[0.2, 0.3, 0.5]), ([0, 1, 2], [0.2, 0.3, 0.5])),
        (
            tfd.FiniteDiscrete(np.array([-1.5, 0.3, 2.0]), probs=[0.2, 0.3, 0.5]),
            ([-1.5, 0.3, 2.0], [0.2, 0.3, 0.5]),
        ),
        (tfd.Deterministic(np.float64(1)), ([1.0], [1.0])),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_distribution_pit_equals_scipy(distribution, expected):
    if isinstance(expected, tuple):
        atoms, masses = np.array(expected)
        below, at = (
            np.sum(masses * compare, axis=1)
            for compare in (atoms < Y[:, None], atoms == Y[:, None])
        )
        expected = below + 1j * (below + at)
    elif hasattr(expected.dist, "pmf"):
        expected = expected.cdf(Y) - expected.pmf(Y) + 1j * expected.cdf(Y)
    else:
        expected = expected.cdf(Y)
    for targets in (Y, Y[:, None], Y.reshape(2, 4)):
        pit = flat(tf_regression.distribution_pit(distribution, targets))
        assert pit.shape == targets.shape
        np.testing.assert_allclose(np.reshape(pit, -1), expected, atol=1e-6)
    run = tf.function(
        lambda y: tf_regression.distribution_pit(distribution, y),
        input_signature=[tf.TensorSpec([None], tf.float64)],
    )
    np.testing.assert_allclose(flat(run(Y)), expected, atol=1e-6)


@DTYPES
def test_distribution_pit_of_normals_equals_numpy(dtype, rng):
    data = Row("").arguments(rng, dtype=dtype)
    expected = np_regression.probability_integral_transform(**data)
    means, variances, targets = data.values()
    for shape in ([40], [40, 1]):
        forecast = tfd.Normal(means.reshape(shape), np.sqrt(variances).reshape(shape))
        pit = tf_regression.distribution_pit(forecast, targets)
        assert pit.dtype == dtype
        np.testing.assert_allclose(pit, expected, atol=TOLERANCE[dtype])
    run = tf.function(
        lambda means, stddevs, y: tf_regression.distribution_pit(
            tfd.Normal(means, stddevs), y
        ),
        jit_compile=True,
    )
    stddevs, targets = np.sqrt(variances), targets.copy()
    stddevs[3], targets[4] = -1, np.nan
    pit = run(means, stddevs, targets).numpy()
    assert np.flatnonzero(np.isnan(pit)).tolist() == [3, 4]
    np.testing.assert_allclose(
        np.delete(pit, [3, 4]), np.delete(expected, [3, 4]), atol=TOLERANCE[dtype]
    )


TWO = tfd.Normal([0.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("distribution", "targets", "error", "message"),
    [
        *[
            (TWO, y, ValueError, "`distribution`")
            for y in ([0.0], [0.0, 1.0, 2.0], [[0.0, 1.0], [2.0, 3.0]])
        ],
        (TWO, [0.0, np.nan], ValueError, "`targets` must be finite"),
        (TWO, ["a", "b"], TypeError, "`targets`"),
        (tfd.Normal(0.0, 1.0), [], ValueError, "`targets`"),
        (tfd.Normal(0.0, -1.0), [0.0], ValueError, "`distribution` must have param"),
        (tfd.Normal(np.nan, 1.0), [0.0], ValueError, "`distribution`"),
        (tfd.MultivariateNormalDiag([0.0]), [0.0], ValueError, "event_shape"),
        ([0.0], [0.0], TypeError, "`distribution`"),
    ],
)
def test_bad_arguments_of_distribution_pit_raise(distribution, targets, error, message):
    with pytest.raises(error, match=message):
        tf_regression.distribution_pit(distribution, targets)
