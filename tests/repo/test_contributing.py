"""CONTRIBUTING.md, followed literally in a copy of the repository, adds a metric."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
COPIED = (
    *("uncertainty_metrics", "tests", "scripts", "docs", "benchmarks"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "mkdocs.yml", "pyproject.toml"),
)
# What CONTRIBUTING.md runs in the end, but for the docstrings.
CONCERNED = "crps_laplace or CRPSLaplace or every_public_name or up_to_date"


class Edit(NamedTuple):
    """A change that the page asks for: of a line, or without one at the end."""

    path: str
    how: str
    line: str
    block: str


EDITS = [
    Edit(*found)
    for found in re.findall(
        r"In\s`(\S+)`, (?:(after|instead of)\s`(.+?)`|at the end):\n\n"
        r"```\w+\n(.*?)```",
        PAGE,
        re.DOTALL,
    )
]
# "the stubs" is the script that writes them.
STEPS = [*dict.fromkeys(edit.path for edit in EDITS), "the stubs"]
# What is said where a step is left out.
TOLD = {
    "uncertainty_metrics/numpy/scoring/forecast_scores.py": (
        r"numpy\.scoring\.forecast_scores' has no attribute 'crps_laplace_score'"
    ),
    "uncertainty_metrics/ops/_forecast_scores.py": (
        r"ops\._forecast_scores' has no attribute 'laplace_scores'"
    ),
    "uncertainty_metrics/tensors/forecast_scores.py": (
        r"import crps_laplace_score .*or its twin into uncertainty_metrics/tensors"
    ),
    "uncertainty_metrics/keras/metrics/scoring_rules.py": (
        r'names `CRPSLaplace`.*: write `"CRPSLaplace",` into `__all__`'
    ),
    "tests/catalogue/forecasts.py": r'write `RealRow\("crps_laplace_score"',
    "docs/guide/scoring_rules.md": r"docs/guide/.*write a line for `CRPSLaplace`",
    "CHANGELOG.md": r"CHANGELOG\.md: write a line with `CRPSLaplace`",
    "the stubs": r"run `python scripts/write_stubs\.py`",
}


def run(copy, *command):
    environment = {**os.environ, "PYTHONPATH": str(copy), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
    )


def pytest_in(copy, *arguments):
    return run(copy, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *arguments)


def follow(copy, left_out=None):
    """Does what the page says in a copy; returns what the last command printed."""
    for name in COPIED:
        source, target = ROOT / name, copy / name
        if source.is_file():
            shutil.copy(source, target)
        else:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, ignore=ignored)
    for edit in EDITS:
        if edit.path != left_out:
            path = copy / edit.path
            lines = path.read_text().splitlines(keepends=True)
            stripped = [line.strip() for line in lines]
            if edit.line:
                assert stripped.count(edit.line) == 1, edit
                at = stripped.index(edit.line) + 1
                kept = lines[: at - (edit.how == "instead of")]
                lines = [*kept, edit.block, *lines[at:]]
            else:
                lines += ["\n\n", edit.block]
            path.write_text("".join(lines))
    return run(copy, "scripts/write_stubs.py") if left_out != "the stubs" else None


def test_the_page_names_what_is_there():
    for command in re.findall(r"`python (\S+\.py)", PAGE):
        assert (ROOT / command).exists(), command
    for path in re.findall(r"`((?:uncertainty_metrics|tests|docs)/[\w./]+)`", PAGE):
        assert (ROOT / path).exists(), path
    assert len(STEPS) - 1 <= 7
    assert set(TOLD) == set(STEPS)
    assert sum(edit.block.count("\n") for edit in EDITS) <= 120


def test_every_public_name_is_in_the_changelog():
    named = set(re.findall(r"`(?:\w+\.)*(\w+)`", (ROOT / "CHANGELOG.md").read_text()))
    for module in catalogue.modules(um, um_np):
        aliases = {}
        for name in module.__all__:
            aliases.setdefault(getattr(module, name), set()).add(name)
        for names in aliases.values():
            assert names & named or names <= {"numpy", *catalogue.ROOMS}, (
                f"CHANGELOG.md: write a line with `{min(names)}` below `### Added`"
            )


@pytest.mark.exhaustive  # `.ci/run` does it beside other steps.
def test_following_the_page_adds_a_metric(tmp_path):
    written = follow(tmp_path)
    assert written.returncode == 0, written.stderr
    changed = {edit.path for edit in EDITS if edit.path.endswith(".py")}
    for check in (("check",), ("format", "--check")):
        lint = run(tmp_path, "-m", "ruff", *check, *changed)
        assert lint.returncode == 0, lint.stdout
    # Of what takes long to compile, its Row is enough here.
    fast = f"({CONCERNED}) and not (xla or replicas or graph)"
    found = pytest_in(
        *(tmp_path, "-k", fast, "tests/keras/test_catalogue.py"),
        *("tests/tensors/test_real_scores.py", "tests/tensors/test_catalogue.py"),
        *("tests/repo/test_public_names.py", "tests/repo/test_packaging.py"),
    )
    assert found.returncode == 0, found.stdout
    assert (
        "CRPSLaplace" in (tmp_path / "uncertainty_metrics" / "__init__.pyi").read_text()
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("step", STEPS)
def test_a_missing_step_is_named(step, tmp_path):
    written = follow(tmp_path, left_out=step)
    here = "tests/repo/test_contributing.py::test_every_public_name_is_in_the_changelog"
    found = pytest_in(
        *(tmp_path, "-x", "-k", CONCERNED, here, "tests/tensors/test_real_scores.py"),
        *("tests/repo/test_public_names.py", "tests/repo/test_packaging.py"),
    )
    assert found.returncode != 0
    said = found.stdout + (written.stderr if written else "")
    assert re.search(TOLD[step], said), said
