"""Detection on tensors, eager or compiled: how well scores tell two classes apart.

Declared in `uncertainty_metrics.numpy.detection`. float64 scores are computed in
float64, all others in float32.
"""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import detection as declared
from uncertainty_metrics.ops import _ranking
from uncertainty_metrics.tensorflow._twin import twin

__all__ = ["aupr", "auroc", "fpr_at_tpr"]


@twin(declared.auroc)
def auroc(labels, scores, *, sample_weight, ignore_index):
    batch = _ranking.ranked(labels, scores, sample_weight, ignore_index)
    ranking = batch.ranking()
    both = (ranking.total_hits > 0) & (ranking.total_misses > 0)
    return _ranking.roc_area(ranking), batch.valid & both


@twin(declared.aupr)
def aupr(labels, scores, *, sample_weight, ignore_index):
    batch = _ranking.ranked(labels, scores, sample_weight, ignore_index)
    ranking = batch.ranking()
    return _ranking.average_precision(ranking), batch.valid & (ranking.total_hits > 0)


@twin(declared.fpr_at_tpr)
def fpr_at_tpr(labels, scores, tpr, *, sample_weight, ignore_index):
    tpr = _checks.share("tpr", tpr, zero=False)
    batch = _ranking.ranked(labels, scores, sample_weight, ignore_index)
    ranking = batch.ranking()
    both = (ranking.total_hits > 0) & (ranking.total_misses > 0)
    return _ranking.miss_rate_at_hit_rate(ranking, tpr), batch.valid & both
