"""Makes SVG of a matplotlib figure for a page, light or dark as the page is.

Text stays text, in the font of the screen. If a mark got tips from `_series.set_tips`,
a reader who points at the mark sees them. The picture has no background, black becomes
the colour of the text around the picture, and every other colour is a variable with a
value of its own for dark screens. Names of definitions hold a hash of the picture, so
that no two pictures of a page share a name.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import warnings
from collections.abc import Collection, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from uncertainty_metrics import _optional

_NAMESPACE = "http://www.w3.org/2000/svg"
# Fonts of screens. Most are narrower than the font for which matplotlib makes room.
_ROOT_STYLE = (
    "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; "
    "fill: currentColor; stroke-linejoin: round; stroke-linecap: butt"
)
_TEXT = {"font-size", "text-anchor", "fill", "opacity"}
_NUMBERS = {"d", "x", "y", "width", "height", "transform", "points", "viewBox"}
_LONG = re.compile(r"-?\d+\.\d{2,}")
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_REFERENCE = re.compile(r"""(?:url\(|href=")#([^)"]+)""")
_FONT = re.compile(r"\bfont: [^;]*?([\d.]+px) [^;]*")  # Older matplotlib writes so.
# If the marks of one Axes have more corners than this, or more tips, they become one
# image with so many dots per inch: nobody can point at so many marks.
_MAX_CORNERS, _MAX_TIPS, _DOTS = 40_000, 400, 200
_STYLE = {
    "font.size": 12,
    "axes.titlesize": "medium",
    "svg.fonttype": "none",
    "svg.hashsalt": "uncertainty_metrics",
}
# Lightness (OKLab) of colours on a white page, and of the same colours on a dark page.
_LIGHT, _DARK = (0.0, 0.4, 0.75, 0.87, 1.0), (0.93, 0.76, 0.6, 0.38, 0.2)
_TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Sets the style of the report while it draws, whatever the user's style is."""
    matplotlib = _optional.require("matplotlib")
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        # The name of a file may have letters that the font of matplotlib lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        # The check of the report's own arguments has said it.
        warnings.filterwarnings("ignore", "`(uncertainties|stddevs)` must", UserWarning)
        yield


