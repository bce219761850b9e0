"""Conformal prediction sets of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.conformal import quantile
from uncertainty_metrics.numpy.conformal._class_names import (
    check_number_of_names,
    checked_names,
    codes_of_names,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ConformalClassifier"]

ClassifierScore = Literal["lac", "aps", "raps"]
# Numbers of a block of rows that are sorted at once.
_BLOCK = 2**20


def checked_options(
    score: Any, penalty: Any, k_reg: Any
) -> tuple[ClassifierScore, float, int]:
    """Returns the checked options of a score of classes."""
    _checks.one_of("score", score, get_args(ClassifierScore))
    penalty = _checks.number(penalty)
    if not 0 <= penalty < np.inf:
        raise _checks.error("penalty", "finite and >= 0", penalty)
    whole = isinstance(k_reg, int | np.integer) and not isinstance(k_reg, bool)
    if not whole or k_reg < 0:
        raise _checks.error("k_reg", "an integer >= 0", repr(k_reg))
    return score, penalty, int(k_reg)


def _cumulated(
    p: np.ndarray, shares: np.ndarray | float, penalty: float, k_reg: int
) -> np.ndarray:
    """Returns the scores [n, K] of APS; equal probabilities have equal scores.

    `shares` is the share that counts of the probabilities equal to that of the class,
    [n, 1] or 1.
    """
    classes = p.shape[1]
    order = np.argsort(-p, axis=1, kind="stable")
    ordered = np.take_along_axis(p, order, axis=1)
    new = np.diff(ordered, axis=1) != 0
    place = np.arange(classes)
    first = np.zeros(p.shape, np.intp)
    first[:, 1:] = np.maximum.accumulate(np.where(new, place[1:], 0), axis=1)
    last = np.full(p.shape, classes - 1)
    last[:, :-1] = np.where(new, place[:-1], classes - 1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    up_to = np.cumsum(ordered, axis=1)
    through = np.take_along_axis(up_to, last, axis=1)
    above = np.where(first > 0, np.take_along_axis(up_to, first - 1, axis=1), 0.0)
    score = above + shares * (through - above)
    score += penalty * np.maximum(last + 1 - k_reg, 0)
    scores = np.empty_like(score)
    np.put_along_axis(scores, order, score, axis=1)
    return scores


def class_scores(
    p: np.ndarray,
    score: ClassifierScore,
    penalty: float,
    k_reg: int,
    shares: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Returns the score of each class [n, K] of probabilities, in float64."""
    p = p.astype(np.float64, copy=False)
    if score == "lac":
        return 1 - p
    scores = _cumulated(p, shares, penalty if score == "raps" else 0.0, k_reg)
    # The sum up to the last possible class is 1 as well.
    return np.where(p > 0, scores, np.inf)


def _is_label(groups: Any) -> bool:
    return isinstance(groups, str) and groups == "label"


