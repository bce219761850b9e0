"""Calibration errors in bins: exact, streamed, debiased, Bayesian."""
