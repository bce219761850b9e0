"""Calibration errors that are accumulated over batches, exact and in float64."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    BinningScheme,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning, _scores
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics

__all__ = ["BinStatistics", "GeneralCalibrationError"]


class GeneralCalibrationError:
    """A general calibration error that is accumulated over batches, exactly.

    Of even bins only the sums are kept. Adaptive bins depend on all data, so all
    examples are kept until `reset_state`; the Keras metric of this name needs a fixed
    memory. `general_calibration_error` defines the error.

    Metrics of the same options can be added: `a + b` is a new metric that has seen the
    batches of `a` and then those of `b`.

    Args:
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
        Required.
      max_prob: True to score the probability of the decided class, False to score the
        probability of every class. Required.
      class_conditional: whether every class is a group with bins of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes).

    Attributes:
      counts: total weight in each bin, shape [bins], or [K, bins] where every class is
        a group. None before the first update, as the other two.
      confidences: mean score in each bin, 0 where it is empty.
      accuracies: mean outcome in each bin, 0 where it is empty.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> metric = um.GeneralCalibrationError("even", True, False, "l1", num_bins=2)
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(metric.result(), 6)
      0.133333
      >>> (metric.accuracies - metric.confidences).round(6).tolist()
      [0.0, -0.133333]

    References:
      Nixon et al. (2019), Measuring Calibration in Deep Learning.
    """

    def __init__(
        self,
        binning_scheme: BinningScheme,
        max_prob: bool,
        class_conditional: bool,
        norm: Norm,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
        *,
        ignore_index: int | None = None,
        positive_class: bool | None = None,
    ):
        self._given = CalibrationSpec(
            binning_scheme=binning_scheme,
            max_prob=max_prob,
            class_conditional=class_conditional,
            norm=norm,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
            positive_class=positive_class,
        )
        self.spec = self._given.settled(one_column=False)
        self.ignore_index = ignore_index
        self.reset_state()

    def __repr__(self) -> str:
        options = dataclasses.asdict(self.spec) | {"ignore_index": self.ignore_index}
        del options["by_form"]  # No argument of the constructor.
        is_empty = self.bin_statistics is None
        options |= {} if is_empty else {"result": self.result()}
        text = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"<GeneralCalibrationError {text}{', no examples' if is_empty else ''}>"

    def reset_state(self) -> None:
        """Forgets all examples."""
        self._examples: list[_examples.Examples] = []
        self._statistics: BinStatistics | None = None
        self._num_classes: int | None = None

    @takes_frames
    def update_state(
        self,
        labels: ArrayLike,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        labels_predicted: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the state as it was.

        Args:
          labels: integer class labels in [0, K), shape [...].
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          probs: another name for `probabilities`.
          labels_predicted: decided class of each example [...]; by default the argmax.
          sample_weight: weight of each example, >= 0, broadcastable to the labels.

        Raises:
          ValueError: an argument is not as described.
        """
        examples = _examples.examples(
            labels,
            probabilities,
            logits,
            probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=self.ignore_index,
            allow_none=True,
        )
        self._check_classes(examples.name, examples.num_classes)
        if self._num_classes is None:
            decided = labels_predicted is not None
            self._given.warn_of_decisions(examples.one_column, decided)
        if self.spec.binning_scheme == "even":
            statistics = _binning.bin_statistics(examples, self.spec)
            if self._statistics is not None:
                statistics = self._statistics + statistics
            self._statistics = statistics
        else:
            _scores.checked(examples, self.spec)
            # A copy, since the arrays may be the caller's.
            self._examples.append(copy.deepcopy(examples))
            self._statistics = None
        self._num_classes = examples.num_classes

    def _check_classes(self, name: str, num_classes: int | None) -> None:
        if None not in (self._num_classes, num_classes) and (
            self._num_classes != num_classes
        ):
            raise _checks.error(
                name,
                f"{self._num_classes} classes, as in the first batch",
                f"{num_classes} classes",
                verb="have",
            )

    def __add__(self, other: GeneralCalibrationError) -> GeneralCalibrationError:
        if not isinstance(other, GeneralCalibrationError):
            return NotImplemented
        options, others = ((m.spec, m.ignore_index) for m in (self, other))
        if options != others:
            raise _checks.plain_error(
                "States can be added only if they are of the same metric and options.",
                f"{options} and {others}",
            )
        self._check_classes("metrics", other._num_classes)
        total = copy.copy(self)
        total._examples = self._examples + other._examples
        total._num_classes = self._num_classes or other._num_classes
        if total._examples:
            total._statistics = None  # Adaptive bins are made from all examples.
        elif self._statistics is None or other._statistics is None:
            total._statistics = self._statistics or other._statistics
        else:
            total._statistics = self._statistics + other._statistics
        return total

    def __radd__(self, other: object) -> GeneralCalibrationError:
        is_start = isinstance(other, int) and other == 0  # `sum` starts with 0.
        return self if is_start else NotImplemented

    @property
    def bin_statistics(self) -> BinStatistics | None:
        """The statistics of all batches so far; None before the first."""
        if self._statistics is None and self._examples:
            self._examples = [_examples.concatenate(self._examples)]
            self._statistics = _binning.bin_statistics(self._examples[0], self.spec)
        return self._statistics

    def result(self) -> float:
        """Returns the error of all batches so far, in [0, 1]; 0.0 before the first."""
        statistics = self.bin_statistics
        if statistics is None:
            return 0.0
        return _binning.calibration_error(statistics, self.spec.norm)

    def plot(self, ax: Any = None, *, classes: Sequence[int] | None = None) -> Any:
        """Draws the reliability diagram of all batches so far.

        Args:
          ax: matplotlib Axes to draw in; where every class is a group, an array of as
            many Axes as panels. By default a new pyplot figure, which is not shown.
          classes: where every class is a group, the classes to draw; by default all of
            them, which must be at most 20.

        Returns:
          The Axes, or an array of them.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: there is no batch yet, or an argument is not as described.
        """
        from uncertainty_metrics.visualization import reliability

        statistics, value = self.bin_statistics, self.result()
        options = {"classes": classes, "ax": ax}
        return reliability.plot_metric(statistics, self.spec, value, **options)

    def _per_bin(self, name: str) -> np.ndarray | None:
        statistics = self.bin_statistics
        if statistics is None:
            return None
        values = getattr(statistics, name)
        return values[0] if len(values) == 1 else values

    @property
    def counts(self) -> np.ndarray | None:
        """Total weight in each bin; None before the first batch."""
        return self._per_bin("counts")

    @property
    def confidences(self) -> np.ndarray | None:
        """Mean score of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("confidences")

    @property
    def accuracies(self) -> np.ndarray | None:
        """Mean outcome of each bin, 0 if it is empty; None before the first batch."""
        return self._per_bin("accuracies")
