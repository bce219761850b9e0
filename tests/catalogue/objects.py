"""Rows of the classes that are no Keras classes, and of all other public objects."""

import pathlib

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import calibrators
from tests.catalogue.kinds import ObjectRow
from tests.makers import data


def _fitted(room, rng):
    logits = rng.normal(size=(30, 3))
    labels = np.where(rng.random(30) < 0.7, np.argmax(logits, axis=1), 0)
    return room.TemperatureScaling().fit(labels, logits)


def _calibrator(make):
    """Makes the row of a calibrator, whose class is the same in both halves."""
    name = type(make()).__name__

    def fitted(room, rng):
        logits = rng.normal(size=(60, 3))
        labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
        if name.startswith("Ensemble"):
            logits = logits[:, None] + rng.normal(size=(60, 4, 3))
        return make().fit(labels, logits)

    return ObjectRow(name, make=fitted)


def _fitted_forecasts(room, rng):
    scaling = room.regression.TemperatureScaling()
    return scaling.fit(rng.normal(size=30), np.ones(30), rng.normal(size=30))


def _fitted_pit(room, rng):
    return room.regression.PITCalibration().fit(pit=rng.uniform(size=30))


def _conformal(room, rng):
    made = data(rng)
    return room.conformal.ConformalClassifier("aps").fit(made.labels, made.predictions)


def _conformal_forecasts(room, rng):
    return room.conformal.ConformalRegressor().fit(*rng.normal(size=(2, 30)))


def _adaptive(room, rng):
    adaptive = room.conformal.AdaptiveConformal(0.1, rate="aggregated")
    adaptive.quantile(rng.normal(size=30))
    adaptive.update(rng.normal())
    return adaptive


def _with_two_classes(room, rng):
    labels, p = rng.integers(0, 2, 30), rng.random(30)
    return room.VennAbersCalibration().fit(labels, probabilities=p)


def _of_shifted_classes(room, rng):
    labels = np.arange(60) % 2
    p = 1 / (1 + np.exp(-rng.normal(4.0 * labels - 2)))
    return room.LabelShift(num_resamples=100).fit(labels, p).adapt(p[:40])


def _accumulated(room, rng):
    metric = room.GeneralCalibrationError("even", True, False, "l1")
    made = data(rng)
    metric.update_state(made.labels, made.predictions)
    return metric


def _distances(room, rng):
    distances = room.Mahalanobis()
    distances.update(rng.normal(size=(20, 3)), rng.integers(0, 2, 20))
    return distances


def _sketched(room, rng):
    return _updated(room.ScoreSketch(), rng)


def _summed(room, rng):
    return _updated(room.Summary(), rng)


def _updated(sums, rng):
    made = data(rng)
    sums.update(made.labels, made.predictions)
    return sums


def _monitored(room, rng):
    monitor = room.CalibrationMonitor(positive_class=True)
    p = rng.random(50)
    monitor.update(rng.random(50) < p, p)
    return monitor


def _read_answers(m, rng):
    path = pathlib.Path(__file__).parents[2] / "docs/data/mlflow_answers.json"
    return m.read_answers(path)


def _reported(room, rng):
    return room.report(rng.integers(3, size=20), rng.dirichlet(np.ones(3), 20))


OBJECTS = (
    ObjectRow(
        "BinStatistics", make=lambda m, rng: m.bin_statistics([0, 1], [0.2, 0.7])
    ),
    ObjectRow("MetricState", make=lambda m, rng: _accumulated(um, rng).get_state()),
    ObjectRow("ScoreSketch", make=_sketched),
    ObjectRow("Summary", make=_summed),
    ObjectRow("CalibrationMonitor", make=_monitored),
    ObjectRow("Mahalanobis", make=_distances),
    ObjectRow("GeneralCalibrationError", make=_accumulated, halves=("numpy",)),
    ObjectRow("TemperatureScaling", make=_fitted),
    # Each class has one row. `TemperatureScaling` has one class in each half.
    *(
        _calibrator(make)
        for key, make in calibrators.CLASSES.items()
        if key not in ("temperature", "matrix")
    ),
    _calibrator(um_np.EnsembleTemperatureScaling),
    ObjectRow("VennAbersCalibration", make=_with_two_classes),
    ObjectRow("LabelShift", make=_of_shifted_classes),
    ObjectRow(
        "CensoredCalibrationError",
        aliases=("CCE",),
        make=lambda m, rng: m.CensoredCalibrationError(end_time=1.0, seed=0),
    ),
    ObjectRow(
        "SemiparametricCalibrationError",
        aliases=("SPCE",),
        make=lambda m, rng: m.SemiparametricCalibrationError(folds=3, seed=0),
    ),
    ObjectRow(
        "regression.PITInterval",
        make=lambda m, rng: m.regression.sample_pit([[0.0, 1.0]], [0.5]),
    ),
    ObjectRow("regression.TemperatureScaling", make=_fitted_forecasts),
    ObjectRow("regression.PITCalibration", make=_fitted_pit),
    ObjectRow("conformal.AdaptiveConformal", make=_adaptive),
    ObjectRow("conformal.ConformalClassifier", make=_conformal),
    ObjectRow("conformal.ConformalRegressor", make=_conformal_forecasts),
    ObjectRow("report", make=_reported),
    ObjectRow("read_answers", make=_read_answers),
    ObjectRow("conformal"),
    ObjectRow("datasets"),
    ObjectRow("detection"),
    ObjectRow("regression"),
    ObjectRow("make_scorers", make=lambda m, rng: m.make_scorers()),
    ObjectRow("numpy", halves=("tensors",)),
)
