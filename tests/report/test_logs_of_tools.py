"""Logs of other tools are read as the tools write them."""

import json
import math
import pathlib
import zipfile

import numpy as np
import pandas as pd
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.reading import _large_files
from uncertainty_metrics._report.reading._column_names import Choice

pytestmark = pytest.mark.usefixtures("own_directory")

DATA = pathlib.Path(__file__).parents[2] / "docs/data"
LABELS, P = [1, 0, 1, 0, 1], [0.9, 0.2, 0.6, 0.5, 1.0]
FRAME = pd.DataFrame({"label": LABELS, "prob": P})


def test_logs_of_inspect():
    """The .eval archive is packed by zstd, as Inspect does it now."""
    found = um.read_answers(DATA / "inspect_sums.eval")
    log = json.loads((DATA / "inspect_sums.json").read_text("utf-8"))
    of_json = um.read_answers(DATA / "inspect_sums.json")
    expected = [each["scores"]["judged"] for each in log["samples"]]
    values = [{"C": 1.0, "P": 0.5, "I": 0.0}[each["value"]] for each in expected]
    assert of_json.correct.tolist() == values
    sure = [each["metadata"]["confidence"] for each in expected]
    assert of_json.confidences.tolist() == sure
    # The shorter log has the first four questions of the other in both epochs.
    first = np.isin(found.questions, of_json.questions)
    assert found.confidences[first].tolist() == sure
    model = report.read_predictions(DATA / "inspect_sums.eval")
    assert (model.clusters.name, len(set(model.clusters.values))) == ("id", 10)
    assert "score of `judged`" in model.notes[0]


def test_confidence_of_inspect_by_tokens():
    """The log has ten replies of one token each, and no other confidence."""
    model = report.read_predictions(DATA / "inspect_logprobs.eval")
    assert np.all((model.confidences > 0.49) & (model.confidences < 1))
    assert "the probability of the whole reply" in " ".join(model.notes)
    assert model.clusters is None


def inspect_log(*samples):
    return {"version": 2, "status": "success", "eval": {}, "samples": [*samples]}


def sample(number, **scores):
    return {
        "id": number,
        "epoch": 1,
        "metadata": {"Confidence": 0.5 + number / 10},
        "scores": {name: {"value": value} for name, value in scores.items()},
    }


def test_inspect_with_several_scorers(capsys):
    """The user chooses one; samples without a score are left out."""
    samples = [sample(k, match=m, judge=0.5) for k, m in enumerate("CIN")]
    text = json.dumps(inspect_log(*samples, sample(3)), indent=2)
    with zipfile.ZipFile("a.eval", "w") as archive:  # Before zstd, without packing.
        for k, each in enumerate([*samples, sample(3)]):
            archive.writestr(f"samples/{k}_epoch_1.json", json.dumps(each))
    pathlib.Path("a.json").write_text(text)
    message = fails(capsys, "a.json")
    assert "--correct scores.match" in message
    for name in ("a.json", "a.eval"):
        found = report.read_predictions(name, Choice(correct="scores.match"))
        assert found.correct.tolist() == [True, False, False]
        assert found.confidences.tolist() == [0.5, 0.6, 0.7]
        assert found.notes[0] == "Left out: 1 samples without a score."


def test_several_logs_of_inspect():
    """Equal ids are one question in logs of one task, and others in another task."""
    of_task = {"a": "sums", "b": "sums", "c": "words"}
    for name, task in of_task.items():
        samples = [sample(k, match=m) for k, m in enumerate("CIC")]
        samples += [sample(3)] * (name == "a")
        log = inspect_log(*samples) | {"eval": {"task": task}}
        pathlib.Path(f"{name}.json").write_text(json.dumps(log))
    with zipfile.ZipFile("c.eval", "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": log["eval"]}))
        for k, each in enumerate(samples):
            archive.writestr(f"samples/{k}_epoch_1.json", json.dumps(each))

    def read(*names):
        return _large_files.read_stream([pathlib.Path(name) for name in names]).result()

    together = read("a.json", "b.json")
    assert together.clusters.name == "id"
    assert [*together.clusters.values] == [f"sums {k}" for k in (0, 1, 2, 0, 1, 2)]
    assert together.notes[0].startswith("`correct` is the score of `match`")
    assert "a.json: Left out: 1 samples without a score." in together.notes
    for third in ("c.json", "c.eval"):
        found = read("a.json", "b.json", third)
        assert len({*found.clusters.values}) == 6
        assert read("a.json", third).clusters is None
    with open("d.jsonl", "w") as file:  # The rows of another file depend on nothing.
        for k in range(2):
            record = {"id": 0, "correct": k == 0, "confidence": 0.5}
            file.write(json.dumps(record) + "\n")
    assert len({*read("a.json", "b.json", "d.jsonl").clusters.values}) == 5


