"""Groups that nobody named: rules of a tree, tested on other examples."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.watching import _residual_tree
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored
from uncertainty_metrics.numpy.calibration.watching._group_table import (
    CalibrationByGroup,
    Partition,
    table_of,
)
from uncertainty_metrics.numpy.calibration.watching._group_walks import Statistic

__all__ = ["find_miscalibrated_groups"]


@takes_frames
def find_miscalibrated_groups(
    features: Any,
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    depth: int = 3,
    min_examples: int = 50,
    level: float = 0.95,
    statistic: Statistic = "kuiper",
    seed: Any = None,
    logits: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> CalibrationByGroup:
    """Searches for groups whose probabilities are wrong, and tests them honestly.

    A tree is grown on a random half of the examples. It splits them by the features
    where the sums S of (outcome - score) differ most from 0: with the variances V, the
    sums of p (1 - p), by the largest gain in S^2 / V of both sides over the whole. For
    "kuiper", S and V are summed apart in the four quarters of the scores, so that
    errors that even out within a group count. A split is taken back if chance alone
    often finds one as good. The leaves are then tested on the other half, as by
    `calibration_by_group` with `adjust="holm"`: the tree has not seen their outcomes,
    so that the p-values are honest, although the groups were searched for. The price is
    half of the examples.

    In a simulation (`studies/group_findings.py`, 200 draws) a calibrated model had a
    finding in 3.5% to 6.0% of data sets of 1000 and 4000 examples, with a standard
    error of 1.5%. A rule of 15% of the examples, whose outcomes came less often
    than predicted by 0.2, gave a finding in 42% (kuiper) and 61% (gap) of data sets of
    1000, and in at least 99% of data sets of 4000; by 0.1, in 46% and 58% of data sets
    of 4000.

    Numbers are split at one of 63 quantiles, and strings, booleans and categories of a
    data frame into one value and all others. A missing number is below all others.

    The p-values are for independent examples, or for `clusters=`: a cluster is in one
    of the halves only.

    Args:
      features: what rules may name: a mapping (or data frame) from the name of each
        feature to its values, of the shape of the labels; or an array of numbers
        [N, F], whose columns are named x0, x1, ... With `multilabel`, values for each
        example or for each label.
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      depth: most conditions of a rule.
      min_examples: each leaf has so many examples in the half of the search; a leaf
        with fewer in the other half is listed, but not tested.
      level: level of the intervals, in (0, 1); 1 - level is the level of the tests.
      statistic: "kuiper" for the calibration at every score, or "gap" for the mean
        error of a group alone.
      seed: seed of the halves, all that `np.random.default_rng` takes. None gives new
        halves in each call.
      logits: logits of the same shape, instead of `probabilities`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. Sizes are then effective sizes, (sum w)^2 / sum w^2. Equal weights of
        any size change nothing.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      A `CalibrationByGroup` of the leaves, with the numbers of the half that tests
      them. The name of a group is its rule, such as "age > 61 and ward = B", or "all"
      if the tree has no split; `attributes` is the same as a dict.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> age, ward = rng.integers(18, 98, 4000), rng.choice(["A", "B", "C"], 4000)
      >>> right = np.where((age > 61) & (ward == "B"), 0.4, 0.7)
      >>> table = um.find_miscalibrated_groups(
      ...     {"age": age, "ward": ward},
      ...     correct=rng.random(4000) < right,
      ...     confidences=np.full(4000, 0.7),
      ...     seed=0,
      ... )
      >>> table.worst.attributes["ward"]
      '= B'

    References:
      Hebert-Johnson et al. (2018), Multicalibration: Calibration for the
      (Computationally-Identifiable) Masses. Athey and Imbens (2016), Recursive
      Partitioning for Heterogeneous Causal Effects.
    """
    depth = _checks.positive_integer("depth", depth)
    min_examples = _checks.positive_integer("min_examples", min_examples)
    level = _checks.open_unit("level", level)
    _checks.one_of("statistic", statistic, get_args(Statistic))
    rng = _inputs.generator(seed)
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        correct=correct,
        confidences=confidences,
        clusters=clusters,
        label_distributions=label_distributions,
        multilabel=multilabel,
    )
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    examples, spec = _binning.read(data, spec)
    examples = examples.with_clusters()
    scores, outcomes, _ = _scores.scored_rows(examples, spec)
    scored = Scored(
        scores[:, 0].astype(np.float64),
        outcomes[:, 0].astype(np.float64),
        np.ones(len(scores)) if examples.weights is None else examples.weights,
        examples.clusters,
    )
    are_binary = examples.shares is None
    used = _half(rng, len(scores), examples.clusters)
    columns = _residual_tree.features_of(features, examples, used)
    leaves = _residual_tree.leaves(
        columns,
        scored,
        used,
        depth,
        min_examples,
        _residual_tree.NUM_PARTS[statistic],
        are_binary,
    )
    codes = np.empty(len(used), np.int64)
    for i, leaf in enumerate(leaves):
        codes[leaf.rows] = i
    others = _others(scored, ~used)
    known = others.clusters
    if not are_binary and known is None:
        # Their variance is that of the data: each example is a cluster of its own.
        size = len(others.scores)
        others = others._replace(clusters=Clusters(np.arange(size), size))
    return table_of(
        [functools.partial(_partition, codes[~used], leaves)],
        others,
        known,
        min_examples,
        level,
        statistic,
        "holm",
        rng,
        are_binary,
    )


def _half(
    rng: np.random.Generator, number: int, clusters: Clusters | None
) -> np.ndarray:
    """Returns a random half of the examples, or of the clusters, boolean [N]."""
    if clusters is None:
        clusters = Clusters(np.arange(number), number)
    chosen = np.zeros(clusters.number, bool)
    chosen[rng.permutation(clusters.number)[: clusters.number // 2]] = True
    return chosen[clusters.codes]


def _others(scored: Scored, rows: np.ndarray) -> Scored:
    """Returns some of the examples, boolean [N]. Clusters of one example are none."""
    clusters = scored.clusters
    if clusters is not None:
        present, codes = np.unique(clusters.codes[rows], return_inverse=True)
        clusters = None
        if len(present) < len(codes):
            clusters = Clusters(codes.reshape(-1), len(present))
    return Scored(
        scored.scores[rows], scored.outcomes[rows], scored.weights[rows], clusters
    )


def _partition(codes: np.ndarray, leaves: list[_residual_tree.Leaf]) -> Partition:
    """Returns the groups of the leaves in which there are examples."""
    present, index = np.unique(codes, return_inverse=True)
    attributes = [_attributes(leaves[code].conditions) for code in present]
    names = [
        " and ".join(
            f"{name} {condition}"
            for name, conditions in each.items()
            for condition in conditions
        )
        or "all"
        for each in attributes
    ]
    joined = [
        {name: " and ".join(conditions) for name, conditions in each.items()}
        for each in attributes
    ]
    return Partition(index.reshape(-1), names, joined)


def _attributes(conditions: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Returns the conditions of each feature, without those that say no more."""
    kept: dict[str, list[str]] = {}
    for name, condition in conditions:
        before = kept.setdefault(name, [])
        if condition[0] in "<>":
            if any(each[0] == ">" or each == "is known" for each in before):
                condition = condition.removesuffix(" or missing")
            # A later cut of the same side is narrower.
            said = condition[0]
            before[:] = [
                each for each in before if each[0] != said and each != "is known"
            ]
        if condition.startswith("= "):
            before.clear()
        before.append(condition)
    return kept
