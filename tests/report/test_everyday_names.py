"""Files with names that people use are read, or refused with a command to type."""

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
