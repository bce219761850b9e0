"""How often the intervals of shares of clustered examples hold the true share.

An outcome is decided by a latent Normal variable, and the variables of a cluster are
correlated. `python -m studies.share_coverage` prints for each design the coverage of
the 95% interval of `sensitivity` with `clusters=`, and its mean width. `specificity`,
the predictive values and `coverage_by_group` have the same intervals. The last line has
the smallest and the largest coverage for each number of clusters.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

SIZES = ("10", "1 to 50")
_CORRELATIONS = (0.0, 0.3, 0.9)
_SHARES = (0.02, 0.1, 0.5)


def one(
    rng: np.random.Generator, number: int, sizes: str, correlation: float, share: float
) -> tuple[bool, float]:
    """Returns whether the interval of one data set holds the share, and its width."""
    of_clusters = rng.integers(1, 51, number) if sizes == "1 to 50" else 10
    ids = np.repeat(np.arange(number), of_clusters)
    latent = np.sqrt(correlation) * rng.normal(size=number)[ids]
    latent += np.sqrt(1 - correlation) * rng.normal(size=len(ids))
    limit = special.ndtri(1 - share)
    found = um.sensitivity(np.ones(len(ids), int), latent, limit, clusters=ids)
    return found.lower <= share <= found.upper, found.upper - found.lower


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield "| clusters | sizes | correlation | share | coverage | width |"
    yield "|---|---|---|---|---|---|"
    coverages: dict[int, list[float]] = {number: [] for number in options.clusters}
    designs = itertools.product(options.clusters, SIZES, _CORRELATIONS, _SHARES)
    for seed, (number, sizes, correlation, share) in enumerate(designs):
        design = sizes, correlation, share
        rng = np.random.default_rng([options.seed, seed])
        found = [one(rng, number, *design) for _ in range(options.data_sets)]
        coverage, width = np.mean(found, axis=0)
        coverages[number].append(coverage)
        cells = number, *design, f"{coverage:.3f}", f"{width:.3f}"
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    yield "; ".join(
        f"{number} clusters: {min(values):.1%} to {max(values):.1%}"
        for number, values in coverages.items()
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 20, 50, 100])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # There are few clusters on purpose.
        for row in rows(options):
            print(row, flush=True)


if __name__ == "__main__":
    main()
