"""Streaming selective prediction and detection: the Keras metrics.

Ranks are not additive, but counts are. The state counts hits and misses in the cells of
a sketch (`tensorflow/_sketch.py`), of fixed size, and `result` takes the scores of a
cell as equal: the exact metric of slightly rounded scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _labels, _scorers
from uncertainty_metrics.keras.metrics.scoring_rules import MeanScore
from uncertainty_metrics.numpy import detection as np_detection
from uncertainty_metrics.numpy import selective as np_selective
from uncertainty_metrics.tensorflow import (
    _inputs,
    _ranking,
    _sketch,
    _sums,
)

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

_DEFAULT_BITS = 8


def _cell_sums(
    cells: tf.Tensor,
    hits: tf.Tensor,
    weights: tf.Tensor | None,
    valid: tf.Tensor,
    num_cells: int,
) -> tuple[_sums.Sums, tf.Tensor]:
    """Returns weight and hits of a batch in each cell, and `valid`.

    A last cell holds the number of examples of positive weight.
    """
    if weights is None:
        units = _sums.outcome_sums(cells, hits, None, num_cells).units
        n = tf.size(cells, tf.int64)
        units = _sums.append_cell(units, n, tf.zeros_like(n))
        return _sums.Sums(units, None, None), valid
    weights = tf.cast(weights, tf.float32)
    sums = _sums.outcome_sums(cells, hits, weights, num_cells)
    live = tf.cast(tf.math.count_nonzero(weights), tf.float32)
    nothing = tf.zeros_like(live)
    hi = _sums.append_cell(sums.hi, live, nothing)
    return _sums.Sums(None, hi, _sums.append_cell(sums.lo, nothing, nothing)), valid


def _selective_sums(
    bits: int,
    predictions: str,
    ignore_index: int | None,
    *data: tf.Tensor | None,
) -> tuple[_sums.Sums, tf.Tensor]:
    examples = _labels.examples(predictions, ignore_index, *data)
    batch = _ranking.ranked_decisions(examples)
    index = _sketch.real_index if examples.from_logits else _sketch.index
    return _cell_sums(
        index(batch.scores, bits),
        batch.hits,
        batch.weights,
        batch.valid,
        _num_cells(bits, examples.from_logits),
    )


def _detection_sums(
    bits: int,
    ignore_index: int | None,
    labels: tf.Tensor,
    y_pred: tf.Tensor,
    sample_weight: tf.Tensor | None,
) -> tuple[_sums.Sums, tf.Tensor]:
    batch = _ranking.ranked(labels, y_pred, sample_weight, ignore_index)
    return _cell_sums(
        _sketch.real_index(batch.scores, bits),
        batch.hits,
        batch.weights,
        batch.valid,
        _num_cells(bits, True),
    )


def _num_cells(bits: int, real: bool) -> int:
    return _sketch.num_real_cells(bits) if real else _sketch.num_cells(bits)


class _RankingMetric(_base.SumsMetric):
    """A metric that is read off a ranking."""

    def __init__(
        self,
        real: bool,
        ignore_index: int | None,
        sketch_bits: int | None,
        name: str | None,
        dtype: Any,
    ):
        sketch_bits = _checks.sketch_bits(sketch_bits)
        super().__init__(name=name, dtype=dtype)
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.sketch_bits = sketch_bits
        self._bits = _DEFAULT_BITS if sketch_bits is None else sketch_bits
        self._build_sums((2, _num_cells(self._bits, real) + 1))

    def _read_ranking(self) -> tuple[_ranking.Ranking, tf.Tensor]:
        """Returns the ranking of the cells, and whether it can be trusted."""
        sums, valid = self._read_sums()
        dtype = self._result_dtype
        examples = _sums.totals(sums, dtype)[0, -1]
        cells = _sums.of_cells(sums, slice(-1))
        return _ranking.from_sums(cells, examples, dtype), valid

    def result(self) -> tf.Tensor:
        """Returns the value of all batches; 0.0 where there is none yet."""
        ranking, valid = self._read_ranking()
        value = self._value(ranking)
        return tf.where(valid, value, tf.constant(float("nan"), value.dtype))

    def _value(self, ranking: _ranking.Ranking) -> tf.Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "ignore_index": self.ignore_index,
            "sketch_bits": self.sketch_bits,
        }


class _SelectiveMetric(_RankingMetric):
    """A metric of a classifier that abstains where it is least confident.

    Subclasses name the function whose value they stream in `_function`.
    """

    _function: str

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ):
        _checks.boolean("from_logits", from_logits)
        _checks.one_of("sparse_labels", sparse_labels, (None, True, False))
        super().__init__(
            from_logits, ignore_index, sketch_bits, name or self._function, dtype
        )
        self.from_logits = from_logits
        self.sparse_labels = sparse_labels

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
        predictions = "logits" if self.from_logits else "probabilities"
        options = (predictions, self.ignore_index)
        self._update(
            _selective_sums,
            (self._bits, *options),
            rows.data,
            lambda: rows.explain(np_selective.risk_coverage_curve, *options),
            shape=rows.predictions.shape[1:],
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "from_logits": self.from_logits,
            "sparse_labels": self.sparse_labels,
        }


@_base.register
class AURC(_SelectiveMetric):
    """Area under the risk-coverage curve of all batches.

    The definition is that of `area_under_risk_coverage_curve`. The state has a fixed
    size: counts in 2^`sketch_bits` cells for each halving of the confidence, or of what
    it lacks to 1. Confidences in a cell count as equal. With s the largest share of the
    examples that a cell holds, that moves the value by at most

      s / 4 (1 + log(4 / s))

    and by less than 1e-4 on usual data, saturated softmax outputs in [0.995, 1]
    included; not at all where each cell holds one confidence. Of nearly uniform
    predictions s may be 1: confidences that differ by less than 2^-`sketch_bits` of
    their size are told apart only with more bits. From logits the confidence is the
    margin of the decision, which does not saturate at all.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      sketch_bits: log2 of the cells per octave, 8 by default. Memory is 32 bytes for
        each of the 479 + 52 * 2^sketch_bits cells, about twice as many from logits.

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

    _direction = "down"
    _function = "area_under_risk_coverage_curve"

    def _value(self, ranking):
        return _ranking.risk_coverage_area(ranking)


