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


def _quoted(prose: str | None, indent: str) -> str:
    end = "\n" if "\n" in (prose or "") else ""
    return textwrap.indent(f'"""{prose}{end}"""\n', indent) if prose else ""


def _function(node: ast.FunctionDef, lines: list[str], prose: str | None) -> str:
    """Returns the signature, the docstring and no body."""
    indent = " " * (node.col_offset + 4)
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    return "\n".join(head) + f"\n{_quoted(prose, indent)}{indent}..."


def _class(node: ast.ClassDef, lines: list[str], value: type) -> str:
    text = lines[: node.end_lineno]
    for method in reversed(node.body):
        if isinstance(method, ast.FunctionDef):
            said = inspect.cleandoc(vars(value)[method.name].__doc__ or "")
            short = _function(method, lines, said)
            text[method.lineno - 1 : method.end_lineno] = [short]
    if ast.get_docstring(node):
        prose = _quoted(inspect.getdoc(value), "    ").rstrip("\n")
        text[node.body[0].lineno - 1 : node.body[0].end_lineno] = [prose]
    start = min(part.lineno for part in (node, *node.decorator_list))
    return "\n".join(text[start - 1 :])


def overloads(parameters: list[str], required: str) -> list[list[str]]:
    """Returns the forms of a signature in which what is required has no default: it is
    passed by position, with all before it, or by name.
    """
    end = f" = {required}"
    needed = [i for i, line in enumerate(parameters) if line.endswith(end)]
    if not needed:
        return [parameters]
    parameters = [line.removesuffix(end) for line in parameters]
    before, after = parameters[: needed[0]], parameters[needed[0] :]
    named = ["*", *(line for line in after if line != "*")]
    return [[line.partition(" = ")[0] for line in before] + after, before + named]


def forms_of(
    parameters: list[str], returned: str, required: str
) -> list[tuple[list[str], str]]:
    """Returns the forms of a signature, with what each of them returns: those of
    `overloads`, and of these again those with groups.
    """
    forms = []
    of_groups = ("groups: ", "num_groups: ")
    for form in overloads(parameters, required):
        rest = [line for line in form if not line.startswith(of_groups)]
        if len(rest) < len(form):
            forms.append((rest, returned.removesuffix(" | GroupValues")))
            own = [line for line in form if line.startswith(of_groups)]
            own = [line.replace(" | None = None", "") for line in own]
            forms.append(([*rest, *own], "GroupValues"))
        else:
            forms.append((form, returned))
    return forms


def _forms(text: str) -> str:
    """Returns a function with a line for each parameter, in all its forms."""
    if " = REQUIRED,\n" not in text and "\n    num_groups: " not in text:
        return text
    head, listed, returned, rest = re.split(
        r"\(\n|\n\) -> |(?<=[\w\]]):\n", text, maxsplit=3
    )
    parameters = [line.strip().removesuffix(",") for line in listed.splitlines()]
    forms = []
    for form, value in forms_of(parameters, returned, "REQUIRED"):
        lines = ",\n    ".join(form)
        forms.append(f"@overload\n{head}(\n    {lines},\n) -> {value}:\n{rest}")
    return "\n".join(forms)


def rendered(name: str) -> str | None:
    """Returns the source of a module less the bodies of functions, with the docstrings
    that these have at run time; None where no table completes them.
    """
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    if not re.search(r"^ *@?_arguments\.\w+", source, re.MULTILINE):
        return None
    lines = source.splitlines()
    parts = ["# As written by scripts/write_stubs.py.", "from typing import overload"]
    for node in ast.parse(source).body[2:]:  # Stubs need nothing of the `__future__`.
        if isinstance(node, ast.ClassDef):
            parts.append(_class(node, lines, getattr(module, node.name)))
        elif not isinstance(node, ast.FunctionDef):
            parts.append(ast.get_source_segment(source, node) or "")
        elif not node.name.startswith("_"):
            said = inspect.getdoc(getattr(module, node.name))
            parts.append(_forms(_function(node, lines, said)))
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
