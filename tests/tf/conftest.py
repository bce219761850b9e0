"""Two logical CPUs here too: devices cannot be changed once TensorFlow has begun."""

import tests.keras.conftest  # noqa: F401
