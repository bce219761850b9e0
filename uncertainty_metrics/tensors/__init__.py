"""The public functions on tensors: what their NumPy twins declare, around `ops`.

They take the tensors of Keras's backend. Only the modules of distributions, which are
those of TensorFlow Probability, need TensorFlow. The public names are those of
`uncertainty_metrics` itself.
"""
