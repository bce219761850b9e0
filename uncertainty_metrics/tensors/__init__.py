"""The public functions on tensors: declared by NumPy functions, computed by `ops`.

They take tensors of the backend of Keras. Only the modules of distributions, which are
distributions of TensorFlow Probability, need TensorFlow. Import the public names from
`uncertainty_metrics` itself.
"""
