"""The quantile of split conformal prediction, of all examples or of groups of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._clusters import cluster_codes
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy._group_columns import MISSING, present_groups

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["conformal_quantile"]

# Subtracted from 1 - alpha, so that the rounding of `alpha` does not raise a rank.
_ROUNDING = 2.0**-50
_NEW = "test_weight"
# Fewer scores in clusters than these are sorted. From more, so many are drawn, and the
# quantile is almost surely as near as this to that of the drawn ones.
_FEW, _SAMPLED, _AROUND = 2**14, 2**12, 2**7
_IF_FEW_CLUSTERS = "the coverage holds, but sets and intervals may be large"
# The most groups that a warning names.
_NAMED = 5


def _level(alpha: Any) -> float:
    """Returns alpha as a float; raises ValueError unless it is in (0, 1)."""
    return _checks.open_unit("alpha", alpha)


def rank(n: float, alpha: float) -> int:
    """Returns k = ceil((n + 1) (1 - alpha)) as for real numbers: if the product is an
    integer up to the rounding of `alpha`, k is this integer.
    """
    return math.ceil((n + 1) * (1 - alpha - _ROUNDING))


def fewest(alpha: float) -> int:
    """Returns the smallest number of scores whose quantile is one of them."""
    n = max(math.ceil((1 - alpha) / alpha) - 1, 1)
    while rank(n, alpha) > n:
        n += 1
    return n


def warn_if_few(
    sizes: Sequence[int], alpha: float, groups: Sequence[Any] | None = None
) -> None:
    """Warns of groups that are too small for a quantile.

    Args:
      sizes: the number of held-out examples, or clusters of them, in each group.
      alpha: share that sets may miss.
      groups: the names of the groups; None if there is one group of all.
    """
    needed = fewest(alpha)
    few = [i for i, size in enumerate(sizes) if size < needed]
    if not few:
        return
    start = f"At least {needed} held-out examples are needed for alpha = {alpha:.6g}"
    if groups is None:
        _user_warnings.warn(
            f"{start}, and there are {sizes[0]}. Every set holds everything."
        )
        return
    named = ", ".join(f"{groups[i]} has {sizes[i]}" for i in few[:_NAMED])
    more = f", and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
    _user_warnings.warn(
        f"{start} in each group. The quantile of these groups is infinite: {named}"
        f"{more}."
    )


@overload
def conformal_quantile(
    scores: ArrayLike,
    alpha: float,
    sample_weight: None = None,
    test_weight: None = None,
    *,
    clusters: ArrayLike | None = None,
) -> float: ...
@overload
def conformal_quantile(
    scores: ArrayLike,
    alpha: float,
    sample_weight: ArrayLike,
    test_weight: ArrayLike,
    *,
    clusters: None = None,
) -> float | np.ndarray: ...
@takes_frames
def conformal_quantile(
    scores: ArrayLike,
    alpha: float,
    sample_weight: ArrayLike | None = None,
    test_weight: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
) -> float | np.ndarray:
    """Quantile that a new score does not exceed with probability 1 - alpha.

      q = the k-th smallest of the n scores, k = ceil((n + 1) (1 - alpha))

    and +inf if k > n. It is one of the scores, never between two of them: if n + 1
    scores are in random order, the last one is among the k smallest with a probability
    of at least k / (n + 1).

    With weights w_i of the scores and a weight w of the new example,

      q = the smallest score with
          sum of w_i over scores <= q  >=  (1 - alpha) (w + sum of all w_i)

    and +inf if there is no such score. Equal weights give the quantile without weights.
    Weights correct for a known shift: new examples may come from another distribution
    than the scores, if the weight of each example is the ratio of the new density to
    the old one there, times any constant. Then a new score does not exceed its q with a
    probability of at least 1 - alpha.

    All this is for scores that are independent, or in random order. With `clusters`
    scores of one cluster may depend on each other in any way, and the clusters must be
    independent, or in random order. Each of the C clusters then has the mass 1, in
    equal parts on its n_c scores (the hierarchical quantile):

      q = the smallest score with
          sum of 1 / n_c over scores <= q  >=  (1 - alpha) (C + 1)

    and +inf if there is no such score. A score that is drawn at random from a new
    cluster does not exceed q with a probability of at least 1 - alpha. Clusters of one
    score give the quantile without clusters. There is no random choice of one score
    from each cluster, which has the same guarantee and a less certain quantile. The
    guarantee holds for any number of clusters; the quantile of few may be +inf. The
    cost is O(n) with and without clusters, but reading the ids and sums of clusters
    takes several times as long as the selection of one score.

    Args:
      scores: real numbers, large for bad forecasts, +-inf allowed, shape [n].
      alpha: share of new scores that may exceed the quantile, in (0, 1).
      sample_weight: weight of each score, finite and >= 0, broadcastable to the scores.
        If `test_weight` is 1, a weight of 2 means the same as the score twice.
      test_weight: Only for `sample_weight`, which requires it: weight of the new
        example, finite and >= 0; or an array with the weight of each of several new
        examples, of any shape.
      clusters: cluster of each score, integers or strings [n]
        (conventions.md#clusters). It must be None with `sample_weight`.

    Returns:
      The quantile, a float, also with `clusters`: it has no `num_clusters` and no
      `design_effect`. If `test_weight` is an array, an array of the same shape with the
      quantile of each new example. It never falls as `test_weight` grows.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.conformal.conformal_quantile([0.3, 0.1, 0.4, 0.2], alpha=0.4)
      0.3
      >>> um.conformal.conformal_quantile([0.3, 0.1, 0.4, 0.2], alpha=0.1)
      inf
      >>> scores, weights = [0.3, 0.1, 0.4, 0.2], [1.0, 2.0, 0.5, 2.0]
      >>> um.conformal.conformal_quantile(scores, 0.4, weights, test_weight=[0.5, 1.5])
      array([0.2, 0.3])
      >>> questions = [i // 2 for i in range(40)]  # Two scores each.
      >>> um.conformal.conformal_quantile(range(40), alpha=0.1, clusters=questions)
      37.0

    References:
      Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World. Lei et
      al. (2018), Distribution-Free Predictive Inference for Regression. Tibshirani,
      Barber, Candes and Ramdas (2019), Conformal Prediction Under Covariate Shift.
      Dunn, Wasserman and Ramdas (2023), Distribution-Free Prediction Sets for Two-Layer
      Hierarchical Models. Lee, Barber and Willett (2023), Distribution-Free Inference
      with Hierarchical Data.
    """
    alpha = _level(alpha)
    scores = _inputs.as_array("scores", scores)
    if scores.ndim != 1 or scores.size == 0:
        expected = "of shape [n], with at least one number"
        raise _checks.error("scores", expected, f"shape {list(scores.shape)}")
    check_weights(test_weight, sample_weight is not None)
    of_examples = codes_of(clusters, sample_weight, scores.shape)
    if sample_weight is None:
        check_scores(scores)
        return of_scores(scores, alpha, of_examples)
    weights = _inputs.sample_weights(sample_weight, scores.shape)
    check_some_weight(weights)
    check_scores(scores[weights > 0])
    new_weights = _inputs.as_array("test_weight", test_weight)
    quantiles = WeightedScores.of(scores[weights > 0], weights[weights > 0]).quantiles(
        alpha, _inputs.sample_weights(new_weights, new_weights.shape, _NEW)
    )
    return (
        quantiles.reshape(new_weights.shape) if new_weights.ndim else quantiles.item()
    )


def check_scores(scores: np.ndarray) -> None:
    """Raises ValueError if a score is NaN."""
    bad = np.isnan(scores)
    if np.any(bad):
        raise _checks.error("scores", "numbers, not NaN", _inputs.first(bad, scores))


def check_weights(test_weight: ArrayLike | None, weighted: bool) -> None:
    """Raises ValueError if only the held-out or only the new examples have weights."""
    if weighted and test_weight is None:
        raise _checks.error(_NEW, "given, because `sample_weight` was given", None)
    if not weighted and test_weight is not None:
        raise _checks.error(_NEW, "None without `sample_weight`", test_weight)


def check_some_weight(weights: np.ndarray) -> None:
    """Raises ValueError if all weights of held-out examples are 0."""
    if not np.any(weights > 0):
        raise _checks.error(
            "sample_weight", "at least one weight above 0", "none", verb="hold"
        )


def codes_of(
    clusters: ArrayLike | None,
    sample_weight: ArrayLike | None,
    shape: tuple[int, ...],
    counted: np.ndarray | None = None,
) -> np.ndarray | None:
    """Returns the code of the cluster of each example that counts; None without
    clusters.

    Raises:
      ValueError: there are clusters and weights, or the clusters are not ids.
    """
    if clusters is None:
        return None
    if sample_weight is not None:
        raise _checks.error("sample_weight", "None with `clusters`", "weights")
    return cluster_codes(clusters, shape, counted, _IF_FEW_CLUSTERS).codes


def of_scores(
    scores: np.ndarray, alpha: float, codes: np.ndarray | None = None
) -> float:
    """Returns the quantile of checked scores [n], n >= 0, in clusters or without."""
    if codes is not None:
        return _of_clusters(scores, alpha, codes)
    k = max(rank(len(scores), alpha), 1)
    if k > len(scores):
        return math.inf
    return float(np.partition(scores, k - 1)[k - 1])


def _of_clusters(scores: np.ndarray, alpha: float, codes: np.ndarray) -> float:
    """Returns the quantile of scores [n] in clusters, each of which has the mass 1.

    A sample of the scores tells about where the quantile is, and the scores below and
    above are left out, until the few are left that are sorted.
    """
    of_codes = np.bincount(codes)
    needed = (1 - alpha - _ROUNDING) * (np.count_nonzero(of_codes) + 1)
    masses = np.zeros(int(of_codes.max(initial=0)) + 1)
    masses[1:] = 1 / np.arange(1, len(masses))

    def numbers(codes: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
        """Returns the number of scores in clusters of each size: whole numbers, so that
        their mass has no rounding errors.
        """
        of_clusters = np.bincount(codes, chosen, len(of_codes))
        return np.bincount(of_codes, of_clusters, len(masses))

    # The numbers of scores that are left, and of those below all of them.
    left, below = np.bincount(of_codes, of_codes, len(masses)), np.zeros(len(masses))
    rng = np.random.default_rng(0)  # The result does not depend on the sample.
    while len(scores) > _FEW:
        sample = rng.integers(len(scores), size=_SAMPLED)
        sample = sample[np.argsort(scores[sample])]
        shares = np.cumsum(masses[of_codes[codes[sample]]])
        share = (needed - below @ masses) / (left @ masses)
        place = np.searchsorted(shares, share * shares[-1])
        ends = np.clip([place - _AROUND, place + _AROUND], 0, _SAMPLED - 1)
        low, high = scores[sample[ends]]
        lower, middle = scores < low, np.flatnonzero((low <= scores) & (scores <= high))
        of_lower, of_middle = numbers(codes, lower), numbers(codes[middle])
        rest: np.ndarray
        if (below + of_lower) @ masses >= needed:
            rest, left = lower, of_lower
        elif (below + of_lower + of_middle) @ masses >= needed:
            if low == high:
                return float(low)
            rest, left, below = middle, of_middle, below + of_lower
        else:
            rest, left = scores > high, left - of_lower - of_middle
            below = below + of_lower + of_middle
        if left.sum() == len(scores):  # Almost all scores have one of two values.
            break
        scores, codes = scores[rest], codes[rest]
    sizes = of_codes[codes]
    order = np.argsort(scores, kind="stable")
    terms = np.append(below @ masses, masses[sizes[order]])
    reached = np.searchsorted(_running_sums(terms)[1:], needed)
    return float(np.append(scores[order], np.inf)[reached])


class WeightedScores(NamedTuple):
    """Scores in ascending order with the running sums of their weights.

    Attributes:
      scores: the scores in ascending order, [n].
      sums: the sum of the weights up to each score, float64 [n].
    """

    scores: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray) -> WeightedScores:
        """Sorts checked scores, with weights > 0, [n]."""
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], _running_sums(weights[order]))

    def quantiles(self, alpha: float, test_weights: np.ndarray) -> np.ndarray:
        """Returns the quantile of each new example, given their weights [m]."""
        total = self.sums[-1] if len(self.sums) else 0.0
        needed = (1 - alpha - _ROUNDING) * (total + test_weights)
        return np.append(self.scores, np.inf)[np.searchsorted(self.sums, needed)]


def _running_sums(terms: np.ndarray) -> np.ndarray:
    """Returns the running sums of the terms, each as exact as one rounding allows, so
    that the sum of n equal terms is n times the term.
    """
    rounded = np.cumsum(terms)
    before = np.concatenate([[0.0], rounded[:-1]])
    added = rounded - before
    lost = (before - (rounded - added)) + (terms - added)  # The exact rounding errors.
    return np.maximum.accumulate(rounded + np.cumsum(lost))


class Conformal:
    """Base of conformal classifiers and regressors: quantiles of groups or of all."""

    def __init__(self, alpha: float) -> None:
        self.alpha = _level(alpha)
        # After a fit, one of these has an element for each group: the second one if the
        # fit had weights.
        self._quantiles: np.ndarray | None = None
        self._weighted: list[WeightedScores] | None = None
        self._groups: np.ndarray | None = None
        self.num_clusters: int | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether there was a fit."""
        return self._quantiles is not None or self._weighted is not None

    @property
    def quantile(self) -> float | dict[Any, float]:
        """The largest score in a set; with groups, a dictionary of one for each."""
        self._check_fitted()
        if self._quantiles is None:
            raise _checks.plain_error(
                "After a fit with weights, each new example has its own quantile: call "
                "`predict`, or `conformal_quantile`.",
                f"{self!r}, fitted with weights",
            )
        quantiles = self._quantiles.tolist()
        if self._groups is None:
            return quantiles[0]
        return dict(zip(self._groups.tolist(), quantiles, strict=True))

    def _check_fitted(self) -> None:
        if not self.is_fitted:
            raise ValueError(
                f"There is no quantile yet: call `fit` first. Received: {self!r}, not "
                "fitted"
            )

    def _set(
        self,
        scores: np.ndarray,
        groups: ExamplesInGroups | None,
        weights: np.ndarray | None,
        codes: np.ndarray | None,
    ) -> Self:
        """Sets the quantiles from the scores, groups, weights > 0 and codes of
        clusters, [n], of held-out examples.
        """
        members: list[Any] = [slice(None)]
        self._groups = None
        if groups is not None:
            self._groups = groups.names
            members = [groups.places == i for i in range(len(groups.names))]
        self.num_clusters = None if codes is None else int(codes.max()) + 1
        if weights is None:
            self._weighted = None
            quantiles = [
                of_scores(scores[m], self.alpha, None if codes is None else codes[m])
                for m in members
            ]
            self._quantiles = np.array(quantiles)
            sizes = [
                len(scores[m])
                if codes is None
                else int(np.count_nonzero(np.bincount(codes[m])))
                for m in members
            ]
            names = None if groups is None else groups.names.tolist()
            warn_if_few(sizes, self.alpha, names)
        else:
            self._quantiles = None
            self._weighted = [WeightedScores.of(scores[m], weights[m]) for m in members]
        return self

    def _limits(
        self,
        groups: ArrayLike | None,
        test_weight: ArrayLike | None,
        shape: tuple[int, ...],
    ) -> np.ndarray:
        """Returns the quantile for each new example, [n], or for all, [1]."""
        self._check_fitted()
        if (groups is None) != (self._groups is None):
            fitted = "given" if groups is None else "None"
            raise _checks.error("groups", f"{fitted}, as in `fit`", groups)
        check_weights(test_weight, self._weighted is not None)
        n = math.prod(shape)
        place: Any = 0
        known: Any = True
        if self._groups is not None:
            names = of_examples(groups, n)
            known_names = self._groups
            if "U" in (names.dtype.kind, known_names.dtype.kind):
                # Integers are text where "(missing)" is among them.
                names, known_names = names.astype(str), known_names.astype(str)
            order = np.argsort(known_names)
            place = np.searchsorted(known_names, names, sorter=order)
            place = order[np.minimum(place, len(known_names) - 1)]
            known = known_names[place] == names
        if self._weighted is None:
            assert self._quantiles is not None
            quantiles = np.atleast_1d(self._quantiles[place])
        else:
            weights = _inputs.sample_weights(test_weight, shape, _NEW)
            quantiles = np.empty(n)
            for group, scores in enumerate(self._weighted):  # Groups are few.
                members = np.broadcast_to(place == group, n)
                quantiles[members] = scores.quantiles(self.alpha, weights[members])
        # A group without held-out examples: no quantile is large enough.
        return np.where(known, quantiles, np.inf)


class ExamplesInGroups(NamedTuple):
    """The groups of held-out examples.

    Attributes:
      names: the groups, [G].
      places: the place of the group of each example in `names`, integers [n].
    """

    names: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, groups: np.ndarray | None) -> ExamplesInGroups | None:
        """Returns the groups that occur, in ascending order; None for None."""
        if groups is None:
            return None
        names, places = np.unique(groups, return_inverse=True)
        return cls(names, places.reshape(-1))


def of_examples(groups: ArrayLike | None, n: int) -> np.ndarray:
    """Returns the group of each of n examples."""
    present, missing = present_groups("groups", groups)
    if len(missing) != n:
        raise _checks.error(
            "groups",
            f"integers or text, one for each of the {n} examples",
            f"{len(missing)} groups",
        )
    if not np.any(missing):
        return present.astype(str) if present.dtype == object else present
    names = np.full(n, MISSING, object)
    names[~missing] = present.astype(str)
    return names.astype(str)