def test_a_report_of_several_logs_has_the_intervals_of_clusters():
    samples = [sample(k % 5, match="CI"[k % 3 == 0]) for k in range(40)]
    whole = inspect_log(*samples) | {"eval": {"task": "sums"}}
    pathlib.Path("whole.json").write_text(json.dumps(whole))
    for name, some in (("a", samples[:20]), ("b", samples[20:])):
        log = {**whole, "samples": some}
        pathlib.Path(f"{name}.json").write_text(json.dumps(log))
    together = _large_files.read_stream(
        [pathlib.Path("a.json"), pathlib.Path("b.json")]
    ).result()
    alone = report.read_predictions("whole.json")
    expected, found = (
        report.Report(model).to_dict()["intervals"] for model in (alone, together)
    )
    assert found == expected


def test_too_many_answers_for_clusters(monkeypatch):
    """A sample of the rows would have parts of clusters."""
    log = inspect_log(*(sample(k, match="C") for k in range(4)))
    for name in "ab":
        pathlib.Path(f"{name}.json").write_text(json.dumps(log))
    for name in ("_MOST_ROWS", "_LEAST_ROWS"):
        monkeypatch.setattr(_large_files, name, 5)
    read = _large_files.read_stream([pathlib.Path("a.json"), pathlib.Path("b.json")])
    with pytest.raises(report.ReportError, match="read fewer logs together"):
        read.result()


BAD_LOGS = {
    "no samples": (inspect_log(), "must hold samples with scores. Received: 0 samples"),
    "a score of text": (
        inspect_log(sample(1, match="good")),
        "must be C, P, I, N, true, false or a number. Received: 'good'",
    ),
}


@pytest.mark.parametrize("case", BAD_LOGS)
def test_bad_logs_of_inspect(case, capsys):
    log, expected = BAD_LOGS[case]
    pathlib.Path("a.json").write_text(json.dumps(log))
    assert expected in fails(capsys, "a.json")


def test_damaged_archive_of_inspect(capsys):
    packed = (DATA / "inspect_sums.eval").read_bytes()
    pathlib.Path("a.eval").write_bytes(packed[:600] + b"\0" * 90 + packed[690:])
    assert "damaged log of Inspect" in fails(capsys, "a.eval")
    pathlib.Path("a.eval").write_bytes(packed[:600])
    assert "not a log of Inspect" in fails(capsys, "a.eval")


def test_batches_of_chat_completions(capsys):
    path = DATA / "chat_completions.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found = um.read_answers(path)
    choice = lines[3]["response"]["body"]["choices"][0]
    tokens = [token["logprob"] for token in choice["logprobs"]["content"]]
    assert found.correct is None
    assert found.confidences[3] == pytest.approx(math.exp(sum(tokens)))
    assert found.replies[3] == choice["message"]["content"]
    assert found.questions[3] == lines[3]["custom_id"]
    assert "add a field `correct`" in fails(capsys, path)
    with open("own.jsonl", "w") as file:
        for k, line in enumerate(lines):
            file.write(json.dumps({**line, "correct": k % 2 == 0}) + "\n")
    model = report.read_predictions("own.jsonl")
    np.testing.assert_array_equal(model.confidences, found.confidences)
    assert model.questions.name == "custom_id"


def response(*messages, **others):
    """Returns the body of a response of the Responses API, with text in parts."""
    output = [{"type": "reasoning", "id": "rs", "summary": [{"text": "no reply"}]}]
    for parts in messages:
        content = [
            {
                "type": "output_text",
                "text": text,
                "annotations": [],
                "logprobs": [
                    {"token": "t", "logprob": x, "bytes": [116], "top_logprobs": []}
                    for x in logprobs
                ],
            }
            for text, logprobs in parts
        ]
        message = {"type": "message", "role": "assistant", "status": "completed"}
        output.append({**message, "content": content})
    return {"id": "resp", "object": "response", "output": output, **others}


