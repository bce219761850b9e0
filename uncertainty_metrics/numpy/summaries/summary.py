"""A summary of predictions: what a calibration report needs, without a prediction."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _calibration_spec, _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import _examples, _saved
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _scores
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch
from uncertainty_metrics.numpy.summaries import (
    _event_sketch,
    _file_sketches,
    _mean_scores,
    _private_counts,
    _sketches,
    _summary_files,
    _sums_by_class,
    _two_classes,
)
from uncertainty_metrics.numpy.summaries._mean_scores import Moments

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Summary"]


class Summary:
    """Sums over predictions, from which a calibration report is made.

    Stream the predictions of a classifier, or answers with confidences, batch by batch.
    The sums take some hundred kilobytes, however many examples there are, and `a + b`
    is the summary of the data of both: of two files, of two machines, of two days. Of
    thousands of classes they take some kilobytes for each; more than 100,000 classes
    are refused.
    `um.report(summary)` makes the report, `calibration_drift` compares two summaries.

    A summary holds a `ScoreSketch` of the decisions and one of all classes, and for
    each class a few sums over its examples: their number and weight, how many of the
    decisions were right, and sums and sums of squares of confidence, Brier score and
    negative log-likelihood. It holds no row, no order, and nothing that links one
    value of an example to another. The file that `save` writes has sums over blocks of
    five examples or more, so that no difference of them is the score of one example.

    Examples that depend on each other, such as several answers to a question, have
    `clusters` in `update`, which must come whole in one batch. Then `means` has the
    standard error of the mean gap alone, `calibration_drift` and the debiased errors of
    `decisions` and `events`, with `calibration_error_interval`, use the sums over
    clusters, and all that is right for independent examples alone is refused: other
    intervals and tests. `um.report` has the numbers of clusters, and says what it
    leaves out. Files have no sums over clusters, and their drift and report are
    refused, too.

    Answers may have grades between right and wrong. Then the accuracy is the mean
    grade, a Brier score or likelihood that of one vote, drawn at random, and standard
    errors are those of grades. What needs right and wrong refuses them.

    Args:
      class_names: names of the K classes, for the report; or none.

    Attributes:
      decisions: a `ScoreSketch` of the confidence of each decision, or answer, and
        whether it was right.
      classes: a `ScoreSketch` of the probability of every class, with a group for each
        class; None of answers with confidences.
      private: epsilon of the differential privacy of the files that it comes from, the
        largest of several; None without such files.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> monday, tuesday = um.Summary(), um.Summary()
      >>> monday.update([0, 1, 1], [0.2, 0.6, 0.9])
      >>> tuesday.update([0, 1], [0.1, 0.4])
      >>> both = monday + tuesday
      >>> both.num_examples, both.decisions.accuracy()
      (5, 0.8)
    """

    def __init__(self, *, class_names: Sequence[str] = ()):
        self.class_names = tuple(str(name) for name in class_names)
        self._decisions = ScoreSketch(positive_class=False)
        self.classes: ScoreSketch | None = None
        # The decisions for each class, in the cells of `classes`, and a last group of
        # blocks of decisions for several classes, which come from files.
        self._tops: SketchSums | None = None
        # The same sums again, weighted by the squares of the weights.
        self._squares: _sketches.Sketches | None = None
        self._is_from_file = False
        self.private: float | None = None
        self._of_answers: bool | None = None
        self._positive_class: bool | None = None
        self._sums: np.ndarray | None = None  # float64 [sums, classes].

    @property
    def decisions(self) -> ScoreSketch:
        """The sketch of decisions, which knows the squares of its weights."""
        squares = self._squares
        self._decisions._squared = None if squares is None else squares.decisions
        return self._decisions

    @decisions.setter
    def decisions(self, sketch: ScoreSketch) -> None:
        self._decisions = sketch

    @property
    def of_answers(self) -> bool | None:
        """Whether it is of answers with confidences; None before the first batch."""
        return self._of_answers

    @property
    def positive_class(self) -> bool | None:
        """Whether predictions are one column, P(class 1), and calibration that of
        `events`, not of `decisions`; None before the first batch, which tells.
        """
        return self._positive_class

    @property
    def events(self) -> ScoreSketch | None:
        """A `ScoreSketch` of P(class 1) and whether the label is 1, with the cells of
        `classes`; None unless there are examples, of labels of two classes.
        """
        if self.classes is None or self.num_classes != 2:
            return None
        count, squares = self.num_examples, self._squares
        events = _event_sketch.of_two_classes(self.classes, count)
        if squares is not None and squares.classes is not None:
            events._squared = _event_sketch.of_two_classes(
                squares.classes, count, like=self.classes
            )
        return events

    @property
    def num_classes(self) -> int | None:
        """Number of classes, 2 for answers; None before the first batch."""
        return None if self._sums is None else self._sums.shape[1]

    @property
    def num_examples(self) -> int:
        """Number of examples of positive weight."""
        return 0 if self._sums is None else int(self._rows["examples"].sum())

    @property
    def num_clusters(self) -> int | None:
        """Number of clusters; None if the examples are independent."""
        clusters = self._decisions._clusters
        return None if clusters is None else clusters.number

    @property
    def is_weighted(self) -> bool:
        """Whether any batch had weights."""
        return self._squares is not None

    @takes_frames
    def update(
        self,
        labels: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        correct: ArrayLike | None = None,
        confidences: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        label_distributions: ArrayLike | None = None,
        multilabel: bool = False,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the summary as it was.

        Args:
          labels: integer class labels in [0, K), shape [...].
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          sample_weight: weight of each example, >= 0, broadcastable to the labels.
          correct: right (1), wrong (0) or a grade between, [...]
            (conventions.md#answers).
          confidences: with `correct`, P(right) in [0, 1], [...]
            (conventions.md#answers).
          clusters: cluster of each example, integers or strings
            (conventions.md#clusters). All examples of a cluster must come in one batch:
            an id in another batch is another cluster, and is not noticed. Either all
            batches have `clusters` or none.
          label_distributions: instead of labels, the share of each class among votes,
            [..., K] (conventions.md#label-distributions). The summary is then of
            answers: of each decision, or of P(class 1) of one column, and its share.
          multilabel: whether labels are 0 or 1, shape [..., L]
            (conventions.md#multilabel). The summary is then of answers: of all labels
            with P(label is 1), in which the labels of an example are a cluster.

        Raises:
          ValueError: an argument is not as described, or the batch has other classes
            than the batches before.
        """
        data = ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
            multilabel=multilabel,
        )
        spec = _calibration_spec.OF_ONE_SCORE.for_data(data)
        examples = _examples.examples_of(data).of_batch(clusters)
        if label_distributions is not None or multilabel:
            examples = _answers_of(examples, spec)
        of_answers = data.has_confidences or label_distributions is not None
        of_answers = of_answers or multilabel
        self.add_examples(examples, of_answers=of_answers)

    def add_examples(self, examples: _examples.Examples, *, of_answers: bool) -> None:
        """Adds checked examples; answers are examples of two classes, 1 for right."""
        if len(examples.labels):
            self.add_batch(summary_of(examples, of_answers), examples.name)

    def add_batch(self, batch: Summary, name: str) -> None:
        """Adds the summary of a batch, without names of classes.

        Args:
          batch: of at least one example.
          name: what an error calls the predictions of the batch.

        Raises:
          ValueError: the batch has other classes than the batches before.
        """
        if self._of_answers not in (None, batch.of_answers):
            raise _checks.plain_error(
                "A summary is either of `labels`, or of `correct` with `confidences`.",
                "both",
            )
        if self.num_classes not in (None, batch.num_classes):
            raise _checks.error(
                name,
                f"{self.num_classes} classes, as in the first batch",
                f"{batch.num_classes} classes",
                verb="have",
            )
        forms = self.positive_class, bool(batch.positive_class)
        _calibration_spec.check_form(name, *forms, hint="")
        batch.class_names = self.class_names
        total = self + batch
        self._of_answers, self._sums = total._of_answers, total._sums
        self._positive_class = total._positive_class
        self.decisions, self.classes = total.decisions, total.classes
        self._tops, self._squares = total._tops, total._squares
        self._is_from_file, self.private = total._is_from_file, total.private

    @property
    def _rows(self) -> dict[str, np.ndarray]:
        """The sums by their names, each float64 [classes].

        Raises:
          ValueError: there are no examples yet.
        """
        if self._sums is None:
            raise _checks.plain_error(
                "There are no examples in this `Summary` yet: call `update` first.",
                "none",
            )
        return _sums_by_class.named(self._sums)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all examples."""
        return float(self._rows["w"].sum())

    @property
    def effective_examples(self) -> float:
        """Number of examples, or Kish's effective number of weighted ones."""
        return float(self.total_weight**2 / self._rows["ww"].sum())

    @property
    def shares(self) -> np.ndarray:
        """Share of each class in the weight of the labels, float64 [K]."""
        return self._rows["w"] / self.total_weight

    @property
    def impossible(self) -> int:
        """Number of labels whose probability was 0."""
        return round(self._rows["impossible"].sum())

    def means(self) -> dict[str, Moments]:
        """Returns accuracy, mean confidence and mean scores, with standard errors.

        The Brier score is in [0, 2], and in [0, 1] for answers. The standard error of
        the mean confidence is not known, nor that of an infinite mean: they are NaN.
        So are all standard errors with clusters, but for that of the gap.
        """
        spread, _ = self._spreads
        found = _mean_scores.means(self._rows, spread)
        clusters = self._decisions._clusters
        if clusters is None:
            return found
        return _mean_scores.with_clusters(found, clusters, self.total_weight)

    def brier_gain(self) -> tuple[Moments, float]:
        """Returns by how much the Brier score is less than that of forecasting the
        shares of the labels for every example, and the Brier score of these shares. The
        standard error is NaN with clusters.
        """
        of_answers, (_, spread) = bool(self.of_answers), self._spreads
        gain, constant = _mean_scores.brier_gain(self._rows, of_answers, spread)
        if self.num_clusters is not None:
            gain = Moments(gain.mean, math.nan)
        return gain, constant

    @property
    def _spreads(self) -> tuple[float, float]:
        """The sums of y (1 - y) over the examples, by their weights and by the squares
        of their weights; 0 if all outcomes y are 0 and 1.
        """
        squares = self._squares
        sketches = [self._decisions, squares.decisions if squares else self._decisions]
        sums = [sketch._content.sums for sketch in sketches]
        spread, of_squares = (
            float(each.spread_sums.values.sum()) if each and each.spread_sums else 0.0
            for each in sums
        )
        return spread, of_squares

    def decision_cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the mean score of each cell of `decisions`, and the weights of its
        wrong and of its right decisions, float64 [cells].

        Raises:
          ValueError: there are grades between right and wrong.
        """
        self._decisions._check_binary("decision_cells")
        (cells,) = self.decisions._groups()
        return cells.scores, cells.weights - cells.outcome_sums, cells.outcome_sums

    def squared_weights_by_label(self) -> np.ndarray:
        """Returns the sum of squared weights of each label, relative to the sum of its
        weights, float64 [K]; 0 for a label that does not occur.
        """
        w = self._rows["w"]
        return self._rows["ww"] / np.where(w > 0, w, 1.0)

    def squared_weights(self) -> np.ndarray | None:
        """Returns the sums of squared weights of the cells of `decisions`, of wrong and
        of right ones, float64 [2, cells]; None without weights.
        """
        if self._squares is None:
            return None
        (cells,) = self._squares.decisions._groups()
        return np.stack([cells.weights - cells.outcome_sums, cells.outcome_sums])

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Summary):
            return NotImplemented
        if self._sums is None or other._sums is None:
            return other if self._sums is None else self
        ours, theirs = (
            (each.of_answers, each.num_classes, each.class_names, each.positive_class)
            for each in (self, other)
        )
        if ours != theirs:
            raise _checks.plain_error(
                "Summaries can be added only if they are of the same classes and form.",
                " and ".join(each._told() for each in (self, other)),
            )
        if (self.private is None) != (other.private is None):
            raise _checks.plain_error(
                "A differentially private summary can be added only to another one.",
                f"private={self.private} and private={other.private}",
            )
        total = type(self)(class_names=self.class_names)
        if self.private is not None and other.private is not None:
            total.private = max(self.private, other.private)
        total._of_answers = self._of_answers
        total._positive_class = self._positive_class
        total._sums = self._sums + other._sums
        total._is_from_file = self._is_from_file or other._is_from_file
        mine, others = self._unweighted(), other._unweighted()
        sketches = mine.plus(others)
        total.decisions, total._tops, total.classes = sketches
        if self._squares is not None or other._squares is not None:
            # Without weights, all are 1.
            total._squares = (self._squares or mine).plus(other._squares or others)
        return total

    def __radd__(self, other: object) -> Self:
        is_start = isinstance(other, int) and other == 0  # `sum` starts with 0.
        return self if is_start else NotImplemented

    def _unweighted(self) -> _sketches.Sketches:
        return _sketches.Sketches(self.decisions, self._tops, self.classes)

    def _told(self) -> str:
        """Returns what the summary is of, for a message."""
        if self.of_answers:
            return "answers"
        names = ", ".join(self.class_names[:5])
        form = ", one column" if self.positive_class else ""
        return f"{self.num_classes} classes{f' ({names}...)' if names else ''}{form}"

    def __repr__(self) -> str:
        if self._sums is None:
            return f"{type(self).__name__}, no examples"
        return (
            f"{type(self).__name__} of {self._told()}, {self.num_examples:,} examples"
        )

    def save(self, path: _saved.Path, private: float | None = None) -> None:
        """Writes the summary as an .npz archive without pickles, which `load` reads.

        The file has sums over blocks of five examples or more with neighbouring scores,
        so its answers differ from these a little. `docs/report.md` says what can be
        learned from it. With weights, five is the effective number of examples, (sum
        w)^2 / sum w^2. The sums over clusters are not in the file, because they tell of
        single clusters; a cluster of five examples may be a block.

        With `private`, the file is differentially private instead: for any two data
        sets of which one has one example more, no file is more than e^private times as
        probable for one as for the other. All its numbers are computed from counts of
        scores and outcomes in bins of a width of 0.01, to which discrete Laplace noise
        of a cryptographic generator is added; for more than two classes an example is
        in K + 1 counts, and so their noise is K + 1 times as large. Each file of the
        same examples adds its `private` to what they spend.

        Args:
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.
          private: epsilon > 0 of differential privacy, such as 1; or None.

        Raises:
          ValueError: there are fewer than 50 examples, or almost all weight is on a few
            of them; or `private` is not as described, and needs examples without
            weights, clusters and grades that do not come from a file: its guarantee is
            for a single example.
        """
        if private is not None:
            content = self._noised(_private_counts.checked_epsilon(private))
        else:
            if self.num_examples < _summary_files.LEAST_EXAMPLES:
                raise _few_examples(f"{self.num_examples}")
            blocks = _file_sketches.blocks_of(self._unweighted(), self._squares)
            content = _summary_files.Content(
                class_names=self.class_names,
                of_answers=bool(self.of_answers),
                positive_class=bool(self.positive_class),
                private=self.private,
                sums=_sums_by_class.for_files(cast(np.ndarray, self._sums)),
                decided=blocks[0],
                others=blocks[1],
                is_weighted=self.is_weighted,
                clusters=self._number_for_files,
            )
        _summary_files.write(path, content)

    @property
    def _number_for_files(self) -> int | None:
        clusters = self._decisions._content.clusters
        return None if clusters is None else clusters.number

    def _noised(self, epsilon: float) -> _summary_files.Content:
        """Returns the content of a file that is differentially private.

        Raises:
          ValueError: there are weights, or examples from a file, or too few examples.
        """
        self._decisions._check_binary("save(private=)")
        of_one = self._number_for_files is None
        if self.is_weighted or self._is_from_file or self._sums is None or not of_one:
            raise _checks.plain_error(
                "`private` needs a summary of examples without weights and clusters, "
                "not of files.",
                repr(self),
            )
        counts = _file_sketches.noised(self._unweighted(), epsilon)
        found = counts.decided.sums[0].sum() if counts is not None else 0.0
        if counts is None or found < _summary_files.LEAST_EXAMPLES:
            raise _few_examples("fewer, with the noise")
        return _summary_files.Content(
            class_names=self.class_names,
            of_answers=bool(self.of_answers),
            positive_class=bool(self.positive_class),
            private=epsilon,
            sums=counts.sums,
            decided=counts.decided,
            others=counts.others,
            is_weighted=False,
            clusters=None,
        )

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Reads a summary that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, has a later version, or is
            damaged.
        """
        content = _summary_files.read(path)
        loaded = cls(class_names=content.class_names)
        loaded._of_answers, loaded._is_from_file = content.of_answers, True
        loaded._positive_class = content.positive_class
        loaded._sums, loaded.private = content.sums, content.private
        sketches, squares = _file_sketches.sketches_of(content, loaded.num_examples)
        loaded.decisions, loaded._tops, loaded.classes = sketches
        if content.is_weighted:
            loaded._squares = squares
        return loaded


