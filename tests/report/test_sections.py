"""Each section of the report is in the list, and the pictures of all are listed."""

import importlib
import pathlib
import pkgutil
import re

import numpy as np
import pytest

import uncertainty_metrics
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report import sections
from uncertainty_metrics._report.data._predictions import (
    TASKS,
    Confidences,
    MultiLabel,
    Predictions,
    QuantileForecasts,
    Regression,
    Survival,
    task_of,
)
from uncertainty_metrics._report.sections._blocks import Picture
from uncertainty_metrics._report.sections._build import build
from uncertainty_metrics._report.sections._list import SECTIONS, pictures_of
from uncertainty_metrics._report.sections._model_report import Section

PACKAGE = pathlib.Path(uncertainty_metrics.__file__).parent
GUIDE = PACKAGE.parent / "docs" / "report.md"
EVERY = [(task, picture) for task in TASKS for picture in pictures_of(task)]
every_picture = pytest.mark.parametrize(
    ("task", "picture"),
    EVERY,
    ids=[f"{task}-{picture.file}" for task, picture in EVERY],
)


def test_every_section_is_in_the_list():
    for module in pkgutil.iter_modules(sections.__path__):
        found = importlib.import_module(f"{sections.__name__}.{module.name}")
        for kind in vars(found).values():
            if isinstance(kind, type) and issubclass(kind, Section):
                assert "tasks" not in vars(kind) or kind in SECTIONS, (
                    f"_report/sections/_list.py: write `{kind.__name__},` into SECTIONS"
                )


def test_only_sections_name_the_files_of_pictures():
    naming = {
        path.parent.name
        for path in PACKAGE.rglob("*.py")
        if ".png" in path.read_text("utf-8")
    }
    assert naming == {"sections"}


def test_the_files_of_a_task_have_different_names():
    for task in TASKS:
        files = [picture.file for picture in pictures_of(task)]
        assert len(set(files)) == len(files)


def test_the_guide_lists_the_pictures():
    section = GUIDE.read_text("utf-8").partition("\n## The files\n")[2]
    listed = re.findall(r"^\| (\w+) \| `(\S+)` \| (.*) \|$", section, re.MULTILINE)
    expected = [(task, picture.file, picture.shows) for task, picture in EVERY]
    assert listed == expected, (
        "write these rows into docs/report.md, or into the section of the picture"
    )


def models():
    rng = np.random.default_rng(0)
    labels, p = rng.integers(0, 2, 60), rng.random(60)
    groups = {"half": np.arange(60) % 2}
    yield Predictions("", labels, "probabilities", p, groups=groups, event_class=1)
    ensemble = rng.dirichlet(np.ones(3), (60, 2))
    yield Predictions("", labels, "probabilities", ensemble)
    several = rng.integers(0, 2, (60, 2)), rng.random((60, 2))
    yield MultiLabel("", *several, ("a", "b"))
    yield Confidences("", labels == 1, p, groups=groups)
    yield Confidences("", np.round(p, 1), p, groups=groups, are_graded=True)
    yield Regression("", p, "stddev", p + 1, p + rng.normal(size=60))
    quantiles = p[:, None] + np.array([-1.0, 0.0, 1.0])
    yield QuantileForecasts("", quantiles, (0.2, 0.5, 0.8), rng.normal(size=60))
    yield Survival("", p, labels, rng.random(60), 0.5)


@pytest.mark.parametrize("model", [*models()], ids=task_of)
def test_a_section_shows_its_pictures(model):
    found = build(model)
    for section in found.sections:
        shown = {b.name for b in section.blocks(found) if isinstance(b, Picture)}
        for picture in section.pictures:
            if picture.is_drawn([model], 15):
                where = f"{type(section).__module__}, {type(section).__name__}.blocks"
                assert picture.file in shown, f"{where}: yield {picture.file}"


@every_picture
def test_the_help_lists_the_picture(task, picture, capsys):
    assert main(["report", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    of_task = words.partition("for a classifier ")[2]
    of_classifier, _, rest = of_task.partition(" for several labels of each example ")
    of_labels, _, rest = rest.partition(" for answers ")
    of_answers, _, rest = rest.partition(" for a regression ")
    of_regression, _, rest = rest.partition(" for forecasts by quantiles ")
    of_quantiles, _, of_survival = rest.partition(" or for a survival model ")
    text = {
        "classification": of_classifier,
        "multilabel": of_labels,
        "confidences": of_answers,
        "regression": of_regression,
        "quantiles": of_quantiles,
        "survival": of_survival,
    }[task]
    assert f"{picture.file} {picture.shows}" in text
