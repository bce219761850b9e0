"""These tests need another backend of Keras: KERAS_BACKEND=jax or torch."""

import os
import pathlib
import re

import pytest

from uncertainty_metrics.ops import _inputs

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Switches off the shortcut of eager calls through NumPy, so that the tests compare
    the arithmetic of tensors with NumPy.
    """
    monkeypatch.setattr(_inputs, "SHORTCUT", False)


def page(name):
    """Returns the code of a page of the guide, and what it prints there."""
    path = pathlib.Path(__file__).parents[2] / "docs" / "guide" / f"{name}.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", path.read_text(), re.DOTALL)
    return tuple(
        "".join(text for kind, text in blocks if kind == wanted)
        for wanted in ("python", "text")
    )
