"""Uncertainty metrics of tensors and NumPy arrays, and as Keras metrics.

    import uncertainty_metrics as um        # functions of tensors and Keras classes
    import uncertainty_metrics.numpy as um  # the same functions of NumPy arrays

Every name is imported when it is first used: importing the package imports neither
TensorFlow nor matplotlib nor SciPy. To load a saved model that names a class of this
package, `import uncertainty_metrics.keras` before `load_model`.
"""

import os

from uncertainty_metrics import _public_names
from uncertainty_metrics.version import __version__ as __version__

# Only the older package of the same name has this folder.
if os.path.exists(os.path.join(os.path.dirname(__file__), "tensorflow")):
    from uncertainty_metrics import _older_package

    raise _older_package.both_are_installed()

__getattr__, __dir__, __all__ = _public_names.attach(__name__, __file__)
