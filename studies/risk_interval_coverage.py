"""How often the intervals of risk models hold the true values.

The log-odds of the risks are Normal with standard deviation 1.2. The risks of the
calibrated model are the true probabilities of the events. The risks of the
miscalibrated model have a calibration slope of 0.7, and their log-odds are too high by
about 0.5. The option `--prevalences` sets the expected shares of events.

`python -m studies.risk_interval_coverage` prints how many of the 95% intervals of
`calibration_intercept`, `calibration_slope`, `observed_expected_ratio` and
`auroc_interval` hold the true values, and how many lie above them.

If all labels of a data set are the same, it has no slope and no AUROC. Such data sets
are left out of these two columns, and the last column has their share.
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
_SLOPE, _SHIFT = 0.7, 0.5  # The risks of the miscalibrated model are too high.
# Number of points, all equally probable, that stand for the Normal distribution.
_POINTS = 100_000
_NORMAL = special.ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
_FUNCTIONS = ("intercept", "slope", "O/E", "AUROC")


class Population(NamedTuple):
    """The distribution of the examples, with the risks that a model predicts.

    Attributes:
      risks: predicted risks, ascending and equally probable, [points].
      true: true probabilities of the event, [points].
      values: the true intercept, slope, O/E and AUROC.
    """

    risks: np.ndarray
    true: np.ndarray
    values: tuple[float, float, float, float]


def _log_odds(prevalence: float, spread: float) -> np.ndarray:
    """Returns Normal log-odds whose mean probability is the prevalence."""

    def excess(middle: float) -> float:
        return float(special.expit(middle + spread * _NORMAL).mean()) - prevalence

    return optimize.brentq(excess, -20, 20) + spread * _NORMAL


def population(prevalence: float, calibrated: bool) -> Population:
    """Returns the examples and risks of a model, with this expected share of events."""
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
    return Population(risks, true, (intercept, slope, ratio, float(auroc)))


def ends(labels: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """Returns the lower and upper ends of the four intervals, [4, 2]; NaN for intervals
    that are not defined.
    """
    found = np.full((4, 2), np.nan)
    data = labels, risks
    found[0] = um.calibration_intercept(*data)[0:3:2]
    found[2] = um.observed_expected_ratio(*data)[0:3:2]
    if 0 < labels.sum() < len(labels):
        found[1] = um.calibration_slope(*data)[0:3:2]
        found[3] = um.auroc_interval(*data)[0:3:2]
    return found


def coverage(
    truth: Population, n: int, data_sets: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns the shares of the intervals that hold the true values, and of the
    intervals that lie above them, [4] each; and the share of data sets without a slope.
    """
    found = np.empty((data_sets, 4, 2))
    for one in found:
        index = rng.integers(_POINTS, size=n)
        labels = (rng.random(n) < truth.true[index]).astype(np.int64)
        one[:] = ends(labels, truth.risks[index])
    lower, upper = found[..., 0], found[..., 1]
    defined = ~np.isnan(lower)
    above = (lower > truth.values) & defined
    held = ~above & (upper >= truth.values) & defined
    number = defined.sum(axis=0)
    return (
        held.sum(axis=0) / number,
        above.sum(axis=0) / number,
        1 - defined[:, 1].mean(),
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{options.data_sets} data sets in each row, 95% intervals: coverage, and in "
        "brackets the share of intervals above the true value."
    )
    yield ""
    yield f"| events | model | n | n p | {' | '.join(_FUNCTIONS)} | one label |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for prevalence, calibrated in itertools.product(options.prevalences, (True, False)):
        truth = population(prevalence, calibrated)
        model = "calibrated" if calibrated else "miscalibrated"
        for n in options.examples:
            rng = np.random.default_rng(options.seed)
            held, above, undefined = coverage(truth, n, options.data_sets, rng)
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
