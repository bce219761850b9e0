"""How often `calibration_error_interval` holds the calibration error.

Scores are drawn from known distributions ("laws"), and outcomes from probabilities that
differ from the scores in known ways. The true error is the l2 error of the law in the
bins of the data set, which are the adaptive bins of the estimate: for each bin it takes
the mass of the law and its mean gap between the edges of the bin. `python -m
studies.calibration_interval_coverage` prints the share of intervals that hold the true
error, the shares of intervals above and below it, their mean width, and the distance
between the 2.5% and the 97.5% quantile of the estimates. No interval can be much
narrower than this distance.

Some cases are skewed: in the laws "rare" and "sure" the less likely outcome is very
rare, and with "top" only a tenth of the scores has an error. Then few examples say how
large the error is.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

# A law has this number of scores, which are equally likely.
_POINTS = 200_001
_NUM_BINS = 15
_U = (np.arange(_POINTS) + 0.5) / _POINTS
_FEW = np.array([0.55, 0.7, 0.8, 0.9, 0.97])

LAWS = {
    "uniform": _U,
    "saturated": special.expit(4 + 2.5 * special.ndtri(_U)),
    "beta(5, 2)": special.betaincinv(5, 2, _U),
    "beta(.3, .3)": special.betaincinv(0.3, 0.3, _U),
    "five values": _FEW[(5 * _U).astype(int)],
    "constant": np.full(_POINTS, 0.8),
    "rare": special.expit(-4 + 1.5 * special.ndtri(_U)),
    "sure": np.full(_POINTS, 0.99),
}
_SKEWED = ("rare", "sure", "top")


def _logit(p: np.ndarray) -> np.ndarray:
    return special.logit(np.clip(p, 1e-12, 1 - 1e-12))


# By name: the probabilities of the outcomes, from the scores and the size of the error.
WAYS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "calibrated": lambda p, size: p,
    "shift": lambda p, size: np.clip(p - size, 0, 1),
    "temperature": lambda p, size: special.expit(_logit(p) / (1 + 6 * size)),
    "one side": lambda p, size: np.where(
        p > np.median(p), np.clip(p - 1.4 * size, 0, 1), p
    ),
    "top": lambda p, size: np.where(
        p >= np.quantile(p, 0.9), np.clip(p - 3.2 * size, 0, 1), p
    ),
}


class Outcome(NamedTuple):
    """Statistics of the intervals of a case.

    Attributes:
      truth: mean of the true errors.
      above: share of intervals that lie above the true error.
      below: share of intervals that lie below the true error.
      width: mean width of the intervals.
      spread: distance between the 2.5% and the 97.5% quantile of the estimates.
    """

    truth: float
    above: float
    below: float
    width: float
    spread: float


def _truth(p: np.ndarray, gaps: np.ndarray, edges: np.ndarray) -> float:
    """Returns the error of a law in bins, from cumulative sums of its gaps."""
    at = np.searchsorted(p, edges, "right")
    at[0], at[-1] = 0, _POINTS
    mass, gap = np.diff(at), np.diff(gaps[at])
    squares = gap**2 / np.maximum(mass, 1)
    return float(np.sqrt(squares.sum() / _POINTS))


def simulate(
    law: str, way: str, size: float, n: int, level: float, data_sets: int, seed: int
) -> Outcome:
    """Draws the data sets of a case, and returns statistics of their intervals."""
    rng = np.random.default_rng(seed)
    p = LAWS[law]
    q = WAYS[way](p, size)
    gaps = np.concatenate([[0.0], np.cumsum(q - p)])
    rows = np.empty((data_sets, 4))
    for row in rows:
        index = rng.integers(_POINTS, size=n)
        outcomes = rng.uniform(size=n) < q[index]
        options = {"positive_class": True, "num_bins": _NUM_BINS}
        ends = um.calibration_error_interval(outcomes, p[index], **options, level=level)
        bins = um.bin_statistics(
            outcomes, p[index], **options, binning_scheme="adaptive"
        )
        row[:] = *ends, _truth(p, gaps, bins.edges[0])
    lower, estimates, upper, truths = rows.T
    low, high = np.quantile(estimates, [0.025, 0.975])
    return Outcome(
        float(truths.mean()),
        float(np.mean(lower > truths + 1e-12)),
        float(np.mean(upper < truths - 1e-12)),
        float(np.mean(upper - lower)),
        float(high - low),
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the tables."""
    yield f"{options.data_sets} data sets a row, {options.level:.0%} intervals."
    yield ""
    yield (
        "| scores | kind of error | true error | n | coverage | above | below | width "
        "| spread |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    least: dict[tuple[int, bool], tuple[float, str]] = {}
    sizes = {way: [0.0] if way == "calibrated" else options.sizes for way in WAYS}
    for law, way in itertools.product(options.laws, options.ways):
        for size, n in itertools.product(sizes[way], options.examples):
            case = simulate(
                law, way, size, n, options.level, options.data_sets, options.seed
            )
            if case.truth > 0.21 or (size > 0 and case.truth == 0):
                continue
            coverage = 1 - case.above - case.below
            kind = (n, bool({law, way} & {*_SKEWED}))
            least[kind] = min(least.get(kind, (2.0, "")), (coverage, f"{law}, {way}"))
            yield (
                f"| {law} | {way} | {case.truth:.4f} | {n} | {coverage:.1%} "
                f"| {case.above:.1%} | {case.below:.1%} | {case.width:.4f} "
                f"| {case.spread:.4f} |"
            )
    yield ""
    yield "| n | skewed | smallest coverage | case |"
    yield "|---|---|---|---|"
    for (n, skewed), (coverage, name) in sorted(least.items()):
        yield f"| {n} | {'yes' if skewed else 'no'} | {coverage:.1%} | {name} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=LAWS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.02, 0.06, 0.15])
    parser.add_argument("--examples", type=int, nargs="+", default=[200, 500, 5000])
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
