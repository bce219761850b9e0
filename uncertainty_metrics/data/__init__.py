"""Predictions that are shipped with the package, for the report and for examples.

`digits_predictions.npz` is made by `scripts/make_digits_predictions.py`, and the
answers by `scripts/make_language_model_logs.py`. `um.datasets` loads both.
"""
