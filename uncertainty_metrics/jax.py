"""The functions on arrays of JAX, in `jax.jit`, `jax.grad` and `jax.vmap`.

    import uncertainty_metrics.jax as um

The import makes Keras, which has the arithmetic, run on JAX; no environment variable is
needed. If Keras runs on another backend already, it raises ImportError.

The names are those of `uncertainty_metrics`.
"""

from uncertainty_metrics import _chosen_backend, _public_names

_chosen_backend.choose("jax")

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
