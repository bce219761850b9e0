"""Calibrators of single probabilities, for each class against all others."""

from __future__ import annotations

import abc
import contextlib
from typing import Any, ClassVar

import numpy as np
from scipy import special

from uncertainty_metrics import _calibration_spec, _checks
from uncertainty_metrics.numpy import _examples, _row_math
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.without_bins import (
    _pooled_errors,
    _pooled_scores,
)
from uncertainty_metrics.numpy.calibrators import _calibrator, _newton
from uncertainty_metrics.numpy.calibrators._logistic_likelihood import Likelihood

__all__ = [
    "BetaCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "PlattScaling",
]

# With more examples than these, a fit to every eighth example gives the start.
_MANY = 2**13
_STRIDE = 8
# So many values usually have enough distinct ones.
_SOME = 100


class _OneAgainstRest(_calibrator.Calibrator):
    """Maps the probability of each class by itself; of two classes, only P(class 1)."""

    # Number of distinct scores that a map needs.
    _least: ClassVar[int] = 2

    @abc.abstractmethod
    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        """Returns the arrays of the map of one class.

        Args:
          scores: floating [N], in [0, 1].
          outcomes: boolean [N], some of them True and some False.
          weights: float64 [N], > 0; None for ones.

        Raises:
          ValueError: the scores do not determine a map. Its two arguments say what they
            must hold and what was received.
        """

    def _joined(self, maps: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {name: np.stack([arrays[name] for arrays in maps]) for name in maps[0]}

    @abc.abstractmethod
    def _values(self, index: int, scores: np.ndarray) -> np.ndarray:
        """Returns the calibrated probabilities q of scores [N], by one map."""

    def _pair(
        self, index: int, scores: np.ndarray, logs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns q and 1 - q of scores [N], by one map, or their logarithms."""
        q = self._values(index, scores)
        if not logs:
            return q, 1 - q
        with np.errstate(divide="ignore"):
            return np.log(q), np.log1p(-q)

    def _fitted_arrays(self, examples: _examples.Examples) -> dict[str, np.ndarray]:
        labels, p = examples.labels, examples.probabilities
        _calibrator.check_two(labels)
        maps = []
        for k in _columns(examples.num_classes):  # Each class has its own fit.
            scores, outcomes = np.ascontiguousarray(p[:, k]), labels == k
            if not np.any(outcomes):
                expected = "each class at least once"
                raise _checks.error(
                    "labels", expected, f"none of class {k}", verb="hold"
                )
            try:
                if _has_fewer(scores, self._least):
                    expected = f"at least {self._least} different values for each class"
                    raise ValueError(expected, "fewer")
                maps.append(self._one(scores, outcomes, examples.weights))
            except ValueError as wrong:
                expected, received = wrong.args
                received = f"{received}, for class {k}"
                raise _checks.error(
                    examples.name, expected, received, verb="hold"
                ) from None
        return self._joined(maps)

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        logs = name == "logits"
        p = (
            _row_math.in_blocks(_row_math.softmax, rows, rows.shape[1])
            if logs
            else rows
        )
        columns = _columns(p.shape[1])
        q = np.empty(p.shape)
        for index, k in enumerate(columns):
            q[:, k], complement = self._pair(index, np.ascontiguousarray(p[:, k]), logs)
            if len(columns) == 1:
                q[:, 0] = complement
        if logs:
            all_zero = np.all(np.isneginf(q), axis=1)
            q[all_zero] = rows[all_zero]
            return q
        all_zero = np.all(q == 0, axis=1)
        q[all_zero] = p[all_zero]
        return _calibrator.normalised(q)


def _has_fewer(values: np.ndarray, least: int) -> bool:
    """Says if fewer than `least` values are distinct."""
    return all(len(np.unique(part)) < least for part in (values[:_SOME], values))


def _columns(classes: int) -> range:
    """Returns the classes that have maps."""
    return range(1 if classes == 2 else 0, classes)


def _clipped(scores: np.ndarray) -> np.ndarray:
    """Returns probabilities in (0, 1), float64, whose log-odds are finite."""
    least = _calibrator.LEAST
    return np.clip(scores.astype(np.float64), least, 1 - least)


class _LogOdds(_OneAgainstRest):
    """Maps to the logistic function of the log-odds of q, which a subclass computes."""

    @abc.abstractmethod
    def _log_odds(self, index: int, scores: np.ndarray) -> np.ndarray:
        """Returns log(q / (1 - q)) of scores [N], by one map."""

    def _values(self, index: int, scores: np.ndarray) -> np.ndarray:
        return special.expit(self._log_odds(index, scores))

    def _pair(
        self, index: int, scores: np.ndarray, logs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        z = self._log_odds(index, scores)
        function = special.log_expit if logs else special.expit
        return function(z), function(-z)


class _Logistic(_LogOdds):
    """Maps to the logistic function of a sum of increasing features."""

    _nonnegative: ClassVar[bool]

    @property
    def a(self) -> np.ndarray:
        """The factors of the first feature, one for each map."""
        return self._array("a")

    @property
    def c(self) -> np.ndarray:
        """The constants, one for each map."""
        return self._array("c")

    @abc.abstractmethod
    def _features(self, p: np.ndarray) -> np.ndarray:
        """Returns increasing functions [D, N] of probabilities in (0, 1)."""

    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        features = self._features(_clipped(scores))
        if _has_fewer(features[0], self._least):
            expected = f"at least {self._least} values that differ once clipped"
            raise ValueError(expected, "fewer")
        first = features[0]
        hits, misses = first[outcomes], first[~outcomes]
        falls = hits.max() <= misses.min()
        if misses.max() <= hits.min() or (falls and not self._nonnegative):
            raise ValueError(
                "scores that overlap between the labels: else the "
                "likelihood grows without bound as the map becomes a step",
                "scores that a threshold separates",
            )
        shares = np.ones(len(scores)) if weights is None else weights
        shares = shares / shares.sum()
        middle = features @ shares
        features -= middle[:, None]
        spread = np.sqrt(features**2 @ shares)
        features /= spread[:, None]
        try:
            best = _logistic(features, outcomes, shares, self._nonnegative)
        except _newton.NotConverged:
            raise _newton.error() from None
        factors = best.point[:-1] / spread
        values = (*factors, best.point[-1] - factors @ middle, best.gap)
        return dict(zip(self._names, map(np.array, values), strict=True))

    def _log_odds(self, index: int, scores: np.ndarray) -> np.ndarray:
        factors = [self._array(name)[index] for name in self._names[:-1]]
        return factors[:-1] @ self._features(_clipped(scores)) + factors[-1]

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            _calibrator.check_array(name, array, (len(_columns(layout.classes)),))
            if self._nonnegative and name in ("a", "b") and np.any(array < 0):
                raise _checks.error(name, ">= 0", array.min())


def _logistic(
    features: np.ndarray, outcomes: np.ndarray, shares: np.ndarray, nonnegative: bool
) -> _newton.Optimum:
    """Returns the factors [D] of features [D, N], and the constant, with the largest
    mean likelihood; the factors are >= 0 if `nonnegative`.
    """
    rows = np.concatenate([features, np.ones((1, len(shares)))])
    hits = shares * outcomes
    at = Likelihood(rows, shares, hits)
    start = np.zeros(len(rows))
    start[-1] = special.logit(hits.sum())
    bounds = np.arange(len(rows)) < len(features) if nonnegative else None
    part = slice(None, None, _STRIDE)
    total = shares[part].sum()
    if len(shares) > _MANY and 0 < hits[part].sum() < total:
        with contextlib.suppress(_newton.NotConverged):
            few = features[:, part], outcomes[part], shares[part] / total
            return _newton.minimize(at, _logistic(*few, nonnegative).point, bounds)
    return _newton.minimize(at, start, bounds)


class PlattScaling(_Logistic):
    """Platt scaling: a logistic function of the log-odds.

      log(q / (1 - q)) = a log(p / (1 - p)) + c

    a and c maximise the likelihood. The labels are not smoothed, and p is a
    probability, clipped to a distance of at least 2^-24 from 0 and 1, not a score on
    another scale. With two classes p is P(class 1). With more, each class has a map,
    against all others, and rows are divided by their sum.

    Attributes:
      a: slopes, float64 [K], or [1] for two classes; <= 0 if the forecasts are no
        better than chance.
      c: constants, float64, of the same shape.
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> p = [0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1]  # 3 of 4 are right.
      >>> scaling = um.PlattScaling().fit([1, 1, 1, 0, 0, 0, 0, 1], probabilities=p)
      >>> scaling.transform(probabilities=[0.9, 0.1, 0.5]).round(6).tolist()
      [0.75, 0.25, 0.5]

    References:
      Platt (1999), Probabilistic Outputs for Support Vector Machines and Comparisons to
      Regularized Likelihood Methods.
    """

    _names = ("a", "c", "optimality_gap")
    _nonnegative = False

    def _features(self, p: np.ndarray) -> np.ndarray:
        return special.logit(p)[None]


class BetaCalibration(_Logistic):
    """Beta calibration: a logistic function of the logarithms of p and 1 - p.

      log(q / (1 - q)) = a log p - b log(1 - p) + c,    a, b >= 0

    a, b and c maximise the likelihood within these bounds; p is clipped to a distance
    of at least 2^-24 from 0 and 1. The map never decreases. Unlike Platt scaling, where
    a = b, it can bend one end alone; with a = b = 1 and c = 0 it leaves forecasts as
    they are. With two classes p is P(class 1). With more, each class has a map, against
    all others, and rows are divided by their sum.

    Attributes:
      a: factors of log p, float64 [K], or [1] for two classes; >= 0, and exactly 0 at
        the bound.
      b: factors of -log(1 - p), likewise.
      c: constants, float64, of the same shape.
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> p = [0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1]
      >>> labels = [1, 1, 1, 0, 0, 1, 0, 0, 0, 1]
      >>> map = um.BetaCalibration().fit(labels, probabilities=p)
      >>> map.transform(probabilities=[0.9, 0.5, 0.1]).round(6).tolist()
      [0.75, 0.5, 0.25]

    References:
      Kull, Silva Filho and Flach (2017), Beta Calibration: A Well-Founded and Easily
      Implemented Improvement on Logistic Calibration for Binary Classifiers.
    """

    _names = ("a", "b", "c", "optimality_gap")
    _least = 3
    _nonnegative = True

    @property
    def b(self) -> np.ndarray:
        """The factors of -log(1 - p)."""
        return self._array("b")

    def _features(self, p: np.ndarray) -> np.ndarray:
        return np.stack([np.log(p), -np.log1p(-p)])


class IsotonicCalibration(_OneAgainstRest):
    """Isotonic calibration: the non-decreasing map of least squared error.

    Equal scores are pooled, then neighbours whose frequencies would decrease (pool
    adjacent violators). The map is linear between the pools, and constant beyond the
    scores. With two classes p is P(class 1). With more, each class has a map, against
    all others, and rows are divided by their sum; a row of zeros keeps its forecast.

    The map can return 0 and 1, where one error makes a likelihood infinite: it suits
    the Brier score, and needs some hundred examples. `VennAbersCalibration` never
    returns 0 or 1.

    Attributes:
      knots: an array [2, J] for each class, or for class 1 of two: scores, ascending,
        and the values of the map there.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, p = [0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]
      >>> map = um.IsotonicCalibration().fit(labels, probabilities=p)
      >>> map.transform(probabilities=[0.1, 0.25, 0.5, 0.95]).round(6).tolist()
      [0.0, 0.25, 0.5, 1.0]

    References:
      Zadrozny and Elkan (2002), Transforming Classifier Scores into Accurate Multiclass
      Probability Estimates.
    """

    # The knots of all classes, [2, total], and the number of knots of each, [K].
    _names = ("knots", "counts")

    @property
    def knots(self) -> list[np.ndarray]:
        """Scores and values, [2, J] for each class."""
        ends = np.cumsum(self._array("counts")).astype(int)
        return np.split(self._array("knots"), ends[:-1], axis=1)

    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        cells = _pooled_scores.pooled(scores, outcomes, weights)
        values = _pooled_errors.isotonic(cells)
        changes = np.diff(values) != 0
        ends = np.concatenate([[True], changes]) | np.concatenate([changes, [True]])
        knots = np.stack([cells.scores, values])[:, ends]
        return {"knots": knots, "counts": np.array([float(knots.shape[1])])}

    def _joined(self, maps: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate([arrays[name] for arrays in maps], axis=-1)
            for name in self._names
        }

    def _values(self, index: int, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, *self.knots[index])

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        knots, counts = arrays["knots"], arrays["counts"]
        _calibrator.check_array("counts", counts, (len(_columns(layout.classes)),))
        if np.any(counts < 1) or np.any(counts != np.floor(counts)):
            raise _checks.error("counts", "integers of at least 1", counts.min())
        _calibrator.check_array("knots", knots, (2, int(counts.sum())))
        if np.any(knots < 0) or np.any(knots > 1):
            raise _checks.error("knots", "in [0, 1]", "numbers outside")
        inside = np.ones(knots.shape[1] - 1, bool)
        inside[np.cumsum(counts).astype(int)[:-1] - 1] = False
        if np.any(np.diff(knots)[:, inside] < 0):
            raise _checks.error("knots", "ascending", "numbers that fall")


class HistogramBinning(_OneAgainstRest):
    """Histogram binning: the frequency of the class among examples of the same bin.

    The bins are those of `ece`: even, (a, b], the first one closed at 0. A probability
    in a bin that was empty in the fit stays as it is. With two classes p is P(class 1).
    With more, each class has a map, against all others, and rows are divided by their
    sum; a row of zeros keeps its forecast.

    The map is a step function: it loses all differences within a bin. It can return 0
    and 1, where one error makes a likelihood infinite.

    Args:
      num_bins: number of bins.

    Attributes:
      frequencies: float64 [K, num_bins], or [1, num_bins] for two classes; NaN for an
        empty bin.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: `num_bins` is not an integer from 1 to 10^6.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, p = [0, 1, 1, 1], [0.3, 0.4, 0.8, 0.9]
      >>> map = um.HistogramBinning(num_bins=2).fit(labels, probabilities=p)
      >>> map.transform(probabilities=[0.1, 0.5, 0.6]).tolist()
      [0.5, 0.5, 1.0]

    References:
      Zadrozny and Elkan (2001), Obtaining Calibrated Probability Estimates from
      Decision Trees and Naive Bayesian Classifiers.
    """

    _names = ("frequencies",)

    def __init__(self, *, num_bins: int = _calibration_spec.DEFAULT_NUM_BINS):
        super().__init__()
        self._num_bins = _checks.bins("num_bins", num_bins)

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of the classes in the bins, [K, num_bins]."""
        return self._array("frequencies")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"num_bins": self._num_bins}

    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        index = _binning.even_index(scores, self._num_bins)
        counts = np.bincount(index, weights, self._num_bins)
        hits = outcomes if weights is None else weights * outcomes
        with np.errstate(invalid="ignore"):
            frequencies = np.bincount(index, hits, self._num_bins) / counts
        return {"frequencies": np.minimum(frequencies, 1.0)}

    def _values(self, index: int, scores: np.ndarray) -> np.ndarray:
        bins = _binning.even_index(scores, self._num_bins)
        frequencies = self.frequencies[index][bins]
        return np.where(np.isnan(frequencies), scores, frequencies)

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        shape = len(_columns(layout.classes)), self._num_bins
        frequencies = arrays["frequencies"]
        filled = np.where(np.isnan(frequencies), 0.0, frequencies)
        _calibrator.check_array("frequencies", filled, shape)
        if np.any(filled < 0) or np.any(filled > 1):
            raise _checks.error("frequencies", "in [0, 1] or NaN", "numbers outside")
