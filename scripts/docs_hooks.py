"""Adds pages to `mkdocs`: files outside `docs/`, pictures, and the reference.

The front page is the README. For each half, the reference has a page for each group of
names in `uncertainty_metrics/__init__.pyi`. A comment in that file begins a group and
is its title. The names on a page are in the order of the tables of the guide.
"""

from __future__ import annotations

import html
import importlib
import inspect
import pathlib
import posixpath
import re
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

import griffe
from latex2mathml import converter
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # mkdocs does not add the root itself.

from scripts import docs_gallery, stubs  # noqa: E402

PACKAGE = "uncertainty_metrics"
_HALVES = {PACKAGE: "TensorFlow and Keras", f"{PACKAGE}.numpy": "NumPy"}
_METRICS = "Keras metrics"
# Packages in both halves; each has a page of the guide and a page of the reference.
_ROOMS = ("conformal", "detection", "regression")
# Modules whose names are read without importing them, and the titles of their pages.
ENGINES = {
    f"{PACKAGE}.beam": "Apache Beam",
    f"{PACKAGE}.ray": "Ray",
    f"{PACKAGE}.spark": "Apache Spark",
    f"{PACKAGE}.sklearn": "scikit-learn",
    f"{PACKAGE}.inspect": "Inspect",
    f"{PACKAGE}.mlflow": "MLflow",
}
# Pages of the site whose files are in the root of the repository, not in `docs/`.
BESIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
}


class Entry(NamedTuple):
    """An object of the reference.

    Attributes:
      package: the package in which its names are public.
      names: its name, and its aliases.
      home: the full name of its definition.
      summary: the first line of its docstring.
    """

    package: str
    names: list[str]
    home: str
    summary: str


# The entries of each page of a half, by the title of the page.
Pages = dict[str, list[Entry]]


def _entries(package: ModuleType, names: Iterable[str]) -> list[Entry]:
    """Returns the objects with these names, each once."""
    found: dict[str, Entry] = {}
    for name in names:
        value = getattr(package, name)
        if inspect.isclass(value):  # The base class from which the docstring comes.
            value = [c for c in value.__mro__ if c.__doc__ == value.__doc__][-1]
        home = f"{value.__module__}.{value.__qualname__}"
        entry = Entry(package.__name__, [], home, _summary(value.__doc__))
        found.setdefault(home, entry).names.append(name)
    for entry in found.values():
        entry.names.sort(key=lambda name: (not entry.home.endswith(f".{name}"), name))
    return list(found.values())


def _summary(docstring: str) -> str:
    return " ".join(docstring.partition("\n\n")[0].split())


def _of_engine(name: str) -> list[Entry]:
    """Returns the public names of a module, without importing its engine."""
    module = griffe.load(name, search_paths=[str(ROOT)])
    return [
        Entry(
            name, [public], f"{name}.{public}", _summary(module[public].docstring.value)
        )
        for public in map(str, module.exports)
    ]


def _order_in(*pages: pathlib.Path) -> dict[str, int]:
    """Returns the position of each name in the tables of these pages."""
    lines = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    tables = "\n".join(re.findall(r"^\|.*", lines, re.MULTILINE))
    names = re.findall(r"`(?:\w+\.)*(\w+)", tables)
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _guide() -> list[pathlib.Path]:
    """Returns the pages of the guide, in order."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return [ROOT / "docs" / page for page in re.findall(r"- (guide/\w+\.md)", nav)]


def reference() -> dict[str, Pages]:
    """Returns the pages of each half of the package."""
    um = importlib.import_module(PACKAGE)
    titles = {name: known.title for name, known in stubs.names(PACKAGE).items()}
    # Some Keras metrics have the name of an object in the NumPy half. The object is on
    # the page of the functions of its module.
    title_of_module = {
        known.home: titles[name]
        for name, known in stubs.names(f"{PACKAGE}.numpy").items()
        if titles.get(name, _METRICS) != _METRICS
    }
    guide = _guide()
    order = _order_in(*guide)
    of_rooms = {page.stem: _order_in(page) for page in guide if page.stem in _ROOMS}
    found = {}
    for package in (um, um.numpy):
        names: dict[str, list[str]] = {title: [] for title in titles.values()}
        public = sorted(set(titles) & set(package.__all__))
        for name in sorted(public, key=lambda name: order.get(name, len(order))):
            title = titles[name]
            if package is not um and title == _METRICS:
                title = title_of_module[getattr(package, name).__module__]
            names[title].append(name)
        pages = {title: _entries(package, of_page) for title, of_page in names.items()}
        for room in _ROOMS:
            inside = getattr(package, room)
            known = sorted(inside.__all__, key=of_rooms[room].__getitem__)
            pages[room.capitalize()] = _entries(inside, known)
        found[package.__name__] = {title: page for title, page in pages.items() if page}
    for name, title in ENGINES.items():
        found[PACKAGE][title] = _of_engine(name)
    return found


def _path(package: str, title: str) -> str:
    return f"reference/{package}/{title.lower().replace(' ', '_')}.md"


def _head(package: str, title: str) -> list[str]:
    """Returns the title of a page, and the import of its names."""
    half, _, room = package.rpartition(".")
    half = half if room in _ROOMS else package
    alias = " as um" if half in _HALVES else ""
    return [f'# {title} <a id="{package}"></a>', f"`import {half}{alias}`"]


def _object(home: str, heading: str) -> str:
    """Returns the Markdown that shows an object.

    Classes of the NumPy half have many of their methods from private base classes. The
    base classes of Keras metrics have only the methods of `_of_every_metric`.
    """
    text = f"::: {home}\n    options:\n      heading: {heading}"
    if home.startswith(f"{PACKAGE}.numpy."):
        text += "\n      inherited_members: true"
    return text


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
    room = entries[0].package.rpartition(".")[2]
    prefix = f"{room}." if room in _ROOMS else ""
    for entry in entries:
        heading = ", ".join(prefix + name for name in entry.names)
        anchors = (f'<a id="{entry.package}.{name}"></a>' for name in entry.names)
        parts.append("".join(anchors))
        if not entry.home.startswith(PACKAGE):
            parts.append(f"## {heading}\n\nKeras's own class: {entry.summary}")
        elif entry.home in shown:
            link = f"[`{PACKAGE}.{prefix}{entry.names[0]}`][{entry.home}]"
            parts.append(f"## {heading}\n\nThe same as {link}: {entry.summary}")
        else:
            parts.append(_object(entry.home, heading))
            shown.add(entry.home)
    if title == _METRICS:
        parts += _of_every_metric()
    return "\n\n".join(parts)


def _index(package: str, pages: Pages) -> str:
    """Returns the text of the first page of a half: all names and their summaries."""
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
    """Adds the reference to the list of all pages."""
    config.extra["reference"] = found = reference()
    config.nav[-1:-1] = [
        {
            _HALVES[package]: [
                f"reference/{package}/index.md",
                *({title: _path(package, title)} for title in pages),
            ]
        }
        for package, pages in found.items()
    ]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Adds the pages from the root folder, the reference, and the pictures."""
    texts: dict[str, str | bytes] = {
        page: (ROOT / file).read_text(encoding="utf-8") for page, file in BESIDE.items()
    }
    texts |= docs_gallery.pictures()
    shown: set[str] = set()
    for package, pages in config.extra["reference"].items():
        texts[f"reference/{package}/index.md"] = _index(package, pages)
        for title, entries in pages.items():
            texts[_path(package, title)] = _page(title, entries, shown)
    for path, text in texts.items():
        if known := files.get_file_from_path(path):
            files.remove(known)
        files.append(File.generated(config, path, content=text))
    return files


