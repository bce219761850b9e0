# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def ensemble_cross_entropy(
    labels: TensorLike,
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    aggregate: bool = True,
    *,
    ensemble_axis: int = 1,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
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
      probability 0 in all members. Smaller is better. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
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

def gibbs_cross_entropy(
    labels: TensorLike,
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    aggregate: bool = True,
    *,
    ensemble_axis: int = 1,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
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
      probability 0 in one member. Smaller is better. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> loss = um.gibbs_cross_entropy([0], probabilities=probabilities)
      >>> round(float(loss), 6)
      1.203973

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """

def variance_bound(
    probs: TensorLike,
    labels: TensorLike,
    num_models: int | None = None,
) -> Tensor:
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
      0 in all members counts as 0. Larger is more diverse. float32, or float64 for
      float64 predictions. Compiled code returns NaN for wrong values, for which eager
      code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.variance_bound([[[0.5, 0.5]], [[1.0, 0.0]]], [0]))
      0.03125

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
