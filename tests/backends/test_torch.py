"""`uncertainty_metrics.torch`: the metrics of the package as those of torchmetrics."""

import copy
import functools
import importlib.util
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from tests import catalogue
from tests.backends.conftest import BACKEND, page
from tests.keras.streams import assert_close, first_alike, kind, parts, value

if BACKEND != "torch":
    pytest.skip("needs KERAS_BACKEND=torch", allow_module_level=True)

import torch

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
import uncertainty_metrics.torch as um_torch
from uncertainty_metrics._torch import states

HAS_TORCHMETRICS = importlib.util.find_spec("torchmetrics") is not None
METRICS = [
    row for row in catalogue.METRICS if row.metric != "BayesianExpectedCalibrationError"
]
every_metric = pytest.mark.parametrize("row", METRICS, ids=lambda row: row.metric)
pytestmark = pytest.mark.filterwarnings("ignore:The ``compute`` method:UserWarning")


def made(row, **more):
    find = functools.reduce(getattr, row.metric.split("."), um_torch)
    return find(**row.metric_cases[0][0], **more)


def batches(data, count=2):
    """Returns tuples of predictions, labels and weights."""
    return [
        (torch.tensor(np.float32(p)), torch.tensor(y), torch.tensor(np.float32(w)))
        for y, p, w in parts(data, count)
    ]


def same_states(a, b):
    """Asserts that two metrics have the same sums, bit for bit."""
    assert a.get_state() == b.get_state()


@every_metric
def test_values_are_those_of_the_keras_metric(row, rng):
    data = row.lattice(rng)
    metric, keras_metric = made(row), row.made(row.metric_cases[0][0])
    assert isinstance(metric, torch.nn.Module)
    for p, y, w in batches(data):
        metric.update(p, y, w)
        keras_metric.update_state(y, p, w)
    result = metric.compute()
    np.testing.assert_array_equal(value(result), value(keras_metric.result()))
    assert_close(row, value(result), row.expected(row.metric_cases[0][1], data, True))
    state = metric.get_state().arrays["units"]
    np.testing.assert_array_equal(state, keras_metric.get_state().arrays["units"])
    metric.reset()
    assert not np.any(value(metric.compute()))


@pytest.mark.parametrize(
    "row",
    [row for row, again in first_alike(METRICS, kind) if not again],
    ids=lambda row: row.metric,
)
def test_forward_is_the_value_of_the_batch_and_adds_it(row, rng):
    first, second = batches(row.lattice(rng))
    metric, whole = made(row), made(row)
    for batch in (first, second):
        alone = made(row)
        alone.update(*batch)
        whole.update(*batch)
        found = value(metric(*batch))
        np.testing.assert_array_equal(found, value(alone.compute()))
    np.testing.assert_allclose(value(metric.compute()), value(whole.compute()), 1e-6)
    same = metric.get_state().arrays["units"], whole.get_state().arrays["units"]
    np.testing.assert_array_equal(*same)


CLASS_WISE = um_torch.StaticCalibrationError  # The first batch tells its classes.


@pytest.fixture
def data(rng):
    return torch.tensor(np.float32(rng.dirichlet([1, 1, 1], 40))), torch.tensor(
        rng.integers(0, 3, 40)
    )


@pytest.mark.parametrize("made_by", [CLASS_WISE, um_torch.AURC, um_torch.BrierScore])
def test_copies_pickles_and_saved_states(made_by, data):
    metric = made_by()
    metric.update(*data)
    assert not metric.state_dict()  # As in torchmetrics.
    metric.persistent(True)
    again = made_by()
    again.persistent(True)
    again.load_state_dict(metric.state_dict())
    copies = again, copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))
    for each in copies:
        same_states(each, metric)
    metric.update(*data)
    for each in copies:
        each.update(*data)
        assert each.compute() == metric.compute()
    before = metric.compute()
    metric.to(torch.bfloat16).half()
    assert {metric.rest.dtype, metric.units.dtype} == {torch.float32, torch.int64}
    assert metric.compute() == before
    with pytest.raises(ValueError, match="y_true"):
        metric.update(data[0], data[1] + 3)
    same_states(metric, copy.deepcopy(metric))
    assert metric.compute() == before
    metric.to("meta")
    assert metric.units.is_meta


