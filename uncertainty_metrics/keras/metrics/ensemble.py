"""Streaming uncertainty of ensembles: the Keras metrics.

Each metric is the weighted mean of a value of each example. `y_pred` holds the
predictions of all members.
"""

from __future__ import annotations

from typing import Any

from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics._ensemble import (
    CrossEntropyScorer,
    Knowledge,
    MembersScorer,
    UncertaintyMetric,
)
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.numpy.ensemble import cross_entropy, uncertainty
from uncertainty_metrics.ops import _members

__all__ = [
    "EnsembleCrossEntropy",
    "EnsembleDisagreement",
    "ExpectedEntropy",
    "GibbsCrossEntropy",
    "KnowledgeUncertainty",
    "MeanMemberUncertainty",
    "MutualInformation",
    "PredictiveEntropy",
    "VariationRatio",
]


@_base.register("predictive_entropy")
class PredictiveEntropy(UncertaintyMetric):
    """Entropy of the mean of the members, mean of all batches, in nats.

    See the function `predictive_entropy` for the definition: the total uncertainty.
    `y_pred` holds probabilities or logits [N, M, K] of M members (there may be axes of
    images between M and K), or [..., K] of a single model with `ensemble_axis=None`.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`; None if there is none.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.PredictiveEntropy()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.0, 1.0]]])
      >>> round(float(metric.result()), 6)
      0.693147

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ) -> None:
        scorer = MembersScorer(
            from_logits=from_logits,
            ensemble_axis=ensemble_axis,
            value=_members.total_entropies,
            numpy_function=uncertainty.predictive_entropy,
        )
        super().__init__(scorer, name=name or "predictive_entropy", dtype=dtype)


@_base.register("expected_entropy")
class ExpectedEntropy(UncertaintyMetric):
    """Mean entropy of the members, mean of all batches, in nats.

    See the function `expected_entropy` for the definition: the expected data
    uncertainty. `y_pred` holds probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.ExpectedEntropy()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.5, 0.5]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ) -> None:
        scorer = MembersScorer(
            from_logits=from_logits,
            ensemble_axis=ensemble_axis,
            value=_members.expected_entropies,
            numpy_function=uncertainty.expected_entropy,
        )
        super().__init__(scorer, name=name or "expected_entropy", dtype=dtype)


@_base.register("mutual_information")
class MutualInformation(UncertaintyMetric):
    """Mutual information of label and member, mean of all batches, in nats.

    See the function `mutual_information` for the definition: the entropy of the mean
    minus the mean of the entropies, which measures how much the members disagree.
    `y_pred` holds probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MutualInformation()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.0, 1.0]]])
      >>> metric.update_state(None, [[[0.5, 0.5], [0.5, 0.5]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ) -> None:
        scorer = MembersScorer(
            from_logits=from_logits,
            ensemble_axis=ensemble_axis,
            value=_members.mutual_information,
            numpy_function=uncertainty.mutual_information,
        )
        super().__init__(scorer, name=name or "mutual_information", dtype=dtype)


@_base.register("ensemble_disagreement")
class EnsembleDisagreement(UncertaintyMetric):
    """Share of the pairs of members that decide differently, mean of all batches.

    See the function `ensemble_disagreement` for the definition. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.EnsembleDisagreement()
      >>> metric.update_state(None, [[[0.9, 0.1], [0.6, 0.4]]])
      >>> metric.update_state(None, [[[0.9, 0.1], [0.4, 0.6]]])
      >>> float(metric.result())
      0.5

    References:
      Kuncheva and Whitaker (2003), Measures of Diversity in Classifier Ensembles.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ) -> None:
        scorer = MembersScorer(
            from_logits=from_logits,
            ensemble_axis=ensemble_axis,
            value=_members.disagreements,
            numpy_function=uncertainty.ensemble_disagreement,
        )
        super().__init__(scorer, name=name or "ensemble_disagreement", dtype=dtype)


