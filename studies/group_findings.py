"""How often groups of a calibrated model are accused, and wrong ones are found.

The first table has groups of 500 answers, of which the first is overconfident in both
directions: its log-odds are too large by a factor for which the ECE is 0.10, and the
mean gap is 0. Printed is how often this group is found, by each statistic and
adjustment.

The second table has calibrated models in the corners: seven overlapping groups of 50 to
400 of 800 answers and their pairs. The third table has `find_miscalibrated_groups`: a
calibrated model, and one whose probabilities are too high by a shift where age > 61 and
ward = B, 15% of the examples.

`python -m studies.group_findings` prints the shares and their standard errors;
`--draws` makes it shorter, `--tables` chooses a table.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
from scipy import optimize, special

import uncertainty_metrics.numpy as um

_WAYS = tuple(itertools.product(("gap", "kuiper"), ("holm", "max")))
_CORNERS = ("uniform", "certain", "rare", "tied", "weights", "clusters")


def cell(count: int, draws: int) -> str:
    """Returns a share with its standard error."""
    share = count / draws
    return f"{share:.3f} ± {np.sqrt(share * (1 - share) / draws):.3f}"


def slope_of(error: float) -> float:
    """Returns the factor of the log-odds of uniform probabilities with an ECE."""
    truth = (np.arange(10_000) + 0.5) / 10_000
    odds = special.logit(truth)

    def excess(slope: float) -> float:
        return float(np.mean(np.abs(special.expit(slope * odds) - truth))) - error

    return float(optimize.brentq(excess, 1, 6))


def print_power(options: argparse.Namespace) -> None:
    """Prints how often a group of ECE 0.10 and mean gap 0 is found."""
    slope = slope_of(0.10)
    names = [f"{statistic}, {adjust}" for statistic, adjust in _WAYS]
    print(f"| groups of 500 | {' | '.join(names)} |\n|---|---|---|---|---|")
    for number in (1, 2, 8):
        rng, found = np.random.default_rng(options.seed), dict.fromkeys(_WAYS, 0)
        for _ in range(options.draws):
            truth, group = rng.random(500 * number), np.arange(500 * number) // 500
            wrong = special.expit(slope * special.logit(truth))
            for statistic, adjust in _WAYS:
                table = um.calibration_by_group(
                    correct=rng.random(len(truth)) < truth,
                    confidences=np.where(group == 0, wrong, truth),
                    groups=group,
                    statistic=statistic,
                    adjust=adjust,
                    seed=rng.integers(2**31),
                )
                names = {row.name for row in table.miscalibrated}
                found[statistic, adjust] += "group=0" in names
        cells = (cell(count, options.draws) for count in found.values())
        print(f"| {number} | {' | '.join(cells)} |", flush=True)


def calibrated(
    corner: str, rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns the arguments of 800 calibrated answers, and their groups."""
    n = 800
    scores = {"certain": np.full(n, 0.999), "rare": 0.02 * rng.random(n)}.get(
        corner, rng.random(n)
    )
    if corner == "tied":
        scores = scores.round(1)
    sizes = rng.permutation(np.repeat(np.arange(4), [400, 200, 150, 50]))
    given: dict[str, Any] = {"confidences": scores}
    drawn = rng.random(n)
    if corner == "weights":
        given["sample_weight"] = rng.exponential(size=n)
    if corner == "clusters":
        ids = np.arange(n) // 8
        latent = np.sqrt(0.8) * rng.normal(size=n)[ids]
        drawn = special.ndtr(latent + np.sqrt(0.2) * rng.normal(size=n))
        sizes, given["clusters"] = np.sort(sizes), ids
    given["correct"] = drawn < scores
    return given, {"size": sizes, "third": np.arange(n) % 3}


def print_level(options: argparse.Namespace) -> None:
    """Prints how often there is any finding in a calibrated model."""
    names = [f"{statistic}, {adjust}" for statistic, adjust in _WAYS]
    print(f"| answers | {' | '.join(names)} |\n|---|---|---|---|---|")
    for corner in _CORNERS:
        rng, found = np.random.default_rng(options.seed), dict.fromkeys(_WAYS, 0)
        for _ in range(options.draws):
            given, groups = calibrated(corner, rng)
            for statistic, adjust in _WAYS:
                table = um.calibration_by_group(
                    **given,
                    groups=groups,
                    depth=2,
                    statistic=statistic,
                    adjust=adjust,
                    seed=rng.integers(2**31),
                )
                found[statistic, adjust] += len(table.miscalibrated) > 0
        cells = (cell(count, options.draws) for count in found.values())
        print(f"| {corner} | {' | '.join(cells)} |", flush=True)


def print_search(options: argparse.Namespace) -> None:
    """Prints how often the tree has a finding, and names both features."""
    print("| n | shift | statistic | any finding | age > and ward = B |")
    print("|---|---|---|---|---|")
    for n, shift, statistic in itertools.product(
        (1000, 4000), (0.0, 0.1, 0.2), ("gap", "kuiper")
    ):
        rng, found = np.random.default_rng(options.seed), np.zeros(2, int)
        for _ in range(options.draws):
            scores = rng.uniform(0.3, 1, n)
            age, ward = rng.integers(18, 98, n), rng.choice(["A", "B", "C"], n)
            wrong = (age > 61) & (ward == "B")
            table = um.find_miscalibrated_groups(
                {"age": age, "ward": ward, "noise": rng.random(n)},
                correct=rng.random(n) < np.where(wrong, scores - shift, scores),
                confidences=scores,
                statistic=statistic,
                seed=rng.integers(2**31),
            )
            rules = [row.attributes for row in table.miscalibrated]
            found += [
                len(rules) > 0,
                any(
                    rule.get("ward") == "= B" and ">" in rule.get("age", "")
                    for rule in rules
                ),
            ]
        cells = (cell(int(count), options.draws) for count in found)
        print(f"| {n} | {shift} | {statistic} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Prints the tables."""
    tables = {"power": print_power, "level": print_level, "search": print_search}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.tables:
        tables[name](options)
        print()


if __name__ == "__main__":
    main()