@pytest.mark.parametrize("is_batch", [True, False])
def test_responses_with_log_probabilities(is_batch, capsys):
    bodies = [
        response([("Paris", [-0.1, -0.2])]),
        response([("It is ", [-0.3]), ("Rome", [-0.5, 0.0])], [("!", [-0.25])]),
    ]
    lines = [
        {"custom_id": f"q{k}", "response": {"status_code": 200, "body": body}}
        if is_batch
        else {"id": f"q{k}", "output": body["output"]}
        for k, body in enumerate(bodies)
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    pathlib.Path("a.jsonl").write_text(text)
    found = um.read_answers("a.jsonl")
    assert found.correct is None
    assert found.replies.tolist() == ["Paris", "It is Rome!"]
    expected = [math.exp(-0.1 - 0.2), math.exp(-0.3 - 0.5 - 0.25)]
    assert found.confidences.tolist() == pytest.approx(expected)
    if is_batch:
        assert found.questions.tolist() == ["q0", "q1"]
    assert "add a field `correct`" in fails(capsys, "a.jsonl")
    text = "".join(f"{json.dumps({**line, 'correct': True})}\n" for line in lines)
    pathlib.Path("a.jsonl").write_text(text)
    model = report.read_predictions("a.jsonl")
    assert model.confidences.tolist() == pytest.approx(expected)
    assert "the probability of the whole reply" in " ".join(model.notes)


def test_responses_that_were_asked_for_no_log_probabilities(capsys):
    """The API then writes empty lists."""
    line = {"correct": True, "response": {"body": response([("Paris", [])])}}
    pathlib.Path("a.jsonl").write_text(f"{json.dumps(line)}\n")
    assert "must say how sure each answer is" in fails(capsys, "a.jsonl")


def test_tables_of_mlflow_and_wandb():
    for name in ("mlflow_answers.json", "wandb_answers.table.json"):
        table = json.loads((DATA / name).read_text("utf-8"))
        frame = pd.DataFrame(table["data"], columns=table["columns"])
        found = um.read_answers(DATA / name)
        right = "correct" if "correct" in frame else "exact_match/score"
        assert found.correct.tolist() == frame[right].astype(bool).tolist()
        assert found.confidences.tolist() == frame["confidence"].tolist()


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("orient", ["split", "records", "index", "columns", "table"])
def test_frames_of_pandas(orient, indent):
    FRAME.to_json("a.json", orient=orient, indent=indent)
    found = report.read_predictions("a.json")
    assert found.labels.tolist() == LABELS
    assert found.values.tolist() == P


def test_rows_without_names(capsys):
    FRAME.to_json("a.json", orient="values")
    assert "Received: 0, 1" in fails(capsys, "a.json")
    FRAME.rename(columns={"prob": "p0"}).assign(p1=P).to_json("a.json", orient="values")
    found = report.read_predictions("a.json", Choice(label="0", probabilities="2"))
    assert found.labels.tolist() == LABELS
    assert found.values.tolist() == P


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_vectors_of_spark(ending):
    lines = (DATA / "spark_predictions.json").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    found = report.read_predictions(DATA / f"spark_predictions.{ending}")
    np.testing.assert_array_equal(found.labels, [row["label"] for row in rows])
    expected = [row["probability"]["values"] for row in rows]
    np.testing.assert_array_equal(found.values, expected)


def test_vectors_in_text():
    cells = ['"(3,[0,2],[0.2,0.8])"', '"[0.3,0.2,0.5]"', "[0.1 0.1 0.8]"]
    text = "label,probability,note\n"
    text += "".join(f'{k},{cell},"a, b"\n' for k, cell in enumerate(cells))
    pathlib.Path("a.csv").write_text(text)
    found = report.read_predictions("a.csv")
    assert found.values.tolist() == [[0.2, 0, 0.8], [0.3, 0.2, 0.5], [0.1, 0.1, 0.8]]
    assert found.labels.tolist() == [0, 1, 2]


def test_vectors_of_other_lengths_name_the_line(capsys):
    pathlib.Path("a.csv").write_text('label,probability\n0,"[0.3,0.7]"\n1,[0.5]\n')
    expected = "line 3, column `probability` must be a list of 2 numbers"
    assert expected in fails(capsys, "a.csv")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_percent_in_utf_16(ending):
    if ending == "csv":
        text = "label\tprob\n1\t90%\n0\t20%\n"
    else:
        text = '{"label": 1, "prob": "90%"}\n{"label": 0, "prob": "20%"}\n'
    pathlib.Path(f"a.{ending}").write_text(text, encoding="utf-16")
    found = report.read_predictions(f"a.{ending}")
    assert found.values.tolist() == [0.9, 0.2]


def test_read_answers_refuses_other_files():
    FRAME.to_csv("a.csv", index=False)
    with pytest.raises(ValueError, match=r"a.csv: the file must hold answers"):
        um.read_answers("a.csv")
