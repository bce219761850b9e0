"""What `mkdocs` builds from: the README, the changelog, and the public names.

The front page is the README. The reference has a page for each group of names in
`uncertainty_metrics/__init__.pyi`, where a comment begins it, for each half.
"""

from __future__ import annotations

import html
import importlib
import inspect
import pathlib
import re
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

import griffe
from latex2mathml import converter
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # mkdocs leaves it out.

from scripts import stubs  # noqa: E402

PACKAGE = "uncertainty_metrics"
_HALVES = {PACKAGE: "TensorFlow and Keras", f"{PACKAGE}.numpy": "NumPy"}
_METRICS = "Keras metrics"


class Entry(NamedTuple):
    """An object of the reference.

    Attributes:
      package: where its names are public.
      names: its name, and its aliases.
      home: where it is defined.
      summary: the first line of its docstring.
    """

    package: str
    names: list[str]
    home: str
    summary: str


# The pages of a half, by their titles.
Pages = dict[str, list[Entry]]


def _entries(package: ModuleType, names: Iterable[str]) -> list[Entry]:
    """Returns the objects with these names, each once."""
    found: dict[str, Entry] = {}
    for name in names:
        value = getattr(package, name)
        if inspect.isclass(value):  # The first that had the docstring.
            value = [c for c in value.__mro__ if c.__doc__ == value.__doc__][-1]
        home = f"{value.__module__}.{value.__qualname__}"
        entry = Entry(package.__name__, [], home, _summary(value.__doc__))
        found.setdefault(home, entry).names.append(name)
    for entry in found.values():
        entry.names.sort(key=lambda name: (not entry.home.endswith(f".{name}"), name))
    return list(found.values())


def _summary(docstring: str) -> str:
    return " ".join(docstring.partition("\n\n")[0].split())


def _beam() -> list[Entry]:
    """Returns what is public for Beam, without Beam."""
    name = f"{PACKAGE}.beam"
    module = griffe.load(name, search_paths=[str(ROOT)])
    return [
        Entry(
            name, [public], f"{name}.{public}", _summary(module[public].docstring.value)
        )
        for public in map(str, module.exports)
    ]


def reference() -> dict[str, Pages]:
    """Returns the pages of each half of the package."""
    um = importlib.import_module(PACKAGE)
    titles = {name: known.title for name, known in stubs.names(PACKAGE).items()}
    # What is a Keras metric in one half is beside its functions in the other.
    of_module = {
        known.home: titles[name]
        for name, known in stubs.names(f"{PACKAGE}.numpy").items()
        if titles.get(name, _METRICS) != _METRICS
    }
    found = {}
    for package in (um, um.numpy):
        names: dict[str, list[str]] = {title: [] for title in titles.values()}
        for name in sorted(set(titles) & set(package.__all__)):
            title = titles[name]
            if package is not um and title == _METRICS:
                title = of_module[getattr(package, name).__module__]
            names[title].append(name)
        pages = {title: _entries(package, of_page) for title, of_page in names.items()}
        pages["Regression"] = _entries(package.regression, package.regression.__all__)
        found[package.__name__] = {title: page for title, page in pages.items() if page}
    found[PACKAGE]["Apache Beam"] = _beam()
    return found


def _path(package: str, title: str) -> str:
    return f"reference/{package}/{title.lower().replace(' ', '_')}.md"


def _head(package: str, title: str) -> list[str]:
    """Returns the title of a page and how to import what is on it."""
    half = package.removesuffix(".regression")
    alias = " as um" if half in _HALVES else ""
    return [f'# {title} <a id="{package}"></a>', f"`import {half}{alias}`"]


def _object(home: str, heading: str) -> str:
    return f"::: {home}\n    options:\n      heading: {heading}"


def _of_every_metric() -> list[str]:
    """Returns the methods that all metrics share."""
    methods = ("get_state", "set_state", "merge_state", "reset_state")
    parts = ["## Every metric"]
    for name in methods:
        home = f"{PACKAGE}.keras._base.SumsMetric.{name}"
        parts.append(f"{_object(home, name)}\n      heading_level: 3")
    return parts


def _page(title: str, entries: list[Entry], shown: set[str]) -> str:
    """Returns the text of a page; objects that are `shown` elsewhere are links."""
    parts = _head(entries[0].package, title)
    prefix = "regression." if entries[0].package.endswith(".regression") else ""
    if title == _METRICS:
        parts += _of_every_metric()
    for entry in entries:
        heading = ", ".join(prefix + name for name in entry.names)
        anchors = (f'<a id="{entry.package}.{name}"></a>' for name in entry.names)
        parts.append("".join(anchors))
        if not entry.home.startswith(PACKAGE):
            parts.append(f"## {heading}\n\nThat of Keras: {entry.summary}")
        elif entry.home in shown:
            link = f"[`{PACKAGE}.{prefix}{entry.names[0]}`][{entry.home}]"
            parts.append(f"## {heading}\n\nThe same as {link}: {entry.summary}")
        else:
            parts.append(_object(entry.home, heading))
            shown.add(entry.home)
    return "\n\n".join(parts)


def _index(package: str, pages: Pages) -> str:
    """Returns the text of the first page of a half: all names, and what they are."""
    parts = _head(package, _HALVES[package])
    for title, entries in pages.items():
        path = pathlib.PurePath(_path(package, title)).name
        rows = []
        for entry in entries:
            link = f"{path}#{entry.package}.{entry.names[0]}"
            names = "`, `".join(entry.names)
            rows.append(f"| [`{names}`]({link}) | {entry.summary} |")
        parts.append(f"## [{title}]({path})")
        parts.append("\n".join(["| Name | What it is |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def on_config(config: Any) -> Any:
    """Makes the list of all pages."""
    config.extra["reference"] = found = reference()
    config.nav = [
        {"Home": "index.md"},
        *(
            {
                _HALVES[package]: [
                    f"reference/{package}/index.md",
                    *({title: _path(package, title)} for title in pages),
                ]
            }
            for package, pages in found.items()
        ),
        {"Changes": "changes.md"},
    ]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Adds the pages that are made of other files."""
    texts = {
        "index.md": (ROOT / "README.md").read_text(encoding="utf-8"),
        "changes.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    shown: set[str] = set()
    for package, pages in config.extra["reference"].items():
        texts[f"reference/{package}/index.md"] = _index(package, pages)
        for title, entries in pages.items():
            texts[_path(package, title)] = _page(title, entries, shown)
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **kwargs: Any) -> str:
    """Leads the links of the README to the repository, and leaves out its badges."""
    if page.file.src_uri != "index.md":
        return markdown
    markdown = re.sub(r"!\[([^]]*)\]\(http[^)]*\)", r"\1", markdown)
    files = f"{config.extra['repository']}/blob/main/"
    return re.sub(r"\]\((?!#|http)([^)]*)\)", rf"]({files}\1)", markdown)


def on_page_content(content: str, **kwargs: Any) -> str:
    """Makes MathML of the formulas, which browsers show by themselves."""

    def formula(found: re.Match[str]) -> str:
        tag, text = found.groups()
        display = "inline" if tag == "span" else "block"
        mathml = converter.convert(html.unescape(text).strip(), display=display)
        return mathml.replace("<mi>log</mi>", '<mi>log</mi><mspace width="0.17em"/>')

    pattern = r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>'
    return re.sub(pattern, formula, content, flags=re.DOTALL)
