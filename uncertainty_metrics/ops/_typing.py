"""Types of the arguments of functions on tensors, imported under TYPE_CHECKING."""

from typing import TypeAlias

import tensorflow_probability as tfp
from numpy.typing import ArrayLike

from uncertainty_metrics.ops import xp

TensorLike: TypeAlias = xp.Tensor | ArrayLike
Distribution: TypeAlias = tfp.distributions.Distribution
