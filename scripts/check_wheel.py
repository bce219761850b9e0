"""Builds the package and uses it as a user would, outside the checkout.

    python scripts/check_wheel.py                  # the running Python
    python scripts/check_wheel.py --python python3.13
    python scripts/check_wheel.py --oldest         # the lower bounds of setup.py

Python 3.13 needs TensorFlow 2.20, so `--oldest` needs an older Python.

The script makes an sdist, makes a wheel from the sdist, and installs the wheel in a new
virtual environment. It first uses the NumPy half and the report without TensorFlow.
Then it installs TensorFlow, imports every public name, and trains, saves and loads a
model. `--write` writes the lower bounds to tests/oldest.txt and does nothing else.
"""

from __future__ import annotations

import argparse
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OLDEST = ROOT / "tests" / "oldest.txt"
NOT_SHIPPED = ("*.pyc", "*.nbi", "*.nbc", "__pycache__")

WITHOUT_TENSORFLOW = """
import importlib.metadata, importlib.util
import uncertainty_metrics.numpy as um

assert importlib.util.find_spec("tensorflow") is None
for module in (um, um.conformal, um.detection, um.regression):
    for name in module.__all__:
        getattr(module, name)
(command,) = importlib.metadata.entry_points(name="uncertainty-metrics")
assert command.load()(["report", "--help"]) == 0
"""

USE = """
import pathlib, sys
import numpy as np
import tensorflow as tf
import uncertainty_metrics as um

assert pathlib.Path(um.__file__).is_relative_to(sys.prefix), um.__file__
rooms = (um.conformal, um.detection, um.regression, um.numpy.regression)
for module in (um, um.numpy, *rooms):
    for name in module.__all__:
        getattr(module, name)
model = tf.keras.Sequential(
    [tf.keras.layers.Input([3]), tf.keras.layers.Dense(3, activation="softmax")]
)
metrics = [um.ExpectedCalibrationError(), um.AURC()]
model.compile("sgd", loss=um.BrierLoss(), metrics=metrics)
data = np.eye(3, dtype=np.float32), np.arange(3)
model.fit(*data, epochs=2, verbose=0)
model.save("model.keras")
loaded = tf.keras.models.load_model("model.keras")
np.testing.assert_allclose(
    loaded.evaluate(*data, verbose=0), model.evaluate(*data, verbose=0), rtol=1e-5
)
"""


def shipped() -> set[str]:
    """Returns the files of the package, as paths in the wheel."""
    found = (ROOT / "uncertainty_metrics").rglob("*")
    return {
        str(path.relative_to(ROOT))
        for path in found
        if path.is_file() and not any(path.match(name) for name in NOT_SHIPPED)
    }


def built(folder: pathlib.Path) -> pathlib.Path:
    """Makes an sdist, and a wheel from the sdist alone; returns the wheel."""
    source = folder / "source"  # A copy, because the build writes into its source.
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignored)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(source)], check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def contents(wheel: pathlib.Path) -> set[str]:
    """Returns the files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    return {name for name in names if name.startswith("uncertainty_metrics/")}


def lower_bounds() -> str:
    """Returns the lower bounds of the dependencies, as constraints of pip."""
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    pattern = r"(?:PLOT = |TENSORFLOW = |install_requires=)(\[.*?\])"
    lists = re.findall(pattern, text, re.DOTALL)
    requirements = [each for source in lists for each in ast.literal_eval(source)]
    return "".join(sorted(f"{each.replace('>=', '==')}.*\n" for each in requirements))


def check(wheel: pathlib.Path, python: str, oldest: bool) -> None:
    """Installs the wheel in a new virtual environment and uses it there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = str(pathlib.Path(folder, "bin", "python"))
        constraints = ["--constraint", str(OLDEST)] if oldest else []
        install = ["-m", "pip", "install", "--quiet", *constraints]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        for command in (
            [*install, f"{wheel}[plot]"],
            ["-c", WITHOUT_TENSORFLOW],
            ["-m", "uncertainty_metrics", "report", "--out", "report"],
            [*install, f"{wheel}[tensorflow]"],
            ["-m", "pip", "check"],
            ["-c", USE],
        ):
            subprocess.run([inside, *command], check=True, cwd=folder, env=environment)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Checks the wheel of the package.")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--oldest", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        OLDEST.write_text(lower_bounds(), encoding="utf-8")
        sys.exit()
    with tempfile.TemporaryDirectory() as made:
        made_wheel = built(pathlib.Path(made))
        if contents(made_wheel) != shipped():
            sys.exit(f"files differ: {sorted(contents(made_wheel) ^ shipped())}")
        check(made_wheel, options.python, options.oldest)
    print("The wheel works.")
