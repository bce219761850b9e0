"""Here tensors are compared with NumPy, so they must not ask it."""

import pytest

from uncertainty_metrics.ops import _inputs


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Eager calls take no shortcut through NumPy, but in the test that says so."""
    monkeypatch.setattr(_inputs, "SHORTCUT", False)
