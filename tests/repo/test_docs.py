"""The documentation builds without a warning, with all names and pictures, offline."""

import ast
import html
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

ROOT = pathlib.Path(__file__).parents[2]

pytestmark = pytest.mark.exhaustive  # `.ci/run` runs it beside other steps.
pytest.importorskip("mkdocs", reason="needs the extra `docs`")
from scripts import docs_docstrings, docs_gallery, docs_hooks  # noqa: E402
from tests.repo.test_public_names import other_words  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
# Tags of what a browser loads by itself, and the attribute with the address.
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src"}


class Page(html.parser.HTMLParser):
    """The contents of a page.

    Attributes:
      ids: names of places in the page.
      loaded: addresses that a browser loads with the page.
      text: text of the page, without code.
      formulas: numbers of formulas on lines of their own, and within lines.
    """

    def __init__(self, text):
        super().__init__()
        self.ids, self.loaded, self.text = set(), [], ""
        self.formulas = {"block": 0, "inline": 0}
        self._code = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        self.loaded.append(attrs.get(LOADED.get(tag)) or "")
        self._code += tag in ("code", "script", "style")
        if tag == "math":
            self.formulas[attrs["display"]] += 1

    def handle_endtag(self, tag):
        self._code -= tag in ("code", "script", "style")

    def handle_data(self, data):
        if not self._code:
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING -" not in run.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {
        str(path.relative_to(site)): Page(path.read_text())
        for path in site.rglob("*.html")
    }


def public_names():
    """Returns all public names, each with its package."""
    names = set()
    for engine in docs_hooks.ENGINES:
        path = ROOT / f"{engine.replace('.', '/')}.py"
        module = ast.parse(path.read_text())
        (public,) = (
            ast.literal_eval(node.value)
            for node in module.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        )
        names |= {f"{engine}.{name}" for name in public}
    for package in catalogue.modules(um, um_np):
        # The module of data is on the page of the guide, not in the reference.
        public = set(package.__all__) - {"datasets"}
        names |= {f"{package.__name__}.{name}" for name in public}
    return names


def test_public_names_and_no_others_have_a_place(pages):
    rooms = "numpy|conformal|detection|regression|beam|ray|sklearn|spark|inspect|mlflow"
    name = re.compile(rf"uncertainty_metrics\.(({rooms})\.)*\w+")
    places = set().union(*(page.ids for page in pages.values())) - {None}
    ours = set(filter(name.fullmatch, places))
    assert ours - set(docs_hooks.ENGINES) == public_names()


def test_docstrings_are_on_the_pages(site):
    folder = site / "reference" / "uncertainty_metrics"
    text = re.sub(r"<[^>]+>", "", (folder / "calibration_errors.html").read_text())
    for part in ("Raises:", "sample_weight", "Nixon et al.", "&gt;&gt;&gt; import"):
        assert part in text
    losses = (folder / "keras_losses.html").read_text()
    formula = "NLL = log(scale) + ((y - mean) / scale)^2 / 2 + log(2 pi) / 2"
    assert f"<code>{formula}\n</code></pre>" in losses


def test_functions_have_one_signature_with_values_and_a_docstring(site):
    for half in ("uncertainty_metrics", "uncertainty_metrics.numpy"):
        folder = site / "reference" / half
        for path in folder.glob("*.html"):
            text = html.unescape(re.sub(r"<[^>]+>", "", path.read_text()))
            assert "DEFAULT_" not in text, path
        text = re.sub(r"<[^>]+>", "", (folder / "calibration_errors.html").read_text())
        # A `ScoreSketch` on this page has a method of this name, without labels.
        one = re.findall(r"^expected_calibration_error\(\n +labels", text, re.MULTILINE)
        assert len(one) == 1
        assert "num_bins: int = 15" in text
        assert "Even bins of the probability of the decided class" in text


def test_nothing_is_loaded_from_the_network(site, pages):
    for path, page in pages.items():
        for address in page.loaded:
            assert not address.startswith(("http:", "https:", "//")), (path, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text())


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_search_works_from_the_disk(site, tmp_path):
    run = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *(f"--user-data-dir={tmp_path}", "--virtual-time-budget=10000"),
            f"file://{site}/index.html?q=brier",
        ],
        capture_output=True,
        text=True,
    )
    assert re.search(r"md-search-result__meta\">\d+ matching", run.stdout)


def test_search_finds_other_words_for_the_names(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    texts = [
        html.unescape(entry["text"]).lower()
        for entry in index["docs"]
        if entry["location"].startswith("names.html")
    ]
    for word in other_words():
        plain = word.strip("`").lower()
        assert any(plain in text for text in texts), word


def test_pages_show_headings_and_formulas(pages):
    docs = ROOT / "docs"
    files = {str(path.relative_to(docs)): path for path in docs.rglob("*.md")}
    files |= {name: ROOT / file for name, file in docs_hooks.BESIDE.items()}
    for name, path in files.items():
        page, text = pages[f"{name[:-3]}.html"], path.read_text()
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        plain = re.sub(r"`[^`]*`", "", prose)
        for heading in re.findall(r"^#+ (.+)$", plain, re.MULTILINE):
            assert heading.strip() in page.text
        assert page.formulas["block"] == text.count("```math")
        assert page.formulas["inline"] == len(re.findall(r"\$[^$]+\$", plain))
        assert not re.search(r"[$\\]", page.text)


def test_pictures_are_drawn_by_the_code_above_them(site, pages):
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = [x for x in pages["gallery.html"].loaded if x.startswith("pictures/")]
    text = (ROOT / "docs" / "gallery.md").read_text()
    assert len(set(shown)) == len(shown) == text.count("```python")
    widths = r'src="(pictures/[^"]+)" style="--width: ([0-9]+)px"'
    of_style = re.findall(widths, (site / "gallery.html").read_text())
    assert [path for path, _ in of_style] == shown
    for path, width in of_style:
        assert plt.imread(site / path).shape[1] == int(width)
    kept = f"docs/{docs_gallery.KEPT}"
    assert kept in (ROOT / "README.md").read_text()
    # Other versions of Matplotlib and of fonts draw other pixels.
    now, then = plt.imread(site / docs_gallery.KEPT), plt.imread(ROOT / kept)
    assert np.abs(now - then).mean() < 0.02, "run `python scripts/docs_gallery.py`"


def test_examples_come_before_arguments():
    text = "Mean.\n\nArgs:\n  n: one.\n\nRaises:\n  None.\n\nExample:\n  >>> 1\n  1"
    assert docs_docstrings.example_first(text) == (
        "Mean.\n\nExamples:\n  >>> 1\n  1\n\nArgs:\n  n: one.\n\nRaises:\n  None."
    )


def test_places_of_the_conventions_are_links():
    assert docs_docstrings.with_links("groups: text (conventions.md#groups).") == (
        "groups: text ([conventions](../../conventions.md#groups))."
    )


def test_formulas_of_docstrings_are_preformatted():
    text = "The mean:\n\n  sum / n\n    of n\n\nArgs:\n  n: a number.\n\n  more"
    assert docs_docstrings.preformatted(text) == (
        "The mean:\n\n    sum / n\n      of n\n\nArgs:\n  n: a number.\n\n  more"
    )
