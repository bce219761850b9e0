"""Streaming calibration errors: the Keras metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from uncertainty_metrics import _calibration_spec, _checks
from uncertainty_metrics._calibration_spec import BinningScheme, CalibrationSpec, Norm
from uncertainty_metrics.keras import (
    _base,
    _batches,
    _computed,
    _groups,
    _images,
    _labels,
)
from uncertainty_metrics.keras.metrics._bin_sums import bin_sums
from uncertainty_metrics.keras.metrics._classes import ClassMetric
from uncertainty_metrics.keras.metrics._sketched import Sketched
from uncertainty_metrics.numpy import _examples as np_examples
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.calibration.bins import _scores as np_scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import (
    _binning,
    _execution,
    _sketch,
    _sums,
    _validity,
    to_numpy,
    xp,
)
from uncertainty_metrics.ops._binning import BinStatistics

__all__ = ["CalibrationError", "GeneralCalibrationError"]

Task = Literal["binary", "multiclass"]


@_base.register("general_calibration_error")
class GeneralCalibrationError(Sketched, ClassMetric):
    """General calibration error of all batches since the last reset.

    See the function `general_calibration_error` for the definition. The value does not
    depend on how the data are divided into batches. The state has a fixed size, and
    neither drifts nor saturates:

    * even bins: sums for each bin, with exact counts; scores are added within 2^-32.
    * adaptive bins: the same sums on a fixed grid of narrow cells, which `result` joins
      to bins of equal mass. For one group the cells are 2^-13 wide. For ten classes
      they are 2^-11 wide below 1/2 and 2^-9 above it. Near 0 and 1 cells are narrower:
      128 for each halving of p or of 1 - p, or 8 for several groups. Scores in a cell
      stay together, as equal scores do, so that each bin ends at most one cell away
      from the exact edge. So the value differs a little from the exact value of the
      function on all predictions; the guide to calibration has a table of the
      differences. The values are equal if every cell holds one distinct score. Bins
      that would be narrower than a cell are merged: with very many bins, or if scores
      hardly differ.

    Args:
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      norm: "l1", "l2" or "max".
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means False; a metric of decisions then warns if
        `y_pred` of the first batch is one column, P(class 1). With True the metric
        takes answers without classes, too: `y_true` is whether each answer is right, 1
        or 0, and `y_pred` the confidence in [0, 1], of the same shape; a confidence of
        0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K]. True is needed
        for P(class 1) of several axes without a class axis.
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid. Memory is 56 bytes for each cell, of which each
        group has 479 + 52 * 2^sketch_bits. The default grid takes 0.8 MB for one group,
        1.0 MB for 10 classes and 18 MB for 1000.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling the pixels of all of them; images of
        which no pixel counts are left out. Only for even bins; there are then no bins
        of all images to read.

    Attributes:
      counts: float64 total weight in each bin, shape [bins], or [K, bins] for
        class-wise groups; with `num_groups`, the rows of each group of examples follow
        each other. None before the number of classes is known.
      confidences: float64 mean score in each bin, 0 for an empty bin.
      accuracies: float64 mean outcome in each bin, 0 for an empty bin.
      correct_sums: float64 weighted sum of the outcomes in each bin.
      prob_sums: float64 weighted sum of the scores in each bin.
      sketch: the batches as a `ScoreSketch`, for adaptive bins without a threshold.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.GeneralCalibrationError("even", True, False, "l1", num_bins=2)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(float(metric.result()), 6)
      0.133333
      >>> (metric.accuracies - metric.confidences).numpy().round(6).tolist()
      [0.0, -0.133333]

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    _function = "general_calibration_error"
    _batch_sums: Callable[..., Any] = staticmethod(bin_sums)
    # Whether the state has one more cell, which counts the examples.
    _totals = False
    # Whether `positive_class=None` goes by the form of the first batch, and what that
    # batch told; the family of the ECE warns of one column instead, once.
    _by_form = False
    _of_class_1: bool | None = None
    _has_warned = False

    def __init__(
        self,
        binning_scheme: BinningScheme,
        max_prob: bool,
        class_conditional: bool,
        norm: Norm,
        num_bins: int = 15,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
        num_groups: int | None = None,
        label_distributions: bool = False,
        per_image: bool = False,
    ) -> None:
        super().__init__(
            name=name or self._function,
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            num_groups=num_groups,
        )
        self.num_classes = num_classes
        if num_classes is not None:
            self.num_classes = _checks.positive_integer("num_classes", num_classes)
        self.sketch_bits = _checks.sketch_bits(sketch_bits)
        self.spec = spec = CalibrationSpec(
            binning_scheme=binning_scheme,
            max_prob=max_prob,
            class_conditional=class_conditional,
            norm=norm,
            num_bins=num_bins,
            threshold=threshold,
            positive_class=positive_class,
            multilabel=multilabel,
            by_form=self._by_form,
        )
        self.binning_scheme, self.norm = spec.binning_scheme, spec.norm
        self.max_prob, self.class_conditional = spec.max_prob, spec.class_conditional
        self.num_bins, self.threshold = spec.num_bins, spec.threshold
        self.positive_class, self.multilabel = spec.positive_class, spec.multilabel
        _checks.boolean("label_distributions", label_distributions)
        self.label_distributions = label_distributions
        if label_distributions and (multilabel or ignore_index is not None):
            raise _checks.plain_error(
                "With `label_distributions`, `ignore_index` must be None and "
                "`multilabel` False.",
                f"{ignore_index} and {multilabel}",
            )
        # The options on which the sums depend. The norm, and the number of adaptive
        # bins, matter only in `result`.
        waits = self._by_form and spec.positive_class is None
        self._spec_of_sums = dataclasses.replace(
            spec if waits else spec.settled(one_column=False),
            norm="l1",
            num_bins=spec.num_bins if spec.binning_scheme == "even" else 1,
            by_form=waits,
        )
        self.per_image = _images.check(per_image, num_groups)
        if per_image:
            if spec.binning_scheme != "even":
                expected = "'even' with `per_image`"
                raise _checks.error("binning_scheme", expected, spec.binning_scheme)
            self._spec_of_sums = dataclasses.replace(self._spec_of_sums, norm=norm)
            self._batch_sums = _images.bin_sums
            self._build_sums((2,))
            return
        self._classes = self.num_classes
        one_group = spec.num_groups(2) == 1  # For any number of classes.
        if one_group or (self.num_classes is not None and not waits):
            self._build(self.num_classes or 2)

    def _check_form(self, one_column: bool) -> None:
        if self._by_form:
            _calibration_spec.check_form("y_pred", self._of_class_1, one_column)
        elif not self._has_warned:
            self._has_warned = True
            self.spec.warn_of_decisions(one_column)

    def _read(self, y_true: Any, y_pred: Any, sample_weight: Any) -> _batches.Reading:
        batch = super()._read(y_true, y_pred, sample_weight)
        predictions = batch.data[1]
        is_class_wise = self.spec.class_conditional and not self.spec.has_one_score
        if is_class_wise and _execution.is_worth_compiling(predictions, often=True):
            # A graph for all sizes would not know the number of blocks.
            return batch._replace(shape=tuple(predictions.shape))
        return batch

    def _settle(self, one_column: bool | None) -> None:
        is_settled = not self._by_form or self.spec.positive_class is not None
        if is_settled or one_column is None:
            return
        self._of_class_1 = one_column
        self.spec = self.spec.settled(one_column)
        self.positive_class = self.spec.positive_class
        if not self._has_sums and self.spec.num_groups(2) == 1:
            self._build(2)

    def _settle_like(self, other: _base.SumsMetric) -> None:
        self._settle(getattr(other, "_of_class_1", None))

    def _empty_state(self) -> MetricState:
        state = super()._empty_state()
        if self._by_form or self.positive_class is not None:
            return state
        # None means False, so that such metrics may be added.
        config = {**state.config, "positive_class": False}
        return dataclasses.replace(state, config=config)

    def _groups_of(self, num_classes: int, one_column: bool = False) -> int:
        """Returns the number of groups, each of which has cells of its own."""
        spec = self.spec.settled(one_column)
        return spec.num_groups(num_classes) * (self.num_groups or 1)

    def _bits(self, num_groups: int) -> tuple[int, ...] | None:
        """Returns the resolution of the sketch; None for even bins."""
        if self.spec.binning_scheme == "even":
            return None
        if self.sketch_bits is not None:
            return (self.sketch_bits,)
        return _grid.default_bits(num_groups)

    def _build(self, num_classes: int) -> None:
        """Makes the state for a number of classes."""
        self._num_groups = self._groups_of(num_classes)
        bits = self._bits(self._num_groups)
        cells = self.spec.num_bins if bits is None else _grid.num_cells(*bits)
        shape = 3, self._num_groups * cells + self._totals
        self._build_sums(shape, scores=True, scattered=bits is not None)
        if self.spec.num_groups(num_classes) > 1:
            self._classes = num_classes

    def _first_options(self, classes: int, one_column: bool = False) -> tuple[Any, ...]:
        if self.per_image:
            return (self._spec_of_sums,)
        bits = self._bits(self._groups_of(classes, one_column))
        options = self._spec_of_sums, bits, self._totals, self.num_groups
        return *options, self.label_distributions

    def _explain(self, *data: Any, **options: Any) -> None:
        # The checks of NumPy are the same, and their errors name the value.
        examples = np_examples.examples(
            *data, num_groups=self.num_groups, multilabel=self.multilabel, **options
        )
        np_scores.checked(examples, self.spec)
        raise ValueError(_validity.OUT_OF_RANGE)

    def _read_statistics(self, dtype: xp.DType) -> tuple[BinStatistics, xp.Tensor]:
        sums, valid = self._read_sums()
        return self._statistics(sums, dtype), valid

    def _statistics(self, sums: _sums.Sums, dtype: xp.DType) -> BinStatistics:
        if self._totals:
            sums = _sums.of_cells(sums, slice(-1))
        bits = self._bits(self._num_groups)
        if bits is None:
            return _binning.even_statistics(
                _sums.totals(sums, dtype), self._num_groups, self.spec.num_bins
            )
        return _sketch.adaptive_statistics(
            sums, self._num_groups, self.spec.num_bins, bits, dtype
        )

    @_computed.in_one_call
    def result(self) -> Any:
        """Returns the error so far, in [0, 1]; 0.0 before the first example that
        counts. For groups it is a dict of their errors, NaN for an empty group.
        """
        dtype = self._result_dtype
        if self._has_sums:
            sums, valid = self._read_sums()
            error = self._error(sums, dtype)
        else:
            error, valid = xp.zeros([], dtype), self._read_valid()
        error = xp.where(valid, error, xp.constant(float("nan"), dtype))
        if self.num_groups is None:
            return error
        if not self._has_sums:
            error = xp.fill([self.num_groups], xp.constant(float("nan"), dtype))
        return _groups.results_by_name(self, error)

    def _error(self, sums: _sums.Sums, dtype: xp.DType) -> xp.Tensor:
        if self.per_image:
            images, total = xp.unstack(_sums.totals(sums, dtype))
            return xp.math.divide_no_nan(total, images)
        statistics = self._statistics(sums, dtype)
        return _binning.calibration_error(statistics, self.spec.norm, self.num_groups)

    @property
    def bin_statistics(self) -> BinStatistics | None:
        """The statistics of all batches in float64, [groups, bins]; NaN after a wrong
        batch, None before the number of classes is known.
        """
        if self.per_image:
            raise _checks.plain_error(
                "With `per_image` there are no bins of all images.", self.name
            )
        return self._all_statistics() if self._has_sums else None

    @_computed.in_64_bits
    def _all_statistics(self) -> BinStatistics:
        """Returns `bin_statistics`, for a metric that has a state."""
        statistics, valid = self._read_statistics(xp.float64)
        return _validity.nan_where_wrong(valid, statistics)

    @property
    @_computed.in_64_bits
    def class_errors(self) -> xp.Tensor | None:
        """The error of each group of scores, float64 [groups]: of each class in a
        class-wise metric. NaN after a wrong batch, None before the number of classes is
        known.
        """
        statistics = self.bin_statistics
        return None if statistics is None else statistics.errors(self.spec.norm)

    def _per_bin(self, name: str) -> xp.Tensor | None:
        statistics = self.bin_statistics
        if statistics is None:
            return None
        values = getattr(statistics, name)
        return values[0] if self._num_groups == 1 else values

    @property
    def counts(self) -> xp.Tensor | None:
        """Total weight in each bin; None before the first batch."""
        return self._per_bin("counts")

    @property
    def confidences(self) -> xp.Tensor | None:
        """Mean score of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("confidences")

    @property
    def accuracies(self) -> xp.Tensor | None:
        """Mean outcome of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("accuracies")

    @property
    def correct_sums(self) -> xp.Tensor | None:
        """Weighted sum of the outcomes in each bin; None before the first batch."""
        return self._per_bin("outcome_sums")

    @property
    def prob_sums(self) -> xp.Tensor | None:
        """Weighted sum of the scores in each bin; None before the first batch."""
        return self._per_bin("score_sums")

    def plot(self, ax: Any = None, *, classes: Sequence[int] | None = None) -> Any:
        """Draws the reliability diagram of all batches so far.

        Args:
          ax: matplotlib Axes to draw in; for a class-wise metric an array of Axes, one
            for each panel. By default a new pyplot figure, which is not shown.
          classes: for a class-wise metric the classes to draw; by default all classes,
            if there are at most 20.

        Returns:
          The Axes, or an array of them.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: a batch was wrong, there is no batch yet and the number of classes
            is not known, or an argument is not as described.
        """
        from uncertainty_metrics.visualization import reliability

        if self.num_groups is not None:
            expected = "None: a metric of groups has no diagram"
            raise _checks.error("num_groups", expected, self.num_groups)
        method = reliability.method_of(self._function)
        shown = self._on_host(method == "bins") if self._has_sums else None
        value = float(self.result())
        options = {"classes": classes, "ax": ax}
        return reliability.plot_metric(
            shown, self.spec, value, self._function, **options
        )

    @_computed.in_64_bits
    def _on_host(self, binned: bool) -> BinStatistics | Cells:
        """Returns the statistics of bins, or the cells of one group, as arrays."""
        if not binned:
            totals = to_numpy(_sums.totals(self._read_sums()[0], xp.float64))
            return Cells(*totals[:, totals[0] > 0])
        statistics = self._all_statistics()
        arrays: dict[str, Any] = {
            name: to_numpy(getattr(statistics, name))
            for name in ("edges", "counts", "score_sums", "outcome_sums")
        }
        return dataclasses.replace(statistics, **arrays)


