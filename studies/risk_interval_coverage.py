"""How often the intervals of risk models hold what the data were drawn from.

Log-odds of the risks are Normal with standard deviation 1.2. The events of a calibrated
model come with these log-odds. A model that is off has log-odds whose slope is 0.7, and
which are too high by some 0.5. The share of events is as asked for.

`python -m studies.risk_interval_coverage` prints how many of the 95% intervals of
`calibration_intercept`, `calibration_slope`, `observed_expected_ratio` and
`auroc_interval` hold the values of the law, and how many of the others lie above it.

Data without an event, or without an example that has none, have no slope and no AUROC:
they are left out there, and the last column has their share.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

import uncertainty_metrics.numpy as um

_SPREAD = 1.2
_SLOPE, _SHIFT = 0.7, 0.5  # Of a model whose risks are too extreme and too high.
# So many points of the Normal law, as likely as one another.
_POINTS = 100_000
_NORMAL = special.ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
_FUNCTIONS = ("intercept", "slope", "O/E", "AUROC")


class Law(NamedTuple):
    """A model and the truth.

    Attributes:
      risks: predicted, ascending, as likely as one another, [points].
      true: probabilities of the event, [points].
      values: intercept, slope, O/E and AUROC.
    """

    risks: np.ndarray
    true: np.ndarray
    values: tuple[float, float, float, float]


def _log_odds(prevalence: float, spread: float) -> np.ndarray:
    """Returns Normal log-odds whose mean probability is the prevalence."""

    def excess(middle: float) -> float:
        return float(special.expit(middle + spread * _NORMAL).mean()) - prevalence

    return optimize.brentq(excess, -20, 20) + spread * _NORMAL


def law(prevalence: float, calibrated: bool) -> Law:
    """Returns the law of a model with a share of events."""
    slope, shift = (1.0, 0.0) if calibrated else (_SLOPE, _SHIFT)
    true = special.expit(_log_odds(prevalence, slope * _SPREAD))
    z = _log_odds(prevalence, _SPREAD) + shift
    risks = special.expit(z)

    def surplus(a: float) -> float:
        return float(np.mean(special.expit(a + z) - true))

    misses = np.cumsum(1 - true) - (1 - true) / 2
    auroc = true @ misses / (true.sum() * (1 - true).sum())
    intercept = optimize.brentq(surplus, -20, 20)
    ratio = true.mean() / risks.mean()
    return Law(risks, true, (intercept, slope, ratio, float(auroc)))


def ends(labels: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """Returns lower and upper ends, [4, 2]; NaN of what is not defined."""
    found = np.full((4, 2), np.nan)
    data = labels, risks
    found[0] = um.calibration_intercept(*data)[0:3:2]
    found[2] = um.observed_expected_ratio(*data)[0:3:2]
    if 0 < labels.sum() < len(labels):
        found[1] = um.calibration_slope(*data)[0:3:2]
        found[3] = um.auroc_interval(*data)[0:3:2]
    return found


def coverage(
    of: Law, n: int, data_sets: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns the shares of intervals that hold the values and that lie above them, [4]
    each, and of data sets without a slope.
    """
    found = np.empty((data_sets, 4, 2))
    for one in found:
        index = rng.integers(_POINTS, size=n)
        labels = (rng.random(n) < of.true[index]).astype(np.int64)
        one[:] = ends(labels, of.risks[index])
    lower, upper = found[..., 0], found[..., 1]
    defined = ~np.isnan(lower)
    above = (lower > of.values) & defined
    held = ~above & (upper >= of.values) & defined
    number = defined.sum(axis=0)
    return (
        held.sum(axis=0) / number,
        above.sum(axis=0) / number,
        1 - defined[:, 1].mean(),
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{options.data_sets} data sets a row, 95% intervals: coverage, in brackets "
        "the share above."
    )
    yield ""
    yield f"| events | model | n | n p | {' | '.join(_FUNCTIONS)} | none |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for prevalence, calibrated in itertools.product(options.prevalences, (True, False)):
        of, model = law(prevalence, calibrated), "calibrated" if calibrated else "off"
        for n in options.examples:
            rng = np.random.default_rng(options.seed)
            held, above, undefined = coverage(of, n, options.data_sets, rng)
            shown = (
                f"{share:.1%} ({more:.1%})"
                for share, more in zip(held, above, strict=True)
            )
            yield (
                f"| {prevalence:.0%} | {model} | {n} | {n * prevalence:g} "
                f"| {' | '.join(shown)} | {undefined:.0%} |"
            )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[50, 200, 1000, 5000]
    )
    parser.add_argument(
        "--prevalences", type=float, nargs="+", default=[0.02, 0.1, 0.5]
    )
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
