"""Writes docs/conformance.md: the results of well-known packages on `conformance/`.

    python scripts/conformance_table.py

The script installs each package with plain pip in its own virtual environment, and runs
the vectors of the definitions for which the package has a function.
`--environments FOLDER` keeps the environments in a folder, and uses those that are
already in it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from conformance.run import FILES, VECTORS, flat, run  # noqa: E402
from scripts.conformance_packages import NOTES, PACKAGES  # noqa: E402

PAGE = ROOT / "docs" / "conformance.md"
TOLERANCE = 1e-5  # Some packages compute in float32.


def _number(value: float) -> str:
    return f"{0 if abs(value) < 1e-9 else value:.4g}"


def _shown(values: list[float]) -> str:
    shown = ", ".join(map(_number, values))
    return shown if len(values) == 1 else f"[{shown}]"


def _expected(vector: dict[str, Any]) -> str:
    expected = vector["expected"]
    return "raises" if expected == "error" else _shown(flat(expected))


def inside(package: str) -> dict[str, Any]:
    """Returns the version of an installed package, and its answers as text."""
    requirement, make = PACKAGES[package]
    answers: dict[str, dict[str, str]] = {}
    for definition, function in make().items():
        answers[definition] = {}
        for case, right, found in run(definition, function, TOLERANCE):
            try:
                inspect.signature(function).bind(**VECTORS[definition][case]["inputs"])
            except TypeError:
                found = NotImplementedError()
            if isinstance(found, NotImplementedError):
                text = "-"
            elif right:
                text = "✓"
            else:
                text = "raises" if isinstance(found, Exception) else _shown(found)
            answers[definition][case] = text
    version = importlib.metadata.version(requirement.partition("[")[0])
    return {"version": version, "answers": answers}


def outside(package: str, folder: pathlib.Path) -> dict[str, Any]:
    """Installs a package in its own environment, and runs this script there."""
    environment = folder / package
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    install = [python, "-m", "pip", "install", "--quiet", PACKAGES[package][0]]
    subprocess.run(install, check=True)
    run_inside = [python, __file__, "--inside", package]
    done = subprocess.run(run_inside, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


HEADER = """\
# Conformance

This page is for you if two packages give you different values of the same metric, or if
you write such a package. Packages do not agree on some definitions: scores on the edge
of a bin, ties, probabilities of 0 and 1, classes that are the label of no example,
fewer examples than bins, weights, divisors. For each such case there is a test vector,
with the smallest data that show the difference. The vectors are in the folder
`conformance/` of the repository, as JSON for any language. Each has inputs, a
definition, the expected value, and its derivation by hand in fractions. Our own tests
run all {count} vectors, on NumPy, TensorFlow, JAX and PyTorch. The runner takes any
callable:

```
python conformance/run.py expected_calibration_error my_module:my_function
```

## What packages return

`python scripts/conformance_table.py` wrote these tables. It installs each package in
its own environment, and runs the definitions for which the package has a function. If
the function has options that ask for the definition, the script passes them.

| Package | Version |
|---|---|
{versions}

A ✓ means that the package returned the expected value, within {tolerance:g}. Otherwise
the cell shows the number that it returned, or "raises" for an exception. A "-" means
that the function has no option for the case, and an empty cell that we know of no
function. A difference need not be an error, because conventions differ. The notes under
each table explain the differences that we know; "Documented" means that the
documentation of the package says the same.
"""


def page(results: dict[str, dict[str, Any]]) -> str:
    """Returns the page of the results of all packages."""
    versions = "\n".join(f"| {p} | {r['version']} |" for p, r in results.items())
    count = sum(map(len, VECTORS.values()))
    parts = [HEADER.format(versions=versions, count=count, tolerance=TOLERANCE)]
    for file in FILES:
        definitions = json.loads(file.read_text(encoding="utf-8"))
        answers = {p: r["answers"] for p, r in results.items()}
        columns = [p for p in answers if definitions.keys() & answers[p].keys()]
        if not columns:
            continue
        head = ["Definition", "Case", "Expected", *columns]
        rows = [head, ["---"] * len(head)]
        for definition, cases in definitions.items():
            if not any(definition in answers[p] for p in columns):
                continue
            for case, vector in cases.items():
                found = (answers[p].get(definition, {}).get(case, "") for p in columns)
                rows.append([f"`{definition}`", case, _expected(vector), *found])
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        notes = NOTES.get(file.stem, {})
        known = "\n".join(
            f"- {p}: {text}" for p in columns for text in notes.get(p, ())
        )
        parts.append(
            f"### {file.stem.capitalize()}\n\n{table}\n\n{known}".rstrip() + "\n"
        )
    return "\n".join(parts)


def up_to_date() -> bool:
    """Says if the cases and expected values on the page are those of the vectors."""
    row = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)
    listed: dict[str, dict[str, str]] = {}
    for definition, case, expected in row.findall(PAGE.read_text(encoding="utf-8")):
        listed.setdefault(definition, {})[case] = expected
    return bool(listed) and all(
        cases
        == {
            case: _expected(vector)
            for case, vector in VECTORS.get(definition, {}).items()
        }
        for definition, cases in listed.items()
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes docs/conformance.md.")
    parser.add_argument("--environments", type=pathlib.Path)
    parser.add_argument("--inside", choices=PACKAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        warnings.simplefilter("ignore")
        print("\n" + json.dumps(inside(options.inside)))
        sys.exit()
    with tempfile.TemporaryDirectory() as temporary:
        kept = (options.environments or pathlib.Path(temporary)).resolve()
        PAGE.write_text(page({p: outside(p, kept) for p in PACKAGES}), encoding="utf-8")
