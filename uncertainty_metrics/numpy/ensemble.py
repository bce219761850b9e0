"""Uncertainty and diversity of ensembles, exact and in float64.

Predictions of an ensemble, of N examples by M members for K classes, are shared by all
functions with these arguments:

  logits: logarithms of the probabilities up to a constant, shape [..., M, K] with any
    number of leading axes; [..., M, 1] are those of class 1 against class 0. -inf is
    probability 0.
  probabilities: instead of `logits`, in [0, 1]; [..., M, 1] are those of class 1, read
    as `[1 - p, p]`. Rows need not sum to 1.
  ensemble_axis: the axis of the members, any but the last; 1 for [N, M, K].

Entropies are in nats, with 0 log 0 = 0. Results have the shape of the predictions
without the axes of members and classes.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import KnowledgeUncertainty, ModelUncertainty
from uncertainty_metrics.numpy import _inputs, scoring_rules

__all__ = [
    "average_pairwise_diversity",
    "cosine_distance",
    "cosine_similarity",
    "disagreement",
    "double_fault",
    "ensemble_cross_entropy",
    "ensemble_disagreement",
    "expected_entropy",
    "gibbs_cross_entropy",
    "kl_divergence",
    "knowledge_uncertainty",
    "logit_kl_divergence",
    "lp_distance",
    "mean_member_uncertainty",
    "model_uncertainty",
    "mutual_information",
    "predictive_entropy",
    "variance_bound",
    "variation_ratio",
]

# Numbers held at once: intermediate results that leave the cache take twice the time.
_BLOCK = 2**18
_TINY = np.finfo(np.float64).tiny

# Where |x| is below, x - log(1 + x) is a series, which does not cancel.
NEAR = 0.5
# digamma(a + 1) - log(a) = 1 / (2 a) - sum_n c_n a^(-2 n), c_n = B_2n / (2 n), from
# SERIES_FROM on.
DIGAMMA_SERIES = (
    *(1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132),
    *(-691 / 32760, 1 / 12, -3617 / 8160, 43867 / 14364),
)
SERIES_FROM = 8

DIVERSITIES = ("disagreement", "average_kl", "cosine_similarity")


def check_members(name: str, shape: _checks.Shape, ensemble_axis: Any) -> int:
    """Returns the axis of the members, counted from the front.

    Raises:
      ValueError: the shape is not that of an ensemble, or the axis not one of it.
    """
    shape = list(shape)
    if len(shape) < 3:
        raise _checks.error(
            name,
            "of rank 3 or more, with an axis of members and the classes last",
            f"shape {shape}",
        )
    check_shape(name, shape)
    try:
        axis = operator.index(ensemble_axis)
    except TypeError:
        axis = -1  # The axis of the classes.
    if isinstance(ensemble_axis, bool) or (
        not -len(shape) <= axis < len(shape) or axis % len(shape) == len(shape) - 1
    ):
        raise _checks.error(
            "ensemble_axis",
            f"an axis of `{name}`, of shape {shape}, other than the last",
            repr(ensemble_axis),
        )
    return axis % len(shape)


def check_shape(name: str, shape: _checks.Shape, rank: int = 1, size: int = 1) -> None:
    """Raises ValueError unless the shape is [..., K], of at least `rank` axes and with
    K >= size, K is static and nothing is empty.
    """
    shape = list(shape)
    if 0 in shape:
        raise _checks.error(name, "at least one example", f"shape {shape}")
    if len(shape) < rank or shape[-1] is None or shape[-1] < size:
        axes = "[N, ..., K]" if rank == 2 else "[..., K]"
        least = f" >= {size}" if size > 1 else ""
        raise _checks.error(
            name, f"of shape {axes} with a static K{least}", f"shape {shape}"
        )


def check_same(
    first: str, shape: _checks.Shape, second: str, other: _checks.Shape
) -> None:
    """Raises ValueError unless the two shapes are the same."""
    if not _checks.compatible(shape, other):
        raise _checks.error(
            second, f"of the shape of `{first}`, {list(shape)}", f"shape {list(other)}"
        )


def check_labels(
    labels: _checks.Shape, name: str, shape: _checks.Shape, leading: _checks.Shape
) -> None:
    """Raises ValueError unless the labels have the shape `leading`, or one more axis of
    1. `shape` is that of all of the predictions.
    """
    labels, shape, leading = list(labels), list(shape), list(leading)
    if labels[len(leading) :] == [1]:
        labels = labels[:-1]
    if not _checks.compatible(labels, leading):
        raise _checks.error(
            "labels",
            f"of shape {leading}, for `{name}` of shape {shape}",
            f"shape {labels}",
        )


def check_members_first(
    shape: _checks.Shape, num_models: Any, least: int = 1
) -> int | None:
    """Returns the number of members M of `probs`, of static shape [M, ..., K].

    Raises:
      ValueError: the shape is not that, M is below `least` or not `num_models`.
    """
    check_members("probs", shape, 0)
    members = shape[0]
    if num_models is not None and members not in (
        None,
        _checks.positive_integer("num_models", num_models),
    ):
        raise _checks.error(
            "num_models",
            f"the size of the first axis of `probs`, {members}",
            num_models,
        )
    if members is not None and members < least:
        raise _checks.error(
            "probs", f"at least {least} members", f"shape {list(shape)}"
        )
    return members


def check_order(p: Any) -> float:
    """Returns `p` as a float; raises ValueError unless it is >= 1 or inf."""
    order = _checks.number(p)
    if not order >= 1:
        raise _checks.error("p", "a number >= 1, or inf", repr(p))
    return order


def check_number(name: str, shape: _checks.Shape) -> None:
    """Raises ValueError unless the shape is that of a number."""
    if len(shape) > 0:
        raise _checks.error(name, "a number", f"shape {list(shape)}")


def _checked(name: str, array: np.ndarray) -> np.ndarray:
    """Returns floating predictions [..., K] whose values are in their range."""
    array = _inputs.native_floating(array)
    if not name.startswith("logits"):
        return _inputs.check_probabilities(array, name)
    _inputs.check_logits(array, name)
    return array


def _classes(name: str, array: np.ndarray) -> np.ndarray:
    """Returns float64 predictions of all classes, of those [..., K] or of class 1."""
    array = array.astype(np.float64)
    if array.shape[-1] > 1:
        return array
    other = np.zeros_like(array) if name.startswith("logits") else 1 - array
    return np.concatenate([other, array], axis=-1)


@dataclasses.dataclass(frozen=True)
class _Members:
    """Checked predictions of N examples.

    Attributes:
      name: what the user called the predictions.
      predictions: [N, M, K], or [N, M, 1] of class 1, as they were passed.
    """

    name: str
    predictions: np.ndarray

    @functools.cached_property
    def classes(self) -> np.ndarray:
        """Logits or probabilities in float64, [N, M, K]."""
        return _classes(self.name, self.predictions)

    @functools.cached_property
    def probabilities(self) -> np.ndarray:
        if self.name == "logits":
            return _inputs.softmax(self.classes)
        return self.classes


_Score = Callable[[_Members], np.ndarray]


def _scores(
    score: _Score,
    logits: ArrayLike | None,
    probabilities: ArrayLike | None,
    ensemble_axis: int | None,
    single: bool = False,
) -> np.ndarray:
    """Returns the scores [..., N] of all examples, N in the shape of the examples.

    `single` tells that there is no axis of members.
    """
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _inputs.as_array(name, predictions)
    if single:
        check_shape(name, predictions.shape)
        predictions = _checked(name, predictions)[..., None, :]
    else:
        axis = check_members(name, predictions.shape, ensemble_axis)
        predictions = np.moveaxis(_checked(name, predictions), axis, -2)
    rows = predictions.reshape(-1, *predictions.shape[-2:])
    if name == "logits":
        _inputs.are_probabilities(rows, name=name)
    step = max(1, _BLOCK // rows[0].size)
    scores = np.concatenate(
        [score(_Members(name, rows[i : i + step])) for i in range(0, len(rows), step)],
        axis=-1,
    )
    return scores.reshape(scores.shape[:-1] + predictions.shape[:-2])


def _entropy(p: np.ndarray) -> np.ndarray:
    """Returns the entropy over the last axis."""
    return -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1) + 0.0  # No -0.0.


def _total_entropies(members: _Members) -> np.ndarray:
    return _entropy(members.probabilities.mean(axis=1))


def _expected_entropies(members: _Members) -> np.ndarray:
    return _entropy(members.probabilities).mean(axis=1)


def _information(members: _Members) -> np.ndarray:
    """Returns mutual information, total and expected entropy, [3, N]."""
    total, expected = _total_entropies(members), _expected_entropies(members)
    information = np.maximum(total - expected, 0)
    if members.predictions.shape[1] == 1:
        information = np.zeros_like(information)
    return np.stack([information, total, expected])


def _votes(decisions: np.ndarray, num_classes: int) -> np.ndarray:
    """Returns how many of the decisions [N, M] of an example are as each is, [N, M]."""
    cells = decisions + num_classes * np.arange(len(decisions))[:, None]
    return np.bincount(cells.reshape(-1))[cells]


def _member_votes(members: _Members) -> np.ndarray:
    classes = members.classes
    return _votes(np.argmax(classes, axis=-1), classes.shape[-1])


def _share_of_pairs(votes: np.ndarray) -> np.ndarray:
    """Returns the share of pairs that differ, of the votes [N, M] for each of M."""
    m = votes.shape[-1]
    return (m * m - votes.sum(axis=-1)) / max(m * (m - 1), 1)


def _disagreements(members: _Members) -> np.ndarray:
    return _share_of_pairs(_member_votes(members))


def _variation_ratios(members: _Members) -> np.ndarray:
    return 1 - _member_votes(members).max(axis=-1) / members.predictions.shape[1]


def _member_uncertainties(members: _Members) -> np.ndarray:
    return 1 - members.probabilities.max(axis=-1).mean(axis=1)


def model_uncertainty(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> ModelUncertainty:
    """Uncertainty of an ensemble, and how much of it is the members' disagreement.

      total = H(mean_m p_m)
      expected data = mean_m H(p_m)
      model = total - expected data

    The model uncertainty is the mutual information of the label and the member. It is
    0 where all members agree, however uncertain they are; large values point at inputs
    far from the training data.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      A named tuple `(model_uncertainty, total_uncertainty, expected_data_uncertainty)`
      of float64 arrays of the shape of the examples, in nats, >= 0. The model
      uncertainty of one member is 0.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]]
      >>> model, total, expected = um.model_uncertainty(probabilities=probabilities)
      >>> model.round(6).tolist(), total.round(6).tolist()
      ([0.368064, 0.0], [0.693147, 0.693147])

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """
    return ModelUncertainty(
        *_scores(_information, logits, probabilities, ensemble_axis)
    )


def predictive_entropy(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int | None = 1,
) -> np.ndarray:
    """Entropy of the mean of the members: `H(mean_m p_m)`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members; None for a single model, shape [..., K] or
        [..., 1].

    Returns:
      Float64 array of the shape of the examples, in nats, in [0, log K] for
      distributions. Larger is more uncertain.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.predictive_entropy([[[5.0, 5.0], [2.0, 2.0]]]).round(6).tolist()
      [0.693147]
      >>> um.predictive_entropy([[5.0, 5.0]], ensemble_axis=None).round(6).tolist()
      [0.693147]

    References:
      Shannon (1948), A Mathematical Theory of Communication.
    """
    return _scores(
        _total_entropies,
        logits,
        probabilities,
        ensemble_axis,
        single=ensemble_axis is None,
    )


def expected_entropy(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> np.ndarray:
    """Mean of the entropies of the members: `mean_m H(p_m)`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Float64 array of the shape of the examples, in nats, in [0, log K] for
      distributions. Larger is more uncertain; the part that more members would not
      remove.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.expected_entropy(probabilities=[[[1, 0], [0.5, 0.5]]]).round(6).tolist()
      [0.346574]

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """
    return _scores(_expected_entropies, logits, probabilities, ensemble_axis)


def mutual_information(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> np.ndarray:
    """Mutual information of label and member: `H(mean_m p_m) - mean_m H(p_m)`.

    The first part of `model_uncertainty`: the epistemic uncertainty of an ensemble.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Float64 array of the shape of the examples, in nats, in [0, log min(M, K)] for
      distributions; 0 where the members agree, or there is one. Larger is more
      uncertain.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.mutual_information(probabilities=[[[1, 0], [0, 1]]]).round(6).tolist()
      [0.693147]

    References:
      Houlsby, Huszar, Ghahramani and Lengyel (2011), Bayesian Active Learning for
      Classification and Preference Learning.
    """
    return _scores(_information, logits, probabilities, ensemble_axis)[0]


def ensemble_disagreement(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> np.ndarray:
    """Share of the M (M - 1) / 2 pairs of members that decide differently.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Float64 array of the shape of the examples, in [0, 1]; 0 for one member. Larger is
      more uncertain. Ties go to the lowest class.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> um.ensemble_disagreement(probabilities=probabilities).tolist()
      [0.5]

    References:
      Kuncheva and Whitaker (2003), Measures of Diversity in Classifier Ensembles.
    """
    return _scores(_disagreements, logits, probabilities, ensemble_axis)


def mean_member_uncertainty(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> np.ndarray:
    """One less the mean confidence of the members: `1 - mean_m max_k p_mk`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Float64 array of the shape of the examples, in [0, 1 - 1/K] for distributions.
      Larger is more uncertain; that the members disagree does not count.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.mean_member_uncertainty(probabilities=[[[0.5, 0.5], [0, 1]]]).tolist()
      [0.25]

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """
    return _scores(_member_uncertainties, logits, probabilities, ensemble_axis)


def variation_ratio(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> np.ndarray:
    """Share of the members that do not vote for the class with most votes.

    The `VariationRatio` of torch-uncertainty counts against the class of the mean of
    the members, which may have fewer votes, and by default probabilities, not votes:
    `1 - max_k mean_m p_mk`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Float64 array of the shape of the examples, in [0, 1 - 1/min(M, K)]. Larger is
      more uncertain. A member with ties votes for the lowest of the classes.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> um.variation_ratio(probabilities=probabilities).tolist()
      [0.25]

    References:
      Freeman (1965), Elementary Applied Statistics.
      Gal (2016), Uncertainty in Deep Learning.
    """
    return _scores(_variation_ratios, logits, probabilities, ensemble_axis)


def _digamma_series(a: np.ndarray) -> np.ndarray:
    """Returns `digamma(a + 1) - log(a)` for a >= SERIES_FROM."""
    inverse = 1 / a
    square = inverse * inverse
    total: float | np.ndarray = 0.0
    for coefficient in reversed(DIGAMMA_SERIES):  # By Horner's rule.
        total = (total + coefficient) * square
    return inverse / 2 - total


def _dirichlet_parts(
    alphas: np.ndarray, log_alphas: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns knowledge, total and expected data uncertainty of alphas [..., K].

    With excess(a) = digamma(a + 1) - log(a) the knowledge uncertainty is
    `sum_k pi_k (excess(a_k) - excess(a_0))`, in which the large alphas do not cancel.
    The small ones do, and what is left of them is the expected data uncertainty.
    """
    from scipy import special

    top = log_alphas.max(axis=-1, keepdims=True)
    shares = np.exp(log_alphas - top)
    norm = shares.sum(axis=-1, keepdims=True)
    shares /= norm
    with np.errstate(over="ignore"):
        total_alphas = np.exp(top) * norm

    def small(a):
        return special.digamma(np.minimum(a, SERIES_FROM) + 1)

    def excess(a, log_a):
        return np.where(
            a < SERIES_FROM,
            small(a) - log_a,
            _digamma_series(np.maximum(a, SERIES_FROM)),
        )

    total = _entropy(shares)
    gaps = excess(alphas, log_alphas) - excess(total_alphas, top + np.log(norm))
    large = np.sum(shares * gaps, axis=-1)
    tiny = total + np.sum(shares * (small(alphas) - small(total_alphas)), axis=-1)
    knowledge = np.where(total_alphas[..., 0] < SERIES_FROM, tiny, large)
    knowledge = np.clip(knowledge, 0, total)
    return knowledge, total, total - knowledge


