"""Venn-Abers calibration: two probabilities, one of which is calibrated."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _examples, _row_math
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_scores
from uncertainty_metrics.numpy.calibrators import _calibrator

__all__ = ["VennAbersCalibration"]

# p0 is at most this, so that p1 / (1 - p0 + p1) is below 1.
_MOST = 1 - 2.0**-52


class VennAbersCalibration(_calibrator.Calibrator):
    """Venn-Abers calibration of two classes, whose forecasts are never 0 or 1.

    For a new forecast p, isotonic regression is fitted twice to the held-out examples
    and the new example: once with the label 0 for the new example, once with the label
    1. The two fits have the values p0 < p1 at p. `transform` returns a probability
    between them,

      q = p1 / (1 - p0 + p1)

    The log-likelihood of q is below that of p1 if the label is 1, and below that of p0
    if the label is 0, by the same log(1 - p0 + p1); every other number loses more for
    one of the two labels.

    Let p_label be p1 if the label of the new example is 1, and p0 if it is 0. If the
    new example is exchangeable with the n held-out examples, p_label is calibrated
    exactly, for any n and any model: P(label = 1 | p_label) = p_label. But nobody knows
    which of the two it is before the label is known. About q the theory says only that
    it lies between p0 and p1. The difference p1 - p0 is the influence of a single
    example; it is small if many examples are near p.

    A fit takes O(n log n), some seconds for a million examples, and keeps p0 and p1 at
    every distinct p; a prediction takes O(log n). One example is enough for a fit, and
    all labels may be of one class. Weights are numbers of examples; the new example has
    the weight 1.

    Examples that depend on each other, such as several answers to one question, are not
    exchangeable with one of a new question. There are no `clusters`: fit one example of
    each cluster, if the promise must hold.

    Attributes:
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.6, 0.8, 0.9]
      >>> map = um.VennAbersCalibration().fit(labels, probabilities=p)
      >>> map.transform(probabilities=[0.05, 0.5, 0.95]).round(3).tolist()
      [0.25, 0.5, 0.75]
      >>> p0, p1 = map.predict_interval(probabilities=[0.05, 0.5, 0.95])
      >>> p0.round(3).tolist(), p1.round(3).tolist()
      ([0.0, 0.333, 0.667], [0.333, 0.667, 1.0])

    References:
      Vovk, Petej and Fedorova (2015), Large-Scale Probabilistic Predictors with and
      without Guarantees of Validity. Vovk and Petej (2014), Venn-Abers Predictors.
    """

    # The distinct scores, and p0 and p1 at each of them.
    _names = ("scores", "lower", "upper")

    def predict_interval(
        self, logits: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns p0 and p1, the probabilities of class 1 from the two fits.

        Args:
          logits: as in `transform`.
          probabilities: as in `transform`.

        Returns:
          `(p0, p1)`, float64 in [0, 1], p0 < p1, of the shape of the predictions; for
          predictions [..., 2], of shape [...].

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        predictions = self._checked(logits, probabilities)
        shape = predictions.shape
        if self._fitted_layout().rank is None:
            shape = shape[:-1]
        lower, upper = self._ends(predictions.name, predictions.rows)
        return lower.reshape(shape), upper.reshape(shape)

    def _read(
        self,
        labels: ArrayLike | None,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> tuple[_calibrator.Layout, _examples.Examples]:
        # The promise is one of single labels.
        _calibrator.check_no_distributions(self, options["label_distributions"])
        return super()._read(labels, logits, probabilities, **options)

    def _fitted_arrays(self, examples: _examples.Examples) -> dict[str, np.ndarray]:
        if examples.num_classes != 2:
            raise _checks.error(
                examples.name, "two classes", f"{examples.num_classes}", verb="have"
            )
        p = np.ascontiguousarray(examples.probabilities[:, 1])
        cells = _pooled_scores.pooled(p, examples.labels == 1, examples.weights)
        hits, misses = cells.outcome_sums, cells.weights - cells.outcome_sums
        # p0 is 1 minus the p1 of the problem with reversed classes and order.
        upper = _with_a_hit(cells.weights, hits)
        lower = 1 - _with_a_hit(cells.weights[::-1], misses[::-1])[::-1]
        # With large weights p0 may round to p1, or to 1.
        lower = np.minimum(lower, np.minimum(np.nextafter(upper, 0.0), _MOST))
        return {"scores": cells.scores, "lower": lower, "upper": upper}

    def _ends(self, name: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns p0 and p1 of checked predictions [N, 2].

        Between two scores of the fit, p0 is that of the lower score and p1 that of the
        upper score: isotonic regression pools a miss at p with the scores below, and a
        hit with the scores above.
        """
        p = (_row_math.softmax(rows) if name == "logits" else rows)[:, 1]
        scores, lower, upper = (self._array(key) for key in self._names)
        below = np.append(0.0, lower)[np.searchsorted(scores, p, side="right")]
        return below, np.append(upper, 1.0)[np.searchsorted(scores, p)]

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        lower, upper = self._ends(name, rows)
        q = _calibrator.normalised(np.stack([1 - lower, upper], axis=1))
        return np.log(q) if name == "logits" else q

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        if layout.classes != 2:
            raise _checks.error("layout", "two classes", layout.classes, verb="have")
        for name, array in arrays.items():
            _calibrator.check_array(name, array, (arrays["scores"].size,))
            if np.any(array < 0) or np.any(array > 1) or np.any(np.diff(array) < 0):
                raise _checks.error(name, "ascending, in [0, 1]", "other numbers")
        if not np.all(arrays["lower"] < arrays["upper"]):
            raise _checks.error("lower", "below `upper`", "numbers that are not")


