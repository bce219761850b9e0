"""A summary of predictions: what a calibration report needs, without a prediction."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _examples, _saved
from uncertainty_metrics.numpy.scoring.scoring_rules import (
    brier_score,
    negative_log_likelihood,
)
from uncertainty_metrics.numpy.sketch import _cell_sums, _private_cells
from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Summary"]

# The sums over the examples of a class, w the weight of an example: numbers, then
# products of w with whether the decision was right, the confidence, the Brier score b
# and the negative log-likelihood l, which is left out where it is infinite.
_OF_LABELS = ("examples", "w", "ww")
_SUMS = (
    *_OF_LABELS,
    *("impossible", "right", "confidence"),
    *("w_gap", "ww_gap", "ww_gap_gap"),
    *("w_b", "ww_b", "ww_b_b", "w_l", "ww_l", "ww_l_l"),
)
_SKETCHES = ("decisions", "classes", "squares")
_FORMAT = _saved.Format("Summary", 1, ("class_names", "of_answers"))
_MAX_NAME = 1000


class Moments(NamedTuple):
    """The mean of a score of examples, and its standard error.

    Attributes:
      mean: weighted mean; infinite if a score is.
      standard_error: of the mean, with the weights as they are.
    """

    mean: float
    standard_error: float

    def interval(self, z: float) -> tuple[float, float, float]:
        """Returns the mean less z standard errors, the mean, and the mean plus them."""
        half = z * self.standard_error
        return self.mean - half, self.mean, self.mean + half


class Summary:
    """Sums over predictions, from which a calibration report is made.

    Stream the predictions of a classifier, or answers with confidences, batch by batch.
    The sums take some hundred kilobytes, however many examples there are, and `a + b`
    is the summary of the data of both: of two files, of two machines, of two days.
    `um.report(summary)` makes the report, and `calibration_drift` compares two
    summaries.

    A summary holds a `ScoreSketch` of the decisions and one of all classes, and for
    each class a few sums over its examples: their number and weight, how many of the
    decisions were right, and sums and sums of squares of confidence, Brier score and
    negative log-likelihood. It holds no row, no order, and nothing that links one
    value of an example to another. In the file that `save` writes, cells of fewer than
    five examples are joined with their neighbours, and the sums of classes of fewer
    than five examples are joined, so that the score of no single example can be read
    out of the file.

    Args:
      class_names: names of the K classes, for the report; or none.

    Attributes:
      decisions: a `ScoreSketch` of the confidence of each decision, or answer, and
        whether it was right.
      classes: a `ScoreSketch` of the probability of every class, with a group for each
        class; None of answers with confidences.

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
        self._decisions = ScoreSketch()
        self.classes: ScoreSketch | None = None
        # The decisions again, weighted by the squares of their weights.
        self._squares: ScoreSketch | None = None
        self._of_answers: bool | None = None
        self._sums: np.ndarray | None = None  # float64 [sums, classes].

    @property
    def decisions(self) -> ScoreSketch:
        """The sketch of decisions, which knows the squares of its weights."""
        self._decisions._squared = self._squares
        return self._decisions

    @decisions.setter
    def decisions(self, sketch: ScoreSketch) -> None:
        self._decisions = sketch

    @property
    def of_answers(self) -> bool | None:
        """Whether it is of answers with confidences; None before the first batch."""
        return self._of_answers

    @property
    def num_classes(self) -> int | None:
        """Number of classes, 2 for answers; None before the first batch."""
        return None if self._sums is None else self._sums.shape[1]

    @property
    def num_examples(self) -> int:
        """Number of examples of positive weight."""
        return 0 if self._sums is None else int(self._row("examples").sum())

    @property
    def is_weighted(self) -> bool:
        """Whether any batch had weights."""
        return self._squares is not None

    def update(
        self,
        labels: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        correct: ArrayLike | None = None,
        confidences: ArrayLike | None = None,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the summary as it was.

        Args:
          labels: integer class labels in [0, K), shape [...].
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          sample_weight: weight of each example, finite and >= 0, broadcastable to the
            labels.
          correct: instead of labels and predictions, whether each answer is right:
            booleans, or 0 and 1, shape [...].
          confidences: with `correct`, the probability in [0, 1] that each answer is
            right, of the same shape; 0.3 is read as 0.3, not as 0.7 of another class.

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
        )
        self.add_examples(_examples.examples_of(data), of_answers=correct is not None)

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
        batch.class_names = self.class_names
        total = self + batch
        self._of_answers, self._sums = total._of_answers, total._sums
        self.decisions, self.classes = total.decisions, total.classes
        self._squares = total._squares

    def _row(self, name: str) -> np.ndarray:
        """Returns the sums with this name, float64 [classes].

        Raises:
          ValueError: there are no examples yet.
        """
        if self._sums is None:
            raise _checks.plain_error(
                "There are no examples in this `Summary` yet: call `update` first.",
                "none",
            )
        return self._sums[_SUMS.index(name)]

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all examples."""
        return float(self._row("w").sum())

    @property
    def effective_examples(self) -> float:
        """Number of examples, or Kish's effective number of weighted ones."""
        return float(self.total_weight**2 / self._row("ww").sum())

    @property
    def shares(self) -> np.ndarray:
        """Share of each class in the weight of the labels, float64 [K]."""
        return self._row("w") / self.total_weight

    @property
    def impossible(self) -> int:
        """Number of labels whose probability was 0."""
        return int(self._row("impossible").sum())

    def means(self) -> dict[str, Moments]:
        """Returns accuracy, mean confidence and mean scores, with standard errors.

        The Brier score is in [0, 2], and in [0, 1] for answers. The standard error of
        the mean confidence is not known, nor that of an infinite mean: they are NaN.
        """
        w, ww = self.total_weight, float(self._row("ww").sum())

        def moments(first: str, second: str, third: str) -> Moments:
            mean, of_mean, of_squares = (
                float(self._row(name).sum()) for name in (first, second, third)
            )
            mean /= w
            spread = of_squares - 2 * mean * of_mean + mean**2 * ww
            return Moments(mean, math.sqrt(max(spread, 0.0)) / w)

        accuracy = float(self._row("right").sum()) / w
        brier = moments("w_b", "ww_b", "ww_b_b")
        likelihood = moments("w_l", "ww_l", "ww_l_l")
        if self.impossible:
            likelihood = Moments(math.inf, math.nan)
        return {
            "accuracy": Moments(
                accuracy, math.sqrt(accuracy * (1 - accuracy) * ww) / w
            ),
            "mean_confidence": Moments(
                float(self._row("confidence").sum()) / w, math.nan
            ),
            "gap": moments("w_gap", "ww_gap", "ww_gap_gap"),
            "brier_score": brier,
            "negative_log_likelihood": likelihood,
        }

    def brier_gain(self) -> tuple[Moments, float]:
        """Returns by how much the Brier score is less than that of forecasting the
        shares of the labels for every example, and the Brier score of these shares.
        """
        shares, w = self.shares, self.total_weight
        constant = 1 - 2 * shares + shares @ shares  # Of a label of each class.
        if self.of_answers:
            constant = constant / 2
        mean = float(shares @ constant)
        gain = mean - float(self._row("w_b").sum()) / w
        rest = constant - gain
        spread = (
            rest**2 @ self._row("ww")
            - 2 * rest @ self._row("ww_b")
            + self._row("ww_b_b").sum()
        )
        return Moments(gain, math.sqrt(max(float(spread), 0.0)) / w), mean

    def decision_cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the mean score of each cell of `decisions`, and the weights of its
        wrong and of its right decisions, float64 [cells].
        """
        (cells,) = self.decisions._groups()
        return cells.scores, cells.weights - cells.outcome_sums, cells.outcome_sums

    def squared_weights(self) -> np.ndarray | None:
        """Returns the sums of squared weights of the cells of `decisions`, of wrong and
        of right ones, float64 [2, cells]; None without weights.
        """
        if self._squares is None:
            return None
        (cells,) = self._squares._groups()
        return np.stack([cells.weights - cells.outcome_sums, cells.outcome_sums])

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Summary):
            return NotImplemented
        if self._sums is None or other._sums is None:
            return other if self._sums is None else self
        ours, theirs = (
            (each.of_answers, each.num_classes, each.class_names)
            for each in (self, other)
        )
        if ours != theirs:
            raise _checks.plain_error(
                "Summaries can be added only if they are of the same classes.",
                " and ".join(each._told() for each in (self, other)),
            )
        total = type(self)(class_names=self.class_names)
        total._of_answers = self._of_answers
        total._sums = self._sums + other._sums
        total.decisions = self.decisions + other.decisions
        if self.classes is not None and other.classes is not None:
            total.classes = self.classes + other.classes
        if self._squares is not None or other._squares is not None:
            total._squares = self._squared() + other._squared()
        return total

    def __radd__(self, other: object) -> Self:
        is_start = isinstance(other, int) and other == 0  # `sum` starts with 0.
        return self if is_start else NotImplemented

    def _squared(self) -> ScoreSketch:
        """Returns the sketch with squared weights: without weights, all are 1."""
        return self.decisions if self._squares is None else self._squares

    def _told(self) -> str:
        """Returns what the summary is of, for a message."""
        if self.of_answers:
            return "answers"
        names = ", ".join(self.class_names[:5])
        return f"{self.num_classes} classes{f' ({names}...)' if names else ''}"

    def __repr__(self) -> str:
        if self._sums is None:
            return f"{type(self).__name__}, no examples"
        return (
            f"{type(self).__name__} of {self._told()}, {self.num_examples:,} examples"
        )

    def save(self, path: _saved.Path) -> None:
        """Writes the summary as an .npz archive without pickles, which `load` reads.

        Cells of fewer than five examples are joined with their neighbours: the answers
        of the file differ from these a little, within the joined cells.

        Args:
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.

        Raises:
          ValueError: there are no examples yet.
        """
        sums = np.stack([self._row(name) for name in _SUMS])
        counts, weights = self._row("examples"), self._row("w")
        first = len(_OF_LABELS)
        sums[first:] = _private_cells.joined_classes(sums[first:], counts, weights)
        arrays = {"sums": sums}
        for name, sketch in self._sketches().items():
            like = self.decisions if name == "squares" else None
            file = io.BytesIO()
            _private_cells.joined(sketch, like).save(file)
            arrays[name] = np.frombuffer(file.getvalue(), np.uint8)
        header = {"class_names": self.class_names, "of_answers": self.of_answers}
        _FORMAT.write(path, header, arrays)

    def _sketches(self) -> dict[str, ScoreSketch]:
        sketches = (self.decisions, self.classes, self._squares)
        named = zip(_SKETCHES, sketches, strict=True)
        return {name: sketch for name, sketch in named if sketch is not None}

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Reads a summary that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, has a later version, or is
            damaged.
        """
        header, arrays = _FORMAT.read(path, _check_names)
        names, of_answers = header["class_names"], header["of_answers"]
        if not isinstance(of_answers, bool):
            raise _FORMAT.broken(f"of_answers: {of_answers!r:.50}")
        if not isinstance(names, list) or any(
            not isinstance(name, str) or len(name) > _MAX_NAME for name in names
        ):
            raise _FORMAT.broken("names of classes that are no texts")
        if of_answers == ("classes" in arrays):
            raise _FORMAT.broken("the sketches of another kind of predictions")
        loaded = cls(class_names=names)
        loaded._of_answers = of_answers
        loaded._sums = _checked_sums(arrays["sums"])
        size = loaded.num_classes
        if (names and len(names) != size) or (of_answers and size != 2):
            raise _FORMAT.broken(f"sums of {size} classes")
        sketches = {
            name: ScoreSketch.load(io.BytesIO(arrays[name].tobytes()))
            for name in arrays
            if name != "sums"
        }
        for name, sketch in sketches.items():
            _check_sketch(name, sketch, size)
        loaded.decisions = sketches["decisions"]
        loaded.classes = sketches.get("classes")
        loaded._squares = sketches.get("squares")
        if loaded.is_weighted and not loaded._have_the_same_cells():
            raise _FORMAT.broken("sketches of different examples")
        return loaded

    def _have_the_same_cells(self) -> bool:
        ours, squared = (
            np.asarray(sketch._groups()[0].places)
            for sketch in (self.decisions, self._squared())
        )
        return np.array_equal(ours, squared)