@_base.register("expected_calibration_error")
class CalibrationError(GeneralCalibrationError):
    """Calibration error of the decision's probability, with a diagram.

    It is the ECE for norm "l1", the MCE for "max" and the RMSCE for "l2"; `adaptive`
    changes only the bins. The arguments are the same as in the metric of this name in
    torch-uncertainty, but labels come first, as in all of Keras.

    Args:
      task: "binary" or "multiclass".
      adaptive: whether bins hold equal mass instead of having equal width.
      num_bins: number of bins.
      norm: "l1", "l2" or "max".
      num_classes: number of classes, required for "multiclass".
      ignore_index: examples with this label are left out.
      validate_args: whether eager updates raise ValueError for wrong values; if not,
        wrong values make the result NaN.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      positive_class: for the binary task, True scores P(class 1) against `label == 1`
        (as torchmetrics does), and False the decision's probability against whether the
        decision is right. None means False, with a warning if `y_pred` of the first
        batch is one column, P(class 1). With True the metric takes answers without
        classes, too: `y_true` is whether each answer is right, 1 or 0, and `y_pred` the
        confidence in [0, 1].
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
      label_distributions: whether `y_true` holds shares in [0, 1] instead of labels:
        those of the classes in the votes for each example, [..., K]; or for one column
        of `y_pred` (with `sparse_labels=True` always) the grade of each answer, which
        is the share of class 1. Neither `ignore_index` nor `multilabel` goes with it.

    Raises:
      TypeError: `num_classes` is not an integer for the multiclass task.
      ValueError: another argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CalibrationError("binary", num_bins=5, positive_class=True)
      >>> metric.update_state([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.2])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """

    _function = "calibration_error"

    def __init__(
        self,
        task: Task,
        adaptive: bool = False,
        num_bins: int = 10,
        norm: Norm = "l1",
        num_classes: int | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        num_groups: int | None = None,
        label_distributions: bool = False,
    ) -> None:
        _checks.one_of("task", task, get_args(Task))
        _checks.boolean("adaptive", adaptive)
        _checks.boolean("validate_args", validate_args)
        if task == "multiclass":
            if isinstance(num_classes, bool) or not isinstance(num_classes, int):
                raise TypeError(
                    '`num_classes` must be an integer for task="multiclass". Received: '
                    f"{num_classes!r}"
                )
            _checks.positive_integer("num_classes", num_classes)
        elif num_classes not in (None, 2):
            raise _checks.error(
                "num_classes", 'None or 2 for task="binary"', num_classes
            )
        super().__init__(
            binning_scheme="adaptive" if adaptive else "even",
            max_prob=True,
            class_conditional=False,
            norm=norm,
            num_bins=num_bins,
            num_classes=2 if task == "binary" else num_classes,
            ignore_index=ignore_index,
            from_logits=from_logits,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            num_groups=num_groups,
            label_distributions=label_distributions,
        )
        self.task, self.adaptive, self.validate_args = task, adaptive, validate_args

    def _reject(self, rows: _labels.ClassRows, options: tuple[Any, ...]) -> None:
        if self.validate_args:
            super()._reject(rows, options)
