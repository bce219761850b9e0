"""The page `report.html` of the calibration report."""

import collections
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
from xml.etree import ElementTree

import matplotlib.colors
import matplotlib.figure
import numpy as np
import pytest

from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.page import _html, _svg
from uncertainty_metrics._report.sections._comparison import DRIFT
from uncertainty_metrics._report.sections._ensemble import ENSEMBLE
from uncertainty_metrics._report.sections._groups import GROUPS
from uncertainty_metrics._report.sections._list import pictures_of
from uncertainty_metrics._report.sections._posterior import POSTERIORS
from uncertainty_metrics._report.sections._risk import DECISIONS, RISK_CURVE
from uncertainty_metrics._report.sections._several_models import MODELS
from uncertainty_metrics.visualization import _series

SVG = {"svg", "style", "defs", "g", "path", "use", "text", "title"}
SVG |= {"clipPath", "pattern", "rect"}
VOID = {"meta", "img", "wbr"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
KINDS = ("classifier", "ensembles", "regressions", "risk", "odd")
OF_RISKS = [RISK_CURVE, DECISIONS]
CLASSIFIER = [
    row
    for row in pictures_of("classification")
    if row not in (ENSEMBLE, GROUPS, DRIFT, MODELS) and row not in OF_RISKS
]
# In the order of the page.
PICTURES = {
    "classifier": CLASSIFIER,
    "ensembles": [*CLASSIFIER, ENSEMBLE],
    "regressions": [row for row in pictures_of("regression") if row is not MODELS],
    "risk": [*OF_RISKS, *CLASSIFIER],
    "odd": CLASSIFIER,
}
FEWER = f"fewer_{40 * 'w'}.npz"
# A name that looks like markup, and is wider than any screen.
ODD = f"<b onload='x'>&amp;\"{150 * 'w'}.npz"


def make_files():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(80, 1, 3)) + rng.normal(size=(80, 4, 3))
    labels = (logits.mean(axis=1) + rng.gumbel(size=(80, 3))).argmax(axis=-1)
    np.savez("members.npz", labels=labels, logits=logits)
    np.savez(FEWER, labels=labels, logits=logits[:, :2])
    np.savez(ODD, labels=labels, logits=logits[:, 0], **{"<i>": labels})
    np.savez("risks.npz", labels=labels == 1, probabilities=rng.random(80) ** 2)
    stddev = rng.uniform(0.5, 2, 80)
    target = stddev * rng.normal(size=80)
    np.savez("narrow.npz", mean=np.zeros(80), stddev=stddev / 2, target=target)
    np.savez("right.npz", mean=np.zeros(80), variance=stddev**2, target=target)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The directories of reports by their kinds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("reports"))
        make_files()
        arguments = {
            "classifier": [],
            "ensembles": ["members.npz", "--compare", FEWER],
            "regressions": ["narrow.npz", "--compare", "right.npz"],
            "risk": ["risks.npz"],
            "odd": [ODD, "--num-bins", "3"],
        }
        assert set(arguments) == set(KINDS)
        for kind in KINDS:
            assert main(["report", *arguments[kind], "--out", kind]) == 0
        return {kind: pathlib.Path(kind).resolve() for kind in KINDS}


def page_of(directory):
    return (directory / "report.html").read_text("utf-8")


def numbers_of(directory):
    return json.loads((directory / "report.json").read_text("utf-8"))


