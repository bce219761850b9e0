"""Every streaming metric of the package, with its options and data for it."""

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import catalogue

REGRESSION = {
    "ExpectedCalibrationError": {"n_bins": 7},
    "IntervalCoverage": {"level": 0.8},
    "IntervalWidth": {"level": 0.8},
    "NegativeLogLikelihood": {"scale_transform": "variance"},
    "RootMeanSquaredError": {},
    "Sharpness": {},
}


class Stream(NamedTuple):
    """A metric as `MetricState` names it, its options, and what makes its data."""

    metric: str
    options: Mapping[str, Any]
    data: Callable[..., catalogue.Data]

    def make(self, **more):
        return operator.attrgetter(self.metric)(um)(**self.options, **more)


def _of_members(rng, n=40):
    members = rng.dirichlet(np.ones(3), [n, 4])
    return dataclasses.replace(catalogue.data(rng, n), predictions=members)


def _of_concentrations(rng, n=40):
    alphas = rng.uniform(0.5, 4, [n, 3])
    return dataclasses.replace(catalogue.data(rng, n), predictions=alphas)


def _of_forecasts(rng, n=40):
    forecasts = np.stack([rng.normal(size=n), rng.uniform(0.5, 2, n)], axis=1)
    weights = catalogue.data(rng, n).weights
    return catalogue.Data(rng.normal(size=n), forecasts, weights)


def _streams():
    for row in catalogue.METRICS:
        yield Stream(row.metric, row.metric_cases[0][0], row.lattice)
    for name, path in catalogue.KERAS_ONLY.items():
        if path == "tests/keras/test_ensemble.py":
            alone = name == "KnowledgeUncertainty"
            yield Stream(name, {}, _of_concentrations if alone else _of_members)
    for name in ("BayesianExpectedCalibrationError", "DebiasedCalibrationError"):
        yield Stream(name, {}, catalogue.data)
    for name, options in REGRESSION.items():
        yield Stream(f"regression.{name}", options, _of_forecasts)


STREAMS = {stream.metric: stream for stream in _streams()}
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
