"""Shows the calibration report as one page of HTML, which loads no other file."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

from uncertainty_metrics._report.page import _document, _verdict
from uncertainty_metrics._report.sections import _blocks
from uncertainty_metrics._report.sections._model_report import PACKAGE, ModelReport
from uncertainty_metrics.version import __version__

# The browser lets the page load nothing: the pictures are part of the page.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1c2430; --soft: #5a6574; --line: #d9dee5; --tint: #f4f6f9;
  --accent: #2f6690; --good: #2e7d4f; --unclear: #c98a12; --bad: #c0392b;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e4e8ed; --soft: #a3adb9; --line: #333b45;
    --tint: #1c2229; --accent: #7fb2d9; --good: #57b881; --unclear: #e0ab3f;
    --bad: #ec7565;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 52rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: break-word;
}
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 {
  font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-top: 1rem;
  border-top: 1px solid var(--line);
}
p { margin: .75rem 0; max-width: 44rem; }
.source, footer, caption, figcaption { color: var(--soft); }
a { color: var(--accent); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; }
nav li { list-style: none; }
dl {
  display: grid; grid-template-columns: max-content minmax(0, 1fr);
  gap: .2rem 1.25rem;
}
dt { color: var(--soft); }
dd { margin: 0; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .925rem; }
caption { text-align: left; padding-bottom: .35rem; }
th, td {
  padding: .35rem .75rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line);
}
th:first-child { padding-left: .25rem; }
thead th { color: var(--soft); border-bottom-width: 2px; font-weight: 600; }
tbody th { font-weight: 500; }
tbody tr:nth-child(even) { background: var(--tint); }
pre { margin: 0; padding: .75rem 1rem; background: var(--tint); width: max-content; }
code { font: .925em/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre code { font-size: .875rem; }
.number {
  text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums;
}
figure { margin: 1.25rem 0; }
.picture svg { display: block; width: 100%; max-width: 30rem; height: auto; }
.verdict {
  display: grid; gap: .75rem; margin: 1.5rem 0; padding: 0; list-style: none;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr));
}
.tile {
  padding: .75rem 1rem; background: var(--tint); border-radius: .4rem;
  border-left: .35rem solid var(--level, var(--line));
}
.tile:last-child:nth-child(odd) { grid-column: 1 / -1; }
.tile > * { margin: 0; font-size: .925rem; line-height: 1.45; }
.tile .title, .tile h3 { font-weight: 600; color: var(--soft); }
.tile .value {
  margin: .1rem 0 .3rem; font-size: 1.375rem; font-weight: 600; line-height: 1.25;
  font-variant-numeric: tabular-nums;
}
.tile.good { --level: var(--good); }
.tile.borderline, .tile.unclear { --level: var(--unclear); }
.tile.bad { --level: var(--bad); }
figcaption { font-size: .925rem; margin-top: .5rem; max-width: 44rem; }
footer { margin-top: 3rem; font-size: .85rem; }
@media (max-width: 36rem) {
  th, td { padding: .3rem .4rem; }
  table { font-size: .85rem; }
}
@media print {
  :root {
    color-scheme: light; font-size: 10pt;
    --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --tint: #fff;
  }
  @page { margin: 1.5cm; }
  body { max-width: none; padding: 0; }
  nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.5rem; }
  th, td { padding-top: .2rem; padding-bottom: .2rem; }
  footer { break-before: avoid; margin-top: 1rem; }
  p, table, figure, dl, tr { break-inside: avoid; }
  table:has(tr:nth-child(10)) { break-inside: auto; }
  .scroll { overflow: visible; }
  pre { width: auto; white-space: pre-wrap; }
  p:has(+ .scroll) { break-after: avoid; }
  figure { display: grid; grid-template-columns: auto 1fr; gap: 1rem; margin: 1rem 0; }
  figcaption { align-self: end; }
  .picture svg { width: 6.5cm; max-height: 16cm; }
  .verdict { gap: .5rem; margin: 1rem 0; }
  .tile > .detail { font-size: .85rem; line-height: 1.35; }
  .tile {
    break-inside: avoid; border: 1px solid var(--line); print-color-adjust: exact;
    border-left: .35rem solid var(--level, var(--line));
  }
}"""


