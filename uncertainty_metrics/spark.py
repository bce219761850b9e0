"""Metrics of a DataFrame that Apache Spark processes on many machines.

`evaluate` returns metrics, `summarize` a sketch or a summary that answers questions
later. No other module of the package needs or imports Spark.
"""

from uncertainty_metrics.engines.spark import evaluate, summarize

__all__ = ["evaluate", "summarize"]
