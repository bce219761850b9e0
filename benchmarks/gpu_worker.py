"""Measures the Keras metrics on one backend, for `gpu.py`; writes JSON to a file."""

from __future__ import annotations

import contextlib
import json
import math
import operator
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import torch
import torchmetrics
from keras import ops

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import uncertainty_metrics as um
from tests import catalogue
from tests.keras import streams

BACKEND = keras.backend.backend()
# The largest difference from the NumPy half, as a share of the size of the values.
TOLERANCE = 1e-6
SECONDS = 0.1  # A timing lasts at least this long.
# The value of torchmetrics depends on how many batches it keeps.
BATCHES = 50
_HOST = re.compile("callback|infeed|outfeed|SendToHost")


class Pair(NamedTuple):
    """A metric of ours and the metric of torchmetrics that has the same value.

    Attributes:
      name: our metric.
      peer: the metric of torchmetrics.
      data: the kind of data: "classes", "logits", "binary" or "samples".
      options: options of our metric.
      peer_options: options of the metric of torchmetrics.
      bound: the largest difference of the values that our documentation allows.
      adjust: turns the value of torchmetrics into ours, given the number of classes.
    """

    name: str
    peer: str
    data: str
    options: dict[str, Any]
    peer_options: dict[str, Any]
    bound: float = 1e-5
    adjust: Callable[[float, int], float] = lambda value, classes: value


_EVEN_BINS = {
    "binning_scheme": "even",
    "max_prob": True,
    "class_conditional": False,
    "num_bins": 15,
}
PAIRS = (
    Pair(
        "Accuracy",
        "classification.MulticlassAccuracy",
        "classes",
        {},
        {"average": "micro"},
    ),
    *(
        Pair(
            "GeneralCalibrationError",
            "classification.MulticlassCalibrationError",
            "classes",
            {**_EVEN_BINS, "norm": norm},
            {"n_bins": 15, "norm": norm},
        )
        for norm in ("l1", "l2", "max")
    ),
    Pair(
        "BrierScore",
        "MeanSquaredError",
        "classes",
        {"zero_based": True},
        {},
        adjust=lambda value, classes: value * classes,
    ),
    Pair(
        "NegativeLogLikelihood",
        "text.Perplexity",
        "logits",
        {"from_logits": True},
        {},
        adjust=lambda value, classes: math.log(value),
    ),
    # Scores that share a cell of the sketch count as equal.
    Pair("AUROC", "classification.BinaryAUROC", "binary", {}, {}, bound=1e-4),
    Pair("AUPR", "classification.BinaryAveragePrecision", "binary", {}, {}, bound=1e-4),
    Pair(
        "CRPSSamples",
        "regression.ContinuousRankedProbabilityScore",
        "samples",
        {"estimator": "nrg"},
        {},
    ),
)


def device() -> str:
    """Returns the device that Keras uses."""
    if BACKEND == "jax":
        import jax

        return f"{jax.devices()[0].platform}:0"
    return "cuda:0" if torch.cuda.is_available() else "cpu:0"


def device_name() -> str:
    """Returns the name of the card, or "" if there is none."""
    if device().startswith("cpu"):
        return ""
    if BACKEND == "jax":
        import jax

        return str(jax.devices()[0].device_kind)
    return torch.cuda.get_device_name(0)


def differences(trial: bool) -> tuple[int, list[str]]:
    """Returns the number of metrics that were compared with the NumPy half and with the
    CPU, and a line for each difference. A trial compares one metric of each kind.
    """
    rows = [
        row
        for row, marks in streams.first_alike(catalogue.METRICS, streams.kind)
        # This metric is in TensorFlow only.
        if row.metric != "BayesianExpectedCalibrationError" and not (trial and marks)
    ]
    wrong = []
    for row in rows:
        options, case = row.metric_cases[0]
        data = row.lattice(np.random.default_rng(0))
        expected, states = row.expected(case, data, True), []
        for place in (device(), "cpu:0"):
            with keras.device(place):
                metric = row.made(options)
                result = streams.feed(metric, data, weighted=True)
                states.append(metric.get_state().arrays)
            try:
                streams.assert_close(row, result, expected, TOLERANCE)
            except AssertionError:
                wrong.append(f"{row.metric} on {place}: {result}, NumPy: {expected}")
        for name in ("units", "invalid"):
            if not np.array_equal(*(state.get(name) for state in states)):
                wrong.append(f"{row.metric}: {name} of the state differ from the CPU")
    return len(rows), wrong


