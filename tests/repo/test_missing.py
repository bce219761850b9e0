"""Errors name the package that is missing, and the rest works without it."""

import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.exhaustive  # `.ci/run` runs it beside other steps.
ROOT = pathlib.Path(__file__).parents[2]

BLOCK = """
import importlib.machinery
find = importlib.machinery.PathFinder.find_spec
blocked = set({names})
def without(name, path=None, target=None):
    return None if name.partition(".")[0] in blocked else find(name, path, target)
importlib.machinery.PathFinder.find_spec = without
"""
TENSORFLOW = ("tensorflow", "keras", "tf_keras", "tensorflow_probability")
ALL_BUT_NUMPY = (*TENSORFLOW, "scipy", "matplotlib", "tqdm", "absl", "sklearn")


def run_without(names, code):
    return subprocess.run(
        [sys.executable, "-c", BLOCK.format(names=names) + code],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_numpy_half_needs_numpy_alone():
    code = """
import uncertainty_metrics.numpy as um
assert abs(um.ece([0, 1], [.2, .7]) - .25) < 1e-12
assert abs(um.auroc([0, 1, 1], [.2, .1, .7]) - .5) < 1e-12
assert um.regression.sharpness([1., 4.]) > 0
assert um.brier_score([0, 1], probabilities=[.2, .7], zero_based=True) > 0
state = um.GeneralCalibrationError("even", True, False, "l1")
state.update_state([0, 1], [.2, .7])
assert abs(state.result() - .25) < 1e-12
import uncertainty_metrics
assert uncertainty_metrics.numpy is um and "ece" in dir(uncertainty_metrics)
"""
    run = run_without(ALL_BUT_NUMPY, code)
    assert run.returncode == 0, run.stderr


# A missing package, the code that needs it, and a part of the message. One process runs
# them in this order: a failed import must leave nothing behind.
MESSAGES = [
    ("tensorflow", "um.ece", "uncertainty_metrics.ece needs tensorflow"),
    ("tensorflow", "um.BrierLoss", "uncertainty_metrics.BrierLoss needs tensorflow"),
    (
        *("tensorflow", "um.regression.ence"),
        "uncertainty_metrics.regression.ence needs tensorflow",
    ),
    ("matplotlib", "um.numpy.reliability_diagram([0, 1], [.2, .7])", "`plot`"),
    ("apache_beam", "import uncertainty_metrics.beam", "`beam`"),
    ("inspect_ai", "import uncertainty_metrics.inspect", "`inspect`"),
    ("mlflow", "import uncertainty_metrics.mlflow", "`mlflow`"),
    ("pyspark", "import uncertainty_metrics.spark", "`spark`"),
    ("sklearn", "import uncertainty_metrics.sklearn", "pip install scikit-learn"),
    ("ray", "import uncertainty_metrics.ray", "`ray`"),
    ("keras", "um.BrierLoss", "pip install keras"),
    (
        *("tensorflow_probability", "um.crps_distribution([0.0], object())"),
        "pip install tensorflow-probability",
    ),
    (
        "tensorflow_probability",
        "um.bayesian_expected_calibration_error("
        "10, logits=[[1.0, 2.0]], labels_true=[0])",
        "pip install tensorflow-probability",
    ),
    ("tf_keras", "um.crps_distribution([0.0], object())", "pip install tf-keras"),
]


def test_missing_packages_are_named():
    code = "import uncertainty_metrics as um\n"
    for missing, use, _ in MESSAGES:
        code += f"blocked = {{{missing!r}}}\ntry:\n    {use}\n"
        code += "except ImportError as error:\n"
        code += "    print('message:', *str(error).split())\n"
    run = run_without((), code)
    assert run.returncode == 0, run.stderr
    lines = [line for line in run.stdout.splitlines() if line.startswith("message:")]
    for line, (_, _, needed) in zip(lines, MESSAGES, strict=True):
        assert needed in line


def test_missing_tf_keras_is_named():
    code = """
import os
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import uncertainty_metrics as um
um.AURC()
"""
    run = run_without(["tf_keras"], code)
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: uncertainty_metrics.keras needs tf_keras"), (
        last
    )
    assert "pip install tf-keras" in last
