"""Writes the stubs of functions on tensors.

The NumPy functions declare them, so they have no source that editors, type checkers and
mkdocs could read; these read the stubs. The script also fills the tables of public
names from `__all__` of the modules. Run it from a checkout after you change a
declaration: `python scripts/write_stubs.py`.
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

from scripts import names_page, stubs, torch_stubs  # noqa: E402

if __name__ == "__main__":  # The tables come first: the import below reads them.
    for table, names in stubs.filled().items():
        table.write_text(names, encoding="utf-8")
    if missing := stubs.missing():
        sys.exit("\n".join(missing))

from uncertainty_metrics import _calibration_spec, _results  # noqa: E402
from uncertainty_metrics.ops import _binning  # noqa: E402

HEADER = """\
# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
"""
_RETURNED = re.compile(r"\b(float|np\.ndarray)\b")


def _options(annotation: str, names: dict[str, Any]) -> str:
    """Replaces names of `Literal` types by their options, which editors then offer."""

    def written(match: re.Match[str]) -> str:
        word = match[0]
        if get_origin(names.get(word)) is not Literal:
            return word
        return f"Literal[{', '.join(map(json.dumps, get_args(names[word])))}]"

    return re.sub(r"\w+", written, annotation)


def _overloads(parameters: list[str]) -> list[list[str]]:
    """Returns the forms of a signature in which required arguments have no default.

    In the first form they are passed by position, like all arguments before them; in
    the second form by name.

    Args:
      parameters: the parameters as text, "*" for the start of the keyword-only ones.
    """
    defaults = [" = " in line for line in parameters]
    needed = [
        i
        for i, line in enumerate(parameters)
        if line != "*" and not defaults[i] and any(defaults[:i])
    ]
    if not needed:
        return [parameters]
    before, after = parameters[: needed[0]], parameters[needed[0] :]
    named = ["*", *(line for line in after if line != "*")]
    return [[line.partition(" = ")[0] for line in before] + after, before + named]


def _forms_of(parameters: list[str], returned: str) -> list[tuple[list[str], str]]:
    """Returns the forms of a signature with their return types.

    These are the forms of `_overloads`. A form with `groups` becomes two forms, without
    and with groups, because they return different types; and a third one with
    `per_image`.
    """
    forms = []
    of_groups, of_images = ("groups: ", "num_groups: "), "per_image: "
    for form in _overloads(parameters):
        rest = [line for line in form if not line.startswith((*of_groups, of_images))]
        if len(rest) < len(form):
            plain = returned.removesuffix(" | ImageMean").removesuffix(" | GroupValues")
            forms.append((rest, plain))
            own = [line for line in form if line.startswith(of_groups)]
            own = [line.replace(" | None = None", "") for line in own]
            if any(line.startswith(of_images) for line in form):
                forms.append(([*rest, f"{of_images}Literal[True]"], "ImageMean"))
                own.append(f"{of_images}Literal[False] = False")
            # The documentation shows the last form, so it has all parameters.
            forms.append(([*rest, *own], "GroupValues"))
        else:
            forms.append((form, returned))
    return forms


def _listed(parameters: list[str]) -> str:
    return "".join(f"    {parameter},\n" for parameter in parameters)


def _function(name: str, function: Any) -> str:
    if name != function.__name__:
        return f"\n{name} = {function.__name__}\n"
    names = vars(sys.modules[function.__declaration__.__module__])
    signature = inspect.signature(function)
    returned = " | ".join(
        dict.fromkeys(
            _RETURNED.sub("Tensor", str(signature.return_annotation)).split(" | ")
        )
    )
    parameters = []
    for parameter in signature.parameters.values():
        kind = str(parameter.annotation).replace("ArrayLike", "TensorLike")
        kind = _options(kind, names)
        if _calibration_spec.is_required(parameter):
            parameter = parameter.replace(default=parameter.empty)
        written = str(parameter.replace(annotation=kind)).replace("'", "", 2)
        parameters.append(re.sub(r"= (-?)inf$", r"= \1np.inf", written))
    keywords = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    if keywords:
        parameters.insert(len(parameters) - len(keywords), "*")
    prose = textwrap.indent(f'"""{inspect.getdoc(function)}\n"""', "    ")

    first, *others = (
        f"def {name}(\n{_listed(form)}) -> {value}:"
        for form, value in _forms_of(parameters, returned)
    )
    if not others:
        return f"\n{first}\n{prose}\n"
    # Editors show the docstring of the first form for all forms.
    rest = "".join(f"\n@overload\n{head} ...\n" for head in others)
    return f"\n@overload\n{first}\n{prose}\n{rest}"


def render(module: ModuleType) -> str | None:
    """Returns the text of the stub of a module; None if the module needs no stub."""
    public = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    # An alias comes after the function that it names.
    public = dict(sorted(public.items(), key=lambda item: item[0] != item[1].__name__))
    if not any(hasattr(value, "__declaration__") for value in public.values()):
        return None
    text = "".join(_function(name, value) for name, value in public.items())
    code = re.sub(r'"""(.|\n)*?"""', "", text)
    types = set(re.findall(r"\b[A-Z]\w*[a-z]\w*", code))
    types -= set(re.findall(r"\w+", HEADER))
    homes = ""
    for home in (_calibration_spec, _binning, _results):
        made = sorted(types & set(vars(home)))
        homes += f"from {home.__name__} import {', '.join(made)}\n" if made else ""
        types -= set(made)
    header = HEADER
    if re.search(r"\bSequence\b", text):
        abstract = "from collections.abc import Sequence\n"
        header = HEADER.replace("from typing", abstract + "from typing", 1)
    return header + homes + text


def outdated() -> dict[pathlib.Path, str]:
    """Returns the text of each file that differs from the one on disk: stubs, tables of
    names, the page of all names, and the table of names in code of the page of words.
    """
    found = {}
    for path in sorted(ROOT.glob("uncertainty_metrics/tensors/**/*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        text = render(importlib.import_module(name.removesuffix(".__init__")))
        stub = path.with_suffix(".pyi")
        if text and not (stub.exists() and stub.read_text(encoding="utf-8") == text):
            found[stub] = text
    others = (
        stubs.filled()
        | torch_stubs.texts()
        | {
            names_page.PAGE: names_page.text(),
            names_page.WORDS: names_page.text_of_words(),
        }
    )
    return found | {
        path: text
        for path, text in others.items()
        if not (path.exists() and path.read_text(encoding="utf-8") == text)
    }


if __name__ == "__main__":
    for path, text in outdated().items():
        path.write_text(text, encoding="utf-8")
