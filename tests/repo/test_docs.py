"""The documentation builds without a warning, with every public name, and offline."""

import ast
import html.parser
import os
import pathlib
import re
import subprocess
import sys

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

ROOT = pathlib.Path(__file__).parents[2]

pytest.importorskip("mkdocs", reason="needs the extra `docs`")

# What a browser loads by itself, and the attribute that says from where.
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src"}


class Page(html.parser.HTMLParser):
    """What is in a page.

    Attributes:
      ids: names of the places in it.
      loaded: addresses that a browser loads with it.
      text: its text, without that of code.
      formulas: number of formulas on lines of their own, and within lines.
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
    """Returns all public names, from their package on."""
    beam = ast.parse((ROOT / "uncertainty_metrics" / "beam.py").read_text())
    (of_beam,) = (
        ast.literal_eval(node.value)
        for node in beam.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    names = {f"uncertainty_metrics.beam.{name}" for name in of_beam}
    for package in (um, um_np, um.regression, um_np.regression):
        names |= {f"{package.__name__}.{name}" for name in package.__all__}
    return names


def test_every_public_name_has_a_place(pages):
    reference = {path: page for path, page in pages.items() if "reference" in path}
    places = set().union(*(page.ids for page in reference.values()))
    assert public_names() <= places


def test_names_of_the_package_alone_have_a_place(pages):
    places = set().union(*(page.ids for page in pages.values()))
    ours = {
        place
        for place in places - {None}
        if re.fullmatch(r"uncertainty_metrics\.((numpy|regression|beam)\.)*\w+", place)
    }
    assert ours - {"uncertainty_metrics.beam"} <= public_names()


def test_docstrings_are_on_the_pages(site):
    folder = site / "reference" / "uncertainty_metrics"
    text = re.sub(r"<[^>]+>", "", (folder / "calibration_errors.html").read_text())
    for part in ("Raises:", "sample_weight", "Nixon et al.", "&gt;&gt;&gt; import"):
        assert part in text
    losses = (folder / "keras_losses.html").read_text()
    formula = "NLL = log(scale) + ((y - mean) / scale)^2 / 2 + log(2 pi) / 2"
    assert f"<code>{formula}\n</code></pre>" in losses


def test_nothing_is_loaded_from_the_network(site, pages):
    for path, page in pages.items():
        for address in page.loaded:
            assert not address.startswith(("http:", "https:", "//")), (path, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text())


def test_front_page_is_the_readme(pages):
    readme, page = (ROOT / "README.md").read_text(), pages["index.html"]
    prose = re.sub(r"```.*?```", "", readme, flags=re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE):
        assert heading.strip() in page.text
    assert page.formulas["block"] == readme.count("```math")
    inline = re.findall(r"\$[^$]+\$", re.sub(r"`[^`]*`", "", prose))
    assert page.formulas["inline"] == len(inline)
    assert not re.search(r"[$\\]", page.text)


def test_repository_has_one_address():
    script = (ROOT / "scripts" / "run_colabs.py").read_text()
    (address,) = re.findall(r'^REPOSITORY = "(.+)"$', script, re.MULTILINE)
    assert f"repository: {address}\n" in (ROOT / "mkdocs.yml").read_text()


def test_formulas_of_docstrings_are_preformatted():
    from scripts import docs_docstrings

    text = "The mean:\n\n  sum / n\n    of n\n\nArgs:\n  n: a number.\n\n  more"
    assert docs_docstrings.preformatted(text) == (
        "The mean:\n\n    sum / n\n      of n\n\nArgs:\n  n: a number.\n\n  more"
    )
