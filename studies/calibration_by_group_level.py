"""How often `calibration_by_group` accuses a calibrated model, and finds a biased one.

Confidences are uniform on [0.2, 1]; the examples have three attributes of 2, 4 and 10
values, and all pairs of them: 84 overlapping groups. A calibrated model should have a
finding in at most 5% of the data sets. With a shift, the answers of one of the pairs
are right less often than they say, by the shift; printed is how often this pair is
found, and how often a group that does not overlap with it is accused.

In the second table all confidences are equal and nearly 1, the examples may have
weights, and the model is calibrated. A last column has the findings if all p-values
were Normal.
`python -m studies.calibration_by_group_level` prints the shares and their standard
errors; `--tables` chooses a table.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

_SIZES = {"sex": 2, "region": 4, "hospital": 10}

_WEIGHTS = {
    "none": lambda rng, n: None,
    "Exp(1)": lambda rng, n: rng.exponential(size=n),
    "1 or 10": lambda rng, n: rng.choice([1.0, 10.0], n, p=[0.9, 0.1]),
}


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


def print_shifts(options: argparse.Namespace) -> None:
    """Prints the table of spread confidences."""
    rng = np.random.default_rng(options.seed)
    print("| n | shift | any finding | the biased group | a group beside it |")
    print("|---|---|---|---|---|")
    for n in options.examples:
        for shift in options.shifts:
            found = shares(rng, n, shift, options.draws)
            errors = (np.sqrt(share * (1 - share) / options.draws) for share in found)
            cells = (f"{s:.3f} ± {e:.3f}" for s, e in zip(found, errors, strict=True))
            print(f"| {n} | {shift} | {' | '.join(cells)} |", flush=True)


def normal_finding(table: Any, confidence: float) -> bool:
    """Says if any group would be found by Normal p-values: Holm's first step."""
    sizes = np.array([row.size for row in table.tested])
    gaps = np.array([row.gap for row in table.tested])
    z = np.abs(gaps) / np.sqrt(confidence * (1 - confidence) / sizes)
    return bool(2 * special.ndtr(-z.max()) * len(sizes) <= 0.05)


def print_certain(options: argparse.Namespace) -> None:
    """Prints the table of nearly certain confidences."""
    print("| confidence | n | weights | any finding | if all were Normal |")
    print("|---|---|---|---|---|")
    for confidence, n, weights in itertools.product(
        (0.999, 0.9999), (2000, 20_000), _WEIGHTS
    ):
        rng = np.random.default_rng(options.seed)
        found = np.zeros(2)
        for _ in range(options.draws):
            _, _, groups = draw(rng, n, 0.0)
            table = um.calibration_by_group(
                correct=rng.random(n) < confidence,
                confidences=np.full(n, confidence),
                groups=groups,
                depth=2,
                sample_weight=_WEIGHTS[weights](rng, n),
            )
            found += [len(table.miscalibrated) > 0, normal_finding(table, confidence)]
        cells = (
            f"{share:.3f} ± {np.sqrt(share * (1 - share) / options.draws):.3f}"
            for share in found / options.draws
        )
        print(f"| {confidence} | {n} | {weights} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Prints the tables."""
    tables = {"shifts": print_shifts, "certain": print_certain}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 10_000])
    parser.add_argument(
        "--shifts", type=float, nargs="+", default=[0.0, 0.05, 0.1, 0.2]
    )
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.tables:
        tables[name](options)
        print()


if __name__ == "__main__":
    main()
