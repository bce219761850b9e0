"""Summaries of predictions: what a report needs, without a prediction."""
