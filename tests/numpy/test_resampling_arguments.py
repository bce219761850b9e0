"""The arguments that the bootstrap takes, and those that it refuses."""

import functools
import inspect

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue
from uncertainty_metrics import _arguments, _progress

N = 23
FEW = {"num_resamples": 50, "seed": 0}


def classifier(rng, n=N):
    return {
        "labels": rng.integers(0, 4, n),
        "probabilities": rng.dirichlet(np.full(4, 0.5), n),
    }


def test_arguments_by_position_equal_arguments_by_name(rng):
    labels, p = classifier(rng).values()
    by_name = um.bootstrap(um.ece, labels=labels, probabilities=p, num_bins=5, **FEW)
    assert um.bootstrap(um.ece, labels, p, num_bins=5, **FEW) == by_name
    assert um.bootstrap(um.ece, labels, probabilities=p, num_bins=5, **FEW) == by_name
    assert um.bootstrap(functools.partial(um.ece, num_bins=5), labels, p, **FEW) == (
        by_name
    )
    x = rng.normal(size=N)
    assert um.bootstrap(np.mean, x, **FEW) == um.bootstrap(np.mean, a=x, **FEW)


def test_data_bound_to_a_metric_of_the_package_are_resampled(rng):
    labels, p = classifier(rng).values()
    bound = um.bootstrap(functools.partial(um.ece, labels, num_bins=3), probs=p, **FEW)
    assert bound == um.bootstrap(um.ece, labels=labels, probs=p, num_bins=3, **FEW)


def test_functions_for_tensors_are_replaced_by_their_numpy_twin(rng):
    def expected_calibration_error(**data):
        raise AssertionError

    expected_calibration_error.__declaration__ = um.ece
    data = {**classifier(rng), **FEW}
    ours = um.bootstrap(expected_calibration_error, **data)
    assert ours == um.bootstrap(um.ece, **data)


GOOD = {"labels": [0, 1, 1], "probabilities": [0.2, 0.4, 0.9]}
BAD_OF_ECE = [
    ({"labels": [0, 1, 1, 1]}, "`probabilities` must hold as many examples as"),
    # Here the probabilities are one example of three classes.
    ({"labels": 1}, "`labels` must hold at least two examples"),
    ({"labels": [[0], [1, 1]]}, "`labels` must be a rectangular array"),
    ({"labels": [0, 1, 2]}, "`labels` must be integers in"),
    ({"labels": [0], "probabilities": [0.5]}, "`labels` must hold at least two"),
    ({"num_bins": 0}, "`num_bins` must be"),
    ({"labels": object()}, "`labels` must be a rectangular array of numbers"),
    ({"labels": ["a", "b", "c"]}, "`labels` must be numbers"),
]
EIGHT = {"x": np.arange(8.0)}
BAD = [
    *((um.ece, {**GOOD, **changes}, message) for changes, message in BAD_OF_ECE),
    (lambda x: x**2, EIGHT, "pass one that returns a mean"),
    (lambda x: "text", EIGHT, "one that returns str"),
    (lambda x: None, EIGHT, "one that returns NoneType"),
    (lambda x: np.unique(x)[1:], EIGHT, "one shape for all resamples"),
    (um.bin_statistics, GOOD, "BinStatistics"),
    (lambda: 1.0, {}, r"Pass the data.*Received: nothing"),
    (lambda x: 1.0, {"x": 1.0}, r"Pass the data.*Received: \['x'\]"),
]


@pytest.mark.parametrize(("metric", "data", "message"), BAD)
def test_bad_arguments_raise(metric, data, message):
    with pytest.raises(ValueError, match=message):
        um.bootstrap(metric, **data)


def test_bad_types_raise():
    with pytest.raises(TypeError, match="`metric` must be a function"):
        um.bootstrap("ece", **GOOD)
    for arguments, options in (
        (([0, 1], [0.2, 0.4], 500), {}),
        (([0, 1],), {"probs": [0.2, 0.4], "bins": 3}),
        (([0, 1], [0.2, 0.4]), {"labels": [0, 1]}),
    ):
        with pytest.raises(TypeError, match="`metric` must take these arguments: "):
            um.bootstrap(um.ece, *arguments, **options)
    for metric in (lambda *x: 1.0, lambda x, /: 1.0):
        with pytest.raises(TypeError, match="Pass the data by name"):
            um.bootstrap(metric, [0.2, 0.4])
    with pytest.raises(TypeError, match="`first` must be a mapping"):
        um.bootstrap_difference(um.ece, [0.2, 0.4], [0.2, 0.4], labels=[0, 1])


@pytest.mark.filterwarnings("ignore:.*Pareto")
def test_scores_of_examples_are_refused(rng):
    with pytest.raises(ValueError, match="value for each of the 23 examples"):
        um.bootstrap(um.psis_loo, logp=5 * rng.normal(size=(N, 30)))


def test_models_must_have_the_same_examples(rng):
    first, second = classifier(rng), classifier(rng, N + 1)
    with pytest.raises(ValueError, match="`second` must have as many examples"):
        um.bootstrap_difference(um.ece, first, second)
    columns = {"x": np.ones((8, 3))}, {"x": np.ones((8, 2))}
    with pytest.raises(ValueError, match="and results as `first`, 8 and 3"):
        um.bootstrap_difference(lambda x: x.mean(axis=0), *columns)


def test_progress_needs_tqdm(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tqdm", None)
    with pytest.raises(ImportError, match="extra `progress`"):
        _progress.track(range(3), 3, True, "fold")
    assert list(_progress.track(range(3), 3, False, "fold")) == [0, 1, 2]


def test_signatures_have_the_specified_parameters():
    options = ["num_resamples", "level", "method", "seed", "progress"]
    options += ["clusters", "block", "data"]
    assert list(inspect.signature(um.bootstrap).parameters) == [
        *("metric", "arguments"),
        *options,
    ]
    assert list(inspect.signature(um.bootstrap_difference).parameters) == [
        *("metric", "first", "second"),
        *options,
    ]


@catalogue.each(row for row in catalogue.CALLABLES if row.half != "tensors")
def test_arrays_with_an_axis_of_examples_are_data(row, rng):
    """`is_data` knows each array that the Rows draw; no other axis has N entries."""
    for _ in range(4):
        for name, value in row.draw(rng, (N,)).items():
            shape = np.shape(value) if isinstance(value, list | np.ndarray) else ()
            assert _arguments.is_data(name, len(shape)) == (N in shape), (
                f"`{name}` {list(shape)}: see uncertainty_metrics/_arguments.py"
            )
