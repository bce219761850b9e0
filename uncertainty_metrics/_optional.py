"""Imports of packages that only some features need."""

from __future__ import annotations

import importlib
from types import ModuleType

# The extra that installs a package, if it has another name than the package.
_EXTRAS = {
    **dict.fromkeys(("keras", "tensorflow_probability", "tf_keras"), "tensorflow"),
    "apache_beam": "beam",
    "matplotlib": "plot",
    "openpyxl": "excel",
    "pyarrow": "parquet",
    "pyspark": "spark",
    "tqdm": "progress",
}

# The distribution of a package, if it is not the package with hyphens.
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def require(
    module: str, needed_by: str = "This", extra: str | None = None
) -> ModuleType:
    """Imports `module`, or raises ImportError that names the extra to install, which by
    default is that of the module.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise not_installed(missing, needed_by, extra) from missing


def not_installed(
    missing: ModuleNotFoundError, needed_by: str, extra: str | None = None
) -> ImportError:
    """Returns the ImportError that names the missing package and how to install it."""
    package = (missing.name or str(missing)).partition(".")[0]
    extra = extra or _EXTRAS.get(package, package)
    message = (
        f"{needed_by} needs {package}, which is not installed. Install it with the "
        f"extra `{extra}`: pip install '.[{extra}]' in a checkout, or pip install "
        f"{_DISTRIBUTIONS.get(package, package.replace('_', '-'))}."
    )
    if extra == "tensorflow":
        message += " The functions of `uncertainty_metrics.numpy` need no TensorFlow."
    return ImportError(message)
