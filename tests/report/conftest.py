"""Fixtures of the tests of the report."""

import pytest

from uncertainty_metrics._report import calibration_report


@pytest.fixture
def own_directory(tmp_path, monkeypatch):
    """Runs a test in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def undrawn(monkeypatch):
    """Reports without pictures, for tests that read only their numbers and words."""
    monkeypatch.setattr(calibration_report, "draw", lambda *arguments: {})
