"""Results as structures of tensors: compiled functions take and return them."""

from __future__ import annotations

import importlib.util
from typing import Any, TypeVar

from uncertainty_metrics.ops import backend

C = TypeVar("C", bound=type)


def structure(cls: C) -> C:
    """Registers a class with `keras.tree`, `jax.tree` and PyTorch, which then take its
    objects apart as they do tuples.

    `tf.nest` needs no registration: it calls `__tf_flatten__`, which returns a tuple of
    all that is no tensor and one of the tensors, and `__tf_unflatten__`, which makes an
    object of the two. The others are told to call the same methods.
    """

    def flatten(value: Any) -> tuple[Any, Any]:
        metadata, tensors = value.__tf_flatten__()
        return tensors, metadata

    made: Any = cls
    unflatten = made.__tf_unflatten__
    if importlib.util.find_spec("optree") is not None:
        import optree

        optree.register_pytree_node(made, flatten, unflatten, namespace="keras")
    if backend() == "jax":
        import jax

        jax.tree_util.register_pytree_node(made, flatten, unflatten)
    if backend() == "torch":
        from torch.utils import _pytree

        _pytree.register_pytree_node(made, flatten, lambda t, m: unflatten(m, t))
    return cls
