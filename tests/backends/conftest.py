"""These tests need another backend of Keras: KERAS_BACKEND=jax or torch."""

import os

import pytest

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")


def pytest_collection_modifyitems(items):
    for item in items:
        if "backends" in item.path.parts and BACKEND == "tensorflow":
            item.add_marker(pytest.mark.skip(reason="needs KERAS_BACKEND=jax or torch"))
