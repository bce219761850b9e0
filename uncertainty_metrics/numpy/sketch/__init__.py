"""Sketches of scores: one pass over the predictions, many metrics afterwards."""
