"""How often weighted conformal intervals hold new targets after a known shift.

Held-out inputs are Normal. For new inputs the mean of the first column is larger by the
shift, so the ratio of the densities is exp(shift x - shift^2 / 2). The noise grows with
x, so intervals without weights are too narrow for new examples. `python -m
studies.weighted_coverage` prints the coverage of 90% intervals with its standard error:
without weights, with the true ratio, and with estimates of the ratio. It also prints
the share of infinite intervals and the median width.

The estimates are the odds of a logistic regression that separates new inputs from
held-out inputs. It is fitted to other examples, n of each kind, and reads the first
column; or all 20 columns; or only the sign of the first column, which is a wrong model.
The error of the weights is half of the mean of abs(estimate - ratio), both scaled to a
mean of 1. The coverage loses at most this error (Lei and Candes 2021).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

ALPHA = 0.1
_NEW = 200
_COLUMNS = 20


class Held(NamedTuple):
    """The results of one data set.

    Attributes:
      coverage: share of the new targets that the intervals hold.
      infinite: share of the intervals that are infinite.
      width: median width of the intervals.
      error: half of the mean distance of the weights from the ratio.
    """

    coverage: float
    infinite: float
    width: float
    error: float


def _inputs(rng: np.random.Generator, n: int, shift: float) -> np.ndarray:
    x = rng.normal(size=(n, _COLUMNS))
    x[:, 0] += shift
    return x


def _targets(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.exp(x[:, 0] / 2) * rng.normal(size=len(x))


def log_odds(old: np.ndarray, new: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Fits a logistic regression with a small ridge penalty, and returns the function
    from inputs to the log-odds that they are new.
    """
    columns = np.concatenate([old, new])
    columns = np.column_stack([np.ones(len(columns)), columns])
    is_new = np.arange(len(columns)) >= len(old)
    factors = np.zeros(columns.shape[1])
    for _ in range(20):  # Newton's steps.
        p = special.expit(columns @ factors)
        gradient = columns.T @ (p - is_new) + 1e-3 * factors
        hessian = (columns.T * (p * (1 - p))) @ columns
        factors -= np.linalg.solve(hessian + 1e-3 * np.eye(len(factors)), gradient)
    return lambda x: factors[0] + x @ factors[1:]


# The part of the inputs that the regression reads.
READ: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first column": lambda x: x[:, :1],
    "20 columns": lambda x: x,
    "sign": lambda x: np.sign(x[:, :1]),
}
WEIGHTS = ("none", "true ratio", *READ)


def _weights(
    rng: np.random.Generator, name: str, x: np.ndarray, n: int, shift: float
) -> np.ndarray:
    """Returns the weights of inputs; estimates use n other inputs of each kind."""
    if name == "true ratio":
        return np.exp(shift * x[:, 0] - shift**2 / 2)
    read = READ[name]
    old, new = (read(_inputs(rng, n, s)) for s in (0.0, shift))
    return np.exp(log_odds(old, new)(read(x)))


def held(rng: np.random.Generator, name: str, n: int, shift: float) -> Held:
    """Draws held-out examples and new examples, and makes intervals for the latter."""
    old, new = _inputs(rng, n, 0.0), _inputs(rng, _NEW, shift)
    y = _targets(rng, new)
    model = um.conformal.ConformalRegressor(alpha=ALPHA)
    error = 0.0
    if name == "none":
        model.fit(_targets(rng, old), np.zeros(n))
        lower, upper = model.predict(np.zeros(_NEW))
    else:
        x = np.concatenate([old, new])
        weights = _weights(rng, name, x, n, shift)
        model.fit(_targets(rng, old), np.zeros(n), sample_weight=weights[:n])
        lower, upper = model.predict(np.zeros(_NEW), test_weight=weights[n:])
        ratio = _weights(rng, "true ratio", old, n, shift)
        distance = weights[:n] / weights[:n].mean() - ratio / ratio.mean()
        error = float(np.abs(distance).mean() / 2)
    coverage = um.conformal.coverage(y, (lower, upper))
    infinite = float(np.mean(np.isinf(upper)))
    return Held(coverage, infinite, float(np.median(upper - lower)), error)


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row, {_NEW} new examples each."
    yield ""
    yield "| shift | n | weights | coverage | infinite | width | error of the weights |"
    yield "|---|---|---|---|---|---|---|"
    for shift in options.shifts:
        for n in options.examples:
            for name in WEIGHTS:
                rng = np.random.default_rng([options.seed, n, int(10 * shift)])
                found = [held(rng, name, n, shift) for _ in range(options.data_sets)]
                coverage, infinite, _, error = np.mean(found, axis=0)
                width = np.median([one.width for one in found])
                noise = np.std([one.coverage for one in found]) / np.sqrt(len(found))
                yield (
                    f"| {shift} | {n} | {name} | {coverage:.3f} +- {noise:.3f} "
                    f"| {infinite:.1%} | {width:.1f} | {error:.2f} |"
                )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shifts", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--examples", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
