"""A case for every function of both halves that has no case in `cases`.

Its data come from the Row of the function in the catalogue of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cases import CASES as NAMED
from harness import EAGER, GRAPH, NUMPY, OURS, Case, Contender

sys.path.append(str(Path(__file__).resolve().parents[1]))

from tests.catalogue import TWINS


def _case(name: str) -> Case:
    return Case(
        f"row-{name.replace('_', '-')}",
        f"{name}: the arguments of its Row",
        tuple(
            Contender(
                OURS,
                f"**{name}; {mode}**",
                "ours.row",
                {"name": name, "mode": mode},
                baseline=mode == NUMPY,
                quantity=None,  # The tests compare the values.
                mode=mode,
            )
            for mode in (NUMPY, EAGER, GRAPH)
        ),
    )


_TIMED = {
    contender.options.get("name", contender.setup.partition(".")[2])
    for case in NAMED
    for contender in case.contenders
    if contender.environment == OURS
} | {"bayesian_expected_calibration_error"}  # `ours.bayesian` times this function.

CASES = tuple(_case(row.name) for row in TWINS if not _TIMED & set(row.names))
