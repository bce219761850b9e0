"""How often the test of drift rejects: its level, and its power.

Scores come from models of several kinds. The probability of an outcome is the score
after its logit is divided by a temperature: at temperature 1 the model is calibrated,
above 1 it is overconfident. While both periods have the same temperature, a test of
level 5% should reject 5% of the pairs of periods, whether the model is calibrated or
not. If the temperatures differ, the share of rejected pairs is the power of the test.
The last table has it beside the power of a permutation test of the difference of the
two ECEs. The last column of the first table is the level of the same test with the
variance of a calibrated model, confidence (1 - confidence) / n. The second table has
the levels for periods of different sizes and for other numbers of bins, beside the
level if D were compared with chi-squared everywhere. The third has the level for
summaries of weighted examples, beside the level if weights counted as examples. The
table of clusters has the level for outcomes that are drawn from a Normal with this
correlation within a cluster, beside the level if the clusters are not told.
`python -m studies.calibration_drift_level` prints the tables; `--tables` chooses some.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from uncertainty_metrics.numpy.calibration.bins._binning import (
    BinStatistics,
    calibration_error,
    even_edges,
    even_index,
)
from uncertainty_metrics.numpy.calibration.watching.calibration_drift import (
    calibration_drift,
)
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries.summary import Summary

_LEVEL = 0.05
_BINS = 15
# By name: a function that draws n scores.
_SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "network": lambda rng, n: 1 / (1 + np.exp(-np.abs(rng.normal(0, 4, n)))),
    "confident": lambda rng, n: 1 - 0.5 * rng.beta(0.3, 2, n),
    "rare": lambda rng, n: 0.05 * rng.random(n) ** 2,
    "nearly certain": lambda rng, n: 1 - 0.002 * rng.random(n),
}
# The number of distinct scores. Their counts are drawn at once, however many examples
# there are.
_DISTINCT = 4096
# The sizes of the two periods.
_SIZES = ((500, 500), (20_000, 500), (10**6, 500), (10**6, 20_000))
# By name: a function that draws n weights.
_WEIGHTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "Exp(1)": lambda rng, n: rng.exponential(size=n),
    "1 or 10": lambda rng, n: rng.choice([1.0, 10.0], n, p=[0.9, 0.1]),
}
# The numbers of clusters of the two periods, and the least and most examples of one.
_CLUSTERS = ((50, 50), (100, 100), (400, 400), (50, 400))
_CLUSTER_SIZES = ((10, 10), (1, 50))
_CORRELATIONS = (0.0, 0.5, 0.9)
# The temperatures of the first and the second period.
_CHANGES = ((1.0, 1.1), (1.0, 1.2), (1.0, 1.4), (1.2, 1 / 1.2))


def tempered(p: np.ndarray, temperature: float) -> np.ndarray:
    """Returns the probabilities of the outcomes at scores p."""
    z = np.log(p) - np.log1p(-p)
    return 1 / (1 + np.exp(-z / temperature))


def period(
    rng: np.random.Generator,
    distinct: np.ndarray,
    n: int,
    temperature: float,
    num_bins: int = _BINS,
) -> BinStatistics:
    """Returns the statistics of n examples, whose scores are drawn from `distinct`."""
    counts = rng.multinomial(n, np.full(len(distinct), 1 / len(distinct)))
    outcomes = rng.binomial(counts, tempered(distinct, temperature))
    index = even_index(distinct, num_bins)
    rows = counts, counts * distinct, outcomes
    sums = [np.bincount(index, row, num_bins) for row in rows]
    return BinStatistics(even_edges(num_bins)[None], *(row[None] for row in sums))


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
    for name in arguments.scores:
        make = _SCORES[name]
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


def _shares(p_values: np.ndarray, level: float) -> list[str]:
    """Returns the shares of p-values [pairs, tests] that are at most the level."""
    shares = np.mean(p_values <= level, axis=0)
    return [f"{share:.1%}" for share in shares]


def size_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of levels for other sizes and numbers of bins."""
    yield f"{arguments.pairs} pairs of periods a row, no drift."
    yield ""
    yield (
        "| scores | temperature | sizes | bins | rejected at 5% | at 1% "
        "| by chi-squared at 5% | at 1% |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in arguments.scores:
        make = _SCORES[name]
        for temperature in (1.0, 1.7):
            for sizes in _SIZES:
                for num_bins in arguments.bins:
                    rng = np.random.default_rng(arguments.seed)
                    found = []
                    for _ in range(arguments.pairs):
                        distinct = np.clip(make(rng, _DISTINCT), 1e-9, 1 - 1e-9)
                        pair = [
                            period(rng, distinct, n, temperature, num_bins)
                            for n in sizes
                        ]
                        drift = calibration_drift(*pair)
                        freedom = drift.degrees_of_freedom
                        by_limit = stats.chi2.sf(drift.statistic, max(freedom, 1))
                        found.append((drift.p_value, by_limit if freedom else 1.0))
                    p_values = np.array(found)
                    ours, limit = zip(
                        *(_shares(p_values, level) for level in (0.05, 0.01)),
                        strict=True,
                    )
                    yield (
                        f"| {name} | {temperature} | {sizes[0]}, {sizes[1]} "
                        f"| {num_bins} | {' | '.join(ours)} | {' | '.join(limit)} |"
                    )


def weighted_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of levels for summaries of weighted examples."""
    yield f"{arguments.pairs} pairs of summaries a row, no drift."
    yield ""
    yield (
        "| scores | weights | sizes | rejected at 5% | at 1% "
        "| weights as examples, at 5% | at 1% |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name in ("network", "confident", "nearly certain"):
        for kind, draw in _WEIGHTS.items():
            for sizes in ((2000, 2000), (20_000, 1000)):
                rng = np.random.default_rng(arguments.seed)
                found = []
                for _ in range(arguments.pairs):
                    pair = []
                    for n in sizes:
                        scores = np.clip(_SCORES[name](rng, n), 1e-9, 1 - 1e-9)
                        summary = Summary()
                        summary.update(
                            correct=rng.random(n) < scores,
                            confidences=scores,
                            sample_weight=draw(rng, n),
                        )
                        pair.append(summary)
                    as_examples = [
                        summary.decisions.bin_statistics(num_bins=_BINS)
                        for summary in pair
                    ]
                    tests = calibration_drift(*pair), calibration_drift(*as_examples)
                    found.append([test.p_value for test in tests])
                p_values = np.array(found)
                ours, others = zip(
                    *(_shares(p_values, level) for level in (0.05, 0.01)), strict=True
                )
                yield (
                    f"| {name} | {kind} | {sizes[0]}, {sizes[1]} "
                    f"| {' | '.join(ours)} | {' | '.join(others)} |"
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


def clustered_sketches(
    rng: np.random.Generator,
    kind: str,
    number: int,
    sizes: tuple[int, int],
    correlation: float,
    temperature: float,
) -> list[ScoreSketch]:
    """Returns sketches of one period, with its clusters and without."""
    ids = np.repeat(
        np.arange(number), rng.integers(sizes[0], sizes[1], number, endpoint=True)
    )
    scores = np.clip(_SCORES[kind](rng, len(ids)), 1e-9, 1 - 1e-9)
    shared, own = rng.normal(size=number)[ids], rng.normal(size=len(ids))
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    outcomes = stats.norm.cdf(latent) < tempered(scores, temperature)
    sketches = []
    for clusters in (ids, None):
        sketch = ScoreSketch(positive_class=True)
        sketch.update(outcomes.astype(int), scores, clusters=clusters)
        sketches.append(sketch)
    return sketches


def clustered_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of levels of examples in clusters."""
    pairs = arguments.clustered_pairs
    yield f"{pairs} pairs of periods a row, temperature 1.5, at {_LEVEL:.0%} and 1%."
    yield ""
    yield "| scores | clusters | sizes | correlation | with clusters | 1% | without |"
    yield "|---|---|---|---|---|---|---|"
    designs = itertools.product(
        arguments.scores, _CLUSTERS, _CLUSTER_SIZES, _CORRELATIONS
    )
    for kind, numbers, sizes, correlation in designs:
        rng = np.random.default_rng(arguments.seed)
        found = []
        for _ in range(pairs):
            periods = [
                clustered_sketches(rng, kind, number, sizes, correlation, 1.5)
                for number in numbers
            ]
            both = zip(*periods, strict=True)
            found.append([calibration_drift(*each).p_value for each in both])
        with_clusters, without = np.array(found).T
        shares = (
            np.mean(with_clusters <= _LEVEL),
            np.mean(with_clusters <= 0.01),
            np.mean(without <= _LEVEL),
        )
        yield (
            f"| {kind} | {numbers[0]} and {numbers[1]} | {sizes[0]} to {sizes[1]} | "
            f"{correlation} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"
        )


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
    parser.add_argument("--bins", type=int, nargs="+", default=[1, 15, 100])
    parser.add_argument("--clustered-pairs", type=int, default=1000)
    parser.add_argument("--power-pairs", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=99)
    parser.add_argument("--seed", type=int, default=0)
    tables = {
        "levels": level_rows,
        "sizes": size_rows,
        "weights": weighted_rows,
        "clusters": clustered_rows,
        "power": power_rows,
    }
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    parser.add_argument("--scores", nargs="+", choices=_SCORES, default=list(_SCORES))
    arguments = parser.parse_args()
    for name in arguments.tables:
        for row in tables[name](arguments):
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()
