"""How often a sample shows the error that `smallest_detectable_error` says it would.

Forecasts are drawn from known distributions, and outcomes from probabilities that
differ from the forecasts by the smallest detectable error: below all forecasts, above
all, or below in every other bin and above in the rest. `python -m
studies.detectable_error_power` prints the share of samples whose
`calibration_error_interval` has a lower end above 0. It also prints the share of
examples whose probability would be below 0 or above 1, and is 0 or 1: the error is then
smaller than the one promised. Rare events are drawn from 2000 examples on, since in
fewer no error below their probabilities shows.
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
    "sure": lambda u: 0.5 + 0.4 * u,
    "beta(5, 2)": lambda u: 0.15 + 0.7 * special.betaincinv(5, 2, u),
    "constant": lambda u: np.full_like(u, 0.7),
    "rare": lambda u: special.expit(u - 3.5),
}
WAYS = {
    "too high": lambda p: -np.ones_like(p),
    "too low": np.ones_like,
    "both": lambda p: np.where(np.argsort(np.argsort(p)) * 15 // len(p) % 2, 1.0, -1.0),
}


def simulate(
    law: str, way: str, n: int, power: float, data_sets: int, seed: int
) -> tuple[float, float, float]:
    """Returns the mean detectable error, the share of samples that show it, and the
    share of examples whose probability ends at 0 or 1.
    """
    rng = np.random.default_rng(seed)
    errors, shown, ended = np.zeros((3, data_sets))
    for i in range(data_sets):
        p = LAWS[law](rng.uniform(size=n))
        errors[i] = um.smallest_detectable_error(p, power=power, positive_class=True)
        q = p + errors[i] * WAYS[way](p)
        ended[i] = np.mean((q < 0) | (q > 1))
        labels = rng.uniform(size=n) < q
        interval = um.calibration_error_interval(labels, p, positive_class=True)
        shown[i] = interval.lower > 0
    return float(errors.mean()), float(shown.mean()), float(ended.mean())


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row."
    yield ""
    yield "| forecasts | they are | n | power | detectable | shown | at 0 or 1 |"
    yield "|---|---|---|---|---|---|---|"
    for law, way, n, power in itertools.product(
        LAWS, WAYS, options.examples, options.powers
    ):
        if (law, way) == ("constant", "both"):  # Its errors cancel in the only bin.
            continue
        if law == "rare" and n < 2000:
            continue
        error, shown, ended = simulate(
            law, way, n, power, options.data_sets, options.seed
        )
        yield (
            f"| {law} | {way} | {n} | {power} | {error:.4f} | {shown:.1%} "
            f"| {ended:.1%} |"
        )


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
