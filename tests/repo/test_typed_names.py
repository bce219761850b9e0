"""The error of an unknown name says ours, and never another metric."""

import collections
import subprocess
import sys

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.repo.test_public_names import HALVES, ROOT, public
from uncertainty_metrics import _typed_names


def message(module, name):
    assert not hasattr(module, name)
    assert getattr(module, name, 3) == 3
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    start = f"module {module.__name__!r} has no attribute {name!r}"
    text = str(caught.value)
    assert text.startswith(start)
    return text.removeprefix(start).removeprefix(": here it is called ")


@pytest.mark.parametrize(
    ("module", "name", "ours"),
    [
        (um, "ECE", "`ece` or `ExpectedCalibrationError` (Keras)"),
        (um_np, "ECE", "`ece`"),
        (um_np, "nll", "`negative_log_likelihood`"),
        (um_np, "log_loss", "`negative_log_likelihood`"),
        (um, "brier", "`brier_score` or `BrierScore` (Keras)"),
        (um, "Brier_Score", "`brier_score` or `BrierScore` (Keras)"),
        (um, "crps", "`crps_score` or `crps_normal_score`"),
        (um_np, "MurphyCurve", "`murphy_curve`"),
        (um, "ence", "`regression.ence`"),
        (um, "picp", "`regression.interval_coverage`"),
        (um.regression, "picp", "`interval_coverage`"),
        (um_np.regression, "picp", "`interval_coverage`"),
        (um_np, "picp", "`regression.interval_coverage`"),
        (um_np.regression, "rps", "`uncertainty_metrics.numpy.ranked_probability_scor"),
        (um_np, "BrierLoss", "`brier_score` or `uncertainty_metrics.BrierLoss` (Keras"),
        (um, "brier_scor", ": did you mean `brier_score`?"),
        *((um, name, "") for name in ("rmse", "f1_score", "shap", "_x", "__wrapped__")),
    ],
)
def test_errors_say_our_name(module, name, ours):
    text = message(module, name)
    assert text.startswith(ours)
    assert bool(text) == bool(ours)


@pytest.mark.parametrize("name", ["ECE", "rmse"])
def test_python_adds_no_guess(name):
    code = f"import uncertainty_metrics.numpy as um\num.{name}"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert "Did you mean" not in run.stderr
    assert run.stderr.rstrip().endswith("`ece`" if name == "ECE" else f"{name!r}")


def test_every_typed_name_has_names_here():
    halves = {half: public(module) for half, module in HALVES.items()}
    words = collections.Counter()
    for ours, listed in _typed_names._WORDS.items():
        words.update(map(_typed_names.plain, listed.split()))
        for name in ours:
            assert name in halves["tensors"], name
        assert any(name in halves["numpy"] for name in ours), ours
        for word in listed.split():
            assert f"`{ours[0]}`" in message(um_np, word), word
    assert max(words.values()) == 1, words.most_common(3)


@pytest.mark.parametrize(
    ("function", "name", "ours"),
    [
        (um_np.ece, "n_bins", "num_bins"),
        (um_np.regression.ence, "num_bins", "n_bins"),
        (um_np.auroc, "y_score", "scores"),
        (um_np.calibration_loss, "random_state", "seed"),
        (um.brier_score, "weights", "sample_weight"),
        (um_np.ece, "colour", ""),
        (um_np.auroc, "n_bins", ""),
    ],
)
def test_errors_say_our_name_of_an_argument(function, name, ours):
    with pytest.raises(
        TypeError, match=f"unexpected keyword argument '{name}'"
    ) as said:
        function([0, 1], [0.2, 0.9], **{name: 3})
    assert str(said.value).endswith(f": here it is called `{ours}`") == bool(ours)


@pytest.mark.parametrize(
    ("make", "name", "ours"),
    [
        (um.ExpectedCalibrationError, "n_bins", "num_bins"),
        (um.SoftCalibrationLoss, "n_bins", "num_bins"),
        (um_np.HistogramBinning, "n_bins", "num_bins"),
        (um.BrierScore, "n_bins", ""),
    ],
)
def test_errors_of_constructors_say_our_name_of_an_argument(make, name, ours):
    with pytest.raises(
        TypeError, match=f"unexpected keyword argument '{name}'"
    ) as said:
        make(**{name: 3})
    text = f"{make.__name__}() got an unexpected keyword argument {name!r}"
    assert (str(said.value) == f"{text}: here it is called `{ours}`") == bool(ours)
