"""Fixtures of the tests of the report."""

import pytest

from uncertainty_metrics._report import calibration_report
from uncertainty_metrics._report.page import _picture_files


@pytest.fixture
def own_directory(tmp_path, monkeypatch):
    """Runs a test in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def undrawn(monkeypatch):
    """Reports without pictures, for tests that read only their numbers and words."""
    monkeypatch.setattr(calibration_report, "draw", lambda *arguments: {})


@pytest.fixture
def drawn_alone(monkeypatch):
    """Returns a function that leaves reports only the pictures of the named files.

    `test_report.py` draws all of them, for one model and for two.
    """
    pictures_of = _picture_files.pictures_of

    def leave(*files):
        def some(task):
            return [picture for picture in pictures_of(task) if picture.file in files]

        monkeypatch.setattr(_picture_files, "pictures_of", some)

    return leave
