"""How times grow with n, classes, bins and members: `python benchmarks/growth.py`.

There is a curve for the package and a curve for the best peer. A time is the smallest
of several rounds, in which the contenders take turns. The script prints the exponent of
the power law through the upper half of the sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness import GRAPH, OURS, PEERS, XLA, Case, Contender
from run import Worker

_HERE = Path(__file__).resolve().parent


class Curve(NamedTuple):
    """A contender at growing sizes.

    Attributes:
      environment: `OURS` or `PEERS`.
      label: its name in the legend.
      setup: as in `Contender`.
      options: as in `Contender`; a value of None stands for the growing number.
    """

    environment: str
    label: str
    setup: str
    options: dict[str, Any]


class Sweep(NamedTuple):
    """A panel of the plot.

    Attributes:
      title: description of the computation.
      along: name of the growing number.
      values: values of the growing number.
      size: size of the data; None stands for the growing number.
      data: the function in `data.py` that makes the data.
      curves: the contenders.
    """

    title: str
    along: str
    values: tuple[int, ...]
    size: tuple[int | None, ...]
    data: str
    curves: tuple[Curve, ...]


def _numpy(name: str, **options: Any) -> Curve:
    label = f"um.numpy.{name}"
    return Curve(OURS, label, "ours.numpy_function", {"name": name, **options})


def _tensorflow(name: str, mode: str, **options: Any) -> Curve:
    options = {"name": name, "mode": mode, **options}
    short = {GRAPH: "graph", XLA: "XLA"}[mode]
    return Curve(OURS, f"um.{name}, {short}", "ours.tensorflow_function", options)


def _peer(label: str, setup: str, **options: Any) -> Curve:
    return Curve(PEERS, label, f"peers.{setup}", options)


_TORCHMETRICS = _peer(
    "torchmetrics", "calibration.torchmetrics_ece", validate_args=False, compute=True
)
_ECE = (_numpy("ece"), _tensorflow("ece", GRAPH), _tensorflow("ece", XLA))
_N = (1000, 3000, 10000, 30000, 100000, 300000, 1000000)
_WIDE = (3, 10, 30, 100, 300, 1000, 3000)

SWEEPS = (
    Sweep("ECE of n x 10", "n", _N, (None, 10), "predictions", (_TORCHMETRICS, *_ECE)),
    Sweep(
        "ECE of 10000 x classes",
        "classes",
        _WIDE,
        (10000, None),
        "predictions",
        (_TORCHMETRICS, *_ECE),
    ),
    Sweep(
        "ECE of 100000 x 10",
        "bins",
        _WIDE,
        (100000, 10),
        "predictions",
        (
            _TORCHMETRICS._replace(options={**_TORCHMETRICS.options, "bins": None}),
            _numpy("ece", num_bins=None),
            _tensorflow("ece", XLA, num_bins=None),
        ),
    ),
    Sweep(
        "SCE of 10000 x classes",
        "classes",
        _WIDE,
        (10000, None),
        "predictions",
        (
            _peer("torch.bincount", "calibration.sce"),
            _numpy("sce"),
            _tensorflow("sce", GRAPH),
            _tensorflow("sce", XLA),
        ),
    ),
    Sweep(
        "CRPS of 1000 x members",
        "members",
        _WIDE,
        (1000, None),
        "samples",
        (
            _peer(
                "scoringrules",
                "scoring_rules.scoringrules_of_sorted",
                estimator="pwm",
            ),
            _numpy("crps_score"),
            _tensorflow("crps_score", GRAPH),
            _tensorflow("crps_score", XLA),
        ),
    ),
    Sweep(
        "Mutual information of 1000 x members x 10",
        "members",
        (3, 10, 30, 100, 300, 1000),
        (1000, None, 10),
        "ensemble",
        (
            _peer("torch", "ensembles.mutual_information", from_logits=False),
            _numpy("mutual_information"),
            _tensorflow("mutual_information", GRAPH),
            _tensorflow("mutual_information", XLA),
        ),
    ),
    Sweep(
        "Pairwise diversity of members x 1000 x 10",
        "members",
        (3, 10, 30, 100, 300),
        (None, 1000, 10),
        "members",
        (
            _numpy("average_pairwise_diversity"),
            _tensorflow("average_pairwise_diversity", GRAPH),
            _tensorflow("average_pairwise_diversity", XLA),
        ),
    ),
    Sweep(
        "AUROC of n",
        "n",
        _N,
        (None,),
        "scores",
        (
            _peer("scikit-learn", "ranks.sklearn_auroc"),
            _numpy("auroc"),
            _tensorflow("auroc", GRAPH),
        ),
    ),
    Sweep(
        "AURC of n",
        "n",
        _N,
        (None,),
        "decisions",
        (
            _peer(
                "torch-uncertainty", "ranks.torch_uncertainty_selective", name="AURC"
            ),
            _numpy("aurc"),
            _tensorflow("aurc", GRAPH),
        ),
    ),
)


def _case(sweep: Sweep, value: int) -> Case:
    def filled(number):
        return value if number is None else number

    return Case(
        f"{sweep.title}, {sweep.along} = {value}",
        sweep.title,
        tuple(
            Contender(
                curve.environment,
                curve.label,
                curve.setup,
                {key: filled(option) for key, option in curve.options.items()},
            )
            for curve in sweep.curves
        ),
        tuple(map(filled, sweep.size)),
        sweep.data,
    )


# The cases of each sweep. A worker finds a case by its name in CASES.
_BY_SWEEP = {
    sweep.title + sweep.along: [_case(sweep, value) for value in sweep.values]
    for sweep in SWEEPS
}
CASES = [case for cases in _BY_SWEEP.values() for case in cases]


def seconds(case: Case, workers: dict[str, Worker], rounds: int) -> dict[str, float]:
    """Returns the smallest time of each contender."""
    rows = {
        i: row for i, row in enumerate(case.contenders) if row.environment in workers
    }
    for name in {row.environment for row in rows.values()}:
        workers[name].ask("begin", case=case.name, module="growth")
    ready = {
        i: workers[row.environment].ask("setup", contender=i) for i, row in rows.items()
    }
    found = dict.fromkeys(ready, math.inf)
    for _ in range(rounds):
        for i, made in ready.items():
            worker = workers[rows[i].environment]
            took = worker.ask("time", contender=i, calls=made["calls"])
            found[i] = min(found[i], took)
    return {rows[i].label: took for i, took in found.items()}


def exponent(values: Sequence[int], times: list[float]) -> float:
    """Returns the slope of the least squares line through the logarithms of the upper
    half of the sizes.
    """
    start = (len(values) - 1) // 2
    x = [math.log(value) for value in values[start:]]
    y = [math.log(took) for took in times[start:]]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    products = [(a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)]
    return sum(products) / sum((a - middle_x) ** 2 for a in x)


def plot(results: list[dict[str, Any]], file: Path) -> None:
    """Draws a panel for each sweep, both axes logarithmic."""
    from matplotlib.figure import Figure

    columns = 3
    rows = math.ceil(len(results) / columns)
    figure = Figure(figsize=(5 * columns, 4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for result, panel in zip(results, panels, strict=False):
        for label, times in result["seconds"].items():
            slope = result["exponents"][label]
            panel.loglog(
                result["values"],
                [1e3 * took for took in times],
                "o-" if label.startswith("um.") else "x--",
                label=f"{label} (^{slope:.2f})",
            )
        panel.set(title=result["title"], xlabel=result["along"], ylabel="ms")
        panel.set_xticks(result["values"], [f"{value:,}" for value in result["values"]])
        panel.tick_params("x", which="minor", labelbottom=False)
        panel.tick_params("x", rotation=30)
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    for panel in list(panels):
        panel.axis("off")
    figure.savefig(file, dpi=120)


def main() -> None:
    """Measures the curves, prints their exponents, writes the data and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="Python of the peers' environment")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--points", type=int, help="number of sizes, from the smallest")
    parser.add_argument("--out", type=Path, default=_HERE / "results")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    workers = {OURS: Worker(sys.executable)}
    if options.peers:
        workers[PEERS] = Worker(options.peers)
    results = []
    print("| path | along | contender | exponent |\n|---|---|---|---|")
    for sweep in SWEEPS:
        values = sweep.values[: options.points]
        cases = _BY_SWEEP[sweep.title + sweep.along][: options.points]
        found = [seconds(case, workers, options.rounds) for case in cases]
        times = {label: [at[label] for at in found] for label in found[0]}
        result = {
            "title": sweep.title,
            "along": sweep.along,
            "values": values,
            "seconds": times,
            "exponents": {label: exponent(values, row) for label, row in times.items()},
        }
        results.append(result)
        for label, slope in result["exponents"].items():
            print(
                f"| {sweep.title} | {sweep.along} | {label} | {slope:.2f} |", flush=True
            )
        (options.out / "growth.json").write_text(json.dumps(results, indent=2) + "\n")
    for worker in workers.values():
        worker.close()
    plot(results, options.out / "growth.png")


if __name__ == "__main__":
    main()
