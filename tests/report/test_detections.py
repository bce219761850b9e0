"""The report of detections in COCO's format: `report --coco RESULTS TRUTH`."""

import json
import pathlib

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run, words

pytestmark = pytest.mark.usefixtures("own_directory")


def written(rng, num_images=60):
    """Writes results.json and truth.json; returns their content."""
    names = {5: "cat", 9: "dog"}
    objects = [
        {
            "id": index + 1,
            "image_id": image,
            "category_id": int(rng.choice([5, 9])),
            "bbox": [*rng.uniform(0, 300, 2), *rng.uniform(20, 150, 2)],
            "iscrowd": int(index % 10 == 0),
        }
        for index, image in enumerate(np.repeat(np.arange(num_images), 4).tolist())
    ]
    results = []
    for row in objects:
        for score in rng.random(rng.integers(0, 4)).tolist():
            box = (np.array(row["bbox"]) + rng.normal(0, 8, 4)).clip(0).tolist()
            found = {key: row[key] for key in ("image_id", "category_id")}
            results.append({**found, "bbox": box, "score": score})
    truth = {
        "images": [{"id": image} for image in range(num_images)],
        "categories": [{"id": key, "name": name} for key, name in names.items()],
        "annotations": objects,
    }
    for name, content in (("results", results), ("truth", truth)):
        pathlib.Path(f"{name}.json").write_text(json.dumps(content), "utf-8")
    return results, truth


FILES = "--coco", "results.json", "truth.json"


def test_numbers_are_those_of_the_matches(rng, undrawn):
    given = um.detection.read_coco(*written(rng))
    found = um.detection.match_detections(**given)
    kept = found.counted
    assert 0 < np.sum(~kept) < len(kept) / 2
    text = words(run(*FILES))
    report = numbers()
    answers = {"correct": found.matched[kept], "confidences": given["scores"][kept]}
    assert report["task"] == "confidences"
    assert report["data"]["examples"] == np.sum(kept)
    ece = report["calibration"]["metrics"]["ece"]["value"]
    assert ece == pytest.approx(um.ece(**answers), rel=1e-12)
    assert f"{found.num_missed} of 216 objects are missed" in text
    assert f"{np.sum(kept)} detections in " in text
    assert "Which detections to keep" in text
    assert "Detections to keep at 5% risk" in text
    assert "nswer" not in text
    assert f"Left out: {np.sum(~kept)} detections that match only a crowd" in text
    groups = {row["name"]: row["mean_outcome"] for row in report["groups"]["rows"]}
    for name in ("cat", "dog"):
        own = given["classes"][kept] == name
        assert groups[f"class={name}"] == pytest.approx(
            np.mean(answers["correct"][own])
        )
    areas = given["boxes"][kept, 2] * given["boxes"][kept, 3]
    medium = (areas >= 32**2) & (areas < 96**2)
    expected = np.mean(answers["correct"][medium])
    assert groups["size=medium"] == pytest.approx(expected)


def test_page_and_pictures_are_written(rng):
    written(rng)
    run(*FILES, "--out", "page")
    assert "objects are missed" in pathlib.Path("page/report.html").read_text("utf-8")
    assert pathlib.Path("page/reliability_diagram.png").exists()


@pytest.mark.parametrize(
    "more",
    [
        ["other.csv"],
        ["--compare", "other.csv"],
        ["--group", "class"],
        ["--label", "y"],
        ["--percent"],
    ],
)
def test_other_files_and_columns_are_refused(more, rng, capsys):
    written(rng)
    assert "--coco names all that the report reads" in fails(capsys, *FILES, *more)


def test_wrong_files_are_refused_in_one_line(rng, capsys):
    results, _ = written(rng)
    swapped = fails(capsys, "--coco", "truth.json", "results.json")
    assert "`truth` must be a dict with `images`" in swapped
    assert "No such file" in fails(capsys, "--coco", "results.json", "none.json")

    def refused(rows):
        pathlib.Path("results.json").write_text(json.dumps(rows), "utf-8")
        return fails(capsys, *FILES)

    message = "results.json and truth.json: "
    assert message in refused([{**results[0], "image_id": 99}])
    assert "detection 1: `score` must be in [0, 1]" in refused(
        [results[0], {**results[1], "score": 1.5}]
    )
    assert "there are no detections that count" in refused([])


def test_swapped_files(rng, capsys):
    written(rng, 2)
    wrong = fails(capsys, "--coco", "truth.json", "results.json")
    assert "(`results` is a dict: swap the two). Received: list" in wrong


def test_either_file_alone_says_what_to_type(rng, capsys):
    written(rng, 2)
    typed = "`python -m uncertainty_metrics report --coco RESULTS.json TRUTH.json`"
    assert f"type {typed}. " in fails(capsys, "results.json")
    assert f"type {typed}. " in fails(capsys, "truth.json")
