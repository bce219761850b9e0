"""An interrupt leaves a state of JAX or PyTorch as it was, or as it will be."""

import pytest

from tests.backends.conftest import BACKEND
from tests.keras.test_interrupted import (
    test_interrupted_changes_of_the_state_are_all_or_nothing,  # noqa: F401
    test_interrupted_first_update_makes_all_or_nothing,  # noqa: F401
)

# JAX compiles what they call: half a minute.
pytestmark = [pytest.mark.exhaustive] if BACKEND == "jax" else []


@pytest.fixture(autouse=True)
def gradients():
    """Python leaves a `with` open where an interrupt comes right before its end."""
    yield
    if BACKEND == "torch":
        import torch

        torch.set_grad_enabled(True)
