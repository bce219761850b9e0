"""Every streaming metric of the package, with its options and data for it."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import catalogue


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
every_stream = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


def parts(data, count):
    """Returns the data in so many parts, as the arguments of `update_state`."""
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
