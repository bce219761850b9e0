"""The vectors of `conformance/` on tensors."""

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from conformance.run import run
from tests import conformance


@pytest.mark.filterwarnings("ignore::UserWarning")  # Warnings of too few data.
@pytest.mark.parametrize("definition", conformance.definitions_of_tensors(um, um_np))
def test_functions_have_the_values_of_the_vectors(definition):
    function = conformance.function(um, definition)
    wrong = {
        case: found for case, right, found in run(definition, function) if not right
    }
    assert not wrong
