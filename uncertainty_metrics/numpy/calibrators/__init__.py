"""Calibrators: maps that are fitted to held-out examples and mend forecasts."""