def summary_of(examples: _examples.Examples, of_answers: bool) -> Summary:
    """Returns the summary of checked examples, of at least one, without names of
    classes. Answers are examples of two classes, 1 for right.

    Raises:
      ValueError: a probability is not in [0, 1], or the weights are too large.
    """
    if of_answers:
        confidences = examples.checked().probabilities[:, 1]
        right = examples.labels == 1
    else:
        decided, confidences = examples.decided
        right = decided == examples.labels
    weights = examples.weights
    summary = Summary()
    summary._of_answers = of_answers
    summary._sums = _sums_of(examples, right, confidences, of_answers)
    summary.decisions = _sketch_of_decisions(right, confidences, weights)
    if not of_answers:
        summary.classes = ScoreSketch(max_prob=False, class_conditional=True)
        summary.classes.update(cast(Any, examples))
    if weights is not None:
        summary._squares = _sketch_of_decisions(right, confidences, weights**2)
    return summary


def _sketch_of_decisions(
    right: np.ndarray, confidences: np.ndarray, weights: np.ndarray | None
) -> ScoreSketch:
    """Returns the sketch that `update` makes of `correct` and `confidences`, [N], which
    are checked already.
    """
    empty = ScoreSketch()
    sums = _cell_sums.of_scores(
        confidences[:, None], right[:, None], None, weights, 1, empty._bits(2)
    )
    return ScoreSketch._with_content(empty.config, 2, sums)


