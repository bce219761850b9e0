"""Metrics of a dataset that Apache Beam processes on many machines.

`evaluate` returns metrics, `summarize` a sketch or a summary that answers questions
later; both take tables. `MetricsCombineFn` and `ScoreSketchCombineFn` do the same with
examples or batches. No other module of the package needs or imports Beam.
"""

from uncertainty_metrics.engines.beam import (
    MetricsCombineFn,
    ScoreSketchCombineFn,
    evaluate,
    summarize,
)

__all__ = ["MetricsCombineFn", "ScoreSketchCombineFn", "evaluate", "summarize"]
