"""A fixture of the tests of the report."""

import pytest


@pytest.fixture
def own_directory(tmp_path, monkeypatch):
    """Runs a test in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)