class Page(html.parser.HTMLParser):
    """Reads a page, and raises AssertionError where tags are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], collections.defaultdict(list), []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.tags[tag].append({**dict(attrs), "inside": tuple(self.open)})
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "title", "svg"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return "".join(self.words).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("kind", KINDS)
def test_structure(reports, kind):
    text = page_of(reports[kind])
    page = Page(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n')
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        {k: v for k, v in meta.items() if k != "inside"} for meta in page.tags["meta"]
    ]
    assert (len(page.tags["h1"]), len(page.tags["main"])) == (1, 1)
    everything = [tag for tags in page.tags.values() for tag in tags]
    ids = [tag["id"] for tag in everything if "id" in tag]
    assert len(ids) == len(set(ids))
    ids = [heading["id"] for heading in page.tags["h2"]]
    assert len(ids) > 5
    assert [link["href"] for link in page.tags["a"]] == [f"#{name}" for name in ids]
    assert [section["aria-labelledby"] for section in page.tags["section"]] == ids
    assert len(page.tags["caption"]) == len(page.tags["table"]) > 3
    assert all(cell["scope"] in ("row", "col") for cell in page.tags["th"])
    rows = [row for row in page.tags["tr"] if "tbody" in row["inside"]]
    assert len(rows) == sum(cell["scope"] == "row" for cell in page.tags["th"])
    assert len(page.tags["figcaption"]) == len(page.tags["figure"])
    # The verdict comes first, then contents, pictures and lists.
    places = [
        text.index(what) for what in ('class="verdict"', "<nav", "<figure", "<dl")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_runs(reports, kind):
    text = page_of(reports[kind])
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "form"} & set(page.tags)
    for tag in (tag for tags in page.tags.values() for tag in tags):
        assert not [name for name in tag if name.startswith("on")]
        assert "src" not in tag
        assert tag.get("href", "#").startswith(("#", "data:image/png;base64,"))
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"url\(|@import|https?:", style)
    assert "default-src 'none'" in text
    for rule in ("prefers-color-scheme: dark", "@media print", "break-inside: avoid"):
        assert rule in style


def svgs_of(directory):
    return re.findall(r"<svg.*?</svg>", page_of(directory), re.DOTALL)


@pytest.mark.parametrize("kind", KINDS)
def test_pictures(reports, kind):
    files = [reports[kind] / row.file for row in PICTURES[kind]]
    assert sorted(reports[kind].glob("*.png")) == sorted(files)
    assert {file.read_bytes()[:8] for file in files} == {b"\x89PNG\r\n\x1a\n"}
    pictures = [
        tag
        for tag in Page(page_of(reports[kind])).tags["div"]
        if tag["class"] == "picture"
    ]
    svgs = svgs_of(reports[kind])
    for picture, svg, row in zip(pictures, svgs, PICTURES[kind], strict=True):
        assert picture["inside"][-1] == "figure"
        assert picture["role"] == "img"
        assert len(picture["aria-label"]) > 40
        check_svg(svg)
        assert ("<pattern" in svg) == (kind in HATCHED.get(row.file, ()))


# What is hatched in pictures: overlaps of two models.
HATCHED = {POSTERIORS.file: ("ensembles",)}


def check_svg(svg):
    """Asserts that a picture has text, marks that tell numbers, and no background."""
    root = ElementTree.fromstring(svg)
    tags = {it.tag.rpartition("}")[2] for it in root.iter()}
    assert tags <= SVG
    texts = [it.text for it in root.iter() if it.tag.endswith("}text")]
    assert len(texts) > 10
    assert all(texts)
    # Marks tell their numbers.
    titles = [it.text for it in root.iter() if it.tag.endswith("}title")]
    assert [title for title in titles if re.search(r"\d\.\d", title)]
    # Every colour is the text colour of the page, or a variable with a dark value.
    style = next(it.text for it in root.iter() if it.tag.endswith("}style"))
    assert style.startswith("@media screen and (prefers-color-scheme: dark) {")
    dark = re.findall(r"--c([0-9a-f]{6}): #[0-9a-f]{6};", style)
    used = set()
    for element in root.iter():
        assert not {"fill", "stroke"} & set(element.attrib)
        for color in re.findall("(?:fill|stroke): ([^;]+)", element.get("style", "")):
            variable = re.fullmatch(r"var\(--c(\w+), #\1\)", color)
            if variable:
                used.add(variable[1])
            else:
                assert re.fullmatch(r"none|currentColor|url\(#.*\)", color)
    assert sorted(used) == dark
    # White is in front only: of a legend in a corner, of hollow points, between bars.
    width, height = map(float, root.get("viewBox").split()[2:])
    assert 300 < width < 350
    for element in root.iter():
        corners = re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", element.get("d", ""))
        if "ffffff" in element.get("style", "").partition("stroke")[0] and corners:
            x, y = np.array(corners, float).T
            assert np.ptp(x) < width / 2
            assert np.ptp(y) < height / 4
    # The ids are exactly those that are referred to.
    names = {element.get("id") for element in root.iter()} - {None}
    assert names == set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))


@pytest.mark.thorough
def test_pictures_are_the_same_every_time(reports, tmp_path):
    before = page_of(reports["regressions"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(reports["regressions"].parent)
        # The style of the user does not matter.
        patch.setitem(matplotlib.rcParams, "font.size", 30)
        patch.setitem(matplotlib.rcParams, "text.color", "red")
        arguments = ["narrow.npz", "--compare", "right.npz", "--out", str(tmp_path)]
        assert main(["report", *arguments]) == 0
        assert matplotlib.rcParams["font.size"] == 30
        models = map(report.read_predictions, ("narrow.npz", "right.npz"))
        figures = report.draw(next(models), other=next(models))
    assert page_of(tmp_path) == before
    # Saving the other files does not change the pictures.
    assert [*map(_svg.svg, figures.values())] == svgs_of(tmp_path)
    names = re.findall(r'id="(p\w+)-0"', before)
    assert len(names) == len(set(names)) == 3


def test_both_models_are_in_every_picture(reports):
    for kind, sources in (
        ("ensembles", ("members.npz", f"fewer_ww...{5 * 'w'}.npz")),
        ("regressions", ("narrow.npz", "right.npz")),
    ):
        for svg in svgs_of(reports[kind]):
            texts = " ".join(re.findall("<text[^>]*>([^<]*)", svg))
            assert all(source in texts for source in sources)


def picture_of(draw):
    figure = matplotlib.figure.Figure(figsize=(4.5, 4))
    ax = figure.subplots()
    draw(ax)
    return figure, _svg.svg(figure)


def test_marks_show_their_tips():
    def draw(ax):
        bars = ax.bar([0, 1], [1, 2])
        for bar, name in zip(bars, ("<a>", "b"), strict=True):
            _series.set_tips(bar, rf"{name} & \$1")
        _series.set_tips(*ax.plot([0, 0.5, 1], [0, 1, 2], marker="o"), "x", "y", "z")
        _series.set_tips(*ax.plot([0, 1], [1, 0]), "line")
        many = np.linspace(0.1, 0.9, 20)
        _series.set_tips(ax.scatter(many, many), *map(str, range(20)))

    figure, svg = picture_of(draw)
    root = ElementTree.fromstring(svg)
    parents = {child: parent for parent in root.iter() for child in parent}
    tips = [
        (it.text, parents[it].tag.rpartition("}")[2])
        for it in root.iter()
        if it.tag.endswith("}title")
    ]
    points = {(str(k), "use") for k in range(20)}
    assert points < set(tips)
    assert sorted(set(tips) - points) == [
        ("<a> & $1", "g"),
        ("b & $1", "g"),
        ("line", "g"),
        *((name, "use") for name in "xyz"),
    ]
    # The figure is as it was.
    assert {artist.get_gid() for artist in figure.findobj()} == {None}
    assert _svg.svg(figure) == svg


def test_very_many_marks_are_one_image():
    def draw(ax):
        for k in range(5):
            ax.plot(np.arange(9000), np.sin(k * np.arange(9000)), ",")

    figure, svg = picture_of(draw)
    assert svg.count("<image") == 1
    assert "filter: invert(1)" in svg
    assert "<text" in svg
    assert len(svg) < 500_000
    assert {line.get_rasterized() for line in figure.axes[0].lines} == {False}


def test_more_marks_than_anyone_points_at_are_one_image():
    def draw(ax):
        marks = ax.plot(np.arange(many), np.arange(many), "o")
        _series.set_tips(*marks, *map(str, range(many)))

    for many, images in ((400, 0), (401, 1)):
        _, svg = picture_of(draw)
        assert svg.count("<image") == images
        assert svg.count("<title") == (0 if images else many)


def contrast(first, second):
    """The contrast of two colours by the web's rules for accessibility."""
    rgb = np.array([matplotlib.colors.to_rgb(color) for color in (first, second)])
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    low, high = np.sort(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


def test_colors_on_dark_paper():
    paper = re.search(r"dark\) \{.*?--paper: (#\w+)", _html._STYLE, re.DOTALL)[1]
    for color in (*_series._COLORS, "#4477aa", "#cc3311", "#4682b4", "#4c4c4c"):
        dark = _svg._dark(color)
        assert contrast(dark, paper) > 3
        # The hue is the same, as far as a screen can show it.
        hues = matplotlib.colors.rgb_to_hsv(
            [matplotlib.colors.to_rgb(it) for it in (color, dark)]
        )
        if color != "#4c4c4c":
            assert abs((hues[0, 0] - hues[1, 0] + 0.5) % 1 - 0.5) < 0.1
    assert contrast(_svg._dark("#ffffff"), paper) < 1.1
    assert contrast(_svg._dark(_series.BAND_FILL), paper) < 1.6


def leaves(found):
    """Yields verdicts, notes and values of a report that the page shows, each with the
    number of decimals of an interval in the same place: two digits of its error.
    """
    decimals = 4
    width = (found.get("high") or 0) - (found.get("low") or 0)
    if "estimate" in found and 4e-6 <= width < np.inf:
        decimals = min(max(1 - int(np.floor(np.log10(width / 4))), 0), 6)
    for name, value in found.items():
        if isinstance(value, dict) and name not in ("other", "options"):
            yield from leaves(value)
        elif name in ("verdict", "quality", "value", "meaning", "low", "high", "notes"):
            yield name, value, decimals


@pytest.mark.parametrize("kind", KINDS)
def test_page_shows_the_whole_report(reports, kind):
    text = Page(page_of(reports[kind])).text
    found = numbers_of(reports[kind])
    several = list(leaves(found))
    assert len(several) > 20
    for name, value, decimals in several:
        if isinstance(value, str):
            assert value.replace("`", "") in text  # A name between them is code.
        elif name == "notes":
            assert all(f"Note: {note}".replace("`", "") in text for note in value)
        elif value is not None and (abs(value) >= 0.001 or value == 0):
            # Outside of tables of intervals these have four decimals, too.
            assert f"{value:.4f}" in text or f"{value:.{decimals}f}" in text
    assert found["source"] in text
    assert found["version"] in text


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("kind", KINDS)
def test_two_models_are_compared(reports, kind):
    titles = re.findall(r"<h2 id=[^>]*>([^<]*)</h2>", page_of(reports[kind]))
    assert len(titles) > 5
    assert ("Comparison of two models" in titles) == kind.endswith("s")


def test_names_are_escaped(reports):
    text = page_of(reports["odd"])
    assert html.escape(ODD) in text
    assert ODD not in text
    assert "Left out, because the names are not known: &lt;i&gt;." in text
    assert not {"b", "i"} & set(Page(text).tags)


def test_names_between_backticks_are_code(tmp_path, undrawn):
    rng = np.random.default_rng(0)
    grades, confidences = rng.random(60).round(1), rng.random(60)
    report.report(correct=grades, confidences=confidences).save(tmp_path)
    text = page_of(tmp_path)
    assert "Note: <code>correct</code> is read as the grade of each answer" in text
    assert "`" not in text


def test_the_parser_finds_wrong_tags():
    for wrong in ("<p><b></p>", "<div>", "</p>"):
        with pytest.raises((AssertionError, IndexError)):
            Page(wrong)


# In a browser.


def browse(directory, *arguments):
    """Runs the browser; returns what it writes."""
    run = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            f"--user-data-dir={directory / 'profile'}",
            *map(str, arguments),
        ],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0
    return run.stdout.decode(), run.stderr.decode()


