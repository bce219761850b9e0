"""Keras metrics on an accelerator: their values and the time of a step.

`KERAS_BACKEND=jax python benchmarks/gpu.py`, or torch. Every metric of the tests'
catalogue adds the same batches on the accelerator and on the CPU, and the results are
compared. Then some metrics are timed in turns with torchmetrics on the same machine. If
there is no accelerator, the script says so and uses the CPU for both.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import uncertainty_metrics as um
from tests import catalogue

BACKEND = keras.backend.backend()
# By our metric: the metric of torchmetrics, and its options without `num_classes`.
PEERS = {
    "Accuracy": ("MulticlassAccuracy", {"average": "micro"}),
    "ExpectedCalibrationError": ("MulticlassCalibrationError", {"n_bins": 15}),
    "MaximumCalibrationError": (
        "MulticlassCalibrationError",
        {"n_bins": 15, "norm": "max"},
    ),
    "RootMeanSquaredCalibrationError": (
        "MulticlassCalibrationError",
        {"n_bins": 15, "norm": "l2"},
    ),
    "AUROC": ("BinaryAUROC", {}),
}
SECONDS = 0.1  # A timing lasts at least this long.


def accelerator() -> str:
    """Returns the name of the device that Keras uses."""
    if BACKEND == "jax":
        import jax

        return f"{jax.devices()[0].platform}:0"
    if BACKEND == "torch":
        import torch

        return "cuda:0" if torch.cuda.is_available() else "cpu:0"
    raise SystemExit("KERAS_BACKEND must be jax or torch.")


def result_and_state(row: Any, device: str) -> Any:
    """Returns the result and the state of a metric after three batches on a device."""
    data = row.lattice(np.random.default_rng(0))
    with keras.device(device):
        metric = row.made(row.metric_cases[0][0])
        for part in np.array_split(np.arange(len(data.labels)), 3):
            metric.update_state(
                data.labels[part], data.predictions[part], data.weights[part]
            )
        return np.array(keras.tree.flatten(metric.result())).astype(float), (
            metric.get_state().arrays
        )


def compare(device: str) -> list[str]:
    """Returns a line for each difference between the device and the CPU."""
    wrong = []
    for row in catalogue.METRICS:
        (result, arrays), (expected, others) = (
            result_and_state(row, place) for place in (device, "cpu:0")
        )
        if not np.allclose(result, expected, rtol=1e-5, atol=1e-6):
            wrong.append(f"{row.metric}: {result} instead of {expected}")
        for name in ("units", "invalid"):
            if not np.array_equal(arrays[name], others[name]):
                wrong.append(f"{row.metric}: {name} of the state differ")
    return wrong


def timed(call: Callable[[], object]) -> float:
    """Returns the mean seconds of a call, over many calls."""
    calls, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS:
        call()
        calls += 1
    return passed / calls


def our_step(name: str, labels: np.ndarray, predictions: np.ndarray) -> Any:
    """Returns a step of our metric, compiled if the backend compiles, and the size of
    its state in bytes.
    """
    metric = getattr(um, name)()
    data = [ops.convert_to_tensor(part) for part in (labels, predictions)]
    metric.update_state(*data)
    size = sum(np.asarray(ops.convert_to_numpy(v)).nbytes for v in metric.variables)
    if BACKEND != "jax":

        def step() -> None:
            metric.update_state(*data)
            synchronize()

        return step, size
    import jax

    update = jax.jit(metric.stateless_update_state)
    state = [[variable.value for variable in metric.variables]]

    def step() -> None:
        state[0] = jax.block_until_ready(update(state[0], *data))

    return step, size


def synchronize() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peer_step(name: str, labels: np.ndarray, predictions: np.ndarray) -> Any:
    """Returns a step of torchmetrics, and the bytes that a step adds to its state."""
    import torch
    import torchmetrics.classification as peers

    device = "cuda" if torch.cuda.is_available() else "cpu"
    kind, options = PEERS[name]
    if kind.startswith("Multiclass"):
        options = {**options, "num_classes": predictions.shape[1]}
    metric = getattr(peers, kind)(**options, validate_args=False).to(device)
    data = [torch.tensor(part, device=device) for part in (predictions, labels)]
    metric.update(*data)
    kept = [value for value in metric.metric_state.values() if isinstance(value, list)]
    size = sum(part.nbytes for parts in kept for part in parts)

    def step() -> None:
        metric.update(*data)
        synchronize()
        if kept and len(kept[0]) > 50:  # Otherwise allocation would dominate the time.
            metric.reset()

    return step, size


def main() -> None:
    """Compares and times the metrics; exits with an error if a value differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    device = accelerator()
    print(f"Keras {keras.__version__} on {BACKEND}, {device}")
    if device.startswith("cpu"):
        print("There is no accelerator: these are times of the CPU.")
    wrong = compare(device)
    print(f"{len(catalogue.METRICS)} metrics added on {device} and on cpu:0")
    print(
        "\n| metric | K | ours / torchmetrics | bytes of our state "
        "| bytes that a step of torchmetrics adds |"
    )
    print("|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for name in PEERS:
        for classes in (2,) if name == "AUROC" else (10, 1000):
            labels = rng.integers(0, classes, options.batch).astype(np.int32)
            logits = rng.normal(size=(options.batch, classes)).astype(np.float32)
            predictions = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            if name == "AUROC":
                predictions = predictions[:, 1]
            (ours, size), (theirs, grown) = (
                make(name, labels, predictions) for make in (our_step, peer_step)
            )
            ratios = [timed(ours) / timed(theirs) for _ in range(options.rounds)]
            ratio = statistics.median(ratios)
            print(f"| {name} | {classes} | {ratio:.2f} | {size:,} | {grown:,} |")
    if wrong:
        raise SystemExit("DIFFERENT FROM THE CPU:\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main()