@_base.register
class ExcessAURC(_SelectiveMetric):
    """Excess area under the risk-coverage curve of all batches.

    The definition is that of `excess_aurc`, which says how it differs from the formula
    of Geifman et al.; state and precision are those of `AURC`.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AURC`.

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

    _direction = "down"
    _function = "excess_aurc"

    def _value(self, ranking):
        return _ranking.excess_risk_coverage_area(ranking)


@_base.register
class AUGRC(_SelectiveMetric):
    """Area under the generalized risk-coverage curve of all batches.

    The definition is that of `augrc`; the state is that of `AURC`. The value is exact
    within s / 8, of the largest share s of the examples that a cell holds.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AURC`.

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

    _direction = "down"
    _function = "augrc"

    def _value(self, ranking):
        return _ranking.generalized_risk_coverage_area(ranking)


@_base.register
class CoverageAtRisk(_SelectiveMetric):
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
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AURC`.

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

    _direction = "up"
    _function = "coverage_at_risk"

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
    ):
        risk = _checks.share("risk", risk)
        super().__init__(
            from_logits,
            ignore_index,
            name,
            dtype,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.risk = risk

    def _value(self, ranking):
        return _ranking.coverage_at_risk(ranking, self.risk)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "risk": self.risk}


@_base.register
class RiskAtCoverage(_SelectiveMetric):
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
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AURC`.

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

    _direction = "down"
    _function = "risk_at_coverage"

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
    ):
        coverage = _checks.share("coverage", coverage, zero=False)
        super().__init__(
            from_logits,
            ignore_index,
            name,
            dtype,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.coverage = coverage

    def _value(self, ranking):
        return _ranking.risk_at_coverage(ranking, self.coverage)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "coverage": self.coverage}


@_base.register
class OracleCollaborativeAccuracy(_SelectiveMetric):
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
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AURC`.

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

    _direction = "up"
    _function = "oracle_collaborative_accuracy"

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
    ):
        fraction = _checks.share("fraction", fraction)
        super().__init__(
            from_logits,
            ignore_index,
            name,
            dtype,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.fraction = fraction

    def _value(self, ranking):
        return _ranking.collaborative_accuracy(ranking, self.fraction)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "fraction": self.fraction}


