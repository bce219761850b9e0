"""Calibration of the groups of a population: for whom are the probabilities wrong?"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy import _clusters, _examples, _inputs
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy._frames import columns_by_name, takes_frames
from uncertainty_metrics.numpy._group_columns import GroupColumn, group_column
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.watching._clustered_gaps import Scored
from uncertainty_metrics.numpy.calibration.watching._group_table import (
    Adjustment,
    CalibrationByGroup,
    Partition,
    table_of,
)
from uncertainty_metrics.numpy.calibration.watching._group_walks import Statistic

__all__ = ["calibration_by_group"]


@takes_frames
def calibration_by_group(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    groups: Any,
    depth: int = 1,
    min_examples: int = 50,
    level: float = 0.95,
    statistic: Statistic = "gap",
    adjust: Adjustment = "holm",
    num_intervals: int = 4,
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
    """Calibration of each group of examples, and which gaps are more than chance.

    A model that is calibrated on average may promise too much to some groups. For the
    scores p_i and the outcomes y_i of the n examples of a group (of one column P(class
    1) and whether the label is 1, else the confidence of the decision and whether it is
    right),

      gap = mean y_i - mean p_i

    Its interval is Wilson's of the mean outcome, less the mean score. Its p-value is
    two-sided, for outcomes that come with the probabilities p_i: Normal with the
    variance sum p_i (1 - p_i) / n^2 where this sum is at least 100, and else exact:
    twice the smaller mid-p tail of the number of outcomes,

      2 min(P(fewer) + P(equal) / 2, P(more) + P(equal) / 2)

    whatever the number of examples: of 20,000 confidences of 0.999 only 20 errors are
    expected, which are not Normal. With weights that are not all equal there is no such
    count. The p-value is then the largest of the Normal one, of the exact one of as
    many unweighted examples as the weighted ones are worth, and of a saddlepoint
    approximation, so that it is never less careful than Normal.

    The p-values are adjusted by Holm's method for the number of groups tested, however
    many groups there are and however they overlap. A single interval is not adjusted:
    of 100 groups of a calibrated model about 5 have intervals without 0.

    In a simulation of 84 overlapping groups (`studies/calibration_by_group_level.py`,
    300 draws) a calibrated model had a finding in 3.7% of data sets of
    500, 2000 and 10,000 examples. One group of an eighth of the examples, whose
    outcomes came less often than predicted by 0.1, was found in 12%, 64% and 100%.
    Where all confidences are 0.999 or 0.9999, at most 0.7% of data sets of 2000 and of
    20,000 had a finding, and at most 2.0% with weights; by Normal p-values 18% to 85%,
    and 1% to 87% with weights.

    A mid-p tail keeps the level on average over groups. For a single group the number
    of errors is discrete: at 5%, from 0.5% to 5.7% of calibrated groups are rejected
    for most expected numbers of errors, and 8.3% where just 3 are expected.

    Where outcomes are between 0 and 1, only the data tell their variance: each example
    is then treated as a cluster of its own (below), without the exact p-value, and n is
    the number of outcomes 0 and 1 whose mean has the same variance.

    The intervals and p-values need independent examples, or `clusters=`. With the sums
    S_c of (y - p) over the n_c examples of cluster c in the group, and C such clusters,
    t with C - 1 degrees of freedom then tests the gap by the variance

      C / (C - 1) sum_c S_c^2 / n^2

    The interval holds each gap g that passes this test with S_c - g n_c instead of S_c.
    Of n examples with the design effect D = sum_c S_c^2 / sum (y - p)^2, n / D are as
    good as independent: the interval is never shorter than Wilson's of so many, and p
    never smaller than the exact one of so many with the scores of the group. A group of
    one cluster is not tested. A model that is calibrated had a finding in at most 7% of
    data sets from 50 clusters on (`studies/cluster_coverage.py`).

    A gap of 0 does not show that a group is calibrated: scores that are too high for
    some of its members and too low for others even out. `statistic="kuiper"` tests the
    calibration at every score: with the members sorted by their scores, and the sums
    S_k = sum_(i <= k) (y_i - p_i) at the last member of each score,

      kuiper = (max_k S_k - min_k S_k) / sqrt(sum_i p_i (1 - p_i)),   S_0 = 0

    Its p-value is that of the range of a Brownian motion if sum p (1 - p) is at least
    25 and the skewness at most 0.1, else the share of 999 to 10,000 redrawn data sets
    of a calibrated model with a statistic as large: labels that come with the
    probabilities p_i, or the signs of (y - p) of whole clusters flipped (then the
    largest of sum_c S_c^2 and the variance without clusters is in the divisor).

    In a simulation (`studies/group_findings.py`, 200 draws) a group of 500 with an ECE
    of 0.10 and a true gap of 0 was found among 8 groups in 96% of data sets by
    "kuiper", and in 4% by "gap".

    `adjust="max"` compares each statistic with the largest of all groups in 999 redrawn
    data sets, and the next ones, step by step, with the largest of the groups that are
    left. Then groups that overlap cost no power, but no adjusted p-value is smaller
    than 0.001. Its time is 999 passes over the examples of all groups: a second or two
    for 100,000 examples with three attributes. `adjust="holm"` has no such end, and
    costs less. In the same study (1000 draws) 800 examples of a calibrated model in
    overlapping groups had a finding in 3.6% ("kuiper") and 3.9% ("gap") of data sets
    with "holm", and in 4.7% and 4.8% with "max".

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      groups: the attributes of the examples: a mapping (or data frame) from the name of
        each attribute to its values, strings, integers or booleans, of the shape of the
        labels; or the values of a single attribute. Missing values are a group of their
        own. Numbers, which are fractions or more than 20 distinct integers, are cut at
        quantiles; integers that name groups must then be strings. With `multilabel`,
        values for each example or for each label.
      depth: 1 for the groups of each attribute by itself; 2 for those of every pair of
        attributes as well.
      min_examples: smaller groups are listed, but not tested.
      level: level of the intervals, in (0, 1); 1 - level is the level of the tests.
      statistic: "gap", or "kuiper" for errors that have both signs in a group.
      adjust: "holm", or "max" for the law of the largest statistic.
      num_intervals: number of intervals into which numbers are cut, of equally many
        examples but for ties. They are named by the smallest and the largest number.
      seed: seed of the redrawn data sets, all that `np.random.default_rng` takes. None
        gives new ones in each call.
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
      A `CalibrationByGroup`, a sequence of a `GroupCalibration` for each group, sorted
      by the adjusted p-value. It prints as a table; `.worst` is the first group,
      `.miscalibrated` the groups beyond chance, `.to_dict()` the columns.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> correct = [1] * 80 + [0] * 20 + [1] * 50 + [0] * 50
      >>> language = ["English"] * 100 + ["Finnish"] * 100
      >>> table = um.calibration_by_group(
      ...     correct=correct, confidences=[0.8] * 200, groups={"language": language}
      ... )
      >>> table.worst.name, round(table.worst.gap, 3)
      ('language=Finnish', -0.3)
      >>> [group.name for group in table.miscalibrated]
      ['language=Finnish']

    References:
      Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure. Wilson
      (1927), Probable Inference, the Law of Succession, and Statistical Inference.
      Barndorff-Nielsen (1991), Modified Signed Log Likelihood Ratio. Westfall and
      Young (1993), Resampling-Based Multiple Testing. Arrieta-Ibarra et al. (2022),
      Metrics of Calibration for Probabilistic Predictions.
    """
    _checks.one_of("depth", depth, (1, 2))
    min_examples = _checks.positive_integer("min_examples", min_examples)
    level = _checks.open_unit("level", level)
    _checks.one_of("statistic", statistic, get_args(Statistic))
    _checks.one_of("adjust", adjust, get_args(Adjustment))
    num_intervals = _checks.positive_integer("num_intervals", num_intervals)
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
    columns = _columns(groups, examples, num_intervals)
    if examples.clusters is not None:
        columns, scored = _without_copies(columns, scored)
    if examples.shares is not None and scored.clusters is None:
        # Their variance is that of the data: each example is a cluster of its own.
        size = len(scored.scores)
        scored = scored._replace(clusters=Clusters(np.arange(size), size))
    partitions = (
        functools.partial(_partition, {name: columns[name] for name in names})
        for size in range(1, depth + 1)
        for names in itertools.combinations(columns, size)
    )
    table = table_of(
        partitions,
        scored,
        examples.clusters,
        min_examples,
        level,
        statistic,
        adjust,
        rng,
        are_binary=examples.shares is None,
    )
    if examples.clusters is None or scored.clusters is not None:
        return table
    effect = _clusters.examples_each(examples.clusters, examples.weights)
    return dataclasses.replace(table, design_effect=effect)


def _without_copies(
    columns: dict[str, GroupColumn], scored: Scored
) -> tuple[dict[str, GroupColumn], Scored]:
    """Returns independent examples, one of each cluster, if every cluster holds one
    example or equally many copies of one; else all examples.
    """
    scores, outcomes, weights, clusters = scored
    assert clusters is not None
    groups = [column.codes for column in columns.values()]
    first = _clusters.one_example_each(clusters, weights, scores, outcomes, *groups)
    if first is None:
        return columns, scored
    first = np.sort(first)
    if len(first) < len(scores):
        weights = np.ones(len(scores))
    columns = {
        name: column._replace(codes=column.codes[first])
        for name, column in columns.items()
    }
    return columns, Scored(scores[first], outcomes[first], weights[first], None)


def _columns(
    groups: Any, examples: _examples.Examples, num_intervals: int
) -> dict[str, GroupColumn]:
    """Returns the groups of the examples that count, attribute by attribute."""
    attributes = columns_by_name(groups)
    named = attributes is not None
    if attributes is None:
        attributes = {str(getattr(groups, "name", None) or "group"): groups}
    if not attributes:
        raise _checks.error("groups", "at least one attribute", "none", verb="hold")
    counted, columns = examples.counted.reshape(-1), {}
    for name, values in attributes.items():
        label = f"groups[{name!r}]" if named else "groups"
        column = group_column(label, values, num_intervals)
        column = column._replace(codes=examples.for_each_label(column.codes))
        if len(column.codes) != counted.size:
            raise _checks.error(
                label,
                f"a value for each of the {counted.size} examples",
                len(column.codes),
                verb="hold",
            )
        columns[name] = column._replace(codes=column.codes[counted])
    return columns


def _partition(columns: dict[str, GroupColumn]) -> Partition:
    """Returns the groups that the values of one or two attributes make."""
    sizes = [len(column.values) for column in columns.values()]
    first, *others = columns.values()
    cells = first.codes
    for column in others:
        cells = cells * len(column.values) + column.codes
    occurs = np.bincount(cells, minlength=int(np.prod(sizes))) > 0
    present = np.flatnonzero(occurs)
    attributes = [
        {
            name: column.values[place]
            for (name, column), place in zip(columns.items(), places, strict=True)
        }
        for places in zip(*np.unravel_index(present, sizes), strict=True)
    ]
    names = [
        ", ".join(f"{name}={value}" for name, value in values.items())
        for values in attributes
    ]
    if len(present) < len(occurs):
        cells = (np.cumsum(occurs) - 1)[cells]
    return Partition(cells, names, attributes)