class ConformalClassifier(quantile.Conformal):
    """Prediction sets of a classifier that hold the label with probability 1 - alpha.

    A set is {k: score of k <= q}, q the `conformal_quantile` of the scores of the
    labels of held-out examples. With p_k the probabilities of an example, the scores
    are

      lac:  1 - p_k
      aps:  sum of p_j over p_j >= p_k
      raps: that + penalty * max(0, #{j: p_j >= p_k} - k_reg)

    In "aps" and "raps" the score of a class of probability 0 is infinite: without this
    its sum would be 1, as that of the last class that is possible. Such a class is only
    in the sets if q is infinite.

    The sets of "lac" are the smallest on average; those of "aps" are larger where an
    example is hard, which "raps" limits. With `randomized=True` only a share of the sum
    over classes with p_j = p_k counts, drawn uniformly from [0, 1] for each example:
    the sets of "aps" are then smaller, and cover 1 - alpha instead of more.

    A set of "lac" is empty where no class has a probability of 1 - q or more. A model
    that is right in more than 1 - alpha of the examples has such sets: they are part of
    the alpha that may miss the label. `print(coverage_by_group(labels, sets))` says how
    many there are. To have none, add the class of the highest probability to each set:
    the coverage can only grow.

    The probability is that of a new example that is independent of the held-out
    examples, which are independent of each other. If these come in `clusters`, it is
    that of an example drawn at random from a new cluster (see `conformal_quantile`).

    With `groups="label"` in `fit` each class k has its own q_k, from the held-out
    examples of class k, and a set is {k: score of k <= q_k}. It then holds the label
    with probability 1 - alpha for new examples of each class, however rare the class
    (class-conditional). The classes of fewer than (1 - alpha) / alpha held-out examples
    are in all sets, with a warning.

    Args:
      score: "lac", "aps" or "raps".
      alpha: share of labels that sets may miss, in (0, 1).
      randomized: Only for "aps" and "raps": whether to draw a share for each example.
      penalty: Only for "raps": penalty for each class after the first `k_reg`, >= 0.
      k_reg: Only for "raps": number of classes without a penalty, an integer >= 0.

    Attributes:
      quantile: q; with groups, a dictionary of the q of each group, or of each class.
        After a fit with weights there is no single q, because each new example has its
        own.
      num_clusters: the number of clusters of the fit; None if it had none.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]]
      >>> model = um.conformal.ConformalClassifier(alpha=0.4)
      >>> round(model.fit([0, 1, 2], probabilities).quantile, 6)
      0.7
      >>> model.predict([[0.6, 0.3, 0.1]]).tolist()
      [[True, True, False]]
      >>> names = ["cat", "cow", "dog"]
      >>> labels = ["cat", "cow", "dog"] * 5
      >>> model.fit(labels, probabilities * 5, groups="label", class_names=names)
      ConformalClassifier(score='lac', alpha=0.4)
      >>> {name: round(q, 6) for name, q in model.quantile.items()}
      {'cat': 0.3, 'cow': 0.2, 'dog': 0.7}

    References:
      Sadinle, Lei and Wasserman (2019), Least Ambiguous Set-Valued Classifiers with
      Bounded Error Levels. Romano, Sesia and Candes (2020), Classification with Valid
      and Adaptive Coverage. Angelopoulos, Bates, Malik and Jordan (2021), Uncertainty
      Sets for Image Classifiers using Conformal Prediction. Vovk (2012), Conditional
      Validity of Inductive Conformal Predictors. Tibshirani, Barber, Candes and Ramdas
      (2019), Conformal Prediction Under Covariate Shift.
    """

    def __init__(
        self,
        score: ClassifierScore = "lac",
        alpha: float = 0.1,
        randomized: bool = False,
        *,
        penalty: float = 0.01,
        k_reg: int = 5,
    ):
        super().__init__(alpha)
        self.score, self.penalty, self.k_reg = checked_options(score, penalty, k_reg)
        _checks.boolean("randomized", randomized)
        if randomized and score == "lac":
            raise _checks.error("randomized", 'False for score="lac"', randomized)
        self.randomized = randomized
        self._classes: int | None = None
        self._has_axis = True
        self._by_label = False

    def __repr__(self) -> str:
        return f"ConformalClassifier(score={self.score!r}, alpha={self.alpha})"

    @takes_frames
    def fit(
        self,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        seed: Any = None,
        clusters: ArrayLike | None = None,
        class_names: Sequence[Any] | None = None,
    ) -> Self:
        """Finds the quantile of held-out examples, which the model was not trained on.

        Args:
          labels: integer class labels in [0, K), shape [...]; with `class_names`, names
            of classes.
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          groups: integers or text, shape of the labels. Each group has a quantile of
            its own, so that the coverage holds in each (Mondrian). "label": each class
            has a quantile of its own, so that the coverage holds for each label.
          sample_weight: weight of each example, finite and >= 0, broadcastable to the
            labels. If new examples come from another distribution than the held-out
            examples, it is the ratio of the new density to the old one at the example,
            times any constant. Examples of weight 0 are left out.
          seed: seed of `randomized=True`, all that `np.random.default_rng` takes. None
            gives new draws in each call.
          clusters: cluster of each example, integers or strings
            (conventions.md#clusters). It must be None with `sample_weight`.
          class_names: the K classes, text or integers, in the order of the columns of
            `probabilities`, such as `classes_` of scikit-learn. Labels are then these
            names.

        Returns:
          The object itself.

        Raises:
          ValueError: an argument is not as described.
        """
        names_of_classes = None
        if class_names is not None:
            names_of_classes = checked_names(class_names)
            labels = codes_of_names(labels, names_of_classes)
        examples = _examples.examples(
            labels, probabilities, sample_weight=sample_weight
        )
        if names_of_classes is not None:
            check_number_of_names(names_of_classes, examples.num_classes)
        p = _inputs.check_probabilities(
            examples.probabilities, examples.name, examples.place
        )
        rows = np.arange(len(p))
        scores = np.concatenate(
            [
                block[rows[: len(block)], examples.labels[start : start + len(block)]]
                for start, block in self._blocks(p, seed)
            ]
        )
        by_label = _is_label(groups)
        of_groups = None
        if by_label:
            classes = np.arange(examples.num_classes)
            names = classes if names_of_classes is None else names_of_classes
            of_groups = quantile.ExamplesInGroups(names, examples.labels)
        elif groups is not None:
            counted = examples.counted.reshape(-1)
            of_groups = quantile.ExamplesInGroups.of(
                quantile.of_examples(groups, len(counted))[counted]
            )
        codes = quantile.codes_of(
            clusters, sample_weight, examples.counted.shape, examples.counted
        )
        self._set(scores, of_groups, examples.weights, codes)
        self._by_label = by_label
        self._classes = examples.num_classes
        self._has_axis = np.ndim(probabilities) > np.ndim(labels)
        return self

    def predict(
        self,
        probabilities: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        test_weight: ArrayLike | None = None,
        seed: Any = None,
    ) -> np.ndarray:
        """Returns the sets of new examples.

        Args:
          probabilities: as in `fit`.
          groups: as in `fit`, if `fit` had groups. For a group that `fit` did not have,
            no quantile is known: its sets hold all classes. After a fit with "label",
            it may be None, because the labels of new examples are not needed.
          test_weight: weight of each new example, if `fit` had `sample_weight`: the
            same ratio of densities, with the same constant. Finite and >= 0,
            broadcastable to the sets without the axis of classes. No set shrinks as its
            weight grows.
          seed: as in `fit`, but not the same seed.

        Returns:
          Booleans, shape [..., K]: whether the set of an example holds a class.

        Raises:
          ValueError: an argument is not as described, or there was no fit.
        """
        self._check_fitted()
        p = _inputs.as_array("probabilities", probabilities)
        shape = p.shape[:-1] if self._has_axis and p.ndim else p.shape
        # With labels of 0, which are always valid, predictions are read as in `fit`.
        examples = _examples.examples(np.zeros(shape, np.int64), p)
        if examples.num_classes != self._classes:
            raise _checks.error(
                "probabilities",
                f"{self._classes} classes, as in `fit`",
                f"{examples.num_classes} classes",
                verb="have",
            )
        p = _inputs.check_probabilities(
            examples.probabilities, examples.name, examples.place
        )
        if self._by_label:
            found = self._limits_of_classes(groups, test_weight, shape)
        elif _is_label(groups):
            raise _checks.error("groups", 'other than "label", as in `fit`', groups)
        else:
            found = self._limits(groups, test_weight, shape)[:, None]
        limits = np.broadcast_to(found, p.shape)
        sets = np.empty(p.shape, bool)
        for start, scores in self._blocks(p, seed):
            rows = slice(start, start + len(scores))
            sets[rows] = scores <= limits[rows]
        return sets.reshape(*shape, self._classes)

    def _limits_of_classes(
        self, groups: ArrayLike | None, test_weight: ArrayLike | None, shape: Any
    ) -> np.ndarray:
        """Returns the quantile of each class, [1, K]; with weights for each of n new
        examples, [n, K].
        """
        if groups is not None and not _is_label(groups):
            raise _checks.error("groups", 'None or "label", as in `fit`', groups)
        quantile.check_weights(test_weight, self._weighted is not None)
        if self._weighted is None:
            assert self._quantiles is not None
            return self._quantiles[None]
        weights = _inputs.sample_weights(test_weight, shape, "test_weight")
        columns = [scores.quantiles(self.alpha, weights) for scores in self._weighted]
        return np.stack(columns, axis=1)

    def _blocks(self, p: np.ndarray, seed: Any) -> Any:
        """Yields where a block of rows starts, and the scores of its classes."""
        rng = _inputs.generator(seed)
        rows = max(1, _BLOCK // p.shape[1])
        for start in range(0, len(p), rows):
            block = p[start : start + rows]
            shares = rng.random((len(block), 1)) if self.randomized else 1.0
            yield (
                start,
                class_scores(block, self.score, self.penalty, self.k_reg, shares),
            )