def _few_examples(received: str) -> ValueError:
    return _checks.plain_error(
        "A summary is saved of 50 examples or more: from fewer, the scores of single "
        "examples can be told.",
        received,
    )


def _answers_of(
    examples: _examples.Examples, spec: CalibrationSpec
) -> _examples.Examples:
    """Returns examples with shares of votes, or with several labels each, as answers:
    the score of each, and its share as the grade.
    """
    spec = spec.settled(examples.one_column, examples.predicted is not None)
    scores, grades, _ = _scores.scored(examples, spec)
    return dataclasses.replace(
        examples,
        labels=(grades >= 0.5).astype(np.int64),
        predictions=np.stack([1 - scores, scores], axis=1),
        name="probabilities",
        predicted=None,
        place=None,
        places=None,
        one_column=False,
        shares=None if examples.shares is None else np.stack([1 - grades, grades], 1),
    )


def summary_of(examples: _examples.Examples, of_answers: bool) -> Summary:
    """Returns the summary of checked examples, of at least one, without names of
    classes. Answers are examples of two classes, 1 for right.

    Raises:
      ValueError: a probability is not in [0, 1], or the weights are too large.
    """
    summary = Summary()
    summary._of_answers = of_answers
    summary._positive_class = examples.one_column and not of_answers
    if not of_answers and _two_classes.are_simple(examples):
        summary._sums, sketches = _two_classes.sums_and_sketches(examples)
        summary.decisions, summary._tops, summary.classes = sketches
        return summary
    if of_answers:
        decided, confidences = None, examples.checked().probabilities[:, 1]
        right = examples.came(1)
    else:
        decided, confidences = examples.decided
        right = decided == examples.labels
    summary._sums = _sums_by_class.sums_of(examples, right, confidences, of_answers)
    summary.decisions, summary._tops, summary.classes = _sketches.of_examples(
        examples, right, confidences, decided
    )
    if examples.weights is not None:
        squared = dataclasses.replace(examples, weights=examples.weights**2)
        summary._squares = _sketches.of_examples(squared, right, confidences, decided)
    return summary