def _sums_of(
    examples: _examples.Examples,
    right: np.ndarray,
    confidences: np.ndarray,
    of_answers: bool,
) -> np.ndarray:
    """Returns the sums of a batch, float64 [sums, classes]."""
    given: Any = examples.weighted(None)
    b = np.asarray(brier_score(given, zero_based=True, aggregate=False), np.float64)
    if of_answers:
        b = b / 2  # That of one of the two classes.
    nll = np.asarray(negative_log_likelihood(given, aggregate=False), np.float64)
    impossible = np.flatnonzero(np.isinf(nll))
    nll[impossible] = 0.0
    sure = confidences.astype(np.float64)
    gap = right - sure
    labels, size, weights = examples.labels, examples.num_classes, examples.weights
    total = _TotalsByClass(labels, size)
    impossibles = np.bincount(labels[impossible], None, size)
    if weights is None:  # Then w and w^2 are 1.
        # A count is faster than a sum of booleans: of wrong decisions, then of right.
        by_outcome = np.bincount(labels + size * right, minlength=2 * size)
        by_outcome = by_outcome.reshape(2, size)
        counts = by_outcome.sum(axis=0)
        found = [total(each) for each in (gap, b, nll)]
        squares = [total(each * each) for each in (gap, b, nll)]
        pairs = zip(found, found, squares, strict=True)
        rows = [counts, counts, counts, impossibles, by_outcome[1], total(sure)]
        sums = np.stack([*rows, *itertools.chain(*pairs)]).astype(np.float64)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # Refused below.
            w, ww = weights, weights * weights
            counts = np.bincount(labels, minlength=size)
            rows = [counts, total(w), total(ww), impossibles]
            rows += [total(w * right), total(w * sure)]
            for each in (gap, b, nll):
                rows += [total(w * each), total(ww * each), total(ww * each * each)]
        sums = np.stack(rows)
    if not np.all(np.isfinite(sums)):
        raise _checks.error(
            "sample_weight", "small enough to be squared", "an infinite sum"
        )
    return sums


