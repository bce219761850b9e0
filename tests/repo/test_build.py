"""BUILD has one target per file, with the dependencies that the file imports."""

import pathlib
import re

import pytest

from scripts import write_build

ROOT = pathlib.Path(__file__).parents[2]
BUILD = (ROOT / "BUILD").read_text()


def rules():
    found = re.findall(r"^(py_\w+)\((.*?)^\)", BUILD, re.DOTALL | re.MULTILINE)
    for kind, body in found:
        name = re.search(r'name = "(.+?)"', body).group(1)
        listed = re.search(r"srcs = \[(.*?)\]", body, re.DOTALL).group(1)
        sources = re.findall(r'"(.+?)"', listed)
        if kind == "py_test":
            sources.remove(write_build.TEST_MAIN)
        deps = re.search(r"deps = \[(.*?)\]", body, re.DOTALL)
        yield (
            kind,
            name,
            sources,
            re.findall(r'":(.+?)"', deps.group(1)) if deps else [],
        )


def test_every_file_has_one_target():
    sources = [source for _, _, files, _ in rules() for source in files]
    on_disk = [
        str(path.relative_to(ROOT))
        for part in ("uncertainty_metrics", "tests", "scripts", "benchmarks")
        for path in (ROOT / part).rglob("*.py")
    ]
    assert sorted(sources) == sorted(on_disk)


def test_tests_are_tests():
    for kind, name, _, _ in rules():
        is_test = pathlib.PurePath(name).name.startswith("test_")
        assert (kind == "py_test") == is_test, name


def test_dependencies_exist_and_have_no_cycle():
    graph = {name: deps for _, name, _, deps in rules()}
    done, path = set(), []

    def visit(name):
        assert name in graph, f"{name} is not a target"
        assert name not in path, f"cycle: {path} {name}"
        if name not in done:
            path.append(name)
            for dependency in graph[name]:
                visit(dependency)
            done.add(path.pop())

    for name in graph:
        visit(name)


def test_build_is_up_to_date():
    if write_build.render() != BUILD:
        pytest.fail("BUILD is out of date: run `python scripts/write_build.py`")