def svg(figure: Any) -> str:
    """Returns a figure as an element of a page."""
    file = io.BytesIO()
    with style(), _with_tips(figure) as tips, _light(figure):
        figure.savefig(
            file,
            format="svg",
            dpi=_DOTS,
            transparent=True,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    drawn = ElementTree.fromstring(file.getvalue())
    names = dict.fromkeys(_REFERENCE.findall(file.getvalue().decode()))
    for gid, texts in tips.items():
        _add_titles(drawn, gid, texts)
    root = ElementTree.Element("svg")
    root.set("xmlns", _NAMESPACE)
    root.set("viewBox", _shorter(drawn.get("viewBox", "")))
    root.set("style", _ROOT_STYLE)
    for child in drawn:
        root.extend(_plain(child, names))
    text = ElementTree.tostring(root, encoding="unicode")
    prefix = "p" + hashlib.sha256(text.encode()).hexdigest()[:8]
    for i, name in enumerate(names):
        text = text.replace(name, f"{prefix}-{i}")
    return text.replace(">", f">{_dark_style(text)}", 1)


@contextlib.contextmanager
def _with_tips(figure: Any) -> Iterator[dict[str, tuple[str, ...]]]:
    """Gives each artist with tips an id for a while; yields the tips by id."""
    telling = figure.findobj(lambda artist: bool(_tips(artist)))
    before = [artist.get_gid() for artist in telling]
    tips = {}
    for i, artist in enumerate(telling):
        artist.set_gid(f"tip-{i}")
        tips[f"tip-{i}"] = _tips(artist)
    try:
        yield tips
    finally:
        for artist, gid in zip(telling, before, strict=True):
            artist.set_gid(gid)


@contextlib.contextmanager
def _light(figure: Any) -> Iterator[None]:
    """Draws the marks as one image, for a while, in Axes that have very many marks."""
    changed = []
    for ax in figure.findobj(_optional.require("matplotlib.axes").Axes):
        marks = [*ax.patches, *ax.lines, *ax.collections]
        num_tips = sum(len(_tips(mark)) for mark in marks)
        if num_tips > _MAX_TIPS or sum(map(_corners, marks)) > _MAX_CORNERS:
            changed += [(mark, mark.get_rasterized()) for mark in marks]
    for mark, _ in changed:
        mark.set_rasterized(True)
    try:
        yield
    finally:
        for mark, before in changed:
            mark.set_rasterized(before)


def _tips(artist: Any) -> tuple[str, ...]:
    """Returns the tips of an artist, if it has any."""
    from uncertainty_metrics.visualization import _series

    return getattr(artist, _series.TIPS, ())


def _corners(mark: Any) -> int:
    if mark.get_rasterized():
        return 0
    if hasattr(mark, "get_paths"):
        return max(
            sum(len(path.vertices) for path in mark.get_paths()),
            len(mark.get_offsets()),
        )
    return len(mark.get_path().vertices)


def _add_titles(drawn: ElementTree.Element, gid: str, texts: tuple[str, ...]) -> None:
    """Adds the tips of an artist: one text, or one for each of its points in order."""
    group = drawn.find(f".//*[@id='{gid}']")
    if group is None:  # The artist is outside the Axes, or part of an image.
        return
    marks = [group]
    if len(texts) != 1:
        marks = group.findall(f".//{{{_NAMESPACE}}}use") or group.findall("*")
        if len(marks) != len(texts):  # Some points are outside the Axes.
            return
    for mark, text in zip(marks, texts, strict=True):
        title = ElementTree.Element("title")
        title.text = text
        mark.insert(0, title)


def _plain(
    element: ElementTree.Element, names: Collection[str]
) -> list[ElementTree.Element]:
    """Returns the shortest elements that draw the same as an element.

    The list is empty, or holds the shortened element, or only its children.

    Args:
      element: an element of the SVG that matplotlib wrote.
      names: the ids that other elements refer to.
    """
    tag = element.tag.rpartition("}")[2]
    if tag in ("metadata", "style"):
        return []
    children = [plain for child in element for plain in _plain(child, names)]
    attributes = {}
    for key, value in element.items():
        key = key.rpartition("}")[2]
        if key == "id" and value not in names:
            continue
        if key in ("fill", "stroke"):  # Only a style may hold a variable.
            key, value = "style", f"{key}: {value}"
        if key in _NUMBERS:
            value = _shorter(value)
        if key == "style":
            value = _style(tag, value)
        if value and not value.startswith("rotate(-0 "):
            attributes[key] = value
    if tag in ("g", "defs") and not children:
        return []
    if tag == "g" and not attributes and children[0].tag != "title":
        return children
    if attributes.get("style") in ("fill: none", "fill: none; opacity: 0"):
        return []  # The background.
    styles = {child.get("style", "") for child in children}
    if tag == "g" and "style" not in attributes and len(styles) == 1:
        (common,) = styles
        if common and "opacity" not in common.replace("-opacity", ""):
            attributes["style"] = common
            for child in children:
                del child.attrib["style"]
    plain = ElementTree.Element(tag, attributes)
    plain.extend(children)
    if tag in ("text", "tspan", "title"):
        plain.text = element.text
    return [plain]


def _shorter(numbers: str) -> str:
    """Rounds numbers to a tenth of a point: no screen shows more."""
    return " ".join(_LONG.sub(_rounded, numbers).split())


def _rounded(found: re.Match[str]) -> str:
    return f"{round(float(found[0]), 1) + 0:g}"


def _style(tag: str, style: str) -> str:
    """Returns a style with variables for colours, and without the font of text."""
    parts = dict(
        part.split(": ", 1) for part in _FONT.sub(r"font-size: \1", style).split("; ")
    )
    if tag in ("text", "tspan"):
        parts = {name: value for name, value in parts.items() if name in _TEXT}
    return "; ".join(
        f"{name}: {_HEX.sub(_variable, value)}" for name, value in parts.items()
    )


def _variable(found: re.Match[str]) -> str:
    color = found[0]
    if color == "#000000":
        return "currentColor"
    return f"var(--c{color[1:]}, {color})"


def _dark_style(text: str) -> str:
    """Returns the values of the variables on a dark screen."""
    colors = sorted(set(re.findall(r"var\(--c([0-9a-f]{6})", text)))
    values = " ".join(f"--c{color}: {_dark('#' + color)};" for color in colors)
    image = (
        " image { filter: invert(1) hue-rotate(180deg); }" if "<image" in text else ""
    )
    return (
        "<style>@media screen and (prefers-color-scheme: dark) "
        f"{{ svg {{ {values} }}{image} }}</style>"
    )


def _dark(color: str) -> str:
    """Returns the colour of the same hue that replaces `color` on a dark page."""
    colors = _optional.require("matplotlib.colors")
    rgb = np.array(colors.to_rgb(color))
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    lab = np.array(_TO_LAB) @ np.cbrt(np.array(_TO_CONES) @ linear)
    lab[0] = np.interp(lab[0], _LIGHT, _DARK)
    linear = np.linalg.solve(_TO_CONES, np.linalg.solve(_TO_LAB, lab) ** 3).clip(0, 1)
    rgb = np.where(
        linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, linear * 12.92
    )
    return str(colors.to_hex(rgb))
