"""Nested structures of tensors: tuples, dicts and dataclasses, taken apart and put
together again. Compiled functions take and return them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from uncertainty_metrics.ops import IS_TENSORFLOW, backend

if TYPE_CHECKING or not IS_TENSORFLOW:
    from keras import tree
else:
    from tensorflow import nest as tree

Class = TypeVar("Class", bound=type)
Structure = TypeVar("Structure")


def flatten(structure: Any) -> list[Any]:
    """Returns the tensors of a structure; a tensor is a structure of itself."""
    return tree.flatten(structure)


def packed_like(structure: Structure, tensors: list[Any]) -> Structure:
    """Returns the tensors, as many as `structure` has, in its form."""
    return tree.pack_sequence_as(structure, tensors)


def mapped(function: Callable[[Any], Any], structure: Structure) -> Structure:
    """Returns the structure with the function applied to each of its tensors."""
    return tree.map_structure(function, structure)


def structure(cls: Class) -> Class:
    """Registers a class, so that its objects are structures of the tensors they hold.

    The class has a method `__tf_flatten__`, which returns a tuple of everything that is
    no tensor and a tuple of the tensors, and a class method `__tf_unflatten__`, which
    makes an object of the two. `tf.nest` looks for these methods by itself;
    `keras.tree`, `jax.tree` and PyTorch are given functions that call them.
    """
    registered: Any = cls

    def taken_apart(value: Any) -> tuple[Any, Any]:
        metadata, tensors = value.__tf_flatten__()
        return tensors, metadata

    def put_together(metadata: Any, tensors: Any) -> Any:
        return registered.__tf_unflatten__(metadata, tensors)

    if importlib.util.find_spec("optree") is not None:
        import optree

        optree.register_pytree_node(cls, taken_apart, put_together, namespace="keras")
    if backend() == "jax":
        import jax

        jax.tree_util.register_pytree_node(cls, taken_apart, put_together)
    if backend() == "torch":
        from torch.utils import _pytree

        _pytree.register_pytree_node(cls, taken_apart, lambda t, m: put_together(m, t))
    return cls