def knowledge_uncertainty(
    alphas: ArrayLike | None = None, logits: ArrayLike | None = None
) -> KnowledgeUncertainty:
    """Uncertainty of a Dirichlet distribution, and how much of it is lack of knowledge.

    With pi_k = alpha_k / alpha_0 and alpha_0 = sum_k alpha_k, p ~ Dirichlet(alpha):

      total = H(pi)
      expected data = E[H(p)] = sum_k pi_k (digamma(alpha_0 + 1) - digamma(alpha_k + 1))
      knowledge = total - expected data

    The knowledge uncertainty is the mutual information of the label and p: large for
    small alphas, and 0 in the limit of large ones.

    Args:
      alphas: concentrations > 0, shape [..., K], K >= 2.
      logits: instead of `alphas`, their logarithms, finite.

    Returns:
      A named tuple `(knowledge_uncertainty, total_uncertainty,
      expected_data_uncertainty)` of float64 arrays, shape [...], in nats, in
      [0, log K].

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> knowledge, total, expected = um.knowledge_uncertainty([[1.0, 1.0]])
      >>> knowledge.round(6).tolist(), total.round(6).tolist(), expected.tolist()
      ([0.193147], [0.693147], [0.5])

    References:
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
      Malinin, Mlodozeniec and Gales (2020), Ensemble Distribution Distillation.
    """
    name = _checks.exactly_one(alphas=alphas, logits=logits)
    values = _inputs.as_array(name, alphas if logits is None else logits)
    check_shape(name, values.shape, size=2)
    values = _inputs.finite(name, values)
    if name == "logits":
        with np.errstate(over="ignore"):
            return KnowledgeUncertainty(*_dirichlet_parts(np.exp(values), values))
    bad = values <= 0
    if np.any(bad):
        raise _checks.error(name, "> 0", _inputs.first(bad, values))
    return KnowledgeUncertainty(*_dirichlet_parts(values, np.log(values)))