def _linked_names(markdown: str, halves: dict[str, Pages]) -> str:
    """Returns a page of tables whose public names are links to the reference."""
    places = {}
    for package, pages in sorted(halves.items()):  # NumPy comes last, and counts.
        for title, entries in pages.items():
            for entry in entries:
                room = entry.package.rpartition(".")[2]
                prefix = f"{room}." if room in _ROOMS else ""
                places |= {
                    f"{prefix}{name}": f"{_path(package, title)}#{entry.package}.{name}"
                    for name in entry.names
                }

    def linked(found: re.Match[str]) -> str:
        place = places.get(found[1])
        return f"[{found[0]}]({place})" if place else found[0]

    return re.sub(r"`([\w.]+)`", linked, markdown)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **kwargs: Any) -> str:
    """Changes links to files of the repository.

    If a file has a page, the link leads to the page, otherwise to the file on GitHub.
    On the pages of names, our names are links as well.
    """
    page_of_file = {file: uri for uri, file in BESIDE.items()}
    here = BESIDE.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def changed(found: re.Match[str]) -> str:
        path, *anchor = (found[1] or "#").split("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        if not path or path.startswith(("http:", "https:")):
            return found[0]
        if file in page_of_file or file.startswith("docs/"):
            uri = page_of_file.get(file) or file.removeprefix("docs/")
            target = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
        else:
            if not (ROOT / file).exists():
                raise FileNotFoundError(f"{here} has a link to {file}")
            target = f"{config.extra['repository']}/blob/main/{file}"
        return f"]({'#'.join([target, *anchor])})"

    if page.file.src_uri.startswith("reference/"):
        return markdown
    links = r"```.*?```|`[^`\n]*`|\]\(([^)\s]+)\)"
    markdown = re.sub(links, changed, markdown, flags=re.DOTALL)
    if page.file.src_uri in ("all_names.md", "names.md"):
        return _linked_names(markdown, config.extra["reference"])
    return markdown


def _labelled(table: re.Match[str]) -> str:
    """Gives each cell of a table of three or more columns the name of its column.

    A phone shows the cells of a row below each other, where no name can stand above.
    """
    named = re.findall(r"<th[^>]*>(.*?)</th>", table[0], flags=re.DOTALL)
    if len(named) < 3:
        return table[0]
    names = [html.escape(re.sub(r"<[^>]+>", "", name)) for name in named]

    def row(cells: re.Match[str]) -> str:
        of_cell = iter(names)
        return re.sub("<td", lambda _: f'<td data-label="{next(of_cell)}"', cells[0])

    return re.sub(r"<tr>.*?</tr>", row, table[0], flags=re.DOTALL)


def on_page_content(content: str, *, files: Any, **kwargs: Any) -> str:
    """Turns formulas into MathML, and passes to the style sheet what it cannot know.

    These are the widths of pictures and the columns of cells. Browsers show MathML
    without a script.
    """
    content = re.sub(r"<table>.*?</table>", _labelled, content, flags=re.DOTALL)

    def formula(found: re.Match[str]) -> str:
        tag, text = found.groups()
        display = "inline" if tag == "span" else "block"
        mathml = converter.convert(html.unescape(text).strip(), display=display)
        return mathml.replace("<mi>log</mi>", '<mi>log</mi><mspace width="0.17em"/>')

    pattern = r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>'
    content = re.sub(pattern, formula, content, flags=re.DOTALL)

    def sized(found: re.Match[str]) -> str:
        header = files.get_file_from_path(found[2]).content_bytes[:24]
        width = int.from_bytes(header[16:20], "big")  # The width in a PNG header.
        return f'{found[0]} style="--width: {width}px"'

    return re.sub(r'src="((?:\.\./)?(pictures/\w+\.png))"', sized, content)
