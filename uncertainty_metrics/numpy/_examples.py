"""Checked examples of classifiers, from the arguments that their metrics share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy import _clusters, _inputs, _row_math, _threads
from uncertainty_metrics.numpy._group_columns import group_column

# Confidences have at least this many distinct values, as a rule.
_SEVERAL = 4


class Partition(NamedTuple):
    """A partition of N examples into parts.

    Attributes:
      index: the part of each example, integers [N] in [0, number).
      number: number of parts, empty ones included.
      names: what each part is called; None for its number.
      are_images: whether the parts are images, over whose values a metric is averaged.
    """

    index: Any
    number: int
    names: tuple[Any, ...] | None = None
    are_images: bool = False

    def rows(self) -> list[np.ndarray]:
        """Returns the indices of the examples of each part, ascending."""
        index = self.index
        if self.number <= 2**16:  # Sorting 16-bit integers takes a tenth of the time.
            index = index.astype(np.uint16)
        order = np.argsort(index, kind="stable")
        ends = np.cumsum(np.bincount(index, minlength=self.number))[:-1]
        return np.split(order, ends)

    def sums(self, values: np.ndarray | None) -> np.ndarray:
        """Returns the sums over parts of values [N], or of ones, float64 [number]."""
        return np.bincount(self.index, values, self.number).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class Examples:
    """Checked examples. Examples of weight 0 or with the ignored label are left out.

    Attributes:
      labels: int64 [N], in [0, K).
      predictions: floating [N, K] in the precision that was passed: logits if `name` is
        "logits", else probabilities. The range of probabilities is not checked yet:
        `decisions` and `check_probabilities` check it in the pass that reads them.
      weights: float64 [N], positive, or None if every weight is 1.
      predicted: int64 [N], the decided classes that were passed, or None.
      name: the name of the predictions argument that was passed.
      counted: boolean, shape of the labels that were passed: which of them are among
        these examples.
      groups: the group of each example, or None.
      one_column: whether one column was passed: P(class 1), or its logit, of two
        classes.
      places: for `multilabel`, the place of each label on the last axis of the labels
        that were passed (an example is one label); else None.
      place: where the predictions stand in the argument that was passed, for messages;
        None if nobody knows.
      clusters: the cluster of each example, or None for independent examples.
      shares: the distribution of the label of each example, float64 [N, K], where an
        outcome may be any number in [0, 1]: grades of answers, or votes. `labels` are
        then the classes with the largest share. None if each example has one label.
    """

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    predicted: np.ndarray | None
    name: str
    counted: np.ndarray
    groups: Partition | None = None
    places: Partition | None = None
    place: _inputs.Place | None = None
    one_column: bool = False
    clusters: _clusters.Clusters | None = None
    shares: np.ndarray | None = None

    @property
    def num_classes(self) -> int:
        """The number of classes, or of labels where each is 0 or 1."""
        return self.predictions.shape[1] if self.places is None else self.places.number

    @property
    def dtype(self) -> np.dtype:
        """The type of the probabilities."""
        return np.dtype(float) if self.name == "logits" else self.predictions.dtype

    @lazy_property
    def probabilities(self) -> np.ndarray:
        """The probabilities [N, K], in float64 where logits were passed."""
        if self.name == "logits":
            logits = self.predictions
            return _row_math.in_blocks(_row_math.softmax, logits, logits.shape[1])
        return self.predictions

    @lazy_property
    def decided(self) -> tuple[np.ndarray, np.ndarray]:
        """The most probable class of each example and its probability."""
        if "probabilities" in vars(self):
            return _inputs.decisions(self.probabilities, "probabilities")
        return _inputs.decisions(self.predictions, self.name, self.place)

    def rows(self, chosen: slice | np.ndarray) -> np.ndarray:
        """Returns the probabilities of some examples, [n, K]; unlike `probabilities`,
        without an array of the probabilities of all examples for logits.

        Args:
          chosen: a slice, or indices.
        """
        if self.name == "logits" and "probabilities" not in vars(self):
            return _row_math.softmax(self.predictions[chosen])
        return self.probabilities[chosen]

    def checked(self) -> Examples:
        """Returns the examples, with probabilities that are in [0, 1].

        Raises:
          ValueError: a probability is not in [0, 1].
        """
        if self.name == "logits":
            return self
        checked = _inputs.check_probabilities(self.predictions, self.name, self.place)
        if checked is self.predictions:
            return self
        return dataclasses.replace(self, predictions=checked)

    def came(self, classes: Any) -> np.ndarray:
        """Returns the outcome of one class for each example, [N]: booleans, or the
        shares of the class.

        Args:
          classes: a class, or a class for each example, integers [N].
        """
        if self.shares is None:
            return self.labels == classes
        return self.shares[np.arange(len(self.labels)), classes]

    def in_blocks(
        self, function: Callable[[np.ndarray, slice], np.ndarray], *shape: int
    ) -> np.ndarray:
        """Returns a score of every example, float64 [N, ...].

        Args:
          function: returns the scores of the examples of a block, [n, ...], for their
            contiguous float64 probabilities [n, K], which it may overwrite, and the
            block.
          *shape: the shape of a score.
        """
        out = np.empty((len(self.labels), *shape))

        def scores(block: slice) -> np.ndarray:
            return function(self.rows(block).astype(np.float64, order="C"), block)

        return _threads.fill_rows(out, scores, self.predictions.shape[1])

    def at(self, rows: np.ndarray) -> Examples:
        """Returns the examples with indices `rows`, without groups and clusters."""

        def taken(array: Any) -> Any:
            return None if array is None else array[rows]

        places = self.places
        return dataclasses.replace(
            self,
            labels=self.labels[rows],
            predictions=self.predictions[rows],
            weights=taken(self.weights),
            predicted=taken(self.predicted),
            groups=None,
            clusters=None,
            places=places and places._replace(index=places.index[rows]),
            shares=taken(self.shares),
            place=None,
        )

    def without_copies(self) -> Examples:
        """Returns independent examples, one of each cluster, if every cluster holds one
        example or equally many copies of one; else these examples. A weight is a number
        of copies.
        """
        if self.clusters is None:
            return self
        columns = [self.labels, *self.predictions.T]
        if self.shares is not None:
            columns += [*self.shares.T]
        if self.predicted is not None:
            columns.append(self.predicted)
        first = _clusters.one_example_each(self.clusters, self.weights, *columns)
        if first is None:
            return self
        if len(first) == len(self.labels):
            return dataclasses.replace(self, weights=None, clusters=None)
        return dataclasses.replace(self.at(np.sort(first)), weights=None)

    def rows_of_labels(self) -> _clusters.Clusters | None:
        """Returns the row of each label of `multilabel` as a cluster; None if every
        label is an example of its own. `counted` must be that of these examples.
        """
        if self.places is None:
            return None
        rows = np.flatnonzero(self.counted) // self.places.number
        distinct, codes = np.unique(rows, return_inverse=True)
        return _clusters.Clusters(codes.reshape(-1), len(distinct))

    def with_clusters(self) -> Examples:
        """Returns the examples with the labels of a row as a cluster, because they
        depend on each other; the examples themselves if there are clusters already, or
        no rows of labels.
        """
        rows = self.rows_of_labels()
        if self.clusters is not None or rows is None:
            return self
        return dataclasses.replace(self, clusters=rows)

    def of_batch(self, clusters: Any) -> Examples:
        """Returns the examples of a part of a stream in their clusters, which may be
        few; without `clusters` as `with_clusters` does.
        """
        if clusters is None:
            return self.with_clusters()
        codes = _clusters.codes_of_batch(clusters, self.counted.shape, self.counted)
        return dataclasses.replace(self, clusters=codes)

    def for_each_label(self, values: np.ndarray) -> np.ndarray:
        """Returns values of the examples, [N], for each label of `multilabel`, [N L];
        values of as many labels, and of other examples, as they are.
        """
        if self.places is None or len(values) * self.places.number != self.counted.size:
            return values
        return np.repeat(values, self.places.number)

    def with_one_label_each(self) -> Examples:
        """Returns the examples themselves if each has one label; else a copy of each
        example for every class of which it has a share, with this label and the share
        as its weight. `counted` is then True for all.
        """
        if self.shares is None:
            return self
        rows, labels = np.nonzero(self.shares)
        weights = self.shares[rows, labels]
        if self.weights is not None:
            weights = weights * self.weights[rows]
        copies = dataclasses.replace(self.at(rows), labels=labels, shares=None)
        return copies.weighted(weights)

    def weighted(self, weights: np.ndarray | None) -> Examples:
        """Returns the examples with other weights; `counted` is True for all."""
        counted = np.ones(len(self.labels), bool)
        reweighted = dataclasses.replace(self, weights=weights, counted=counted)
        # Properties that were computed already hold for the new weights, too.
        computed = {"probabilities", "decided"} & vars(self).keys()
        vars(reweighted).update({name: vars(self)[name] for name in computed})
        return reweighted


def _check_not_swapped(labels: np.ndarray, predictions: np.ndarray, name: str) -> None:
    """Raises ValueError if the two arguments make sense only in the other order."""
    if not _inputs.is_floating(labels) or predictions.size == 0:
        return
    with np.errstate(invalid="ignore"):
        is_swapped = np.any((labels > 0) & (labels < 1)) and np.all(
            predictions == np.floor(predictions)
        )
    if is_swapped:
        raise _checks.plain_error(
            _checks.SWAPPED, f"fractions as `labels`, whole numbers as `{name}`"
        )


def _check_not_one_hot(labels: np.ndarray, predictions: np.ndarray, name: str) -> None:
    """Raises ValueError if labels [N, K] are one-hot rows, not N*K binary labels."""
    if labels.ndim < 2 or labels.shape != predictions.shape or labels.shape[-1] < 2:
        return
    one_hot = np.all((labels == 0) | (labels == 1)) and np.all(labels.sum(-1) == 1)
    if one_hot and (
        name == "logits"
        or np.all(
            np.abs(predictions.astype(np.float64).sum(-1) - 1)
            < _inputs.ROW_SUM_TOLERANCE
        )
    ):
        raise _checks.error(
            "labels",
            "integers, not one-hot rows: pass np.argmax(labels, axis=-1)",
            f"one-hot labels of shape {list(labels.shape)} for `{name}` of the same "
            "shape",
        )


def examples(
    labels: Any,
    probabilities: Any = None,
    logits: Any = None,
    probs: Any = None,
    *,
    labels_predicted: Any = None,
    sample_weight: Any = None,
    ignore_index: int | None = None,
    groups: Any = None,
    num_groups: Any = None,
    multilabel: Any = False,
    allow_none: bool = False,
    clusters: Any = None,
    per_image: Any = False,
) -> Examples:
    """Returns the checked examples of the arguments that classifier metrics share.

    `allow_none` accepts a batch in which every example is ignored or has weight 0. To
    call many functions on the same examples, pass `Examples` as `labels`, and no other
    data.
    """
    if isinstance(labels, Examples):
        return labels
    name, predictions = _checks.predictions(probabilities, logits, probs)
    predictions = _inputs.as_array(name, predictions)
    labels = _inputs.as_array("labels", labels)
    num_classes = _checks.layout(labels.shape, predictions.shape, name)
    shape = labels.shape
    names: tuple[Any, ...] | None = None
    num_images = _checks.number_of_images(per_image, shape, groups)
    if groups is not None and num_groups is None:
        column = group_column("groups", groups)
        groups, names = column.codes.reshape(np.shape(groups)), tuple(column.values)
        num_groups = len(names)
    if num_images is None:
        num_groups = _checks.number_of_groups(groups, num_groups)
    else:
        groups, num_groups = np.arange(num_images), num_images
    places, num_labels = None, 0
    if multilabel:
        num_labels = _checks.number_of_labels(shape, predictions.shape, name)
        places = np.broadcast_to(np.arange(num_labels), shape).reshape(-1)
    elif num_classes is None:
        _check_not_one_hot(labels, predictions, name)
    if num_groups is not None:
        groups = _inputs.broadcast_to_labels("groups", groups, shape)

    own_shape = predictions.shape
    # `ordered_bits` needs the bytes in the order of the machine.
    predictions = np.ascontiguousarray(_inputs.native_floating(predictions))
    predictions = predictions.reshape(-1, num_classes or 1)
    labels = labels.reshape(-1)
    ignored = None
    if ignore_index is not None:
        ignored = _inputs.is_ignored(labels, ignore_index)
    if labels_predicted is not None:
        labels_predicted = _inputs.as_array("labels_predicted", labels_predicted)
        if labels_predicted.size != labels.size:
            raise _checks.error(
                "labels_predicted",
                f"of the shape of the labels, {list(shape)}",
                f"shape {list(labels_predicted.shape)}",
            )
        labels_predicted = labels_predicted.reshape(-1)

    weights = None
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, shape)
        dropped = weights == 0
        ignored = dropped if ignored is None else ignored | dropped
    counted = np.ones(shape, bool) if ignored is None else ~ignored.reshape(shape)
    rows = counted.reshape(-1)
    own, among = _inputs.Place(own_shape, rows), _inputs.Place(shape, rows)
    all_predictions = predictions
    if ignored is not None and np.any(ignored):
        if not (allow_none or np.any(counted)):
            raise _checks.error(
                "labels",
                "at least one example of positive weight that is not ignored",
                "none",
                verb="hold",
            )
        labels, predictions = labels[rows], predictions[rows]
        weights = None if weights is None else weights[rows]
        labels_predicted, groups, places = (
            None if array is None else array[rows]
            for array in (labels_predicted, groups, places)
        )

    _check_not_swapped(labels, all_predictions, name)
    if num_classes is None and not multilabel and labels.dtype.kind in "iuf":
        _checks.not_votes(shape, np.max(labels, initial=0), name)
    classes = num_classes or 2
    labels = _inputs.integer_labels("labels", labels, classes, among)
    if labels_predicted is not None:
        labels_predicted = _inputs.integer_labels(
            "labels_predicted", labels_predicted, classes, among
        )
    if num_groups is not None:
        groups = _inputs.integer_labels("groups", groups, num_groups, among)
    if name == "logits":
        _inputs.check_logits(predictions, name, own)
        _inputs.are_probabilities(all_predictions, rows, name)
        if num_classes is None:
            predictions = np.concatenate([np.zeros_like(predictions), predictions], -1)
    elif num_classes is None:
        predictions = _inputs.check_probabilities(predictions, name, own)
        # In bfloat16 1 - p has two digits. Edges are rounded to the type of float16.
        is_coarse = predictions.dtype.name == "bfloat16"
        dtype = np.dtype(np.float32) if is_coarse else predictions.dtype
        both = np.empty((len(predictions), 2), dtype)
        both[:, 1] = predictions[:, 0]  # `concatenate` copies each number by itself.
        np.subtract(np.ones((), dtype), both[:, 1], out=both[:, 0])
        predictions = both
    return Examples(
        *(labels, predictions, weights, labels_predicted, name, counted),
        None
        if num_groups is None
        else Partition(groups, num_groups, names, num_images is not None),
        None if places is None else Partition(places, num_labels),
        own,
        num_classes is None and not multilabel,
        None if clusters is None else _clusters.cluster_codes(clusters, shape, counted),
    )


def examples_of(
    data: ClassifierData, allow_none: bool = False, grades: str = ""
) -> Examples:
    """Returns the checked examples of the data of a public function.

    Args:
      data: the data.
      allow_none: as for `examples`.
      grades: why the outcomes must be 0 and 1, and what to do with grades between: the
        end of an error message; "" where outcomes may be any numbers in [0, 1].

    Raises:
      ValueError: an argument is not as described.
    """
    read = _read(data, allow_none)
    if grades and read.shares is not None:
        name = "correct" if data.has_confidences else "labels"
        raise _checks.error(name, f"0 and 1 here: {grades}", "numbers between 0 and 1")
    return read


def _of_distributions(data: ClassifierData, allow_none: bool) -> Examples:
    """Returns the checked examples whose labels are distributions over the classes."""
    name = "label_distributions"
    shares = _inputs.as_array(name, data.label_distributions)
    if shares.ndim == 0 or shares.shape[-1] < 2:
        expected = "of shape [..., K] with K >= 2 classes"
        raise _checks.error(name, expected, f"shape {list(shares.shape)}")
    read = examples(
        np.zeros(shares.shape[:-1], np.int64),
        data.probabilities,
        data.logits,
        data.probs,
        labels_predicted=data.labels_predicted,
        sample_weight=data.sample_weight,
        groups=data.groups,
        num_groups=data.num_groups,
        per_image=data.per_image,
        allow_none=allow_none,
        clusters=data.clusters,
    )
    _checks.distributions_fit(shares.shape[-1], read.num_classes)
    counted = read.counted.reshape(-1)
    place = _inputs.Place(shares.shape, counted)
    shares = shares.reshape(-1, shares.shape[-1])[counted].astype(np.float64)
    with np.errstate(invalid="ignore"):
        bad = ~((shares >= 0) & (shares <= 1))
    if np.any(bad):
        hint = "; divide votes by their number" if np.max(shares) > 1 else ""
        raise _checks.error(name, f"in [0, 1]{hint}", _inputs.first(bad, shares, place))
    sums = shares.sum(axis=1)
    bad = np.abs(sums - 1) > _inputs.ROW_SUM_TOLERANCE
    if np.any(bad):
        received = f"sum {_inputs.first(bad, sums)}"
        raise _checks.error(name, "rows that sum to 1", received, verb="hold")
    read = dataclasses.replace(read, labels=np.argmax(shares, axis=1))
    if np.all((shares == 0) | (shares == 1)):
        return read
    return dataclasses.replace(read, shares=shares)


def _read(data: ClassifierData, allow_none: bool) -> Examples:
    if data.has_confidences:
        correct = _check_confidences(data)
        read = examples(
            correct >= 0.5,
            data.confidences,
            sample_weight=data.sample_weight,
            groups=data.groups,
            num_groups=data.num_groups,
            allow_none=allow_none,
            clusters=data.clusters,
            per_image=data.per_image,
        )
        if np.all((correct == 0) | (correct == 1)):
            return read
        _warn_if_swapped(read, correct)
        grades = correct[read.counted].astype(np.float64)
        return dataclasses.replace(read, shares=np.stack([1 - grades, grades], axis=1))
    if isinstance(data.labels, Examples):
        return data.labels
    data.check_labels()
    if data.label_distributions is not None:
        return _of_distributions(data, allow_none)
    return examples(
        data.labels,
        data.probabilities,
        data.logits,
        data.probs,
        labels_predicted=data.labels_predicted,
        sample_weight=data.sample_weight,
        ignore_index=data.ignore_index,
        groups=data.groups,
        num_groups=data.num_groups,
        multilabel=data.multilabel,
        allow_none=allow_none,
        clusters=data.clusters,
        per_image=data.per_image,
    )


def _warn_if_swapped(read: Examples, correct: np.ndarray) -> None:
    """Warns of confidences that are all 0 or 1, and grades of several values between:
    the two arguments may be swapped.
    """
    confidences = read.predictions[:, 1]
    if not np.all((confidences == 0) | (confidences == 1)):
        return
    if np.ptp(confidences) == 0 or len(np.unique(correct[read.counted])) < _SEVERAL:
        return
    _user_warnings.warn(
        "All `confidences` are 0 or 1, and `correct` has grades between: are the two "
        "arguments swapped? `correct` is what came, `confidences` what was said before."
    )


def _check_confidences(data: ClassifierData) -> np.ndarray:
    """Returns `correct`, in [0, 1], with 0 for the examples that do not count.

    Raises:
      ValueError: a value is wrong among the examples that count.
    """
    correct = _inputs.as_array("correct", data.correct)
    confidences = _inputs.as_array("confidences", data.confidences)
    _checks.paired("confidences", confidences.shape, "correct", correct.shape)
    counted = np.ones(correct.shape, bool)
    if data.sample_weight is not None:
        counted = _inputs.sample_weights(data.sample_weight, correct.shape) > 0
        counted = counted.reshape(correct.shape)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        bad = ~((correct >= 0) & (correct <= 1)) & counted
    if np.any(bad):
        hint = _inputs.label_hint(correct[counted], 2)
        if not hint and np.max(correct[counted]) > 1 and np.min(correct[counted]) >= 0:
            hint = "; divide grades by the highest possible grade"
        expected = "booleans, or numbers in [0, 1]" + hint
        raise _checks.error("correct", expected, _inputs.first(bad, correct))
    of_answers = np.where(counted, correct, np.zeros((), correct.dtype))
    counted = counted.reshape(confidences.shape)
    limit = _inputs.upper_limit(_inputs.native_floating(confidences).dtype)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        bad = ~((confidences >= 0) & (confidences <= limit)) & counted
    if np.any(bad):
        expected = _inputs.unit_range("confidences", confidences[counted])
        raise _checks.error("confidences", expected, _inputs.first(bad, confidences))
    return of_answers


def concatenate(batches: list[Examples]) -> Examples:
    """Returns the examples of all batches, which have the same number of classes."""
    if len(batches) == 1:
        return batches[0]

    def join(field: str, default: Any) -> Any:
        values = [getattr(batch, field) for batch in batches]
        if all(value is None for value in values):
            return None
        pairs = zip(batches, values, strict=True)
        return np.concatenate([default(b) if v is None else v for b, v in pairs])

    shares = None
    if any(batch.shares is not None for batch in batches):
        shares = join("shares", lambda batch: np.eye(batch.num_classes)[batch.labels])
    return Examples(
        join("labels", None),
        join("probabilities", None),
        join("weights", lambda batch: np.ones(len(batch.labels))),
        join("predicted", lambda batch: np.argmax(batch.probabilities, axis=-1)),
        "probabilities",
        np.concatenate([batch.counted.reshape(-1) for batch in batches]),
        shares=shares,
    )
