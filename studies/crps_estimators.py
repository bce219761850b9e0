"""Bias and variance of the estimators of the CRPS from m samples of a forecast.

Forecasts are N(0, 1), and labels are drawn from them, so the exact CRPS is known.
`python -m studies.crps_estimators` prints the bias and the variance of each estimator
of `crps_score`. The exact score of each label is subtracted from its estimate, so the
variance is only the noise of the samples.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import uncertainty_metrics.numpy as um_np

_ESTIMATORS = ("fair", "nrg", "roll")
# Number of samples that are drawn at once, to bound the memory.
_BLOCK = 10**7


def errors(m: int, forecasts: int, seed: int) -> dict[str, np.ndarray]:
    """Returns estimate minus exact CRPS of every forecast, [forecasts] each."""
    rng = np.random.default_rng([seed, m])
    blocks: dict[str, list[np.ndarray]] = {name: [] for name in _ESTIMATORS}
    step = max(1, _BLOCK // m)
    for start in range(0, forecasts, step):
        size = min(step, forecasts - start)
        labels = rng.standard_normal(size)
        samples = rng.standard_normal((size, m))
        exact = um_np.crps_normal_score(labels, 0.0, 1.0)
        for name, parts in blocks.items():
            parts.append(um_np.crps_score(labels, samples, estimator=name) - exact)
    return {name: np.concatenate(parts) for name, parts in blocks.items()}


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
    yield "| samples m | estimator | bias | variance | variance / variance of fair |"
    yield "|---|---|---|---|---|"
    for m in options.samples:
        by_estimator = errors(m, options.forecasts, options.seed)
        for name, own in by_estimator.items():
            squares = np.square(own - own.mean())
            root = np.sqrt(len(own))
            ratio, error = ratio_of_variances(own, by_estimator["fair"])
            yield (
                f"| {m} | {name} | {own.mean():+.2e} +- {own.std() / root:.0e} "
                f"| {squares.mean():.3e} +- {squares.std() / root:.0e} "
                f"| {ratio:.3f} +- {error:.3f} |"
            )


def main() -> None:
    """Prints the table, and writes it to the folder of `--out`."""
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
