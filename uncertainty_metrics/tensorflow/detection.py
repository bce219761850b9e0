"""Detection on tensors, eager or compiled: how well scores tell two classes apart.

Definitions and arguments are those of `uncertainty_metrics.numpy.detection`. float64
scores are computed in float64, all others in float32.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised:
the result is NaN there; a wrong shape or option raises while the graph is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import detection as np_detection
from uncertainty_metrics.tensorflow import _inputs, _ranking

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


def ranked(
    labels: TensorLike,
    scores: TensorLike,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
    names: tuple[str, str] = ("labels", "scores"),
) -> _ranking.Ranked:
    """Returns the examples, by score; a hit is a positive one."""
    labels = _inputs.as_tensor(names[0], labels)
    scores = _inputs.as_tensor(names[1], scores)
    _checks.paired(names[1], scores.shape, names[0], labels.shape)
    if not scores.dtype.is_floating:  # float32 holds no more than 24 bits.
        wide = scores.dtype.size > 2
        scores = tf.cast(scores, tf.float64 if wide else tf.float32)
    dtype = _inputs.sum_dtype(scores)
    scores = tf.cast(tf.reshape(scores, [-1]), dtype)
    weights, usable = _inputs.weights_and_ignored(
        sample_weight, labels, ignore_index, dtype
    )
    labels, right = _inputs.integers(tf.reshape(labels, [-1]), 2)
    finite = tf.math.is_finite(scores)
    valid = usable & _inputs.live_rows(weights, right & finite)
    scores = tf.where(finite, scores, tf.zeros_like(scores))
    return _ranking.Ranked(scores, labels == 1, weights, valid)


def _area(
    labels: TensorLike,
    scores: TensorLike,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
    value: Callable[[_ranking.Ranking], tf.Tensor],
    needs_negatives: bool,
    explain: Callable[..., object],
) -> tf.Tensor:
    batch = ranked(labels, scores, sample_weight, ignore_index)
    ranking = batch.ranking()
    valid = batch.valid & (ranking.total_hits > 0)
    if needs_negatives:
        valid &= ranking.total_misses > 0
    return _inputs.nan_unless(
        valid,
        value(ranking),
        lambda: explain(
            labels, scores, sample_weight=sample_weight, ignore_index=ignore_index
        ),
    )


def auroc(
    labels: TensorLike,
    scores: TensorLike,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Area under the receiver operating characteristic (ROC) curve.

      AUROC = P(score of a positive > score of a negative) + P(equal) / 2

    Args:
      labels: 0 (negative) or 1 (positive), shape [...].
      scores: real, finite, shape of the labels; larger is more positive.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the scores; larger is better, 0.5 is
      chance. By sorting: time O(n log n), memory O(n). NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described, or there are no positive or no
        negative examples.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.auroc([0, 1, 1, 0], [-2.0, 5.0, -2.0, 3.0]))
      0.625

    References:
      Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
      Operating Characteristic (ROC) Curve.
    """
    data = (labels, scores, sample_weight, ignore_index)
    return _area(*data, _ranking.roc_area, True, np_detection.auroc)


def aupr(
    labels: TensorLike,
    scores: TensorLike,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Area under the precision-recall curve, as average precision.

      AUPR = sum_t (recall_t - recall_(t-1)) precision_t

    over the thresholds t, the distinct scores from the largest on.

    Which class is positive changes the value. With uncertainties as scores and labels 1
    for examples out of distribution these are positive; where the others are to be,
    pass `1 - labels` and `-scores`. OpenOOD and many papers report both, as AUPR-Out
    and AUPR-In.

    Args:
      labels: 0 (negative) or 1 (positive), shape [...].
      scores: real, finite, shape of the labels; larger is more positive.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the scores; larger is better, the share
      of positive examples is chance. NaN inside a graph where eager execution raises
      ValueError for values.

    Raises:
      ValueError: an argument is not as described, or there are no positive examples.

    Example:
      >>> import uncertainty_metrics as um
      >>> round(float(um.aupr([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0])), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship Between Precision-Recall and ROC
      Curves.
    """
    data = (labels, scores, sample_weight, ignore_index)
    return _area(*data, _ranking.average_precision, False, np_detection.aupr)


def fpr_at_tpr(
    labels: TensorLike,
    scores: TensorLike,
    tpr: float = 0.95,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Least false positive rate of a threshold with a true positive rate >= `tpr`.

    Which class is positive changes the value. With uncertainties as scores and labels 1
    for examples out of distribution these are positive, as in torch-uncertainty and
    OpenOOD 1.5: FPR95 is the share of the others that is taken for them. Liang et al.
    (2018) and OpenOOD 1.0 call the others positive: pass `1 - labels` and `-scores`.

    Args:
      labels: 0 (negative) or 1 (positive), shape [...].
      scores: real, finite, shape of the labels; larger is more positive.
      tpr: in (0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the scores; smaller is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described, or there are no positive or no
        negative examples.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.fpr_at_tpr([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0]))
      0.5

    References:
      Liang, Li and Srikant (2018), Enhancing the Reliability of Out-of-Distribution
      Image Detection in Neural Networks.
    """
    tpr = _checks.share("tpr", tpr, zero=False)

    def value(ranking):
        return _ranking.miss_rate_at_hit_rate(ranking, tpr)

    data = (labels, scores, sample_weight, ignore_index)
    return _area(*data, value, True, np_detection.fpr_at_tpr)
