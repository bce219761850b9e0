"""Calibrators of single probabilities, for each class against all others."""

from __future__ import annotations

import abc
import contextlib
from typing import Any, ClassVar

import numpy as np
from scipy import special

from uncertainty_metrics import _calibration_spec, _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration import (
    _binning,
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

# Of more examples than these every eighth finds where to start.
_MANY = 2**13
_STRIDE = 8
# As many tell, as a rule, that there are several values.
_SOME = 100


class _OneAgainstRest(_calibrator.Calibrator):
    """Maps the probability of each class by itself; of two classes that of class 1."""

    # Distinct scores that a map needs.
    _least: ClassVar[int] = 2

    @abc.abstractmethod
    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        """Returns the arrays of the map of a class.

        Args:
          scores: floating [N], in [0, 1].
          outcomes: boolean [N], some of them True and some False.
          weights: float64 [N], > 0; None for ones.

        Raises:
          ValueError: what the scores must be, and what they are.
        """

    def _joined(self, maps: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {name: np.stack([one[name] for one in maps]) for name in maps[0]}

    @abc.abstractmethod
    def _values(self, index: int, scores: np.ndarray) -> np.ndarray:
        """Returns q of scores [N], of a map."""

    def _pair(
        self, index: int, scores: np.ndarray, logs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns q and 1 - q of scores [N], of a map, or their logarithms."""
        q = self._values(index, scores)
        if not logs:
            return q, 1 - q
        with np.errstate(divide="ignore"):
            return np.log(q), np.log1p(-q)

    def _found(self, examples: _inputs.Examples) -> dict[str, np.ndarray]:
        labels, p = examples.labels, examples.probabilities
        _calibrator.check_two(labels)
        maps = []
        for k in _columns(examples.num_classes):  # Each is a problem of its own.
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
        p = _inputs.softmax(rows) if logs else rows
        columns = _columns(p.shape[1])
        q = np.empty(p.shape)
        for index, k in enumerate(columns):
            q[:, k], rest = self._pair(index, np.ascontiguousarray(p[:, k]), logs)
            if len(columns) == 1:
                q[:, 0] = rest
        if logs:
            nothing = np.all(np.isneginf(q), axis=1)
            q[nothing] = rows[nothing]
            return q
        nothing = np.all(q == 0, axis=1)
        q[nothing] = p[nothing]
        return _calibrator.normalised(q)


def _has_fewer(values: np.ndarray, least: int) -> bool:
    """Says if fewer than `least` values are distinct."""
    return all(len(np.unique(some)) < least for some in (values[:_SOME], values))


def _columns(classes: int) -> range:
    """Returns the classes that have maps."""
    return range(1 if classes == 2 else 0, classes)


class _Logistic(_OneAgainstRest):
    """Maps to the logistic function of a sum of increasing features."""

    _nonnegative: ClassVar[bool]

    @property
    def a(self) -> np.ndarray:
        """The factors of the first feature."""
        return self._array("a")

    @property
    def c(self) -> np.ndarray:
        """The constants."""
        return self._array("c")

    @abc.abstractmethod
    def _features(self, p: np.ndarray) -> np.ndarray:
        """Returns increasing functions [D, N] of probabilities in (0, 1)."""

    def _of(self, scores: np.ndarray) -> np.ndarray:
        least = _calibrator.LEAST
        return self._features(np.clip(scores.astype(np.float64), least, 1 - least))

    def _one(
        self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        features = self._of(scores)
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

    def _values(self, index: int, scores: np.ndarray) -> np.ndarray:
        return special.expit(self._log_odds(index, scores))

    def _pair(
        self, index: int, scores: np.ndarray, logs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        z = self._log_odds(index, scores)
        function = special.log_expit if logs else special.expit
        return function(z), function(-z)

    def _log_odds(self, index: int, scores: np.ndarray) -> np.ndarray:
        factors = [self._array(name)[index] for name in self._names[:-1]]
        return factors[:-1] @ self._of(scores) + factors[-1]

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            _calibrator.check_array(name, array, (len(_columns(layout.classes)),))
            if self._nonnegative and name in ("a", "b") and np.any(array < 0):
                raise _checks.error(name, ">= 0", array.min())


def _logistic(
    features: np.ndarray, outcomes: np.ndarray, shares: np.ndarray, nonnegative: bool
) -> _newton.Optimum:
    """Returns the factors [D] of features [D, N], and the constant, of the largest mean
    likelihood. The factors may have to be >= 0.
    """
    rows = np.concatenate([features, np.ones((1, len(shares)))])
    hits = shares * outcomes
    at = Likelihood(rows, shares, hits)
    start = np.zeros(len(rows))
    start[-1] = special.logit(hits.sum())
    bounds = np.arange(len(rows)) < len(features) if nonnegative else None
    some = slice(None, None, _STRIDE)
    part = shares[some].sum()
    if len(shares) > _MANY and 0 < hits[some].sum() < part:
        with contextlib.suppress(_newton.NotConverged):
            few = features[:, some], outcomes[some], shares[some] / part
            return _newton.minimize(at, _logistic(*few, nonnegative).point, bounds)
    return _newton.minimize(at, start, bounds)


class PlattScaling(_Logistic):
    """Platt scaling: a logistic function of the log-odds.

      log(q / (1 - q)) = a log(p / (1 - p)) + c

    a and c have the largest likelihood; the labels are not smoothed, and p is the
    probability, taken as at least 2^-24 away from 0 and 1, not a score of another
    scale. Of two classes p is that of class 1. Of more each class has a map, against
    all others, and rows are divided by their sum.

    Attributes:
      a: slopes, float64 [K], of two classes [1]; not > 0 where the forecasts are no
        better than chance.
      c: float64, of the same shape.
      optimality_gap: certificate of the fit: by how many nats, in the mean over the
        examples, the objective was above its minimum before the last step, as the
        Newton decrement tells.
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

    a, b and c have the largest likelihood of what these bounds allow; p is taken as at
    least 2^-24 away from 0 and 1. The map never decreases; unlike Platt scaling, a = b,
    it can bend one end alone, and leave calibrated forecasts as they are: a = b = 1,
    c = 0. Of two classes p is that of class 1. Of more each class has a map, against
    all others, and rows are divided by their sum.

    Attributes:
      a: float64 [K], >= 0, of two classes [1]; exactly 0 where the bound counts.
      b: likewise.
      c: float64, of the same shape.
      optimality_gap: certificate of the fit: by how many nats, in the mean over the
        examples, the objective was above its minimum before the last step, as the
        Newton decrement tells.
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

    Scores that are equal are pooled, then neighbours whose frequencies would decrease
    (pool adjacent violators); the map is linear between the pools, and constant outside
    of all scores. Of two classes p is the probability of class 1. Of more each class
    has a map, against all others, and rows are divided by their sum; a row of zeros
    keeps its forecast.

    The map may be 0 and 1, where one error makes a likelihood infinite, and needs some
    thousand examples of each class: it suits the Brier score.

    Attributes:
      knots: for each class, of two classes for class 1, an array [2, J]: scores,
        ascending, and the values of the map there.
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

    # The knots of all classes [2, J], and how many each has, [K].
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
            name: np.concatenate([one[name] for one in maps], axis=-1)
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
    """Histogram binning: the frequency of what has a probability in the same bin.

    The bins are those of `ece`: even, (a, b], the first one closed at 0. A probability
    in a bin that was empty in the fit stays as it is. Of two classes p is that of
    class 1. Of more each class has a map, against all others, and rows are divided by
    their sum; a row of zeros keeps its forecast.

    The map has steps, which lose what the forecasts tell within a bin, and may be 0 and
    1, where one error makes a likelihood infinite.

    Args:
      num_bins: number of bins.

    Attributes:
      frequencies: float64 [K, num_bins], of two classes [1, num_bins]; NaN for an empty
        bin.
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
        """Frequencies [K, num_bins]."""
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
        found = self.frequencies[index][bins]
        return np.where(np.isnan(found), scores, found)

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        shape = len(_columns(layout.classes)), self._num_bins
        frequencies = arrays["frequencies"]
        held = np.where(np.isnan(frequencies), 0.0, frequencies)
        _calibrator.check_array("frequencies", held, shape)
        if np.any(held < 0) or np.any(held > 1):
            raise _checks.error("frequencies", "in [0, 1] or NaN", "numbers outside")
