"""Times the package against its peers: `python benchmarks/run.py --peers PYTHON`.

Each environment has one worker process. The contenders of a case take turns, so that
noise of the machine affects all of them. See README.md in this folder.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import importlib.util
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import rows
import summary
from cases import CASES
from harness import BACKENDS, FAST, OURS, PEERS, Case, Contender

_HERE = Path(__file__).resolve().parent
# A pause in seconds, in which the threads of the last contender go to sleep.
_PAUSE = 0.01
# OpenMP threads that spin at a barrier wait for whole time slices of the scheduler as
# soon as any other process runs. That can take a hundred times the work itself.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "TF_CPP_MIN_LOG_LEVEL": "3"}
# If other processes took more than _FOREIGN_SHARE of the machine in a round, the round
# is run again: up to _MOST_ROUNDS times as many rounds, and up to _PATIENCE seconds for
# a case. The quietest rounds count.
_FOREIGN_SHARE = 0.05
_MOST_ROUNDS = 3
_PATIENCE = 60.0


class Worker:
    """The process of one environment; it runs the package in the folder `root`."""

    def __init__(self, python: str, root: Path = _HERE.parent, backend: str = ""):
        self._process = subprocess.Popen(
            [python, "-u", str(_HERE / "worker.py"), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **_ENVIRONMENT,
                **os.environ,
                **({"KERAS_BACKEND": backend} if backend else {}),
            },
        )

    def ask(self, do: str, **request: Any) -> Any:
        """Sends a request and returns the answer; RuntimeError if there is none."""
        self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A worker ended: exit code {self._process.wait()}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def ticks(self) -> int:
        """Returns the processor time of the process and its children, in ticks."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        return sum(map(int, stat.rpartition(")")[2].split()[11:15]))

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()


class Foreign:
    """The share of the machine that other processes take; Linux only, 0.0 elsewhere."""

    def __init__(self, workers: list[Worker]):
        self._workers = workers
        self._known = Path("/proc/stat").exists()
        self._last = self._read()

    def _read(self) -> tuple[int, int]:
        if not self._known:
            return 0, 0
        with open("/proc/stat") as stat:
            ticks = [int(field) for field in stat.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        ours = sum(worker.ticks() for worker in self._workers)
        return sum(ticks) - idle - ours, sum(ticks)

    def share(self) -> float:
        """Returns the share since the last call."""
        last, self._last = self._last, self._read()
        foreign, total = (
            now - then for now, then in zip(self._last, last, strict=True)
        )
        return min(max(foreign / max(total, 1), 0.0), 1.0)


def usable_cores() -> int | None:
    """Returns the number of cores that this process and its workers may use."""
    if hasattr(os, "sched_getaffinity"):  # Not on macOS and Windows.
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def machine(workers: dict[str, Worker]) -> dict[str, Any]:
    """Returns a description of the machine and the versions of the packages."""
    cpu, flags = platform.processor() or platform.machine(), ""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                cpu = value.strip()
            elif key.strip() == "flags":
                flags = value
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "avx512": "avx512f" in flags.split(),  # NumPy and XLA sort and sum with it.
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: worker.ask("versions") for name, worker in workers.items()},
        "date": datetime.date.today().isoformat(),
    }


class Place(NamedTuple):
    """A contender and the process in which it runs.

    Attributes:
      worker: the name of the process.
      contender: the index of the contender in the case.
    """

    worker: str
    contender: int


class Measured(NamedTuple):
    """The measurements of a case.

    Attributes:
      made: the value, and the number of calls of a loop, for each place that can run.
      seconds: the seconds of a call in each round that counts, for each place.
      other_processes: the share of the machine that other processes took.
      problems: a line for each value that differs and for each failure.
    """

    made: dict[Place, dict[str, Any]]
    seconds: dict[Place, list[float]]
    other_processes: float
    problems: list[str]


