"""Types of functions on tensors, imported under TYPE_CHECKING and by the stubs."""

from typing import TypeAlias

import jax
import tensorflow as tf
import tensorflow_probability as tfp
import torch
from numpy.typing import ArrayLike

# A tensor of the backend. Type checkers know the backends that are installed: with one,
# this is its tensor.
Tensor: TypeAlias = tf.Tensor | jax.Array | torch.Tensor
TensorLike: TypeAlias = Tensor | ArrayLike
Distribution: TypeAlias = tfp.distributions.Distribution