def _label_log_probabilities(
    labels: ArrayLike,
    logits: ArrayLike | None,
    probabilities: ArrayLike | None,
    aggregate: bool,
    ensemble_axis: int,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
) -> tuple[_inputs.Examples, np.ndarray]:
    """Returns the examples that count, and log p_m of their labels, [N, M]."""
    _checks.boolean("aggregate", aggregate)
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _inputs.as_array(name, predictions)
    labels = _inputs.as_array("labels", labels)
    check_not_swapped(labels.shape, name, predictions.shape)
    axis = check_members(name, predictions.shape, ensemble_axis)
    predictions = np.moveaxis(predictions, axis, -2)
    check_labels(labels.shape, name, predictions.shape, predictions.shape[:-2])
    # What the labels must be does not depend on the member.
    examples = _inputs.examples(
        labels,
        **{name: predictions[..., 0, :]},
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        allow_none=not aggregate,
    )
    rows = predictions.reshape(-1, *predictions.shape[-2:])[examples.kept.reshape(-1)]
    rows = _classes(name, _checked(name, rows))
    if name == "logits":
        rows = _inputs.below_maximum(rows)
    at_labels = np.take_along_axis(rows, examples.labels[:, None, None], axis=-1)[
        ..., 0
    ]
    if name == "logits":
        return examples, at_labels - np.log(np.exp(rows).sum(axis=-1))
    with np.errstate(divide="ignore"):
        return examples, np.log(at_labels)


