"""How much worse calibrators make models that are calibrated already.

Labels are drawn from the forecasts. So no map is better than no map, and a fit finds
only noise. `python -m studies.calibrators_harm` prints by how much the cross-validated
negative log-likelihood becomes worse: the mean over data sets with its standard error,
and this mean divided by the standard error of the likelihood itself. If that ratio is
below 1, the harm is smaller than a data set of this size can show. For maps of steps,
whose forecasts may be 0, the score is the Brier score.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

_FOLDS = 5
_MEMBERS = 4
_CALIBRATORS: dict[str, Callable[[], Any]] = {
    "TemperatureScaling": um.TemperatureScaling,
    "VectorScaling": um.VectorScaling,
    "MatrixScaling": um.MatrixScaling,
    "MatrixScaling, odir": lambda: um.MatrixScaling(regularization="odir"),
    "PlattScaling": um.PlattScaling,
    "BetaCalibration": um.BetaCalibration,
    "QuadraticCalibration": um.QuadraticCalibration,
    "SplineCalibration": um.SplineCalibration,
    "EnsembleTemperatureScaling": um.EnsembleTemperatureScaling,
    "IsotonicCalibration": um.IsotonicCalibration,
    "HistogramBinning": um.HistogramBinning,
    "VennAbersCalibration": um.VennAbersCalibration,  # For two classes only.
}
_STEPS = ("IsotonicCalibration", "HistogramBinning")
# The standard deviation of the logits of a model.
_SHARPNESS = {"unsure": 0.7, "sure": 3.0}


def _mean_forecast(members: np.ndarray) -> np.ndarray:
    """Returns the logarithms [n, K] of the mean probabilities of members [n, M, K]."""
    return np.log(special.softmax(members, axis=2).mean(axis=1))


def _drawn(
    rng: np.random.Generator, n: int, classes: int, sharpness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns labels, and logits [n, M, K] of members.

    The labels are drawn from the mean forecast of the members.
    """
    common = sharpness * rng.normal(size=[n, 1, classes])
    members = common + sharpness / 2 * rng.normal(size=[n, _MEMBERS, classes])
    logs = _mean_forecast(members)
    return np.argmax(logs + rng.gumbel(size=logs.shape), axis=1), members


def harms(
    name: str, labels: np.ndarray, members: np.ndarray, score: Callable[..., Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the scores of the examples, and by how much the map makes them worse."""
    logs = _mean_forecast(members)
    logits = members if name == "EnsembleTemperatureScaling" else logs
    recalibrated = np.empty_like(logs)
    fold = np.arange(len(labels)) % _FOLDS
    for k in range(_FOLDS):
        fit, held_out = fold != k, fold == k
        calibrator = _CALIBRATORS[name]().fit(labels[fit], logits[fit])
        recalibrated[held_out] = calibrator.transform(logits[held_out])
    before = score(labels, logits=logs, aggregate=False)
    return before, score(labels, logits=recalibrated, aggregate=False) - before


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"At most {options.data_sets} data sets a row, {_FOLDS} folds."
    yield ""
    yield "| calibrator | classes | n | forecasts | before | worse by | harm / noise |"
    yield "|---|---|---|---|---|---|---|"
    most: dict[str, float] = {}
    cases = itertools.product(
        options.calibrators, options.classes, options.examples, _SHARPNESS
    )
    for name, classes, n, forecasts in cases:
        score = um.brier_score if name in _STEPS else um.negative_log_likelihood
        means, changes, noises = [], [], []
        refused = 0
        for seed in range(options.data_sets):
            rng = np.random.default_rng([options.seed, seed, n, classes])
            data = _drawn(rng, n, classes, _SHARPNESS[forecasts])
            try:
                before, worse = harms(name, *data, score)
            except ValueError:  # The labels lack a class, or K is not 2.
                refused += 1
                continue
            means.append(before.mean())
            changes.append(worse.mean())
            noises.append(before.std() / np.sqrt(n))
        if not means:
            continue
        change, noise = np.mean(changes), np.mean(noises)
        error = np.std(changes) / np.sqrt(len(changes))
        most[name] = max(most.get(name, -np.inf), change / noise)
        yield (
            f"| {name} | {classes} | {n} | {forecasts} | {np.mean(means):.4f} "
            f"| {change:.5f} +- {error:.5f} | {change / noise:.2f} |"
            + (f" ({refused} data sets refused)" if refused else "")
        )
    yield ""
    yield "| calibrator | largest harm / noise |"
    yield "|---|---|"
    for name, share in most.items():
        yield f"| {name} | {share:.2f} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--calibrators", nargs="+", default=list(_CALIBRATORS), choices=_CALIBRATORS
    )
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--data-sets", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
