# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from uncertainty_metrics.keras.metrics._ranking import SelectiveMetric
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.ops._typing import TensorLike

class AURC(SelectiveMetric):
    """Area under the risk-coverage curve of all batches.

    The definition is that of `area_under_risk_coverage_curve`. The state has a fixed
    size: counts in cells that are 2^-11 wide, and narrower near 0 and 1: 64 for each
    halving of the confidence, or of its distance to 1. Confidences in a cell count as
    equal. With s the largest share of the examples that a cell holds, that moves the
    value by at most

      s / 4 (1 + log(4 / s))

    and by less than 1e-4 on usual data (of tens of thousands of examples), saturated
    softmax outputs in [0.995, 1] included; not at all where each cell holds one
    confidence. If all confidences are nearly the same, s may be 1, as confidences that
    differ by less than the width of a cell are not told apart. From logits the
    confidence is the margin of the decision, which does not saturate at all.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells for each halving of the confidence, or of its
        distance to 1, of a grid that is as fine everywhere, instead of the default one.
        Memory is 32 bytes for each of its 479 + 52 * 2^sketch_bits cells, about twice
        as many from logits; 0.2 MB by default, and 0.6 MB from logits.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AURC()
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(float(metric.result()), 6)
      0.111111

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class ExcessAURC(SelectiveMetric):
    """Excess area under the risk-coverage curve of all batches.

    The definition is that of `excess_aurc`, which says how it differs from the formula
    of Geifman et al.; state and precision are those of `AURC`.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.ExcessAURC()
      >>> metric.update_state([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
      >>> float(metric.result())  # The one that is wrong is the least confident.
      0.0

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class AUGRC(SelectiveMetric):
    """Area under the generalized risk-coverage curve of all batches.

    The definition is that of `augrc`; the state is that of `AURC`. The value is exact
    within s / 8, of the largest share s of the examples that a cell holds.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUGRC()
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())
      0.09375

    References:
      Traub et al. (2024), Overcoming Common Flaws in the Evaluation of Selective
      Classification Systems.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class CoverageAtRisk(SelectiveMetric):
    """Largest coverage whose risk is at most `risk`, of all batches.

    The definition is that of `coverage_at_risk`; the state is that of `AURC`. The
    threshold is the end of a cell, so that the coverage is never too large. With s the
    largest share of the examples that a cell holds, it is at least c - s for any
    coverage c of a risk of at most `risk` (c - s) / c: on usual data it is too small by
    a few 1e-3 at most, but by more where only the inside of a cell has so low a risk.
    0.0 where no coverage has it.

    Args:
      risk: in [0, 1].
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CoverageAtRisk(risk=0.05)
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())
      0.5

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """

    def __init__(
        self,
        risk: float = 0.05,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class RiskAtCoverage(SelectiveMetric):
    """Risk at the smallest coverage that is at least `coverage`, of all batches.

    The definition is that of `risk_at_coverage`; the state is that of `AURC`. The
    threshold is the end of a cell, so that the risk is exact within s / `coverage`, of
    the largest share s of the examples that a cell holds: a few 1e-3 on usual data.

    Args:
      coverage: in (0, 1].
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RiskAtCoverage(coverage=0.75)
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> round(float(metric.result()), 6)
      0.333333

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """

    def __init__(
        self,
        coverage: float = 0.8,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class OracleCollaborativeAccuracy(SelectiveMetric):
    """Accuracy of all batches if an oracle decides the least confident `fraction`.

    The definition is that of `oracle_collaborative_accuracy`; the state is that of
    `AURC`. It is exact within s / 4, of the largest share s of the examples that a cell
    holds, and within 1e-3 on usual data. There are no bins, and no `num_bins`: what the
    oracle decides is told by the order of the confidences.

    Args:
      fraction: share of the examples that the oracle decides, in [0, 1].
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells per octave of a grid that is as fine everywhere.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.OracleCollaborativeAccuracy(fraction=0.25)
      >>> metric.update_state([0, 1, 0, 0], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())  # The oracle decides the last; the third is wrong.
      0.75

    References:
      Kivlichan et al. (2021), Measuring and Improving Model-Moderator Collaboration
      using Uncertainty Estimation.
    """

    def __init__(
        self,
        fraction: float = 0.01,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class Accuracy(MeanScore):
    """Share of the examples whose label has the largest probability, of all batches.

    The definition is that of the function `accuracy`: ties go to the lowest class.
    Labels and predictions are those of `BrierScore`; of labels that are distributions
    the largest counts.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities; for P(class
        1) the threshold is 0 or 1/2.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels; and the
        result one of the value of each group, NaN where it is empty, and the worst:
        `<name>_0` and so on, and `<name>_worst`.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.Accuracy()
      >>> metric.update_state([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6])
      >>> float(metric.result())
      0.75
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "accuracy",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...
