"""Calibration of classifiers: in bins, without bins, of risks, smoothed, watched."""
