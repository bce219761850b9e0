"""Detection on tensors, eager or compiled: how well scores tell two classes apart.

Declared in `uncertainty_metrics.numpy.selective.detection`. float64 scores are computed
in float64, all others in float32.
"""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import DetectionData
from uncertainty_metrics.numpy.selective import detection as np_detection
from uncertainty_metrics.ops import _ranked, _ranking, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = ["aupr", "auroc", "fpr_at_tpr"]


def _ranking_of(data: DetectionData) -> tuple[_ranking.Ranking, xp.Tensor]:
    """Returns the ranking, and whether the examples are right."""
    batch = _ranked.ranked(
        data.labels, data.scores, data.sample_weight, data.ignore_index
    )
    if np_detection.is_turned(data.positive):
        batch = batch._replace(scores=-batch.scores, hits=~batch.hits)
    return batch.ranking(), batch.valid


@twin(np_detection.auroc, data=DetectionData, by_numpy=True)
def auroc(data, multilabel, average):
    columns = np_detection.number_of_columns(
        *_ranked.shapes(data.labels, data.scores), multilabel, average
    )
    if columns is None:
        ranking, valid = _ranking_of(data)
        return _ranking.roc_area(ranking), valid & _ranking.has_both(ranking)
    np_detection.is_turned(data.positive)
    every = _ranked.ranked_columns(
        data.labels,
        data.scores,
        data.sample_weight,
        data.ignore_index,
        columns=columns,
        multilabel=multilabel,
    )
    areas, right = [], []
    for column in range(columns):
        batch = _ranked.of_column(every, column)
        ranking = batch.ranking()
        areas.append(_ranking.roc_area(ranking))
        right.append(batch.valid & _ranking.has_both(ranking))
    values, ok = xp.stack(areas), xp.reduce_all(xp.stack(right))
    return (values if average is None else xp.reduce_mean(values)), ok


@twin(np_detection.aupr, data=DetectionData, by_numpy=True)
def aupr(data):
    ranking, valid = _ranking_of(data)
    return _ranking.average_precision(ranking), valid & _ranking.has_hits(ranking)


@twin(np_detection.fpr_at_tpr, data=DetectionData, by_numpy=True)
def fpr_at_tpr(data, tpr):
    tpr = _checks.share("tpr", tpr, zero=False)
    ranking, valid = _ranking_of(data)
    return _ranking.miss_rate_at_hit_rate(ranking, tpr), valid & _ranking.has_both(
        ranking
    )
