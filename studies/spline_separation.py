"""How often a spline separates the labels, and what the calibration index is then.

The log-odds of the risks are Normal with standard deviation 1, and the risks are the
true probabilities of the events. `python -m studies.spline_separation` prints for which
share of the data sets a restricted cubic spline separates some of the labels, so that
the likelihood has no maximum (linear programming decides). For these data sets and for
the others it prints the mean ICI and the median of E_max. The true values are 0.

The last column has the largest change of the four numbers of a data set if the labels
are exchanged.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import numpy as np
from scipy import interpolate, optimize, special

import uncertainty_metrics.numpy as um

_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)


def splines(z: np.ndarray) -> np.ndarray:
    """Returns the natural cubic splines that are 1 at one knot and 0 at the others, and
    straight beyond the knots, [N, 5].
    """
    knots = np.quantile(z, _KNOTS, method="averaged_inverted_cdf")
    inside = interpolate.CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    near = np.clip(z, knots[0], knots[-1])
    return inside(near) + inside(near, 1) * (z - near)[:, None]


def separates(rows: np.ndarray, labels: np.ndarray) -> bool:
    """Says if some combination of the columns is >= 0 at all events and <= 0 at all
    other examples, and 0 for none or some of them only.
    """
    signed = np.where(labels[:, None] == 1, rows, -rows)
    best = optimize.linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(rows)),
        bounds=(-1, 1),
        method="highs",
    )
    return bool(-best.fun > 1e-7)


def _middle(rate: float) -> float:
    """Returns the mean log-odds for which the mean risk is the rate."""
    normal = special.ndtri((np.arange(10_000) + 0.5) / 10_000)
    return optimize.brentq(
        lambda a: special.expit(a + normal).mean() - rate, -30.0, 30.0
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{options.data_sets} data sets in each row; ICI is a mean, E_max a median, of "
        "the data sets that a spline separates / of the others."
    )
    yield ""
    yield "| examples | events | separated | ICI | E_max | change by exchange |"
    yield "|---|---|---|---|---|---|"
    for n, events in itertools.product(options.examples, options.events):
        rng = np.random.default_rng(options.seed)
        middle = _middle(events / n)
        separated, found, changes = [], [], []
        while len(found) < options.data_sets:
            z = middle + rng.normal(size=n)
            risks = special.expit(z)
            labels = (rng.random(n) < risks).astype(int)
            if not labels.any():
                continue
            separated.append(separates(splines(z), labels))
            found.append(um.integrated_calibration_index(labels, risks))
            turned = um.integrated_calibration_index(1 - labels, 1 - risks)
            changes.append(np.abs(np.subtract(found[-1], turned)).max())
        is_separated, index = np.array(separated), np.array(found)
        parts = [index[is_separated], index[~is_separated]]
        shown = [
            [f"{part[:, 0].mean():.3f}", f"{np.median(part[:, 3]):.2f}"]
            if len(part)
            else ["-", "-"]
            for part in parts
        ]
        yield (
            f"| {n} | {events} | {is_separated.mean():.0%} "
            f"| {shown[0][0]} / {shown[1][0]} | {shown[0][1]} / {shown[1][1]} "
            f"| {max(changes):.0e} |"
        )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--events", type=int, nargs="+", default=[2, 3, 5, 10, 20, 50])
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
