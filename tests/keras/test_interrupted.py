"""An update that is interrupted leaves the state of before, or that of after."""

import contextlib
import pathlib
import sys

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import catalogue

pytestmark = pytest.mark.keras

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
    """Returns what the variables hold; those not made yet hold nothing."""
    arrays = {v.name.split(":")[0].split("/")[-1]: v.numpy() for v in metric.variables}
    return {name: array for name, array in arrays.items() if np.any(array)}


def same(state, other):
    return state.keys() == other.keys() and all(
        np.array_equal(state[name], other[name]) for name in state
    )


def check(make, batch, tries, rng):
    """Interrupts updates of the metrics that `make` makes, each before one line."""
    metric = make()
    before = state(metric)
    metric.update_state(*batch)
    after = state(metric)
    metric = make()
    last = count_lines(lambda: metric.update_state(*batch))
    undone = 0
    for line in (1, last, *rng.integers(1, last + 1, tries).tolist()):
        metric = make()
        error = (RuntimeError, KeyboardInterrupt)[line % 2]
        with pytest.raises(error):
            interrupt(lambda: metric.update_state(*batch), line, error)  # noqa: B023
        found = state(metric)
        assert same(found, before) or same(found, after), f"line {line} of {last}"
        if same(found, before):
            undone += 1
            metric.update_state(*batch)  # It works again.
            assert same(state(metric), after), f"line {line} of {last}"
    assert undone > 0


@pytest.mark.tensors
@pytest.mark.parametrize(
    ("row", "options"),
    [(row, row.metric_cases[0][0]) for row in catalogue.METRICS],
    ids=[f"{row.metric}-{row.name}" for row in catalogue.METRICS],
)
def test_interrupted_update_changes_all_or_nothing(row, options, rng):
    data = row.lattice(rng, 8)

    def make():
        metric = getattr(um, row.metric)(**options)
        metric.update_state(data.labels, data.predictions)
        return metric

    check(make, (data.labels, data.predictions, data.weights), 3, rng)


# They make variables of the shape of the first batch.
@pytest.mark.parametrize(
    "name", ["StaticCalibrationError", "AdaptiveCalibrationError", "BrierDecomposition"]
)
def test_interrupted_first_update_makes_the_state_or_not(name, rng):
    data = catalogue.lattice(rng, 8)
    check(getattr(um, name), (data.labels, data.predictions), 20, rng)
