"""What the tests of files share."""

import pytest


@pytest.fixture
def own_directory(tmp_path, monkeypatch):
    """Works in an empty directory."""
    monkeypatch.chdir(tmp_path)
