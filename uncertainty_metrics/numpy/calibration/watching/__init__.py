"""Calibration of groups, of two periods, and of a stream that is watched."""
