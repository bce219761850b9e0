"""The state of a sketch of scores: it can be updated, added, saved and sent."""

from __future__ import annotations

import dataclasses
import io
import reprlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _calibration_spec, _checks, _tables
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy import (
    _clusters,
    _examples,
    _saved,
    _text_tables,
)
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.sketch import (
    _cell_sums,
    _cluster_sums,
    _grid,
    _sketch_files,
)
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums
from uncertainty_metrics.numpy.sketch._cluster_sums import ClusterSums
from uncertainty_metrics.numpy.sketch._sketch_files import (
    FORMAT,
    LEAST,
    OF_CLUSTERS,
    PLACES,
)

if TYPE_CHECKING:
    from typing_extensions import Self

# More groups would take gigabytes.
_MAX_GROUPS = 100_000


class _Content(NamedTuple):
    """The part of a sketch that an update replaces, as one object.

    Attributes:
      classes: number of classes; None if it is not known.
      sums: the sums over the cells; None before the first example.
      least: the least score that each cell in use may hold, float64; None if it is the
        lower end of the cell. Cells from the file of a `Summary` stand for scores
        around them.
      clusters: the sums over clusters; None if the examples are independent. In a
        sketch of each of two classes they are those of P(class 1).
    """

    classes: int | None
    sums: SketchSums | None
    least: np.ndarray | None = None
    clusters: ClusterSums | None = None


