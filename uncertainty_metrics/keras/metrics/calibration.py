"""Streaming calibration errors: the Keras metrics."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, get_args

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    BinningScheme,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics.keras import _base, _labels
from uncertainty_metrics.numpy import _binning as np_binning
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.tensorflow import _binning, _inputs, _sketch, _sums
from uncertainty_metrics.tensorflow._binning import BinStatistics

if TYPE_CHECKING:
    import matplotlib.axes

    from uncertainty_metrics.tensorflow._typing import TensorLike

Task = Literal["binary", "multiclass"]


def _with_totals(
    sums: _sums.Sums, weights: tf.Tensor | None, n: tf.Tensor
) -> _sums.Sums:
    """Appends a cell: the examples of positive weight as its counts, and their weight
    as its outcomes.
    """
    if weights is None:
        n = tf.cast(n, tf.int64)
        nothing = tf.zeros_like(n)
        return sums._replace(
            units=_sums.append_cell(sums.units, n, nothing, nothing, n)
        )
    weights = tf.cast(weights, tf.float32)
    live = tf.cast(tf.math.count_nonzero(weights), tf.float32)
    hi, lo = (part[0] for part in _sums.total_pair(weights[:, None]))
    nothing = tf.zeros_like(hi)
    return sums._replace(
        hi=_sums.append_cell(sums.hi, live, nothing, hi),
        lo=_sums.append_cell(sums.lo, nothing, nothing, lo),
    )


def _batch_sums(
    spec: CalibrationSpec,
    sketch_bits: int | None,
    predictions: str,
    ignore_index: int | None,
    totals: bool,
    *data: tf.Tensor,
) -> tuple[_sums.Sums, tf.Tensor]:
    """Returns the sums of a batch over all cells, and whether the batch was valid."""
    examples = _labels.examples(predictions, ignore_index, *data)
    scored = _binning.score(examples, spec)
    num_groups = spec.num_groups(examples.num_classes)
    if sketch_bits is None:
        cells = spec.num_bins
        index = _binning.even_index(scored.scores, cells)
    else:
        cells = _sketch.num_cells(sketch_bits)
        index = _sketch.index(scored.scores, sketch_bits)
    sums = _binning.cell_sums(scored, index, cells, num_groups, spec, tf.float32)
    if totals:
        sums = _with_totals(sums, examples.weights, tf.size(examples.labels))
    return sums, scored.valid


def _explain(spec: CalibrationSpec, *data: Any, **options: Any) -> None:
    """Raises the ValueError that says what is wrong with values known to be wrong."""
    # The NumPy twin knows the same rules and names the value.
    np_binning.checked(np_inputs.examples(*data, **options), spec)
    raise ValueError(_inputs.OUT_OF_RANGE)


@_base.register
class GeneralCalibrationError(_base.SumsMetric):
    """General calibration error of all batches since the last reset.

    The definition is that of `general_calibration_error`. Batches add: three batches
    give the value of one. The state has a fixed size and neither drifts nor saturates:

    * even bins: sums for each bin, exact counts; scores are added within 2^-32.
    * adaptive bins: the same sums on a fixed grid of narrow cells (2^`sketch_bits` for
      each halving of p, or of 1 - p above 1/2), which are grouped to equal mass in
      `result`. Scores in a cell stay together, as equal scores do, so bins end at most
      one cell away from the exact ones; where every cell holds one distinct score the
      value is exact. On overconfident networks it is within 1% of exact. On nearly
      calibrated ones it is within a few percent of a value that is mostly noise (half
      the data would move it ten times as far). Bins narrower than a cell (very many
      bins, or scores that hardly differ) come out merged.

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
      dtype: "float64" for a float64 result; otherwise it is float32. The state keeps
        its own types.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot. True is
        needed for P(class 1) of several axes without a class axis.
      sketch_bits: log2 of the cells per octave for adaptive bins; by default 10 for one
        group and fewer for more, 4 for 1000 classes. Memory is 48 bytes for each of
        the 479 + 52 * 2^sketch_bits cells of a group.

    Attributes:
      counts: float64 total weight in each bin, shape [bins], or [K, bins] for
        class-wise groups. None before the number of classes is known.
      confidences: float64 mean score in each bin, 0 where it is empty.
      accuracies: float64 mean outcome in each bin, 0 where it is empty.
      correct_sums: float64 weighted sum of the outcomes in each bin.
      prob_sums: float64 weighted sum of the scores in each bin.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

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

    _direction = "down"
    # Whether a last cell of the state counts the examples, which weights do not tell.
    _totals = False
    # Options that a subclass fixes, which its constructor does not take.
    _fixed: tuple[str, ...] = ()

    def __init__(
        self,
        binning_scheme: BinningScheme,
        max_prob: bool,
        class_conditional: bool,
        norm: Norm,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        positive_class: bool = False,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ):
        spec = PRESETS["expected_calibration_error"].replaced(locals())
        _checks.boolean("from_logits", from_logits)
        _checks.one_of("sparse_labels", sparse_labels, (None, True, False))
        if num_classes is not None:
            num_classes = _checks.positive_integer("num_classes", num_classes)
        sketch_bits = _checks.sketch_bits(sketch_bits)
        super().__init__(name=name or "general_calibration_error", dtype=dtype)
        self.spec = spec
        self.num_classes = num_classes
        self.from_logits = from_logits
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.sparse_labels = sparse_labels
        self.sketch_bits = sketch_bits
        self._classes = num_classes
        if num_classes is not None or spec.num_groups(2) == 1:
            self._build(num_classes or 2)  # One group, whatever the number.

    def _bits(self, num_groups: int) -> int | None:
        """Returns the resolution of the sketch, None where bins are even."""
        if self.spec.binning_scheme == "even":
            return None
        if self.sketch_bits is not None:
            return self.sketch_bits
        return _sketch.default_bits(num_groups)

    def _build(self, num_classes: int) -> None:
        """Makes the state, for a number of classes where it depends on that."""
        self._num_groups = self.spec.num_groups(num_classes)
        bits = self._bits(self._num_groups)
        cells = self.spec.num_bins if bits is None else _sketch.num_cells(bits)
        self._build_sums((3, self._num_groups * cells + self._totals), scores=True)
        if self._num_groups > 1:
            self._classes = num_classes

    @_base.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K].
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        rows = _labels.class_rows(y_true, y_pred, sample_weight, self.sparse_labels)
        _labels.check_classes("y_pred", rows.classes, self._classes)
        options = (
            self.spec,
            self._bits(self.spec.num_groups(rows.classes)),
            "logits" if self.from_logits else "probabilities",
            self.ignore_index,
            self._totals,
        )
        self._update(
            _batch_sums,
            options,
            rows.data,
            lambda: self._reject(rows),
            shape=rows.predictions.shape[1:],
            classes=rows.classes,
        )

    def _reject(self, rows: _labels.ClassRows) -> None:
        """Raises the ValueError that says what is wrong with a batch."""
        predictions = "logits" if self.from_logits else "probabilities"
        twin = functools.partial(_explain, self.spec)
        rows.explain(twin, predictions, self.ignore_index)

    def _read_statistics(self, dtype: tf.DType) -> tuple[BinStatistics, tf.Tensor]:
        sums, valid = self._read_sums()
        return self._statistics(sums, dtype), valid

    def _statistics(self, sums: _sums.Sums, dtype: tf.DType) -> BinStatistics:
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

    def result(self) -> tf.Tensor:
        """Returns the error of all batches, in [0, 1]; 0.0 before the first."""
        dtype = self._result_dtype
        if self._has_sums:
            sums, valid = self._read_sums()
            error = self._error(sums, dtype)
        else:
            error, valid = tf.zeros([], dtype), self._read_valid()
        return tf.where(valid, error, tf.constant(float("nan"), dtype))

    def _error(self, sums: _sums.Sums, dtype: tf.DType) -> tf.Tensor:
        return _binning.calibration_error(self._statistics(sums, dtype), self.spec.norm)

    @property
    def bin_statistics(self) -> BinStatistics | None:
        """The statistics of all batches in float64, [groups, bins]; NaN after a batch
        that was not valid, None before the number of classes is known.
        """
        return self._all_statistics() if self._has_sums else None

    def _all_statistics(self) -> BinStatistics:
        """Returns `bin_statistics` where there is a state."""
        statistics, valid = self._read_statistics(tf.float64)
        return _inputs.nan_where_wrong(valid, statistics)

    def _per_bin(self, name: str) -> tf.Tensor | None:
        statistics = self.bin_statistics
        if statistics is None:
            return None
        values = getattr(statistics, name)
        return values[0] if self._num_groups == 1 else values

    @property
    def counts(self) -> tf.Tensor | None:
        """Total weight in each bin; None before the first batch."""
        return self._per_bin("counts")

    @property
    def confidences(self) -> tf.Tensor | None:
        """Mean score of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("confidences")

    @property
    def accuracies(self) -> tf.Tensor | None:
        """Mean outcome of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("accuracies")

    @property
    def correct_sums(self) -> tf.Tensor | None:
        """Weighted sum of the outcomes in each bin; None before the first batch."""
        return self._per_bin("outcome_sums")

    @property
    def prob_sums(self) -> tf.Tensor | None:
        """Weighted sum of the scores in each bin; None before the first batch."""
        return self._per_bin("score_sums")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        own = (
            *("num_classes", "from_logits", "ignore_index"),
            *("sparse_labels", "sketch_bits"),
        )
        config = {
            **super().get_config(),
            **vars(self.spec),
            **{name: getattr(self, name) for name in own},
        }
        fixed = ("datapoints_per_bin", *self._fixed)
        return {name: value for name, value in config.items() if name not in fixed}


