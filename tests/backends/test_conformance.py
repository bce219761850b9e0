"""The vectors of `conformance/` on the tensors of JAX and PyTorch."""

import pytest

from tests.backends.conftest import BACKEND
from tests.tensors.test_conformance import (
    test_functions_have_the_values_of_the_vectors,  # noqa: F401
)

# JAX compiles each operation for each shape, which takes a minute.
pytestmark = [pytest.mark.exhaustive] if BACKEND == "jax" else []
