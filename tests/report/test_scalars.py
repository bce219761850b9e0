"""The numbers of a report by one name each, which trackers of experiments log."""

import re

import uncertainty_metrics.numpy as um


def number_at(content, path):
    for key in path.split("/"):
        content = content[key]
    return content


def test_scalars_are_the_numbers_at_their_paths(rng):
    report = um.report(rng.integers(0, 2, 200), rng.random((200, 1)))
    found, content = report.scalars(), report.to_dict()
    assert len(found) > 40
    assert {"calibration/metrics/ece/value", "intervals/metrics/accuracy/low"} < {
        *found
    }
    assert not any(name.startswith("options") for name in found)
    for name, value in found.items():
        assert type(value) is float
        assert re.fullmatch(r"[\w/ -]+", name)
        if "all_metrics" not in name:  # Their keys have commas.
            assert value == number_at(content, name), name


def test_names_of_classes_that_differ_in_punctuation_stay_apart(rng):
    p = rng.dirichlet([1, 1, 1], 90)
    names = ["C#", "C+", "a/../b"]
    report = um.report(rng.integers(0, 3, 90), p, classes=names)
    found = report.scalars()
    classes = report.to_dict()["calibration"]["classes"]
    expected = [classes[name]["sce"] for name in names]
    keys = ["C_/sce", "C_/sce_", "a____b/sce"]
    assert [found[f"calibration/classes/{key}"] for key in keys] == expected
