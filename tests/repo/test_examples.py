"""Every example runs as printed: docstrings, and the blocks of the README."""

import contextlib
import doctest
import importlib
import io
import pathlib
import pkgutil
import re

import pytest

import uncertainty_metrics

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def module_names():
    names = [
        module.name
        for module in pkgutil.walk_packages(
            uncertainty_metrics.__path__, "uncertainty_metrics."
        )
        if not module.name.endswith("__main__")
    ]
    return ["uncertainty_metrics", *names]


@pytest.mark.parametrize("name", module_names())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(
        module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert result.failed == 0


def blocks(language, text):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def python_blocks():
    """Returns the Python blocks, each with the output that is printed after it."""
    found = re.findall(
        r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README, re.DOTALL
    )
    return [pytest.param(*block, id=str(i)) for i, block in enumerate(found)]


@pytest.mark.parametrize(("code", "output"), python_blocks())
def test_readme_examples_run_as_printed(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_readme_starts_with_two_commands():
    report, tests = blocks("sh", README)
    assert report.startswith("pip install")
    assert "python -m uncertainty_metrics report" in report
    assert tests.startswith("pip install")
    assert "python -m pytest" in tests
    first_python = README.index("```python")
    assert README.rindex("```sh") < first_python


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in script
    assert "pip install" not in script
