"""Streaming calibration error without the bias of few examples: the Keras metric."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import BinningScheme
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.keras import _base, _computed
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.numpy.calibration.bins import _error_interval
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.ops import _binning, _sums, _validity, to_numpy, xp

__all__ = ["DebiasedCalibrationError"]


@_base.register("debiased_calibration_error")
class DebiasedCalibrationError(GeneralCalibrationError):
    """Calibration error in the l2 norm, minus its bias, of all batches.

    See the function `debiased_calibration_error` for the definition, and
    `GeneralCalibrationError` for state and precision. A weight is a number of examples.
    If the positive weights of all batches have a mean below 1, they are scaled to a
    mean of 1. With `multilabel` each label must be a group: labels of an example
    depend on each other.

    Args:
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      squared: whether the result is the squared error, which may be negative.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means True if `y_pred` of the first batch is one
        column, P(class 1), else False; batches of the other form are then refused. With
        True the metric takes answers without classes, too: `y_true` is whether each
        answer is right, 1 or 0, and `y_pred` the confidence in [0, 1], of the same
        shape; a confidence of 0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: for adaptive bins: log2 of the cells for each halving of p, or of 1 -
        p above 1/2, of a grid that is equally fine everywhere relative to p and to 1 -
        p, instead of the default grid.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), the scores.
        All labels together are one group; with class-wise groups, each label is.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.DebiasedCalibrationError()
      >>> metric.update_state([1] * 4 + [0], [0.9] * 5)
      >>> metric.update_state([1] * 3 + [0] * 2, [0.9] * 5)
      >>> round(float(metric.result()), 6)
      0.129099

    References:
      Kumar, Liang and Ma (2019), Verified Uncertainty Calibration. Broecker (2012),
      Estimating Reliability and Resolution of Probability Forecasts through
      Decomposition of the Empirical Score.
    """

    _function = "debiased_calibration_error"
    _totals = True
    _by_form = True

    def __init__(
        self,
        binning_scheme: BinningScheme = "adaptive",
        max_prob: bool = True,
        class_conditional: bool = False,
        num_bins: int = 15,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        squared: bool = False,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
        multilabel: bool = False,
    ) -> None:
        super().__init__(
            binning_scheme=binning_scheme,
            max_prob=max_prob,
            class_conditional=class_conditional,
            num_bins=num_bins,
            threshold=threshold,
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            norm="l2",
        )
        if multilabel and not class_conditional:
            expected = (
                "True with `multilabel`: a stream does not keep which labels belong to "
                "an example, and depend on each other; "
                "`uncertainty_metrics.numpy.debiased_calibration_error` does"
            )
            raise _checks.error("class_conditional", expected, False)
        _checks.boolean("squared", squared)
        self.squared = squared

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