_MEASURE = """
<pre id="found"></pre>
<script>
onload = () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement;
    found[frame.id] = {
      overflow: root.scrollWidth - root.clientWidth,
      wide: [...page.querySelectorAll("p, h1, h2, dd, dt, li, svg, figcaption")]
        .filter(e => e.getBoundingClientRect().right > root.clientWidth + 1)
        .map(e => e.outerHTML.slice(0, 80)),
      images: [...page.images].map(i => i.naturalWidth),
      pictures: [...page.querySelectorAll("svg")]
        .map(e => e.getBoundingClientRect().width),
      letters: [...page.querySelectorAll("text")].map(e =>
        Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b)
        * parseFloat(getComputedStyle(e).fontSize)),
      clipped: [...page.querySelectorAll("text")].filter(e => {
        const text = e.getBoundingClientRect();
        const picture = e.ownerSVGElement.getBoundingClientRect();
        return text.left < picture.left - 1 || text.right > picture.right + 1
          || text.top < picture.top - 1 || text.bottom > picture.bottom + 1;
      }).map(e => e.textContent),
      requests: frame.contentWindow.performance.getEntriesByType("resource")
        .map(entry => entry.name).filter(name => !name.startsWith("data:")),
      height: root.scrollHeight,
    };
  }
  document.getElementById("found").textContent = JSON.stringify(found);
};
</script>
"""


