"""Bias and variance of the estimators of the CRPS from m samples of a forecast.

Forecasts are N(0, 1), labels are drawn from them, and the CRPS of the distribution is
known: `python -m studies.crps_estimators` prints how far each estimator of
`crps_score` is off, and how much it varies. The exact score of each label is taken off,
which leaves the noise of the samples.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import uncertainty_metrics.numpy as um_np

_ESTIMATORS = ("fair", "nrg", "roll")
# Samples at once, to bound the memory.
_BLOCK = 10**7


def errors(m: int, forecasts: int, seed: int) -> dict[str, np.ndarray]:
    """Returns estimated less exact CRPS of every forecast, [forecasts] each."""
    rng = np.random.default_rng([seed, m])
    found: dict[str, list[np.ndarray]] = {name: [] for name in _ESTIMATORS}
    step = max(1, _BLOCK // m)
    for start in range(0, forecasts, step):
        size = min(step, forecasts - start)
        labels = rng.standard_normal(size)
        samples = rng.standard_normal((size, m))
        exact = um_np.crps_normal_score(labels, 0.0, 1.0)
        for name, of in found.items():
            of.append(um_np.crps_score(labels, samples, estimator=name) - exact)
    return {name: np.concatenate(of) for name, of in found.items()}


def ratio_of_variances(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Returns Var(a) / Var(b) of paired errors, and its standard error."""
    squares_a, squares_b = (np.square(x - x.mean()) for x in (a, b))
    ratio = squares_a.mean() / squares_b.mean()
    # To first order the ratio is a mean of these.
    terms = (squares_a - ratio * squares_b) / squares_b.mean()
    return ratio, terms.std() / np.sqrt(len(terms))


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield (
        f"{options.forecasts} forecasts N(0, 1), whose mean CRPS is "
        f"{1 / np.sqrt(np.pi):.4f}; standard errors after +-."
    )
    yield ""
    yield "| samples m | estimator | bias | variance | variance / that of fair |"
    yield "|---|---|---|---|---|"
    for m in options.samples:
        found = errors(m, options.forecasts, options.seed)
        for name, of in found.items():
            squares = np.square(of - of.mean())
            root = np.sqrt(len(of))
            ratio, error = ratio_of_variances(of, found["fair"])
            yield (
                f"| {m} | {name} | {of.mean():+.2e} +- {of.std() / root:.0e} "
                f"| {squares.mean():.3e} +- {squares.std() / root:.0e} "
                f"| {ratio:.3f} +- {error:.3f} |"
            )


def main() -> None:
    """Prints the table, and writes it where `--out` says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--forecasts", type=int, default=200000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent / "results"
    )
    options = parser.parse_args()
    lines = ["# Estimators of the CRPS from samples", ""]
    print("\n".join(lines), flush=True)
    for row in rows(options):
        lines.append(row)
        print(row, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "crps_estimators.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
