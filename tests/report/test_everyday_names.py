"""Files with names that people use are read, or refused with a command to type."""

import json
import math
import pathlib
import re
import shlex

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, write_csv
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Predictions,
    Regression,
    Survival,
)
from uncertainty_metrics._report.reading._column_names import Choice

pytestmark = pytest.mark.usefixtures("own_directory")

NUMBERS = (1, 0.9), (0, 0.2), (1, 0.6)
TWO = ("yes", 0.9, 0.1), ("no", 0.2, 0.8), ("yes", 0.6, 0.4)
# The header, the rows, and what is read.
READ = [
    ("y_test,y_pred_proba", NUMBERS, Predictions),
    ("actual,prediction_proba", NUMBERS, Predictions),
    ("truth,proba", NUMBERS, Predictions),
    ("ground_truth,probability", NUMBERS, Predictions),
    ("default,pd", NUMBERS, Predictions),
    ("outcome,risk", NUMBERS, Predictions),
    ("status,p", NUMBERS, Predictions),
    ("truth,.pred_yes,.pred_no", TWO, Predictions),
    ("actual,prob.yes,prob.no", TWO, Predictions),
    ("label,p,status", [(1, 0.9, 5), (0, 0.2, 6)], Predictions),
    ("label,p,risk", [(1, 0.9, 5), (0, 0.2, 6)], Predictions),
    ("y,mu,sigma", [(1.5, 1.2, 0.5), (2.5, 1.2, 0.5)], Regression),
    ("y_test,y_pred,y_std", [(1.5, 1.2, 0.5), (2.5, 1.2, 0.5)], Regression),
    ("y,mean,std,y_pred,sigma", [(1.5, 1.2, 0.5, 9, 9)] * 2, Regression),
    ("exact_match/v1/score,confidence,ground_truth", [(1, 0.9, "a")] * 2, Confidences),
    ("correct,confidence,status", [(1, "90%", "ok"), (0, "20%", "ok")], Confidences),
]


@pytest.mark.parametrize(("header", "rows", "kind"), READ)
def test_everyday_names_are_read(header, rows, kind):
    write_csv("a.csv", header.split(","), rows)
    found = report.read_predictions("a.csv")
    assert isinstance(found, kind)
    if kind is Predictions:
        shown = found.values if found.values.ndim == 1 else found.values[:, 0]
        assert shown.tolist() == [row[1] for row in rows]
        first = found.classes[0] if found.classes else 1
        right = [1 - k if found.classes else k for k in found.labels.tolist()]
        assert right == [int(row[0] == first) for row in rows]
    elif kind is Regression:
        assert (found.mean.tolist(), found.values.tolist()) == ([1.2] * 2, [0.5] * 2)
    else:
        assert found.confidences[0] == 0.9


