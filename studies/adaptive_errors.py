"""How often adaptive conformal sets miss, on streams of any kind.

The share of misses of `AdaptiveConformal` has a bound that holds for any sequence of
scores, at any time. `python -m studies.adaptive_errors` runs streams that change, and
adversaries that know the quantile before they choose the score. alpha is 0.1. The
command prints for each stream and rate

  misses      the share of misses
  bound       the bound of this share at the end of the stream
  least room  how many more misses the bound allowed, at the time when these were the
              fewest; never below 0
  infinite    the share of infinite sets
  empty       the share of empty sets
  worst 500   the largest share of misses in 500 examples in a row

In streams that change, q is a quantile of the last 200 scores; for adversaries it is a
quantile of 200 scores that stay the same. The rate "fixed" keeps alpha_t = alpha.
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
    """What a stream sees before it chooses its next score.

    Attributes:
      rng: the generator of the stream.
      t: number of examples before this one.
      q: quantile for this example.
    """

    rng: np.random.Generator
    t: int
    q: float


_LOW = -1e300  # In every set but the empty one.


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
    "infinite": lambda seen: math.inf,
    "just above q": lambda seen: _just_above(seen.q),
    "very low": lambda seen: _LOW,
    "one in five just above q": lambda seen: (
        _LOW if seen.t % 5 else _just_above(seen.q)
    ),
}
RATES: tuple[float | Literal["aggregated", "fixed"], ...] = (
    *(0.005, 0.05),
    *("aggregated", "fixed"),
)


class Run(NamedTuple):
    """The results of one stream.

    Attributes:
      mean_error: share of misses.
      bound: upper bound of this share.
      room: how many more misses the bound allowed, at the time when these were the
        fewest.
      infinite: share of the quantiles that are +inf.
      empty: share of the quantiles that are -inf.
      worst: largest share of misses in a window of examples.
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
    """Makes adaptive sets for a stream, and returns how often they miss."""
    stream = (STREAMS | ADVERSARIES)[name]
    is_fixed = rate == "fixed"
    class_rate = "aggregated" if rate == "fixed" else rate
    adaptive = um.conformal.AdaptiveConformal(ALPHA, rate=class_rate)
    slowest = 0.001 if class_rate == "aggregated" else class_rate
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
            rng = np.random.default_rng(options.seed)
            found = run(rng, name, rate, options.examples)
            yield (
                f"| {name} | {rate} | {found.mean_error:.4f} | {found.bound:.4f} "
                f"| {found.room:.1f} | {found.infinite:.1%} | {found.empty:.1%} "
                f"| {found.worst:.2f} |"
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
