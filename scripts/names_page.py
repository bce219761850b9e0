"""Writes the page of all public names, `docs/all_names.md`, from the tables of names,
and the table of names in code of `docs/names.md`.

Groups and their order are those of the `.pyi` files of the packages, and summaries are
the first lines of the docstrings. `python scripts/write_stubs.py` writes the page.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

from scripts import stubs
from uncertainty_metrics import _typed_names

PAGE = stubs.ROOT / "docs" / "all_names.md"
WORDS = stubs.ROOT / "docs" / "names.md"
_PACKAGE = "uncertainty_metrics"
_ROOMS = ("conformal", "detection", "regression")
_IN_CODE = "\n## Names in code\n"  # The last section of its page.
_HEAD = """\
# All names

<!-- `python scripts/write_stubs.py` writes this page from the docstrings. -->

`import uncertainty_metrics as um` has all these names. The names that are computed in
NumPy are also in `uncertainty_metrics.numpy`, which needs no other framework. Those
that are computed in tensors take the tensors of any backend, in compiled functions and
with gradients. [What you may call it](names.md) finds a name by your word for it.
"""


class _Row(NamedTuple):
    """A line of a table: an object, its names, and where it is computed."""

    value: Any
    names: list[str]
    where: str

    def __str__(self) -> str:
        own = getattr(self.value, "__name__", "")  # The definition; others are aliases.
        names = sorted(self.names, key=lambda name: not name.endswith(own))
        return f"| `{'`, `'.join(names)}` | {_summary(self.value)} | {self.where} |"


def text() -> str:
    """Returns the text of the page."""
    parts = [_HEAD]
    for room in ("", *_ROOMS):
        for title, rows in _groups(room).items():
            head = ["| Name | What it is | Computed in |", "|---|---|---|"]
            parts.append("\n".join([f"## {title}", "", *head, *map(str, rows), ""]))
    return "\n".join(parts)


def text_of_words() -> str:
    """Returns the text of the page of other words, with the table of names in code."""
    before, heading, after = WORDS.read_text(encoding="utf-8").partition(_IN_CODE)
    introduction = after.partition("\n| ")[0]
    return f"{before}{heading}{introduction}\n{_typed_names.table()}"


def _groups(room: str) -> dict[str, list[_Row]]:
    """Returns the rows of each group of names of a package, by the title."""
    in_numpy = stubs.names(f"{_PACKAGE}.numpy.{room}".rstrip("."))
    groups: dict[str, dict[int, _Row]] = {}
    for name, known in stubs.names(f"{_PACKAGE}.{room}".rstrip(".")).items():
        title = known.title
        if room:
            title = f"{room.capitalize()}, {title}" if title else room.capitalize()
            title = title.replace(", Of", " of")
        value = getattr(importlib.import_module(known.home), name)
        row = _Row(value, [], _where(known.home, name in in_numpy))
        of_group = groups.setdefault(title, {})
        of_group.setdefault(id(value), row).names.append(f"{room}.{name}".lstrip("."))
    return {title: list(rows.values()) for title, rows in groups.items()}


def _where(home: str, in_numpy: bool) -> str:
    room = home.split(".")[1]
    own = room if room in ("tensors", "keras") else ""
    own = own.replace("keras", "Keras")
    return ", ".join(filter(None, ("NumPy" if in_numpy or not own else "", own)))


def _summary(value: Any) -> str:
    """Returns the first paragraph of a docstring, without the alias."""
    first = " ".join((value.__doc__ or "").strip().partition("\n\n")[0].split())
    return re.sub(r" Alias `\w+`\.$", "", first).replace("|", r"\|")
