"""Every example runs as printed: docstrings, and the blocks of the documents."""

import contextlib
import doctest
import importlib.util
import inspect
import io
import json
import pathlib
import pkgutil
import re
import symtable
import sys

import numpy as np
import pytest

import uncertainty_metrics
import uncertainty_metrics.numpy as um
from scripts import make_language_model_logs

# An example must say which of the two conventions of two classes it has.
pytestmark = pytest.mark.filterwarnings("error:One column of P:UserWarning")

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
# The gallery runs in test_docs.py, which builds the documentation with its pictures.
PAGES = [
    "README.md",
    *sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "docs").rglob("*.md")
        if "```python" in path.read_text()
        # Two pages need other backends, and run in tests/backends.
        and path.name not in ("gallery.md", "jax.md", "torch.md")
    ),
]


# Tools that we work with, but need nowhere: examples of them run where they are.
TOOLS = (
    *("apache_beam", "dask", "duckdb", "evaluate", "inspect_ai", "keras_tuner"),
    *("lm_eval", "mlflow", "polars", "prometheus_client", "pyspark", "ray"),
    *("skore", "wandb"),
)
ENGINES = {
    "_numba_loops": "numba",
    "inspect": "inspect_ai",
    "mlflow": "mlflow",
    "ray": "ray",
    "spark": "pyspark",
}  # From the modules to what they need.


def is_missing_a_tool(code):
    imported = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
    return any(
        importlib.util.find_spec(name) is None for name in imported if name in TOOLS
    )


def runs_here(name):
    """Returns whether the examples of a module can run in this environment."""
    # These modules need other backends.
    others = ("_tensorflow_names", "_jax_tracing", "_typing")
    if name.endswith(("__main__", *(f".ops.{module}" for module in others))):
        return False
    if name.endswith(("metrics.jax", "metrics.torch")) or "._torch." in name:
        return False
    needed = ENGINES.get(name.rpartition(".")[2])
    return needed is None or importlib.util.find_spec(needed) is not None


def module_names():
    modules = pkgutil.walk_packages(
        uncertainty_metrics.__path__, "uncertainty_metrics."
    )
    names = [module.name for module in modules]
    return ["uncertainty_metrics", *filter(runs_here, names)]


@pytest.mark.parametrize("name", module_names())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0
    # What a decorator of another module made is imported, as far as doctest knows.
    runner = doctest.DocTestRunner(optionflags=flags)
    for public in getattr(module, "__all__", ()):
        function = getattr(module, public)
        is_decorated = inspect.isfunction(function) and function.__module__ == name
        if is_decorated and function.__globals__ is not vars(module):
            declared = getattr(function, "__declaration__", function)
            names = vars(sys.modules[declared.__module__])
            for test in doctest.DocTestFinder().find(function, globs=dict(names)):
                assert runner.run(test).failed == 0


