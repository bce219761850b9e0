"""The summary of a run: one row for each path, with the best peer as 1.00.

This file needs only the standard library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import EAGER, GRAPH, JAX, MODES, NUMPY, PEERS, PYTORCH, XLA

_COLUMNS = {
    **{NUMPY: "NumPy", EAGER: "eager", GRAPH: "graph", XLA: "XLA"},
    **{JAX: "JAX", PYTORCH: "PyTorch"},
}
# The table is between these lines of a Markdown file.
BEGIN = "<!-- Written by benchmarks/run.py --docs -->"
END = "<!-- End of the benchmarks -->"


def number(ratio: float) -> str:
    """Formats a ratio, or milliseconds, with at least two digits."""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}"


def _best_peer(
    contenders: list[dict[str, Any]], quantity: str | None
) -> dict[str, Any]:
    """Returns the fastest other package with the same value.

    If there is none, returns the fastest baseline with the same value, and if there is
    none either, the 1.00 of the case.
    """
    others = [row for row in contenders if row["mode"] is None]
    same = [row for row in others if row["quantity"] == quantity is not None]
    peers = [row for row in same if row["environment"] == PEERS]
    rivals = (
        # A few lines of PyTorch are the rival only if no package has the value.
        [row for row in peers if "by hand" not in row["label"]]
        or peers
        or [row for row in same if row["baseline"]]
        or [row for row in others if row["baseline"]][:1]
    )
    return min(rivals, key=lambda row: row["ratio"])


def _without_mode(label: str) -> str:
    for mode in MODES:
        label = label.removesuffix(f"; {mode}")
    return label


def rows(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a row for each path from the results of `run.py`.

    A row has the name of the path, the best peer, and for each mode the time of the
    package divided by the time of the peer.
    """
    found: dict[str, dict[str, Any]] = {}
    for case in cases:
        ours = [row for row in case["contenders"] if row["mode"] is not None]
        if not case["path"] or not ours:
            continue
        peer = _best_peer(case["contenders"], ours[0]["quantity"])
        row = {"path": case["path"], "peer": _without_mode(peer["label"]), "ratios": {}}
        ratios = found.setdefault(case["path"], row)["ratios"]
        for contender in ours:  # The first contender of a mode counts.
            ratios.setdefault(contender["mode"], contender["ratio"] / peer["ratio"])
    return list(found.values())


def table(found: list[dict[str, Any]]) -> str:
    """Returns the rows as a table in Markdown."""
    lines = [
        f"| path | peer = 1.00 | {' | '.join(_COLUMNS.values())} |",
        "|---" * (2 + len(_COLUMNS)) + "|",
    ]
    for row in found:
        ratios = (row["ratios"].get(mode) for mode in _COLUMNS)
        cells = ("" if ratio is None else number(ratio) for ratio in ratios)
        lines.append(f"| {row['path']} | {row['peer']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def machine_line(machine: dict[str, Any], rounds: int) -> str:
    """Returns a description of the machine and the run, in one line."""
    avx512 = "with" if machine["avx512"] else "without"
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {avx512} AVX-512, "
        f"{machine['system']}; {machine['date']}; {rounds} rounds."
    )


def paths(text: str) -> list[str]:
    """Returns the first column of the table between the marks; empty without marks."""
    inside = text.partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in inside.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]


def write(document: dict[str, Any], file: Path) -> None:
    """Puts the table of a `results.json` between the marks of a Markdown file."""
    before, begin, rest = file.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"Expected: the lines {BEGIN} and {END}. Received: {file}")
    text = (
        f"{machine_line(document['machine'], document['rounds'])}\n\n"
        f"{table(rows(document['cases']))}"
    )
    file.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")
