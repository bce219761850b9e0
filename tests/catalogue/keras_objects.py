"""Rows of layers, of a callback, and of metrics that have no function."""

import functools

from tests.catalogue.kinds import ObjectRow

_row = functools.partial(ObjectRow, halves=("tensors",))

KERAS_OBJECTS = (
    _row(
        "MetricCollection",
        make=lambda m, rng: m.MetricCollection([m.BrierScore(), m.AURC()]),
    ),
    _row(
        "regression.QuantileCoverage",
        make=lambda m, rng: m.regression.QuantileCoverage([0.1, 0.5, 0.9], 0.8),
    ),
    _row("AUC", make=lambda m, rng: m.AUC(num_thresholds=50)),
    _row("TemperatureScalingLayer", make=lambda m, rng: m.TemperatureScalingLayer()),
    _row("VectorScalingLayer", make=lambda m, rng: m.VectorScalingLayer(ridge=2.0)),
    _row(
        "MatrixScalingLayer",
        make=lambda m, rng: m.MatrixScalingLayer(regularization="odir"),
    ),
    _row(
        "conformal.ConformalSetLayer",
        make=lambda m, rng: m.conformal.ConformalSetLayer("aps", 0.2),
    ),
    _row(
        "ReliabilityDiagramCallback",
        make=lambda m, rng: m.ReliabilityDiagramCallback("logs"),
    ),
)
