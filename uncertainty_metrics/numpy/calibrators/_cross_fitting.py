"""Cross-fitted maps: each example is recalibrated by a map fitted to other examples."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibrators import _calibrator
from uncertainty_metrics.numpy.calibrators.one_against_rest import (
    BetaCalibration,
    PlattScaling,
)
from uncertainty_metrics.numpy.calibrators.temperature_scaling import TemperatureScaling

# Makes a calibrator for the forecasts that it will be fitted to.
MakeMap = Callable[[np.ndarray], Any]


def checked_folds(folds: Any, number: float, units: str = "examples") -> int:
    """Returns the number of folds.

    Args:
      folds: the number, as passed.
      number: of the units, which bounds it.
      units: what is in one fold as a whole: "examples" or "clusters".

    Raises:
      ValueError: it is not an integer from 2 to the number of units.
    """
    checked = _checks.positive_integer("folds", folds)
    if checked < 2:
        raise _checks.error("folds", "an integer of at least 2", folds)
    if checked > number:
        expected = f"at most {number:.0f}, the number of {units}"
        raise _checks.error("folds", expected, folds)
    return checked


def random_folds(
    size: int, folds: int, rng: np.random.Generator, clusters: np.ndarray | None = None
) -> np.ndarray:
    """Returns the fold of each example [N], drawn without regard to the labels. All
    examples of a cluster are in one fold.

    If each fold had the same share of each class, the other folds would tell a map how
    frequent the classes are in the fold that judges the map.

    Args:
      size: number of examples, N.
      folds: number of folds.
      rng: random generator.
      clusters: number of the cluster of each example, [N], or None.
    """
    if clusters is None:
        return rng.permutation(size) % folds
    return (rng.permutation(int(clusters.max()) + 1) % folds)[clusters]


def splits(fold: np.ndarray, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields the masks of the other folds and of the fold itself, for each fold."""
    for index in range(folds):
        yield fold != index, fold == index


def cross_fitted(
    make: MakeMap,
    outcomes: Mapping[str, np.ndarray | None],
    name: str,
    forecasts: np.ndarray,
    fold: np.ndarray,
    folds: int,
) -> np.ndarray:
    """Returns the forecasts of each fold by the map fitted to the other folds.

    Args:
      make: makes a calibrator.
      outcomes: arguments of `fit` [N, ...]: labels or their distributions, and weights.
      name: "logits" or "probabilities".
      forecasts: [N, K]; or [N] for class 1 of two.
      fold: fold of each example, [N].
      folds: number of folds.

    Raises:
      ValueError, RuntimeError: a map cannot be fitted.
    """
    after = np.empty(forecasts.shape)
    for number, (rest, held_out) in enumerate(splits(fold, folds)):
        if not np.any(held_out):
            continue
        given = forecasts[rest]
        data = {k: v if v is None else v[rest] for k, v in outcomes.items()}
        with _naming_the_fold(number):
            fitted = make(given).fit(**{name: given}, **data)
            after[held_out] = fitted.transform(**{name: forecasts[held_out]})
    return after


@contextlib.contextmanager
def _naming_the_fold(number: int) -> Iterator[None]:
    """Adds to an error which examples a map was fitted to."""
    try:
        yield
    except (ValueError, RuntimeError) as wrong:
        where = f"{wrong} This was the fit to the examples outside fold {number}."
        raise type(wrong)(where) from wrong


def default_map(p: np.ndarray) -> _calibrator.Calibrator:
    """Returns the calibrator that the guide recommends for probabilities [N, K], or [N]
    of class 1: a temperature for more than two classes, else beta calibration.
    """
    if p.ndim > 1 and p.shape[1] > 2:
        return TemperatureScaling()
    of_class_1 = p if p.ndim == 1 else p[:, 1]
    least = _calibrator.LEAST
    # Two values do not determine the three parameters of beta calibration.
    distinct = np.unique(np.clip(of_class_1, least, 1 - least))
    return BetaCalibration() if len(distinct) > 2 else PlattScaling()
