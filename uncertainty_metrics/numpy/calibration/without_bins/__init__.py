"""Calibration errors and tests that need no bins: sums over sorted scores."""
