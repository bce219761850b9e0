"""Data for the tests of the calibration report, and functions that run it."""

import contextlib
import csv
import dataclasses
import io
import json
import os
import pathlib
import re

import numpy as np
import pytest

from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main

each_kind = pytest.mark.parametrize("kind", ["binary", "probabilities", "logits"])
weighted_or_not = pytest.mark.parametrize("weighted", [False, True])


def examples(n=60, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "labels": rng.integers(classes, size=n),
        "probabilities": rng.dirichlet(np.ones(classes), n),
    }


def calibrated(n, low, high, seed=0, gap=0.0):
    """Returns labels and P(class 1); decisions are right with probability p - gap."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(low, high, n)
    return {"labels": (rng.random(n) < p - gap).astype(int), "probabilities": p}


def in_two_columns(arrays):
    """Returns labels and P(class 1) with the probabilities of both classes."""
    labels, p = arrays.values()
    return {"labels": labels, "probabilities": np.stack([1 - p, p], axis=1)}


def sure(n, skill=0.0, seed=0):
    """Returns labels and P(class 1); with skill > 0 surer decisions err less often."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5, 1, n)
    right = rng.random(n) < 0.75 + skill * (p - 0.75)
    return {"labels": right.astype(int), "probabilities": p}


def forecasts(rng, n=200, factor=1.0, bias=0.0):
    """Returns forecasts whose errors are `factor` times as large as they say."""
    mean, stddev = 5 * rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    target = mean + stddev * (factor * rng.normal(size=n) + bias)
    return {"mean": mean, "stddev": stddev, "target": target}


def members(n=120, m=4, classes=3, seed=0):
    """Returns labels [n] and probabilities [n, m, classes]."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=[n, 1, classes])
    labels = (logits[:, 0] + rng.gumbel(size=[n, classes])).argmax(axis=-1)
    odds = np.exp(2 * logits + rng.normal(size=[n, m, classes]))
    p = odds / odds.sum(axis=-1, keepdims=True)
    return {"labels": labels, "probabilities": p}


def answers(n=400, gap=0.0, seed=0, low=0.1):
    """Returns answers that are right with the probability of confidence - gap."""
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(low, 1, n)
    return {
        "correct": rng.random(n) < confidences - gap,
        "confidences": confidences,
    }


def unfair(n=2000, seed=0):
    """Returns answers, too sure in one language, and the languages and topics."""
    rng = np.random.default_rng(seed)
    language = rng.choice(["English", "Finnish", "Thai"], n)
    confidences = rng.uniform(0.4, 1, n)
    p = confidences - np.where(language == "Thai", 0.25, 0)
    groups = {"language": language, "topic": rng.choice(["law", "medicine"], n)}
    return {"correct": rng.random(n) < p, "confidences": confidences}, groups


def of_kind(arrays, kind):
    """Returns the predictions as logits or, of two classes, as P(class 1)."""
    labels, p = arrays.values()
    if kind == "logits":
        return {"labels": labels, "logits": np.log(p)}
    if kind == "binary":
        return {
            "labels": labels,
            "probabilities": p[..., 1:] if p.ndim > 2 else p[:, 1],
        }
    return arrays


def without(arrays, kept, damaged=()):
    """Returns the kept examples; and all examples, with weight 0 for the others.

    Predictions of `damaged` examples, some of the others, are NaN.
    """
    predictions = [name for name in arrays if name != "labels"]
    hidden = {name: np.array(array) for name, array in arrays.items()}
    for name in predictions:
        hidden[name][list(damaged)] = np.nan
    some = {name: array[kept] for name, array in arrays.items()}
    return some, {**hidden, "sample_weight": kept.astype(float)}


def write_csv(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return name


def write_parquet(name, columns):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), name)
    return name


def read(source, name="a.npz"):
    """Returns the predictions of a file, or of arrays, which it writes to a file."""
    if not isinstance(source, str):
        np.savez(name, **source)
        source = name
    return report.read_predictions(source)


def built(first, other=None, num_bins=15):
    """Returns the numbers of a report as strict JSON gives them, without pictures."""
    return shown(first, other, num_bins)[0]


def strict(constant):
    raise AssertionError(f"{constant} is no JSON")


def shown(first, other=None, num_bins=15):
    """Returns the numbers as strict JSON gives them, and the text, without pictures."""
    other = None if other is None else read(other, "b.npz")
    found = report.build(read(first), num_bins, other)
    text = report.as_json(found)
    return json.loads(text, parse_constant=strict), report.render(found)


def changed(found, kind, **fields):
    """Returns a report with other numbers in the section of a kind."""
    section = dataclasses.replace(found[kind], **fields)
    sections = [section if one is found[kind] else one for one in found.sections]
    return dataclasses.replace(found, sections=tuple(sections))


def tiles_again(found):
    """Returns the tiles of the sections of a report as they are now, by title."""
    every = (tile for section in found.sections for tile in section.tiles(found))
    return {tile.title: tile for tile in every}


def without_progress(text):
    """Returns the text without lines of progress, which only a slow machine prints."""
    return re.sub(r"^\.\.\. .*\n", "", text, flags=re.MULTILINE)


def run(*arguments):
    """Runs the command; returns its output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(["report", *arguments]) == 0
    assert without_progress(err.getvalue()) == ""
    return out.getvalue()


def numbers(directory=report.DEFAULT_DIRECTORY):
    text = (pathlib.Path(directory) / "report.json").read_text("utf-8")
    return json.loads(text, parse_constant=strict)


def fails(capsys, *arguments):
    """Runs a command that must fail as promised; returns its one line."""
    before = sorted(os.listdir())
    assert main(["report", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    err = without_progress(err)
    assert out == ""
    assert re.fullmatch(r"error: [^\n]+\n", err)
    assert sorted(os.listdir()) == before  # Nothing is half written.
    return err


def words(text):
    return " ".join(text.split())


def lines_of(text, *start):
    """Returns the lines of a text that start with these words."""
    return [
        line for line in text.splitlines() if line.split()[: len(start)] == [*start]
    ]


def tiles(found):
    return {tile["title"]: tile for tile in found["tiles"]}


def values(section):
    """Returns the numbers of a table of the report."""
    return {name: row["value"] for name, row in section.items()}


def approximately(expected):
    """Returns `pytest.approx` for nested dicts and lists."""
    if isinstance(expected, dict):
        return {name: approximately(value) for name, value in expected.items()}
    if isinstance(expected, list):
        return [approximately(value) for value in expected]
    if isinstance(expected, str | type(None)):
        return expected
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


def cells_of(row):
    """Returns estimate and interval as text, with two digits of the standard error."""
    error = (row["high"] - row["low"]) / 4
    decimals = next(d for d in range(7) if error * 10**d >= 10)
    return [f"{row[key]:.{decimals}f}" for key in ("estimate", "low", "high")]
