"""The data that are shipped with the package load in any folder, in both halves."""

import json
import pathlib

import numpy as np
import pytest

import uncertainty_metrics
import uncertainty_metrics.numpy as um

DATA = pathlib.Path(uncertainty_metrics.__file__).parent / "data"


def test_both_halves_have_the_same_datasets():
    assert uncertainty_metrics.datasets is um.datasets
    assert "datasets" in dir(um)


def test_digits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels, logits, classes = um.datasets.digits()
    with np.load(DATA / "digits_predictions.npz") as data:
        np.testing.assert_array_equal(labels, data["labels"])
        np.testing.assert_array_equal(logits, data["logits"])
    assert labels.dtype == np.int64  # Differences of unsigned labels would wrap around.
    assert logits.shape == (len(labels), len(classes))
    assert set(classes[labels]) == set("0123456789")


@pytest.mark.parametrize("other_prompt", [False, True])
def test_answers(other_prompt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = um.datasets.answers(other_prompt=other_prompt)
    name = "answers_of_other_prompt" if other_prompt else "answers"
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    lines = [json.loads(line) for line in lines]
    assert found.correct.dtype == bool
    assert found.correct.tolist() == [line["correct"] for line in lines]
    assert found.confidences.tolist() == [line["confidence"] for line in lines]
    assert found.operation.tolist() == [line["operation"] for line in lines]
    assert found.questions.tolist() == [line["question"] for line in lines]


def test_both_prompts_have_the_same_questions():
    first, second = (um.datasets.answers(other_prompt=other) for other in (False, True))
    np.testing.assert_array_equal(first.questions, second.questions)
    assert not np.array_equal(first.confidences, second.confidences)