def mismatches(case: Case, values: dict[Place, float | None]) -> list[str]:
    """Returns a line for each value that does not agree with the first of its kind."""
    first: dict[str, tuple[str, float]] = {}
    lines = []
    for place, value in values.items():
        contender = case.contenders[place.contender]
        if contender.quantity is None:
            continue
        label, expected = first.setdefault(contender.quantity, (contender.label, value))
        # The comparison is negated so that NaN counts as a difference.
        if not abs(value - expected) <= case.tolerance * abs(expected):
            lines.append(f"{contender.label}: {value:.9g}, {label}: {expected:.9g}")
    return lines


def measure(
    case: Case, places: list[Place], workers: dict[str, Worker], rounds: int
) -> Measured:
    """Times the contenders of a case in turns."""
    used = {name: workers[name] for name in sorted({place.worker for place in places})}
    module = "rows" if case in rows.CASES else "cases"
    fingerprints = {
        name: worker.ask("begin", case=case.name, module=module)
        for name, worker in used.items()
    }
    problems = []
    if len({tuple(found) for found in fingerprints.values()}) > 1:
        problems.append(f"the data differ between the environments: {fingerprints}")

    made: dict[Place, dict[str, Any]] = {}
    for place in places:
        try:
            made[place] = used[place.worker].ask("setup", contender=place.contender)
        except RuntimeError as error:
            label = case.contenders[place.contender].label
            problems.append(f"{label} failed in {place.worker}: {error}")
    problems += mismatches(case, {place: of["value"] for place, of in made.items()})

    def one_round(turn: int) -> dict[Place, float]:
        seconds = {}
        order = list(made)
        first = turn % len(order)  # Each round starts with another contender.
        for place in order[first:] + order[:first]:
            time.sleep(_PAUSE)
            seconds[place] = used[place.worker].ask(
                "time", contender=place.contender, calls=made[place]["calls"]
            )
        return seconds

    foreign = Foreign(list(workers.values()))
    measured: list[tuple[float, dict[Place, float]]] = []
    quiet = 0
    start = time.monotonic()

    def may_repeat() -> bool:
        late = time.monotonic() - start > _PATIENCE
        return quiet < rounds and len(measured) < _MOST_ROUNDS * rounds and not late

    while made and (len(measured) < rounds or may_repeat()):
        foreign.share()
        seconds = one_round(len(measured))
        measured.append((foreign.share(), seconds))
        quiet += measured[-1][0] <= _FOREIGN_SHARE
    measured = sorted(measured, key=lambda pair: pair[0])[:rounds]
    for worker in used.values():
        worker.ask("end")
    return Measured(
        made,
        {place: [seconds[place] for _, seconds in measured] for place in made},
        statistics.median(share for share, _ in measured) if measured else 0.0,
        problems,
    )


def run_case(case: Case, workers: dict[str, Worker], rounds: int) -> dict[str, Any]:
    """Runs a case and returns its ratios, values and mismatches."""
    places = [
        Place(row.environment, i)
        for i, row in enumerate(case.contenders)
        if row.environment in workers
    ]
    found = measure(case, places, workers, rounds)
    contenders = {place: case.contenders[place.contender] for place in found.made}
    baseline = next(place for place, row in contenders.items() if row.baseline)
    base = found.seconds[baseline]
    return {
        "name": case.name,
        "title": case.title,
        "family": case.family,
        "path": case.path,
        "baseline": contenders[baseline].label,
        "baseline_milliseconds": 1e3 * statistics.median(base),
        "other_processes": found.other_processes,
        "contenders": [
            timing(row, found.made[place], found.seconds[place], base)
            for place, row in contenders.items()
        ],
        "problems": found.problems,
    }


def quartiles(seconds: list[float], baseline: list[float]) -> list[float]:
    """Returns the three quartiles of the ratios of the rounds."""
    ratios = [a / b for a, b in zip(seconds, baseline, strict=True)]
    if len(ratios) == 1:
        return ratios * 3
    return statistics.quantiles(ratios, n=4, method="inclusive")


def timing(
    contender: Contender,
    made: dict[str, Any],
    seconds: list[float],
    baseline: list[float],
) -> dict[str, Any]:
    """Returns the ratio of a contender, with its value and its description."""
    low, middle, high = quartiles(seconds, baseline)
    return {
        "label": contender.label,
        "environment": contender.environment,
        "mode": contender.mode,
        "quantity": contender.quantity,
        "baseline": contender.baseline,
        "ratio": middle,
        "quartiles": [low, high],
        "value": made["value"],
        "calls_per_round": made["calls"],
    }


