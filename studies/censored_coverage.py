"""How often the interval of the censored calibration error holds the truth.

Data sets are drawn from known frequencies c(p) of an event by time 1. The hazards are
proportional in time, and the censoring may depend on the forecast p. A 95% interval
should hold the true error in 95% of the data sets. `python -m
studies.censored_coverage` prints the share of the intervals that hold it and the
standard error of this share, the shares of the intervals above and below the true
error, and the bias of the estimate of the squared error in units of its standard
deviation.

For the calibrated truth the error is 0, so an interval holds it if it starts at 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy.survival import censored_calibration

END_TIME = 1.0
_FOLLOWED = 1.5  # All examples are censored at this time at the latest.


class Truth(NamedTuple):
    """The distribution of the data.

    Attributes:
      frequency: c(p), the frequency of an event by the end time.
      forecasts: parameters of the Beta distribution of the forecasts p.
      hazard: the hazard of censoring for each p.
    """

    frequency: Callable[[np.ndarray], np.ndarray]
    forecasts: tuple[float, float]
    hazard: Callable[[np.ndarray], np.ndarray]

    @property
    def error(self) -> float:
        """Root mean squared calibration error, by quadrature."""
        from scipy import stats

        share = (np.arange(10**5) + 0.5) / 10**5
        p = stats.beta(*self.forecasts).ppf(share)
        return float(np.sqrt(np.mean((p - self.frequency(p)) ** 2)))

    def draw(
        self, rng: np.random.Generator, n: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns forecasts, times and events of n examples."""
        p = rng.beta(*self.forecasts, size=n)
        total_hazard = -np.log1p(-self.frequency(p))
        event = (rng.exponential(size=n) / total_hazard) ** (1 / 1.3)
        censoring = np.minimum(rng.exponential(size=n) / self.hazard(p), _FOLLOWED)
        return p, np.minimum(event, censoring), event <= censoring


def _sharper(p: np.ndarray) -> np.ndarray:
    odds = ((p + 0.01) / (1.01 - p)) ** 2
    return odds / (1 + odds)


UNIFORM, LOW, ENDS = (1.0, 1.0), (0.7, 2.5), (0.5, 0.5)
TRUTHS = {
    "overconfident": Truth(
        lambda p: 0.2 + 0.6 * p, UNIFORM, lambda p: np.full_like(p, 0.6)
    ),
    "wave": Truth(
        lambda p: 0.05 + 0.9 * p + 0.12 * np.sin(2 * np.pi * p),
        UNIFORM,
        lambda p: 0.15 + 1.2 * p,
    ),
    "sharper": Truth(_sharper, LOW, lambda p: 0.15 + 1.2 * p),
    "square": Truth(lambda p: 0.02 + 0.9 * p**2, UNIFORM, lambda p: 0.3 + 1.6 * p),
    "shifted": Truth(
        lambda p: np.minimum(p + 0.1, 0.95), ENDS, lambda p: np.full_like(p, 0.25)
    ),
    "close": Truth(lambda p: 0.05 + 0.9 * p, UNIFORM, lambda p: 0.15 + 1.2 * p),
    "calibrated": Truth(lambda p: p, (1.0, 1.2), lambda p: 0.15 + 1.2 * p),
}


def coverage(
    metric: Callable[..., tuple[float, float, float]],
    truth: Truth,
    n: int,
    data_sets: int,
    seed: int,
) -> tuple[float, float, float, float]:
    """Returns the shares of intervals above and below the true error, the share of
    examples that are censored before the end time, and the bias.
    """
    rng = np.random.default_rng(seed)
    error, rows = truth.error, []
    for i in range(data_sets):
        p, times, event = truth.draw(rng, n)
        lower, estimate, upper = metric(p, times, event, END_TIME, seed=i)
        lost = np.mean(~event & (times < END_TIME))
        rows.append([lower > error, upper < error, lost, estimate**2])
    above, below, lost, squared = np.transpose(rows)
    bias = (squared.mean() - error**2) / squared.std()
    return above.mean(), below.mean(), lost.mean(), bias


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row, 95% intervals."
    yield ""
    yield (
        "| truth | n | form | survival | true error | censored | coverage | above | "
        "below | bias |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name in options.truths:
        truth = TRUTHS[name]
        for n in options.examples:
            for form in options.forms:
                for aggregation in options.aggregations:

                    def metric(*data, form=form, aggregation=aggregation, seed):
                        return censored_calibration.censored_calibration_error_conf_int(
                            *data,
                            orthogonal=form == "orthogonal",
                            survival_aggregation=aggregation,
                            seed=seed,
                        )

                    above, below, lost, bias = coverage(
                        metric, truth, n, options.data_sets, options.seed
                    )
                    share = 1 - above - below
                    error = np.sqrt(share * (1 - share) / options.data_sets)
                    yield (
                        f"| {name} | {n} | {form} | {aggregation} | {truth.error:.4f} "
                        f"| {lost:.0%} | {share:.1%} +- {error:.1%} | {above:.1%} "
                        f"| {below:.1%} | {bias:+.2f} |"
                    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS), choices=TRUTHS)
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 5000])
    parser.add_argument("--forms", nargs="+", default=["plug-in", "orthogonal"])
    parser.add_argument("--aggregations", nargs="+", default=["Kaplan-Meier"])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