class SketchState:
    """A `ScoreSketch` without the methods that answer questions."""

    def __init__(
        self,
        *,
        positive_class: bool | None = None,
        max_prob: bool = True,
        class_conditional: bool = False,
        num_classes: int | None = None,
        ignore_index: int | None = None,
        sketch_bits: int | None = None,
    ):
        # As given, and as the first batch settles it.
        self._given = self._spec = CalibrationSpec(
            "adaptive",
            max_prob,
            class_conditional,
            "l1",
            positive_class=positive_class,
            by_form=True,
        )
        if num_classes is not None:
            num_classes = _checks.positive_integer("num_classes", num_classes)
            self._given.check_classes(num_classes)
        self.num_classes = num_classes
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.sketch_bits = _checks.sketch_bits(sketch_bits)
        self._content = _Content(num_classes, None)
        # The cells of each group, with the content that they were computed from.
        self._cached_groups: tuple[_Content, list[Cells]] | None = None
        # The same examples with squared weights, if a `Summary` knows them.
        self._squared: Self | None = None
        # Whether cells lie where their mean scores are, so that their ends do not bound
        # the scores.
        self._is_moved = False

    @property
    def positive_class(self) -> bool | None:
        """Whether scores are P(class 1); None as long as the first batch will tell."""
        return self._spec.positive_class

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the constructor; `positive_class` as it was settled."""
        spec = self._spec
        return {
            "positive_class": spec.positive_class,
            "max_prob": spec.max_prob,
            "class_conditional": spec.class_conditional,
            "num_classes": self.num_classes,
            "ignore_index": self.ignore_index,
            "sketch_bits": self.sketch_bits,
        }

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        title = f"{type(self).__name__}({options})"
        if self._content.sums is None:
            return f"{title}, no examples"
        groups = self._groups()
        mean = _tables.means(float(cells.weights.sum()) for cells in groups)

        def row(i: int) -> list[object]:
            cells = groups[i]
            weight = float(cells.weights.sum())
            sums = float(cells.score_sums.sum()), float(cells.outcome_sums.sum())
            return [
                i,
                weight,
                *([mean(x / weight) for x in sums] if weight > 0 else "--"),
            ]

        header = ("group", "weight", "mean score", "mean outcome")
        return f"{title}\n{_text_tables.table(header, len(groups), row)}"

    def _bits_of(self, num_groups: int) -> tuple[int, ...]:
        if self.sketch_bits is not None:
            return (self.sketch_bits,)
        return _grid.default_bits(num_groups)

    def _bits(self, classes: int) -> tuple[int, ...]:
        return self._bits_of(self._spec.num_groups(classes))

    def _num_cells(self, classes: int) -> int:
        """Returns the number of cells of all groups.

        Raises:
          ValueError: there are too many groups.
        """
        cells = _grid.num_cells(*self._bits(classes))
        return _checked_groups(self._spec.num_groups(classes)) * cells

    @takes_frames
    def update(
        self,
        labels: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        labels_predicted: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        correct: ArrayLike | None = None,
        confidences: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        label_distributions: ArrayLike | None = None,
        multilabel: bool = False,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the sketch as it was.

        Args:
          labels: integer class labels in [0, K), shape [...].
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          probs: another name for `probabilities`.
          labels_predicted: decided class of each example [...]; by default the argmax.
          sample_weight: weight of each example, >= 0, broadcastable to the labels.
          correct: right (1), wrong (0) or a grade between, [...]
            (conventions.md#answers).
          confidences: with `correct`, P(right) in [0, 1], [...]
            (conventions.md#answers).
          clusters: cluster of each example, integers or strings
            (conventions.md#clusters). All examples of a cluster must come in one batch:
            an id in another batch is another cluster, and is not noticed. Either all
            batches have `clusters` or none.
          label_distributions: instead of `labels`, the share of each class in the votes
            for an example, [..., K].
          multilabel: whether labels are 0 or 1, shape [..., L]
            (conventions.md#multilabel).

        Raises:
          ValueError: an argument is not as described.
        """
        data = ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=None if labels is None else self.ignore_index,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
            multilabel=multilabel,
        )
        examples, spec = _binning.read(data, self._given, allow_none=True)
        if multilabel and not (spec.max_prob or spec.class_conditional):
            expected = "True with `multilabel`, unless each label is a group"
            raise _checks.error("max_prob", expected, False)
        if clusters is not None or not spec.class_conditional:
            examples = examples.of_batch(clusters)
        classes, sums, least, of_clusters = self._content
        if classes not in (None, examples.num_classes):
            raise _checks.error(
                examples.name,
                f"{classes} classes, as in the first batch",
                f"{examples.num_classes} classes",
                verb="have",
            )
        classes = examples.num_classes
        spec.check_classes(classes)
        settled = self._spec
        if self._given.positive_class is None:
            # Answers go into the cells of decisions.
            of_class_1 = bool(spec.positive_class) and not data.has_confidences
            _calibration_spec.check_form(
                examples.name, settled.positive_class, of_class_1
            )
            settled = dataclasses.replace(settled, positive_class=of_class_1)
        bits = self._bits_of(_checked_groups(settled.num_groups(classes)))
        more = _cell_sums.of_examples(examples, spec, bits)
        if more is not None:
            in_clusters = None
            if examples.clusters is not None:
                in_clusters = _sums_of_clusters(examples, examples.clusters, spec)
            if sums is None:
                sums, of_clusters = more, in_clusters
            else:
                sums, of_clusters = sums + more, _added(of_clusters, in_clusters)
            if least is not None:
                least = self._least_at(sums.places)
        content = _Content(classes, sums, least, of_clusters)
        self._spec, self._content = settled, content

    def reset(self) -> None:
        """Forgets all examples."""
        self._spec, self._content = self._given, _Content(self.num_classes, None)

    def _groups(self) -> list[Cells]:
        """Returns the cells of each group.

        Raises:
          ValueError: there are no examples yet.
        """
        content = self._content
        if content.sums is None:
            raise _checks.plain_error(
                "There are no examples in this `ScoreSketch` yet: call `update` first.",
                "none",
            )
        if self._cached_groups is None or self._cached_groups[0] is not content:
            classes = content.classes or 2  # If unknown, there is one group for any.
            groups = content.sums.cells(
                self._spec.num_groups(classes), self._bits(classes)
            )
            self._cached_groups = content, groups
        return self._cached_groups[1]

    def _least_at(self, places: np.ndarray) -> np.ndarray:
        """Returns the least score that the cell at each place may hold, float64."""
        classes, sums, least, _ = self._content
        lower_ends, _ = _grid.rounded_limits(*self._bits(classes or 2))
        found = lower_ends[places % len(lower_ends)]
        if sums is not None and least is not None:
            index, is_used = sums.found(places)
            found[is_used] = least[index[is_used]]
        return found

    def _one_group(self, question: str) -> Cells:
        """Returns the cells of the only group; raises ValueError if there are more."""
        groups = self._groups()
        if len(groups) > 1:
            raise _checks.error(
                "class_conditional", f"False for `{question}`", f"{len(groups)} groups"
            )
        return groups[0]

    @property
    def _clusters(self) -> ClusterSums | None:
        """The sums over clusters; None if the examples are independent."""
        classes, sums, _, found = self._content
        if found is None or sums is None:
            return None
        scores = 1 if self._spec.has_one_score else classes or 2  # Of each example.
        is_each_one = sums.count == found.number * scores
        return None if is_each_one else found

    def _sums_of_clusters(self, question: str) -> ClusterSums | None:
        """Returns the sums over clusters; None if the examples are independent.

        Raises:
          ValueError: the sums are not known, or there are fewer than two clusters.
        """
        found = self._clusters
        if found is None:
            return None
        if not found.are_known or len(self._groups()) > 1:
            raise _checks.plain_error(
                f"`{question}` of examples in clusters needs a sketch of one score of "
                "each example, and not the file of a `Summary`, which has no sums over "
                "clusters.",
                repr(self).partition("\n")[0],
            )
        found.check_number()
        return found

    def _check_independent(self, question: str) -> None:
        """Raises ValueError if there are clusters."""
        if self._clusters is not None:
            raise _checks.plain_error(
                f"A `{type(self).__name__}` has the `{question}` of independent "
                "examples alone. Call the function of that name with `clusters`.",
                f"{self._clusters.number} clusters",
            )

    @property
    def _has_grades(self) -> bool:
        """Whether an outcome is between 0 and 1."""
        sums = self._content.sums
        return sums is not None and sums.spread_sums is not None

    def _check_binary(self, question: str) -> None:
        """Raises ValueError if an outcome is between 0 and 1."""
        if self._has_grades:
            raise _checks.plain_error(
                f"`{question}` needs outcomes that are 0 or 1: give a sketch "
                "`correct=grades >= threshold` for it.",
                "a sketch with grades between 0 and 1",
            )

    def _unit(self) -> float:
        """Returns the number of examples in a weight of 1, at least 1.

        Raises:
          ValueError: the number of examples is not known.
        """
        total = sum(float(cells.weights.sum()) for cells in self._groups())
        count = None if self._content.sums is None else self._content.sums.count
        if count is None:
            raise _checks.error(
                "metric_state",
                "unit weights, or the number of its examples, for this question",
                "sums of weights alone",
                verb="hold",
            )
        return max(1.0, count / total)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, SketchState):
            return NotImplemented
        differences = self._differences(other)
        if differences:
            raise _checks.plain_error(
                "Sketches can be added only if they have the same options.", differences
            )
        classes, ours, low, clusters = self._content
        others, theirs, low_too, clusters_too = other._content
        num_classes = self.num_classes or other.num_classes
        sums = ours + theirs if ours and theirs else ours or theirs
        least = None
        if sums is not None and not (low is None and low_too is None):
            known = [each for each in (self, other) if each._content.least is not None]
            least = np.min([each._least_at(sums.places) for each in known], axis=0)
        if ours and theirs:
            clusters = _added(clusters, clusters_too)
        else:
            clusters = clusters or clusters_too
        config = {**self.config, "num_classes": num_classes}
        if self._spec.positive_class is None:
            config["positive_class"] = other._spec.positive_class
        content = _Content(classes or others, sums, least, clusters)
        total = self._with_content(config, *content)
        total._given = self._given
        total._is_moved = self._is_moved or other._is_moved
        if self._squared is not None or other._squared is not None:
            total._squared = (self._squared or self) + (other._squared or other)
        return total

    def __radd__(self, other: object) -> Self:
        is_start = isinstance(other, int) and other == 0  # `sum` starts with 0.
        return self if is_start else NotImplemented

    def _differences(self, other: SketchState) -> str:
        """Returns the differences that prevent a sum of two sketches, for a message."""
        ours, theirs = (
            {**sketch.config, "num_classes": None} for sketch in (self, other)
        )
        if self._content.classes and other._content.classes:
            ours["num_classes"] = self._content.classes
            theirs["num_classes"] = other._content.classes
        if None in (ours["positive_class"], theirs["positive_class"]):
            del ours["positive_class"]  # The first batch of one will tell.
        return ", ".join(
            f"{name} {value!r} and {theirs[name]!r}"
            for name, value in ours.items()
            if value != theirs[name]
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SketchState):
            return NotImplemented
        classes, ours, low, clusters = self._content
        others, theirs, low_too, clusters_too = other._content
        if clusters is None or clusters_too is None:
            if clusters is not clusters_too:
                return False
        elif not clusters.equals(clusters_too):
            return False
        if (self.config, classes) != (other.config, others):
            return False
        if low is None or low_too is None:
            if low is not low_too:
                return False
        elif not np.array_equal(low, low_too):
            return False
        if ours is None or theirs is None:
            return ours is theirs
        return ours.equals(theirs)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        file = io.BytesIO()
        self.save(file)
        return _loads, (type(self), file.getvalue(), self._given.positive_class)

    def save(self, path: _saved.Path) -> None:
        """Writes the sketch as an .npz archive without pickles, which `load` reads.

        Args:
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.
        """
        classes, sums, least, clusters = self._content
        rows = {} if sums is None else sums.rows
        header = {
            "config": self.config,
            "classes": classes,
            "count": None if sums is None else sums.count,
            "lowest": {name: row.lowest for name, row in rows.items()},
            "clusters": None if clusters is None else clusters.number,
        }
        arrays = {name: row.digits for name, row in rows.items()}
        if sums is not None:
            arrays[PLACES] = sums.places.astype(np.int64, copy=False)
        if least is not None:
            arrays[LEAST] = least
        if clusters is not None and clusters.are_known:
            parts = clusters.sums, clusters.products
            arrays |= dict(zip(OF_CLUSTERS, parts, strict=True))
        FORMAT.write(path, header, arrays)

    @classmethod
    def _with_content(
        cls,
        config: dict[str, Any],
        classes: int | None,
        sums: SketchSums | None,
        least: np.ndarray | None = None,
        clusters: ClusterSums | None = None,
    ) -> Self:
        """Returns a sketch with these options and this content."""
        sketch = cls(**config)
        sketch._content = _Content(classes, sums, least, clusters)
        return sketch

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Reads a sketch that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, has a later version, or is
            damaged. Names and sizes are checked before unpacking: a compressed file may
            unpack to 128 MiB or to 128 times its size, whichever is larger.
        """
        header, arrays = FORMAT.read(path, _sketch_files.check_names)
        try:
            loaded = cls(**header["config"])
        except TypeError:
            received = reprlib.repr(header["config"])
            raise _checks.error(
                "config", f"the arguments of `{cls.__name__}`", received, verb="hold"
            ) from None
        classes = header["classes"]
        if classes is not None:
            classes = _checks.positive_integer("classes", classes)
            loaded._spec.check_classes(classes)
        if loaded.num_classes not in (None, classes):
            raise _checks.error("classes", repr(loaded.num_classes), repr(classes))
        sums, least = None, None
        of_clusters = {name: arrays.pop(name) for name in OF_CLUSTERS if name in arrays}
        if arrays:
            grid = loaded._num_cells(classes or 2), loaded._bits(classes or 2)
            sums, least = _sketch_files.checked_sums(header, arrays, *grid)
        count = None if sums is None else sums.count
        clusters = _cluster_sums.checked(header["clusters"], count, of_clusters)
        loaded._content = _Content(classes, sums, least, clusters)
        return loaded


def _added(ours: ClusterSums | None, theirs: ClusterSums | None) -> ClusterSums | None:
    """Returns the sums over the clusters of two parts of the examples.

    Raises:
      ValueError: only one of the parts has clusters.
    """
    if ours is None and theirs is None:
        return None
    if ours is None or theirs is None:
        raise _checks.plain_error(
            "Examples with and without `clusters` cannot be added. Give every batch "
            "its clusters; independent examples have an id each.",
            "clusters in a part of the examples",
        )
    return ours + theirs


def _sums_of_clusters(
    examples: _examples.Examples, clusters: _clusters.Clusters, spec: CalibrationSpec
) -> ClusterSums:
    """Returns the sums over clusters, without sums for the scores of all classes."""
    if not spec.has_one_score:
        return ClusterSums(clusters.number)
    scores, outcomes, _ = _scores.scored(examples, spec)
    return _cluster_sums.of_scores(scores, outcomes, examples.weights, clusters)


def _checked_groups(num_groups: int) -> int:
    """Returns the number of groups; raises ValueError if there are too many."""
    if num_groups > _MAX_GROUPS:
        raise _checks.plain_error(
            f"Sums for each class are for up to {_MAX_GROUPS:,} classes: of more, give "
            "the decisions alone, by `correct` and `confidences`.",
            f"{num_groups} classes",
        )
    return num_groups


# Pickles name this function.
def _loads(cls: type[SketchState], data: bytes, given: bool | None) -> SketchState:
    loaded = cls.load(io.BytesIO(data))
    loaded._given = dataclasses.replace(loaded._given, positive_class=given)
    return loaded
