"""Interrupted changes of a state on JAX and PyTorch are all or nothing."""

import pytest

from tests.backends.conftest import BACKEND
from tests.keras.test_interrupted import (
    test_interrupted_changes_of_the_state_are_all_or_nothing,  # noqa: F401
    test_interrupted_first_update_makes_all_or_nothing,  # noqa: F401
)

# JAX compiles the calls of these tests, which takes half a minute.
pytestmark = [pytest.mark.exhaustive] if BACKEND == "jax" else []


@pytest.fixture(autouse=True)
def gradients():
    """Enables gradients, which an interrupted `with` may have left disabled."""
    yield
    if BACKEND == "torch":
        import torch

        torch.set_grad_enabled(True)
