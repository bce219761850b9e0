"""Pure tensor functions: no state, no Keras, static shapes, compiled by XLA.

The public names are those of `uncertainty_metrics` itself.
"""
