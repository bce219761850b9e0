"""How often conformal sets and intervals hold the truth.

The sets are fitted to n examples, and alpha is the share that may be missed. In theory
the probability that a set holds a new example is at least 1 - alpha, and at most
1 - alpha + 1 / (n + 1) if no scores are equal. With groups this is true within each
group, where n counts the examples of the group. With `groups="label"` the groups are
the classes; shown are the class with the fewest and that with the most held-out
examples. Labels are drawn from probabilities
that differ from the forecasts, because the promise may not depend on good forecasts.
`python -m studies.conformal_coverage` prints the coverage of new examples, and by how
many standard errors it is above the lower bound and below the upper bound; then the
smallest of these numbers.

In some cases scores may be equal, so the coverage may be above the upper bound: the
forecasts "ties" have few values; the scores "aps" and "raps", unless randomized, are
equal for all sets that hold all possible classes; and the quantile of a `ScoreSketch`
is that of "lac", rounded up.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um

# The number of new examples in a data set.
_NEW = 300
# The data sets of a case have at most so many probabilities in all.
_MOST = 4 * 10**7
_GROUPS = np.array(["few", "some", "many"])
_CLASSIFIERS = {
    "lac": ("lac", False),
    "aps": ("aps", False),
    "aps, randomized": ("aps", True),
    "raps": ("raps", False),
    "raps, randomized": ("raps", True),
}
_REGRESSORS = ("absolute", "normalized", "cqr")


class Held(NamedTuple):
    """Whether each new example of a data set is held, and n."""

    held: np.ndarray
    n: int


def _forecasts(
    rng: np.random.Generator, ties: bool, n: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns labels and probabilities."""
    p = rng.dirichlet(np.full(classes, 0.3), n)
    if ties:
        p = rng.multinomial(8, p) / 8
    true = np.sqrt(p + 1e-3 / classes)
    ends = np.cumsum(true / true.sum(axis=1, keepdims=True), axis=1)
    return np.sum(rng.random((n, 1)) > ends[:, :-1], axis=1), p


