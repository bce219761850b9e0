"""How often `calibration_error_interval` holds the calibration error.

Scores are drawn from laws, outcomes from probabilities that are off in known ways. The
true error is the l2 error of the law in the bins of the data set, which are those of
equal mass of the estimate: for each bin the law's mass and mean gap between its edges.
`python -m studies.calibration_interval_coverage` prints the share of intervals that
hold it, how many of the others lie above and below, their mean width, and how far the
middle 95% of the estimates are apart, which no interval can be much narrower than.

Laws whose outcomes are rarely what the score does not say ("rare", "sure"), and errors
in a tenth of the scores alone ("top"), are skewed: few examples tell.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

# A law is so many scores, as likely as one another.
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


# How the probabilities of the outcomes differ from the scores, by a size.
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


class Found(NamedTuple):
    """What the intervals of a case did.

    Attributes:
      truth: mean of the true errors.
      above: share of intervals that lie above the truth.
      below: share of those below.
      width: mean of upper less lower end.
      apart: what is between the 2.5% and the 97.5% quantile of the estimates.
    """

    truth: float
    above: float
    below: float
    width: float
    apart: float


def _truth(p: np.ndarray, gaps: np.ndarray, edges: np.ndarray) -> float:
    """Returns the error of a law in bins; `gaps` are sums up to each of its scores."""
    at = np.searchsorted(p, edges, "right")
    at[0], at[-1] = 0, _POINTS
    mass, gap = np.diff(at), np.diff(gaps[at])
    squares = gap**2 / np.maximum(mass, 1)
    return float(np.sqrt(squares.sum() / _POINTS))


def found(
    law: str, way: str, size: float, n: int, level: float, data_sets: int, seed: int
) -> Found:
    """Draws the data sets of a case, and returns what their intervals did."""
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
    return Found(
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
    yield "| scores | off by | true | n | coverage | above | below | width | apart |"
    yield "|---|---|---|---|---|---|---|---|---|"
    least: dict[tuple[int, bool], tuple[float, str]] = {}
    sizes = {way: [0.0] if way == "calibrated" else options.sizes for way in WAYS}
    for law, way in itertools.product(options.laws, options.ways):
        for size, n in itertools.product(sizes[way], options.examples):
            of = found(
                law, way, size, n, options.level, options.data_sets, options.seed
            )
            if of.truth > 0.21 or (size > 0 and of.truth == 0):
                continue
            held = 1 - of.above - of.below
            kind = (n, bool({law, way} & {*_SKEWED}))
            least[kind] = min(least.get(kind, (2.0, "")), (held, f"{law}, {way}"))
            yield (
                f"| {law} | {way} | {of.truth:.4f} | {n} | {held:.1%} | {of.above:.1%} "
                f"| {of.below:.1%} | {of.width:.4f} | {of.apart:.4f} |"
            )
    yield ""
    yield "| n | skewed | least coverage | of |"
    yield "|---|---|---|---|"
    for (n, skewed), (held, case) in sorted(least.items()):
        yield f"| {n} | {'yes' if skewed else 'no'} | {held:.1%} | {case} |"


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
