"""Random arguments, files, threads and interrupts, good and bad, for the whole package.

Whatever the arguments are, there are four outcomes: a number; NaN where the
documentation says so; NaN in a graph for values that cannot be used; or a ValueError or
TypeError that names an argument and says what was received. NumPy and eager tensors
have the same outcome with the same value or the same message, nothing warns, and no
argument is changed.

`tests/tensors/test_fuzz.py` runs a few cases of each kind. To look for more by hand:

  python -m tests.fuzz --seconds 600 --seed 1

prints a line for each failure; `python -m tests.fuzz --case functions/ece:17` runs one
again. With KERAS_BACKEND=jax or torch the tensors are of that backend; JAX compiles
each step of each shape, which takes seconds for each name at first.
"""

from tests import conftest as conftest  # Makes TensorFlow quiet.
