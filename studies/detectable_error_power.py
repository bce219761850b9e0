"""How often a sample shows the error that `smallest_detectable_error` says it would.

Forecasts are drawn from known distributions, and outcomes from probabilities that
differ from the forecasts by the smallest detectable error: below all forecasts, above
all, or below in every other bin and above in the rest. `python -m
studies.detectable_error_power` prints the share of samples whose
`calibration_error_interval` has a lower end above 0. It also prints the share of
examples whose probability would be below 0 or above 1, and is 0 or 1: the error is then
smaller than the one promised. Rare events are drawn from 2000 examples on, since in
fewer no error below their probabilities shows.

With `--clusters 50 100` it does so for examples in as many clusters of 10, or of 1 to
50, with forecasts that are all too high and outcomes whose latent correlation within a
cluster is given, as in `studies.cluster_coverage`. The intraclass correlation of
(outcome - score) is known, from 5000 other clusters, or that of another sample of the
same size, with labels.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um
from studies import cluster_coverage

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


def simulate_clusters(
    design: tuple[int, bool, float, bool],
    is_known: bool,
    power: float,
    data_sets: int,
    seed: int,
) -> tuple[float, float]:
    """Returns what `simulate` does, for examples in clusters.

    Args:
      design: number of clusters, whether their sizes differ, latent correlation, and
        whether the examples of a cluster share their forecast.
      is_known: whether the intraclass correlation is known.
      power: the power.
      data_sets: number of samples.
      seed: seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    number, unequal, correlation, shared = design
    rho = None
    if is_known:
        outcomes, p, ids = cluster_coverage.data_set(
            rng, 5000, False, correlation, shared, 0.0
        )
        residuals = outcomes - p
        spreads = np.sqrt(p * (1 - p))
        products, possible = (
            np.sum(np.bincount(ids, values) ** 2) - np.sum(values**2)
            for values in (residuals, spreads)
        )
        rho = min(max(products / possible, 0.0), 1.0)
    errors, shown = np.zeros((2, data_sets))
    for i in range(data_sets):
        outcomes, p, ids = cluster_coverage.data_set(
            rng, number, unequal, correlation, shared, 0.0
        )
        labels = None if is_known else outcomes.astype(int)
        errors[i] = um.smallest_detectable_error(
            p, power=power, clusters=ids, intraclass_correlation=rho, labels=labels
        )
        latent = np.sqrt(correlation) * rng.normal(size=number)[ids]
        latent += np.sqrt(1 - correlation) * rng.normal(size=len(ids))
        outcomes = special.ndtr(latent) < np.clip(p - errors[i], 0, 1)
        interval = um.calibration_error_interval(outcomes, p, clusters=ids)
        shown[i] = interval.lower > 0
    return float(errors.mean()), float(shown.mean())


def rows_of_clusters(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of clusters."""
    yield f"{options.data_sets} data sets a row."
    yield ""
    yield (
        "| clusters | sizes | correlation | scores | intraclass | power | detectable "
        "| shown |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for number, unequal, correlation, shared, is_known, power in itertools.product(
        options.clusters,
        (False, True),
        options.correlations,
        (True, False),
        (True, False),
        options.powers,
    ):
        error, shown = simulate_clusters(
            (number, unequal, correlation, shared),
            *(is_known, power, options.data_sets, options.seed),
        )
        yield (
            f"| {number} | {'1 to 50' if unequal else '10'} | {correlation:g} "
            f"| {'shared' if shared else 'own'} "
            f"| {'known' if is_known else 'estimated'} | {power} | {error:.4f} "
            f"| {shown:.1%} |"
        )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[300, 2000, 10_000])
    parser.add_argument("--powers", type=float, nargs="+", default=[0.8, 0.95])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clusters", type=int, nargs="+", default=[])
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.0, 0.5])
    options = parser.parse_args()
    with warnings.catch_warnings():  # Of P(class 1) of two classes.
        warnings.simplefilter("ignore")
        for row in rows_of_clusters(options) if options.clusters else rows(options):
            print(row, flush=True)


if __name__ == "__main__":
    main()
