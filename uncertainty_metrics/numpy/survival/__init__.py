"""Forecasts of an event in time, where some examples are censored."""
