"""The report of groups: for whom is the model wrong more often than it says?"""

import json
import pathlib

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import answers, examples, numbers, run, tiles, unfair, words
from uncertainty_metrics._report.sections._groups import GROUPS

pytestmark = pytest.mark.usefixtures("own_directory")


def test_groups_equal_the_table_of_the_function():
    data, groups = unfair()
    found = um.report(**data, groups=groups)
    section = found.to_dict()["groups"]
    table = um.calibration_by_group(**data, groups=groups)
    for row, expected in zip(section["rows"], table, strict=True):
        assert row == {name: getattr(expected, name) for name in row}
    assert section["miscalibrated"] == [row.name for row in table.miscalibrated]
    assert section["tested"] == 5
    tile = tiles(found.to_dict())["Groups"]
    assert tile["value"] == f"{len(table.miscalibrated)} of 5 miscalibrated"
    assert tile["detail"].startswith(
        "The clearest case is language=Thai, overconfident by"
    )
    text = words(found.summary())
    assert section["verdict"] in text
    assert "adjusted for the number of groups that are tested, here 5 (Holm)" in text
    row = section["rows"][0]
    assert f"language=Thai {row['gap']:.3f} <0.001 {row['lower']:.3f}" in text


def test_groups_of_a_classifier():
    labels, p = examples(n=300, classes=3).values()
    groups = np.array(["a", "b", "c"])[np.arange(300) % 3]
    groups[:2] = "d"
    found = um.report(labels, p, groups=groups).to_dict()
    table = um.calibration_by_group(labels, p, groups=groups)
    rows = found["groups"]["rows"]
    assert [row["name"] for row in rows] == [row.name for row in table]
    assert [row["gap"] for row in rows] == [row.gap for row in table]
    assert rows[-1]["name"] == "group=d"
    assert rows[-1]["p_value"] is None
    assert "1 group has fewer than 50 examples." in found["groups"]["verdict"]
    assert "Groups" in tiles(found)
    np.savez("p.npz", labels=labels, probabilities=p, group=groups)
    run("p.npz", "--group", "group", "--out", "there")
    assert numbers("there")["groups"] == json.loads(json.dumps(found["groups"]))
    assert (pathlib.Path("there") / GROUPS.file).exists()
    without = um.report(labels, p).to_dict()
    assert "groups" not in without
    assert "Groups" not in tiles(without)


VERDICTS = {
    "none tested": ([0, 1] * 15, "No group has 50 examples", "Too few to say"),
    "none found": (["a"] * 100, "No group is clearly", "None clearly miscalibrated"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_verdict_on_groups_without_a_finding(case):
    groups, verdict, value = VERDICTS[case]
    found = um.report(**answers(len(groups), seed=2), groups=groups).to_dict()
    assert found["groups"]["verdict"].startswith(verdict)
    assert tiles(found)["Groups"]["value"] == value


def test_many_groups_are_shown_in_part():
    data = answers(600)
    found = um.report(**data, groups={"g": [f"{i % 60}" for i in range(600)]})
    assert len(found.to_dict()["groups"]["rows"]) == 60
    assert "20 more groups are in report.json." in found.summary()
    figure = found._figures[GROUPS.file]
    assert len(figure.subfigs[0].axes[0].get_yticklabels()) == 40


@pytest.mark.thorough
def test_names_of_groups_leave_room_for_their_gaps():
    name, value = "a long name of an attribute", ["value"] * 100
    for groups, title, labels in (
        ({"topic": value}, "Calibration by topic", ["value (100)"]),
        ({name: value}, f"Calibration by {name}", ["value (100)"]),
        (
            {name: value, "topic": value},
            "Calibration by group",
            ["a long name ...=value (100)", "topic=value (100)"],
        ),
    ):
        found = um.report(**answers(100), groups=groups)
        ax = found._figures[GROUPS.file].subfigs[0].axes[0]
        assert [label.get_text() for label in ax.get_yticklabels()] == labels
        assert ax.get_title() == title
        assert ax.yaxis_inverted()
