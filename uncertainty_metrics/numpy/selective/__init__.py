"""Selective prediction and detection: how well a score ranks the examples."""
