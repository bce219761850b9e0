"""Coverage of intervals of the AUROC, and the level of the test of a difference.

`python -m studies.auroc_coverage` draws scores of several shapes with a known AUROC of
0.5 to 0.995, and 2 to 100 positive examples, with as many negative examples or ten
times as many. The first table has the coverage of the 95% intervals of
`auroc_interval`: the mean and the lowest over the AUROCs and shapes, for Normal scores
of equal spread and for all shapes; and the same for the interval by DeLong's standard
error on the scale of the log-odds.

The second table is about `auroc_difference` of two correlated scores with equal AUROCs:
how often its test at 5% rejects, and how often the Normal test by DeLong's standard
error does. The scores of the shape "wide" have positive examples of twice the spread
for one of the models.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.selective.auroc_intervals import AUROCInterval

_AUROCS = (0.5, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)
# The spread of the positive and of the negative examples of Normal scores.
_SPREADS = {"normal": (1, 1), "wide": (2, 1), "narrow": (1, 2), "rounded": (1, 1)}
_SHAPES = (*_SPREADS, "exponential", "apart", "apart below")
_FAR = 100.0
_Z = float(special.ndtri(0.975))


def scores_of(
    rng: np.random.Generator, shape: str, auroc: float, m: int, n: int
) -> tuple[np.ndarray, float]:
    """Returns scores of m positive and n negative examples, and the true AUROC."""
    if shape == "exponential":
        positive = rng.exponential(auroc / (1 - auroc), m)
        return np.append(positive, rng.exponential(size=n)), auroc
    if shape == "apart":  # Some positive examples are above all, others are like all.
        lifted = rng.random(m) < 2 * auroc - 1
        positive = rng.normal(size=m) + _FAR * lifted
        return np.append(positive, rng.normal(size=n)), auroc
    if shape == "apart below":
        turned, _ = scores_of(rng, "apart", auroc, n, m)
        return -np.append(turned[n:], turned[:n]), auroc
    above, below = _SPREADS[shape]
    shift = special.ndtri(auroc) * np.hypot(above, below)
    scores = np.append(shift + above * rng.normal(size=m), below * rng.normal(size=n))
    if shape != "rounded":
        return scores, auroc
    # Five values: whole numbers from -1 to 3.
    edges = np.append(np.arange(-1, 3) + 0.5, np.inf)
    masses = [np.diff(special.ndtr(edges - at), prepend=0.0) for at in (shift, 0.0)]
    wins = np.cumsum(masses[1]) - masses[1] / 2
    return np.clip(np.round(scores), -1, 3), float(masses[0] @ wins)


def by_delong(found: AUROCInterval) -> tuple[float, float]:
    """Returns the ends by DeLong's standard error on the scale of the log-odds."""
    _, auroc, _ = found
    if not (found.standard_error > 0 and 0 < auroc < 1):
        return found.lower, found.upper
    half = _Z * found.standard_error / (auroc * (1 - auroc))
    middle = special.logit(auroc)
    return special.expit(middle - half), special.expit(middle + half)


def coverage(
    rng: np.random.Generator, data_sets: int, shape: str, auroc: float, m: int, n: int
) -> tuple[float, float]:
    """Returns the coverage of both intervals."""
    labels, held = np.repeat([1, 0], [m, n]), np.zeros(2)
    for _ in range(data_sets):
        scores, truth = scores_of(rng, shape, auroc, m, n)
        found = um.auroc_interval(labels, scores)
        for k, (lower, upper) in enumerate((found[::2], by_delong(found))):
            held[k] += lower - 1e-12 <= truth <= upper + 1e-12
    return tuple(held / data_sets)


def rejections(
    rng: np.random.Generator,
    data_sets: int,
    auroc: float,
    sizes: tuple[int, int],
    spread: float,
    correlation: float,
) -> tuple[float, float]:
    """Returns how often both tests reject that two equal AUROCs are equal."""
    labels, rejected = np.repeat([1, 0], sizes), np.zeros(2)
    is_positive = labels == 1
    for _ in range(data_sets):
        common = np.sqrt(correlation) * rng.normal(size=sum(sizes))
        scores = []
        for above in (1.0, spread):
            own = common + np.sqrt(1 - correlation) * rng.normal(size=sum(sizes))
            shift = special.ndtri(auroc) * np.hypot(above, 1.0)
            scores.append(np.where(is_positive, shift + above * own, own))
        found = um.auroc_difference(labels, *scores)
        error = found.standard_error
        rejected += (
            found.p_value < 0.05,
            error > 0 and abs(found.estimate) > _Z * error,
        )
    return tuple(rejected / data_sets)


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of both tables."""
    rng = np.random.default_rng(options.seed)
    yield (
        "| positive | negative | normal: mean | lowest | all shapes: mean | lowest "
        "| DeLong, log-odds: mean | lowest |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for m, times in itertools.product((2, 3, 5, 10, 20, 50, 100), (1, 10)):
        found = np.array(
            [
                [
                    coverage(rng, options.data_sets, shape, auroc, m, m * times)
                    for auroc in _AUROCS
                ]
                for shape in _SHAPES
            ]
        )
        parts = found[:1, :, 0], found[..., 0], found[..., 1]
        shown = " | ".join(f"{p.mean():.1%} | {p.min():.1%}" for p in parts)
        yield f"| {m} | {m * times} | {shown} |"
    yield ""
    yield "| positive | negative | mean | largest | Normal: mean | largest |"
    yield "|---|---|---|---|---|---|"
    for sizes in ((3, 97), (5, 95), (10, 90), (20, 80), (20, 400), (100, 1000)):
        cases = itertools.product((0.5, 0.75, 0.9, 0.97), (1.0, 2.0), (0.0, 0.5, 0.9))
        found = np.array(
            [
                rejections(rng, options.data_sets, auroc, sizes, spread, correlation)
                for auroc, spread, correlation in cases
            ]
        )
        shown = " | ".join(f"{p.mean():.1%} | {p.max():.1%}" for p in found.T)
        yield f"| {sizes[0]} | {sizes[1]} | {shown} |"


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
