"""How large the expected loss is at the threshold of `conformal_risk_control`.

The threshold is found with n held-out examples. The expected loss of new examples there
should be at most alpha, for any losses that do not rise. `python -m
studies.risk_control` draws data sets, finds the threshold for each, and prints the mean
loss of new examples there, and by how many standard errors alpha is above this mean.
This number should not be -4 or less. If no threshold is good enough, there is no
decision and so no loss.

The losses have few values: "misses" are 0 or 1; "shares" are the share of one to five
labels that is missed; "rare" losses are the bound in one example of 200, and at most
0.1 in the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np

import uncertainty_metrics.numpy as um

_THRESHOLDS = np.linspace(0, 1, 51)
_NEW = 100


def _misses(rng: np.random.Generator, n: int) -> np.ndarray:
    """Returns losses [n, G]: whether the score of an example is above a threshold."""
    scores = rng.integers(0, 40, (n, 1)) / 40
    return (scores > _THRESHOLDS).astype(np.float64)


def _shares(rng: np.random.Generator, n: int) -> np.ndarray:
    """Returns the share of the labels of an example with scores above a threshold."""
    counted = np.arange(5) < rng.integers(1, 6, (n, 1))
    scores = np.round(rng.beta(1, 3, (n, 5)), 2)
    missed = (scores[..., None] > _THRESHOLDS) & counted[..., None]
    return missed.sum(axis=1) / counted.sum(axis=1, keepdims=True)


def _rare(rng: np.random.Generator, n: int) -> np.ndarray:
    """Returns losses that, in a few examples, are the bound up to a high threshold."""
    ends = np.where(rng.random((n, 1)) < 0.005, 0.9, 0.0)
    return np.where(ends > _THRESHOLDS, 1.0, 0.1 * (1 - _THRESHOLDS))


LOSSES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "misses": _misses,
    "shares": _shares,
    "rare": _rare,
}


def mean_losses(
    rng: np.random.Generator, name: str, n: int, alpha: float, data_sets: int
) -> np.ndarray:
    """Returns the mean loss of new examples for each data set."""
    found = np.zeros(data_sets)
    for i in range(data_sets):
        losses = LOSSES[name](rng, n + _NEW)
        index = um.conformal.conformal_risk_control(losses[:n], alpha)
        if index is not None:
            found[i] = losses[n:, index].mean()
    return found


def spare(found: np.ndarray, alpha: float) -> float:
    """Returns by how many standard errors alpha is above the mean of the losses."""
    least = np.sqrt(alpha / (len(found) * _NEW)) / 10  # For losses that are all 0.
    error = max(np.std(found) / np.sqrt(len(found)), least)
    return float((alpha - np.mean(found)) / error)


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row, {_NEW} new examples each."
    yield ""
    yield "| losses | n | alpha | expected loss | alpha is above, standard errors |"
    yield "|---|---|---|---|---|"
    for name in LOSSES:
        for n in options.examples:
            for alpha in options.alphas:
                rng = np.random.default_rng([options.seed, n, int(1000 * alpha)])
                found = mean_losses(rng, name, n, alpha, options.data_sets)
                yield (
                    f"| {name} | {n} | {alpha} | {found.mean():.4f} "
                    f"| {spare(found, alpha):.1f} |"
                )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[9, 20, 100, 500, 2000]
    )
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.05, 0.1, 0.3])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
