"""Streaming detection: the Keras metrics."""

from __future__ import annotations

import functools
from typing import Any, get_args

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _batches, _computed, _groups, _labels
from uncertainty_metrics.keras.metrics._ranking import DetectionMetric, column_sums
from uncertainty_metrics.numpy.selective import detection as np_detection
from uncertainty_metrics.numpy.selective.detection import Average, Positive
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import _execution, _ranking, xp

__all__ = ["AUPR", "AUROC", "FPRAtTPR"]


@_base.register("auroc")
class AUROC(DetectionMetric):
    """Area under the ROC curve of all batches.

    See the function `auroc` for the definition: the probability that a positive example
    has a larger score than a negative one, plus half the probability that their scores
    are equal. The state has a fixed size: counts in narrow cells. In [0, 1] a cell is
    2^-11 wide, and near 0 and 1 narrower: 128 cells for each halving of the score, or
    of its distance to 1. Outside [0, 1] there are 128 cells for each doubling of the
    size of the score, from 2^-30 to 2^20.

    Scores in a cell count as equal. On tens of thousands of examples this changes the
    value by about 1e-5, even if softmax outputs are in [0.995, 1], and never by more
    than `error_bound`, which is at most half the largest share of the positive or of
    the negative examples in one cell. Scores that differ by less than 1% of their size
    need more bits, or a smaller offset.

    The result is 0.0 before the first example that counts. It is NaN, with a warning,
    as long as all labels are the same.

    With `num_classes` or `multilabel`, each class, against all others, or each label
    has an AUROC, and cells of its own: 2^-10 wide in [0, 1], and 32 for each halving.
    `y_pred` [..., K] holds their scores. With `num_classes`, `y_true` is integers in
    [0, K), or one-hot; with `multilabel`, 0 or 1 of the shape of `y_pred`. The mean is
    NaN as long as a class or label lacks positive or negative examples.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each doubling of the size of the score, and in
        [0, 1] for each halving of its distance to 1, instead of the default grid.
        Memory is 32 bytes for each of the 1728 + 122 * 2^sketch_bits cells; 0.6 MB by
        default, and 0.2 MB for each of several classes or labels.
      positive: the positive class: "out" (label 1, with the larger scores) or "in"
        (label 0, with the smaller scores).
      num_classes: number of classes K >= 3, or of labels; None for two classes, or for
        the labels of the first batch.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape their scores.
      average: "macro" for the mean over the classes or labels. None for a dict of all,
        which needs `num_classes`: `<name>_0` and so on, NaN where one lacks positive or
        negative examples, and `<name>_worst`, the worst of them.

    Attributes:
      error_bound: the largest possible difference from the exact value; with
        `average=None` of each class or label, [K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUROC()
      >>> metric.update_state([0, 1, 1], [-2.0, 5.0, -2.0])
      >>> metric.update_state([0], [3.0])
      >>> float(metric.result())
      0.625
      >>> metric = um.AUROC(multilabel=True)  # Two labels of each example.
      >>> metric.update_state([[0, 1], [1, 0]], [[0.2, 0.7], [0.9, 0.8]])
      >>> float(metric.result())
      0.5

    References:
      Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
      Operating Characteristic (ROC) Curve.
    """

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Positive = "out",
        num_classes: int | None = None,
        multilabel: bool = False,
        average: Average | None = "macro",
    ) -> None:
        _checks.boolean("multilabel", multilabel)
        _checks.one_of("average", average, (*get_args(Average), None))
        if num_classes is not None:
            num_classes = _checks.positive_integer("num_classes", num_classes)
            if num_classes < 3 and not multilabel:
                expected = "at least 3; for two classes pass scores of class 1"
                raise _checks.error("num_classes", expected, num_classes)
        if average is None and num_classes is None:
            raise _checks.plain_error("`average=None` needs `num_classes`.", None)
        self.num_classes = num_classes
        self.multilabel = multilabel
        self.average = average
        super().__init__(
            name=name or "auroc",
            dtype=dtype,
            ignore_index=ignore_index,
            sketch_bits=sketch_bits,
            positive=positive,
        )

    @property
    def _has_columns(self) -> bool:
        """Whether there are several classes or labels, each of which has an AUROC."""
        return self.multilabel or self.num_classes is not None

    @property
    def _num_results(self) -> int:
        if self.average is None and self.num_classes is not None:
            return self.num_classes + 1
        return 1

    def _make_cells(self, sketch_bits: int | None) -> None:
        if not self._has_columns:
            super()._make_cells(sketch_bits)
            return
        of = "label" if self.multilabel else "class"
        self._needs = f"positive and negative examples of each {of}"
        self.sketch_bits = bits = _checks.sketch_bits(sketch_bits)
        self._bits = _grid.COLUMN_BITS if bits is None else (bits,)
        if self.num_classes is not None:
            self._build(self.num_classes)

    def _build(self, num_classes: int) -> None:
        cells = _grid.num_real_cells(*self._bits)
        self._build_sums((2, num_classes * (cells + 1)), scattered=True)
        self._classes = num_classes

    @property
    def _same_sums(self) -> tuple[Any, ...]:
        if not self._has_columns:
            # A state that AUPR and FPRAtTPR may share.
            return DetectionMetric._read, self._bits, self.ignore_index
        options = self._bits, self.ignore_index, self.num_classes, self.multilabel
        return type(self)._read, *options

    def _read(self, y_true: Any, y_pred: Any, sample_weight: Any) -> _batches.Reading:
        if not self._has_columns:
            return super()._read(y_true, y_pred, sample_weight)
        rows = _labels.class_rows(
            y_true, y_pred, sample_weight, None, None, self.multilabel
        )
        _labels.check_classes("y_pred", rows.classes, self._classes)
        auroc = functools.partial(np_detection.auroc, multilabel=self.multilabel)
        return _batches.Reading(
            column_sums,
            (self._bits, rows.classes, self.multilabel, self.ignore_index),
            rows.data,
            lambda: rows.explain(auroc, "scores", self.ignore_index),
            shape=rows.predictions.shape[1:],
            classes=rows.classes,
        )

    @_computed.in_one_call
    def result(self) -> Any:
        """Returns the value of all batches, 0.0 before the first example that counts,
        and NaN as long as it is not defined; with `average=None` a dict of the values
        of all classes or labels.
        """
        if not self._has_columns:
            return super().result()
        nan = xp.constant(float("nan"), self._result_dtype)
        if not self._has_sums:
            nothing = xp.zeros([], self._result_dtype)
            return xp.where(self._read_valid(), nothing, nan)
        ranking, valid = self._read_columns()
        areas = xp.where(self._are_defined(ranking), _ranking.roc_area(ranking), nan)
        if self.average is None:
            return _groups.results_by_name(self, xp.where(valid, areas, nan))
        value = self._mean(ranking, areas)
        if _execution.is_eager() and valid:
            self._warn_if_undefined(value)
        return xp.where(valid, value, nan)

    def _read_columns(self) -> tuple[_ranking.Ranking, xp.Tensor]:
        """Returns the ranking of each class or label, and whether to trust it."""
        sums, valid = self._read_sums()
        columns: Any = self._classes
        dtype = self._result_dtype
        return _ranking.from_column_sums(sums, columns, dtype), valid

    def _are_defined(self, ranking: _ranking.Ranking) -> xp.Tensor:
        """Returns whether each class or label has positive and negative examples."""
        return _ranking.has_both(ranking)[:, 0]

    def _mean(self, ranking: _ranking.Ranking, values: xp.Tensor) -> xp.Tensor:
        """Returns the mean over the classes or labels; 0 without any example."""
        is_empty = xp.reduce_max(ranking.total) == 0
        mean = xp.reduce_mean(values)
        return xp.where(is_empty, xp.zeros_like(mean), mean)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.roc_area(ranking)

    @property
    @_computed.in_64_bits
    def error_bound(self) -> xp.Tensor:
        """Half the share of the pairs that the sketch cannot order; NaN where the
        result is.
        """
        if self._has_columns and not self._has_sums:
            return xp.zeros([], self._result_dtype)
        ranking, _ = self._read_columns() if self._has_columns else self._read_ranking()
        bound = _ranking.roc_area_within_groups(ranking)
        nan = xp.constant(float("nan"), bound.dtype)
        if not self._has_columns:
            return xp.where(self._is_defined(ranking), bound, nan)
        bounds = xp.where(self._are_defined(ranking), bound, nan)
        return bounds if self.average is None else self._mean(ranking, bounds)


