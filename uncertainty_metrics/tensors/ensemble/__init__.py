"""Uncertainty and diversity of ensembles on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.ensemble`. float64 predictions are computed in
float64, all others in float32. The cross-entropies are losses, differentiable in the
predictions. In a graph the result of a wrong example is NaN, and so is a mean over it.
"""
