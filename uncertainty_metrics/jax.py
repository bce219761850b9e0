"""The functions on arrays of JAX, in `jax.jit`, `jax.grad` and `jax.vmap`.

    import uncertainty_metrics.jax as um

The import makes Keras, which has the arithmetic, run on JAX; no environment variable is
needed. If Keras runs on another backend already, it raises ImportError.

The names are those of `uncertainty_metrics`.
"""

from typing import Any

from uncertainty_metrics import _chosen_backend

_chosen_backend.choose("jax")

import uncertainty_metrics as _um  # noqa: E402

__all__ = _um.__all__


def __getattr__(name: str) -> Any:
    return getattr(_um, name)


def __dir__() -> list[str]:
    return __all__
