"""How often the test of drift rejects: its level, and its power.

Scores come from models of several kinds. The probability of an outcome is the score
after its logit is divided by a temperature: at temperature 1 the model is calibrated,
above 1 it is overconfident. While both periods have the same temperature, a test of
level 5% should reject 5% of the pairs of periods, whether the model is calibrated or
not. If the temperatures differ, the share of rejected pairs is the power of the test.
The second table has it beside the power of a permutation test of the difference of the
two ECEs. The last column of the first table is the level of the same test with the
variance of a calibrated model, confidence (1 - confidence) / n.
`python -m studies.calibration_drift_level` prints both tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from uncertainty_metrics.numpy.calibration._binning import (
    BinStatistics,
    calibration_error,
    even_edges,
    even_index,
)
from uncertainty_metrics.numpy.calibration.calibration_drift import calibration_drift

_LEVEL = 0.05
_BINS = 15
# By name: a function that draws n scores.
_SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "network": lambda rng, n: 1 / (1 + np.exp(-np.abs(rng.normal(0, 4, n)))),
    "confident": lambda rng, n: 1 - 0.5 * rng.beta(0.3, 2, n),
    "rare": lambda rng, n: 0.05 * rng.random(n) ** 2,
}
# The number of distinct scores. Their counts are drawn at once, however many examples
# there are.
_DISTINCT = 4096
# The temperatures of the first and the second period.
_CHANGES = ((1.0, 1.1), (1.0, 1.2), (1.0, 1.4), (1.2, 1 / 1.2))


def tempered(p: np.ndarray, temperature: float) -> np.ndarray:
    """Returns the probabilities of the outcomes at scores p."""
    z = np.log(p) - np.log1p(-p)
    return 1 / (1 + np.exp(-z / temperature))


def period(
    rng: np.random.Generator, distinct: np.ndarray, n: int, temperature: float
) -> BinStatistics:
    """Returns the statistics of n examples, whose scores are drawn from `distinct`."""
    counts = rng.multinomial(n, np.full(len(distinct), 1 / len(distinct)))
    outcomes = rng.binomial(counts, tempered(distinct, temperature))
    bins = even_index(distinct, _BINS)
    sums = [np.bincount(bins, x, _BINS) for x in (counts, counts * distinct, outcomes)]
    return BinStatistics(even_edges(_BINS)[None], *(row[None] for row in sums))


def p_with_calibrated_variance(first: BinStatistics, second: BinStatistics) -> float:
    """Returns the p-value in the same bins with the variance of a calibrated model."""
    drift = calibration_drift(first, second)
    p = np.clip(drift.confidences, 1e-12, 1 - 1e-12)
    variances = (p * (1 - p) / drift.counts).sum(axis=0)
    steps = np.diff(drift.gaps, axis=0)[0]
    return stats.chi2.sf(np.sum(steps**2 / variances), len(steps))


def level_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of levels."""
    yield f"{arguments.pairs} pairs of periods a row, level {_LEVEL:.0%}, no drift."
    yield ""
    yield "| scores | temperature | n a period | rejected | with calibrated variance |"
    yield "|---|---|---|---|---|"
    for name, make in _SCORES.items():
        for temperature in (1.0, 1.7, 1 / 1.5):
            for n in arguments.examples:
                rng = np.random.default_rng(arguments.seed)
                found = []
                for _ in range(arguments.pairs):
                    distinct = np.clip(make(rng, _DISTINCT), 1e-9, 1 - 1e-9)
                    pair = [period(rng, distinct, n, temperature) for _ in range(2)]
                    drift = calibration_drift(*pair)
                    found.append((drift.p_value, p_with_calibrated_variance(*pair)))
                share, other = np.mean(np.array(found) <= _LEVEL, axis=0)
                error = np.sqrt(share * (1 - share) / arguments.pairs)
                yield (
                    f"| {name} | {temperature:.3g} | {n} | {share:.1%} +- {error:.1%} "
                    f"| {other:.1%} |"
                )


def _statistics(scores: np.ndarray, outcomes: np.ndarray) -> BinStatistics:
    bins = even_index(scores, _BINS)
    ones = np.ones(len(scores))
    sums = [np.bincount(bins, x, _BINS) for x in (ones, scores, outcomes)]
    return BinStatistics(even_edges(_BINS)[None], *(row[None] for row in sums))


def p_of_ece_difference(
    rng: np.random.Generator, scores: np.ndarray, outcomes: np.ndarray, resamples: int
) -> float:
    """Returns the p-value of abs(ECE_2 - ECE_1), by permutations of the examples.

    Args:
      rng: a generator.
      scores: scores of the first period, then of the second, [2 n].
      outcomes: outcomes in the same order, [2 n].
      resamples: number of permutations.
    """
    n = len(scores) // 2

    def difference(order: np.ndarray) -> float:
        first, second = (
            calibration_error(_statistics(scores[part], outcomes[part]), "l1")
            for part in (order[:n], order[n:])
        )
        return abs(second - first)

    observed = difference(np.arange(2 * n))
    drawn = [difference(rng.permutation(2 * n)) for _ in range(resamples)]
    return (1 + sum(d >= observed - 1e-12 for d in drawn)) / (1 + resamples)


def power_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of powers."""
    pairs = arguments.power_pairs
    yield f"{pairs} pairs of periods a row, level {_LEVEL:.0%}, scores of a network."
    yield ""
    yield "| temperatures | n a period | by drift | by difference of ECEs |"
    yield "|---|---|---|---|"
    for temperatures in _CHANGES:
        for n in (1000, 5000):
            rng = np.random.default_rng(arguments.seed)
            found = []
            for _ in range(pairs):
                scores = np.clip(_SCORES["network"](rng, 2 * n), 1e-9, 1 - 1e-9)
                temperature = np.repeat(temperatures, n)
                outcomes = (rng.random(2 * n) < tempered(scores, temperature)).astype(
                    float
                )
                halves = slice(None, n), slice(n, None)
                drift = calibration_drift(
                    *(_statistics(scores[half], outcomes[half]) for half in halves)
                )
                p_of_ece = p_of_ece_difference(
                    rng, scores, outcomes, arguments.resamples
                )
                found.append((drift.p_value, p_of_ece))
            share = np.mean(np.array(found) <= _LEVEL, axis=0)
            change = " to ".join(f"{t:.3g}" for t in temperatures)
            yield f"| {change} | {n} | {share[0]:.1%} | {share[1]:.1%} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[500, 5000, 50_000, 10**6]
    )
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--power-pairs", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=99)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for row in level_rows(arguments):
        print(row, flush=True)
    print()
    for row in power_rows(arguments):
        print(row, flush=True)


if __name__ == "__main__":
    main()
