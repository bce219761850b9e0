# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import KnowledgeUncertainty, ModelUncertainty

def ensemble_disagreement(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: TensorLike | None = None,
) -> Tensor:
    """Share of the M (M - 1) / 2 pairs of members that decide differently.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Shares of the shape of the examples, in [0, 1]; 0 for one member. Larger is more
      uncertain. Ties go to the lowest class. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> [float(x) for x in um.ensemble_disagreement(probabilities=probabilities)]
      [0.5]

    References:
      Kuncheva and Whitaker (2003), Measures of Diversity in Classifier Ensembles.
    """

def expected_entropy(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: TensorLike | None = None,
) -> Tensor:
    """Mean of the entropies of the members: `mean_m H(p_m)`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Entropies of the shape of the examples, in nats, in [0, log K] for distributions.
      Larger is more uncertain. More members would not reduce it. float32, or float64
      for float64 predictions. Compiled code returns NaN for wrong values, for which
      eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> entropies = um.expected_entropy(probabilities=[[[1, 0], [0.5, 0.5]]])
      >>> [round(float(entropy), 6) for entropy in entropies]
      [0.346574]

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """

def knowledge_uncertainty(
    alphas: TensorLike | None = None,
    logits: TensorLike | None = None,
) -> KnowledgeUncertainty:
    """Uncertainty of a Dirichlet distribution, and the part due to lack of knowledge.

    With pi_k = alpha_k / alpha_0 and alpha_0 = sum_k alpha_k, p ~ Dirichlet(alpha):

      total = H(pi)
      expected data = E[H(p)] = sum_k pi_k (digamma(alpha_0 + 1) - digamma(alpha_k + 1))
      knowledge = total - expected data

    The knowledge uncertainty is the mutual information of the label and p: large for
    small alphas, and 0 in the limit of large ones.

    Args:
      alphas: concentrations > 0, shape [..., K], K >= 2.
      logits: logarithms of the concentrations, instead of `alphas`; finite.

    Returns:
      A named tuple `(knowledge_uncertainty, total_uncertainty,
      expected_data_uncertainty)`, each of shape [...], in nats, in [0, log K]. float32,
      or float64 for float64 predictions. Compiled code returns NaN for wrong values,
      for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> [round(float(part), 4) for part in um.knowledge_uncertainty([1.0, 1.0])]
      [0.1931, 0.6931, 0.5]

    References:
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
      Malinin, Mlodozeniec and Gales (2020), Ensemble Distribution Distillation.
    """

def mean_member_uncertainty(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: TensorLike | None = None,
) -> Tensor:
    """Mean uncertainty of the members: `1 - mean_m max_k p_mk`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Uncertainties of the shape of the examples, in [0, 1 - 1/K] for distributions.
      Larger is more uncertain; disagreement between members does not count. float32, or
      float64 for float64 predictions. Compiled code returns NaN for wrong values, for
      which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.5, 0.5], [0, 1]]]
      >>> [float(x) for x in um.mean_member_uncertainty(probabilities=probabilities)]
      [0.25]

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """

def model_uncertainty(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: TensorLike | None = None,
) -> ModelUncertainty:
    """Uncertainty of an ensemble, and the part due to disagreement between members.

      total = H(mean_m p_m)
      expected data = mean_m H(p_m)
      model = total - expected data

    The model uncertainty is the mutual information of the label and the member. It is
    0 if all members agree, however uncertain they are; large values indicate inputs far
    from the training data.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      A named tuple `(model_uncertainty, total_uncertainty, expected_data_uncertainty)`
      of the shape of the examples, in nats, >= 0. The model uncertainty of one member
      is 0. float32, or float64 for float64 predictions. Compiled code returns NaN for
      wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]]
      >>> model, total, expected = um.model_uncertainty(probabilities=probabilities)
      >>> [round(float(value), 6) for value in model]
      [0.368064, 0.0]
      >>> [round(float(value), 6) for value in total]
      [0.693147, 0.693147]

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """

def mutual_information(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: TensorLike | None = None,
) -> Tensor:
    """Mutual information of label and member: `H(mean_m p_m) - mean_m H(p_m)`.

    The first part of `model_uncertainty`: the epistemic uncertainty of an ensemble.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Information of the shape of the examples, in nats, in [0, log min(M, K)] for
      distributions; 0 if the members agree or there is only one. Larger is more
      uncertain. float32, or float64 for float64 predictions. Compiled code returns NaN
      for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> import numpy as np
      >>> members = [[[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]]]  # Of shapes [N, K].
      >>> probabilities = np.stack(members, axis=1)
      >>> information = um.mutual_information(
      ...     probabilities=probabilities, labels=[0, 1]
      ... )
      >>> [round(float(value), 6) for value in information]
      [0.693147, 0.0]

    References:
      Houlsby, Huszar, Ghahramani and Lengyel (2011), Bayesian Active Learning for
      Classification and Preference Learning.
    """

def predictive_entropy(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int | None = 1,
    labels: TensorLike | None = None,
) -> Tensor:
    """Entropy of the mean of the members: `H(mean_m p_m)`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members; None for a single model, shape [..., K] or
        [..., 1].
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Entropies of the shape of the examples, in nats, in [0, log K] for distributions.
      Larger is more uncertain. float32, or float64 for float64 predictions. Compiled
      code returns NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> entropies = um.predictive_entropy([[[5.0, 5.0], [2.0, 2.0]]])
      >>> [round(float(entropy), 6) for entropy in entropies]
      [0.693147]
      >>> entropy = um.predictive_entropy([5.0, 5.0], ensemble_axis=None)
      >>> round(float(entropy), 6)
      0.693147

    References:
      Shannon (1948), A Mathematical Theory of Communication.
    """

def variation_ratio(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: TensorLike | None = None,
) -> Tensor:
    """Share of the members that do not vote for the class with most votes.

    The `VariationRatio` of torch-uncertainty takes the class of the largest mean
    probability, which may have fewer votes, and by default probabilities instead of
    votes: `1 - max_k mean_m p_mk`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Shares of the shape of the examples, in [0, 1 - 1/min(M, K)]. Larger is more
      uncertain. A member with ties votes for the lowest class. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> [float(x) for x in um.variation_ratio(probabilities=probabilities)]
      [0.25]

    References:
      Freeman (1965), Elementary Applied Statistics.
      Gal (2016), Uncertainty in Deep Learning.
    """
