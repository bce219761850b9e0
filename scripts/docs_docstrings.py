"""Changes docstrings and signatures for `mkdocs`.

Formulas keep their lines, examples come first, and each function has one signature.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe


def preformatted(text: str) -> str:
    """Marks paragraphs that are indented by two spaces as preformatted.

    These are formulas and tables. The function stops at the first section ("Args:" or
    another), because the entries of sections are indented, too.
    """
    paragraphs = text.split("\n\n")
    for i, paragraph in enumerate(paragraphs):
        lines = paragraph.split("\n")
        if lines[0].endswith(":") and len(lines) > 1 and lines[1].startswith("  "):
            break  # The first section.
        if all(line.startswith("  ") for line in lines):
            paragraphs[i] = "\n".join("  " + line for line in lines)
    return "\n\n".join(paragraphs)


def example_first(text: str) -> str:
    """Moves the example before the arguments, because users look for it first."""
    example = r"\n\nExample:\n(.*?)(?=\n\n\w+:\n|\Z)"
    found = re.search(example, text, re.DOTALL)
    start = re.search(r"\n\n(Args|Attributes):\n", text)
    if not found or not start:
        return text
    before, after = text[: start.start()], text[start.start() : found.start()]
    shown = f"\n\nExamples:\n{found[1]}"
    return before + shown + after + text[found.end() :]


def with_links(text: str) -> str:
    """Turns the places of the conventions, in brackets, into links from the reference,
    whose pages are two folders below that page.
    """
    link = r"([conventions](../../conventions.md#\1))"
    return re.sub(r"\(conventions\.md#([\w-]+)\)", link, text)


def with_values(function: griffe.Function) -> None:
    """Replaces the names of constants among the defaults of a function by values."""
    for parameter in function.parameters:
        if isinstance(parameter.default, griffe.ExprName | griffe.ExprAttribute):
            value = importlib.import_module(function.module.path)
            for name in str(parameter.default).split("."):
                value = getattr(value, name, None)
            if isinstance(value, int | float | str):
                parameter.default = repr(value)


def one_form(forms: list[griffe.Function]) -> griffe.Function:
    """Returns the last of the overloads, which has all parameters, with the docstring
    and the results of all overloads.
    """
    shown = forms[-1]
    for parameter in shown.parameters:
        having = [form for form in forms if parameter.name in form.parameters]
        kinds = {str(form.parameters[parameter.name].annotation) for form in having}
        if kinds == {"Literal[False]", "Literal[True]"}:
            parameter.annotation, parameter.default = "bool", "False"
        elif len(having) < len(forms):
            parameter.annotation, parameter.default = (
                f"{parameter.annotation} | None",
                "None",
            )
    shown.docstring = next(form.docstring for form in forms if form.docstring)
    shown.docstring.parent = shown
    shown.returns = " | ".join(dict.fromkeys(str(form.returns) for form in forms))
    return shown


class Signatures(griffe.Extension):
    """Prepares every docstring, and gives each function one signature with values."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Changes the docstring of an object, before it is parsed."""
        if obj.docstring is not None:
            text = preformatted(inspect.cleandoc(obj.docstring.value))
            text = with_links(example_first(text))
            obj.docstring.value = text.replace("\nExample:\n", "\nExamples:\n")
        if isinstance(obj, griffe.Function):
            obj.overloads = None
            with_values(obj)

    def on_module_members(self, *, mod: griffe.Module, **kwargs: Any) -> None:
        """Shows functions on tensors by their stubs."""
        path = mod.filepath
        if mod.is_init_module or not path.with_suffix(".pyi").exists():
            return
        if path.suffix == ".py":
            mod.members.clear()
        for name, forms in mod.overloads.items():
            if forms:
                mod.set_member(name, one_form(forms))
        mod.overloads.clear()