# The header, and what the command to type says after the name of the file.
REFUSED = [
    ("outcome,status,p", "--label outcome"),
    ("died in 30 days,p", "--label 'died in 30 days'"),
    ("truth,score", "--label truth --probabilities score"),
    ("points,confidence", "--correct points"),
    ("y,mean,var 1,var 2", "--mean mean --stddev 'var 1'", "--mean", "mean"),
    *(
        pytest.param(case, marks=pytest.mark.thorough)
        for case in (
            ("y,mean,std,p", "--probabilities p"),
            ("y,mu,y_pred,std", "--mean mu --stddev std"),
        )
    ),
    (
        "months,died,score",
        "--horizon 2 --times months --event died --risk score",
        *("--horizon", "2"),
    ),
    (
        "time,duration,event,survival",
        "--horizon 1.5 --times time --event event --survival survival",
        *("--horizon", "1.5"),
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_a_command_that_can_be_pasted(case, capsys):
    header, typed, *options = case
    names = header.split(",")
    rows = {
        2: NUMBERS,
        3: [(1, 0, 0.9), (2, 1, 0.2)],
        4: [(1, 0.9, 0.6, 0.7), (0, 0.2, 1, 0.8)],
    }[len(names)]
    if header.startswith("outcome"):
        rows = [(1, 0, 0.9), (0, 1, 0.2)]
    elif header.startswith("time"):
        rows = [(1, 2, 1, 0.7), (2, 3, 0, 0.8)]
    write_csv("my file.csv", names, rows)
    message = fails(capsys, "my file.csv", *options)
    commands = re.findall("`(python[^`]+)`", message)
    start = "python -m uncertainty_metrics report 'my file.csv' "
    assert commands[0] == start + typed
    assert main([*shlex.split(commands[0])[3:], "--out", "out"]) == 0


TEXT = np.array(["no", "yes", "no", "yes"])
P = np.array([0.1, 0.9, 0.4, 0.6])
PAIR = {"a_p0": 1 - P, "a_p1": P}
# The columns of a file, its ending, the commands to type, and the options given.
SEVERAL = [
    (
        {"y": TEXT, "p": P},
        "csv",
        ["--positive-class no", "--positive-class yes"],
    ),
    (
        {"answer": TEXT, "p": P},
        "csv",
        ["--label answer --positive-class no", "--label answer --positive-class yes"],
        *("--label", "answer"),
    ),
    (
        {"y": TEXT, "probabilities": P},
        "npz",
        ["--positive-class no", "--positive-class yes"],
    ),
    (
        {"y": [0, 1, 0, 1], "p_0": 1 - P, "p_1": P, "prob_0": P, "prob_1": 1 - P},
        "csv",
        ["--probabilities p_0,p_1", "--probabilities prob_0,prob_1"],
    ),
    (
        {"y": [0, 1, 0, 1], "p": P, "logit": P},
        "csv",
        ["--probabilities p", "--probabilities logit"],
    ),
    (
        {"y": TEXT, "p_no": 1 - P, "p_yes": P, "prob_no": P, "prob_yes": 1 - P},
        "csv",
        ["--probabilities p_no,p_yes", "--probabilities prob_no,prob_yes"],
    ),
    (
        {"y": [0, 1, 0, 1]}
        | {f"{k}_{i}": P if i < 2 else 0 * P for k in ("p", "q.prob") for i in range(5)}
        | {f"prob_{i}": 1 - P if i < 2 else 0 * P for i in range(5)},
        "csv",
        ["--probabilities 'p_*'", "--probabilities 'prob_*'"],
    ),
    (
        {"y": [0, 1, 0, 1], "probs": P, "logits": P},
        "npz",
        ["--probabilities probs", "--probabilities logits"],
    ),
    (
        {"truth": [0, 1, 0, 1], "scores": P},
        "npz",
        ["--label truth --probabilities scores"],
        *("--label", "truth"),
    ),
    (
        {"y": TEXT, "probabilities": np.stack([1 - P, P], 1)[:, [0, 1, 1]] / 2},
        "npz",
        ["--classes no,yes,CLASS_2"],
    ),
]


@pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case[2][0])
def test_a_command_for_each_meaning_of_a_file(case, capsys):
    columns, ending, expected, *options = case
    if ending == "npz":
        np.savez("a.npz", **columns)
    else:
        write_csv("a.csv", list(columns), zip(*columns.values(), strict=True))
    message = fails(capsys, f"a.{ending}", *options)
    commands = re.findall("`(python[^`]+)`", message)
    start = f"python -m uncertainty_metrics report a.{ending} "
    assert [command.removeprefix(start) for command in commands] == expected
    if "CLASS_2" not in commands[0]:
        words = shlex.split(commands[0])[5:]
        names = [word[2:].replace("-", "_") for word in words[::2]]
        choice = Choice(**dict(zip(names, words[1::2], strict=True)))
        found = report.read_predictions(f"a.{ending}", choice)
        assert isinstance(found, Predictions)


# The header, the rows, the options, and what is read.
NAMED = [
    ("y,m,s", [(1.5, 1.2, 0.5), (2.5, 1.2, 0.5)], {"mean": "m", "stddev": "s"}),
    ("y,m,std", [(1.5, 1.2, 0.5), (2.5, 1.2, 0.5)], {"mean": "m", "variance": "std"}),
    ("y,p,mean,s", [(1, 0.9, 1.2, 0.5), (0, 0.2, 1.2, 0.5)], {"stddev": "s"}),
    (
        "t,time,event,r",
        [(1, 5, 1, 0.9), (2, 5, 0, 0.2)],
        {"times": "t", "risk": "r", "horizon": 1.5},
    ),
    (
        "t,e,risk",
        [(1, 1, 0.1), (2, 0, 0.8)],
        {"times": "t", "event": "e", "survival": "risk", "horizon": 1.5},
    ),
]


@pytest.mark.parametrize("is_archive", [False, True])
@pytest.mark.parametrize(("header", "rows", "options"), NAMED)
def test_every_role_has_an_option(header, rows, options, is_archive):
    names = header.split(",")
    if is_archive:
        np.savez("a.npz", **dict(zip(names, np.transpose(rows), strict=True)))
    else:
        write_csv("a.csv", names, rows)
    found = report.read_predictions(
        "a.npz" if is_archive else "a.csv", Choice(**options)
    )
    if isinstance(found, Survival):
        assert found.times.tolist() == [1, 2]
        assert found.risks.tolist() == pytest.approx([0.9, 0.2])
        assert found.event.tolist() == [1, 0]
    else:
        assert (found.mean.tolist(), found.values.tolist()) == ([1.2] * 2, [0.5] * 2)
        assert found.kind == ("variance" if "variance" in options else "stddev")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--times", "t"], "needs --horizon.*--times t --event e --risk r`"),
        (["--mean", "t", "--horizon", "1"], "--horizon is for a survival model"),
        (["--mean", "t", "--correct", "e"], "options of one kind only"),
        (["--mean", "t", "--probabilities", "r"], "options of one kind only"),
        (["--event", "other", "--horizon", "1"], "there is no column `other`"),
    ],
)
def test_options_that_do_not_fit(options, message, capsys):
    write_csv("a.csv", ["t", "e", "r"], [(1, 1, 0.9), (2, 0, 0.2)])
    assert re.search(message, fails(capsys, "a.csv", *options))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_percent_signs_beside_plain_numbers(ending, capsys):
    """0.9 beside "90%" may be 0.9%, and 85 may be 85%: the file must say it."""

    def write(*values):
        if ending == "csv":
            write_csv("a.csv", ["correct", "confidence"], [(1, v) for v in values])
        else:
            lines = [{"correct": 1, "confidence": value} for value in values]
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            pathlib.Path("a.jsonl").write_text(text)

    write("90%", 0, "0%", " 20 %")
    found = report.read_predictions(f"a.{ending}")
    assert found.confidences.tolist() == [0.9, 0, 0, 0.2]
    for values in (("90%", 0.85), (0.85, "90%"), ("90%", 85), (1, "90%")):
        write(*values)
        for options in ((), ("--percent",)):
            message = fails(capsys, f"a.{ending}", *options)
            assert "the column `confidence` has numbers with the sign %" in message
            assert f"'90%' in line {values.index('90%') + 1 + (ending == 'csv')}" in (
                message
            )
    write("90%", "20%")
    message = fails(capsys, f"a.{ending}", "--percent")
    assert "leave out the option" in message


FLOATS = (-1e-9, 1.0000001, 0.5, 0.25)


def write_table(name, columns):
    """Writes columns as CSV; as .npz, those of labels and forecasts as arrays."""
    if name.endswith("csv"):
        write_csv(name, list(columns), zip(*columns.values(), strict=True))
        return
    arrays = {}
    for key, values in columns.items():
        start = {"label": "labels", "prob": "probabilities"}.get(key.split("_")[0])
        arrays.setdefault(start or key, []).append(values)
    joined = {
        key: np.stack(each, 1) if key in ("labels", "probabilities") else each[0]
        for key, each in arrays.items()
    }
    np.savez(name, **{key: np.asarray(array) for key, array in joined.items()})


# The columns, the options, and where the column of forecasts is in the model.
KINDS = {
    "multilabel": ({"label_a": (0, 1, 0, 1)}, "prob_a", {"multilabel": True}),
    "survival": (
        {"time": (1, 2, 3, 4), "event": (0, 1, 0, 1)},
        "survival",
        {"horizon": 2.0},
    ),
    "risk": ({"time": (1, 2, 3, 4), "event": (0, 1, 0, 1)}, "risk", {"horizon": 2.0}),
    "answers": ({"correct": (0, 1, 0, 1)}, "confidence", {}),
    "classes": ({"label": (0, 1, 0, 1)}, "probabilities", {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_rounding_and_nan_in_each_kind_of_file(kind, ending):
    columns, forecast, options = KINDS[kind]
    if kind == "classes" and ending == "npz":
        columns = {"y": columns["label"]}
    name, choice = f"a.{ending}", Choice(**options)
    write_table(name, {**columns, forecast: FLOATS})
    found = report.read_predictions(name, choice)
    field = {"multilabel": "probabilities", "answers": "confidences"}
    field = field.get(kind, "values" if kind == "classes" else "risks")
    expected = np.array([0, 1, 0.5, 0.25])
    expected = 1 - expected if kind == "survival" else expected
    assert getattr(found, field).reshape(-1).tolist() == expected.tolist()
    write_table(name, {**columns, forecast: (0.5, 0.25, math.nan, 0.5)})
    place = f"line 4, column `{forecast}` must be a number. Received: NaN"
    if ending == "npz":
        place = "example 2" if kind == "answers" else r"nan at \[2"
    with pytest.raises(report.ReportError, match=place):
        report.Report(report.read_predictions(name, choice))
    write_table(name, {**columns, forecast: (0.5, 1.00001, 0.25, 0.5)})
    with pytest.raises(report.ReportError, match=r"must be in \[0, 1\]"):
        report.Report(report.read_predictions(name, choice))


def test_a_time_that_is_nan():
    write_csv("a.csv", ["time", "event", "risk"], [(1, 0, 0.5), ("nan", 1, 0.5)])
    with pytest.raises(report.ReportError, match="line 3, column `time` must be a n"):
        report.read_predictions("a.csv", Choice(horizon=1.0))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rounded_probabilities(ending, capsys):
    """What float32 has computed may leave [0, 1] by its rounding, but by no more."""

    def write(*values):
        if ending == "csv":
            write_csv("a.csv", ["correct", "confidence"], [(1, v) for v in values])
        else:
            lines = [f'{{"correct": 1, "confidence": {v}}}\n' for v in values]
            pathlib.Path("a.jsonl").write_text("".join(lines))

    write(1.0000009, -0.0000009, 0.5)
    found = report.read_predictions(f"a.{ending}")
    assert found.confidences.tolist() == [1, 0, 0.5]
    write(0.5, 1.000002)
    assert "line" in (message := fails(capsys, f"a.{ending}"))
    assert "`confidence` must be in [0, 1]" in message


def test_pixels_without_clusters_have_a_note(rng):
    labels, p = rng.integers(0, 3, (6, 4, 5)), rng.dirichlet([1, 1, 1], (6, 4, 5))

    def notes(**options):
        return " ".join(um.report(labels, p, **options).to_dict()["notes"])

    assert "The labels have shape [6, 4, 5]. Pixels of one image, or" in notes()
    assert "Pixels" not in notes(clusters=np.arange(6))
