"""What `clusters=` does for calibration errors, their test and the gaps of groups.

A data set has C clusters of 10 examples each, or of 1 to 50. The scores are uniform on
[0.5, 0.95], one for each example or one for each cluster ("shared"). The outcome comes
where a standard Normal variable is below the quantile of (score - error); these
variables have the given correlation within a cluster. So the true l2 error is `error`.

`python -m studies.cluster_coverage` prints for each design the share of 95% intervals
of `calibration_error_interval` that hold the error, and the share that lie above it,
and where the error is 0 also the share of data sets in which `calibration_test`
rejects at 5% and in which `calibration_by_group` has a finding among two groups of
clusters. `--without` leaves the clusters out.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um


def data_set(
    rng: np.random.Generator,
    num_clusters: int,
    unequal: bool,
    correlation: float,
    shared: bool,
    error: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns outcomes, scores and clusters."""
    sizes = np.full(num_clusters, 10)
    if unequal:
        sizes = rng.integers(1, 51, num_clusters)
    ids = np.repeat(np.arange(num_clusters), sizes)
    scores = rng.uniform(0.5, 0.95, num_clusters)[ids]
    if not shared:
        scores = rng.uniform(0.5, 0.95, len(ids))
    latent = np.sqrt(correlation) * rng.normal(size=num_clusters)[ids]
    latent += np.sqrt(1 - correlation) * rng.normal(size=len(ids))
    return special.ndtr(latent) < scores - error, scores, ids


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row."
    yield ""
    yield (
        "| clusters | sizes | correlation | scores | error | coverage | above | test "
        "| groups |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(options.seed)
    for number, unequal, correlation, shared, error in itertools.product(
        options.clusters,
        (False, True),
        options.correlations,
        (True, False),
        options.errors,
    ):
        found = np.zeros((options.data_sets, 4))
        for row in found:
            outcomes, scores, ids = data_set(
                rng, number, unequal, correlation, shared, error
            )
            clusters = None if options.without else ids
            data = {"positive_class": True, "clusters": clusters}
            lower, _, upper = um.calibration_error_interval(outcomes, scores, **data)
            row[:2] = lower <= error <= upper, lower > error
            if error == 0:
                test = um.calibration_test(
                    outcomes, scores, **data, num_resamples=199, seed=rng
                )
                table = um.calibration_by_group(
                    outcomes, scores, groups=ids % 2, **data
                )
                row[2:] = test.p_value <= 0.05, len(table.miscalibrated) > 0
        shares = [f"{share:.1%}" for share in found.mean(axis=0)]
        if error > 0:
            shares[2:] = "", ""
        yield (
            f"| {number} | {'1 to 50' if unequal else '10'} | {correlation:g} "
            f"| {'shared' if shared else 'own'} | {error:g} | {' | '.join(shares)} |"
        )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, nargs="+", default=[20, 50, 100, 400])
    parser.add_argument(
        "--correlations", type=float, nargs="+", default=[0.0, 0.5, 0.9]
    )
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 0.05, 0.1])
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    with warnings.catch_warnings():  # Of few clusters.
        warnings.simplefilter("ignore")
        for row in rows(parser.parse_args()):
            print(row, flush=True)


if __name__ == "__main__":
    main()
