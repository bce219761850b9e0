"""Calibration errors of classifiers: binned, debiased, smoothed, Bayesian."""
