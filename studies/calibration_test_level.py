"""How often the test of calibration rejects: its level, and its power.

Forecasts are the softmax of normal logits, and labels are drawn from the softmax of the
logits divided by a temperature. At temperature 1 the model is calibrated, so a test of
level 5% should reject it in 5% of the data sets. Above 1 the model is overconfident;
then the share of rejected data sets is the power of the test, which grows with the
temperature and the number of examples. `python -m studies.calibration_test_level`
prints the share of rejected data sets and its standard error.

With `--asymptotic` it prints these shares for the asymptotic p-values of "ks", "kuiper"
and "spiegelhalter", for calibrated forecasts of many kinds. The sizes of the data sets
start above the smallest that `calibration_test` allows for this method.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from uncertainty_metrics.numpy.calibration.without_bins.calibration_tests import (
    calibration_test,
)

_LEVEL = 0.05
# By kind of score: the number of classes, and the options of the test.
_SCORES: dict[str, tuple[int, dict[str, bool]]] = {
    "top label": (5, {}),
    "class-wise": (5, {"max_prob": False, "class_conditional": True}),
    "positive class": (2, {"positive_class": True}),
}
# By name: a function that draws n forecasts of an event.
_FORECASTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "extreme": lambda rng, n: rng.beta(0.3, 0.3, n),
    "rare": lambda rng, n: 0.02 * rng.random(n),
    "confident": lambda rng, n: 1 - 0.2 * rng.random(n) ** 2,
    "six values": lambda rng, n: rng.integers(0, 6, n) / 5,
}
# By statistic: the squares of the factors of the residuals in its sum, and the smallest
# variance of the sum that the asymptotic method allows.
_LIMITS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "ks": (np.ones_like, 25.0),
    "kuiper": (np.ones_like, 25.0),
    "spiegelhalter": (lambda p: (1 - 2 * p) ** 2, 10.0),
}


def draw(
    rng: np.random.Generator, n: int, classes: int, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns labels and probabilities of n examples."""
    logits = 2 * rng.normal(size=[n, classes])
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    # The largest of logits with Gumbel noise is a draw from their softmax.
    noise = rng.gumbel(size=[n, classes])
    return np.argmax(logits / temperature + noise, axis=1), probabilities


def rejections(
    rng: np.random.Generator,
    n: int,
    temperature: float,
    classes: int,
    data_sets: int,
    options: dict[str, Any],
) -> float:
    """Returns the share of data sets whose p-value is at most the level."""
    rejected = 0
    for _ in range(data_sets):
        test = calibration_test(*draw(rng, n, classes, temperature), **options)
        rejected += test.p_value <= _LEVEL
    return rejected / data_sets


def rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{arguments.data_sets} data sets a row, {arguments.resamples} resamples each, "
        f"level {_LEVEL:.0%}, norm {arguments.norm}. A temperature of 1 is calibrated."
    )
    yield ""
    yield "| scores | bins | n | temperature | rejected | ms a test |"
    yield "|---|---|---|---|---|---|"
    for name, (classes, options) in _SCORES.items():
        for scheme in ("even", "adaptive"):
            for n in arguments.examples:
                for temperature in arguments.temperatures:
                    rng = np.random.default_rng(arguments.seed)
                    start = time.perf_counter()
                    share = rejections(
                        rng,
                        n,
                        temperature,
                        classes,
                        arguments.data_sets,
                        {
                            **options,
                            "binning_scheme": scheme,
                            "norm": arguments.norm,
                            "num_resamples": arguments.resamples,
                            "seed": rng,
                        },
                    )
                    seconds = (time.perf_counter() - start) / arguments.data_sets
                    error = np.sqrt(share * (1 - share) / arguments.data_sets)
                    yield (
                        f"| {name} | {scheme} | {n} | {temperature} "
                        f"| {share:.1%} +- {error:.1%} | {1e3 * seconds:.1f} |"
                    )


def asymptotic_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of the asymptotic tests."""
    yield f"{arguments.data_sets} data sets a row, level {_LEVEL:.0%}, all calibrated."
    yield ""
    yield "| statistic | forecasts | variance | n | rejected |"
    yield "|---|---|---|---|---|"
    for statistic, (steps, least) in _LIMITS.items():
        for name, forecasts in _FORECASTS.items():
            for variance in (1.6 * least, 4 * least, 40 * least):
                rng = np.random.default_rng(arguments.seed)
                p = forecasts(rng, 100_000)
                n = int(variance / np.mean(steps(p) * p * (1 - p)))
                rejected = 0
                for _ in range(arguments.data_sets):
                    p = forecasts(rng, n)
                    test = calibration_test(
                        rng.random(n) < p,
                        p,
                        statistic=statistic,
                        method="asymptotic",
                        positive_class=True,
                    )
                    rejected += test.p_value <= _LEVEL
                share = rejected / arguments.data_sets
                error = np.sqrt(share * (1 - share) / arguments.data_sets)
                yield (
                    f"| {statistic} | {name} | {variance:g} | {n} "
                    f"| {share:.1%} +- {error:.1%} |"
                )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument(
        "--temperatures", type=float, nargs="+", default=[1.0, 1.1, 1.3]
    )
    parser.add_argument("--norm", default="l2", choices=("l1", "l2", "max"))
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=199)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--asymptotic", action="store_true")
    arguments = parser.parse_args()
    for row in (asymptotic_rows if arguments.asymptotic else rows)(arguments):
        print(row, flush=True)


if __name__ == "__main__":
    main()
