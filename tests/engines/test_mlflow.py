"""MLflow computes the metrics, and takes the numbers and files of a report."""

import importlib.util

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

if importlib.util.find_spec("mlflow") is None:
    pytest.skip("needs MLflow", allow_module_level=True)

import mlflow
import pandas as pd

from uncertainty_metrics.mlflow import make_metrics

# MLflow and its packages warn about each other.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def tracking(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    mlflow.set_experiment("tests")
    yield
    mlflow.set_tracking_uri(None)


def evaluated(labels, predictions, metrics):
    frame = pd.DataFrame({"label": labels, "p": predictions})
    with mlflow.start_run() as run:
        mlflow.models.evaluate(
            data=frame, predictions="p", targets="label", extra_metrics=metrics
        )
    return mlflow.get_run(run.info.run_id).data.metrics


def test_metrics_of_two_and_of_three_classes(rng):
    p = rng.random(60)
    labels = (rng.random(60) < p).astype(int)
    found = evaluated(labels, p, make_metrics("ece", "brier_score", num_bins=5))
    assert found == pytest.approx(
        {
            "ece": um.ece(labels, np.stack([1 - p, p], axis=1), num_bins=5),
            "brier_score": np.mean((labels - p) ** 2),
        }
    )
    p, labels = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    found = evaluated(labels, p.tolist(), make_metrics("sce", "brier_score"))
    squares = np.sum((p - np.eye(3)[labels]) ** 2, axis=1)
    expected = {"sce": um.sce(labels, p), "brier_score": np.mean(squares)}
    assert found == pytest.approx(expected)


def test_confidences_are_not_folded(rng):
    p, correct = rng.random(60), rng.integers(0, 2, 60)
    found = evaluated(correct, p, make_metrics("ece", positive_class=True))
    expected = um.ece(correct=correct, confidences=p)
    assert found == pytest.approx({"ece": expected})


def test_directions_and_unknown_names():
    directions = {each.name: each.greater_is_better for each in make_metrics()}
    assert directions.pop("accuracy")
    assert set(directions.values()) == {False}
    with pytest.raises(ValueError, match="`metrics` must be one of"):
        make_metrics("f1")


def test_a_report_is_logged(tmp_path, rng):
    labels, p = rng.integers(0, 3, 90), rng.dirichlet(np.ones(3), 90)
    report = um.report(labels, p, classes=["C#", "C+", "a/../b"])
    with mlflow.start_run() as run:
        mlflow.log_metrics(report.scalars())
        mlflow.log_artifacts(report.save(tmp_path / "report")[0].parent, "calibration")
    assert mlflow.get_run(run.info.run_id).data.metrics == report.scalars()
    files = mlflow.artifacts.list_artifacts(
        run_id=run.info.run_id, artifact_path="calibration"
    )
    assert "calibration/report.html" in {each.path for each in files}
