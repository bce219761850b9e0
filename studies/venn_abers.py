"""How good Venn-Abers calibration is, beside Platt scaling and isotonic calibration.

Forecasts are drawn from models whose true frequencies are known. `python -m
studies.venn_abers` fits each calibrator to n examples. Its first table is about new
examples: the root mean square distance of the calibrated probabilities from the true
frequencies, by how many thousandths of a nat their log loss is above the log loss of
the frequencies, and the mean of p1 - p0. (Platt scaling leaves out the few data sets
that a threshold separates.)

The second table tests the promise that the end that belongs to the label is calibrated.
Call this end p_label. The table has the mean of label - p_label over all new examples,
and over the examples with p_label in each fifth of [0, 1], in standard errors. These
means differ from 0 only by chance. The table also has them for the calibrated
probability q, for which this is not promised.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

_NEW = 500
_BINS = 5
# The function from the forecast of each model to the true frequency.
MODELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda p: p,
    "too sure": lambda p: special.expit(0.5 * special.logit(p)),
    "bent": lambda p: (
        0.1 + 0.8 * np.where(p < 0.5, 2 * p**2, 1 - 2 * (1 - p) ** 2) ** 2
    ),
}
CALIBRATORS: dict[str, Callable[[], Any]] = {
    "Platt": um.PlattScaling,
    "isotonic": um.IsotonicCalibration,
    "Venn-Abers": um.VennAbersCalibration,
}


class Data(NamedTuple):
    """Examples drawn from a model.

    Attributes:
      p: forecasts [n].
      truth: true frequencies [n].
      labels: labels 0 or 1, [n].
    """

    p: np.ndarray
    truth: np.ndarray
    labels: np.ndarray


def draw(rng: np.random.Generator, model: str, n: int) -> Data:
    """Returns n examples of a model."""
    p = rng.beta(0.8, 0.8, n).clip(1e-6, 1 - 1e-6)
    truth = MODELS[model](p)
    return Data(p, truth, (rng.random(n) < truth).astype(np.int64))


def _log_loss(truth: np.ndarray, q: np.ndarray) -> float:
    """Returns the expected log loss of forecasts q, mean over the examples."""
    return float(-np.mean(special.xlogy(truth, q) + special.xlogy(1 - truth, 1 - q)))


def distances(new: Data, q: np.ndarray) -> tuple[float, float]:
    """Returns the mean squared distance of q from the truth, and by how much the log
    loss of q is above that of the truth.
    """
    excess = _log_loss(new.truth, q) - _log_loss(new.truth, new.truth)
    return float(np.mean((q - new.truth) ** 2)), excess


def residuals(labels: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Returns the sums of label - q: over all examples, and over each bin of q."""
    place = np.minimum((q * _BINS).astype(int), _BINS - 1)
    sums = np.bincount(place, labels - q, _BINS)
    return np.append(sums.sum(), sums)


def own_ends(map: um.VennAbersCalibration, new: Data) -> np.ndarray:
    """Returns p_label for each example: p1 if its label is 1, p0 if it is 0."""
    p0, p1 = map.predict_interval(probabilities=new.p)
    return np.where(new.labels == 1, p1, p0)


def standard_errors(sums: np.ndarray) -> np.ndarray:
    """Returns the means over N data sets of `residuals` [N, bins + 1], divided by their
    standard errors.
    """
    error = np.std(sums, axis=0) / np.sqrt(len(sums))
    return np.mean(sums, axis=0) / np.where(error > 0, error, 1.0)


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the tables."""
    yield f"{options.data_sets} data sets a row, {_NEW} new examples each."
    yield ""
    yield "| model | n | calibrator | distance from the truth | log loss | p1 - p0 |"
    yield "|---|---|---|---|---|---|"
    promises = []
    for model in MODELS:
        for n in options.examples:
            found: dict[str, list[tuple[float, float]]] = {}
            sums, widths = [], []
            for seed in range(options.data_sets):
                rng = np.random.default_rng([options.seed, seed, n])
                fit, new = draw(rng, model, n), draw(rng, model, _NEW)
                found.setdefault("none", []).append(distances(new, new.p))
                for name, calibrator in CALIBRATORS.items():
                    try:
                        map = calibrator().fit(fit.labels, probabilities=fit.p)
                    except ValueError:  # A threshold separates the labels.
                        continue
                    q = map.transform(probabilities=new.p)
                    found.setdefault(name, []).append(distances(new, q))
                    if name == "Venn-Abers":
                        own = own_ends(map, new)
                        sums.append([residuals(new.labels, x) for x in (own, q)])
                        p0, p1 = map.predict_interval(probabilities=new.p)
                        widths.append(np.mean(p1 - p0))
            for name, pairs in found.items():
                squared, excess = np.mean(pairs, axis=0)
                width = f"{np.mean(widths):.4f}" if name == "Venn-Abers" else ""
                yield (
                    f"| {model} | {n} | {name} | {np.sqrt(squared):.4f} "
                    f"| {1000 * excess:.1f} | {width} |"
                )
            for i, kind in enumerate(("p_label", "q")):
                z = standard_errors(np.array(sums)[:, i])
                shown = " | ".join(f"{x:.1f}" for x in z)
                promises.append(f"| {model} | {n} | {kind} | {shown} |")
    yield ""
    yield "Means of label - probability, in standard errors:"
    yield ""
    fifths = " | ".join(f"to {(i + 1) / _BINS:.1f}" for i in range(_BINS))
    yield f"| model | n | probability | all | {fifths} |"
    yield "|---" * (4 + _BINS) + "|"
    yield from promises


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[50, 200, 1000, 5000]
    )
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
