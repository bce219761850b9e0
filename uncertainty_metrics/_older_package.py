"""The error if the older package `uncertainty_metrics` is installed over this one."""

from __future__ import annotations

import importlib.metadata

_OLDER = "uncertainty_metrics"
_THIS = "uncertainty-metrics-kit"


def both_are_installed() -> ImportError:
    """Returns the error that names the files that both packages have."""
    clashing = sorted(_modules(_OLDER) & _modules(_THIS))
    files = f" Both have {', '.join(clashing)}." if clashing else ""
    return ImportError(
        f"The older package `{_OLDER}` is installed in the folder of this package, "
        f"whose name on the index is `{_THIS}`.{files} Uninstall both, and install "
        f"the one that you need again: pip uninstall --yes {_OLDER} {_THIS}."
    )


def _modules(distribution: str) -> set[str]:
    """Returns the modules of an installed distribution, as paths."""
    try:
        files = importlib.metadata.distribution(distribution).files or []
    except importlib.metadata.PackageNotFoundError:
        return set()
    return {str(path) for path in files if path.suffix == ".py"}