def _with_a_hit(weights: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Returns, for each score, the isotonic fit at this score with one more hit there.

    The points are the running sums of the weights and of the hits. The isotonic fit is
    the slope of their greatest convex minorant. One more hit at score i moves all
    points from the i-th on by (1, 1). The fit there is then the slope of the line that
    touches both parts from below: the points before the i-th, and the moved points.

    As i grows, the slope grows and the points where the line touches move to the right.
    So each point is passed only once, and the time is O(J).

    Args:
      weights: weights of J scores in ascending order, > 0, [J].
      hits: the part of these weights that are hits, [J].
    """
    x, y, one = _running_sums(weights, hits)
    last = len(x) - 1
    # For each point, the next vertex of the convex minorant of all points from it on.
    # The loops compare slopes as products, and call nothing: most time is spent here.
    following = [last] * (last + 1)
    for point in range(last - 2, -1, -1):
        right = point + 1
        while right < last:
            after = following[right]
            rise, run = y[right] - y[point], x[right] - x[point]
            if rise * (x[after] - x[right]) < (y[after] - y[right]) * run:
                break
            right = after
        following[point] = right
    # The vertices of the convex minorant of the points that have not moved. The line
    # touches it at `before[first]`, and the moved points at `right`.
    before, first, right = [0], 0, 1
    fits = []
    for point in range(1, last + 1):  # Each line starts from the line before.
        right = max(right, point)
        while True:
            left = before[first]
            x_left, y_left = x[left] - one, y[left] - one
            rise, run = y[right] - y_left, x[right] - x_left
            while right < last:
                after = following[right]
                rise_after, run_after = y[after] - y_left, x[after] - x_left
                if rise * run_after < rise_after * run:
                    break
                right, rise, run = after, rise_after, run_after
            if first + 1 == len(before):
                break
            after = before[first + 1]
            if (y[after] - y[left]) * run >= rise * (x[after] - x[left]):
                break
            first += 1
        fits.append(rise / run)
        while len(before) > first + 1:
            one_before, end = before[-2], before[-1]
            rise, run = y[end] - y[one_before], x[end] - x[one_before]
            if rise * (x[point] - x[end]) < (y[point] - y[end]) * run:
                break
            before.pop()
        before.append(point)
    return np.array(fits)


def _running_sums(
    weights: np.ndarray, hits: np.ndarray
) -> tuple[list[int], list[int], int]:
    """Returns the running sums of the weights and of the hits, from 0 on, and 1, in a
    unit in which all of them are whole numbers.

    Sums of fractions of very different sizes would have rounding errors of the size of
    the largest, and slopes outside [0, 1]. Python's whole numbers have any length, and
    their quotients are rounded once.
    """
    ratios = [[x.as_integer_ratio() for x in each.tolist()] for each in (weights, hits)]
    # The denominators are powers of 2.
    unit = max(denominator for each in ratios for _, denominator in each)
    x, y = (
        [0, *itertools.accumulate(n * (unit // denominator) for n, denominator in each)]
        for each in ratios
    )
    return x, y, unit
