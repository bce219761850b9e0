"""Time and size of installation and import, beside scikit-learn's.

`python benchmarks/install.py --tensorflow PYTHON --docs` installs both packages into
fresh environments, in turns, and writes the table into docs/speed.md. It needs pip with
access to a package index.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import run
import summary

ROOT = Path(__file__).resolve().parents[1]
MARKS = summary.Marks(
    "<!-- Written by benchmarks/install.py --docs -->",
    "<!-- End of the installation -->",
)
OURS, PEER = "ours", "theirs"
# The files from which `pip install .` builds the package.
_SOURCES = ("uncertainty_metrics", "setup.py", "pyproject.toml", "README.md", "LICENSE")
# What scikit-learn has of the report on the same file: scores, reliability diagrams,
# and what vector scaling and isotonic maps would give, cross-validated.
_PEER_REPORT = """
import sys
import numpy as np
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict

data = np.load(sys.argv[1])
labels, logits = data["labels"], data["logits"].astype(float)
rows = np.exp(logits - logits.max(axis=1, keepdims=True))
rows /= rows.sum(axis=1, keepdims=True)
right, confidences = rows.argmax(axis=1) == labels, rows.max(axis=1)
print(right.mean(), log_loss(labels, rows), brier_score_loss(labels, rows))
print(roc_auc_score(right, confidences))
recalibrated = cross_val_predict(
    LogisticRegression(), logits / logits.std(), labels, cv=5, method="predict_proba"
)
print(log_loss(labels, recalibrated), brier_score_loss(labels, recalibrated))
isotonic = np.empty_like(rows)
for train, test in KFold(5).split(rows):
    for k in range(rows.shape[1]):
        fit = IsotonicRegression(out_of_bounds="clip")
        fit.fit(rows[train, k], labels[train] == k)
        isotonic[test, k] = fit.predict(rows[test, k])
isotonic /= isotonic.sum(axis=1, keepdims=True)
print(brier_score_loss(labels, isotonic))
for name, scores in (("before", confidences), ("after", recalibrated.max(axis=1))):
    figure = Figure(figsize=(4.5, 6.2), layout="constrained")
    CalibrationDisplay.from_predictions(
        right, scores, n_bins=15, ax=figure.add_subplot()
    )
    figure.savefig(f"{sys.argv[2]}/{name}.png", dpi=200)
    figure.savefig(f"{sys.argv[2]}/{name}.svg")
"""


class Took(NamedTuple):
    """The time of a command.

    Attributes:
      processor: seconds of the processor, of the command and its children. They hardly
        depend on what else the machine does.
      elapsed: seconds that passed.
    """

    processor: float
    elapsed: float


class Compared(NamedTuple):
    """Two commands that take turns.

    Attributes:
      title: the first column of the table, in Markdown.
      peer: what the other command installs or imports, in Markdown.
      ours: runs the command of this package.
      theirs: runs the command of the peer.
    """

    title: str
    peer: str
    ours: Callable[[], Took]
    theirs: Callable[[], Took]


def timed(command: list[str], folder: Path) -> Took:
    """Returns the time of a command, which runs in a folder."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    environment |= {"MPLBACKEND": "Agg", "TF_CPP_MIN_LOG_LEVEL": "3"}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    elapsed, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    user = after.children_user - before.children_user
    return Took(user + after.children_system - before.children_system, elapsed)


class Environment:
    """A fresh virtual environment, into which a package is installed.

    Attributes:
      python: its Python.

    Its commands run in the folder `place`, which must have no packages: Python would
    import them.
    """

    def __init__(self, folder: Path, place: Path):
        self._folder, self._place = folder, place
        self.python = str(folder / "bin" / "python")

    def install(self, *packages: str) -> Took:
        """Returns the time of pip."""
        return timed(
            [self.python, "-m", "pip", "install", "--quiet", *packages],
            self._place,
        )

    def renew(self) -> None:
        """Makes the environment anew, with pip alone."""
        shutil.rmtree(self._folder, ignore_errors=True)
        timed([sys.executable, "-m", "venv", str(self._folder)], self._place)

    def size(self) -> int:
        """Returns the bytes of all files."""
        files = (path for path in self._folder.rglob("*") if path.is_file())
        return sum(path.stat().st_size for path in files if not path.is_symlink())

    def run(self, *arguments: str) -> Took:
        """Returns the time of its Python with some arguments."""
        return timed([self.python, *arguments], self._place)