@pytest.mark.exhaustive  # `.ci/run` runs it beside other steps.
@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run_as_printed(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = re.findall(
        r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?",
        (ROOT / page).read_text(),
        re.DOTALL,
    )
    names = {}  # Blocks of a page share names.
    for code, output in found:
        if is_missing_a_tool(code):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert printed.getvalue() == output


def imports_of(code):
    """Returns the names that code imports, and the undefined ones that it uses."""
    imported, used, defined = set(), set(), set()
    tables = [symtable.symtable(code, "block", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if is_top and symbol.is_imported():
                imported.add(symbol.get_name())
            if is_top and (symbol.is_imported() or symbol.is_assigned()):
                defined.add(symbol.get_name())
            if symbol.is_referenced() and (is_top or symbol.is_global()):
                used.add(symbol.get_name())
    return imported, used - defined


# Data may come from blocks above, which the reader sees; imports are easily forgotten.
@pytest.mark.parametrize("page", [*PAGES, "docs/gallery.md"])
def test_sections_and_blocks_import_what_they_use(page):
    sections = re.split(r"^(?=## )", (ROOT / page).read_text(), flags=re.MULTILINE)
    known, of_page, complaints = set(), set(), []
    for number, section in enumerate(sections):
        # Imports above the first heading hold for all sections.
        of_section = set(of_page)
        for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
            imported, missing = imports_of(code)
            # A block that imports something looks as if it ran alone.
            have = set() if imported else of_section
            for name in sorted((missing & known) - have):
                heading = section.partition("\n")[0]
                complaints.append(f"{page}, {heading!r}: import `{name}` in {code!r}")
            known |= imported
            of_section |= imported
        of_page = of_page if number else of_section
    assert not complaints, "\n".join(complaints)


def test_logs_of_the_documents_are_those_that_the_script_makes():
    for name, text in make_language_model_logs.files().items():
        path = make_language_model_logs.home(name)
        assert path.read_text("utf-8") == text, name
        assert path.stat().st_size < 150_000


def test_answers_in_the_logs_are_right_where_arithmetic_says_so():
    for name in ("answers.jsonl", "answers_of_other_prompt.jsonl"):
        text = make_language_model_logs.home(name).read_text("utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        assert len({line["question"] for line in lines}) == len(lines)
        for line in lines:
            assert line["correct"] == (eval(line["question"]) == int(line["answer"]))
            assert 0 <= line["confidence"] <= 1


def test_replacements_give_the_values_of_the_former_package(rng):
    plt = pytest.importorskip("matplotlib.pyplot")
    text = (ROOT / "docs" / "migration.md").read_text()
    table = text.partition("| Name | Here | |\n")[2].partition("\n\n")[0]
    code = {
        name.partition("(")[0]: re.findall(r"`([^`]+\([^`]+)`", row)[1:]
        for row in table.splitlines()[1:]
        for name in re.findall(r"`([^`]+)`", row)[:1]
    }
    p_1 = np.array([0.51, 0.45, 0.39, 0.66, 0.68, 0.29, 0.81, 0.85])
    outside = rng.dirichlet([3.0, 3.0], 4)
    members = rng.dirichlet([1.0, 1.0], [8, 8])  # As many members as examples.
    names = {
        **{name: getattr(um, name) for name in um.__all__},
        "np": np,
        "p": np.stack([1 - p_1, p_1], axis=1),
        "in_probs": np.stack([1 - p_1, p_1], axis=1),
        "out_probs": outside,
        "labels": np.array([0, 0, 0, 1, 0, 1, 1, 1]),
        "in_labels": np.array([0, 0, 0, 1, 0, 1, 1, 1]),
        "logits": np.log(members),
        **{"fraction": 0.4, "num_bins": 10, "n": 8},
    }

    def run(name, part=0):
        return eval(code[name][part], names)

    accuracies = run("plot_confidence_vs_accuracy_diagram").lines[0].get_ydata()
    confidences = np.maximum(p_1, 1 - p_1)
    is_right = (p_1 > 0.5) == names["labels"]
    for accuracy, threshold in zip(accuracies, np.linspace(0, 0.99, 20), strict=True):
        kept = confidences >= threshold
        number = np.sum(kept) + np.sum(outside.max(axis=1) >= threshold)
        if number > 0:
            assert accuracy == pytest.approx(np.sum(is_right & kept) / number)
    heights = run("plot_rejection_classification_diagram").lines[0].get_ydata()
    assert heights[0] == pytest.approx(np.sum(is_right) / 12)
    plt.close("all")
    # Bins have 2, 3, 1 and 2 examples, of which 1, 2, 0 and 2 are right; the oracle
    # decides three.
    binned = run("OracleCollaborativeAccuracy", 1)
    assert binned == pytest.approx((2 + 1 + 2 * 2 / 3 + 0 + 2) / 8)
    of_labels = members.mean(axis=0)[np.arange(8), names["labels"]]
    entropy = run("ensemble_cross_entropy")
    assert entropy == pytest.approx(-np.mean(np.log(of_labels)))
    wrong = um.ensemble_cross_entropy(names["labels"], names["logits"])
    assert wrong != pytest.approx(entropy, abs=1e-3)


def test_readme_is_short_and_starts_with_two_commands():
    assert len(README.encode()) <= 12_000
    report, tests = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert report.startswith("pip install")
    assert "python -m uncertainty_metrics report" in report
    assert tests.startswith("pip install")
    assert "python -m pytest" in tests
    assert README.rindex("```sh") < README.index("```python")


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in script
    assert "pip install" not in script
    # What this command leaves out has a command of its own, which a release runs too.
    assert "not exhaustive and not thorough" in (ROOT / "pyproject.toml").read_text()
    command = 'python -m pytest -n 2 --dist worksteal -m "thorough and not exhaustive"'
    for file in ("CONTRIBUTING.md", ".github/workflows/release.yml"):
        assert command in (ROOT / file).read_text(), file
