"""The time of a Keras step with a metric, relative to the step with accuracy.

`python benchmarks/steps.py` trains and evaluates a small network (64-256-256-K) with
one metric, and in turns the same network with Keras's accuracy. The table has the ratio
of the times of a step; each time is the smallest of some rounds. `KERAS_BACKEND`
chooses the backend. With `--result-every N` the metrics are in collections that compute
their results once in N steps.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import uncertainty_metrics as um

METRICS: dict[str, Callable[[int], Any]] = {
    "none": lambda classes: [],
    "ece": lambda classes: [um.ExpectedCalibrationError()],
    "brier": lambda classes: [um.BrierScore()],
    "nll": lambda classes: [um.NegativeLogLikelihood()],
    "refined": lambda classes: [um.RefinedNegativeLogLikelihood()],
    "ace": lambda classes: [um.AdaptiveCalibrationError(num_classes=classes)],
    "aurc": lambda classes: [um.AURC()],
    "auroc": lambda classes: [_of_top(um.AUROC)()],
    "rmsce": lambda classes: [um.RootMeanSquaredCalibrationError()],
    "bayesian": lambda classes: [um.BayesianExpectedCalibrationError()],
    "debiased": lambda classes: [um.DebiasedCalibrationError()],
    "smooth": lambda classes: [um.SmoothCalibrationError()],
    "ks": lambda classes: [um.KolmogorovSmirnovCalibrationError()],
    "kuiper": lambda classes: [um.KuiperCalibrationError()],
    "atb": lambda classes: [um.AveragedTwoBinCalibrationError()],
}
if hasattr(um, "MetricCollection"):
    METRICS["collection"] = lambda classes: [
        um.MetricCollection(
            [
                um.ExpectedCalibrationError(),
                um.MaximumCalibrationError(),
                um.RootMeanSquaredCalibrationError(),
                um.AdaptiveCalibrationError(num_classes=classes),
                um.AURC(),
                um.BrierScore(),
                um.NegativeLogLikelihood(),
                um.Accuracy(),
            ]
        )
    ]
_PARTS = ("fit", "evaluate")


def _of_top(metric: type) -> type:
    """Returns a metric of binary labels that asks whether a classifier is right.

    The label is 1 if the decision is right, and the score is its confidence.
    """

    class OfTop(metric):  # type: ignore[misc, valid-type]
        # Not `update_state`, which a collection would not call.
        def _read(self, y_true: Any, y_pred: Any, sample_weight: Any) -> Any:
            ops = keras.ops
            labels = ops.reshape(y_true, [-1])
            right = ops.argmax(y_pred, -1) == ops.cast(labels, "int32")
            hits = ops.cast(right, "int32")
            return super()._read(hits, ops.max(y_pred, -1), sample_weight)

    return OfTop


def _model(metrics: list[Any], classes: int, jit: bool) -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input([64]),
            layers.Dense(256, "relu"),
            layers.Dense(256, "relu"),
            layers.Dense(classes, "softmax"),
        ]
    )
    model.compile(
        "adam", "sparse_categorical_crossentropy", metrics=metrics, jit_compile=jit
    )
    return model


def _shown_for(every: int, metrics: list[Any]) -> list[Any]:
    """Returns the metrics in a collection that computes results once in so many steps;
    for 1 the metrics as they are.
    """
    if every == 1 or not metrics:
        return metrics
    (metric,) = metrics
    if not isinstance(metric, um.MetricCollection):
        return [um.MetricCollection(metrics, result_every=every)]
    config = {**metric.get_config(), "result_every": every}
    return [um.MetricCollection.from_config(config)]


def _time(model: keras.Model, part: str, data: tuple[Any, Any], batch: int) -> float:
    """Returns the seconds of a step."""
    start = time.perf_counter()
    getattr(model, part)(*data, batch_size=batch, verbose=0)
    return (time.perf_counter() - start) / (len(data[0]) // batch)


def compare(
    names: list[str],
    classes: int,
    batch: int,
    jit: bool,
    steps: int,
    rounds: int,
    result_every: int = 1,
) -> tuple[dict[str, list[float]], list[float]]:
    """Returns the ratios of each metric for `fit` and `evaluate`, and the milliseconds
    of the steps with accuracy.
    """
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(batch * steps, 64)).astype("float32")
    labels = rng.integers(0, classes, len(inputs))
    models = {"accuracy": _model(["accuracy"], classes, jit)}
    for name in names:
        metrics = _shown_for(result_every, METRICS[name](classes))
        models[name] = _model(metrics, classes, jit)
    ratios: dict[str, list[float]] = {name: [] for name in names}
    base = []
    few = inputs[: 5 * batch], labels[: 5 * batch]
    for part in _PARTS:
        for model in models.values():
            _time(model, part, few, batch)
        times = {name: np.empty(rounds) for name in models}
        for i in range(rounds):
            for name, model in models.items():
                times[name][i] = _time(model, part, (inputs, labels), batch)
        base.append(1e3 * float(times["accuracy"].min()))
        for name in names:
            ratio = times[name].min() / times["accuracy"].min()
            ratios[name].append(float(ratio))
    return ratios, base


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metrics", nargs="*", default=list(METRICS), metavar="metric")
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 1000])
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 1024])
    parser.add_argument(
        "--mode", nargs="+", choices=["graph", "xla"], default=["graph", "xla"]
    )
    parser.add_argument("--steps", type=int, default=100, help="steps in each call")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--result-every", type=int, default=1, metavar="N")
    options = parser.parse_args()
    unknown = set(options.metrics) - set(METRICS)
    if unknown:
        parser.error(f"no such metric: {', '.join(sorted(unknown))}")
    print(
        f"Keras {keras.__version__} on {keras.backend.backend()}. Time of a step with "
        "the metric, relative to a step with Keras's accuracy: fit / evaluate.\n"
    )
    print(f"| K | batch | mode | accuracy, ms | {' | '.join(options.metrics)} |")
    print("|---" * (4 + len(options.metrics)) + "|", flush=True)
    for classes, batch, mode in itertools.product(
        options.classes, options.batch, options.mode
    ):
        ratios, base = compare(
            options.metrics,
            classes,
            batch,
            mode == "xla",
            options.steps,
            options.rounds,
            options.result_every,
        )
        cells = [
            f"{base[0]:.2f} / {base[1]:.2f}",
            *(f"{fit:.2f} / {evaluate:.2f}" for fit, evaluate in ratios.values()),
        ]
        print(f"| {classes} | {batch} | {mode} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
