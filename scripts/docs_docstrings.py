"""Changes docstrings for `mkdocs`: keeps formulas, and puts the example first."""

from __future__ import annotations

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
    link = r"([conventions](../../conventions.html#\1))"
    return re.sub(r"\(conventions\.md#([\w-]+)\)", link, text)


class Formulas(griffe.Extension):
    """Prepares every docstring, and chooses which functions on tensors to show."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Changes the docstring of an object, before it is parsed."""
        if obj.docstring is not None:
            text = preformatted(inspect.cleandoc(obj.docstring.value))
            text = with_links(example_first(text))
            obj.docstring.value = text.replace("\nExample:\n", "\nExamples:\n")

    def on_module_members(self, *, mod: griffe.Module, **kwargs: Any) -> None:
        """Shows functions on tensors by their stubs, with the last of the overloads."""
        path = mod.filepath
        if mod.is_init_module or not path.with_suffix(".pyi").exists():
            return
        if path.suffix == ".py":
            mod.members.clear()
        for name, forms in mod.overloads.items():
            if forms:
                mod.set_member(name, forms[-1])
        mod.overloads.clear()
