"""Calibrators: maps, fitted to held-out examples, that make forecasts calibrated."""
