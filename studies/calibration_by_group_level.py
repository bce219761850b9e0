"""How often `calibration_by_group` accuses a calibrated model, and finds a biased one.

Confidences are uniform on [0.2, 1]; the examples have three attributes of 2, 4 and 10
values, and all pairs of them: 84 overlapping groups. A calibrated model should have a
finding in at most 5% of the data sets. With a shift, the answers of one of the pairs
are right less often than they say, by the shift; printed is how often this pair is
found, and how often a group that does not overlap with it is accused.
`python -m studies.calibration_by_group_level` prints the shares and their standard
errors.
"""

from __future__ import annotations

import argparse

import numpy as np

import uncertainty_metrics.numpy as um

_SIZES = {"sex": 2, "region": 4, "hospital": 10}


def draw(
    rng: np.random.Generator, n: int, shift: float
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Returns outcomes, confidences and attributes of n examples."""
    confidences = rng.uniform(0.2, 1, n)
    groups = {name: rng.integers(0, size, n) for name, size in _SIZES.items()}
    biased = (groups["sex"] == 0) & (groups["region"] == 0)
    truth = np.where(biased, np.maximum(confidences - shift, 0), confidences)
    return rng.random(n) < truth, confidences, groups


def shares(
    rng: np.random.Generator, n: int, shift: float, draws: int
) -> tuple[float, float, float]:
    """Returns how often there is any finding, the right one, and one beside it."""
    anything = right = beside = 0
    for _ in range(draws):
        correct, confidences, groups = draw(rng, n, shift)
        table = um.calibration_by_group(
            correct=correct, confidences=confidences, groups=groups, depth=2
        )
        accused = [row.attributes for row in table.miscalibrated]
        anything += len(accused) > 0
        right += {"sex": 0, "region": 0} in accused
        beside += any(
            group.get("sex", 0) != 0 or group.get("region", 0) != 0 for group in accused
        )
    return anything / draws, right / draws, beside / draws


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 10_000])
    parser.add_argument(
        "--shifts", type=float, nargs="+", default=[0.0, 0.05, 0.1, 0.2]
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("| n | shift | any finding | the biased group | a group beside it |")
    print("|---|---|---|---|---|")
    for n in options.examples:
        for shift in options.shifts:
            found = shares(rng, n, shift, options.draws)
            errors = (np.sqrt(share * (1 - share) / options.draws) for share in found)
            cells = (f"{s:.3f} ± {e:.3f}" for s, e in zip(found, errors, strict=True))
            print(f"| {n} | {shift} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
