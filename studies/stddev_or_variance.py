"""How often forecasts are refused that are only miscalibrated, and mistakes found.

Functions of means and variances raise an error for standard deviations in the place of
variances, and the reverse, where they can tell. `python -m studies.stddev_or_variance`
prints, for right calls with miscalibrated forecasts and for wrong calls with calibrated
ones, the shares of data sets with an error and with a warning. Units are log-uniform
from 0.01 to 100. Predicted standard deviations are log-normal, and wrong by a
log-uniform factor from 0.1 to 10; the true ones may have nothing to do with them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np

import uncertainty_metrics.numpy as um

NOISE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "Normal": lambda rng, n: rng.normal(size=n),
    "t, 3 degrees": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
    "20 alike": lambda rng, n: rng.normal(size=-(-n // 20)).repeat(20)[:n],
}


def outcome(means: np.ndarray, targets: np.ndarray, **spread: np.ndarray) -> str:
    """Returns "error", "warning" or "neither" for one call."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            um.regression.interval_coverage(means, targets=targets, **spread)
        except ValueError:
            return "error"
    return "warning" if given else "neither"


def outcomes(
    rng: np.random.Generator, noise: str, n: int, informative: bool, calibrated: bool
) -> tuple[str, str]:
    """Returns the outcomes of a call with variances and one with standard deviations:
    the right arguments for miscalibrated forecasts, the wrong ones for calibrated ones.
    """
    unit = np.exp(rng.uniform(np.log(0.01), np.log(100)))
    spreads = unit * np.exp(rng.choice([0, 0.2, 0.5, 1]) * rng.normal(size=n))
    errors = NOISE[noise](rng, n) * (spreads if informative else unit)
    means = np.zeros(n)
    if calibrated:
        return (
            outcome(means, errors, uncertainties=spreads),
            outcome(means, errors, stddevs=spreads**2),
        )
    spreads = spreads * np.exp(rng.uniform(np.log(0.1), np.log(10)))
    return (
        outcome(means, errors, uncertainties=spreads**2),
        outcome(means, errors, stddevs=spreads),
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield "| call | noise | spreads | n | variances: error, warning | stddevs |"
    yield "|---|---|---|---|---|---|"
    cases = [("right", informative) for informative in (True, False)]
    for call, informative in [*cases, ("wrong", True)]:
        for noise in NOISE:
            for n in options.examples:
                rng = np.random.default_rng([options.seed, n])
                found = [
                    outcomes(rng, noise, n, informative, call == "wrong")
                    for _ in range(options.data_sets)
                ]
                shares = [
                    ", ".join(
                        f"{np.mean([each == kind for each in column]):.2%}"
                        for kind in ("error", "warning")
                    )
                    for column in zip(*found, strict=True)
                ]
                of = "informative" if informative else "random"
                yield f"| {call} | {noise} | {of} | {n} | {' | '.join(shares)} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--data-sets", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    for line in rows(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
