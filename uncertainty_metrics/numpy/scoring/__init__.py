"""Proper scoring rules, and curves of the value of forecasts for decisions."""
