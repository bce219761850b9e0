"""What tensor functions take, for type checkers: imported under TYPE_CHECKING."""

from typing import TypeAlias

import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import ArrayLike

TensorLike: TypeAlias = tf.Tensor | ArrayLike
Distribution: TypeAlias = tfp.distributions.Distribution