def _grouped(
    rng: np.random.Generator, sizes: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the groups of examples, and a mask of the examples for each group.

    The groups depend on `sizes`, with noise.
    """
    noisy = sizes + 0.2 * sizes.std() * rng.normal(size=len(sizes))
    groups = _GROUPS[np.searchsorted(np.quantile(noisy, [0.1, 0.4]), noisy)]
    return groups, [groups == name for name in _GROUPS]


def classifiers(
    rng: np.random.Generator, ties: bool, n: int, classes: int, alphas: list[float]
) -> Iterator[tuple[str, float, Held]]:
    """Yields score, alpha and the held examples for one data set."""
    y, p = _forecasts(rng, ties, n + _NEW, classes)
    new = y[n:, None]
    groups, masks = _grouped(rng, p.max(axis=1))
    sketch = um.ScoreSketch(max_prob=False)
    sketch.update(y[:n], p[:n])
    for alpha in alphas:
        for name, (score, randomized) in _CLASSIFIERS.items():
            model = um.conformal.ConformalClassifier(score, alpha, randomized)
            sets = model.fit(y[:n], p[:n], seed=rng).predict(p[n:], seed=rng)
            yield name, alpha, Held(np.take_along_axis(sets, new, 1), n)
        model = um.conformal.ConformalClassifier("lac", alpha)
        model.fit(y[:n], p[:n], groups=groups[:n])
        sets = model.predict(p[n:], groups=groups[n:])
        held = np.take_along_axis(sets, new, 1)[:, 0]
        for group, mask in zip(_GROUPS, masks, strict=True):
            yield f"lac of {group}", alpha, Held(held[mask[n:]], int(mask[:n].sum()))
        counts = np.bincount(y[:n], minlength=classes)
        ends = {"rarest": np.argmin(counts), "most frequent": np.argmax(counts)}
        for name in ("lac", "aps, randomized"):
            score, randomized = _CLASSIFIERS[name]
            model = um.conformal.ConformalClassifier(score, alpha, randomized)
            model.fit(y[:n], p[:n], groups="label", seed=rng)
            held = np.take_along_axis(model.predict(p[n:], seed=rng), new, 1)[:, 0]
            for kind, k in ends.items():
                of_class = Held(held[y[n:] == k], int(counts[k]))
                yield f"{name} by label, {kind} class", alpha, of_class
        least = 1 - sketch.conformal_quantile(alpha)
        yield "sketch", alpha, Held(np.take_along_axis(p[n:], new, 1) >= least, n)


def regressors(
    rng: np.random.Generator, ties: bool, n: int, alphas: list[float]
) -> Iterator[tuple[str, float, Held]]:
    """Yields score, alpha and the held examples, for intervals of real labels."""
    x = rng.uniform(0.5, 2, n + _NEW)
    y = x * rng.standard_t(3, n + _NEW)
    if ties:
        x, y = np.ceil(x), np.rint(y)
    groups, masks = _grouped(rng, x)
    forecasts = {
        "absolute": {"means": np.zeros_like(x)},
        "normalized": {"means": 0.1 * x, "stddevs": x},
        "cqr": {"lower": -x, "upper": 0.5 * x},
    }

    def held(score: str, alpha: float, **grouped: np.ndarray) -> np.ndarray:
        model = um.conformal.ConformalRegressor(score, alpha)
        given = forecasts[score] | grouped
        model.fit(y[:n], **{name: value[:n] for name, value in given.items()})
        ends = model.predict(**{name: value[n:] for name, value in given.items()})
        return (ends[0] <= y[n:]) & (y[n:] <= ends[1])

    for alpha in alphas:
        for score in _REGRESSORS:
            yield score, alpha, Held(held(score, alpha), n)
        grouped = held("absolute", alpha, groups=groups)
        for group, mask in zip(_GROUPS, masks, strict=True):
            held_in_group = Held(grouped[mask[n:]], int(mask[:n].sum()))
            yield f"absolute of {group}", alpha, held_in_group


def _bounds(alpha: float, found: list[Held], exact: bool) -> tuple[float, float]:
    """Returns by how many standard errors the mean coverage is above the lower bound,
    and below the upper bound.
    """
    new = sum(each.held.size for each in found)
    least = np.sqrt(alpha * (1 - alpha) / new)

    def errors(excess: list[float]) -> float:
        error = max(np.std(excess) / np.sqrt(len(excess)), least)
        return float(np.mean(excess) / error)

    above = [each.held.mean() - (1 - alpha) for each in found]
    below = [1 / (each.n + 1) - x for each, x in zip(found, above, strict=True)]
    return errors(above), errors(below) if exact else np.inf


def _is_exact(name: str, ties: bool, classes: int) -> bool:
    """Says if no two scores are equal."""
    alike = name in ("aps", "raps", "sketch")
    # Of 1000 probabilities some are about 0, and so equal.
    return not (ties or alike or classes >= 1000)


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the tables."""
    yield f"At most {options.data_sets} data sets a row, {_NEW} new examples each."
    yield ""
    yield (
        "| score | forecasts | classes | n | alpha | coverage | above 1 - alpha "
        "| below 1 - alpha + 1 / (n + 1) |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    least: dict[str, np.ndarray] = {}
    count = 0
    for ties in (False, True):
        for classes in (1, *options.classes):  # 1 means intervals of real labels.
            for n in options.examples:
                data_sets = min(options.data_sets, _MOST // ((n + _NEW) * classes))
                found: dict[tuple[str, float], list[Held]] = defaultdict(list)
                for seed in range(data_sets):
                    rng = np.random.default_rng([options.seed, seed, n, classes])
                    each = (
                        classifiers(rng, ties, n, classes, options.alphas)
                        if classes > 1
                        else regressors(rng, ties, n, options.alphas)
                    )
                    for name, alpha, one in each:
                        if one.held.size:
                            found[name, alpha].append(one)
                for (name, alpha), of in found.items():
                    bounds = _bounds(alpha, of, _is_exact(name, ties, classes))
                    least[name] = np.minimum(least.get(name, np.inf), bounds)
                    count += 1
                    kind = "ties" if ties else "distinct"
                    coverage = np.mean([one.held.mean() for one in of])
                    yield (
                        f"| {name} | {kind} | {classes} | {n} | {alpha} "
                        f"| {coverage:.4f} | {bounds[0]:.1f} | {bounds[1]:.1f} |"
                    )
    yield ""
    yield f"The smallest of {count} rows, in standard errors:"
    yield ""
    yield "| score | above 1 - alpha | below 1 - alpha + 1 / (n + 1) |"
    yield "|---|---|---|"
    for name, (above, below) in least.items():
        yield f"| {name} | {above:.1f} | {below:.1f} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10, 100, 1000])
    parser.add_argument("--examples", type=int, nargs="+", default=[20, 200, 2000])
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.01, 0.1, 0.5])
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some n are too small for alpha on purpose.
        for row in rows(options):
            print(row, flush=True)


if __name__ == "__main__":
    main()
