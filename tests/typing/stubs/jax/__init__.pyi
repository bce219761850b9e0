# JAX need not be installed: an array, for type checkers; the rest of it is Any.
from typing import Any

import numpy as np

def __getattr__(name: str) -> Any: ...

class Array:
    dtype: Any
    shape: Any
    def __array__(self, dtype: Any = ...) -> np.ndarray: ...
    def __float__(self) -> float: ...
