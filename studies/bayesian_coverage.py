"""How often the interval of the Bayesian ECE holds the true calibration error.

Data sets are drawn from a known truth: each bin has an accuracy and a share of the
scores, which are uniform in the bin. So the true calibration error is known, and a 95%
interval of the posterior should hold it in 95% of the data sets. `python -m
studies.bayesian_coverage` prints the share of the intervals that hold it, and the
standard error of this share.

If accuracy and confidence differ by less than the noise of a bin, the posterior of
their absolute difference lies above the truth, as the ECE itself does. So few intervals
hold the calibration error of a calibrated model, which is 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

_LEVELS = [0.025, 0.975]


class Truth(NamedTuple):
    """The distribution of the data: for each bin its share of scores and accuracy."""

    shares: np.ndarray
    accuracies: np.ndarray

    @property
    def centres(self) -> np.ndarray:
        """Mean score of each bin."""
        return (np.arange(len(self.shares)) + 0.5) / len(self.shares)

    @property
    def error(self) -> float:
        """Calibration error."""
        return float(np.sum(self.shares * np.abs(self.accuracies - self.centres)))

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns outcomes and scores of n examples."""
        bins = len(self.shares)
        index = rng.choice(bins, n, p=self.shares)
        scores = (index + 1 - rng.uniform(size=n)) / bins  # In (a, b].
        return rng.uniform(size=n) < self.accuracies[index], np.minimum(scores, 1.0)


def make_truth(name: str, bins: int) -> Truth:
    """Returns a truth whose bins are off by 0.15, by 0.05, or not at all."""
    gap = {"separated": 0.15, "close": 0.05, "calibrated": 0.0}[name]
    shares = np.linspace(1.0, 3.0, bins)
    centres = (np.arange(bins) + 0.5) / bins
    # Overconfident above 1/2, underconfident below.
    accuracies = centres + np.where(centres < 0.5, gap, -gap)
    return Truth(shares / shares.sum(), accuracies)


def _options(outcomes: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    # The decision is always class 1, because scores below 1/2 must be possible.
    return {
        "probabilities": scores,
        "labels_true": outcomes.astype(np.int64),
        "labels_predicted": np.ones(len(scores), np.int64),
    }


def _numpy(bins: int, draws: int) -> Callable[..., np.ndarray]:
    def posterior(outcomes, scores, seed):
        return um_np.bayesian_expected_calibration_error(
            bins, **_options(outcomes, scores), num_ece_samples=draws, seed=seed
        )

    return posterior


def _tensorflow(bins: int, draws: int) -> Callable[..., np.ndarray]:
    import tensorflow as tf

    @tf.function
    def compiled(options, seed):
        return um.bayesian_expected_calibration_error(
            bins, **options, num_ece_samples=draws, seed=seed
        )

    def posterior(outcomes, scores, seed):
        options = _options(outcomes, scores.astype(np.float32))
        options = {name: tf.constant(values) for name, values in options.items()}
        return compiled(options, tf.constant(seed)).numpy()

    return posterior


_ROOMS = {"numpy": _numpy, "tensorflow": _tensorflow}


def coverage(
    posterior: Callable[..., np.ndarray],
    truth: Truth,
    n: int,
    data_sets: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Returns the share of intervals that hold the true error, and the mean of the
    posterior means.
    """
    is_held, means = np.zeros(data_sets, bool), np.zeros(data_sets)
    for i in range(data_sets):
        samples = posterior(*truth.draw(rng, n), int(rng.integers(2**31)))
        low, high = np.quantile(samples, _LEVELS)
        is_held[i], means[i] = low <= truth.error <= high, np.mean(samples)
    return float(np.mean(is_held)), float(np.mean(means))


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{options.data_sets} data sets a row, {options.draws} draws each, "
        "95% intervals."
    )
    yield ""
    yield "| truth | n | bins | room | true error | posterior mean | coverage |"
    yield "|---|---|---|---|---|---|---|"
    for name in options.truths:
        for n in options.examples:
            for bins in options.bins:
                for room in options.rooms:
                    rng = np.random.default_rng(options.seed)
                    truth = make_truth(name, bins)
                    share, mean = coverage(
                        _ROOMS[room](bins, options.draws),
                        truth,
                        n,
                        options.data_sets,
                        rng,
                    )
                    error = np.sqrt(share * (1 - share) / options.data_sets)
                    yield (
                        f"| {name} | {n} | {bins} | {room} | {truth.error:.4f} "
                        f"| {mean:.4f} | {share:.1%} +- {error:.1%} |"
                    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--truths", nargs="+", default=["separated", "close", "calibrated"]
    )
    parser.add_argument("--examples", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--bins", type=int, nargs="+", default=[5, 10, 15])
    parser.add_argument("--rooms", nargs="+", default=list(_ROOMS), choices=_ROOMS)
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
