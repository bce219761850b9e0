"""How often the intervals of the bootstrap hold the true value of a metric.

Data sets are drawn from a known distribution. So the true value of the metric is known,
and a 95% interval should hold it in 95% of the data sets. `python -m
studies.bootstrap_coverage` prints the share of the intervals that hold it, the standard
error of this share, and the share of the intervals that lie above the true value.

For the calibration error, the accuracies of the bins are off by 0.15 ("separated"), by
0.05 ("close") or not at all ("calibrated"). If the true error is not far above the
noise, the error of a data set lies above it, and the errors of the resamples lie even
higher. The bootstrap cannot separate noise from error, so few intervals hold the error
of a calibrated model, which is 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um


class Case(NamedTuple):
    """A metric, and a distribution of data for which its value is known.

    Attributes:
      truth: true value of the metric.
      interval: takes a generator, n and options; draws n examples, and returns their
        interval.
    """

    truth: float
    interval: Callable[..., Any]


def _accuracy(rng: np.random.Generator, n: int, **options: Any) -> Any:
    """Returns the interval of an accuracy of 0.9."""
    labels = (rng.uniform(size=n) < 0.9).astype(np.int64)
    return um.bootstrap(um.accuracy, labels=labels, probabilities=np.ones(n), **options)


def _nll(rng: np.random.Generator, n: int, **options: Any) -> Any:
    """Returns the interval of a skewed mean: -log p_y is exponential, of mean 1."""
    p = rng.uniform(size=n)
    return um.bootstrap(
        um.negative_log_likelihood,
        labels=np.ones(n, np.int64),
        probabilities=p,
        **options,
    )


def _auroc(rng: np.random.Generator, n: int, **options: Any) -> Any:
    """Returns the interval of the AUROC of two Normals, a unit apart."""
    labels = (np.arange(n) < n // 4).astype(np.int64)
    scores = rng.normal(size=n) + labels
    return um.bootstrap(um.auroc, labels=labels, scores=scores, **options)


def _difference(rng: np.random.Generator, n: int, **options: Any) -> Any:
    """Returns the interval of the difference between accuracies of 0.9 and 0.85.

    The two models err on the same examples.
    """
    hard = rng.uniform(size=n)
    first, second = (np.where(hard < share, 0.9, 0.1) for share in (0.9, 0.85))
    return um.bootstrap_difference(
        um.accuracy,
        {"probabilities": first},
        {"probabilities": second},
        labels=np.ones(n, np.int64),
        **options,
    )


_BINS = 10
_SHARES = np.linspace(1.0, 3.0, _BINS) / np.linspace(1.0, 3.0, _BINS).sum()
_CENTRES = (np.arange(_BINS) + 0.5) / _BINS


def _calibration(gap: float) -> Callable[..., Any]:
    """Returns a function for the interval of an ECE with this gap in every bin."""
    accuracies = _CENTRES + np.where(_CENTRES < 0.5, gap, -gap)

    def interval(rng, n, **options):
        index = rng.choice(_BINS, n, p=_SHARES)
        scores = (index + 1 - rng.uniform(size=n)) / _BINS  # In (a, b].
        labels = (rng.uniform(size=n) < accuracies[index]).astype(np.int64)
        return um.bootstrap(
            um.ece,
            labels=labels,
            probabilities=np.minimum(scores, 1.0),
            num_bins=_BINS,
            positive_class=True,
            **options,
        )

    return interval


CASES = {
    "accuracy": Case(0.9, _accuracy),
    "nll": Case(1.0, _nll),
    "auroc": Case(float(special.ndtr(np.sqrt(0.5))), _auroc),
    "difference": Case(0.05, _difference),
    "ece separated": Case(0.15, _calibration(0.15)),
    "ece close": Case(0.05, _calibration(0.05)),
    "ece calibrated": Case(0.0, _calibration(0.0)),
}


def coverage(
    case: Case, n: int, data_sets: int, rng: np.random.Generator, **options: Any
) -> tuple[float, float, float]:
    """Returns the share of intervals that hold the true value, the share of intervals
    that lie above it, and the mean width.
    """
    ends = np.array(
        [
            case.interval(rng, n, seed=int(rng.integers(2**31)), **options)
            for _ in range(data_sets)
        ]
    )
    lower, upper = ends[:, 0], ends[:, 2]
    above = lower > case.truth
    is_held = ~above & (upper >= case.truth)
    return float(is_held.mean()), float(above.mean()), float(np.mean(upper - lower))


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{options.data_sets} data sets a row, {options.resamples} resamples each, "
        "95% intervals."
    )
    yield ""
    yield "| metric | true value | n | method | coverage | above | mean width |"
    yield "|---|---|---|---|---|---|---|"
    for name in options.cases:
        for n in options.examples:
            for method in options.methods:
                share, above, width = coverage(
                    CASES[name],
                    n,
                    options.data_sets,
                    np.random.default_rng(options.seed),
                    num_resamples=options.resamples,
                    method=method,
                )
                error = np.sqrt(share * (1 - share) / options.data_sets)
                yield (
                    f"| {name} | {CASES[name].truth:.4f} | {n} | {method} "
                    f"| {share:.1%} +- {error:.1%} | {above:.1%} | {width:.4f} |"
                )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--examples", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--methods", nargs="+", default=["bca", "percentile"])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
