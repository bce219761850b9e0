"""Random cases; `KERAS_BACKEND=torch python -m tests.fuzz` runs more."""

import pytest

from tests.backends.conftest import BACKEND
from tests.fuzz.kinds import KINDS

# JAX compiles each case, so it has fewer kinds.
CHOSEN = ("functions", "groups", "updates")
if BACKEND == "torch":
    CHOSEN += ("losses", "penalties", "logits", "states", "confusion")
NAMES = [
    (kind, name)
    for kind in CHOSEN
    for name in list(KINDS[kind].names)[:: 15 if BACKEND == "torch" else 60]
]


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_random_cases_have_a_documented_outcome(kind, name, request):
    seed = request.config.getoption("--seed") * 10**6
    problem = KINDS[kind].check(name, seed)
    assert problem is None, f"python -m tests.fuzz --case {kind}/{name}:{seed}"
