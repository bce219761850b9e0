"""These tests compare tensors with NumPy, so tensors must not compute through NumPy."""

import pytest

from uncertainty_metrics.ops import _inputs


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Switches off the shortcut of eager calls through NumPy."""
    monkeypatch.setattr(_inputs, "SHORTCUT", False)