@_base.register("mean_member_uncertainty")
class MeanMemberUncertainty(UncertaintyMetric):
    """One minus the mean confidence of the members, mean of all batches.

    See the function `mean_member_uncertainty` for the definition. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MeanMemberUncertainty()
      >>> metric.update_state(None, [[[0.75, 0.25], [0.5, 0.5]]])
      >>> float(metric.result())
      0.375

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ) -> None:
        scorer = MembersScorer(
            from_logits=from_logits,
            ensemble_axis=ensemble_axis,
            value=_members.member_uncertainties,
            numpy_function=uncertainty.mean_member_uncertainty,
        )
        super().__init__(scorer, name=name or "mean_member_uncertainty", dtype=dtype)


@_base.register("variation_ratio")
class VariationRatio(UncertaintyMetric):
    """Share of the members that do not vote with the majority, mean of all batches.

    See the function `variation_ratio` for the definition, and for the difference from
    torch-uncertainty. `y_pred` holds probabilities or logits [N, M, K] of M
    members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.VariationRatio()
      >>> votes = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
      >>> metric.update_state(None, [votes])
      >>> float(metric.result())
      0.25

    References:
      Freeman (1965), Elementary Applied Statistics.
      Gal (2016), Uncertainty in Deep Learning.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ) -> None:
        scorer = MembersScorer(
            from_logits=from_logits,
            ensemble_axis=ensemble_axis,
            value=_members.variation_ratios,
            numpy_function=uncertainty.variation_ratio,
        )
        super().__init__(scorer, name=name or "variation_ratio", dtype=dtype)


@_base.register("knowledge_uncertainty")
class KnowledgeUncertainty(UncertaintyMetric):
    """Mutual information of label and Dirichlet parameters, mean of all batches.

    It is the first value of the function `knowledge_uncertainty`, in nats. `y_pred`
    holds the concentrations alpha [..., K], or their logarithms.

    Args:
      from_logits: whether `y_pred` holds logits, alpha = exp(logits).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.KnowledgeUncertainty()
      >>> metric.update_state(None, [[1.0, 1.0]])
      >>> round(float(metric.result()), 6)
      0.193147

    References:
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
      Malinin, Mlodozeniec and Gales (2020), Ensemble Distribution Distillation.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = "knowledge_uncertainty",
        dtype: Any = None,
    ) -> None:
        scorer = Knowledge(
            from_logits=from_logits,
        )
        super().__init__(scorer, name=name, dtype=dtype)


@_base.register("ensemble_cross_entropy")
class EnsembleCrossEntropy(MeanScore):
    """Negative log-likelihood of the mean of the members, mean of all batches, in nats.

    See the function `ensemble_cross_entropy` for the definition. Members are on axis 1.
    For predictions [M, N, K] pass `ensemble_axis=0`, or the value is WRONG if N = M.

    `y_true` holds integers in [0, K), shape [N] or [N, 1] (or more axes), or one-hot
    rows; a row that is a distribution counts as its largest class. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.EnsembleCrossEntropy()
      >>> metric.update_state([0], [[[0.9, 0.1], [0.1, 0.9]]])
      >>> round(float(metric.result()), 6)
      0.693147

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation Using Deep Ensembles.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int = 1,
        sparse_labels: bool | None = None,
    ) -> None:
        scorer = CrossEntropyScorer(
            from_logits=from_logits,
            ignore_index=ignore_index,
            ensemble_axis=ensemble_axis,
            sparse_labels=sparse_labels,
            value=_members.ensemble_likelihoods,
            numpy_function=cross_entropy.ensemble_cross_entropy,
        )
        super().__init__(scorer, name=name or "ensemble_cross_entropy", dtype=dtype)


@_base.register("gibbs_cross_entropy")
class GibbsCrossEntropy(MeanScore):
    """Mean negative log-likelihood of the members, mean of all batches, in nats.

    See the function `gibbs_cross_entropy` for the definition. Members are on axis 1.
    For predictions [M, N, K] pass `ensemble_axis=0`, or the value is WRONG if N = M.

    `y_true` holds integers in [0, K), shape [N] or [N, 1] (or more axes), or one-hot
    rows; a row that is a distribution counts as its largest class. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.GibbsCrossEntropy()
      >>> metric.update_state([0], [[[0.5, 0.5], [1.0, 0.0]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int = 1,
        sparse_labels: bool | None = None,
    ) -> None:
        scorer = CrossEntropyScorer(
            from_logits=from_logits,
            ignore_index=ignore_index,
            ensemble_axis=ensemble_axis,
            sparse_labels=sparse_labels,
            value=_members.gibbs_likelihoods,
            numpy_function=cross_entropy.gibbs_cross_entropy,
        )
        super().__init__(scorer, name=name or "gibbs_cross_entropy", dtype=dtype)
