"""Writes the stubs of `uncertainty_metrics.torch`. Its classes have no source: they are
made of the Keras classes when they are first used. `write_stubs.py` calls it.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import typing

from scripts import stubs
from uncertainty_metrics._torch import names

_HEADER = """\
# As written by scripts/write_stubs.py.
import collections.abc
from typing import Any, Literal

"""
_ROOM = stubs.ROOT / "uncertainty_metrics"


def texts() -> dict[pathlib.Path, str]:
    """Returns the text of each stub."""
    found = {_ROOM / "torch.pyi": _text("")}
    for room in names.ROOMS:
        found[_ROOM / "_torch" / f"{room}.pyi"] = _text(room)
    return found


def _text(room: str) -> str:
    homes = names.homes(room)
    package = f"uncertainty_metrics.{room}".rstrip(".")
    made = {name: home for name, home in homes.items() if names.is_made_of_keras(home)}
    rooms = [] if room else [*names.ROOMS]
    others = [name for name in homes if name not in (*made, *rooms)]
    return (
        _HEADER
        + _imported("uncertainty_metrics._torch", rooms)
        + _imported(package, others)
        + "from uncertainty_metrics._torch.loss import Loss as Loss\n"
        + "from uncertainty_metrics._torch.metric import Metric as Metric\n"
        + "".join(_class(name, home) for name, home in made.items())
    )


def _imported(package: str, known: list[str]) -> str:
    lines = "".join(f"    {name} as {name},\n" for name in known)
    return f"from {package} import (\n{lines})\n" if known else ""


def _class(name: str, home: str) -> str:
    """Returns a class with the arguments of a Keras class."""
    of = getattr(importlib.import_module(home), name)
    hints = typing.get_type_hints(of.__init__)
    lines, named = [], False
    for parameter in inspect.signature(of).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            lines.append("*")
            named = True
        kind = inspect.formatannotation(hints[parameter.name])
        kind = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", kind)
        has_default = parameter.default is not parameter.empty
        default = f" = {parameter.default!r}" if has_default else ""
        lines.append(f"{parameter.name}: {kind}{default}")
    base = "Loss"
    if ".metrics." in home:
        base = "Metric"
        lines.append("**of_torchmetrics: Any")
    listed = "".join(f"        {line},\n" for line in ["self", *lines])
    return f"\nclass {name}({base}):\n    def __init__(\n{listed}    ) -> None: ...\n"