def test_groups_and_options_by_position(data):
    p, y = data
    um_torch.ExpectedCalibrationError()  # Keras would number the next one.
    metric = um_torch.ExpectedCalibrationError(5, num_groups=2)
    metric.update(p, {"labels": y, "groups": y % 2})
    found = metric.compute()
    expected = um_np.ece(y, p, num_bins=5, groups=y % 2, num_groups=2)
    for group in (0, 1):
        name = f"expected_calibration_error_{group}"
        np.testing.assert_allclose(found[name], expected.values[group], 1e-6)
    with pytest.raises(TypeError, match="here it is called `num_bins`"):
        um_torch.ExpectedCalibrationError(n_bins=3)
    with pytest.raises((TypeError, ValueError), match="numbins"):
        um_torch.ExpectedCalibrationError(numbins=3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_taken(dtype, data):
    p, y = data
    z = p.log().to(dtype).detach().requires_grad_()
    for name in ("ece", "brier_score", "aurc", "negative_log_likelihood"):
        exact = getattr(um_np, name)(y, logits=z.detach().double())
        for room in (um_np, um_torch):
            found = getattr(room, name)(y, logits=z)
            np.testing.assert_allclose(torch.as_tensor(found).detach(), exact, 1e-5)
    groups = torch.tensor([0, 1] * 20)
    assert um_np.ece(y, logits=z, groups=groups).values.shape == (2,)
    metric = um_torch.BrierScore(from_logits=True)
    metric.update(z, y)
    exact = um_np.brier_score(y, logits=z.detach().double())
    np.testing.assert_allclose(metric.compute(), exact, rtol=1e-5)
    loss = um_torch.BrierLoss(from_logits=True)(z, y)
    np.testing.assert_allclose(loss.detach(), exact, rtol=1e-5)
    loss.backward()
    assert z.grad.dtype == dtype


def test_losses_and_functions_have_gradients(data):
    p, y = data
    logits = p.log().requires_grad_()
    loss = pickle.loads(pickle.dumps(um_torch.BrierLoss(from_logits=True)))
    (by_loss,) = torch.autograd.grad(loss(logits, y), logits)
    (by_function,) = torch.autograd.grad(um_torch.brier_score(y, logits=logits), logits)
    torch.testing.assert_close(by_loss, by_function)
    row = {"preds": logits, "target": y, "sample_weight": torch.ones(40)}
    torch.testing.assert_close(loss(**row), loss(logits, y))
    assert um_torch.MMCELoss(1.0, from_logits=True)(logits, y).requires_grad


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # By Dynamo.
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning")
@pytest.mark.parametrize(
    "backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)]
)
def test_compiled_steps_have_the_values_of_eager_ones(backend, data):
    p, y = data
    losses = [
        um_torch.BrierLoss(from_logits=True),
        um_torch.MMCELoss(1.0, from_logits=True),
        um_torch.CRPSSampleLoss(),
    ]

    def step(z, metric):
        q = torch.softmax(2 * z, dim=1)
        metric.update(q, y)
        scores = um_torch.crps_score(q[:, 0], 2 * z), um_torch.brier_score(y, q)
        nll = um_torch.negative_log_likelihood(y, logits=2 * z)
        by_loss = [loss(2 * z, y) for loss in losses]
        return [scores[0].mean(), scores[1], nll, *by_loss, um_torch.ece(y, q)]

    found = []
    for run in (step, torch.compile(step, backend=backend)):
        logits, metric = p.log().requires_grad_(), um_torch.AURC()
        values = run(logits, metric)
        (gradient,) = torch.autograd.grad(sum(values[:-1]), logits)
        found.append([*values, gradient, metric.compute()])
    torch.testing.assert_close(*found)
    whole = torch.compile(step, backend=backend, fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        whole(p.log(), um_torch.AURC())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("more", [[], [-0.0, 0.0, -0.0], [0.5, float("nan"), 0.5]])
def test_outcomes_are_those_of_the_first_of_equal_classes(dtype, more):
    from uncertainty_metrics.ops import _decisions

    rows = [[0.5, 0.5, 0.0], [0.25, 0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    rows += [[0.25, 0.5, 0.25], *([more] * bool(more))]
    labels = range(3)
    firsts = [row.index(max(row)) for row in rows[:5]] + [0] * bool(more)
    probabilities = torch.tensor(rows, dtype=dtype).repeat_interleave(3, 0)
    outcomes, scores, right = _decisions.outcomes(
        probabilities, torch.tensor([*labels] * len(rows), dtype=torch.int32)
    )
    expected = [first == label for first in firsts for label in labels]
    n = 15 if more and more[0] == 0.5 else len(expected)
    assert outcomes[:n].tolist() == expected[:n]
    assert scores[:n:3].tolist() == [max(row) for row in rows][: n // 3]
    assert right.tolist() == [True] * n + [False] * (len(right) - n)


def test_computes_on_the_device_of_the_predictions(data, monkeypatch):
    """Keras would move all to its default device, here one that computes nothing."""
    from keras.src.backend.torch import core

    monkeypatch.setattr(core, "DEFAULT_DEVICE", "meta")
    p, y = data
    assert um_torch.ece(y, p).device.type == "cpu"
    assert um_torch.BrierLoss()(p, y).device.type == "cpu"
    metric = um_torch.AURC()
    metric.update(p, y)
    assert metric.compute().device.type == "cpu"


@pytest.mark.skipif(not HAS_TORCHMETRICS, reason="needs torchmetrics")
def test_in_a_collection_of_torchmetrics(data):
    import torchmetrics

    p, y = data
    options = {"ece": {}, "mce": {}, "left_out": {"ignore_index": 2}}
    classes = {"mce": um_torch.MaximumCalibrationError}

    def members():
        return {
            name: classes.get(name, um_torch.ExpectedCalibrationError)(**each)
            for name, each in options.items()
        }

    alone = members()
    collection = torchmetrics.MetricCollection(members(), prefix="val_")
    # The label that one metric leaves out comes in the second batch only.
    order = torch.argsort(y)
    for part in (order[:20], order[20:]):
        collection.update(p[part], y[part])
        for metric in alone.values():
            metric.update(p[part], y[part])
    found = collection.compute()
    assert found == {f"val_{name}": each.compute() for name, each in alone.items()}
    assert found["val_left_out"] != found["val_ece"]
    groups = sorted(map(sorted, collection.compute_groups.values()))
    assert groups == [["ece", "mce"], ["left_out"]]
    assert not alone["ece"].higher_is_better
    assert um_torch.Accuracy().higher_is_better
    clone = collection.clone(prefix="test_")
    clone.reset()
    assert set(clone(p, y)) == {f"test_{name}" for name in options}


@pytest.mark.skipif(not importlib.util.find_spec("lightning"), reason="needs lightning")
@pytest.mark.filterwarnings("ignore")  # Of Lightning, on loggers and workers.
def test_logged_by_lightning(data, tmp_path):
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)
            self.ece = um_torch.ExpectedCalibrationError(from_logits=True)
            self.by_class = um_torch.StaticCalibrationError(from_logits=True)

        def training_step(self, batch, index):
            x, y = batch
            logits = self.layer(x)
            self.ece(logits, y)
            self.by_class(logits, y)
            self.log("ece", self.ece, on_step=True, on_epoch=True)
            self.log("sce", self.by_class, on_step=False, on_epoch=True)
            return um_torch.brier_score(y, logits=logits)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.0)

    model = Model()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*data), batch_size=16
    )
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    p, y = data
    logits = model.layer(p)
    logged = trainer.callback_metrics
    for name in ("ece", "sce"):
        key = "ece_epoch" if name == "ece" else name
        exact = getattr(um_np, name)(y, logits=logits)
        np.testing.assert_allclose(logged[key], exact, rtol=1e-5)
    np.testing.assert_allclose(
        logged["ece_step"], um_np.ece(y[32:], logits=logits[32:]), rtol=1e-5
    )


TWO_PROCESSES = """
import sys
if ALONE:
    sys.modules["torchmetrics"] = None
import torch
import uncertainty_metrics.torch as um
from uncertainty_metrics._torch import states

def work(rank, folder):
    torch.distributed.init_process_group(
        "gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(0)
    p, y = torch.softmax(torch.randn(60, 3), -1), torch.randint(0, 3, (60,))
    w = torch.rand(60)
    for make in (um.StaticCalibrationError, um.AURC, um.AUROC, um.BrierScore,
                 um.ExpectedCalibrationError, um.BrierDecomposition):
        binary = make is um.AUROC
        pp, yy = (p[:, 0], (y == 0) * 1) if binary else (p, y)
        for weights in (None, w):
            for shares in ((slice(0, 20), slice(20, 60)), (slice(0, 60), None)):
                metric, whole = make(), make()
                assert isinstance(metric, states.Alone) == ALONE
                def add(to, own):
                    for at in range(own.start, own.stop, 20):
                        b = slice(at, at + 20)
                        to.update(pp[b], yy[b], None if weights is None else weights[b])
                if shares[rank] is not None:  # One process may have no batch.
                    add(metric, shares[rank])
                add(whole, slice(0, 60))
                found, expected = metric.compute(), whole._result()
                for key in found if isinstance(found, dict) else [None]:
                    a, b = (x if key is None else x[key] for x in (found, expected))
                    if weights is None and make is not um.BrierScore:
                        assert a == b, (make, key, a, b)
                    torch.testing.assert_close(a, b, rtol=2e-7, atol=1e-9)
                # The states of this process are its own again.
                if shares[rank] is not None:
                    metric.update(pp[:20], yy[:20])
    torch.distributed.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.start_processes(
        work, (sys.argv[1],), nprocs=2, start_method="fork")
"""


@pytest.mark.parametrize("alone", [False, True] if HAS_TORCHMETRICS else [True])
def test_two_processes_have_the_values_of_one(alone, tmp_path):
    script = tmp_path / "work.py"
    script.write_text(f"ALONE = {alone}\n{TWO_PROCESSES}")
    # The import chooses the backend, not the variable.
    run([str(script), str(tmp_path)], KERAS_BACKEND="tensorflow")


def run(arguments, **environment):
    """Runs Python, by default without KERAS_BACKEND, and returns what it prints."""
    paths = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    given = {**os.environ, "PYTHONPATH": paths, **environment}
    if "KERAS_BACKEND" not in environment:
        given.pop("KERAS_BACKEND", None)
    command = [sys.executable, "-W", "ignore", *arguments]
    return subprocess.run(
        command, env=given, check=True, timeout=300, capture_output=True, text=True
    ).stdout


ALONE = """
import os, sys
sys.modules["torchmetrics"] = None
import torch, pickle
import uncertainty_metrics.torch as um
assert "KERAS_BACKEND" not in os.environ
assert not {"tensorflow", "jax"} & set(sys.modules)
p, y = torch.tensor([[.7, .2, .1], [.1, .3, .6], [.3, .3, .4]]), torch.tensor([0, 2, 0])
for make in (um.StaticCalibrationError, um.AURC):
    metric, whole = make(), make()
    assert type(metric).__mro__[2].__name__ == "Alone"
    for i in range(3):
        alone = make()
        alone.update(p[i:i + 1], y[i:i + 1])
        whole.update(p[i:i + 1], y[i:i + 1])
        assert metric(p[i:i + 1], y[i:i + 1]) == alone.compute()
    try:
        metric(p, y + 3)
    except ValueError as error:
        assert "y_true" in str(error)
    assert metric.compute() == whole.compute()
    metric.half()
    metric.persistent(True)
    again = pickle.loads(pickle.dumps(make()))
    again.persistent(True)
    again.load_state_dict(metric.state_dict())
    assert again.compute() == whole.compute()
    metric.reset()
    assert metric.compute() == 0
print(um.ece(y, p).dtype)
"""


def test_needs_neither_a_variable_nor_torchmetrics():
    assert run(["-c", ALONE]) == "torch.float32\n"


def test_another_backend_is_refused():
    code = """
import keras
keras.config.backend = lambda: "jax"  # No other backend is installed here.
try:
    import uncertainty_metrics.torch
except ImportError as error:
    print(error)
"""
    said = run(["-c", code], KERAS_BACKEND="torch")
    assert "Keras runs on jax" in said
    assert "Import `uncertainty_metrics.torch` before" in said


def test_names_are_those_of_the_package():
    left_out = set(um.__all__) - set(um_torch.__all__)
    assert left_out == {
        *("AUC", "MetricCollection", "ReliabilityDiagramCallback"),
        *(name for name in um.__all__ if name.endswith("Layer")),
    }
    assert um_torch.ece is um.ece
    assert um_torch.regression.ence is um.regression.ence
    assert issubclass(um_torch.conformal.MeanSetSize, um_torch.Metric)
    called = ": here it is called `ece` or `ExpectedCalibrationError`"
    with pytest.raises(AttributeError) as said:
        _ = um_torch.ECE
    missing = "module 'uncertainty_metrics.torch' has no attribute 'ECE'"
    assert str(said.value) == missing + called
    ours = "called `uncertainty_metrics.torch.brier_score`"
    with pytest.raises(AttributeError, match=ours):
        _ = um_torch.regression.brier
    with pytest.raises(AttributeError, match=r"`uncertainty_metrics\.MetricColl"):
        _ = um_torch.MetricCollection
    assert "num_bins" in um_torch.ExpectedCalibrationError.__doc__


def test_pairs_add_without_rounding():
    high = torch.tensor([2.0**24, 1.0, float("inf")])
    low = torch.tensor([0.5, 2.0**-30, 0.0])
    pair = torch.stack([high, low])
    found = states.total_of_pairs(torch.stack([pair, pair, pair])).double()
    assert found.sum(dim=0).tolist() == [3 * 2**24 + 1.5, 3 + 3 * 2**-30, np.inf]


def test_the_page_runs_as_printed():
    code, outputs = page("torch")
    assert run(["-c", code]) == outputs
