"""The pictures of the report have one table, and all lists agree with it."""

import pathlib
import re

import pytest

import uncertainty_metrics
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.page._picture_list import PICTURES

PACKAGE = pathlib.Path(uncertainty_metrics.__file__).parent
GUIDE = PACKAGE.parent / "docs" / "report.md"
EVERY = [(task, picture) for task, pictures in PICTURES.items() for picture in pictures]
every_picture = pytest.mark.parametrize(
    ("task", "picture"),
    EVERY,
    ids=[f"{task}-{picture.file}" for task, picture in EVERY],
)


def test_no_other_module_names_a_file():
    naming = {
        path.name for path in PACKAGE.rglob("*.py") if ".png" in path.read_text("utf-8")
    }
    assert naming == {"_picture_list.py"}


def test_the_files_of_a_task_have_different_names():
    for pictures in PICTURES.values():
        files = [picture.file for picture in pictures]
        assert len(set(files)) == len(files)


def test_the_guide_lists_the_pictures():
    section = GUIDE.read_text("utf-8").partition("\n## The files\n")[2]
    listed = re.findall(r"^\| (\w+) \| `(\S+)` \| (.*) \|$", section, re.MULTILINE)
    expected = [(task, picture.file, picture.shows) for task, picture in EVERY]
    assert listed == expected, (
        "write these rows into docs/report.md, or into _report/page/_picture_list.py"
    )


@every_picture
def test_the_help_lists_the_picture(task, picture, capsys):
    assert main(["report", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    of_task = words.partition("for a classifier ")[2]
    of_classifier, _, rest = of_task.partition(" for answers ")
    of_answers, _, rest = rest.partition(" for a regression ")
    of_regression, _, of_survival = rest.partition(" or for a survival model ")
    text = {
        "classification": of_classifier,
        "confidences": of_answers,
        "regression": of_regression,
        "survival": of_survival,
    }[task]
    assert f"{picture.file} {picture.shows}" in text
