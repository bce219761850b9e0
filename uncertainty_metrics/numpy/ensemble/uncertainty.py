"""Uncertainty of each example, and the part due to disagreement between members."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics._results import KnowledgeUncertainty, ModelUncertainty
from uncertainty_metrics.numpy import _compiled_loops, _inputs, _row_math
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.ensemble import _predictions

__all__ = [
    "ensemble_disagreement",
    "expected_entropy",
    "knowledge_uncertainty",
    "mean_member_uncertainty",
    "model_uncertainty",
    "mutual_information",
    "predictive_entropy",
    "variation_ratio",
]

# digamma(a + 1) - log(a) = 1 / (2 a) - sum_n c_n a^(-2 n), c_n = B_2n / (2 n), for
# a >= SERIES_FROM.
DIGAMMA_SERIES = (
    *(1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132),
    *(-691 / 32760, 1 / 12, -3617 / 8160, 43867 / 14364),
)
SERIES_FROM = 8
_LOG_ZERO = -800.0  # Its exponential is 0.


@dataclasses.dataclass(frozen=True)
class _Members:
    """Checked predictions of N examples.

    Attributes:
      name: name of the argument, "logits" or "probabilities".
      predictions: values of the argument, [N, M, K], or [N, M, 1] of class 1.
      compiled: the compiled loops for logits of such arrays; None for NumPy.
    """

    name: str
    predictions: np.ndarray
    compiled: ModuleType | None = None

    @lazy_property
    def classes(self) -> np.ndarray:
        """Logits or probabilities in float64, [N, M, K]."""
        return _predictions.classes(self.name, self.predictions)

    @lazy_property
    def exponentials(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logits less the largest of a row, their exponentials, and the sums of the
        exponentials, [N, M, 1].
        """
        below = _row_math.below_maximum(self.classes)
        if below.min() < _LOG_ZERO:  # 0 * -inf would be NaN.
            np.maximum(below, _LOG_ZERO, out=below)
        exponentials = np.exp(below)
        ones = np.ones((below.shape[-1], 1))  # A product is faster than a sum.
        return below, exponentials, np.matmul(exponentials, ones)

    @lazy_property
    def _by_loop(self) -> tuple[np.ndarray, np.ndarray]:
        """`mean` and `entropies` by a compiled loop."""
        n, members, classes = self.predictions.shape
        mean, entropies = np.empty((n, classes)), np.empty((n, members))
        assert self.compiled is not None
        self.compiled.mean_and_entropies(self.predictions, mean, entropies)
        return mean, entropies

    @property
    def mean(self) -> np.ndarray:
        """The probabilities of the ensemble, [N, K]."""
        if self.compiled is not None:
            return self._by_loop[0]
        members = self.predictions.shape[1]
        if self.name != "logits":
            return np.matmul(np.ones(members), self.classes) / members
        _, exponentials, sums = self.exponentials
        return np.matmul((1 / sums).swapaxes(1, 2), exponentials)[:, 0] / members

    @property
    def entropies(self) -> np.ndarray:
        """The entropy of each member, [N, M]."""
        if self.compiled is not None:
            return self._by_loop[1]
        if self.name != "logits":
            return _entropy(self.classes)
        below, exponentials, sums = self.exponentials
        sums = sums[..., 0]
        return np.log(sums) - _row_math.dot(exponentials, below) / sums


def _scores(
    score: Callable[[_Members], np.ndarray],
    logits: ArrayLike | None,
    probabilities: ArrayLike | None,
    ensemble_axis: int | None,
    labels: ArrayLike | None,
    single: bool = False,
) -> np.ndarray:
    """Returns the scores of all examples, [...] or [parts, ...].

    Args:
      score: maps N examples to scores [N] or [parts, N].
      logits: logits, as in the public functions.
      probabilities: instead of `logits`.
      ensemble_axis: axis of the members.
      labels: None, or labels whose shape is checked.
      single: whether there is no axis of members.
    """
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _inputs.as_array(name, predictions)
    shape = predictions.shape
    if single:
        _predictions.check_shape(name, predictions.shape)
        predictions = _predictions.checked(name, predictions)[..., None, :]
    else:
        axis = _predictions.check_members(name, predictions.shape, ensemble_axis)
        predictions = np.moveaxis(_predictions.checked(name, predictions), axis, -2)
    if labels is not None:
        labels_shape = _inputs.as_array("labels", labels).shape
        _predictions.check_labels(labels_shape, name, shape, predictions.shape[:-2])
    rows = predictions.reshape(-1, *predictions.shape[-2:])
    compiled = None
    if name == "logits":
        _inputs.are_probabilities(rows, name=name)
        if rows.shape[-1] > 1:
            compiled = _compiled_loops.loops(rows)

    def of_block(block: np.ndarray) -> np.ndarray:
        return score(_Members(name, block, compiled))

    scores = _predictions.in_blocks(of_block, rows, 0)
    return scores.reshape(scores.shape[:-1] + predictions.shape[:-2])


