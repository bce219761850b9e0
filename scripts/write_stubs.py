"""Writes the stubs of the functions on tensors, which their NumPy twins declare.

An editor completes and shows what stands there, type checkers and mkdocs read it; the
tables of public names get what modules list in `__all__`. Run it from a checkout after
changing a declaration: `python scripts/write_stubs.py`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import sys
import textwrap
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts import completed_stubs, stubs  # noqa: E402
from uncertainty_metrics import _spec, _statistics  # noqa: E402
from uncertainty_metrics._spec import REQUIRED  # noqa: E402
from uncertainty_metrics.tensorflow import _binning  # noqa: E402

ROOM = "uncertainty_metrics/tensorflow"
HEADER = """\
# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np
import tensorflow as tf

from uncertainty_metrics.tensorflow._typing import TensorLike
"""
_RETURNED = re.compile(r"\b(float|np\.ndarray)\b")


def _options(annotation: str, names: dict[str, Any]) -> str:
    """Writes out the options that a `Literal` names, for editors to offer them."""

    def written(match: re.Match[str]) -> str:
        word = match[0]
        if get_origin(names.get(word)) is not Literal:
            return word
        return f"Literal[{', '.join(map(json.dumps, get_args(names[word])))}]"

    return re.sub(r"\w+", written, annotation)


def _function(name: str, function: Any) -> str:
    if name != function.__name__:
        return f"\n{name} = {function.__name__}\n"
    names = vars(sys.modules[function.__declaration__.__module__])
    signature = inspect.signature(function)
    returned = " | ".join(
        dict.fromkeys(
            _RETURNED.sub("tf.Tensor", str(signature.return_annotation)).split(" | ")
        )
    )
    parameters = []
    for parameter in signature.parameters.values():
        kind = str(parameter.annotation).replace("ArrayLike", "TensorLike")
        kind = _options(kind, names)
        parameters.append(str(parameter.replace(annotation=kind)).replace("'", "", 2))
    keywords = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    if keywords:
        parameters.insert(len(parameters) - len(keywords), "*")
    prose = textwrap.indent(f'"""{inspect.getdoc(function)}\n"""', "    ")

    def text(parameters: list[str]) -> str:
        listed = ",\n".join(f"    {parameter}" for parameter in parameters)
        return f"def {name}(\n{listed},\n) -> {returned}:\n{prose}\n    ...\n"

    forms = completed_stubs.overloads(parameters, str(REQUIRED))
    if len(forms) == 1:
        return f"\n{text(parameters)}"
    return "".join(f"\n@overload\n{text(form)}" for form in forms)


def render(module: ModuleType) -> str | None:
    """Returns the text of the stub of a module, None where it needs none."""
    public = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    # An alias after what it names.
    public = dict(sorted(public.items(), key=lambda item: item[0] != item[1].__name__))
    if not any(hasattr(value, "__declaration__") for value in public.values()):
        return None
    text = "".join(_function(name, value) for name, value in public.items())
    code = re.sub(r'"""(.|\n)*?"""', "", text)
    types = set(re.findall(r"\b[A-Z]\w*[a-z]\w*", code))
    types -= set(re.findall(r"\w+", HEADER))
    homes = ""
    for home in (_spec, _binning, _statistics):
        made = sorted(types & set(vars(home)))
        homes += f"from {home.__name__} import {', '.join(made)}\n" if made else ""
        types -= set(made)
    header = HEADER
    if re.search(r"\bSequence\b", text):
        abstract = "from collections.abc import Sequence\n"
        header = HEADER.replace("from typing", abstract + "from typing", 1)
    return header + homes + text


def outdated() -> dict[pathlib.Path, str]:
    """Returns the text of each stub that differs from the one on disk."""
    found = {}
    for path in sorted((ROOT / ROOM).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        text = render(importlib.import_module(name.removesuffix(".__init__")))
        stub = path.with_suffix(".pyi")
        if text and not (stub.exists() and stub.read_text(encoding="utf-8") == text):
            found[stub] = text
    tables = stubs.filled() | completed_stubs.texts()
    return found | {
        path: text
        for path, text in tables.items()
        if not (path.exists() and path.read_text(encoding="utf-8") == text)
    }


if __name__ == "__main__":
    for path, text in outdated().items():
        path.write_text(text, encoding="utf-8")
