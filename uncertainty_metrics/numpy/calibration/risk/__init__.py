"""Calibration of the risks of an event, as prognostic models report it."""
