"""How often adaptive conformal sets miss, where the stream does what it likes.

The mean of the misses of `AdaptiveConformal` has a bound that holds for any sequence,
at any time. `python -m studies.adaptive_errors` runs streams that change, and
adversaries that know the quantile before they choose the score. It prints the share of
misses; the bound at the end; the room, how many more misses the bound allowed, where
this was least (never below 0); the shares of sets that are infinite, and empty; and
the largest share of misses in 500 examples in a row. alpha is 0.1. In streams that
change q is a quantile of the last 200 scores, for adversaries one of 200 scores that
stay the same. The rate "fixed" keeps alpha_t = alpha.
"""

from __future__ import annotations

import argparse
import collections
import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um

ALPHA = 0.1
_RECENT = 200
_WINDOW = 500


class Seen(NamedTuple):
    """What a stream knows when it chooses its next score.

    Attributes:
      rng: its generator.
      t: number of the example.
      q: the quantile.
    """

    rng: np.random.Generator
    t: int
    q: float


_LOW = -1e300


def _just_above(q: float) -> float:
    return math.nextafter(q, math.inf)


STREAMS: dict[str, Callable[[Seen], float]] = {
    "steady": lambda seen: abs(seen.rng.normal()),
    "three times as large, every other 2000": lambda seen: (
        abs(seen.rng.normal()) * (3 if seen.t % 4000 >= 2000 else 1)
    ),
    "grows": lambda seen: abs(seen.rng.normal()) * math.exp(seen.t / 200),
}
ADVERSARIES: dict[str, Callable[[Seen], float]] = {
    "misses where it can": lambda seen: math.inf,
    "just above q": lambda seen: _just_above(seen.q),
    "in every set that holds anything": lambda seen: _LOW,
    "one in five just above q": lambda seen: (
        _LOW if seen.t % 5 else _just_above(seen.q)
    ),
}
RATES: tuple[float | Literal["aggregated", "fixed"], ...] = (
    *(0.005, 0.05),
    *("aggregated", "fixed"),
)


class Run(NamedTuple):
    """What came of a stream.

    Attributes:
      mean_error: share of misses.
      bound: what it cannot exceed.
      room: the least number of misses that the bound would still have allowed.
      infinite: share of the quantiles that are +inf.
      empty: share of the quantiles that are -inf.
      worst: largest share of misses in a window.
    """

    mean_error: float
    bound: float
    room: float
    infinite: float
    empty: float
    worst: float


def run(
    rng: np.random.Generator,
    name: str,
    rate: float | Literal["aggregated", "fixed"],
    examples: int,
) -> Run:
    """Runs a stream through adaptive sets."""
    stream = (STREAMS | ADVERSARIES)[name]
    is_fixed = rate == "fixed"
    of_class = "aggregated" if rate == "fixed" else rate
    adaptive = um.conformal.AdaptiveConformal(ALPHA, rate=of_class)
    slowest = 0.001 if of_class == "aggregated" else of_class
    spare = (ALPHA + slowest * (1 - ALPHA)) / slowest
    recent = collections.deque(np.abs(rng.normal(size=_RECENT)), maxlen=_RECENT)
    quantiles, misses = np.zeros(examples), np.zeros(examples)
    room = math.inf
    for t in range(examples):
        q = adaptive.quantile(np.array(recent))
        if is_fixed:
            q = um.conformal.conformal_quantile(np.array(recent), ALPHA)
        score = stream(Seen(rng, t, q))
        adaptive.update(score)
        quantiles[t], misses[t] = q, score > q
        room = min(room, spare + (t + 1) * (ALPHA - adaptive.mean_error))
        if name in STREAMS:
            recent.append(score)
    window = np.convolve(misses, np.full(_WINDOW, 1 / _WINDOW), mode="valid")
    return Run(
        float(misses.mean()),
        math.nan if is_fixed else adaptive.error_bound,
        math.nan if is_fixed else room,
        float(np.mean(np.isposinf(quantiles))),
        float(np.mean(np.isneginf(quantiles))),
        float(window.max()),
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.examples} examples a stream."
    yield ""
    yield (
        "| stream | rate | misses | bound | least room | infinite | empty "
        f"| worst {_WINDOW} |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in (*STREAMS, *ADVERSARIES):
        for rate in RATES:
            of = run(np.random.default_rng(options.seed), name, rate, options.examples)
            yield (
                f"| {name} | {rate} | {of.mean_error:.4f} | {of.bound:.4f} "
                f"| {of.room:.1f} | {of.infinite:.1%} | {of.empty:.1%} "
                f"| {of.worst:.2f} |"
            )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
