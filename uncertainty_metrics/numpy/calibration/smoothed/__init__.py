"""Calibration errors of smoothed residuals, with intervals."""