def check_not_swapped(
    labels: _checks.Shape, name: str, predictions: _checks.Shape
) -> None:
    """Raises ValueError where the labels have the rank of an ensemble's predictions."""
    if len(labels) > 2 and len(predictions) < 3:
        raise ValueError(
            f"{_checks.SWAPPED} Received: labels of shape {list(labels)}, {name} of "
            f"shape {list(predictions)}"
        )


def ensemble_cross_entropy(
    labels: ArrayLike,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    ensemble_axis: int = 1,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float | np.ndarray:
    """Negative log-likelihood of an ensemble: `-log mean_m p_m(y)` in nats.

    At most `gibbs_cross_entropy`; what it is less is the gain of averaging.

    **Members are on axis 1: [N, M, K].** The function of this name in later versions of
    the package of 2020 took them first, [M, N, K]. Pass `ensemble_axis=0` for these.
    Where N = M the shape cannot tell, and without it the value is WRONG: members would
    be taken for examples.

    Args:
      labels: integers in [0, K), of the shape of the predictions without members and
        classes.
      logits: shape [..., M, K] or [..., M, 1], rank >= 3; the value keeps its precision
        where the probability of the label underflows.
      probabilities: instead of `logits`, in [0, 1].
      aggregate: whether to return the mean instead of a score for each example.
      ensemble_axis: the axis of the members.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or float64 scores of the shape of the labels; >= 0, inf where the label
      had probability 0 in all members. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> round(um.ensemble_cross_entropy([0], probabilities=probabilities), 6)
      0.693147
      >>> p = [[[0.9, 0.1], [0.8, 0.2]], [[0.6, 0.4], [0.3, 0.7]]]  # [M, N, K].
      >>> round(um.ensemble_cross_entropy([0, 1], probabilities=p, ensemble_axis=0), 6)
      0.543095
      >>> round(um.ensemble_cross_entropy([0, 1], probabilities=p), 6)  # Wrong.
      0.380178

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation Using Deep Ensembles.
    """
    examples, log_p = _label_log_probabilities(
        labels,
        logits,
        probabilities,
        aggregate,
        ensemble_axis,
        sample_weight,
        ignore_index,
    )
    top = log_p.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        scores = -(top[:, 0] + np.log(np.exp(log_p - top).mean(axis=-1))) + 0.0
    return scoring_rules.reduced(examples, scores, aggregate)


def gibbs_cross_entropy(
    labels: ArrayLike,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    ensemble_axis: int = 1,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float | np.ndarray:
    """Mean of the members' negative log-likelihoods: `mean_m -log p_m(y)` in nats.

    What a member drawn at random (a Gibbs predictor) scores on average.

    **Members are on axis 1: [N, M, K].** Pass `ensemble_axis=0` for [M, N, K], the
    layout in later versions of the package of 2020: where N = M the shape cannot tell,
    and without it the value is WRONG.

    Args:
      labels: integers in [0, K), of the shape of the predictions without members and
        classes.
      logits: shape [..., M, K] or [..., M, 1], rank >= 3; the value keeps its precision
        where the probability of the label underflows.
      probabilities: instead of `logits`, in [0, 1].
      aggregate: whether to return the mean instead of a score for each example.
      ensemble_axis: the axis of the members.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or float64 scores of the shape of the labels; >= 0, inf where the label
      had probability 0 in one member. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> round(um.gibbs_cross_entropy([0], probabilities=probabilities), 6)
      1.203973

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
    examples, log_p = _label_log_probabilities(
        labels,
        logits,
        probabilities,
        aggregate,
        ensemble_axis,
        sample_weight,
        ignore_index,
    )
    return scoring_rules.reduced(examples, -log_p.mean(axis=-1) + 0.0, aggregate)


def _scores_of_two(
    logits_1: ArrayLike, logits_2: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the scores of two models, [N, ..., K] with K >= 2, finite or -inf."""
    scores_1 = _inputs.as_array("logits_1", logits_1)
    scores_2 = _inputs.as_array("logits_2", logits_2)
    check_shape("logits_1", scores_1.shape, rank=2, size=2)
    check_same("logits_1", scores_1.shape, "logits_2", scores_2.shape)
    return _checked("logits_1", scores_1), _checked("logits_2", scores_2)


def disagreement(logits_1: ArrayLike, logits_2: ArrayLike) -> float:
    """Share of the examples that two models decide differently.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: those of the other, of the same shape.

    Returns:
      The share of examples with different argmax, in [0, 1]. Ties go to the lowest
      class.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.disagreement([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]])
      0.5

    References:
      Skalak (1996), The Sources of Increased Accuracy for Two Proposed Boosting
      Algorithms.
    """
    scores_1, scores_2 = _scores_of_two(logits_1, logits_2)
    return float(np.mean(scores_1.argmax(axis=-1) != scores_2.argmax(axis=-1)))


def double_fault(logits_1: ArrayLike, logits_2: ArrayLike, labels: ArrayLike) -> float:
    """Share of the examples that two models both decide wrong.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: those of the other, of the same shape.
      labels: integers in [0, K), shape [N, ...].

    Returns:
      The share, in [0, 1]. Smaller is better: the errors of the two coincide less.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.double_fault([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]], [0, 0])
      0.5

    References:
      Giacinto and Roli (2001), Design of Effective Neural Network Ensembles for Image
      Classification Purposes.
    """
    scores_1, scores_2 = _scores_of_two(logits_1, logits_2)
    labels = _flat_labels(labels, "logits_1", scores_1.shape, scores_1.shape[:-1])
    wrong = [
        scores.argmax(axis=-1).reshape(-1) != labels for scores in (scores_1, scores_2)
    ]
    return float(np.mean(wrong[0] & wrong[1]))


def _flat_labels(
    labels: ArrayLike, name: str, shape: tuple[int, ...], leading: tuple[int, ...]
) -> np.ndarray:
    """Returns int64 labels [N] in [0, K), for predictions whose examples are of the
    shape `leading`.
    """
    labels = _inputs.as_array("labels", labels)
    check_labels(labels.shape, name, shape, leading)
    return _inputs.integer_labels("labels", labels, max(shape[-1], 2)).reshape(-1)


def _log_excess(x: np.ndarray, log: np.ndarray) -> np.ndarray:
    """Returns `x - log(1 + x)`, to full precision near x = 0, given log(1 + x)."""
    near = np.abs(x) < NEAR
    inner = np.where(near, x, 0)
    # log(1 + x) = 2 atanh(t), and x - 2 t = x t.
    t = inner / (2 + inner)
    square, series = t * t, 0.0
    for k in reversed(range(16)):
        series = series * square + 1 / (2 * k + 3)
    return np.where(near, inner * t - 2 * t * square * series, x - log)


def _divergence(
    p: np.ndarray, q: np.ndarray, x: np.ndarray, log: np.ndarray
) -> np.ndarray:
    """Returns sum_k p log(p / q) - p + q, given x = q / p - 1 and log(q / p); of both
    where p is not normal, and counts as 0, anything.
    """
    with np.errstate(invalid="ignore"):
        terms = np.where(p >= _TINY, p * _log_excess(x, log), q)
    return terms.sum(axis=-1)


def _aggregated(values: np.ndarray, aggregate: bool) -> float | np.ndarray:
    return float(np.mean(values)) if aggregate else values


@np.errstate(over="ignore", invalid="ignore")
def kl_divergence(
    p: ArrayLike, q: ArrayLike, *, aggregate: bool = False
) -> float | np.ndarray:
    """Generalised Kullback-Leibler divergence of q from p over the last axis.

      KL(p || q) = sum_k p_k log(p_k / q_k) - p_k + q_k

    The last two terms cancel for distributions; with them it is >= 0, and 0 only for
    p = q, for any measures.

    Args:
      p: finite and >= 0, shape [..., K], K >= 2. For P(class 1) pass `[1 - p, p]`.
      q: of the shape of `p`, finite and >= 0.
      aggregate: whether to return the mean over the examples.

    Returns:
      Float64 divergences in nats, shape [...], or their mean; inf where q_k = 0 < p_k,
      while p_k = 0 contributes q_k. No digits cancel where p and q nearly agree.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> p, q = [[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.25, 0.75]]
      >>> um.kl_divergence(p, q).round(6).tolist()
      [0.143841, 1.386294]

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """
    _checks.boolean("aggregate", aggregate)
    arrays = {"p": _inputs.as_array("p", p), "q": _inputs.as_array("q", q)}
    check_shape("p", arrays["p"].shape, size=2)
    check_same("p", arrays["p"].shape, "q", arrays["q"].shape)
    for name, array in arrays.items():
        arrays[name] = array = _inputs.finite(name, array)
        if np.any(array < 0):
            raise _checks.error(name, ">= 0", _inputs.first(array < 0, array))
    p, q = arrays.values()
    # Also 0 is what is so small that q / p would overflow.
    p = np.where(p >= _TINY * np.maximum(q, 1), p, 0)
    some = np.where(p > 0, p, 1)
    with np.errstate(divide="ignore"):
        log = np.log(q / some)
    return _aggregated(_divergence(p, q, (q - some) / some, log), aggregate)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rounded sum and its exact rounding error (Knuth, 1969)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@np.errstate(over="ignore", invalid="ignore")
def logit_kl_divergence(
    logits_1: ArrayLike, logits_2: ArrayLike, *, aggregate: bool = True
) -> float | np.ndarray:
    """Kullback-Leibler divergence of the softmax of two logits: KL(p_1 || p_2).

    Args:
      logits_1: of p_1, finite or -inf, shape [..., K]; or [..., 1], those of class 1.
      logits_2: of p_2, of the same shape.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or float64 divergences in nats, shape [...]; >= 0, inf where p_2 is 0
      and p_1 is not.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> round(um.logit_kl_divergence([[0.0, 0.0]], [[0.0, 1.0]]), 6)
      0.120115

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """
    _checks.boolean("aggregate", aggregate)
    arrays = {
        "logits_1": _inputs.as_array("logits_1", logits_1),
        "logits_2": _inputs.as_array("logits_2", logits_2),
    }
    check_shape("logits_1", arrays["logits_1"].shape)
    check_same(
        "logits_1", arrays["logits_1"].shape, "logits_2", arrays["logits_2"].shape
    )
    logits = [_classes(name, _checked(name, array)) for name, array in arrays.items()]
    # First of all, for what two rows differ by may be nothing beside their tops.
    with np.errstate(invalid="ignore", over="ignore"):
        tops = [-array.max(axis=-1, keepdims=True) for array in logits]
        shifted, lost = zip(*map(_two_sum, logits, tops), strict=True)
    p, q = np.exp(shifted)
    norms = [array.sum(axis=-1, keepdims=True) for array in (p, q)]
    p, q = p / norms[0], q / norms[1]
    positive = p >= _TINY
    with np.errstate(invalid="ignore", over="ignore"):
        log, rounding = _two_sum(
            np.where(positive, shifted[1], 0), -np.where(positive, shifted[0], 0)
        )
        rounding += lost[1] - lost[0]
        log += np.where(np.isfinite(rounding), rounding, 0)
        log -= np.log(norms[1] / norms[0])
        divergences = _divergence(p, q, np.expm1(log), log)
    return _aggregated(divergences, aggregate)


def _two_vectors(
    x: ArrayLike, y: ArrayLike, aggregate: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Returns finite float64 vectors x and y [..., K], and checks the option."""
    _checks.boolean("aggregate", aggregate)
    x, y = _inputs.as_array("x", x), _inputs.as_array("y", y)
    check_shape("x", x.shape)
    check_same("x", x.shape, "y", y.shape)
    return _inputs.finite("x", x), _inputs.finite("y", y)


def _scaled(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns vectors whose largest entry is 1, and the factor, 1 for zeros."""
    scale = np.abs(vectors).max(axis=-1, keepdims=True)
    scale = np.where(scale > 0, scale, 1)
    return vectors / scale, scale


@np.errstate(over="ignore", invalid="ignore")
def lp_distance(
    x: ArrayLike, y: ArrayLike, p: float = 1, *, aggregate: bool = True
) -> float | np.ndarray:
    """Distance in the norm of order p over the last axis.

      distance = (sum_k |x_k - y_k|^p)^(1/p), max_k |x_k - y_k| for p = inf

    Args:
      x: finite, shape [..., K].
      y: finite, of the shape of `x`.
      p: a number >= 1, or inf.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or float64 distances, shape [...], >= 0.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.lp_distance([[0.0, 0.0]], [[3.0, 4.0]], p=2)
      5.0
    """
    order = check_order(p)
    x, y = _two_vectors(x, y, aggregate)
    differences, scale = _scaled(x - y)  # Powers of large numbers would overflow.
    norms = np.linalg.norm(differences, ord=order, axis=-1)
    return _aggregated(norms * scale[..., 0], aggregate)


def cosine_similarity(
    x: ArrayLike, y: ArrayLike, *, aggregate: bool = True
) -> float | np.ndarray:
    """Cosine of the angle between vectors, over the last axis: x.y / (|x| |y|).

    Args:
      x: finite, shape [..., K].
      y: finite, of the shape of `x`.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or float64 similarities, shape [...], in [-1, 1]; 0 where a vector is
      zero. Of predictions: larger is less diverse.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.cosine_similarity([[3.0, 4.0]], [[4.0, 3.0]])
      0.96
    """
    (x, _), (y, _) = (_scaled(vectors) for vectors in _two_vectors(x, y, aggregate))
    norms = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    cosines = np.sum(x * y, axis=-1) / np.where(norms > 0, norms, 1)
    return _aggregated(np.clip(cosines, -1, 1), aggregate)


def cosine_distance(
    x: ArrayLike, y: ArrayLike, *, aggregate: bool = True
) -> float | np.ndarray:
    """One less the cosine similarity.

    Args:
      x: finite, shape [..., K].
      y: finite, of the shape of `x`.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or float64 distances, shape [...], in [0, 2]; 1 where a vector is zero.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.cosine_distance([[1.0, 0.0]], [[0.0, 2.0]])
      1.0
    """
    return 1 - cosine_similarity(x, y, aggregate=aggregate)


def _member_rows(
    probs: ArrayLike, num_models: int | None, least: int = 1
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Returns checked probabilities [M, N, K], or [M, N, 1] of class 1, and the shape
    that was passed.
    """
    probs = _inputs.as_array("probs", probs)
    check_members_first(probs.shape, num_models, least)
    rows = _checked("probs", probs)
    return rows.reshape(len(rows), -1, rows.shape[-1]), probs.shape


def variance_bound(
    probs: ArrayLike, labels: ArrayLike, num_models: int | None = None
) -> float:
    """Variance term of a bound on the ensemble's cross-entropy (Masegosa, 2020).

      mean over examples of var_m(p_m(y)) / (2 max_m p_m(y)^2)

    with the population variance (divisor M). `gibbs_cross_entropy` less this bounds
    `ensemble_cross_entropy` from above: the second-order Jensen bound of Theorem 4.

    Args:
      probs: probabilities of M members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      labels: integers in [0, K), shape [N].
      num_models: M, to check it.

    Returns:
      The mean, in [0, 1/8]; 0 for equal members. Examples whose labels have probability
      0 in all members count as 0. Larger is more diverse.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> um.variance_bound([[[0.5, 0.5]], [[1.0, 0.0]]], [0])
      0.03125

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
    rows, shape = _member_rows(probs, num_models)
    labels = _flat_labels(labels, "probs", shape, shape[1:-1])
    at_labels = np.take_along_axis(_classes("probs", rows), labels[None, :, None], -1)
    top = at_labels.max(axis=0)
    return float(np.mean(np.var(at_labels / np.where(top > 0, top, 1), axis=0)) / 2)


def _diversity(p: np.ndarray) -> np.ndarray:
    """Returns disagreement, KL divergence and cosine similarity of members [M, N, K],
    means over the pairs i < j, [3, N].

    No pair is formed. With c the mean of the members, t_i = p_i / c - 1 and
    l_i = log(p_i / c) = t_i - e_i:

      sum_(i<j) KL(p_i || p_j) = sum_k c sum_i (l_i ((M - 1 - i) t_i - sum_(j<i) t_j)
                                                - (M - 1 - 2 i) e_i)

    in which all terms are of the second order in t. Members are ordered by position.
    """
    m = len(p)
    pairs = m * (m - 1) / 2
    p = np.where(p >= _TINY, p, 0)
    center = p.mean(axis=0)
    scale = np.where(center >= _TINY, center, 1)
    t = (p - center) / scale
    positive = p > 0
    log = np.log(np.where(positive, p / scale, 1))
    e = np.where(positive, _log_excess(t, log), t)
    later = m - 1 - np.arange(m)[:, None, None]
    earlier = np.cumsum(t, axis=0) - t
    terms = (t - e) * (later * t - earlier) - (2 * later - (m - 1)) * e
    divergences = np.maximum((center * terms.sum(axis=0)).sum(axis=-1), 0) / pairs
    # An impossible class that was possible for an earlier member.
    lost = np.logical_or.accumulate(positive, axis=0) & ~positive
    divergences[lost.any(axis=(0, -1))] = np.inf

    norms = np.linalg.norm(p, axis=-1, keepdims=True)
    directions = p / np.where(norms > 0, norms, 1)
    square = np.sum(directions.sum(axis=0) ** 2, axis=-1)
    cosines = (square - np.sum(norms > 0, axis=(0, -1))) / (2 * pairs)
    decisions = np.argmax(p, axis=-1).T
    return np.stack(
        [_share_of_pairs(_votes(decisions, p.shape[-1])), divergences, cosines]
    )


def average_pairwise_diversity(
    probs: ArrayLike, num_models: int | None = None, error: float | None = None
) -> dict[str, float]:
    """Diversity of an ensemble: means over its M (M - 1) / 2 pairs of members.

      disagreement: share of the examples that the two decide differently
      average_kl: mean over the examples of KL(p_i || p_j), i < j, as `kl_divergence`
      cosine_similarity: mean over the examples of p_i.p_j / (|p_i| |p_j|)

    O(M N K): no pair is formed.

    Args:
      probs: probabilities of M >= 2 members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      num_models: M, to check it.
      error: a number > 0, which the disagreement is divided by; with the error rate of
        the members, ensembles of different accuracy compare.

    Returns:
      A dict `disagreement`, `average_kl`, `cosine_similarity`: in [0, 1] before the
      division; >= 0, inf where an earlier member gives a class a chance that a later
      one does not; in [0, 1]. Larger, larger and smaller is more diverse.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> diversity = um.average_pairwise_diversity([[[0.5, 0.5]], [[0.25, 0.75]]])
      >>> {name: round(value, 6) for name, value in diversity.items()}
      {'disagreement': 1.0, 'average_kl': 0.143841, 'cosine_similarity': 0.894427}

    References:
      Fort, Hu and Lakshminarayanan (2019), Deep Ensembles: A Loss Landscape
      Perspective.
    """
    rows, _ = _member_rows(probs, num_models, least=2)
    if error is not None:
        number = _inputs.as_array("error", error)
        check_number("error", number.shape)
        if not 0 < number < np.inf:
            raise _checks.error("error", "a finite number > 0", number)
    step = max(1, _BLOCK // rows[:, 0].size)
    parts = [
        _diversity(_classes("probs", rows[:, i : i + step]))
        for i in range(0, rows.shape[1], step)
    ]
    means = np.concatenate(parts, axis=-1).mean(axis=-1)
    diversity = dict(zip(DIVERSITIES, means.tolist(), strict=True))
    if error is not None:
        diversity["disagreement"] /= float(error)
    return diversity
