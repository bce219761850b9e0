"""Cross-entropies of ensembles, and a bound on what their diversity gains."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import MemberData
from uncertainty_metrics.numpy import _examples, _inputs, _row_math, _threads
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.scoring import scoring_rules

__all__ = ["ensemble_cross_entropy", "gibbs_cross_entropy", "variance_bound"]


def _label_log_probabilities(
    data: MemberData, aggregate: bool
) -> tuple[_examples.Examples, np.ndarray]:
    """Returns the examples that count, and log p_m(y) of each member, [N, M]."""
    _checks.boolean("aggregate", aggregate)
    name, predictions = _checks.predictions(data.probabilities, data.logits, None)
    predictions = _inputs.as_array(name, predictions)
    labels = _inputs.as_array("labels", data.labels)
    _predictions.check_not_swapped(labels.shape, name, predictions.shape)
    axis = _predictions.check_members(name, predictions.shape, data.ensemble_axis)
    predictions = np.moveaxis(predictions, axis, -2)
    _predictions.check_labels(
        labels.shape, name, predictions.shape, predictions.shape[:-2]
    )
    # Checks of labels and weights need the predictions of one member only.
    examples = _examples.examples(
        labels,
        **{name: predictions[..., 0, :]},
        sample_weight=data.sample_weight,
        ignore_index=data.ignore_index,
        allow_none=not aggregate,
    )
    rows = predictions.reshape(-1, *predictions.shape[-2:])[
        examples.counted.reshape(-1)
    ]
    rows = _predictions.checked(name, rows)

    def log_probabilities(block: slice) -> np.ndarray:
        classes = _predictions.classes(name, rows[block])
        if name == "logits":
            classes = _row_math.below_maximum(classes)
        labels = examples.labels[block, None, None]
        at_labels = np.take_along_axis(classes, labels, axis=-1)[..., 0]
        if name == "logits":
            return at_labels - np.log(_row_math.sums(np.exp(classes)))
        with np.errstate(divide="ignore"):
            return np.log(at_labels)

    out = np.empty(rows.shape[:2])
    size = rows.shape[1] * rows.shape[2]
    return examples, _threads.fill_rows(out, log_probabilities, size)


@takes_frames
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

    It is at most `gibbs_cross_entropy`; the difference is the gain of averaging.

    **Members are on axis 1: [N, M, K].** The function of this name in later versions of
    the package of 2020 had them on axis 0, [M, N, K]. Pass `ensemble_axis=0` for that
    layout: if N = M, the shape does not show the layout, and without `ensemble_axis=0`
    the value is WRONG, because members are taken for examples.

    Args:
      labels: integer class labels in [0, K), shape of the predictions without the axes
        of members and classes.
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes,
        rank >= 3; the value keeps its precision where the probability of the label
        underflows.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      ensemble_axis: axis of the members.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      The mean, or scores of the shape of the labels; >= 0, inf where the label had
      probability 0 in all members. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> loss = um.ensemble_cross_entropy([0], probabilities=probabilities)
      >>> round(float(loss), 6)
      0.693147
      >>> p = [[[0.9, 0.1], [0.8, 0.2]], [[0.6, 0.4], [0.3, 0.7]]]  # [M, N, K].
      >>> loss = um.ensemble_cross_entropy([0, 1], probabilities=p, ensemble_axis=0)
      >>> wrong = um.ensemble_cross_entropy([0, 1], probabilities=p)
      >>> round(float(loss), 6), round(float(wrong), 6)
      (0.543095, 0.380178)

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation Using Deep Ensembles.
    """
    examples, log_p = _label_log_probabilities(
        MemberData(
            labels=labels,
            logits=logits,
            probabilities=probabilities,
            ensemble_axis=ensemble_axis,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        ),
        aggregate,
    )
    top = log_p.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        scores = -(top[:, 0] + np.log(np.exp(log_p - top).mean(axis=-1))) + 0.0
    return scoring_rules.reduced(examples, scores, aggregate)


@takes_frames
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

    It is the mean score of a member drawn at random (a Gibbs predictor).

    **Members are on axis 1: [N, M, K].** Pass `ensemble_axis=0` for [M, N, K], the
    layout in later versions of the package of 2020: if N = M, the shape does not show
    the layout, and without `ensemble_axis=0` the value is WRONG.

    Args:
      labels: integer class labels in [0, K), shape of the predictions without the axes
        of members and classes.
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes,
        rank >= 3; the value keeps its precision where the probability of the label
        underflows.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      ensemble_axis: axis of the members.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      The mean, or scores of the shape of the labels; >= 0, inf where the label had
      probability 0 in one member. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> loss = um.gibbs_cross_entropy([0], probabilities=probabilities)
      >>> round(float(loss), 6)
      1.203973

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
    examples, log_p = _label_log_probabilities(
        MemberData(
            labels=labels,
            logits=logits,
            probabilities=probabilities,
            ensemble_axis=ensemble_axis,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        ),
        aggregate,
    )
    return scoring_rules.reduced(examples, -log_p.mean(axis=-1) + 0.0, aggregate)


@takes_frames
def variance_bound(
    probs: ArrayLike, labels: ArrayLike, num_models: int | None = None
) -> float:
    """Variance term of a bound on the ensemble's cross-entropy (Masegosa, 2020).

      mean over examples of var_m(p_m(y)) / (2 max_m p_m(y)^2)

    with the population variance (divisor M). `gibbs_cross_entropy` minus this value
    bounds `ensemble_cross_entropy` from above: the second-order Jensen bound of Theorem
    4.

    Args:
      probs: probabilities of M members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      labels: integer class labels in [0, K), shape [N].
      num_models: the expected M, to check `probs`; None for no check.

    Returns:
      The mean, in [0, 1/8]; 0 for equal members. An example whose label has probability
      0 in all members counts as 0. Larger is more diverse.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.variance_bound([[[0.5, 0.5]], [[1.0, 0.0]]], [0]))
      0.03125

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
    rows, shape = _predictions.member_rows(probs, num_models)
    labels = _predictions.flat_labels(labels, "probs", shape, shape[1:-1])
    rows = _predictions.classes("probs", rows)
    at_labels = np.take_along_axis(rows, labels[None, :, None], -1)
    top = at_labels.max(axis=0)
    return float(np.mean(np.var(at_labels / np.where(top > 0, top, 1), axis=0)) / 2)
