"""How much `calibration_loss` finds, and how often its interval claims too much.

The true distribution of the outcomes is known, and so is the true calibration part of
the score: what the best of all maps would gain. `python -m
studies.calibration_loss_level` prints for each distribution the true part, the mean of
`difference` with its standard error, how often the lower end of the 95% interval is
above the true part (a false claim), how often the interval holds what maps fitted to so
many examples gain on average, and how many data sets determine no map and are refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

_POPULATION = 200_000


class Law(NamedTuple):
    """A distribution of forecasts and outcomes.

    Attributes:
      name: of the distribution.
      classes: 1 for an event, else the number of classes.
      mean: mean of the log-odds; for classes 0.
      spread: standard deviation of the log-odds, or of the logits.
      slope: the true log-odds, or logits, are this multiple of the forecast's,
      shift: plus this.
      clusters: examples of a cluster, 1 for independent ones.
      correlation: of the latent outcomes in a cluster.
    """

    name: str
    classes: int = 1
    mean: float = 0.0
    spread: float = 1.5
    slope: float = 1.0
    shift: float = 0.0
    clusters: int = 1
    correlation: float = 0.0


LAWS = (
    Law("calibrated"),
    Law("overconfident", slope=0.6),
    Law("shifted", shift=0.5),
    Law("rare, calibrated", mean=-4.0, spread=1.0),
    Law("rare, too high", mean=-4.0, spread=1.0, shift=-0.7),
    Law("confidence .999, calibrated", mean=6.9, spread=0.5),
    Law("confidence .999, accuracy .98", mean=6.9, spread=0.5, shift=-3.0),
    Law("nearly constant, calibrated", mean=1.0, spread=0.1),
    Law("10 classes, calibrated", classes=10, spread=2.0),
    Law("10 classes, overconfident", classes=10, spread=2.0, slope=0.6),
    Law("clusters of 5, calibrated", clusters=5, correlation=0.5),
    Law("clusters of 5, overconfident", clusters=5, correlation=0.5, slope=0.6),
    Law("clusters of 1 to 9, calibrated", clusters=-9, correlation=0.9),
)


def forecasts(law: Law, rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Returns forecasts and true probabilities, [n] of an event or [n, K]."""
    if law.classes > 1:
        z = law.spread * rng.normal(size=[n, law.classes])
        return special.softmax(z, axis=1), special.softmax(law.slope * z, axis=1)
    z = law.mean + law.spread * rng.normal(size=n)
    true = law.slope * z + law.shift if law.mean == 0 else z + law.shift
    return special.expit(z), special.expit(true)


def cluster_ids(law: Law, rng: np.random.Generator, n: int) -> np.ndarray | None:
    if law.clusters == 1:
        return None
    if law.clusters > 1:
        return np.arange(n) // law.clusters
    return np.repeat(np.arange(n), rng.integers(1, 1 - law.clusters, size=n))[:n]


def outcomes(
    law: Law, rng: np.random.Generator, true: np.ndarray, ids: np.ndarray | None
) -> np.ndarray:
    """Returns labels [n]; those of a cluster depend on each other."""
    if law.classes > 1:
        return np.argmax(np.log(true) + rng.gumbel(size=true.shape), axis=1)
    noise = rng.normal(size=len(true))
    if ids is not None:
        common = rng.normal(size=ids.max() + 1)[ids]
        r = law.correlation
        noise = np.sqrt(r) * common + np.sqrt(1 - r) * noise
    return (special.ndtr(noise) < true).astype(int)


def expected(p: np.ndarray, true: np.ndarray, score: str) -> float:
    """Returns the expected score of forecasts p, whose outcomes have chances `true`."""
    if p.ndim == 1:
        if score == "brier":
            return float(np.mean((p - true) ** 2 + true * (1 - true)))
        p, true = np.stack([1 - p, p], axis=1), np.stack([1 - true, true], axis=1)
    if score == "log":
        return float(np.mean(-np.sum(special.xlogy(true, p), axis=1)))
    squares = np.sum((p - true) ** 2, axis=1)
    return float(np.mean(squares + 1 - np.sum(true**2, axis=1)))


def row(law: Law, n: int, score: Any, options: argparse.Namespace) -> str:
    """Returns a row of the table."""
    rng = np.random.default_rng([options.seed, n, len(law.name)])
    p, true = forecasts(law, rng, _POPULATION)
    truth = expected(p, true, score) - expected(true, true, score)
    found, refused = [], 0
    for _ in range(options.data_sets):
        p, true = forecasts(law, rng, n)
        ids = cluster_ids(law, rng, n)
        labels = outcomes(law, rng, true, ids)
        try:
            found.append(um.calibration_loss(labels, p, score=score, clusters=ids))
        except ValueError:
            refused += 1
    cells = f"| {law.name} | {n} | {score} | {truth:.5f} |"
    if len(found) < 2:
        return f"{cells} | | | {refused} |"
    gains, lower, upper = np.array([each[2:5] for each in found]).T
    mean, error = gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains))
    held = (lower <= mean) & (mean <= upper)
    return (
        f"{cells} {mean:.5f} +- {error:.5f} | {np.mean(lower > truth):.1%} | "
        f"{np.mean(held):.1%} | {refused} |"
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield "| law | n | score | true part | difference | false claims | held | refused |"
    yield "|---|---|---|---|---|---|---|---|"
    for law in LAWS:
        if options.laws and not any(word in law.name for word in options.laws):
            continue
        for n in options.examples:
            for score in options.scores:
                yield row(law, n, score, options)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[50, 500, 5000])
    parser.add_argument("--scores", nargs="+", default=["log", "brier"])
    parser.add_argument("--laws", nargs="+", help="words of the names of laws")
    parser.add_argument("--data-sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    for line in rows(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
