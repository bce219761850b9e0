"""Names with characters that cannot be shown: escaped in all that a report writes."""

import io
import json
import pathlib
from xml.etree import ElementTree

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import answers, calibrated, examples, forecasts
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.page import _picture_files, _svg

pytestmark = pytest.mark.usefixtures("own_directory")

# A line break of spreadsheets, control characters, one that XML does not allow, a lone
# surrogate, and one that reverses the direction of writing.
ODD = "a\x0b\x00\x07\x1b\ufffe\ud800\u202ez"
ESCAPED = "a\\x0b\\x00\\x07\\x1b\\ufffe\\ud800\\u202ez"


def check(report, times):
    """Checks text and numbers, which must have the escaped name."""
    texts = (report.summary(), repr(report))
    numbers = json.dumps(report.to_dict(), ensure_ascii=False)
    for text in (*texts, numbers):
        text.encode()
        assert all(c.isprintable() for c in text.replace("\n", ""))
    assert json.dumps(ESCAPED)[1:-1] in numbers
    assert texts[0].count(ESCAPED) >= times


@pytest.mark.thorough
def test_page_and_pictures_show_odd_names_escaped(monkeypatch):
    drawn = []

    def svg(figure):
        drawn.append(real(figure))
        return drawn[-1]

    real = _svg.svg
    monkeypatch.setattr(_svg, "svg", svg)
    files = ("reliability_diagram.png", "calibration_by_group_diagram.png")
    few = [p for p in _picture_files.pictures_of("confidences") if p.file in files]
    monkeypatch.setattr(_picture_files, "pictures_of", lambda task: few)
    data = answers(150)
    group = np.array([ODD, ESCAPED, "$x"], object)
    report = um.report(
        **data,
        groups={ODD: group[np.arange(150) % 3]},
        name=ODD,
        compare={"$x": answers(150, seed=1)},
    )
    check(report, 6)
    sizes = {row["name"]: row["size"] for row in report.to_dict()["groups"]["rows"]}
    assert sorted(sizes.values()) == [50, 50, 50]  # Different names stay different.
    assert f"{ESCAPED}={ESCAPED}" in sizes
    for path in report.save("out"):
        assert path.stat().st_size > 0
    page = pathlib.Path("out/report.html").read_text("utf-8")
    assert not set(ODD[1:-1]) & set(page)
    written = json.loads(pathlib.Path("out/report.json").read_text("utf-8"))
    assert written["source"] == ESCAPED
    assert len(drawn) == 2
    for picture in drawn:
        ElementTree.fromstring(picture)
        assert ESCAPED[:8] in picture  # A picture has no room for a longer name.


CASES = {
    "name": (answers(60), {"name": ODD}, 1),
    "attribute": (answers(60), {"groups": {ODD: [0, 1] * 30}}, 2),
    "group": (answers(60), {"groups": {"g": [ODD, "b"] * 30}}, 1),
    "group of words": (answers(60), {"groups": {"g": np.array([ODD, "b"] * 30)}}, 1),
    "class": (examples(60), {"classes": [ODD, "b", "c"]}, 1),
    "other": (answers(60), {"compare": {ODD: answers(60, seed=1)}}, 1),
    "labels": (
        {**examples(60), "labels": np.array([ODD, "b", "c"])[np.arange(60) % 3]},
        {},
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_text_and_numbers_show_odd_names_escaped(case):
    data, more, times = CASES[case]
    check(um.report(**data, **more), times)


def test_other_tasks_show_odd_names_escaped(rng):
    mean, stddev, target = forecasts(rng, 60).values()
    regression = um.report(target, means=mean, stddevs=stddev, name=ODD)
    summary = um.Summary(class_names=(ODD, "b", "c"))
    summary.update(**examples(60))
    file = io.BytesIO()
    summary.save(file)
    file.seek(0)
    loaded = um.Summary.load(file)
    assert loaded.class_names == summary.class_names == (ODD, "b", "c")
    for report in (regression, um.report(summary), um.report(loaded)):
        check(report, 1)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "npz"])
def test_names_in_files_are_shown_escaped(ending, undrawn, capsys):
    data = calibrated(60, 0.5, 1)
    labels, p = data.values()
    if ending == "npz":  # An array may hold a lone surrogate.
        groups = {"g": np.array([ODD, "b"] * 30)}
        np.savez("p.npz", labels=labels, probabilities=p, **groups)
    else:
        word = ODD.replace("\ud800", "").replace(
            "\x00", ""
        )  # Not in UTF-8, not in CSV.
        rows = [
            {"label": int(label), "p": float(q), "g": word if i % 2 else "b"}
            for i, (label, q) in enumerate(zip(labels, p, strict=True))
        ]
        lines = [",".join(map(str, row.values())) for row in rows]
        if ending == "jsonl":
            lines = list(map(json.dumps, rows))
        else:
            lines.insert(0, "label,p,g")
        pathlib.Path(f"p.{ending}").write_text("\n".join(lines), "utf-8")
    assert main(["report", f"p.{ending}", "--group", "g", "--out", "out"]) == 0
    out = capsys.readouterr().out
    assert "g=a\\x0b" in out
    found = json.loads(pathlib.Path("out/report.json").read_text("utf-8"))
    assert {row["name"][:6] for row in found["groups"]["rows"]} == {"g=a\\x0", "g=b"}