def batch(kind: str, size: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns labels and predictions. `classes` is the number of classes or samples."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(size, classes)).astype(np.float32)
    if kind == "samples":
        return rng.normal(size=size).astype(np.float32), numbers
    labels = rng.integers(0, classes, size).astype(np.int32)
    numbers[np.arange(size), labels] += 2
    if kind == "logits":
        return labels, numbers
    shares = np.exp(numbers.astype(np.float64))
    probabilities = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
    return labels, probabilities[:, 1] if kind == "binary" else probabilities


class Steps(NamedTuple):
    """The calls of one metric; each returns when the device is done.

    Attributes:
      update: adds the batch.
      compute: returns the value of the state.
      reset: empties the state.
      host_reads: returns how often an update makes the device send data to the host,
        from a profile.
    """

    update: Callable[[], object]
    compute: Callable[[], Any]
    reset: Callable[[], object]
    host_reads: Callable[[], int]


def synchronize() -> None:
    """Waits for PyTorch's device."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def host_reads(update: Callable[[], object]) -> int:
    """Returns how often a call of PyTorch copies data to the host, by its profiler.

    On a CPU there are no copies; the profile counts the operation that would copy.
    """
    on_card = torch.cuda.is_available()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if on_card:
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=kinds) as profile:
        update()
    name = "DtoH" if on_card else "aten::_local_scalar_dense"
    return sum(name in event.name for event in profile.events())


def our_steps(metric: Any, labels: Any, predictions: Any) -> Steps:
    """Returns the steps of our metric, compiled if the backend compiles."""
    metric.update_state(labels, predictions)  # Makes the state.
    metric.reset_state()
    if BACKEND == "torch":

        def update() -> None:
            metric.update_state(labels, predictions)
            synchronize()

        def compute() -> Any:
            value = metric.result()
            synchronize()
            return value

        return Steps(update, compute, metric.reset_state, lambda: host_reads(update))
    import jax

    empty = [variable.value for variable in metric.variables]
    # As in `fit`, which compiles the update.
    add = jax.jit(metric.stateless_update_state).lower(empty, labels, predictions)
    add, read = add.compile(), jax.jit(metric.stateless_result)
    state = [empty]

    def update() -> None:
        with jax.transfer_guard_device_to_host("disallow"):
            state[0] = jax.block_until_ready(add(state[0], labels, predictions))

    def reset() -> None:
        state[0] = empty

    return Steps(
        update,
        lambda: jax.block_until_ready(read(state[0])),
        reset,
        lambda: len(_HOST.findall(add.as_text())),
    )


def peer_steps(pair: Pair, labels: Any, predictions: Any) -> Steps:
    """Returns the steps of torchmetrics on the same tensors, without its checks."""
    options = dict(pair.peer_options)
    if "classification" in pair.peer:
        options["validate_args"] = False
    if pair.peer.startswith("classification.Multiclass"):
        options["num_classes"] = predictions.shape[1]
    metric = operator.attrgetter(pair.peer)(torchmetrics)(**options)
    metric = metric.to(predictions.device)
    if pair.data != "samples":
        labels = labels.long()

    def arguments() -> tuple[torch.Tensor, torch.Tensor]:
        if pair.peer == "MeanSquaredError":
            one_hot = torch.nn.functional.one_hot(labels, predictions.shape[1])
            return predictions, one_hot.to(predictions.dtype)
        if pair.data == "logits":
            return predictions[None], labels[None]
        return predictions, labels

    def update() -> None:
        metric.update(*arguments())
        synchronize()

    def compute() -> Any:
        metric._computed = None  # It keeps the last value.
        value = metric.compute()
        synchronize()
        return value

    return Steps(update, compute, metric.reset, lambda: host_reads(update))


def timed(call: Callable[[], object], most: float = math.inf) -> float:
    """Returns the mean seconds of a call over many calls, but at most so many."""
    calls, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS and calls < most:
        call()
        calls += 1
    return (time.perf_counter() - start if calls >= most else passed) / calls


def measured(pair: Pair, size: int, classes: int, rounds: int) -> dict[str, Any]:
    """Returns the row of a pair: values, ratios, and reads by the host."""
    arrays = batch(pair.data, size, classes)
    tensors = [ops.convert_to_tensor(array) for array in arrays]
    shared = tensors
    if BACKEND == "jax":
        shared = [torch.from_dlpack(tensor) for tensor in tensors]
    ours = our_steps(getattr(um, pair.name)(**pair.options), *tensors)
    theirs = peer_steps(pair, *shared)
    ratios: dict[str, list[float]] = {"update": [], "compute": []}
    seconds = {"update": math.inf, "compute": math.inf}
    with warnings_ignored():
        for steps in (ours, theirs):  # Compiles.
            steps.update(), steps.compute()
        for _ in range(rounds):
            took = []
            for steps in (ours, theirs):
                steps.reset()
                update = timed(steps.update, BATCHES)
                steps.reset()
                for _ in range(BATCHES):
                    steps.update()
                took.append({"update": update, "compute": timed(steps.compute)})
            for part, found in ratios.items():
                found.append(took[0][part] / took[1][part])
                seconds[part] = min(seconds[part], took[0][part])
        values = [float(ours.compute()), float(theirs.compute())]
        reads = [steps.host_reads() for steps in (ours, theirs)]
    values[1] = pair.adjust(values[1], classes)
    return {
        "metric": pair.name + f" {pair.options.get('norm', '')}".rstrip(),
        "peer": pair.peer.rpartition(".")[2],
        "size": [size, *([] if pair.data == "binary" else [classes])],
        "microseconds": {part: 1e6 * took for part, took in seconds.items()},
        "ratios": {part: statistics.median(found) for part, found in ratios.items()},
        "values": values,
        "bound": pair.bound,
        "host_reads": reads,
    }


@contextlib.contextmanager
def warnings_ignored() -> Iterator[None]:
    """Ignores the warning of torchmetrics that it keeps all predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def main() -> None:
    """Measures and writes what `gpu.py` asks for."""
    asked = json.loads(sys.argv[1])
    compared, wrong = differences(asked["trial"])
    rows = []
    for pair in PAIRS:
        for classes in (2,) if pair.data == "binary" else asked["classes"]:
            row = measured(pair, asked["batch"], classes, asked["rounds"])
            rows.append(row)
            ours, theirs = row["values"]
            if not abs(ours - theirs) <= row["bound"]:
                wrong.append(f"{pair.name}: {ours}, torchmetrics: {theirs}")
    document = {
        "backend": BACKEND,
        "card": device_name(),
        "versions": {
            module.__name__: module.__version__
            for module in (keras, torch, torchmetrics)
        },
        "compared": compared,
        "rows": rows,
        "wrong": wrong,
    }
    if BACKEND == "jax":
        import jax

        document["versions"]["jax"] = jax.__version__
    Path(asked["out"]).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
