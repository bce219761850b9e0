"""Writes the stubs of the functions on tensors, which their NumPy twins declare.

An editor completes and shows what stands there, type checkers and mkdocs read it. Run
it from a checkout after changing a declaration: `python scripts/write_stubs.py`.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import sys
import textwrap
from types import ModuleType
from typing import Any

from uncertainty_metrics import _statistics

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROOM = "uncertainty_metrics/tensorflow"
HEADER = """\
# As written by scripts/write_stubs.py.
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from uncertainty_metrics.tensorflow._typing import TensorLike
"""
_RETURNED = re.compile(r"\b(float|np\.ndarray)\b")


def _function(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    returned = " | ".join(
        dict.fromkeys(
            _RETURNED.sub("tf.Tensor", str(signature.return_annotation)).split(" | ")
        )
    )
    parameters = []
    for parameter in signature.parameters.values():
        kind = str(parameter.annotation).replace("ArrayLike", "TensorLike")
        parameters.append(str(parameter.replace(annotation=kind)).replace("'", "", 2))
    names = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    if names:
        parameters.insert(len(parameters) - len(names), "*")
    prose = textwrap.indent(f'"""{inspect.getdoc(function)}\n"""', "    ")
    listed = ",\n".join(f"    {parameter}" for parameter in parameters)
    return f"\ndef {name}(\n{listed},\n) -> {returned}:\n{prose}\n    ...\n"


def render(module: ModuleType) -> str | None:
    """Returns the text of the stub of a module, None where it needs none."""
    public = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    if not any(hasattr(value, "__declaration__") for value in public.values()):
        return None
    text = "".join(_function(name, value) for name, value in public.items())
    made = sorted(set(vars(_statistics)) & set(re.findall(r"\w+", text)))
    home = f"from {_statistics.__name__} import {', '.join(made)}\n" if made else ""
    return HEADER + home + text


def outdated() -> dict[pathlib.Path, str]:
    """Returns the text of each stub that differs from the one on disk."""
    found = {}
    for path in sorted((ROOT / ROOM).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        text = render(importlib.import_module(name.removesuffix(".__init__")))
        stub = path.with_suffix(".pyi")
        if text and not (stub.exists() and stub.read_text(encoding="utf-8") == text):
            found[stub] = text
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, text in outdated().items():
        path.write_text(text, encoding="utf-8")
