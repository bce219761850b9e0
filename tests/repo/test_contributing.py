"""Each walk of CONTRIBUTING.md works, followed literally in a copy of the package."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
COPIED = (
    *("uncertainty_metrics", "tests", "scripts", "docs", "benchmarks"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "mkdocs.yml", "pyproject.toml"),
)
SCRIPT = "scripts/write_stubs.py"


class Edit(NamedTuple):
    """A change that the page asks for: of a line, or without one at the end of a file,
    which may be new.
    """

    path: str
    how: str
    line: str
    block: str


class Walk(NamedTuple):
    """A walk of the page.

    Attributes:
      title: the end of its title.
      files: the largest number of files that a visitor writes.
      messages: what the tests print if an edit is left out, by its file; of a file that
        is not here nothing is printed.
    """

    title: str
    files: int
    messages: dict[str, str]

    @property
    def section(self):
        """The text of the page."""
        return PAGE.split(f"\n## How to add {self.title}\n")[1].split("\n## ")[0]

    @property
    def edits(self):
        """The edits that the page asks for, in order."""
        return [
            Edit(*groups)
            for groups in re.findall(
                r"In(?:\sthe\snew\sfile)?\s`(\S+)`"
                r"(?:, (?:(after|instead of)\s`(.+?)`|at the end))?:\n\n"
                r"```\w+\n(.*?)```",
                self.section,
                re.DOTALL,
            )
        ]

    @property
    def tests(self):
        """The arguments of the command of the page that runs the tests."""
        (command,) = re.findall(r"^python (-m pytest .*)$", self.section, re.MULTILINE)
        return shlex.split(command)

    @property
    def written(self):
        """The files that a visitor writes."""
        return list(dict.fromkeys(edit.path for edit in self.edits))


def of_metric(module, metric, guide, messages):
    """Returns the messages of the steps that the walks of metrics share."""
    return messages | {
        f"uncertainty_metrics/keras/metrics/{module}.py": (
            rf'names `{metric}`.*: write `"{metric}",` into `__all__`'
        ),
        guide: rf"docs/guide/.*write a line for `{metric}`",
        "CHANGELOG.md": rf"CHANGELOG\.md: write a line with `{metric}`",
        SCRIPT: r"run `python scripts/write_stubs\.py`",
    }


NUMPY = "uncertainty_metrics/numpy"
SECTIONS = "uncertainty_metrics/_report/sections"
WALKS = [
    Walk(
        "a metric of classes",
        7,
        of_metric(
            *("scoring_rules", "SphericalScore", "docs/guide/scoring_rules.md"),
            {
                f"{NUMPY}/scoring/scoring_rules.py": (
                    r"numpy\.scoring\.scoring_rules' has no attribute 'spherical_score'"
                ),
                "uncertainty_metrics/ops/_classifier_scores.py": (
                    r"ops\._classifier_scores' has no attribute 'spherical_scores'"
                ),
                "uncertainty_metrics/tensors/scoring_rules.py": (
                    r"import spherical_score .*or its twin into uncertainty_metrics/ten"
                ),
                "tests/catalogue/classifiers.py": r'write `Row\("spherical_score"',
            },
        ),
    ),
    Walk(
        "a metric of forecasts",
        7,
        of_metric(
            *("forecast_scores", "CRPSLaplace", "docs/guide/scoring_rules.md"),
            {
                f"{NUMPY}/scoring/forecast_scores.py": (
                    r"scoring\.forecast_scores' has no attribute 'crps_laplace_score'"
                ),
                "uncertainty_metrics/ops/_forecast_scores.py": (
                    r"ops\._forecast_scores' has no attribute 'laplace_scores'"
                ),
                "uncertainty_metrics/tensors/forecast_scores.py": (
                    r"import crps_laplace_score .*or its twin into uncertainty_metrics/"
                ),
                "tests/catalogue/forecasts.py": r'write `RealRow\("crps_laplace_score"',
            },
        ),
    ),
    Walk(
        "a calibrator",
        4,
        {
            f"{NUMPY}/calibrators/one_against_rest.py": (
                r"has no attribute 'InterceptScaling'"
            ),
            "tests/calibrators.py": (
                r'tests/calibrators\.py: write `"\.\.\.": um\.InterceptScaling,`'
            ),
            "docs/guide/recalibration.md": r"docs/guide/.*a line for `Intercept",
            "CHANGELOG.md": r"CHANGELOG\.md: write a line with `InterceptScaling`",
            SCRIPT: r"numpy' has no attribute 'InterceptScaling'",
        },
    ),
    Walk(
        "a section of the report",
        4,
        {
            f"{SECTIONS}/_sure_decisions.py": r"No module named '.*_sure_decisions'",
            f"{SECTIONS}/_list.py": r"sections/_list\.py: write `SureDecisions,`",
            "docs/report.md": r"write these rows into docs/report\.md",
        },
    ),
]
STEPS = [
    pytest.param(walk, step, id=f"{walk.title}, {step}")
    for walk in WALKS
    for step in walk.messages
]


def run(copy, *command):
    environment = {**os.environ, "PYTHONPATH": str(copy), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
    )


def run_tests(copy, walk, *options):
    """Runs in a copy the command that a walk ends with."""
    return run(copy, *walk.tests, "-n", "0", "-p", "no:cacheprovider", *options)


def make_copy(copy):
    """Copies what the walks read and change, and what Python compiled of it."""
    for name in COPIED:
        source, target = ROOT / name, copy / name
        if source.is_file():
            shutil.copy(source, target)
        else:
            shutil.copytree(source, target)


def write(copy, walk, left_out=None):
    """Writes in a copy what a walk says."""
    for edit in walk.edits:
        if edit.path != left_out:
            path = copy / edit.path
            if not path.exists():
                path.write_text(edit.block)
                continue
            lines = path.read_text().splitlines(keepends=True)
            stripped = [line.strip() for line in lines]
            if edit.line:
                assert stripped.count(edit.line) == 1, edit
                at = stripped.index(edit.line) + 1
                before = lines[: at - (edit.how == "instead of")]
                lines = [*before, edit.block, *lines[at:]]
            else:
                lines += ["\n\n", edit.block]
            path.write_text("".join(lines))


each_walk = pytest.mark.parametrize("walk", WALKS, ids=[walk.title for walk in WALKS])


def test_the_page_names_what_is_there():
    for command in re.findall(r"`python (\S+\.py)", PAGE):
        assert (ROOT / command).exists(), command
    for path in re.findall(r"`((?:uncertainty_metrics|tests|docs)/[\w./]+)`", PAGE):
        assert (ROOT / path).exists() or f"In the new file `{path}`" in PAGE, path
    titles = re.findall(r"\n## How to add (.*)\n", PAGE)
    assert titles == ["something", *(walk.title for walk in WALKS)]


@each_walk
def test_a_walk_takes_few_files(walk):
    assert len(walk.written) == walk.files
    assert {*walk.messages} - {SCRIPT} <= {*walk.written}
    for path in {*walk.written} - {*walk.messages}:
        assert path == "CHANGELOG.md"  # The changelog names no picture.


def test_a_metric_of_classes_takes_eight_things_to_know():
    section = PAGE.split("\n## How to add a metric of classes\n")[1].split("\n## ")[0]
    numbers = [int(number) for number in re.findall(r"\((\d)\)\s", section)]
    assert numbers == list(range(1, 9))


@pytest.mark.exhaustive  # `.ci/run` does it beside other steps.
@each_walk
def test_a_walk_alone_writes_clean_code(walk, tmp_path):
    """So a walk uses no name that only another walk adds."""
    make_copy(tmp_path)
    write(tmp_path, walk)
    changed = [path for path in walk.written if path.endswith(".py")]
    for check in (("check",), ("format", "--check")):
        lint = run(tmp_path, "-m", "ruff", *check, *changed)
        assert lint.returncode == 0, lint.stdout
    for path in changed:
        assert len((tmp_path / path).read_text().splitlines()) <= 600, path


@pytest.mark.exhaustive
def test_following_the_walks_adds_what_they_promise(tmp_path):
    make_copy(tmp_path)
    for walk in WALKS:
        write(tmp_path, walk)
    written = run(tmp_path, SCRIPT)
    assert written.returncode == 0, written.stderr
    for walk in WALKS:
        outcome = run_tests(tmp_path, walk)
        assert outcome.returncode == 0, outcome.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize(("walk", "step"), STEPS)
def test_a_missing_step_is_named(walk, step, tmp_path):
    make_copy(tmp_path)
    write(tmp_path, walk, left_out=step)
    written = run(tmp_path, SCRIPT) if step != SCRIPT else None
    outcome = run_tests(tmp_path, walk, "-x")
    assert outcome.returncode != 0
    # An error of a conftest file is in stderr.
    printed = outcome.stdout + outcome.stderr + (written.stderr if written else "")
    assert re.search(walk.messages[step], printed), printed
