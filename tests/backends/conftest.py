"""These tests need another backend of Keras: KERAS_BACKEND=jax or torch."""

import os

import pytest

from uncertainty_metrics.ops import _inputs

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Switches off the shortcut of eager calls through NumPy, so that the tests compare
    the arithmetic of tensors with NumPy.
    """
    monkeypatch.setattr(_inputs, "SHORTCUT", False)
