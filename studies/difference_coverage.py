"""How often `calibration_error_difference` holds the true difference of two models.

True probabilities are drawn from known distributions ("laws"), outcomes from the true
probabilities, and the forecasts of each model are a function of the true probability,
with noise or without. The true error of a model is the l2 error of the law in the bins
of the data set: for each bin, the mass of the law and its mean gap between the edges of
the bin. `python -m studies.difference_coverage` prints for each pair of models the
share of 95% intervals that hold the true difference of the squared errors, the share
that calls the worse model better, and the share that finds a difference: where both
models are calibrated, this is a false finding.

In the laws "rare" and "sure" the less likely outcome is very rare: 200 examples have
one to five of it.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

# A law has this number of true probabilities, which are equally likely.
_POINTS = 400_001
# A difference of squared errors below this is none: the law has finitely many points.
_NONE = 1e-9
_U = (np.arange(_POINTS) + 0.5) / _POINTS

LAWS = {
    "uniform": 0.02 + 0.96 * _U,
    "beta(5, 2)": special.betaincinv(5, 2, _U),
    "saturated": special.expit(4 + 2.5 * special.ndtri(_U)),
    "rare": special.expit(-4 + 1.5 * special.ndtri(_U)),
    "sure": special.expit(5 + special.ndtri(_U)),
}
_SKEWED = ("rare", "sure")


def _tempered(factor: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda q, noise: special.expit(factor * special.logit(q))


def _noisy(deviation: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda q, noise: special.expit(special.logit(q) + deviation * noise)


# By name: the forecasts, from the true probabilities and Normal noise.
MODELS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "truth": lambda q, noise: q,
    "constant": lambda q, noise: np.full_like(q, q.mean()),
    "wrong constant": lambda q, noise: np.full_like(q, min(q.mean() + 0.03, 0.999)),
    "five values": lambda q, noise: (np.floor(5 * q) + 0.5) / 5,
    "too sure": _tempered(1.5),
    "hardly too sure": _tempered(1.02),
    "not sure enough": _tempered(0.7),
    "too low": lambda q, noise: np.clip(q - 0.05, 0.001, 0.999),
    "noisy": _noisy(1.0),
    "hardly noisy": _noisy(0.1),
}
PAIRS = (
    *(("constant", "truth"), ("wrong constant", "truth"), ("five values", "truth")),
    *(("too sure", "truth"), ("hardly too sure", "truth"), ("noisy", "truth")),
    *(("hardly noisy", "truth"), ("noisy", "constant"), ("five values", "too sure")),
    *(("too sure", "wrong constant"), ("too low", "wrong constant")),
    *(("too low", "not sure enough"), ("wrong constant", "constant")),
)


class _Model(NamedTuple):
    """The forecasts of a model for a law.

    Attributes:
      forecasts: in the order of the true probabilities, [points].
      ascending: the forecasts in ascending order, [points].
      gaps: sums of the gaps of the first forecasts in this order, [points + 1].
    """

    forecasts: np.ndarray
    ascending: np.ndarray
    gaps: np.ndarray

    def truth(self, outcomes: np.ndarray, forecasts: np.ndarray) -> float:
        """Returns the squared error of the law in the bins of a data set."""
        bins = um.bin_statistics(
            outcomes, forecasts, positive_class=True, binning_scheme="adaptive"
        )
        at = np.searchsorted(self.ascending, bins.edges[0], "right")
        at[0], at[-1] = 0, _POINTS
        mass, gap = np.diff(at), np.diff(self.gaps[at])
        return float(np.sum(gap**2 / np.maximum(mass, 1)) / _POINTS)


class Outcome(NamedTuple):
    """Shares of the intervals of a case.

    Attributes:
      truth: mean of the true differences.
      covered: share that holds the true difference.
      wrong: share that calls the worse model better, or calls one of two equal models
        better, in the more frequent direction.
      found: share without 0.
    """

    truth: float
    covered: float
    wrong: float
    found: float


def models(law: str, seed: int) -> dict[str, _Model]:
    """Returns the forecasts of all models for a law."""
    q = LAWS[law]
    noise = np.random.default_rng(seed).normal(size=_POINTS)
    made = {}
    for name, function in MODELS.items():
        forecasts = function(q, noise)
        order = np.argsort(forecasts, kind="stable")
        gaps = np.append(0.0, np.cumsum((q - forecasts)[order]))
        made[name] = _Model(forecasts, forecasts[order], gaps)
    return made


def simulate(
    law: str,
    pair: tuple[_Model, _Model],
    n: int,
    data_sets: int,
    level: float,
    rng: np.random.Generator,
) -> Outcome:
    """Draws the data sets of a case, and returns shares of their intervals."""
    truths, covered, signs = np.zeros((3, data_sets))
    for i in range(data_sets):
        index = rng.integers(_POINTS, size=n)
        labels = rng.uniform(size=n) < LAWS[law][index]
        first, second = (model.forecasts[index] for model in pair)
        lower, _, upper, _ = um.calibration_error_difference(
            first, second, labels=labels, level=level
        )
        one, two = (
            model.truth(labels, forecasts)
            for model, forecasts in zip(pair, (first, second), strict=True)
        )
        truths[i] = one - two
        covered[i] = lower - _NONE <= one - two <= upper + _NONE
        signs[i] = (lower > 0) * 1.0 - (upper < 0)
    opposite = [
        np.mean((signs == sign) & (sign * truths <= _NONE)) for sign in (-1.0, 1.0)
    ]
    return Outcome(
        float(truths.mean()),
        float(covered.mean()),
        float(max(opposite)),
        float(np.mean(signs != 0)),
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the tables."""
    yield f"{options.data_sets} data sets a row, {options.level:.0%} intervals."
    yield ""
    yield "| law | first | second | n | true difference | coverage | wrong | found |"
    yield "|---|---|---|---|---|---|---|---|"
    cases: dict[tuple[bool, int], list[tuple[Outcome, str]]] = {}
    rng = np.random.default_rng(options.seed)
    for law in options.laws:
        made = models(law, options.seed)
        for (first, second), n in itertools.product(PAIRS, options.examples):
            pair = made[first], made[second]
            case = simulate(law, pair, n, options.data_sets, options.level, rng)
            name = f"{law}: {first}, {second}"
            cases.setdefault((law in _SKEWED, n), []).append((case, name))
            yield (
                f"| {law} | {first} | {second} | {n} | {case.truth:+.5f} "
                f"| {case.covered:.1%} | {case.wrong:.1%} | {case.found:.1%} |"
            )
    yield ""
    yield "| skewed | n | mean coverage | smallest | case | most wrong | case |"
    yield "|---|---|---|---|---|---|---|"
    for (skewed, n), found in sorted(cases.items()):
        mean = np.mean([case.covered for case, _ in found])
        least, least_name = min((case.covered, name) for case, name in found)
        most, most_name = max((case.wrong, name) for case, name in found)
        yield (
            f"| {'yes' if skewed else 'no'} | {n} | {mean:.1%} | {least:.1%} "
            f"| {least_name} | {most:.1%} | {most_name} |"
        )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=LAWS)
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[200, 1000, 5000, 20_000]
    )
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
