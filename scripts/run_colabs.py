"""Runs the notebooks of colabs/, each in a fresh kernel of this Python.

    python scripts/run_colabs.py                     # Checks that all notebooks run.
    python scripts/run_colabs.py --write regression  # Runs one and saves its outputs.

The saved notebook does not depend on when and where it was run. So it has no times, no
name of a kernel, and no stderr, because warnings contain paths of files. The script
needs the extra `colabs`; it skips a notebook whose own extras are not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import sys
import tempfile
import time

import jupyter_client
import nbclient
import nbformat
from jupyter_client import kernelspec

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "colabs"
REPOSITORY = "https://github.com/uncertainty-metrics/uncertainty_metrics"
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
# By notebook: the extras of the package that it needs, and a module that is importable
# only if they are installed.
EXTRAS = {
    "conformal": ("plot", "sklearn"),
    "detection": ("plot", "matplotlib"),
    "forecasting": ("plot,sklearn,tensorflow", "statsmodels"),
    "keras_jax": ("jax,plot", "jax"),
    "language_model": ("plot", "matplotlib"),
    "risk": ("plot", "sklearn"),
    "scikit_learn": ("plot", "sklearn"),
}
USUAL = ("plot,tensorflow", "tensorflow")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# The time limit of one cell.
SECONDS = 300


def badge(name: str) -> str:
    """Returns the link, in Markdown, that opens a notebook in Colab."""
    host = REPOSITORY.replace("github.com", "colab.research.google.com/github")
    return f"[![Open in Colab]({BADGE})]({host}/blob/main/colabs/{name}.ipynb)"


def install(name: str) -> str:
    """Returns the code cell that installs the packages of a notebook in Colab."""
    extras, _ = EXTRAS.get(name, USUAL)
    return f"""\
import sys

if "google.colab" in sys.modules:
    !pip install -q "uncertainty-metrics-kit[{extras}] @ git+{REPOSITORY}"
"""


def execute(notebook: nbformat.NotebookNode) -> None:
    """Runs the cells in an empty folder and leaves their outputs in the notebook."""
    # Without folders to search, the only kernel is the one of the running Python.
    kernels = kernelspec.KernelSpecManager(kernel_dirs=[])
    with tempfile.TemporaryDirectory() as folder:
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", "IPYTHONDIR": folder}
        nbclient.NotebookClient(
            notebook,
            km=jupyter_client.AsyncKernelManager(kernel_spec_manager=kernels),
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],
            timeout=SECONDS,
            record_timing=False,
            coalesce_streams=True,
        ).execute(env={**os.environ, **environment})


def clean(notebook: nbformat.NotebookNode) -> None:
    """Removes metadata and stderr, which differ from machine to machine."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = [
                output for output in cell.outputs if output.get("name") != "stderr"
            ]


def main(arguments: list[str] | None = None) -> int:
    """Runs the notebooks; returns 1 if one of them fails, otherwise 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--write", action="store_true", help="save the outputs")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"no notebook {', '.join(sorted(unknown))}")
    failures = 0
    for name in options.names or names:
        extras, module = EXTRAS.get(name, USUAL)
        if importlib.util.find_spec(module) is None:
            print(
                f"{name}: skipped, it needs {module}: the extras {extras}", flush=True
            )
            continue
        path = FOLDER / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        start = time.perf_counter()
        try:
            execute(notebook)
        except nbclient.exceptions.CellExecutionError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
            continue
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        if options.write:
            clean(notebook)
            nbformat.write(notebook, path)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
