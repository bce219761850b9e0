"""Every streaming metric of the package, its options, its data and how it is read."""

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import catalogue
from tests.catalogue import kinds


class Stream(NamedTuple):
    """A metric as `MetricState` names it, its options, and what makes its data."""

    metric: str
    options: Mapping[str, Any]
    data: Callable[..., catalogue.Data]

    def make(self, **more):
        return operator.attrgetter(self.metric)(um)(**self.options, **more)


STREAMS = {
    row.metric: Stream(row.metric, row.metric_cases[0][0], row.lattice)
    for row in reversed(catalogue.METRICS)
}


# Which metrics a test runs. The functions below return a key, and metrics with equal
# keys are alike in some way. Tests that depend on nothing else run one metric of each
# key by default, and all metrics in the exhaustive run.


def kernel(row):
    """Returns a key that is equal for metrics that score examples in the same way."""
    return row.kernel or row.metric


def owner(row, method):
    """Returns the class that defines a method of the metric."""
    classes = kinds.found(row.metric, um).__mro__
    return next(each for each in classes if method in vars(each))


def reader(row):
    """Returns a key that is equal for metrics that read arguments in the same way."""
    return owner(row, "update_state")


def holder(row):
    """Returns a key that is equal for metrics that read their state in the same way."""
    return owner(row, "result")


def kind(row):
    """Returns a key of reader, holder and, for metrics with bins, kernel."""
    return reader(row), holder(row), row.kernel if "bins" in kernel(row) else None


def first_alike(rows, alike):
    """Yields each row with its marks: the default run has the first row of each key."""
    seen = set()
    # Presets come before the general class, which has all their options.
    for row in sorted(rows, key=lambda row: row.metric == "GeneralCalibrationError"):
        yield row, [pytest.mark.exhaustive] if alike(row) in seen else []
        seen.add(alike(row))


def rows_with_options(rows, alike=id):
    """Parametrizes a test over rows and their first options."""
    params = [
        pytest.param(
            *(row, row.metric_cases[0][0]), id=f"{row.metric}-{row.name}", marks=marks
        )
        for row, marks in first_alike(rows, alike)
    ]
    return pytest.mark.parametrize(("row", "options"), params)


every_row = rows_with_options(catalogue.METRICS)
every_kind = rows_with_options(catalogue.METRICS, kind)
every_holder = rows_with_options(catalogue.METRICS, holder)
every_reader = rows_with_options(catalogue.METRICS, reader)
every_classifier = rows_with_options(catalogue.CLASS_METRICS, reader)
every_stream = pytest.mark.parametrize(
    "stream",
    [
        pytest.param(STREAMS[row.metric], id=row.metric, marks=marks)
        for row, marks in first_alike(
            {row.metric: row for row in catalogue.METRICS}.values(), kind
        )
    ],
)


# Functions that make, update and read metrics.


def make_for_graph(row, options, **more):
    """Makes a metric with few cells; its state has its shape before the first batch."""
    made = row.made(options)
    takes = inspect.signature(type(made)).parameters
    shape = {"num_classes": 3, **catalogue.FEW_CELLS}
    known = {name: shape[name] for name in shape if name in takes}
    if made._has_sums:  # It has its state without the number.
        known.pop("num_classes", None)
    return row.made({**known, **options}, **more)


def parts(data, count):
    """Splits the data into `count` batches, tuples of arguments of `update_state`."""
    columns = [
        np.array_split(column, count)
        for column in (data.labels, data.predictions, data.weights)
    ]
    return list(zip(*columns, strict=True))


def plain(result):
    """Returns a result as floats."""
    if isinstance(result, Mapping):
        return {name: plain(part) for name, part in result.items()}
    return np.asarray(result).tolist()


def in_order(result):
    return list(result.values()) if isinstance(result, dict) else result


def value(result):
    """Returns a result, a scalar or a dict, as a flat array."""
    parts = in_order(result)
    parts = parts if isinstance(parts, list | tuple) else [parts]
    return np.array([float(part) for part in parts])


def read(metric):
    return value(metric.result())


def assert_close(row, result, expected, atol=3e-7):
    atol = max(atol * row.scale, row.precision)
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


def feed(metric, data, batches=3, weighted=False, update=None):
    """Updates the metric and returns its value."""
    for batch in parts(data, batches):
        (update or metric.update_state)(*batch[: 2 + weighted])
    return read(metric)