def describe(found: dict[str, Any], rounds: int) -> str:
    """Returns the first lines of the results in Markdown."""
    lines = ["# Benchmarks", "", summary.machine_line(found, rounds), ""]
    for name, versions in found["versions"].items():
        lines.append(f"- {name}: " + ", ".join(" ".join(v) for v in versions.items()))
    return "\n".join(lines) + "\n"


def table(result: dict[str, Any]) -> str:
    """Returns the Markdown of a case."""
    baseline = summary.number(result["baseline_milliseconds"])
    lines = [
        f"## {result['title']}",
        "",
        f"`{result['name']}`; 1.00 = {baseline} ms; other "
        f"processes took {result['other_processes']:.0%} of the machine.",
        "",
        "| contender | time ratio | quartiles | value |",
        "|---|---|---|---|",
    ]
    for row in result["contenders"]:
        value = "" if row["value"] is None else f"{row['value']:.7f}"
        ratio, low, high = map(summary.number, (row["ratio"], *row["quartiles"]))
        lines.append(f"| {row['label']} | {ratio} | {low} to {high} | {value} |")
    for problem in result["problems"]:
        lines += ["", f"**MISMATCH OR FAILURE: {problem}**"]
    return "\n".join(lines) + "\n"


def select(patterns: str | None) -> list[Case]:
    """Returns the cases whose names start with one of the comma-separated patterns."""
    wanted = [f"{pattern.strip()}*" for pattern in (patterns or "").split(",")]
    known = (*CASES, *rows.CASES) if patterns else CASES
    chosen = [
        case for case in known if any(fnmatch.fnmatch(case.name, w) for w in wanted)
    ]
    if not chosen:
        names = ", ".join(case.name for case in known)
        raise SystemExit(f"No case is selected by {patterns}. There are: {names}")
    return chosen


def main() -> None:
    """Runs the cases and prints and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="Python of the peers' environment")
    parser.add_argument(
        "--backends", metavar="PYTHON", help="Python with Keras, JAX and PyTorch"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", help="starts of names, or patterns: ece-update,sce")
    parser.add_argument("--out", type=Path, default=_HERE / "results")
    parser.add_argument(
        "--docs",
        type=Path,
        metavar="RESULTS.json",
        help="only write the summary of these results, and a plot of its ratios, into "
        "docs/speed.md",
    )
    options = parser.parse_args()
    if options.docs:
        document = json.loads(options.docs.read_text())
        summary.write(document, summary.SPEED, summary.PICTURE)
        return

    cases = select(options.cases)
    options.out.mkdir(parents=True, exist_ok=True)
    workers = {OURS: Worker(sys.executable)}
    if importlib.util.find_spec("numba"):
        workers[FAST] = Worker(sys.executable)
    if options.peers:
        workers[PEERS] = Worker(options.peers)
    if options.backends:
        for backend in BACKENDS:
            workers[backend] = Worker(options.backends, backend=backend)
    found = machine(workers)
    results = []
    text = [describe(found, options.rounds)]
    print(text[0], flush=True)
    for case in cases:
        results.append(run_case(case, workers, options.rounds * case.patience))
        text.append(table(results[-1]))
        print(text[-1], flush=True)
        last = "## Summary\n\n" + summary.table(summary.rows(results))
        document = {
            "machine": found,
            "rounds": options.rounds,
            "summary": summary.rows(results),
            "cases": results,
        }
        (options.out / "results.md").write_text("\n".join([*text, last]))
        (options.out / "results.json").write_text(json.dumps(document, indent=2) + "\n")
    print(last, flush=True)
    for worker in workers.values():
        worker.close()

    problems = list(itertools.chain.from_iterable(r["problems"] for r in results))
    if problems:
        raise SystemExit("MISMATCH OR FAILURE:\n  " + "\n  ".join(problems))


if __name__ == "__main__":
    main()
