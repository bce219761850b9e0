"""Streaming proper scoring rules of classes: the Keras metrics."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics.keras import _base, _scorers
from uncertainty_metrics.keras.metrics._scores import MeanScore

__all__ = [
    "BrierScore",
    "NegativeLogLikelihood",
    "RankedProbabilityScore",
]


@_base.register("brier_score")
class BrierScore(MeanScore):
    """Brier score of all batches: the mean of `sum_k p_k^2 - 2 p_y`.

    `y_true` holds integers in [0, K), shape [...] or [..., 1]; or distributions over
    the classes [..., K] (one-hot, smoothed or mixed labels), under which the score is
    averaged. `y_pred` holds probabilities or logits [..., K]; or [...] or [..., 1] for
    class 1 of two.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      zero_based: whether to add 1, so that 0 is perfect and the range is [0, 2].
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), or logits.
        The value is the mean over all labels of the score of two classes, not their sum
        over the labels of an example.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling the pixels of all of them; images of
        which no pixel counts are left out.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BrierScore()
      >>> metric.update_state([0], [[0.9, 0.1]])
      >>> metric.update_state([1], [[0.4, 0.6]])
      >>> round(float(metric.result()), 6)
      -0.83

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "brier_score",
        dtype: Any = None,
        *,
        zero_based: bool = False,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        multilabel: bool = False,
        per_image: bool = False,
    ) -> None:
        scorer = _scorers.Brier(
            from_logits=from_logits,
            ignore_index=ignore_index,
            zero_based=zero_based,
            sparse_labels=sparse_labels,
            multilabel=multilabel,
        )
        super().__init__(
            scorer,
            name=name,
            dtype=dtype,
            num_groups=num_groups,
            per_image=per_image,
        )


@_base.register("negative_log_likelihood")
class NegativeLogLikelihood(MeanScore):
    """Negative log-likelihood of all batches: the mean of `-log p_y`, in nats.

    Labels and predictions are as for `BrierScore`. Unlike the cross-entropy of Keras,
    it does not clip probabilities: a label of probability 0 makes the result infinite.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), or logits.
        The value is the mean over all labels of the score of two classes, not their sum
        over the labels of an example.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling the pixels of all of them; images of
        which no pixel counts are left out.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.NegativeLogLikelihood(from_logits=True)
      >>> metric.update_state([0, 1], [[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "negative_log_likelihood",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        multilabel: bool = False,
        per_image: bool = False,
    ) -> None:
        scorer = _scorers.Likelihood(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            multilabel=multilabel,
        )
        super().__init__(
            scorer,
            name=name,
            dtype=dtype,
            num_groups=num_groups,
            per_image=per_image,
        )


@_base.register("ranked_probability_score")
class RankedProbabilityScore(MeanScore):
    """Ranked probability score of ordered classes, mean of all batches.

    Labels and predictions are as for `BrierScore`; the classes are in ascending order.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RankedProbabilityScore()
      >>> metric.update_state([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
      >>> round(float(metric.result()), 6)
      0.67

    References:
      Epstein (1969), A Scoring System for Probability Forecasts of Ranked Categories.
      Murphy (1971), A Note on the Ranked Probability Score.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "ranked_probability_score",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None:
        scorer = _scorers.RankedProbability(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name=name, dtype=dtype, num_groups=num_groups)
