"""Sketches of scores: one pass over the predictions, every question afterwards."""
