"""The summary of a run: one row for each path, with the best peer as 1.00.

This file needs only the standard library, and matplotlib to draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from harness import ALONE, EAGER, GRAPH, JAX, MODES, NUMPY, PEERS, PYTORCH, XLA

_COLUMNS = {
    **{NUMPY: "NumPy", EAGER: "eager", GRAPH: "graph", XLA: "XLA"},
    **{JAX: "JAX", PYTORCH: "PyTorch"},
}
HERE = Path(__file__).resolve().parent
SPEED = HERE.parent / "docs" / "speed.md"
PICTURE = SPEED.parent / "pictures" / "speed.png"


class Marks(NamedTuple):
    """The lines of a Markdown file between which a benchmark writes its results."""

    begin: str
    end: str

    def write(self, text: str, file: Path) -> None:
        """Replaces the text between the marks of a file."""
        before, begin, rest = file.read_text().partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not (begin and end):
            raise ValueError(
                f"Expected: the lines {self.begin} and {self.end}. Received: {file}"
            )
        file.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


MARKS = Marks(
    "<!-- Written by benchmarks/run.py --docs -->", "<!-- End of the benchmarks -->"
)

PARTS = Marks(
    "<!-- The parts alone, written by benchmarks/run.py --docs -->",
    "<!-- End of the parts -->",
)


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


def parts(cases: list[dict[str, Any]]) -> str:
    """Returns the times of parts of the work alone as a table in Markdown, with the
    peers of `rows` as 1.00.
    """
    lines = ["| path | part of the work alone | column | time |", "|---" * 4 + "|"]
    for case in cases:
        ours = [row for row in case["contenders"] if row["mode"] is not None]
        for row in case["contenders"]:
            if case["path"] and ours and row["label"].startswith(ALONE):
                peer = _best_peer(case["contenders"], ours[0]["quantity"])
                part = _without_mode(row["label"])
                column = _COLUMNS[row["label"].removeprefix(f"{part}; ")]
                time = number(row["ratio"] / peer["ratio"])
                part = part.removeprefix(ALONE)
                lines.append(f"| {case['path']} | {part} | {column} | {time} |")
    return "\n".join(lines) + "\n"


def machine_line(machine: dict[str, Any], rounds: int) -> str:
    """Returns a description of the machine and the run, in one line."""
    avx512 = "with" if machine["avx512"] else "without"
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {avx512} AVX-512, "
        f"{machine['system']}; {machine['date']}; {rounds} rounds."
    )


def threads_line(machine: dict[str, Any]) -> str:
    """Returns how many threads this package and its peers could use."""
    told = machine["omp_num_threads"]
    if told is None:
        given = "is not set, so every package chooses its own number of threads"
    else:
        given = f"is {told}"
    return (
        f"The processes may use {machine['usable_cores']} of the {machine['cores']} "
        f"cores. `OMP_NUM_THREADS` {given}."
    )


def paths(text: str) -> list[str]:
    """Returns the first column of the table between the marks; empty without marks."""
    inside = text.partition(MARKS.begin)[2].partition(MARKS.end)[0]
    lines = [line for line in inside.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]


def write(document: dict[str, Any], file: Path, picture: Path) -> None:
    """Puts the table of a `results.json` between the marks of a Markdown file.

    Args:
      document: the results.
      file: the Markdown file.
      picture: the file for the plot of the ratios, to which the text links.
    """
    found = rows(document["cases"])
    plot(found, picture)
    machine = document["machine"]
    link = picture.relative_to(file.parent).as_posix()
    MARKS.write(
        f"{machine_line(machine, document['rounds'])} {threads_line(machine)}\n\n"
        f"{table(found)}\n"
        f"![The ratios of the table, a line for each path]({link})\n",
        file,
    )
    PARTS.write(parts(document["cases"]), file)


def plot(found: list[dict[str, Any]], file: Path) -> None:
    """Draws the ratios of the rows, one line for each path, on a logarithmic axis."""
    from matplotlib.figure import Figure

    height = 1.4 + 0.24 * len(found)
    figure = Figure(figsize=(9, height), layout="constrained")
    ax = figure.add_subplot()
    ax.axvline(1, color="black", linewidth=1)
    for marker, (mode, label) in zip("osD^vP", _COLUMNS.items(), strict=True):
        places = [i for i, row in enumerate(found) if mode in row["ratios"]]
        ratios = [found[i]["ratios"][mode] for i in places]
        ax.plot(ratios, places, marker, label=label, markersize=5, alpha=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(found)), [row["path"].replace("`", "") for row in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.tick_params("y", labelsize="small", length=0)
    ax.grid(alpha=0.3)
    ax.set_xlabel("time / time of the fastest peer (less is faster)")
    figure.legend(loc="outside upper center", ncols=len(_COLUMNS), frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