def _entropy(p: np.ndarray) -> np.ndarray:
    """Returns the entropy over the last axis."""
    # So that 0 log 0 = 0. Only tiny numbers change.
    log = np.log(p + np.finfo(np.float64).tiny)
    return 0.0 - _row_math.dot(p, log)  # No -0.0.


def _total_entropies(members: _Members) -> np.ndarray:
    return _entropy(members.mean)


def _expected_entropies(members: _Members) -> np.ndarray:
    return members.entropies.mean(axis=1)


def _information(members: _Members) -> np.ndarray:
    """Returns mutual information, total and expected entropy, [3, N]."""
    total, expected = _total_entropies(members), _expected_entropies(members)
    information = np.maximum(total - expected, 0)
    if members.predictions.shape[1] == 1:
        information = np.zeros_like(information)
    return np.stack([information, total, expected])


def _member_votes(members: _Members) -> np.ndarray:
    comparable = members.classes
    if members.name != "logits":  # Integers are compared faster than floats.
        comparable = _inputs.ordered_bits(comparable)
    return _predictions.votes(np.argmax(comparable, axis=-1), comparable.shape[-1])


def _disagreements(members: _Members) -> np.ndarray:
    return _predictions.share_of_pairs(_member_votes(members))


def _variation_ratios(members: _Members) -> np.ndarray:
    return 1 - _member_votes(members).max(axis=-1) / members.predictions.shape[1]


def _member_uncertainties(members: _Members) -> np.ndarray:
    if members.name != "logits":
        return 1 - members.classes.max(axis=-1).mean(axis=1)
    _, exponentials, sums = members.exponentials
    return 1 - (exponentials.max(axis=-1) / sums[..., 0]).mean(axis=1)