class _TotalsByClass:
    """Sums of the values of the examples of each class.

    An addition to a sum waits for the addition before it. So that few classes do not
    slow the additions down, every eighth example adds to the same sum.

    Args:
      labels: the class of each example, integers [N].
      size: number of classes.
    """

    def __init__(self, labels: np.ndarray, size: int):
        self._size, self._parts = size, 8 if size <= 100 else 1
        self._places = labels + size * (np.arange(len(labels)) & (self._parts - 1))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        sums = np.bincount(self._places, values, self._parts * self._size)
        return sums.reshape(self._parts, self._size).sum(axis=0)


def _check_names(names: Collection[str]) -> None:
    if list(names) not in (
        ["sums", "decisions"],
        ["sums", "decisions", "classes"],
        ["sums", "decisions", "squares"],
        ["sums", *_SKETCHES],
    ):
        raise _FORMAT.broken(f"the arrays {list(names)!r:.100}")


def _checked_sums(sums: np.ndarray) -> np.ndarray:
    """Returns the sums of a file; raises ValueError if they are not valid."""
    if sums.dtype != np.float64 or sums.ndim != 2 or sums.shape[0] != len(_SUMS):
        raise _FORMAT.broken(f"sums of type {sums.dtype} and shape {sums.shape}")
    named = dict(zip(_SUMS, sums, strict=True))
    signed = ("w_gap", "ww_gap")
    if not np.all(np.isfinite(sums)) or any(
        np.any(row < 0) for name, row in named.items() if name not in signed
    ):
        raise _FORMAT.broken("sums that are infinite or negative")
    if sums.shape[1] < 2 or not named["w"].sum() > 0 or not named["ww"].sum() > 0:
        raise _FORMAT.broken("sums of no examples")
    return sums


def _check_sketch(name: str, sketch: ScoreSketch, classes: int | None) -> None:
    """Raises ValueError if a sketch of a file has other options than a summary has."""
    expected = ScoreSketch()
    size: int | None = 2
    if name == "classes":
        expected = ScoreSketch(max_prob=False, class_conditional=True)
        size = classes
    if sketch.config != expected.config or sketch._content.classes != size:
        raise _FORMAT.broken(f"a sketch of {name} with {sketch.config}")
