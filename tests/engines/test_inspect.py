"""Inspect computes the metrics of its evaluations; errors are those of its samples."""

import importlib.util

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

if importlib.util.find_spec("inspect_ai") is None:
    pytest.skip("needs Inspect", allow_module_level=True)

from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import (
    SampleScore,
    Score,
    accuracy,
    mean,
    scorer,
    stderr,
)
from inspect_ai.solver import solver

from uncertainty_metrics import inspect as metrics

# Those of the event loop that Inspect runs in.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning"
)


def scores_of(correct, confidences, samples=None):
    samples = range(len(correct)) if samples is None else samples
    return [
        SampleScore(
            score=Score(value=value, metadata={"confidence": confidence}), sample_id=id
        )
        for value, confidence, id in zip(correct, confidences, samples, strict=True)
    ]


def answers(rng, samples=200, epochs=5):
    """Returns answers of an overconfident model, which repeats most of its mistakes."""
    confidence = rng.uniform(0.3, 1, samples)
    right = rng.random(samples) < confidence - 0.2
    correct = np.where(rng.random((epochs, samples)) < 0.1, ~right, right)
    return (
        correct.ravel().astype(int),
        np.tile(confidence, epochs),
        np.tile(np.arange(samples), epochs).tolist(),
    )


def values_of(correct, confidences, samples):
    scores = scores_of(correct.tolist(), confidences.tolist(), samples)
    return {
        name: getattr(metrics, name)()(scores)
        for name in metrics.__all__
        if name != "calibration_loss"
    }


def test_values_are_those_of_the_functions(rng):
    correct, p, samples = answers(rng)
    found = values_of(correct, p, samples)
    data = {"correct": correct, "confidences": p}
    assert found["ece"]["ece"] == pytest.approx(um.ece(**data))
    assert found["aurc"]["aurc"] == pytest.approx(um.aurc(**data))
    coverage = metrics.coverage_at_risk(risk=0.4)(scores_of(correct, p, samples))
    assert coverage["coverage_at_risk"] == um.coverage_at_risk(**data, risk=0.4)
    assert found["brier"]["brier"] == pytest.approx(np.mean((correct - p) ** 2))
    clusters = [f"sample {id}" for id in samples]
    expected = um.calibration_loss(**data, score="brier", clusters=clusters)
    loss = metrics.calibration_loss()(scores_of(correct, p, samples))
    assert loss["calibration_loss"] == pytest.approx(expected.difference)
    assert 0 < loss["calibration_loss_lower"] < loss["calibration_loss"]


def test_errors_are_those_of_clusters(rng):
    correct, p, samples = answers(rng, samples=100)
    values = (correct - p) ** 2
    total = 0.0
    for id in set(samples):  # The naive loop of the definition.
        total += (
            sum(
                value - np.mean(values)
                for value, other in zip(values, samples, strict=True)
                if other == id
            )
            ** 2
        )
    expected = np.sqrt(total * 100 / 99) / len(values)
    found = values_of(correct, p, samples)
    assert found["brier"]["brier_stderr"] == pytest.approx(expected, rel=1e-12)
    # Inspect's own clustered error of a mean, here of the squares.
    squares = [
        SampleScore(score=Score(value=value), sample_metadata={"id": id})
        for value, id in zip(values.tolist(), samples, strict=True)
    ]
    assert stderr(cluster="id")(squares) == pytest.approx(expected, rel=1e-12)
    assert expected > 1.5 * stderr()(squares)
    # Repeated answers tell nothing new.
    once = values_of(correct[:100], p[:100], samples[:100])
    twice = values_of(*(np.tile(each[:100], 2) for each in (correct, p)), samples[:200])
    for name, bound in (("brier", 1e-12), ("aurc", 0.12)):
        key = f"{name}_stderr"
        assert twice[name][key] == pytest.approx(once[name][key], rel=bound), name


@solver
def no_answer():
    async def solve(state, generate):
        return state

    return solve


@scorer(
    metrics=[
        *(accuracy(), mean(), metrics.ece(), metrics.brier(), metrics.aurc()),
        *(metrics.coverage_at_risk(risk=0.5), metrics.calibration_loss()),
    ]
)
def given():
    async def score(state, target):
        known = state.metadata
        return Score(value="C" if known["right"][state.epoch - 1] else "I")

    return score


# Inspect also shows the metrics of the samples that are done so far, which may be few.
@pytest.mark.filterwarnings(
    "ignore:There are .* clusters:UserWarning",
    "ignore:The calibration loss is not defined:UserWarning",
)
def test_an_evaluation_has_all_metrics_of_all_epochs(tmp_path, rng):
    right, p = rng.random((40, 2)) < 0.6, rng.uniform(0.5, 1, 40)
    data = [
        Sample("?", metadata={"right": row.tolist(), "confidence": float(confidence)})
        for row, confidence in zip(right, p, strict=True)
    ]
    task = Task(data, solver=no_answer(), scorer=given(), epochs=Epochs(2, "mean"))
    (log,) = eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    found = {
        name: metric.value
        for scores in log.results.scores
        for name, metric in scores.metrics.items()
    }
    data = {"correct": right.ravel(), "confidences": np.repeat(p, 2)}
    assert found["ece"] == pytest.approx(um.ece(**data))
    assert found["aurc"] == pytest.approx(um.aurc(**data))
    assert found["brier"] == pytest.approx(np.mean((right - p[:, None]) ** 2))
    assert found["coverage_at_risk"] == um.coverage_at_risk(**data, risk=0.5)
    assert found["calibration_loss_lower"] < found["calibration_loss_upper"]
    assert {"ece_stderr", "brier_stderr", "aurc_stderr"} < found.keys()


@pytest.mark.filterwarnings("ignore:There are 2 clusters")
def test_letters_grades_and_few_scores():
    scores = scores_of(["C", "I", "P", "N", 0.25], [1.0, 0.0, 0.5, 0.0, 0.25])
    assert metrics.brier()(scores)["brier"] == 0
    assert metrics.brier()(scores[:1]) == {"brier": 0.0}
    with pytest.warns(UserWarning, match="calibration loss is not defined"):
        found = metrics.calibration_loss()(scores_of(["C", "C"], [0.9, 0.8]))
    assert np.isnan(found["calibration_loss"])
    with pytest.raises(ValueError, match="correct"):
        metrics.coverage_at_risk()(scores)


def test_wrong_confidences_are_named():
    with pytest.raises(ValueError, match=r'under "confidence".* NaN .* of sample 1'):
        metrics.ece()([*scores_of(["C"], [1.0]), *scores_of(["C"], [None], [1])])
    with pytest.raises(ValueError, match=r"`confidence` .* \[0, 1\].* 90, of sample 7"):
        metrics.ece()(scores_of(["C"], [90], [7]))
    with pytest.raises(ValueError, match=r"`confidence` .* 90%, of sample 7"):
        metrics.ece()(scores_of(["C"], ["90%"], [7]))
    with pytest.raises(ValueError, match="at least one sample"):
        metrics.ece()([])


def test_another_key_and_the_score_before_its_sample():
    (score,) = scores_of(["C"], [1.0])
    score.sample_metadata = {"confidence": 0.0, "sure": 0.5}
    assert metrics.brier()([score])["brier"] == 0
    assert metrics.brier(confidence="sure")([score])["brier"] == 0.25
