"""The base class of metrics of labels and class probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import (
    _base,
    _batches,
    _groups,
    _images,
    _labels,
    _variables,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

# The options on which the sums depend, besides the arguments in `_first_options`.
_OF_SUMS = (
    *("from_logits", "ignore_index", "sparse_labels"),
    *("num_classes", "sketch_bits", "validate_args", "label_distributions"),
)


class ClassMetric(_base.SumsMetric):
    """A metric of labels and class probabilities.

    Subclasses define `_batch_sums`, which adds up a batch, and `_explain`, a NumPy
    function that raises the ValueError for a wrong batch.
    """

    _batch_sums: _variables.BatchSums
    _explain: Callable[..., object]
    multilabel = False
    label_distributions = False
    per_image = False

    def __init__(
        self,
        *,
        name: str | None,
        dtype: Any,
        from_logits: bool,
        ignore_index: int | None,
        sparse_labels: bool | None,
        num_groups: int | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        _checks.boolean("from_logits", from_logits)
        _checks.one_of("sparse_labels", sparse_labels, (None, True, False))
        self.from_logits = from_logits
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.sparse_labels = sparse_labels
        self.num_groups = _groups.checked_number(num_groups)

    def _first_options(self, classes: int, one_column: bool = False) -> tuple[Any, ...]:
        """Returns the first arguments of `_batch_sums`, for a number of classes, and
        for predictions of one column or of a column for each class.
        """
        del classes, one_column
        return ()

    def _check_form(self, one_column: bool) -> None:
        """Raises ValueError for predictions of another form than this metric takes."""

    @property
    def _same_sums(self) -> tuple[Any, ...]:
        values = (getattr(self, name, None) for name in _OF_SUMS)
        options = self._first_options(2)
        return type(self)._read, self._batch_sums, *options, *values

    @_batches.adds_batch
    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups`, a dict of `labels`, which are these, and `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        self._add(self._read(y_true, y_pred, sample_weight))

    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
    ) -> _batches.Reading:
        y_true, groups = _groups.labels_and_groups(y_true, self.num_groups)
        number: Sequence[int | None] = ()
        if self.per_image:
            groups, *number = _images.images_of(y_true)
        of_rows = self.multilabel, self.label_distributions
        reading = self.sparse_labels, groups, *of_rows
        rows = _labels.class_rows(y_true, y_pred, sample_weight, *reading)
        _labels.check_classes("y_pred", rows.classes, self._classes)
        self._check_form(rows.one_column)
        options = ("logits" if self.from_logits else "probabilities", self.ignore_index)
        return _batches.Reading(
            self._batch_sums,
            (
                *self._first_options(rows.classes, rows.one_column),
                *number,
                *options,
            ),
            rows.data,
            lambda: self._reject(rows, options),
            shape=rows.predictions.shape[1:],
            classes=rows.classes,
            one_column=rows.one_column,
        )

    def _reject(self, rows: _labels.ClassRows, options: tuple[Any, ...]) -> None:
        """Raises the ValueError that says what is wrong with a batch."""
        rows.explain(self._explain, *options)
