"""The notebooks of colabs/ open in Colab and show their outputs; CI runs them."""

import ast
import base64
import importlib
import itertools
import re

import nbformat
import pytest

from scripts import run_colabs

NAMES = (
    *("calibration", "beyond_bins", "training", "ensemble"),
    *("regression", "abstention", "distributed"),
    *("scikit_learn", "risk", "conformal", "keras_jax", "language_model"),
    *("detection", "forecasting"),
)
LARGEST = 1_000_000  # Bytes.
MACHINE_PATH = re.compile(
    r"(?<![\w.])/(?:home|opt|root|tmp|Users|var|work)/|site-packages"
)
every_notebook = pytest.mark.parametrize("name", NAMES)


def read(name):
    return nbformat.read(run_colabs.FOLDER / f"{name}.ipynb", as_version=4)


def code_cells(name):
    return [cell for cell in read(name).cells if cell.cell_type == "code"]


@every_notebook
def test_notebook_is_valid_and_opens_in_colab(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert notebook.metadata == run_colabs.METADATA
    assert not any(cell.metadata for cell in notebook.cells)
    assert (run_colabs.FOLDER / f"{name}.ipynb").stat().st_size < LARGEST
    title, install = notebook.cells[:2]
    assert title.source.startswith("# ")
    assert run_colabs.badge(name) in title.source
    assert install.source.strip() == run_colabs.install(name).strip()


def test_every_notebook_is_tested():
    assert set(NAMES) == {path.stem for path in run_colabs.FOLDER.glob("*.ipynb")}


def test_repository_has_one_address():
    assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+", run_colabs.REPOSITORY)
    for name in ("setup.py", "mkdocs.yml"):
        text = (run_colabs.FOLDER.parent / name).read_text()
        named = set(re.findall(r"https://github\.com/[\w-]+/uncertainty_metrics", text))
        assert named == {run_colabs.REPOSITORY}, name


@every_notebook
def test_cells_were_run_once_in_order_and_show_numbers_and_figures(name):
    counts = [cell.execution_count for cell in code_cells(name)]
    assert counts == list(range(1, len(counts) + 1))
    figures = 0
    for output in (output for cell in code_cells(name) for output in cell.outputs):
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
        data = output.get("data", {})
        shown = output.get("text", "") + data.get("text/plain", "")
        assert not MACHINE_PATH.search(shown)
        assert "Warning" not in shown
        assert " at 0x" not in shown
        if "image/png" in data:
            assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
            figures += 1
    assert figures >= 1


@every_notebook
def test_cells_are_short_and_explained(name):
    cells = read(name).cells
    for before, cell in itertools.pairwise(cells):
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 30
        shown = before.get("outputs", [])
        if any("image/png" in output.get("data", {}) for output in shown):
            assert re.match(r"\*[^*]", cell.source), "a figure without a caption"
    assert "\u2014" not in "".join(cell.source for cell in cells)


@every_notebook
def test_notebook_ends_with_exercises_and_links(name):
    head, _, end = read(name).cells[-1].source.partition("## Where to go next\n")
    assert "## Exercises\n" in head
    links = re.findall(r"\((https://[^)]+)\)", end)
    assert len(links) >= 3
    for link in links:
        path = link.removeprefix(f"{run_colabs.REPOSITORY}/blob/main/")
        assert (run_colabs.FOLDER.parent / path).is_file()


def test_notebooks_without_their_packages_are_skipped(monkeypatch, capsys):
    monkeypatch.setattr(run_colabs.importlib.util, "find_spec", lambda name: None)
    assert run_colabs.main(["keras_jax"]) == 0
    assert capsys.readouterr().out == (
        "keras_jax: skipped, it needs jax: the extras jax,plot\n"
    )


@every_notebook
def test_public_names_in_cells_exist(name):
    # Shell commands are not Python.
    lines = "\n".join(cell.source for cell in code_cells(name)).splitlines()
    tree = ast.parse("\n".join(re.sub(r"^(\s*)[!%].*", r"\1pass", x) for x in lines))
    modules = {
        alias.asname or alias.name: importlib.import_module(alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.startswith("uncertainty_metrics")
    }

    def resolve(node):
        """Returns the object of a dotted name of the package, or None."""
        if isinstance(node, ast.Name):
            return modules.get(node.id)
        if isinstance(node, ast.Attribute) and (value := resolve(node.value)):
            return getattr(value, node.attr)
        return None

    found = [
        resolve(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    ]
    assert any(found)
