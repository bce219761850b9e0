# As written by scripts/write_stubs.py.
from typing import overload
import copy
import dataclasses
from collections.abc import Sequence
from typing import Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _spec
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, PRESETS, BinningScheme, Norm
from uncertainty_metrics.numpy import _arguments, _binning, _inputs, calibration
from uncertainty_metrics.numpy._binning import BinStatistics
__all__ = ["BinStatistics", "GeneralCalibrationError"]
@_arguments.as_in(calibration.general_calibration_error)
class GeneralCalibrationError:
    """Accumulates a general calibration error over batches, exactly.

    Even bins keep their sums. Adaptive bins depend on all the data, so the examples are
    kept until `reset_state`; the Keras metric of this name needs a fixed memory.

    Metrics of the same options add: `a + b` is a new one that has seen the batches of
    both, those of `a` first.

    Args:
      binning_scheme: "even" (equal width) or "adaptive" (equal mass). Required.
      max_prob: whether a score is the probability of the decision label, with outcome
        "the decision is right" (True), or of every class k, with outcome `label == k`
        (False). Required.
      class_conditional: whether every class (for `max_prob`, every decision) is a group
        of its own. Required.
      norm: "l1", "l2" or "max". Required.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      ignore_index: examples with this label are left out.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Attributes:
      counts: total weight in each bin, shape [bins], or [K, bins] for class-wise
        groups. None before the first update, like the other two.
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
        positive_class: bool = False,
    ):
        ...

    def __repr__(self) -> str:
        ...

    def reset_state(self) -> None:
        """Forgets all examples."""
        ...

    @_arguments.of_classifier
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
          labels: integers in [0, K), shape [...].
          probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
          logits: instead of `probabilities`, floating of the same shape.
          probs: another name for `probabilities`.
          labels_predicted: decision labels, shape of the labels; by default the argmax.
          sample_weight: finite and >= 0, broadcastable to the labels.

        Raises:
          ValueError: an argument is not as described.
        """
        ...

    def _check_classes(self, name: str, num_classes: int | None) -> None:
        ...

    def __add__(self, other: GeneralCalibrationError) -> GeneralCalibrationError:
        ...

    def __radd__(self, other: object) -> GeneralCalibrationError:
        ...

    @property
    def bin_statistics(self) -> BinStatistics | None:
        """The statistics of all batches so far; None before the first."""
        ...

    def result(self) -> float:
        """Returns the error of all batches so far, in [0, 1]; 0.0 before the first."""
        ...

    def plot(self, ax: Any = None, *, classes: Sequence[int] | None = None) -> Any:
        """Draws the reliability diagram of all batches so far.

        Args:
          ax: matplotlib Axes to draw in; where every class is a group of its own, an
            array of as many as there are panels. By default a new pyplot figure, which
            is not shown.
          classes: where every class is a group of its own, those to draw; all of them
            by default, where there are at most 20.

        Returns:
          The Axes, or an array of them.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: there is no batch yet, or an argument is not as described.
        """
        ...

    def _per_bin(self, name: str) -> np.ndarray | None:
        ...

    @property
    def counts(self) -> np.ndarray | None:
        """Total weight in each bin; None before the first batch."""
        ...

    @property
    def confidences(self) -> np.ndarray | None:
        """Mean score of each bin, 0 if it is empty; None before the first batch."""
        ...

    @property
    def accuracies(self) -> np.ndarray | None:
        """Mean outcome of each bin, 0 if it is empty; None before the first batch."""
        ...
