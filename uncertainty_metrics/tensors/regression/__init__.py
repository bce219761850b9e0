"""Calibration of predicted means and variances on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.regression`. float64 predictions are computed in
float64, all others in float32. Public in `um.regression`.
"""