def page(report: ModelReport, pictures: Mapping[str, str]) -> str:
    """Returns the page.

    Args:
      report: the report.
      pictures: the pictures as SVG, by the names of their files.
    """
    title = f"Calibration report: {report.title}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>",
            f"<style>\n{_STYLE}\n</style>",
            "</head>",
            "<body>",
            *_body(report, pictures),
            "</body>",
            "</html>\n",
        ]
    )


def _body(report: ModelReport, pictures: Mapping[str, str]) -> Iterator[str]:
    chapters = {
        chapter.title.lower().replace(" ", "-"): chapter
        for chapter in _document.chapters(report)
    }
    yield "<header>\n<h1>Calibration report</h1>"
    yield f'<p class="source">{_verdict.prose(_verdict.source(report))}</p>'
    yield "</header>\n<main>"
    yield _verdict.as_html(report)
    yield '<nav aria-label="Sections">\n<ul>'
    for name, chapter in chapters.items():
        yield f'<li><a href="#{name}">{html.escape(chapter.title)}</a></li>'
    yield "</ul>\n</nav>"
    for name, chapter in chapters.items():
        yield f'<section aria-labelledby="{name}">'
        yield f'<h2 id="{name}">{html.escape(chapter.title)}</h2>'
        for block in chapter.blocks:
            yield from _block(block, pictures)
        yield "</section>"
    options = ", ".join(f"{name} {value}" for name, value in report.options.items())
    yield (
        f"</main>\n<footer>\n<p>Made by {PACKAGE} {__version__} with "
        f"{html.escape(options)}. All numbers are in report.json beside this page."
        "</p>\n</footer>"
    )


def _block(block: Any, pictures: Mapping[str, str]) -> Iterator[str]:
    if isinstance(block, _blocks.Text):
        yield f"<p>{_verdict.prose(block.text)}</p>"
    elif isinstance(block, _blocks.Facts):
        yield "<dl>"
        for name, fact in block.facts.items():
            yield f"<dt>{html.escape(name)}</dt><dd>{html.escape(fact)}</dd>"
        yield "</dl>"
    elif isinstance(block, _blocks.Table):
        yield from _table(block)
    elif isinstance(block, _blocks.Code):
        code = html.escape("\n".join(block.lines))
        yield '<div class="scroll" role="region" aria-label="Code" tabindex="0">'
        yield f"<pre><code>{code}</code></pre>\n</div>"
    elif block.name in pictures:
        yield from _figure(block, pictures[block.name])


def _table(table: _blocks.Table) -> Iterator[str]:
    words = len(table.columns) - 1 if table.has_words else None
    classes = [
        "" if i == words else ' class="number"' for i in range(len(table.columns))
    ]
    # A wide table scrolls, and tabindex lets the keyboard scroll it, too.
    caption = html.escape(table.caption)
    yield f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0">'
    yield f"<table>\n<caption>{caption}</caption>\n<thead>\n<tr>"
    yield f'<th scope="col">{html.escape(table.title)}</th>'
    for title, kind in zip(table.columns, classes, strict=True):
        yield f'<th scope="col"{kind}>{html.escape(title)}</th>'
    yield "</tr>\n</thead>\n<tbody>"
    for name, *cells in table.rows:
        row = "".join(
            f"<td{kind}>{html.escape(cell)}</td>"
            for cell, kind in zip(cells, classes, strict=True)
        )
        yield f'<tr><th scope="row">{_name(name)}</th>{row}</tr>'
    yield "</tbody>\n</table>\n</div>"


def _name(name: str) -> str:
    """Returns a name that a narrow screen breaks only at underscores, and before the
    conditions of a rule.
    """
    whole = html.escape(name).replace(" ", "&nbsp;").replace("_", "_<wbr>")
    return whole.replace("&nbsp;and&nbsp;", " and&nbsp;")


def _figure(picture: _blocks.Picture, svg: str) -> Iterator[str]:
    alt = html.escape(picture.alt)
    yield f'<figure>\n<div class="picture" role="img" aria-label="{alt}">{svg}</div>'
    yield f"<figcaption>{_verdict.prose(picture.caption)}</figcaption>\n</figure>"
