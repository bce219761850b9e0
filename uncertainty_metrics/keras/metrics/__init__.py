"""Streaming metrics with a state of fixed size."""