@_base.register("aupr")
class AUPR(DetectionMetric):
    """Area under the precision-recall curve (average precision) of all batches.

    See the function `aupr` for the definition, and `AUROC` for the state. For a
    positive example, take the examples in its cell and in cells of larger scores, and
    the share of these in its cell. The result differs from the exact value by at most
    the mean of this share over the positive examples. It is mostly too small, by up to
    1e-3 on usual data. It is 0.0 before the first example that counts, and NaN, with a
    warning, as long as no example is positive.

    The value depends on which class is positive.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.
      positive: the positive class: "out" (label 1, with the larger scores) or "in"
        (label 0, with the smaller scores).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUPR()
      >>> metric.update_state([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0])
      >>> round(float(metric.result()), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship between Precision-Recall and ROC
      Curves.
    """

    _needs = "a positive example"
    _has_needed = staticmethod(_ranking.has_hits)

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Positive = "out",
    ) -> None:
        super().__init__(
            name=name or "aupr",
            dtype=dtype,
            ignore_index=ignore_index,
            sketch_bits=sketch_bits,
            positive=positive,
        )

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.average_precision(ranking)


@_base.register("fpr_at_tpr")
class FPRAtTPR(DetectionMetric):
    """Least false positive rate at a true positive rate of at least `tpr`.

    See the function `fpr_at_tpr` for the definition, and `AUROC` for the state. The
    threshold is the end of a cell, so the rate is never too small, and too large by at
    most the share of the negative examples in that cell, a few 1e-3 on usual data. It
    is 0.0 before the first example that counts, and NaN, with a warning, as long as all
    labels are the same.

    The value depends on which class is positive: `fpr_at_tpr` says which class others
    call positive.

    Args:
      tpr: in (0, 1].
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.
      positive: the positive class: "out" (label 1, with the larger scores) or "in"
        (label 0, with the smaller scores).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.FPRAtTPR(tpr=0.95)
      >>> metric.update_state([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0])
      >>> float(metric.result())
      0.5

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """

    def __init__(
        self,
        tpr: float = 0.95,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Positive = "out",
    ) -> None:
        super().__init__(
            name=name or "fpr_at_tpr",
            dtype=dtype,
            ignore_index=ignore_index,
            sketch_bits=sketch_bits,
            positive=positive,
        )
        self.tpr = _checks.share("tpr", tpr, zero=False)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.miss_rate_at_hit_rate(ranking, self.tpr)