@takes_frames
def model_uncertainty(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: ArrayLike | None = None,
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
      is 0.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    return ModelUncertainty(
        *_scores(_information, logits, probabilities, ensemble_axis, labels)
    )


@takes_frames
def predictive_entropy(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int | None = 1,
    labels: ArrayLike | None = None,
) -> np.ndarray:
    """Entropy of the mean of the members: `H(mean_m p_m)`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members; None for a single model, shape [..., K] or
        [..., 1].
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Entropies of the shape of the examples, in nats, in [0, log K] for
      distributions. Larger is more uncertain.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> entropies = um.predictive_entropy([[[5.0, 5.0], [2.0, 2.0]]])
      >>> [round(float(entropy), 6) for entropy in entropies]
      [0.693147]
      >>> entropy = um.predictive_entropy([5.0, 5.0], ensemble_axis=None)
      >>> round(float(entropy), 6)
      0.693147

    References:
      Shannon (1948), A Mathematical Theory of Communication.
    """
    return _scores(
        _total_entropies,
        logits,
        probabilities,
        ensemble_axis,
        labels,
        single=ensemble_axis is None,
    )


@takes_frames
def expected_entropy(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: ArrayLike | None = None,
) -> np.ndarray:
    """Mean of the entropies of the members: `mean_m H(p_m)`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Entropies of the shape of the examples, in nats, in [0, log K] for
      distributions. Larger is more uncertain. More members would not reduce it.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> entropies = um.expected_entropy(probabilities=[[[1, 0], [0.5, 0.5]]])
      >>> [round(float(entropy), 6) for entropy in entropies]
      [0.346574]

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """
    return _scores(_expected_entropies, logits, probabilities, ensemble_axis, labels)


@takes_frames
def mutual_information(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: ArrayLike | None = None,
) -> np.ndarray:
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
      uncertain.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    return _scores(_information, logits, probabilities, ensemble_axis, labels)[0]


@takes_frames
def ensemble_disagreement(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: ArrayLike | None = None,
) -> np.ndarray:
    """Share of the M (M - 1) / 2 pairs of members that decide differently.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Shares of the shape of the examples, in [0, 1]; 0 for one member. Larger is more
      uncertain. Ties go to the lowest class.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> [float(x) for x in um.ensemble_disagreement(probabilities=probabilities)]
      [0.5]

    References:
      Kuncheva and Whitaker (2003), Measures of Diversity in Classifier Ensembles.
    """
    return _scores(_disagreements, logits, probabilities, ensemble_axis, labels)


@takes_frames
def mean_member_uncertainty(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: ArrayLike | None = None,
) -> np.ndarray:
    """Mean uncertainty of the members: `1 - mean_m max_k p_mk`.

    Args:
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members.
      labels: labels, whose shape must be the shape of the examples, to detect a wrong
        `ensemble_axis`. Their values are not read.

    Returns:
      Uncertainties of the shape of the examples, in [0, 1 - 1/K] for distributions.
      Larger is more uncertain; disagreement between members does not count.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.5, 0.5], [0, 1]]]
      >>> [float(x) for x in um.mean_member_uncertainty(probabilities=probabilities)]
      [0.25]

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """
    return _scores(_member_uncertainties, logits, probabilities, ensemble_axis, labels)


@takes_frames
def variation_ratio(
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    labels: ArrayLike | None = None,
) -> np.ndarray:
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
      uncertain. A member with ties votes for the lowest class.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> [float(x) for x in um.variation_ratio(probabilities=probabilities)]
      [0.25]

    References:
      Freeman (1965), Elementary Applied Statistics.
      Gal (2016), Uncertainty in Deep Learning.
    """
    return _scores(_variation_ratios, logits, probabilities, ensemble_axis, labels)


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
    `sum_k pi_k (excess(a_k) - excess(a_0))`, where large alphas do not cancel. Small
    alphas do: for these it is the total less the expected data uncertainty.
    """
    from scipy import special

    top = log_alphas.max(axis=-1, keepdims=True)
    shares = np.exp(log_alphas - top)
    norm = shares.sum(axis=-1, keepdims=True)
    shares /= norm
    with np.errstate(over="ignore"):
        total_alphas = np.exp(top) * norm

    def digamma(a: np.ndarray) -> np.ndarray:
        return special.digamma(np.minimum(a, SERIES_FROM) + 1)  # For small a only.

    def excess(a: np.ndarray, log_a: np.ndarray) -> np.ndarray:
        return np.where(
            a < SERIES_FROM,
            digamma(a) - log_a,
            _digamma_series(np.maximum(a, SERIES_FROM)),
        )

    total = _entropy(shares)
    gaps = excess(alphas, log_alphas) - excess(total_alphas, top + np.log(norm))
    large = np.sum(shares * gaps, axis=-1)
    small = total + np.sum(shares * (digamma(alphas) - digamma(total_alphas)), axis=-1)
    knowledge = np.where(total_alphas[..., 0] < SERIES_FROM, small, large)
    knowledge = np.clip(knowledge, 0, total)
    return knowledge, total, total - knowledge


@takes_frames
def knowledge_uncertainty(
    alphas: ArrayLike | None = None, logits: ArrayLike | None = None
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
      expected_data_uncertainty)`, each of shape [...], in nats, in [0, log K].

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> [round(float(part), 4) for part in um.knowledge_uncertainty([1.0, 1.0])]
      [0.1931, 0.6931, 0.5]

    References:
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
      Malinin, Mlodozeniec and Gales (2020), Ensemble Distribution Distillation.
    """
    name = _checks.exactly_one(alphas=alphas, logits=logits)
    values = _inputs.as_array(name, alphas if logits is None else logits)
    _predictions.check_shape(name, values.shape, size=2)
    values = _inputs.finite(name, values)
    if name == "logits":
        with np.errstate(over="ignore"):
            return KnowledgeUncertainty(*_dirichlet_parts(np.exp(values), values))
    bad = values <= 0
    if np.any(bad):
        raise _checks.error(name, "> 0", _inputs.first(bad, values))
    return KnowledgeUncertainty(*_dirichlet_parts(values, np.log(values)))
