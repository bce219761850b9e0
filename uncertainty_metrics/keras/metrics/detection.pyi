# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from uncertainty_metrics.keras.metrics._ranking import DetectionMetric
from uncertainty_metrics.ops._typing import TensorLike

class AUROC(DetectionMetric):
    """Area under the ROC curve of all batches.

    The definition is that of the function `auroc`: the probability that a positive
    example has the larger score, half of it where scores are equal. The state has a
    fixed size: counts in narrow cells. In [0, 1] a cell is 2^-11 wide, and near 0 and 1
    narrower: 128 cells for each halving of the score, or of its distance to 1. Outside
    [0, 1] there are 128 cells for each doubling of the size of the score, from 2^-30 to
    2^20. Scores in a cell count as equal. On tens of thousands of examples that moves
    the value by about 1e-5, also where softmax outputs lie in [0.995, 1]; it never
    moves it by more than `error_bound`, which is at most half the largest share of the
    positive examples, or of the negative ones, that a cell holds. Scores that differ by
    less than 1% of their size need more bits, or a smaller offset.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each doubling of the size of the score, and in
        [0, 1] for each halving of its distance to 1, instead of the default grid.
        Memory is 32 bytes for each of the 1728 + 122 * 2^sketch_bits cells; 0.6 MB by
        default.
      positive: "out" (label 1, of the larger scores) or "in" (label 0, of the smaller
        ones).

    Attributes:
      error_bound: what the result may differ at most from the exact one.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUROC()
      >>> metric.update_state([0, 1, 1], [-2.0, 5.0, -2.0])
      >>> metric.update_state([0], [3.0])
      >>> float(metric.result())
      0.625

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
        positive: Literal["out", "in"] = "out",
    ) -> None: ...

    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: 0 or 1, shape [...] or [..., 1].
          y_pred: scores, finite, shape [...] or [..., 1]; any increasing function of
            P(label 1) will do.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

    @property
    def error_bound(
        self,
    ) -> tf.Tensor:
        """Half the share of the pairs that the sketch cannot order."""
        ...

class AUPR(DetectionMetric):
    """Area under the precision-recall curve (average precision) of all batches.

    The definition is that of the function `aupr`; the state is that of `AUROC`. It is
    exact within the mean, over the positive examples, of the share that their cell has
    of the examples in it and of better scores: mostly too small, by up to 1e-3 on usual
    data. 0.0 before the first positive example.

    Which class is positive changes the value.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.
      positive: "out" (label 1, of the larger scores) or "in" (label 0, of the smaller
        ones).

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

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

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Literal["out", "in"] = "out",
    ) -> None: ...

    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: 0 or 1, shape [...] or [..., 1].
          y_pred: scores, finite, shape [...] or [..., 1]; any increasing function of
            P(label 1) will do.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class FPRAtTPR(DetectionMetric):
    """Least false positive rate at a true positive rate of at least `tpr`.

    The definition is that of the function `fpr_at_tpr`, over all batches; the state is
    that of `AUROC`. The threshold is the end of a cell, so that the rate is never too
    small, and too large by at most the share of the negative examples in that cell, a
    few 1e-3 on usual data. 0.0 before the first positive and the first negative
    example.

    Which class is positive changes the value: `fpr_at_tpr` says what others call
    positive.

    Args:
      tpr: in (0, 1].
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.
      positive: "out" (label 1, of the larger scores) or "in" (label 0, of the smaller
        ones).

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

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
        positive: Literal["out", "in"] = "out",
    ) -> None: ...

    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: 0 or 1, shape [...] or [..., 1].
          y_pred: scores, finite, shape [...] or [..., 1]; any increasing function of
            P(label 1) will do.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...
