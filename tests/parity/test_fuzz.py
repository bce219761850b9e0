"""A few random cases of every function and metric; `tests/fuzz.py` runs more."""

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue, fuzz

CASES = 4


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_random_arguments_have_a_documented_outcome(name, request):
    target = fuzz.TARGETS[name]
    first = request.config.getoption("--seed") * 10**6
    for seed in range(first, first + CASES):
        jit_compile = fuzz.is_compiled(target, seed, 200)
        graph = jit_compile or fuzz.is_compiled(target, seed, 12)
        problem = fuzz.check(target, seed, graph, jit_compile)
        assert problem is None, f"python -m tests.fuzz --case {name}:{seed}"


@pytest.mark.parametrize(
    "row", catalogue.METRICS, ids=lambda row: f"{row.metric}-{row.name}"
)
def test_random_updates_add_or_raise(row, request):
    problem = fuzz.check_metric(row, request.config.getoption("--seed"))
    assert problem is None


@pytest.mark.parametrize("name", fuzz.LOSSES)
def test_random_losses_are_those_of_the_metrics(name, request):
    first = request.config.getoption("--seed") * 10**6
    for seed in range(first, first + CASES):
        assert fuzz.check_loss(name, seed) is None


def test_the_outcomes_are_mixed():
    """Good arguments must not be rare, nor bad ones."""
    target = fuzz.TARGETS["expected_calibration_error"]
    errors = [
        fuzz.outcome(target, fuzz.build(target, seed)[0]).error for seed in range(60)
    ]
    raised = sum(error is not None for error in errors)
    assert 10 < raised < 50


def test_a_defect_is_found(monkeypatch):
    target = fuzz.TARGETS["brier_score"]

    def wrong(**arguments):
        raise IndexError("out of range")

    monkeypatch.setattr(fuzz.um, "brier_score", wrong)
    problems = [fuzz.check(target, seed) for seed in range(10)]
    assert any("IndexError" in problem for problem in problems if problem)


def test_masked_entries_are_refused():
    probabilities = np.ma.masked_array([0.2, 0.7, 0.9], [False, True, False])
    for room in (um, um_np):
        with pytest.raises(ValueError, match="without masked entries"):
            room.ece([0, 1, 1], probabilities)
        unmasked = np.ma.masked_array(probabilities.data)
        assert float(room.ece([0, 1, 1], unmasked)) == pytest.approx(0.6 / 3)
