"""A few random cases of each kind; `python -m tests.fuzz` runs more."""

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.fuzz import functions
from tests.fuzz.kinds import KINDS
from tests.fuzz.mutations import build
from tests.fuzz.outcomes import TARGETS

# Every second name, and of costly kinds every fourth.
NAMES = [
    (kind, name)
    for kind, (names, _, every) in KINDS.items()
    for name in list(names)[:: 4 if every > 1 else 2]
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_random_cases_have_a_documented_outcome(kind, name, request):
    seed = request.config.getoption("--seed") * 10**6
    problem = KINDS[kind].check(name, seed)
    assert problem is None, f"python -m tests.fuzz --case {kind}/{name}:{seed}"


def test_random_cases_have_good_and_bad_outcomes():
    """Neither good nor bad arguments are rare."""
    target = TARGETS["expected_calibration_error"]
    errors = [
        functions.outcome(target, build(target, seed)[0]).error for seed in range(60)
    ]
    raised = sum(error is not None for error in errors)
    assert 10 < raised < 50


def test_a_defect_is_found(monkeypatch):
    def wrong(**arguments):
        raise IndexError("out of range")

    monkeypatch.setattr(functions.um, "brier_score", wrong)
    problems = [functions.check("brier_score", seed) for seed in range(10)]
    assert any("IndexError" in problem for problem in problems if problem)


def test_masked_entries_are_refused():
    probabilities = np.ma.masked_array([0.2, 0.7, 0.9], [False, True, False])
    for room in (um, um_np):
        with pytest.raises(ValueError, match="without masked entries"):
            room.ece([0, 1, 1], probabilities)
        unmasked = np.ma.masked_array(probabilities.data)
        assert float(room.ece([0, 1, 1], unmasked)) == pytest.approx(0.6 / 3)
