"""Venn-Abers calibration: two probabilities, one of which is calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration import _pooled_scores
from uncertainty_metrics.numpy.calibrators import _calibrator

__all__ = ["VennAbersCalibration"]


class VennAbersCalibration(_calibrator.Calibrator):
    """Venn-Abers calibration of two classes: isotonic, and never 0 or 1.

    For a new p isotonic regression is fitted twice, to the held-out examples and the
    new one: as if its label were 0, and as if it were 1. The fits at p are p0 < p1, and

      q = p1 / (1 - p0 + p1)

    is the number between them that `transform` returns: the one whose log-likelihood is
    the least worse than that of p0 or p1, whichever is right. It is never 0 or 1.

    If the new example is exchangeable with the n held-out ones, then of p0 and p1 the
    one that belongs to its label is calibrated exactly, for any n and any model:
    P(label = 1 | p_label) = p_label. Nobody knows which one that is before the label
    comes. Of q no more is promised than that it lies between the two; p1 - p0, what one
    example may change, is small where there are many examples around p.

    A fit takes O(n log n), some seconds for a million, and keeps p0 and p1 at every
    distinct p; a prediction takes O(log n). One example is enough, and so are labels of
    one class. Weights are numbers of examples: the new one has the weight 1.

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

    # Distinct scores; p0 and p1 at each.
    _names = ("scores", "lower", "upper")

    def predict_interval(
        self, logits: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns p0 and p1, the probabilities of class 1 if the label were 0 and 1.

        Args:
          logits: as in `transform`.
          probabilities: as in `transform`.

        Returns:
          `(p0, p1)`, float64 in [0, 1], p0 < p1, in the shape of the examples.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        given = self._given(logits, probabilities)
        shape = given.shape[:-1] if self._fitted_layout().rank is None else given.shape
        lower, upper = self._ends(given.name, given.rows)
        return lower.reshape(shape), upper.reshape(shape)

    def _found(self, examples: _inputs.Examples) -> dict[str, np.ndarray]:
        if examples.num_classes != 2:
            raise _checks.error(
                examples.name, "two classes", f"{examples.num_classes}", verb="have"
            )
        p = np.ascontiguousarray(examples.probabilities[:, 1])
        cells = _pooled_scores.pooled(p, examples.labels == 1, examples.weights)
        hits, misses = cells.outcome_sums, cells.weights - cells.outcome_sums
        # With classes and order turned round, p0 is one less p1.
        lower = 1 - _with_a_hit(cells.weights[::-1], misses[::-1])[::-1]
        upper = _with_a_hit(cells.weights, hits)
        return {"scores": cells.scores, "lower": lower, "upper": upper}

    def _ends(self, name: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns p0 and p1 of checked predictions [N, 2].

        Isotonic regression pools a hit with the next score above it, and a miss with
        the next one below.
        """
        p = (_inputs.softmax(rows) if name == "logits" else rows)[:, 1]
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
    """Returns for each score the isotonic fit there, once a hit is added at it.

    The fit is the slope of the greatest convex minorant of the sums of hits over the
    sums of weights. A hit added at score i moves all points from the i-th on by (1, 1),
    and the fit is the slope of the line below that touches both parts: the points
    before, and those that have moved.

    As i grows, so do the slope and the places where the line touches: no point is
    passed twice, and all takes O(J).

    Args:
      weights: of J scores in ascending order, > 0, [J].
      hits: of these, [J].
    """
    x: list[Any] = np.append(0.0, np.cumsum(weights)).tolist()
    y: list[Any] = np.append(0.0, np.cumsum(hits)).tolist()
    last = len(x) - 1

    def slope(left: int, right: int, moved: int = 0) -> float:
        return (y[right] + moved - y[left]) / (x[right] + moved - x[left])

    # From each point to the next one of the convex minorant of those from it on.
    following = [last] * (last + 1)
    for point in range(last - 2, -1, -1):
        right = point + 1
        while right < last and slope(point, right) >= slope(right, following[right]):
            right = following[right]
        following[point] = right
    # The convex minorant of the points before, from where the line touches it on.
    before, first, right = [0], 0, 1
    found = []
    for point in range(1, last + 1):  # Each line starts from that of the point before.
        right = max(right, point)
        while True:
            left = before[first]
            while right < last and slope(left, following[right], 1) <= slope(
                left, right, 1
            ):
                right = following[right]
            fit = slope(left, right, 1)
            if first + 1 == len(before) or slope(left, before[first + 1]) >= fit:
                break
            first += 1
        found.append(fit)
        while len(before) > first + 1 and slope(before[-2], before[-1]) >= slope(
            before[-1], point
        ):
            before.pop()
        before.append(point)
    return np.array(found)