@pytest.fixture(scope="module")
def measured(reports, tmp_path_factory):
    """Returns what a browser measures on pages, by kind and width, and its messages."""
    if BROWSER is None:
        pytest.skip("needs Chromium")
    directory = tmp_path_factory.mktemp("browser")
    pages = {kind: page_of(reports[kind]) for kind in KINDS}
    wrong = '<p style="width: 2000px"><img src="http://127.0.0.1:9/x.png" alt=""></p>'
    pages["wrong"] = pages["classifier"].replace("</main>", f"{wrong}</main>")
    frames = [
        f'<iframe id="{kind} {width}" width="{width}" height="800" '
        f'srcdoc="{html.escape(page)}"></iframe>'
        for kind, page in pages.items()
        for width in (360, 1200)
    ]
    file = directory / "frames.html"
    file.write_text("<!DOCTYPE html>" + "".join(frames) + _MEASURE, "utf-8")
    out, messages = browse(directory, "--dump-dom", file.as_uri())
    found = re.search(r'<pre id="found">(.*?)</pre>', out, re.DOTALL)[1]
    return json.loads(html.unescape(found)), messages


@pytest.mark.thorough
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_browser(measured, kind, width):
    found = measured[0][f"{kind} {width}"]
    assert found["overflow"] == 0
    assert found["wide"] == []
    assert found["requests"] == []
    assert len(found["pictures"]) == len(PICTURES[kind])
    assert min(found["pictures"]) > (300 if width == 360 else 450)
    assert min(found["letters"]) > (9.5 if width == 360 else 14)
    assert found["clipped"] == []
    assert 1000 < found["height"] < 15_000


def test_console_is_empty_except_for_a_wrong_page(measured):
    found, messages = measured
    console = [line for line in messages.splitlines() if "CONSOLE" in line]
    # The request of the wrong page, in both widths, is refused by the page itself.
    assert len(console) == 2
    assert all("127.0.0.1:9/x.png" in line for line in console)
    assert found["wrong 360"]["overflow"] > 300
    assert found["wrong 360"]["wide"] != []
    assert found["wrong 360"]["images"] == [0]


@pytest.mark.thorough
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("kind", ["classifier", "regressions"])
@pytest.mark.first(1)
def test_print(reports, kind, tmp_path):
    pdf = tmp_path / "report.pdf"
    browse(
        tmp_path,
        "--no-pdf-header-footer",
        f"--print-to-pdf={pdf}",
        (reports[kind] / "report.html").as_uri(),
    )
    pages = re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())
    assert 2 <= len(pages) <= 7
