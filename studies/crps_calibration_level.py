"""How much `regression.calibration_loss` finds, and how often it claims too much.

Errors in predicted standard deviations are Normal, so that the best map of CDF values
is known, and with it the true part of the CRPS. `python -m
studies.crps_calibration_level` prints for each law the true part, the mean of
`difference` with its standard error, how often the lower end of the 95% interval is
above the true part (a false claim), and how often the interval holds what maps fitted
to so many examples gain on average.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy import stats

import uncertainty_metrics.numpy as um

_POPULATION = 10**6
# From the name to the standard deviation and the mean of the errors.
LAWS = {
    "calibrated": (1.0, 0.0),
    "overconfident": (2.0, 0.0),
    "underconfident": (0.6, 0.0),
    "biased": (1.0, 0.5),
}


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield "| law | n | true part | difference | false claims | held |"
    yield "|---|---|---|---|---|---|"
    uniform = (np.arange(_POPULATION) + 0.5) / _POPULATION
    for law, (spread, bias) in LAWS.items():
        errors = spread * stats.norm.ppf(uniform) + bias
        # The CRPS that calibrated forecasts of this spread have is spread / sqrt(pi).
        truth = um.crps_normal_score(errors, 0.0, 1.0).mean() - spread / np.sqrt(np.pi)
        for n in options.examples:
            found = []
            for i in range(options.data_sets):
                rng = np.random.default_rng([options.seed, n, i])
                y = spread * rng.normal(size=n) + bias
                loss = um.regression.calibration_loss(y, np.zeros(n), np.ones(n))
                found.append(loss[2:5])
            gains, lower, upper = np.array(found).T
            mean, error = gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains))
            held = np.mean((lower <= mean) & (mean <= upper))
            yield (
                f"| {law} | {n} | {truth:.5f} | {mean:.5f} +- {error:.5f} | "
                f"{np.mean(lower > truth):.1%} | {held:.1%} |"
            )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[50, 500, 5000])
    parser.add_argument("--data-sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    for line in rows(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
