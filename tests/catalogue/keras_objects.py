"""Rows of layers, of a callback, and of metrics that have no function."""

import uncertainty_metrics as um
from tests.catalogue.kinds import KerasRow

KERAS_OBJECTS = (
    KerasRow(
        "MetricCollection",
        make=lambda folder: um.MetricCollection([um.BrierScore(), um.AURC()]),
    ),
    KerasRow("AUC", make=lambda folder: um.AUC(num_thresholds=50)),
    KerasRow(
        "TemperatureScalingLayer", make=lambda folder: um.TemperatureScalingLayer()
    ),
    KerasRow(
        "VectorScalingLayer", make=lambda folder: um.VectorScalingLayer(ridge=2.0)
    ),
    KerasRow(
        "MatrixScalingLayer",
        make=lambda folder: um.MatrixScalingLayer(regularization="odir"),
    ),
    KerasRow(
        "conformal.ConformalSetLayer",
        make=lambda folder: um.conformal.ConformalSetLayer("aps", 0.2),
    ),
    KerasRow("ReliabilityDiagramCallback", make=um.ReliabilityDiagramCallback),
)
