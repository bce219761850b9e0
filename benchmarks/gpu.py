"""Keras metrics on a GPU, beside torchmetrics: `python benchmarks/gpu.py --docs`.

One command for JAX and PyTorch; their environment needs keras, jax with CUDA, torch
with CUDA, torchmetrics, scipy, scikit-learn and pytest. On each backend

- the metrics of the tests' catalogue are compared with the NumPy half, and their states
  with the states of the same batches on the CPU;
- the metrics that torchmetrics has, too, are timed in turns with it on the same
  tensors, and their values are compared;
- a profile of an update counts how often the device sends data to the host.

Without a GPU the script tries itself on the CPU, with little data, and writes nothing
into docs/speed.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import summary

BACKENDS = {"jax": "JAX", "torch": "PyTorch"}
MARKS = summary.Marks(
    "<!-- Written by benchmarks/gpu.py --docs -->", "<!-- End of the card -->"
)
# The probe must not keep the memory of the card.
_PROBE = "import torch; print(torch.cuda.is_available())"
_FULL = {"batch": 8192, "classes": [10, 1000]}
_TRIAL = {"batch": 256, "classes": [10]}


def measure(backend: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Runs `gpu_worker.py` on a backend of Keras and returns what it found."""
    environment = {**os.environ, "KERAS_BACKEND": backend}
    # JAX would take most of the memory, and PyTorch needs some for torchmetrics.
    environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    worker = summary.HERE / "gpu_worker.py"
    subprocess.run(
        [sys.executable, str(worker), json.dumps(asked)], env=environment, check=True
    )
    return json.loads(Path(asked["out"]).read_text())


def table(found: list[dict[str, Any]]) -> str:
    """Returns the rows of all backends as a table in Markdown."""
    lines = [
        "| metric | torchmetrics = 1.00 | batch | backend | update | compute "
        "| difference, at most | reads by the host, ours and theirs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in found:
        for row in result["rows"]:
            ours, theirs = row["values"]
            cells = (
                row["metric"],
                row["peer"],
                " x ".join(map(str, row["size"])),
                BACKENDS[result["backend"]],
                *(
                    summary.number(row["ratios"][part])
                    for part in ("update", "compute")
                ),
                f"{abs(ours - theirs):.1g}, {row['bound']:.0e}",
                " and ".join(map(str, row["host_reads"])),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def text(found: list[dict[str, Any]]) -> str:
    """Returns the text between the marks: lines about the runs, and the table."""
    lines = []
    for result in found:
        versions = ", ".join(" ".join(each) for each in result["versions"].items())
        lines.append(
            f"- {BACKENDS[result['backend']]} on {result['card'] or 'the CPU'}, "
            f"{result['date']}; {versions}. {result['compared']} metrics were compared "
            f"with the NumPy half and {len(result['wrong'])} values differ."
        )
    return "\n".join(lines) + f"\n\n{table(found)}"


def main() -> None:
    """Measures on both backends; exits with an error if a value differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--trial", action="store_true", help="little data, as on a machine without GPU"
    )
    parser.add_argument("--out", type=Path, default=summary.HERE / "results")
    parser.add_argument(
        "--docs", action="store_true", help="also write the table into docs/speed.md"
    )
    options = parser.parse_args()
    probe = subprocess.run(
        [sys.executable, "-c", _PROBE], capture_output=True, text=True, check=True
    )
    has_card = probe.stdout.strip() == "True"
    trial = options.trial or not has_card
    if not has_card:
        print("There is no GPU: this is a trial on the CPU, with little data.")
    size = _TRIAL if trial else _FULL
    rounds = 1 if trial else options.rounds
    options.out.mkdir(parents=True, exist_ok=True)
    found = []
    for backend in BACKENDS:
        out = options.out / f"gpu-{backend}.json"
        asked = {**size, "rounds": rounds, "trial": trial, "out": str(out)}
        found.append(
            {**measure(backend, asked), "date": datetime.date.today().isoformat()}
        )
    print(text(found))
    without = [result["backend"] for result in found if not result["card"]]
    if options.docs and (trial or without):
        print(
            "Nothing is written into docs/speed.md: a backend had no GPU, or a trial."
        )
    elif options.docs:
        MARKS.write(text(found), summary.SPEED)
    wrong = [f"{r['backend']}: {line}" for r in found for line in r["wrong"]]
    if wrong:
        raise SystemExit("A VALUE DIFFERS:\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main()
