"""The base classes of streaming calibration errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from uncertainty_metrics import _calibration_spec, _checks
from uncertainty_metrics._calibration_spec import PRESETS, CalibrationSpec
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.keras import _base, _computed, _groups, _labels
from uncertainty_metrics.keras.metrics._classes import ClassMetric
from uncertainty_metrics.keras.metrics._sketched import Sketched
from uncertainty_metrics.numpy import _examples as np_examples
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.calibration.bins import _error_interval
from uncertainty_metrics.numpy.calibration.bins import _scores as np_scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _binning,
    _sketch,
    _sums,
    _validity,
    to_numpy,
    xp,
)
from uncertainty_metrics.ops._binning import BinStatistics

Task = Literal["binary", "multiclass"]
# The arguments that all calibration errors have.
COMMON = (
    "num_bins, threshold, num_classes, from_logits, ignore_index, name, dtype, *, "
    "positive_class, sparse_labels, sketch_bits"
)
GROUPED = f"{COMMON}, multilabel, num_groups"


def _with_totals(
    sums: _sums.Sums, num_cells: int, weights: xp.Tensor | None, n: xp.Tensor
) -> _sums.Sums:
    """Appends a cell, whose count is the number n of examples of positive weight, and
    whose outcomes are their weight.
    """
    if weights is None:
        n = xp.cast(n, xp.int64)
        nothing = xp.zeros_like(n)
        return sums._replace(
            units=_sums.append_cell(sums.units, num_cells, n, nothing, nothing, n)
        )
    weights = xp.cast(weights, xp.float32)
    num_counted = xp.cast(xp.math.count_nonzero(weights), xp.float32)
    hi, lo = (part[0] for part in _sums.total_pair(weights[:, None]))
    nothing = xp.zeros_like(hi)
    return sums._replace(
        hi=_sums.append_cell(sums.hi, num_cells, num_counted, nothing, hi),
        lo=_sums.append_cell(sums.lo, num_cells, nothing, nothing, lo),
    )


def _batch_sums(
    spec: CalibrationSpec,
    sketch_bits: tuple[int, ...] | None,
    totals: bool,
    groups: int | None,
    predictions: str,
    ignore_index: int | None,
    *data: xp.Tensor,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of a batch in all cells, and whether the batch is valid."""
    options: Any = {"num_groups": groups, "multilabel": spec.multilabel}
    examples = _labels.examples(predictions, ignore_index, *data, **options)
    spec = spec.settled(examples.one_column)
    scored = _binning.score(examples, spec)
    num_groups = _binning.num_groups(examples, spec)
    if sketch_bits is None:
        cells = spec.num_bins
        index = _binning.even_index(scored.scores, cells)
    else:
        cells = _grid.num_cells(*sketch_bits)
        index = _sketch.indices(scored.scores, sketch_bits)
    # A few scores go into their cells, and many are first added up for all cells.
    is_sparse = IS_TENSORFLOW and sketch_bits is not None
    is_sparse = is_sparse and (scored.scores.shape[0] or 0) < num_groups * cells
    sparse = num_groups * cells + totals if is_sparse else 0
    sums = _binning.cell_sums(
        scored, index, cells, num_groups, spec, xp.float32, sparse
    )
    if totals:
        n = xp.size(examples.labels)
        sums = _with_totals(sums, num_groups * cells, examples.weights, n)
    return sums, scored.valid


class CalibrationMetric(Sketched, ClassMetric):
    """A metric that is computed from the statistics of bins."""

    _batch_sums = staticmethod(_batch_sums)
    # Whether the state has one more cell, which counts the examples; see
    # `_with_totals`.
    _totals = False
    # Whether `positive_class=None` goes by the form of the first batch, and what that
    # batch told; the family of the ECE warns of one column instead, once.
    _by_form = False
    _of_class_1: bool | None = None
    _has_warned = False
    spec: CalibrationSpec
    positive_class: bool | None
    num_classes: int | None
    sketch_bits: int | None

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        preset = PRESETS.get(self._function or "")
        if preset is not None and options["threshold"] is None:
            options["threshold"] = preset.threshold
        preset = preset or PRESETS["expected_calibration_error"]
        fields = {field.name for field in dataclasses.fields(preset)}
        chosen = {name: options[name] for name in options if name in fields}
        chosen["by_form"] = self._by_form
        self.spec = dataclasses.replace(preset, **chosen)
        super()._set_up(name, dtype, **{**options, **vars(self.spec)})
        # The options on which the sums depend. The norm, and the number of adaptive
        # bins, matter only in `result`.
        num_bins = self.spec.num_bins if self.spec.binning_scheme == "even" else 1
        waits = self._by_form and self.spec.positive_class is None
        settled = self.spec if waits else self.spec.settled(one_column=False)
        self._spec_of_sums = dataclasses.replace(
            settled, norm="l1", num_bins=num_bins, by_form=waits
        )
        self._classes = self.num_classes
        one_group = self.spec.num_groups(2) == 1  # For any number of classes.
        if one_group or (self.num_classes is not None and not waits):
            self._build(self.num_classes or 2)

    def _check_form(self, one_column: bool) -> None:
        if self._by_form:
            _calibration_spec.check_form("y_pred", self._of_class_1, one_column)
        elif not self._has_warned:
            self._has_warned = True
            self.spec.warn_of_decisions(one_column)

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
        bits = self._bits(self._groups_of(classes, one_column))
        return self._spec_of_sums, bits, self._totals, self.num_groups

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
        statistics = self._statistics(sums, dtype)
        return _binning.calibration_error(statistics, self.spec.norm, self.num_groups)

    @property
    def bin_statistics(self) -> BinStatistics | None:
        """The statistics of all batches in float64, [groups, bins]; NaN after a wrong
        batch, None before the number of classes is known.
        """
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


