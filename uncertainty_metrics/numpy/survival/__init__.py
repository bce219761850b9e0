"""Forecasts of the time of an event, for data with censored examples."""