@_base.register
class CalibrationError(GeneralCalibrationError):
    """Calibration error of the decision's probability, with a diagram.

    ECE for norm "l1", MCE for "max" and RMSCE for "l2"; adaptive bins change the bins
    and nothing else. The arguments are those of the metric of this name in
    torch-uncertainty; labels come first here, as in all of Keras.

    Args:
      task: "binary" or "multiclass".
      adaptive: whether bins hold equal mass instead of having equal width.
      num_bins: number of bins.
      norm: "l1", "l2" or "max".
      num_classes: number of classes, required for "multiclass".
      ignore_index: examples with this label are left out.
      validate_args: whether eager updates raise for wrong values. The result is NaN
        after them if not.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      positive_class: for the binary task, score P(class 1) against `label == 1` (as
        torchmetrics does) instead of the decision against its correctness.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave for adaptive bins.

    Raises:
      TypeError: `num_classes` is not an integer for the multiclass task.
      ValueError: another argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CalibrationError(task="binary", num_bins=5)
      >>> metric.update_state([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.2])
      >>> round(float(metric.result()), 6)
      0.2

    References:
      Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
      Binning.
    """

    _fixed = ("binning_scheme", "max_prob", "class_conditional", "threshold")

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
        positive_class: bool = False,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ):
        _checks.one_of("task", task, get_args(Task))
        _checks.boolean("adaptive", adaptive)
        _checks.boolean("validate_args", validate_args)
        if task == "multiclass":
            if isinstance(num_classes, bool) or not isinstance(num_classes, int):
                raise TypeError(
                    '`num_classes` must be an integer for task="multiclass". Received: '
                    f"{num_classes!r}"
                )
        elif num_classes not in (None, 2):
            raise _checks.error(
                "num_classes", 'None or 2 for task="binary"', num_classes
            )
        self.task = task
        self.validate_args = validate_args
        super().__init__(
            "adaptive" if adaptive else "even",
            True,
            False,
            norm,
            num_bins,
            num_classes=2 if task == "binary" else num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name or "calibration_error",
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )

    def _reject(self, rows: _labels.ClassRows) -> None:
        if self.validate_args:
            super()._reject(rows)

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draws the reliability diagram of all batches so far.

        Args:
          ax: where to draw; by default a new figure.

        Returns:
          The Axes.
        """
        from uncertainty_metrics.visualization import reliability

        curve = reliability.curve_from_statistics(self._all_statistics())
        name = {"l1": "ECE", "l2": "RMSCE", "max": "MCE"}[self.spec.norm]
        annotation = f"{name} = {float(self.result()):.3f}"
        return reliability.draw_reliability(curve, annotation=annotation, ax=ax)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "task": self.task,
            "adaptive": self.spec.binning_scheme == "adaptive",
            "validate_args": self.validate_args,
        }
