"""How often the interval of the semiparametric calibration error holds the truth.

Forecasts are drawn from a Beta distribution, labels from a known frequency c(p). A 95%
interval should hold the true error in 95% of the data sets. `python -m
studies.semiparametric_coverage` prints the share of the intervals that hold it and the
standard error of this share, and the bias of the estimate of the squared error in units
of its standard deviation.

For the calibrated truth the error is 0, so an interval holds it if it starts at 0: the
nominal coverage is 97.5%.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy.calibration.smoothed import semiparametric


class Truth(NamedTuple):
    """The distribution of the data: c(p), and parameters of the Beta distribution."""

    frequency: Callable[[np.ndarray], np.ndarray]
    forecasts: tuple[float, float]

    @property
    def error(self) -> float:
        """Root mean squared calibration error, by quadrature."""
        from scipy import stats

        share = (np.arange(10**5) + 0.5) / 10**5
        p = stats.beta(*self.forecasts).ppf(share)
        return float(np.sqrt(np.mean((p - self.frequency(p)) ** 2)))

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns forecasts and labels of n examples."""
        p = rng.beta(*self.forecasts, size=n)
        return p, rng.uniform(size=n) < self.frequency(p)


def _logistic(slope: float, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    def frequency(p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            logit = np.log(p) - np.log1p(-p)
        return 1 / (1 + np.exp(-slope * logit - shift))

    return frequency


def _wave(p: np.ndarray) -> np.ndarray:
    return np.clip(p + 0.6 * p * (1 - p) * np.sin(6 * np.pi * p), 0, 1)


def _steps(p: np.ndarray) -> np.ndarray:
    height = 0.1 * np.minimum(1, 8 * p * (1 - p))
    return np.clip(p + height * np.sign(np.sin(4 * np.pi * p)), 0, 1)


UNIFORM, LOW, ENDS = (1.0, 1.0), (0.5, 4.0), (0.3, 0.3)
TRUTHS = {
    "overconfident": Truth(_logistic(0.6, 0.0), UNIFORM),
    "overconfident at the ends": Truth(_logistic(0.6, 0.0), ENDS),
    "shifted": Truth(_logistic(1.0, 0.5), UNIFORM),
    "shifted and low": Truth(_logistic(1.0, 0.5), LOW),
    "wave": Truth(_wave, UNIFORM),
    "wave at the ends": Truth(_wave, ENDS),
    "steps": Truth(_steps, UNIFORM),
    "close": Truth(_logistic(0.85, 0.0), UNIFORM),
    "calibrated": Truth(lambda p: p, UNIFORM),
}


def coverage(
    truth: Truth,
    n: int,
    data_sets: int,
    rng: np.random.Generator,
    **options: str | bool | int,
) -> tuple[float, float]:
    """Returns the share of intervals that hold the true error, and the bias of the
    estimates of the squared error in units of their standard deviation.
    """
    is_held, squares = np.zeros(data_sets, bool), np.zeros(data_sets)
    for i in range(data_sets):
        lower, estimate, upper = semiparametric.spce_conf_int(
            *truth.draw(rng, n), seed=i, **options
        )
        is_held[i], squares[i] = lower <= truth.error <= upper, estimate**2
    bias = (np.mean(squares) - truth.error**2) / np.std(squares)
    return float(np.mean(is_held)), float(bias)


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row, 95% intervals."
    yield ""
    yield "| truth | n | smoothing | estimate | true error | bias | coverage |"
    yield "|---|---|---|---|---|---|---|"
    cases = itertools.product(
        options.truths, options.examples, options.smoothings, options.estimates
    )
    for name, n, smoothing, estimate in cases:
        truth = TRUTHS[name]
        share, bias = coverage(
            truth,
            n,
            options.data_sets,
            np.random.default_rng(options.seed),
            smoothing=smoothing,
            orthogonal=estimate == "orthogonal",
        )
        error = np.sqrt(share * (1 - share) / options.data_sets)
        yield (
            f"| {name} | {n} | {smoothing} | {estimate} | {truth.error:.4f} "
            f"| {bias:+.2f} | {share:.1%} +- {error:.1%} |"
        )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS), choices=TRUTHS)
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--smoothings", nargs="+", default=["kernel", "spline"])
    parser.add_argument("--estimates", nargs="+", default=["plug-in", "orthogonal"])
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
