"""Samples of lm-evaluation-harness, and files that a script writes, are reported."""

import json
import pathlib

import numpy as np
import pytest
from scipy.special import softmax

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.reading._column_names import Choice

pytestmark = pytest.mark.usefixtures("own_directory")


def samples(logits, labels, as_text=True, **more):
    """Returns records with the fields that lm-evaluation-harness writes."""
    for index, (row, label) in enumerate(zip(logits, labels, strict=True)):
        pairs = [[str(ll), "False"] if as_text else [ll, False] for ll in row]
        subject = ["law", "medicine"][index % 2]
        yield {
            "doc_id": index,
            "doc": {"question": f"{index}?", "answer": label, "subject": subject},
            "target": str(label),
            "arguments": {"gen_args_0": {"arg_0": f"{index}?", "arg_1": " A"}},
            "resps": [[pair] for pair in pairs],
            "filtered_resps": pairs,
            "filter": "none",
            "metrics": ["acc", "acc_norm"],
            "doc_hash": f"{index:x}",
            "acc": float(np.argmax(row) == label),
            "acc_norm": 0.0,
            **more,
        }


def write(name, records):
    pathlib.Path(name).write_text("".join(json.dumps(each) + "\n" for each in records))


def questions(n, skill=2.0, seed=0):
    """Returns log-likelihoods of 4 options, and the number of the right one.

    By the rule of Bayes their softmax is calibrated.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    signs = rng.normal(-4, 1, [n, 4])
    signs[np.arange(n), labels] += skill
    return (skill * signs).round(4).tolist(), labels.tolist()


@pytest.mark.parametrize("as_text", [True, False])
def test_likelihoods_of_options_are_confidences(as_text):
    logits, labels = questions(60)
    write("samples.jsonl", samples(logits, labels, as_text))
    found = report.read_predictions("samples.jsonl")
    np.testing.assert_allclose(
        found.confidences, softmax(logits, axis=1).max(axis=1), rtol=1e-12
    )
    assert found.correct.tolist() == (np.argmax(logits, axis=1) == labels).tolist()
    assert (found.questions.name, found.questions.values) == ("doc_id", [*range(60)])
    assert "takes the largest probability of an option" in found.notes[0]
    assert {"acc_norm", "target", "resps"} <= {*found.left_out}
    ece = report.build(found).to_dict()["calibration"]["metrics"]["ece"]["value"]
    assert ece == pytest.approx(um.ece(labels, logits=logits))


def test_questions_may_have_different_numbers_of_options():
    logits = [[-1.0, -3.0, -2.5], [-2.0, -2.5], [-1000.0, -np.inf, -1001.0]]
    write("samples.jsonl", samples(logits, [0, 1, 0]))
    found = report.read_predictions("samples.jsonl")
    expected = [softmax(row).max() for row in logits]
    np.testing.assert_allclose(found.confidences, expected, rtol=1e-12)


def test_fewer_options_get_no_share_of_very_small_likelihoods():
    """The place of an option that a question lacks has a likelihood of 0."""
    logits = [[-1200.0, -1201.0], [-1.0, -2.0, -3.0]]
    write("samples.jsonl", samples(logits, [0, 1]))
    found = report.read_predictions("samples.jsonl")
    np.testing.assert_allclose(found.confidences, [0.731059, 0.665241], atol=5e-7)


def test_confidences_of_the_file_come_first():
    logits, labels = questions(4)
    write("samples.jsonl", samples(logits, labels, confidence=0.25, sure=0.5))
    found = report.read_predictions("samples.jsonl")
    assert found.confidences.tolist() == [0.25] * 4
    assert found.notes == ()
    assert "filtered_resps" in found.left_out
    found = report.read_predictions("samples.jsonl", Choice(confidence="sure"))
    assert found.confidences.tolist() == [0.5] * 4


PAIR = ["-1.5", "True"]
BAD = {
    "generated": ({"filtered_resps": ["455"]}, [], "generated answers have none, so"),
    "generated text": ({"filtered_resps": ["4", "5"]}, [], "Received: ['4', '5'];"),
    "one option": ({"filtered_resps": [PAIR]}, [], "each of at least two options"),
    "no likelihood": ({"filtered_resps": [PAIR, ["?", "True"]]}, [], "line 3: `filte"),
    "NaN": (
        {"filtered_resps": [PAIR, ["nan", "True"]]},
        [],
        "line 3: `filtered_resps`",
    ),
    "all impossible": ({"filtered_resps": [["-inf", "True"]] * 2}, [], "line 3: `filt"),
    "an empty pair": ({"filtered_resps": [PAIR, []]}, [], "line 3: `filtered_resps`"),
    "an object": ({"filtered_resps": [PAIR, {}]}, [], "line 3: `filtered_resps`"),
    "null": ({"filtered_resps": None}, [], "Received: None;"),
    "many points": ({"acc": 5}, [], "line 3: `acc` must be true or false, a number i"),
    "percent": ({}, ["--percent"], "--percent needs a column of confidences"),
    "another answer": (
        {},
        ["--correct", "acc_norm"],
        "`filtered_resps` gives the confidence only of multiple-choice answers",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_samples_say_what_was_found(case, capsys):
    fields, options, message = BAD[case]
    records = list(samples(*questions(4)))
    records[2] |= fields
    write("samples.jsonl", records)
    line = fails(capsys, "samples.jsonl", *options)
    assert line.startswith("error: samples.jsonl: ")
    assert message in line


@pytest.mark.usefixtures("undrawn")
def test_generated_answers_need_confidences(capsys):
    records = [
        {"doc_id": 0, "target": "7", "filtered_resps": ["7"], "exact_match": 1.0}
    ] * 60
    write("samples.jsonl", records)
    line = fails(capsys, "samples.jsonl")
    assert "for other answers, name a column of confidences with --confidence" in line
    write("samples.jsonl", [{**each, "sure": 0.5} for each in records])
    run("samples.jsonl", "--confidence", "sure", "--out", "there")
    assert numbers("there")["calibration"]["accuracy"] == 1.0


# Is it calibrated, whom does it fail, from which confidence on may it answer alone?


@pytest.mark.usefixtures("undrawn")
def test_report_of_samples_answers_the_questions():
    logits, labels = questions(400, skill=3.0)
    write("samples.jsonl", samples(logits, labels))
    out = run("samples.jsonl", "--group", "doc.subject", "--out", "there")
    found = numbers("there")
    values = {tile["title"]: tile["value"] for tile in found["tiles"]}
    data = {
        "correct": np.argmax(logits, axis=1) == labels,
        "confidences": softmax(logits, axis=1).max(axis=1),
    }
    threshold = um.threshold_at_risk(**data, risk=0.05, delta=0.05)
    above = found["selective_prediction"]["promise"]["metrics"]["threshold_at_risk"]
    assert above["value"] == pytest.approx(threshold)
    assert values["Answering alone at 5% risk"].startswith("Above 0.")
    assert {row["name"] for row in found["groups"]["rows"]} == {
        "doc.subject=law",
        "doc.subject=medicine",
    }
    assert "Groups: " in out


# Which of two prompts is better calibrated?


@pytest.mark.first(1, "thorough")
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("by", ["script", "harness"])
def test_prompts_are_compared_on_the_same_questions(by):
    logits, labels = questions(600)
    for name, factor in (("first.jsonl", 1.0), ("second.jsonl", 4.0)):
        scaled = (factor * np.array(logits)).tolist()
        records = list(samples(scaled, labels))
        if by == "script":
            sure = softmax(scaled, axis=1).max(axis=1).tolist()
            records = [
                {"question": each["doc"]["question"], "correct": right, "confidence": p}
                for each, right, p in zip(
                    records, [each["acc"] == 1 for each in records], sure, strict=True
                )
            ]
        write(name, records)
    run("first.jsonl", "--compare", "second.jsonl", "--out", "there")
    found = numbers("there")
    assert found["comparison"]["examples"].startswith("The same questions: both files")
    assert found["comparison"]["more_often_right"] is None
    tile = found["tiles"][-1]
    assert tile["title"] == "Compared with second.jsonl"
    assert tile["value"] == "No clear difference in accuracy"
