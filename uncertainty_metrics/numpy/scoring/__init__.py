"""Proper scoring rules, and curves of what forecasts are worth to a decision."""
