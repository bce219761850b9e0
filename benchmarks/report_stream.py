"""Memory and time of the report of a stream: `python benchmarks/report_stream.py`.

Binary predictions, P(class 1) in float32, in Parquet shards of a million rows. Each
measurement is in a fresh process, without its imports: the time that pyarrow takes to
read the shards into NumPy arrays one after another, the time that the report takes to
read them and to make its sums, and the peak memory of the whole report. The quickest of
three processes counts. 10^8 rows are made on the fly, as batches of `um.report`.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np

_SHARD = 1_000_000
_SIZES = (10**6, 10**7, 10**8)
_IN_FILES = 10**7


def batch(seed: int, classes: int) -> dict[str, np.ndarray]:
    """Returns the predictions of a million examples, a little too sure."""
    rng = np.random.default_rng(seed)
    size = _SHARD // max(1, classes // 2)
    if classes == 2:
        p = rng.beta(1, 2, size)
        labels = (rng.random(size) < p**1.1).astype(np.int8)
        return {"labels": labels, "probabilities": p.astype(np.float32)}
    p = rng.dirichlet(np.full(classes, 0.3), size).astype(np.float32)
    labels = np.argmax(np.cumsum(p, axis=1) > rng.random((size, 1)), axis=1)
    return {"labels": labels, "probabilities": p}


def batches(size: int, classes: int) -> Iterator[dict[str, np.ndarray]]:
    made, seed = 0, 0
    while made < size:
        data = batch(seed, classes)
        made, seed = made + len(data["labels"]), seed + 1
        yield data


def write(folder: pathlib.Path, size: int) -> None:
    import pyarrow
    from pyarrow import parquet

    for i, data in enumerate(batches(size, 2)):
        columns = {"label": data["labels"], "p": data["probabilities"]}
        parquet.write_table(pyarrow.table(columns), folder / f"{i:03}.parquet")


# Each of these runs in a process of its own.


def reading(folder: str) -> None:
    """Reads shards into NumPy arrays."""
    from pyarrow import parquet

    for path in sorted(pathlib.Path(folder).iterdir()):
        table = parquet.read_table(path)
        for name in table.column_names:
            table[name].to_numpy()


def summing(folder: str) -> None:
    """Reads shards as the report does."""
    from uncertainty_metrics._report.reading import _large_files

    _large_files.read_stream(_large_files.files_of([folder])).result()


def reporting(folder: str) -> None:
    """Makes and writes the whole report."""
    from uncertainty_metrics.__main__ import main

    with tempfile.TemporaryDirectory() as out:
        assert main(["report", folder, "--out", out]) == 0


def on_the_fly(size: str, classes: str) -> None:
    """Makes and writes the report of batches."""
    import uncertainty_metrics.numpy as um

    with tempfile.TemporaryDirectory() as out:
        um.report(batches=batches(int(size), int(classes))).save(out)


_TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task for task in (reading, summing, reporting, on_the_fly)
}


def measured(
    task: Callable[..., None], *arguments: str, times: int = 1
) -> dict[str, float]:
    """Returns the seconds that pass, those of the processor, and the megabytes of a
    task in a new process; of several, those of the quickest.
    """
    command = [sys.executable, __file__, "--task", task.__name__, *arguments]
    found: list[dict[str, float]] = []
    for _ in range(times):
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(run.stdout.splitlines()[-1]))
    return min(found, key=lambda each: each["seconds"])


def run_task(name: str, arguments: list[str]) -> None:
    # The first `to_numpy` of pyarrow imports pandas, which takes longer than it reads.
    import pandas  # noqa: F401
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401

    from uncertainty_metrics._report.reading import _large_files  # noqa: F401

    passed, processor = time.perf_counter(), time.process_time()
    _TASKS[name](*arguments)
    found = {
        "seconds": time.perf_counter() - passed,
        "processor": time.process_time() - processor,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", nargs="*", type=int, default=_SIZES)
    arguments = parser.parse_args()
    if arguments.task:
        run_task(arguments.task[0], arguments.task[1:])
        return
    print("| rows | classes | from | read s | sums / read | report s | peak MB |")
    print("|---|---|---|---|---|---|---|")
    for size in arguments.sizes:
        if size > _IN_FILES:
            found = measured(on_the_fly, str(size), "2")
            row = f"{found['seconds']:.0f} | {found['megabytes']:.0f}"
            print(f"| {size:,} | 2 | batches | - | - | {row} |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder), size)
            read, sums = (
                measured(task, folder, times=3) for task in (reading, summing)
            )
            report = measured(reporting, folder)
        ratio, of_processor = (
            sums[name] / read[name] for name in ("seconds", "processor")
        )
        print(
            f"| {size:,} | 2 | Parquet | {read['seconds']:.2f} | {ratio:.1f}, of the "
            f"processor {of_processor:.1f} | "
            f"{report['seconds']:.0f} | {report['megabytes']:.0f} |"
        )
    for classes in (10, 1000):
        size = 10**8 // classes
        found = measured(on_the_fly, str(size), str(classes))
        row = f"{found['seconds']:.0f} | {found['megabytes']:.0f}"
        print(f"| {size:,} | {classes} | batches | - | - | {row} |")


if __name__ == "__main__":
    main()