class TaskMetric(CalibrationMetric):
    """A calibration error of the decision's probability, for a `task`."""

    validate_args: bool

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        num_classes = options["num_classes"]
        if options["task"] == "multiclass":
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
        else:
            options["num_classes"] = 2
        scheme = "adaptive" if options["adaptive"] else "even"
        super()._set_up(name, dtype, binning_scheme=scheme, **options)

    def _reject(self, rows: _labels.ClassRows, options: tuple[Any, ...]) -> None:
        if self.validate_args:
            super()._reject(rows, options)


class DebiasedMetric(CalibrationMetric):
    """A calibration error in the l2 norm, minus its bias."""

    _totals = True
    _by_form = True
    squared: bool

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        super()._set_up(name, dtype, norm="l2", **options)

    def _unit(self, sums: _sums.Sums, dtype: xp.DType) -> xp.Tensor:
        last = _sums.totals(_sums.of_cells(sums, slice(-1, None)), dtype)
        examples, _, weight = xp.unstack(last[:, 0])
        return xp.maximum(xp.math.divide_no_nan(examples, weight), 1)

    def _error(self, sums: _sums.Sums, dtype: xp.DType) -> xp.Tensor:
        return _binning.debiased_error(
            self._statistics(sums, dtype), self.squared, self._unit(sums, dtype)
        )

    @property
    @_computed.in_64_bits
    def class_errors(self) -> xp.Tensor | None:
        """The error of each group of scores minus its bias, or its square, float64
        [groups]: of each class in a class-wise metric. NaN after a wrong batch, None
        before the number of classes is known.
        """
        if not self._has_sums:
            return None
        sums, valid = self._read_sums()
        errors = _binning.debiased_errors(
            self._statistics(sums, xp.float64),
            self.squared,
            self._unit(sums, xp.float64),
        )
        return _validity.nan_where_wrong(valid, errors)

    @_computed.in_64_bits
    def interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Returns a confidence interval of the error of all batches; computed in NumPy.

        It is `calibration_error_interval` of rounded scores: each score is the mean of
        its cell in the sketch, or of its even bin, for which the interval is slightly
        wider. The scores of all classes have no interval, as they depend on each other.

        Args:
          level: in (0, 1), how often the interval holds the truth.

        Returns:
          `ConfidenceInterval(lower, estimate, upper)` of the error, not of its square,
          floats in [0, 1]; (0, 0, 1) before the first batch, NaN after a wrong batch.

        Raises:
          ValueError: `level` is not as described, or the metric scores neither
            decisions in one group nor class 1.
        """
        level = _checks.open_unit("level", level)
        spec = self.spec
        if spec.class_conditional and not spec.positive_class:
            raise _checks.error(
                "class_conditional", "False for a confidence interval", True
            )
        if not (spec.max_prob or spec.positive_class):
            raise _checks.error("max_prob", "True for a confidence interval", False)
        if not self._has_sums:
            return ConfidenceInterval(0.0, 0.0, 1.0)
        sums, valid = self._read_sums()
        if not valid:
            return ConfidenceInterval(*[float("nan")] * 3)
        totals = to_numpy(_sums.totals(sums, xp.float64))[:, :-1]
        totals = totals[:, totals[0] > 0]
        if totals.size == 0:
            return ConfidenceInterval(0.0, 0.0, 1.0)
        of_bins = _error_interval.of_cells(Cells(*totals))
        if spec.binning_scheme == "adaptive":
            of_bins = _error_interval.grouped(of_bins, spec.num_bins)
        unit = float(self._unit(sums, xp.float64))
        return _error_interval.interval(of_bins, unit, level)
