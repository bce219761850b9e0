"""The summary of a run: one row for each path, with the best peer as 1.00.

This file needs only the standard library, and matplotlib to draw.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness import (
    ALONE,
    BACKENDS,
    EAGER,
    FAST,
    GRAPH,
    JAX,
    MODES,
    NUMPY,
    PEERS,
    PYTORCH,
    XLA,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = {
    **{NUMPY: "NumPy", EAGER: "eager", GRAPH: "graph", XLA: "XLA"},
    **{JAX: "JAX", PYTORCH: "PyTorch"},
}
# The first cell of a row that is the title of a family begins with this.
_TITLE = "**"
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

LOOPS = Marks(
    "<!-- The compiled loops, written by benchmarks/run.py --docs -->",
    "<!-- End of the compiled loops -->",
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
        # Without the environment of the peers.
        or [row for row in contenders if row["baseline"]]
    )
    return min(rivals, key=lambda row: row["ratio"])


def _without_mode(label: str) -> str:
    for mode in (*MODES, *BACKENDS):
        label = label.removesuffix(f"; {mode}")
    return label


def rows(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a row for each path from the results of `run.py`.

    A row has the name of the path and its family, the best peer, and for each mode the
    time of the package divided by the time of the peer.
    """
    found: dict[str, dict[str, Any]] = {}
    for case in cases:
        ours = [row for row in case["contenders"] if row["mode"] is not None]
        if not case["path"] or not ours:
            continue
        peer = _best_peer(case["contenders"], ours[0]["quantity"])
        row = {
            "family": case["family"],
            "path": case["path"],
            "peer": _without_mode(peer["label"]),
            "ratios": {},
        }
        ratios = found.setdefault(case["path"], row)["ratios"]
        for contender in ours:  # The first contender of a mode counts.
            ratios.setdefault(contender["mode"], contender["ratio"] / peer["ratio"])
    return list(found.values())


def _families(
    found: list[dict[str, Any]],
) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Yields each family, in the order of the rows, and its rows."""
    return itertools.groupby(found, key=lambda row: row["family"])


def table(found: list[dict[str, Any]]) -> str:
    """Returns the rows as a table in Markdown, each family below its title."""
    lines = [
        f"| path | peer = 1.00 | {' | '.join(_COLUMNS.values())} |",
        "|---" * (2 + len(_COLUMNS)) + "|",
    ]
    for family, members in _families(found):
        lines.append(f"| {_TITLE}{family}** |" + "  |" * (1 + len(_COLUMNS)))
        for row in members:
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


def loops(found: list[dict[str, Any]]) -> str:
    """Returns the rows with a time of compiled loops as a table in Markdown."""
    lines = [
        "| path | peer = 1.00 | NumPy | with Numba | Numba / NumPy |",
        "|---" * 5 + "|",
    ]
    for row in found:
        if FAST in row["ratios"]:
            plain, fast = (row["ratios"][mode] for mode in (NUMPY, FAST))
            cells = map(number, (plain, fast, fast / plain))
            lines.append(f"| {row['path']} | {row['peer']} | {' | '.join(cells)} |")
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
    first = [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]
    return [path for path in first if not path.startswith(_TITLE)]


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
    LOOPS.write(loops(found), file)


# The README calls smaller differences noise.
_NOISE = 1.2
# How the plot shows ratios up to a limit, in colours that colour-blind readers tell
# apart.
_SHOWN = (
    (1 / _NOISE, "o", "#0072B2", "faster than the fastest peer"),
    (_NOISE, "D", "#808080", "as fast, within a fifth"),
    (math.inf, "^", "#D55E00", "slower"),
)
_SMALL = 7.5


def plot(found: list[dict[str, Any]], file: Path) -> None:
    """Draws the ratios of the rows: a line for each path, below the title of its
    family, and a panel with a logarithmic axis for each column of the table.
    """
    from matplotlib.figure import Figure

    lines: list[dict[str, Any] | str] = []
    for family, members in _families(found):
        lines += [family, *members]
    every = [
        row["ratios"][mode]
        for row in found
        for mode in _COLUMNS
        if mode in row["ratios"]
    ]
    figure = Figure(figsize=(9, 0.8 + 0.115 * len(lines)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.02)
    panels = figure.subplots(
        1, len(_COLUMNS), sharex=True, sharey=True, subplot_kw={"facecolor": "none"}
    )
    for ax, (mode, label) in zip(panels, _COLUMNS.items(), strict=True):
        ax.set_title(label, fontsize=_SMALL + 1)
        _draw(ax, lines, mode)
    _label_lines(panels[0], lines)
    limits = 0.6 * min(every), 1.7 * max(every)
    powers = range(
        math.ceil(math.log10(limits[0])), math.floor(math.log10(limits[1])) + 1
    )
    panels[0].set_xscale("log")
    panels[0].set_xlim(limits)
    panels[0].set_xticks([10.0**power for power in powers])
    panels[0].xaxis.set_major_formatter("{x:g}")
    panels[0].minorticks_off()
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(_SHOWN),
        title="time / time of the fastest peer, on a logarithmic axis",
        fontsize=_SMALL,
        title_fontsize=_SMALL,
        frameon=False,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def _draw(ax: Axes, lines: list[dict[str, Any] | str], mode: str) -> None:
    """Draws the ratios of a column of the table, each with a bar from 1."""
    ratios = {
        place: row["ratios"][mode]
        for place, row in enumerate(lines)
        if isinstance(row, dict) and mode in row["ratios"]
    }
    ax.axvline(1, color="black", linewidth=0.8)
    least = 0.0
    for most, marker, colour, label in _SHOWN:
        places = [place for place, ratio in ratios.items() if least < ratio <= most]
        ends = [ratios[place] for place in places]
        ax.hlines(places, 1, ends, colour, linewidth=0.8, alpha=0.6)
        ax.plot(ends, places, marker, color=colour, markersize=3.5, label=label)
        least = most
    ax.tick_params(labelsize=_SMALL, length=0, which="both")
    ax.grid(color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)


def _label_lines(ax: Axes, lines: list[dict[str, Any] | str]) -> None:
    """Writes the paths left of the first panel, and puts titles on a band."""
    titles = [isinstance(line, str) for line in lines]
    labels = [
        line if isinstance(line, str) else line["path"].replace("`", "")
        for line in lines
    ]
    ax.set_yticks(range(len(lines)), labels)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    for place, (label, title) in enumerate(
        zip(ax.get_yticklabels(), titles, strict=True)
    ):
        if title:
            label.set_fontweight("bold")
            # It is behind all panels, from the left edge to the right one.
            band = ax.axhspan(place - 0.5, place + 0.5, -9, 9, color="0.93", zorder=0)
            band.set(clip_on=False, in_layout=False, linewidth=0)
