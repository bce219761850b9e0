"""Stubs of modules whose docstrings tables complete when they are imported."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).parents[1]
_ROOMS = ("numpy", "visualization")


def _function(node: ast.FunctionDef, lines: list[str], prose: str | None) -> str:
    """Returns the signature, the docstring and no body."""
    inner = " " * (node.col_offset + 4)
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    if not head:  # `def f() -> float: ...`, if need be on several lines.
        head = [lines[node.lineno - 1].removesuffix(" ...")]
    if head[-1].endswith(","):
        head.append(lines[node.body[0].lineno - 1].removesuffix(" ..."))
    end = "\n" if "\n" in (prose or "") else ""
    said = textwrap.indent(f'"""{prose}{end}"""\n', inner) if prose else ""
    return "\n".join(head) + f"\n{said}{inner}..."


def _class(node: ast.ClassDef, lines: list[str]) -> str:
    text = lines[: node.end_lineno]
    for method in reversed(node.body):
        if isinstance(method, ast.FunctionDef):
            short = _function(method, lines, ast.get_docstring(method))
            text[method.lineno - 1 : method.end_lineno] = [short]
    start = min(part.lineno for part in (node, *node.decorator_list))
    return "\n".join(text[start - 1 :])


def rendered(name: str) -> str | None:
    """Returns the source of a module less the bodies of functions, with the docstrings
    that these have at run time; None where no table completes them.
    """
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    if not re.search(r"^@_arguments\.", source, re.MULTILINE):
        return None
    lines = source.splitlines()
    parts = ["# As written by scripts/write_stubs.py."]
    overloaded = set()
    for node in ast.parse(source).body[1:]:
        if isinstance(node, ast.FunctionDef):
            form = "overload" in map(ast.unparse, node.decorator_list)
            if node.name.startswith("_") or (node.name in overloaded and not form):
                continue
            if form:
                overloaded.add(node.name)
                parts.append("@overload")
            said = inspect.getdoc(getattr(module, node.name))
            parts.append(_function(node, lines, said))
        elif isinstance(node, ast.ClassDef):
            parts.append(_class(node, lines))
        else:
            parts.append(ast.get_source_segment(source, node) or "")
    return "\n".join(parts) + "\n"


def texts() -> dict[pathlib.Path, str]:
    """Returns the text of each stub."""
    found = {}
    for room in _ROOMS:
        for path in sorted((ROOT / "uncertainty_metrics" / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if text := rendered(name.removesuffix(".__init__")):
                found[path.with_suffix(".pyi")] = text
    return found
