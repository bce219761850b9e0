"""How often a sample shows the error that `smallest_detectable_error` says it would.

Forecasts are drawn from known distributions, and outcomes from probabilities that
differ from the forecasts by the smallest detectable error: below all forecasts, above
all, or below in every other bin and above in the rest. `python -m
studies.detectable_error_power` prints the share of samples whose
`calibration_error_interval` has a lower end above 0.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

LAWS = {
    "uniform": lambda u: 0.2 + 0.6 * u,
    "sure": lambda u: 0.5 + 0.45 * u,
    "beta(5, 2)": lambda u: np.clip(special.betaincinv(5, 2, u), 0.2, 0.9),
    "constant": lambda u: np.full_like(u, 0.7),
}
WAYS = {
    "too sure": lambda p: -np.ones_like(p),
    "not sure enough": np.ones_like,
    "both": lambda p: np.where(np.argsort(np.argsort(p)) * 15 // len(p) % 2, 1.0, -1.0),
}


def simulate(
    law: str, way: str, n: int, power: float, data_sets: int, seed: int
) -> tuple[float, float]:
    """Returns the mean detectable error, and the share of samples that show it."""
    rng = np.random.default_rng(seed)
    errors, shown = np.zeros((2, data_sets))
    for i in range(data_sets):
        p = LAWS[law](rng.uniform(size=n))
        errors[i] = um.smallest_detectable_error(p, power=power)
        q = np.clip(p + errors[i] * WAYS[way](p), 0, 1)
        labels = rng.uniform(size=n) < q
        shown[i] = um.calibration_error_interval(labels, p).lower > 0
    return float(errors.mean()), float(shown.mean())


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row."
    yield ""
    yield "| forecasts | error | n | power | detectable | shown |"
    yield "|---|---|---|---|---|---|"
    for law, way, n, power in itertools.product(
        LAWS, WAYS, options.examples, options.powers
    ):
        if (law, way) == ("constant", "both"):  # Its errors cancel in the only bin.
            continue
        error, shown = simulate(law, way, n, power, options.data_sets, options.seed)
        yield f"| {law} | {way} | {n} | {power} | {error:.4f} | {shown:.1%} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[300, 2000, 10_000])
    parser.add_argument("--powers", type=float, nargs="+", default=[0.8, 0.95])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