class _DetectionMetric(_RankingMetric):
    """A metric of scores that should be larger for positive examples."""

    _function: str

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
    ):
        super().__init__(True, ignore_index, sketch_bits, name or self._function, dtype)

    @_base.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: 0 or 1 (positive), shape [...] or [..., 1].
          y_pred: scores, finite, shape [...] or [..., 1]; any increasing function of
            P(positive) will do.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        mask = getattr(y_pred, "_keras_mask", None)
        y_true = _inputs.as_tensor("y_true", y_true)
        y_pred = _inputs.as_tensor("y_pred", y_pred)
        with _labels.keras_names("scores"):
            _checks.paired("scores", y_pred.shape, "labels", y_true.shape)
        weights = _labels.flat_weights(sample_weight, mask, y_true)
        labels, scores = tf.reshape(y_true, [-1]), tf.reshape(y_pred, [-1, 1])

        def explain():
            with _labels.keras_names("scores"):
                np_detection.auroc(
                    labels,
                    scores,
                    sample_weight=weights,
                    ignore_index=self.ignore_index,
                )

        options = (self._bits, self.ignore_index)
        data = (labels, scores, weights)
        self._update(_detection_sums, options, data, explain, shape=())


@_base.register
class AUROC(_DetectionMetric):
    """Area under the ROC curve of all batches.

    The definition is that of the function `auroc`: the probability that a positive
    example has the larger score, half of it where scores are equal. The state has a
    fixed size: counts in 2^`sketch_bits` cells for each doubling of the size of the
    score, from 2^-30 to 2^20; and in [0, 1] for each halving of it and of what it lacks
    to 1. Scores in a cell count as equal. That moves the value by about 1e-5 on usual
    data, softmax outputs in [0.995, 1] included, and never by more than `error_bound`,
    at most half the largest share of the positive examples, or of the negative ones,
    that a cell holds.
    Scores that differ by less than 2^-`sketch_bits` of their size want more bits, or
    less of an offset.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells per octave, 8 by default. Memory is 32 bytes for
        each of the 1728 + 122 * 2^sketch_bits cells.

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

    _direction = "up"
    _function = "auroc"

    def _value(self, ranking):
        return _ranking.roc_area(ranking)

    @property
    def error_bound(self) -> tf.Tensor:
        """Half the share of the pairs that the sketch cannot order."""
        ranking, _ = self._read_ranking()
        return _ranking.roc_area_within_groups(ranking)


@_base.register
class AUPR(_DetectionMetric):
    """Area under the precision-recall curve (average precision) of all batches.

    The definition is that of the function `aupr`; the state is that of `AUROC`. It is
    exact within the mean, over the positive examples, of the share that their cell has
    of the examples in it and above it: mostly too small, by up to 1e-3 on usual data.
    0.0 before the first positive example.

    Which class is positive changes the value: `aupr` says what others call positive.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AUROC`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUPR()
      >>> metric.update_state([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0])
      >>> round(float(metric.result()), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship Between Precision-Recall and ROC
      Curves.
    """

    _direction = "up"
    _function = "aupr"

    def _value(self, ranking):
        return _ranking.average_precision(ranking)


@_base.register
class FPRAtTPR(_DetectionMetric):
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
      sketch_bits: log2 of the cells per octave, 8 by default.

    Raises:
      ValueError: an argument is not as described; as for `AUROC`.

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

    _direction = "down"
    _function = "fpr_at_tpr"

    def __init__(
        self,
        tpr: float = 0.95,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
    ):
        tpr = _checks.share("tpr", tpr, zero=False)
        super().__init__(ignore_index, name, dtype, sketch_bits=sketch_bits)
        self.tpr = tpr

    def _value(self, ranking):
        return _ranking.miss_rate_at_hit_rate(ranking, self.tpr)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "tpr": self.tpr}


@_base.register
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
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.

    Raises:
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.Accuracy()
      >>> metric.update_state([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6])
      >>> float(metric.result())
      0.75
    """

    _direction = "up"

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "accuracy",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
    ):
        scorer = _scorers.Hits(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name, dtype)
