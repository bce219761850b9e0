"""Writes BUILD: one target per Python file, its dependencies read from its imports.

Run it from a checkout after adding or moving a file: `python scripts/write_build.py`.
`--check` only says whether BUILD is up to date.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = ("uncertainty_metrics", "tests", "scripts", "benchmarks")
DATA = {
    "uncertainty_metrics/report/__init__.py": [
        "uncertainty_metrics/data/digits_predictions.npz"
    ]
}
HEADER = """\
# One target per Python file, as written by scripts/write_build.py.
load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

package(default_visibility = ["//visibility:public"])

licenses(["notice"])

exports_files(["LICENSE"])

# What the tests of the repository itself read.
filegroup(
    name = "repository",
    srcs = glob(
        ["**"],
        exclude = [
            ".git/**",
            "bazel-*/**",
        ],
    ),
)
"""
# Running a test file defines its tests; pytest runs them.
TEST_MAIN = "tests/bazel_main.py"


def files() -> list[str]:
    """Returns the paths of all Python files with a target, in order."""
    found = [path for part in PARTS for path in (ROOT / part).rglob("*.py")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def target(path: str) -> str:
    """Returns the name of the target of a file."""
    return path.removesuffix(".py")


def _home(module: str, known: frozenset[str]) -> str | None:
    """Returns the file a dotted name comes from: a module, a package or neither."""
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        stem = "/".join(parts[:end])
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path in known:
                return path
    return None


@functools.cache
def _imported(path: str) -> list[str]:
    """Returns the dotted names that a file imports, lazily or not."""
    names = []
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and path.endswith("__init__.py"):
            names.append(str(node.value))  # The homes of names loaded on first use.
    return names


@functools.cache
def imports(path: str, known: frozenset[str]) -> frozenset[str]:
    """Returns the files of this repository that a file imports."""
    names = _imported(path)
    # A script imports the files beside it by their bare names.
    folder = pathlib.PurePath(path).parent
    beside = {f"{folder}/{name.partition('.')[0]}.py" for name in names}
    return known & ({_home(name, known) for name in names} | beside) - {path}


def runtime_files(path: str, known: frozenset[str]) -> set[str]:
    """Returns the packages and conftest files that run before a test or a script.

    Libraries leave them out: a package imports its modules, and Bazel has no cycles.
    """
    closure, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current not in closure:
            closure.add(current)
            waiting += imports(current, known)
    folders = {parent for file in closure for parent in pathlib.PurePath(file).parents}
    first = {f"{folder}/{name}" for folder in folders
             for name in ("__init__.py", "conftest.py")}  # fmt: skip
    return first & known - {path}


def _list(values: list[str]) -> str:
    """Returns a list as buildifier writes it."""
    if len(values) == 1:
        return f'["{values[0]}"]'
    listed = "\n".join(f'        "{value}",' for value in values)
    return f"[\n{listed}\n    ]"


def render() -> str:
    """Returns the text of BUILD."""
    known = frozenset(files())
    rules = [HEADER]
    for path in files():
        name = pathlib.PurePath(path).name
        rule = "py_library"
        if name.startswith("test_"):
            rule = "py_test"
        elif path.startswith("scripts/") or name in ("__main__.py", "run.py"):
            rule = "py_binary"
        fields = [f'    name = "{target(path)}",']
        main = path
        sources = f'["{path}"]'
        if rule == "py_test":
            fields.append('    size = "large",')
            main = TEST_MAIN
            sources = _list([TEST_MAIN, path])
        fields.append(f"    srcs = {sources},")
        if rule == "py_test":
            fields.append(f'    args = ["{path}"],')
        data = DATA.get(path, [])
        if path.startswith("tests/repo/test_"):
            data = [":repository"]
        if data:
            fields.append(f'    data = ["{data[0]}"],')
        if rule != "py_library":
            fields.append(f'    main = "{main}",')
        needs = imports(path, known)
        if rule != "py_library":
            needs |= runtime_files(path, known)
        needs = sorted(map(target, needs))
        if needs:
            fields.append(f"    deps = {_list([f':{need}' for need in needs])},")
        rules.append("\n".join([f"{rule}(", *fields, ")", ""]))
    return "\n".join(rules)


if __name__ == "__main__":
    build = ROOT / "BUILD"
    if "--check" in sys.argv[1:]:
        sys.exit(build.read_text(encoding="utf-8") != render())
    build.write_text(render(), encoding="utf-8")
