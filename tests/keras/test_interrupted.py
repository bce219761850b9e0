"""An interrupted update leaves the state as it was before it, or as it is after it."""

import contextlib
import pathlib
import sys

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import every_kind
from uncertainty_metrics.numpy import _metric_state as states

pytestmark = [pytest.mark.keras, pytest.mark.thorough]

PACKAGE = str(pathlib.Path(um.__file__).parent)


@contextlib.contextmanager
def watched(at_line):
    """Calls a function before every line of the package that is executed."""

    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            at_line()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def count_lines(function):
    lines = 0

    def count():
        nonlocal lines
        lines += 1

    with watched(count):
        function()
    return lines


def interrupt(function, line, error):
    """Runs the function and raises the error before one of its lines."""
    left = line

    def maybe_raise():
        nonlocal left
        left -= 1
        if left == 0:
            raise error

    with watched(maybe_raise):
        function()


def state(metric):
    """Returns the variables that are not all 0; a missing variable equals zeros."""
    arrays = {
        v.name.split(":")[0].split("/")[-1]: np.asarray(v) for v in metric.variables
    }
    return {name: array for name, array in arrays.items() if np.any(array)}


def same(state, other):
    return state.keys() == other.keys() and all(
        np.array_equal(state[name], other[name]) for name in state
    )


def check(make, change, tries, rng):
    """Interrupts `change` before some of its lines, each time on a new metric."""
    metric = make()
    before = state(metric)
    change(metric)
    after = state(metric)
    metric = make()
    last = count_lines(lambda: change(metric))
    undone = 0
    lines = range(1, last + 1) if tries is None else rng.integers(1, last + 1, tries)
    for line in {1, last, *map(int, lines)}:
        metric = make()
        error = (MemoryError, KeyboardInterrupt)[line % 2]
        with pytest.raises(error):
            interrupt(lambda: change(metric), line, error)  # noqa: B023
        found = state(metric)
        assert same(found, before) or same(found, after), f"line {line} of {last}"
        metric.get_state()  # Does not raise.
        if same(found, before):
            undone += 1
            change(metric)  # Works this time.
            assert same(state(metric), after), f"line {line} of {last}"
    assert undone > 0


@pytest.mark.tensors
@every_kind
def test_interrupted_update_changes_all_or_nothing(row, options, rng):
    data = row.lattice(rng, 8)

    def make():
        metric = row.made(options)
        metric.update_state(data.labels, data.predictions)
        return metric

    batch = (data.labels, data.predictions, data.weights)
    check(make, lambda metric: metric.update_state(*batch), 3, rng)


# The first batch gives the variables of these metrics their shape.
@pytest.mark.parametrize(
    "name", ["StaticCalibrationError", "AdaptiveCalibrationError", "BrierDecomposition"]
)
def test_interrupted_first_update_makes_all_or_nothing(name, rng):
    data = catalogue.lattice(rng, 8)
    batch = (data.labels, data.predictions)
    check(getattr(um, name), lambda metric: metric.update_state(*batch), 20, rng)


@pytest.mark.parametrize("name", ["StaticCalibrationError", "BrierScore"])
@pytest.mark.parametrize("change", ["reset", "set", "set first", "set none", "merge"])
@pytest.mark.first(2)
def test_interrupted_changes_of_the_state_are_all_or_nothing(name, change, rng):
    data = catalogue.lattice(rng, 8)
    weighted = getattr(um, name)()
    weighted.update_state(data.labels, data.predictions, data.weights + 0.3)
    weighted = weighted.get_state()
    empty = getattr(um, name)().get_state()

    def make():
        metric = getattr(um, name)()
        if change != "set first":
            metric.update_state(data.labels, data.predictions)
        return metric

    changes = {
        "reset": lambda metric: metric.reset_state(),
        "set": lambda metric: metric.set_state(weighted),
        "set first": lambda metric: metric.set_state(weighted),
        "set none": lambda metric: metric.set_state(empty),
        "merge": lambda metric: metric.merge_state([weighted]),
    }
    check(make, changes[change], 40 if change == "merge" else None, rng)


@pytest.mark.tensors
def test_an_interrupt_removes_the_bound_on_cells():
    bounded = states.bounded_by(um.Accuracy().get_state())
    bounded.__enter__()
    with pytest.raises(ValueError, match="Received: "):
        states.check_cells((2, 10**9))
    del bounded  # As if an interrupt came before `__exit__`.
    states.check_cells((2, 10**9))