def in_turns(
    ours: Callable[[], Took], theirs: Callable[[], Took], rounds: int
) -> dict[str, Any]:
    """Runs two commands in turns, after an uncounted one of each: it fills caches."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return {
        "ours": statistics.median(a.processor for a, _ in pairs),
        "theirs": statistics.median(b.processor for _, b in pairs),
        "ratio": statistics.median(a.processor / b.processor for a, b in pairs),
        "elapsed_ratio": statistics.median(a.elapsed / b.elapsed for a, b in pairs),
    }


def installed(
    environments: dict[str, Environment], sources: Path, rounds: int
) -> list[dict[str, Any]]:
    """Returns the rows of `pip install`: its time, and the size of what it installs."""

    def fresh(name: str, *packages: str) -> Took:
        environments[name].renew()
        empty[name] = environments[name].size()
        return environments[name].install(*packages)

    empty: dict[str, int] = {}
    peer = "scikit-learn"
    row = in_turns(lambda: fresh(OURS, str(sources)), lambda: fresh(PEER, peer), rounds)
    ours, theirs = (environments[name].size() - empty[name] for name in (OURS, PEER))
    pip = f"`pip install {peer}`"
    size = {"ours": ours / 1e6, "theirs": theirs / 1e6, "ratio": ours / theirs}
    return [
        {"title": "`pip install .`", "peer": pip, "unit": "s", **row},
        {"title": "its size, with NumPy and SciPy", "peer": pip, "unit": "MB", **size},
    ]


def commands(
    environments: dict[str, Environment], tensorflow: Environment | None, folder: Path
) -> list[Compared]:
    """Returns the imports and the report, each with that of the peer."""

    def statement(name: str, code: str) -> Callable[[], Took]:
        return lambda: environments[name].run("-c", code)

    def imports(code: str, peer_code: str) -> Compared:
        ours, theirs = statement(OURS, code), statement(PEER, peer_code)
        return Compared(f"`{code}`", f"`{peer_code}`", ours, theirs)

    data = ROOT / "uncertainty_metrics" / "data" / "digits_predictions.npz"
    script = folder / "peer_report.py"
    script.write_text(_PEER_REPORT)
    rows = [
        imports("import uncertainty_metrics.numpy", "import sklearn"),
        imports("import uncertainty_metrics", "import sklearn"),
        imports(
            "from uncertainty_metrics.numpy import ece",
            "from sklearn.metrics import brier_score_loss",
        ),
        Compared(
            "`python -m uncertainty_metrics report`",
            "scores, diagrams and maps of the same file by scikit-learn",
            lambda: environments[OURS].run(
                "-m", "uncertainty_metrics", "report", "--out", str(folder / "report")
            ),
            lambda: environments[PEER].run(str(script), str(data), str(folder)),
        ),
    ]
    if tensorflow is not None:
        code = "from uncertainty_metrics import ece"
        path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
        rows.append(
            Compared(
                f"`{code}`, which imports TensorFlow",
                "`import tensorflow`",
                lambda: tensorflow.run("-c", f"{path}; {code}"),
                lambda: tensorflow.run("-c", "import tensorflow"),
            )
        )
    return rows


def measure(tensorflow: str | None, rounds: int, import_rounds: int) -> dict[str, Any]:
    """Returns the rows of the table, and a description of the machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources, place = folder / "sources", folder / "place"
        sources.mkdir()
        place.mkdir()
        for part in _SOURCES:  # A build leaves files in its folder.
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, sources / part)
        environments = {key: Environment(folder / key, place) for key in (OURS, PEER)}
        rows = installed(environments, sources, rounds)
        for environment in environments.values():
            environment.install("matplotlib")  # The report needs it, scikit-learn not.
        with_tensorflow = None
        if tensorflow:
            with_tensorflow = Environment(Path(tensorflow).absolute().parents[1], place)
        for title, peer, ours, theirs in commands(environments, with_tensorflow, place):
            row = in_turns(ours, theirs, import_rounds)
            rows.append({"title": title, "peer": peer, "unit": "s", **row})
        return {
            "machine": run.machine({}),
            "load": os.getloadavg()[0],
            "python": platform.python_version(),
            "rounds": rounds,
            "import_rounds": import_rounds,
            "rows": rows,
        }


def table(found: list[dict[str, Any]]) -> str:
    """Returns the rows as a table in Markdown."""
    lines = [
        "| this package | beside | time or size | peer's | ratio | of elapsed time |",
        "|---|---|---|---|---|---|",
    ]
    for row in found:
        ours, theirs = (
            f"{summary.number(row[name])} {row['unit']}" for name in ("ours", "theirs")
        )
        elapsed = row.get("elapsed_ratio")
        ratios = [row["ratio"], *([] if elapsed is None else [elapsed])]
        cells = [*map(summary.number, ratios), ""][:2]
        lines.append(
            f"| {row['title']} | {row['peer']} | {ours} | {theirs} "
            f"| {cells[0]} | {cells[1]} |"
        )
    return "\n".join(lines) + "\n"


def text(document: dict[str, Any]) -> str:
    """Returns the text between the marks: a line about the machine, and the table."""
    line = summary.machine_line(document["machine"], document["rounds"])
    return (
        f"Python {document['python']}; {line} {document['import_rounds']} rounds of "
        f"imports and reports. The load of the machine was {document['load']:.0f}.\n\n"
        f"{table(document['rows'])}"
    )


def main() -> None:
    """Measures, prints the table, and writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="of installation")
    parser.add_argument("--import-rounds", type=int, default=7)
    parser.add_argument(
        "--tensorflow", metavar="PYTHON", help="Python with TensorFlow: one more row"
    )
    parser.add_argument("--out", type=Path, default=summary.HERE / "results")
    parser.add_argument(
        "--docs", action="store_true", help="also write the table into docs/speed.md"
    )
    options = parser.parse_args()
    document = measure(options.tensorflow, options.rounds, options.import_rounds)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "install.json").write_text(json.dumps(document, indent=2) + "\n")
    print(text(document))
    if options.docs:
        MARKS.write(text(document), summary.SPEED)


if __name__ == "__main__":
    main()
