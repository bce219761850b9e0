"""The page `report.html` of the calibration report."""

import base64
import collections
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report import _document, _html

VOID = {"meta", "img", "wbr"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
KINDS = ("classifier", "ensembles", "regressions", "odd")
CLASSIFIER = [
    "reliability_diagram",
    "posteriors",
    "mended_reliability_diagram",
    "risk_coverage_diagram",
]
PICTURES = {
    "classifier": CLASSIFIER,
    "ensembles": [*CLASSIFIER, "ensemble_calibration_diagram"],
    "regressions": ["reliability_diagram", "pit_histogram", "uncertainty_vs_error"],
    "odd": CLASSIFIER,
}
# A name that would be markup, and that no screen is wide enough for.
ODD = f"<b onload='x'>&amp;\"{150 * 'w'}.npz"


def make_files():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(80, 1, 3)) + rng.normal(size=(80, 4, 3))
    labels = (logits.mean(axis=1) + rng.gumbel(size=(80, 3))).argmax(axis=-1)
    np.savez("members.npz", labels=labels, logits=logits)
    np.savez("fewer.npz", labels=labels, logits=logits[:, :2])
    np.savez(ODD, labels=labels, logits=logits[:, 0], **{"<i>": labels})
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
            "ensembles": ["members.npz", "--compare", "fewer.npz"],
            "regressions": ["narrow.npz", "--compare", "right.npz"],
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
        if not {"style", "title"} & set(self.open):
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
    assert len(ids) == len(set(ids)) == len(page.tags["h2"]) > 5
    assert [link["href"] for link in page.tags["a"]] == [f"#{name}" for name in ids]
    assert [section["aria-labelledby"] for section in page.tags["section"]] == ids
    assert len(page.tags["caption"]) == len(page.tags["table"]) > 3
    assert all(cell["scope"] in ("row", "col") for cell in page.tags["th"])
    rows = [row for row in page.tags["tr"] if "tbody" in row["inside"]]
    assert len(rows) == sum(cell["scope"] == "row" for cell in page.tags["th"])
    assert len(page.tags["figcaption"]) == len(page.tags["figure"])


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_runs(reports, kind):
    text = page_of(reports[kind])
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "form"} & set(page.tags)
    for tag in (tag for tags in page.tags.values() for tag in tags):
        assert not [name for name in tag if name.startswith("on")]
        assert tag.get("src", "data:image/png;base64,").startswith("data:image/png")
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"url\(|@import|https?:", style)
    assert "default-src 'none'" in text
    for rule in ("prefers-color-scheme: dark", "@media print", "break-inside: avoid"):
        assert rule in style


@pytest.mark.parametrize("kind", KINDS)
def test_pictures(reports, kind):
    images = Page(page_of(reports[kind])).tags["img"]
    files = [reports[kind] / f"{name}.png" for name in PICTURES[kind]]
    assert len(list(reports[kind].glob("*.png"))) == len(files)
    for image, file in zip(images, files, strict=True):
        png = base64.b64decode(image["src"].partition(",")[2], validate=True)
        assert png == file.read_bytes()
        assert image["inside"][-1] == "figure"
        assert len(image["alt"]) > 40
        width, height = (int.from_bytes(png[i : i + 4], "big") for i in (16, 20))
        ratio = int(image["width"]) / int(image["height"])
        assert ratio == pytest.approx(width / height, rel=0.01)


def leaves(found, key=""):
    """The verdicts, notes and values of a report, but not what a file alone holds."""
    for name, value in found.items():
        if isinstance(value, dict) and name not in ("other", "options"):
            yield from leaves(value, name)
        elif name in ("verdict", "quality", "value", "meaning", "low", "high", "notes"):
            yield key, name, value


@pytest.mark.parametrize("kind", KINDS)
def test_page_tells_all_of_the_report(reports, kind):
    text = Page(page_of(reports[kind])).text
    found = numbers_of(reports[kind])
    several = list(leaves(found))
    assert len(several) > 20
    for _, name, value in several:
        if isinstance(value, str):
            assert value in text
        elif name == "notes":
            assert all(f"Note: {note}" in text for note in value)
        elif value is not None and (abs(value) >= 0.001 or value == 0):
            assert f"{value:.4f}" in text
    assert found["source"] in text
    assert found["version"] in text


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_made_of_the_numbers_alone(reports, kind):
    directory = reports[kind]
    pictures = {file.name: file.read_bytes() for file in directory.glob("*.png")}
    assert _html.page(numbers_of(directory), pictures) == page_of(directory)
    titles = [section.title for section in _document.sections(numbers_of(directory))]
    assert ("Comparison of two models" in titles) == kind.endswith("s")


def test_names_are_text(reports):
    text = page_of(reports["odd"])
    assert html.escape(ODD) in text
    assert ODD not in text
    assert "Left out, as their names mean nothing here: &lt;i&gt;." in text
    assert not {"b", "i"} & set(Page(text).tags)


def test_the_parser_of_these_tests_finds_what_is_wrong():
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
      wide: [...page.querySelectorAll("p, h1, h2, dd, dt, li, img, figcaption")]
        .filter(e => e.getBoundingClientRect().right > root.clientWidth + 1)
        .map(e => e.outerHTML.slice(0, 80)),
      images: [...page.images].map(i => i.naturalWidth),
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
    """What a browser finds on the pages, by kind and width, and its messages."""
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


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_browser(measured, kind, width):
    found = measured[0][f"{kind} {width}"]
    assert found["overflow"] == 0
    assert found["wide"] == []
    assert found["requests"] == []
    assert len(found["images"]) == len(PICTURES[kind])
    assert min(found["images"]) > 400
    assert 1000 < found["height"] < 15_000


def test_console_is_quiet_but_for_a_page_that_is_wrong(measured):
    found, messages = measured
    console = [line for line in messages.splitlines() if "CONSOLE" in line]
    # The request of the wrong page, in both widths, is refused by the page itself.
    assert len(console) == 2
    assert all("127.0.0.1:9/x.png" in line for line in console)
    assert found["wrong 360"]["overflow"] > 300
    assert found["wrong 360"]["wide"] != []
    assert 0 in found["wrong 360"]["images"]


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
    assert 2 <= len(pages) <= 8
