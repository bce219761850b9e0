"""Docstrings of the NumPy half and of plots are complete in the source."""

import ast
import collections
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import uncertainty_metrics.numpy as um

PACKAGE = pathlib.Path(__file__).parents[2] / "uncertainty_metrics"
ROOMS = (um, um.regression, um.conformal, um.detection)
# Classes of results, whose docstrings describe attributes instead of arguments.
RESULTS = ("BinStatistics", "PITInterval")
DOCUMENTED = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in ROOMS
    for name in room.__all__
    if callable(getattr(room, name)) and name not in RESULTS
}


def described(docstring):
    """Returns the description of each argument, in the order of the docstring."""
    section = re.search(r"^Args:\n((?:(?:  .*)?\n)+)", docstring + "\n\n", re.MULTILINE)
    entries = re.split(r"^  (?=\S)", section[1] if section else "", flags=re.MULTILINE)
    parts = (entry.partition(":") for entry in entries if entry.strip())
    return {name.lstrip("*"): " ".join(prose.split()) for name, _, prose in parts}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_argument_is_described_in_order(name):
    function = DOCUMENTED[name]
    arguments = described(inspect.getdoc(function))
    assert list(arguments) == list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", ["evaluate", "summarize"])
def test_engines_have_one_signature_and_describe_it_alike(name):
    signatures, descriptions = [], []
    for engine in ("beam", "ray", "spark"):  # Read and not imported.
        module = ast.parse((PACKAGE / f"engines/{engine}.py").read_text())
        (function,) = (
            each for each in module.body if getattr(each, "name", None) == name
        )
        function.args.args[0].annotation = None  # The type of the dataset.
        signatures.append(ast.unparse(function.args))
        arguments = described(ast.get_docstring(function))
        names = [*function.args.args, *function.args.kwonlyargs]
        assert list(arguments) == [each.arg for each in names]
        del arguments["dataset"]
        descriptions.append(arguments)
    assert signatures[0] == signatures[1] == signatures[2]
    assert descriptions[0] == descriptions[1] == descriptions[2]


def test_the_same_argument_has_the_same_words():
    small = {"a", "an", "the", "which", "that", "its", "own", "of", "with"}
    wordings = collections.defaultdict(set)
    for function in DOCUMENTED.values():
        for argument, text in described(inspect.getdoc(function)).items():
            words = re.findall(r"[^\s(),;:]+", text.rstrip("."))
            key = argument, *(word for word in words if word not in small)
            wordings[key].add(text)
    assert [texts for texts in wordings.values() if len(texts) > 1] == []


def test_places_of_the_conventions_exist():
    page = (PACKAGE.parent / "docs" / "conventions.md").read_text()
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    places = {heading.lower().replace(" ", "-") for heading in headings}
    named = set()
    for path in PACKAGE.rglob("*.py"):
        named |= set(re.findall(r"conventions\.md#([\w-]+)", path.read_text()))
    assert {"answers", "groups"} <= named <= places


@pytest.mark.thorough
def test_names_exist_without_docstrings():
    code = (
        "import uncertainty_metrics.numpy as um; [getattr(um, n) for n in um.__all__]"
    )
    subprocess.run([sys.executable, "-OO", "-c", code], check=True)
