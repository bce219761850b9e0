"""Metrics of a dataset that Ray processes on many machines.

`evaluate` returns metrics, `summarize` a sketch or a summary that answers questions
later. No other module of the package needs or imports Ray.
"""

from uncertainty_metrics.engines.ray import evaluate, summarize

__all__ = ["evaluate", "summarize"]
