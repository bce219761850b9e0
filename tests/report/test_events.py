"""Two classes: their calibration is judged by the probability of the event, and naming
the event never swaps the classes.
"""

import json

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.offsetbox import AnchoredText

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    fails,
    numbers,
    run,
    tiles,
    values,
    words,
    write_csv,
    write_parquet,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data import _decided
from uncertainty_metrics._report.data._predictions import Stream
from uncertainty_metrics._report.reading import _column_names, _large_files
from uncertainty_metrics._report.sections._posterior import Posterior

pytestmark = pytest.mark.usefixtures("own_directory")

N = 400


def labels_and_p(n=N, seed=0):
    """Returns labels, and P(class 1) that is right in about 80% of the decisions."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, n)
    return (rng.random(n) < p).astype(int), p


# Which class is the event never changes the accuracy.

TEXTS = {"text": ("died", "lived"), "boolean": ("False", "True"), "number": ("0", "1")}
HEADERS = {
    "p0, p1": ["p0", "p1"],
    "0, 1": ["0", "1"],
    "prob_0, prob_1": ["prob_0", "prob_1"],
    "p_0, p_1 in the other order": ["p_1", "p_0"],
    "logits": ["logit_0", "logit_1"],
}


def write_form(form, kind, labels, p):
    """Writes predictions of two columns in a form; returns the name of the file."""
    two = np.stack([1 - p, p], axis=1)
    names = np.array(TEXTS[kind])[labels]
    given = {"number": labels, "boolean": labels == 1, "text": names}[kind]
    if form in HEADERS:
        header = HEADERS[form]
        columns = two if "logit" not in header[0] else np.log(two)
        columns = columns[:, ::-1] if header[0] == "p_1" else columns
        rows = zip(names, *columns.T, strict=True)
        return write_csv("a.csv", ["label", *header], rows)
    if form == "JSON lists":
        records = (
            {"label": label, "probabilities": row}
            for label, row in zip(given.tolist(), two.tolist(), strict=True)
        )
        with open("a.jsonl", "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(record)}\n" for record in records)
        return "a.jsonl"
    if form == "Parquet":
        columns = {"label": given, "p0": two[:, 0], "p1": two[:, 1]}
        return write_parquet("a.parquet", columns)
    np.savez("a.npz", labels=given, probabilities=two)
    return "a.npz"


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("form", [*HEADERS, "JSON lists", "Parquet", "npz"])
def test_the_event_never_swaps_the_classes(form, kind):
    labels, p = labels_and_p()
    name = write_form(form, kind, labels, p)
    for event, positive in enumerate(TEXTS[kind]):
        choice = _column_names.Choice(positive_class=positive)
        found = report.read_predictions(name, choice)
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.values[:, 1] > found.values[:, 0], p > 0.5)
        assert found.event_class == event
        assert found.classes in ((), TEXTS[kind])
        is_noted = "classes in sorted order, as in scikit-learn" in " ".join(
            found.notes
        )
        assert is_noted == (kind == "text")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("form", "kind"), [("p0, p1", "number"), ("npz", "text")])
def test_the_event_never_changes_the_accuracy(form, kind):
    labels, p = labels_and_p()
    name = write_form(form, kind, labels, p)
    for event, positive in enumerate(TEXTS[kind]):
        run(name, "--positive-class", positive)
        found = numbers()
        assert found["calibration"]["accuracy"] == np.mean((p > 0.5) == labels)
        section = found["risk"]
        assert section["events"] == np.sum(labels == event)
        expected = np.sum(p if event else 1 - p)
        assert section["expected_events"] == pytest.approx(expected, rel=1e-6)
        assert section["event"] in (positive, f"class {event}")


@pytest.mark.usefixtures("undrawn")
def test_the_event_of_named_classes_and_of_streams(monkeypatch):
    labels, p = labels_and_p()
    names = np.array(["lived", "died"])[labels]  # Not in sorted order.
    rows = [*zip(names, 1 - p, p, strict=True)]
    write_csv("a.csv", ["label", "p0", "p1"], rows)
    accuracy = np.mean((p > 0.5) == labels)
    run("a.csv", "--classes", "lived,died", "--positive-class", "lived")
    assert numbers()["calibration"]["accuracy"] == accuracy
    assert numbers()["risk"]["events"] == np.sum(labels == 0)
    # Several files are read by the classes of the first, and the note stays.
    names = np.array(["alive", "died"])[labels]
    rows = [*zip(names, 1 - p, p, strict=True)]
    write_csv("b.csv", ["label", "p0", "p1"], rows[:200])
    write_csv("c.csv", ["label", "p0", "p1"], rows[200:])
    for most in (200_000, 100):
        monkeypatch.setattr(_large_files, "_MOST_ROWS", most)
        monkeypatch.setattr(_large_files, "_LEAST_ROWS", most)
        text = run("b.csv", "c.csv", "--positive-class", "alive")
        assert numbers()["calibration"]["accuracy"] == pytest.approx(accuracy)
        assert numbers()["risk"]["event"] == "alive"
        assert numbers()["calibration"]["event"] == "alive"
        assert "sorted order, as in scikit-learn: alive, died." in words(text)


def test_a_positive_class_that_is_no_class(capsys):
    labels, p = labels_and_p(20)
    rows = [*zip(labels + 1, 1 - p, p, strict=True)]
    write_csv("a.csv", ["label", "p0", "p1"], rows)
    wrong = fails(capsys, "a.csv", "--positive-class", "2")
    assert "the positive class `2` must be one of the classes. Received: 0, 1" in wrong
    write_csv("b.csv", ["label", "p0", "p1"], [["died", 0.2, 0.8], ["died", 0.1, 0.9]])
    wrong = fails(capsys, "b.csv", "--positive-class", "died")
    assert "name the class of each column with --classes" in wrong


@pytest.mark.usefixtures("undrawn")
def test_one_column_predicts_the_positive_class():
    labels, p = labels_and_p()
    write_csv("a.csv", ["label", "p"], zip(labels, p, strict=True))
    assert "taken for" not in run("a.csv", "--positive-class", "1")
    write_csv("b.csv", ["label", "p"], zip(labels > 0, p, strict=True))
    assert "taken for" not in run("b.csv", "--positive-class", "true")
    text = words(run("b.csv", "--positive-class", "false"))
    assert "The column of predictions is taken for the probability of false" in text
    text = run("a.csv", "--positive-class", "0")
    assert "The column of predictions is taken for the probability of 0" in words(text)
    assert numbers()["calibration"]["accuracy"] == np.mean((p > 0.5) == (labels == 0))


def test_one_column_of_another_class_is_refused(capsys):
    labels, p = labels_and_p(40)
    rows = [*zip(labels, 1 - p, p, strict=True)]
    write_csv("a.csv", ["label", "p0", "p1"], rows)
    options = ("--probabilities", "p1", "--positive-class", "0")
    assert "`p1` seems to predict 1, but a single" in fails(capsys, "a.csv", *options)
    names = np.array(["lived", "died"])[labels]
    write_csv("b.csv", ["label", "p_died"], zip(names, p, strict=True))
    options = ("--probabilities", "p_died", "--positive-class", "lived")
    assert "`p_died` seems to predict died" in fails(capsys, "b.csv", *options)
    choice = _column_names.Choice(probabilities="p_died", positive_class="died")
    found = report.read_predictions("b.csv", choice)
    np.testing.assert_array_equal(found.labels, labels)


# Calibration is judged by P(class 1).


def too_low(n=20_000, by=0.08, seed=0):
    """Returns labels, and P(class 1) that is too low by as much for every example."""
    rng = np.random.default_rng(seed)
    risk = rng.uniform(by, 1, n)
    return (rng.random(n) < risk).astype(int), risk - by


def in_form(form, labels, p):
    """Returns the report of P(class 1) in a form."""
    two = np.stack([1 - p, p], axis=1)
    given = p if "one" in form else two
    if "stream" in form or "summary" in form:
        halves = [(labels[i::2], given[i::2]) for i in range(2)]
        if "summary" in form:
            total = um.Summary()
            for y, q in halves:
                total.update(y, q)
            return um.report(total)
        return um.report(batches=({"labels": y, "probabilities": q} for y, q in halves))
    return um.report(labels, given)


FORMS = [
    f"{rows} of {columns} column"
    for rows in ("rows", "a stream", "a summary")
    for columns in ("one", "two")
]


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.first(6)
def test_a_probability_that_is_too_low_everywhere_is_found(form, monkeypatch):
    monkeypatch.setattr(_large_files, "_MOST_ROWS", 1000)
    monkeypatch.setattr(_large_files, "_LEAST_ROWS", 1000)
    labels, p = too_low()
    # The decisions do not see it: this is why they do not judge.
    assert um.ece(correct=(p > 0.5) == labels, confidences=np.maximum(p, 1 - p)) < 0.02
    found = in_form(form, labels, p).to_dict()
    gap = np.mean(labels) - np.mean(p)
    ece = found["calibration"]["metrics"]["ece"]["value"]
    assert ece == pytest.approx(gap, abs=0.002)
    assert ece == pytest.approx(0.08, abs=5 * (0.25 / 20_000) ** 0.5)
    assert found["bayesian_ece"]["p_value"] <= 0.001
    low = found["intervals"]["metrics"]["calibration_error"]["low"]
    assert 0.06 < low < 0.08
    verdict = found["calibration"]["verdict"]
    assert verdict.startswith("Too low on average, by ")
    said = tiles(found)
    if "risk" in found:
        assert said["As a risk of class 1"]["value"] == "Too low"
        assert said["Calibration error"]["level"] == "bad"
    else:
        assert said["Calibration"]["value"] == "Too low"
        assert said["Calibration"]["level"] == "bad"
    assert found["calibration"]["accuracy"] == np.mean((p > 0.5) == labels)
    if "recalibration" in found:
        scores = found["recalibration"]["scores"]
        assert scores["as it is"]["ece"] == pytest.approx(0.08, abs=0.05)
        assert scores["venn_abers"]["ece"] < scores["as it is"]["ece"]
        assert found["recalibration"]["needs_recalibration"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["probabilities", "logits"])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_numbers_are_those_of_class_1(kind, columns, weighted):
    rng = np.random.default_rng(3)
    labels, p = labels_and_p(300, seed=3)
    z = np.log(p) - np.log1p(-p)
    one, two = (p, np.stack([1 - p, p], 1))
    if kind == "logits":
        one, two = z, np.stack([np.zeros(300), z], 1)
    weights = {"sample_weight": rng.integers(1, 4, 300)} if weighted else {}
    given = one if columns == 1 else two
    found = um.report(labels, **{kind: given}, **weights, groups=labels * 0).to_dict()
    # By a plain loop over the bins.
    w = weights.get("sample_weight", np.ones(300))
    q = p if kind == "probabilities" else 1 / (1 + np.exp(-z))
    bins = np.clip(np.ceil(q * 15), 1, 15)
    gaps = [w[bins == b] @ (labels - q)[bins == b] for b in range(1, 16)]
    metrics = values(found["calibration"]["metrics"])
    assert metrics["ece"] == pytest.approx(np.abs(gaps).sum() / w.sum(), rel=1e-9)
    counts = np.array([w[bins == b].sum() for b in range(1, 16)])
    largest = np.max(np.abs(gaps) / np.where(counts, counts, 1))
    assert metrics["mce"] == pytest.approx(largest, rel=1e-9)
    rmsce = um.rmsce(correct=labels, confidences=q, **weights)
    assert metrics["rmsce"] == pytest.approx(rmsce, rel=1e-9)
    diagram = found["calibration"]["diagram"]
    assert diagram["counts"] == pytest.approx(counts)
    (group,) = found["groups"]["rows"]
    assert group["gap"] == pytest.approx(w @ (labels - q) / w.sum(), rel=1e-9)
    assert found["calibration"]["share"] == pytest.approx(w @ labels / w.sum())


@pytest.mark.parametrize(
    ("factor", "direction"), [(3.0, "too extreme"), (0.4, "too close to 1/2"), (1, "")]
)
def test_the_spread_has_a_direction(factor, direction):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 3000)
    labels = (rng.random(3000) < 1 / (1 + np.exp(-z))).astype(int)
    two = np.stack([np.zeros(3000), factor * z], 1)
    found = um.report(labels, logits=two).to_dict()
    assert found["calibration"]["direction"] == direction
    value = tiles(found)["Calibration"]["value"]
    assert value == (direction.capitalize() or "May be calibrated")


@pytest.mark.parametrize("event", [0, 1])
def test_the_named_event_is_judged(event):
    labels, p = too_low(3000, by=0.05, seed=8)
    model = report.Predictions(
        "", labels, "probabilities", np.stack([1 - p, p], 1), event_class=event
    )
    found = report.build(model).to_dict()
    section = found["calibration"]
    of_event = p if event else 1 - p
    assert section["event"] == f"class {event}"
    assert section["share"] == pytest.approx(np.mean(labels == event))
    assert section["mean_probability"] == pytest.approx(np.mean(of_event))
    assert section["direction"] == ("too low" if event else "too high")
    gaps = np.array(found["risk"]["intervals"]["calibration_intercept"]["estimate"])
    assert np.sign(gaps) == (1 if event else -1)
    # Decisions are the same for either event.
    assert section["accuracy"] == np.mean((p > 0.5) == labels)
    aurc = found["selective_prediction"]["metrics"]["aurc"]["value"]
    assert aurc == pytest.approx(um.aurc(labels, np.stack([1 - p, p], 1)))


def test_the_curve_of_risks_has_groups_and_numbers():
    labels, p = labels_and_p(500)
    model = report.Predictions("", labels, "probabilities", p, event_class=1)
    figure = report.draw(model)["risk_calibration_curve.png"]
    ax = next(ax for ax in figure.axes if ax.get_xlabel())
    (points,) = (
        each for each in ax.collections if len(each.get_offsets()) == 10
    )  # fmt: skip
    order = np.argsort(p).reshape(10, 50)
    expected = np.stack([p[order].mean(axis=1), labels[order].mean(axis=1)], axis=1)
    np.testing.assert_allclose(points.get_offsets(), expected, rtol=1e-9)
    bars = [c for c in ax.collections if isinstance(c, LineCollection)]
    ends = bars[-1].get_segments()
    # Wilson's interval of the first group.
    k, n, z2 = labels[order[0]].sum(), 50, 1.959964**2
    middle, half = (k + z2 / 2) / (n + z2), np.sqrt(k * (n - k) / n + z2 / 4)
    half *= np.sqrt(z2) / (n + z2)
    np.testing.assert_allclose(ends[0][:, 1], [middle - half, middle + half], atol=1e-6)
    (box,) = (each for each in ax.artists if isinstance(each, AnchoredText))
    lines = box.txt.get_text().splitlines()
    assert lines[:2] == ["500 examples", f"{labels.sum()} with the event"]
    assert lines[2] == f"O/E = {labels.sum() / p.sum():.3f}"
    assert f"AUROC = {um.auroc(labels, p):.3f}" in lines
    assert f"Slope = {um.calibration_slope(labels, p).estimate:.3f}" in lines


def test_a_stream_says_the_same_as_the_whole(monkeypatch):
    labels, p = too_low(6000, by=0.02, seed=1)
    weight = np.where(labels, 2.0, 1.0)
    whole = um.report(labels, p, sample_weight=weight).to_dict()
    monkeypatch.setattr(_large_files, "_MOST_ROWS", 1000)
    monkeypatch.setattr(_large_files, "_LEAST_ROWS", 1000)
    parts = (slice(i, None, 3) for i in range(3))
    streamed = um.report(
        batches=(
            {"labels": labels[i], "probabilities": p[i], "sample_weight": weight[i]}
            for i in parts
        )
    ).to_dict()
    assert streamed["basis"]["sample"] == 1000
    sections = [each["calibration"] for each in (whole, streamed)]
    assert len({section["event"] for section in sections}) == 1
    assert len({section["direction"] for section in sections}) == 1
    for name in ("share", "mean_probability", "accuracy"):
        assert sections[1][name] == pytest.approx(sections[0][name], rel=1e-9)
    for name, value in values(whole["calibration"]["metrics"]).items():
        other = streamed["calibration"]["metrics"][name]["value"]
        assert other == pytest.approx(value, abs=0.002)
    ends = [
        each["intervals"]["metrics"]["calibration_error"] for each in (whole, streamed)
    ]
    assert ends[1] == pytest.approx(ends[0], abs=0.003)
    posteriors = [each["bayesian_ece"] for each in (whole, streamed)]
    assert posteriors[1]["mean"] == pytest.approx(posteriors[0]["mean"], abs=0.003)
    assert posteriors[1]["ece_by_chance"] == pytest.approx(
        posteriors[0]["ece_by_chance"], rel=0.02
    )


@pytest.mark.parametrize("by", ["label", "score"])
def test_a_weighted_stream_has_the_noise_of_the_whole(by, monkeypatch):
    monkeypatch.setattr(_large_files, "_MOST_ROWS", 3000)
    monkeypatch.setattr(_large_files, "_LEAST_ROWS", 3000)
    labels, p = too_low(8000, by=0.01, seed=7)
    weight = np.where(labels, 5.0, 1.0) if by == "label" else 1 / (p + 0.05)
    whole = report.Predictions("", labels, "probabilities", p, weight)
    accumulator = _large_files.Accumulator("")
    for i in range(4):
        data = labels[i::4], "probabilities", p[i::4], weight[i::4]
        accumulator.add(report.Predictions("", *data))
    stream = accumulator.result()
    assert isinstance(stream, Stream)
    sections = [Posterior.of_ece(model, 0.02, 15) for model in (whole, stream)]
    chance = [section.ece_by_chance for section in sections]
    assert chance[1] == pytest.approx(chance[0], rel=0.03)
    judged = [_decided.judged_of(model) for model in (whole, stream)]
    for each in (*judged, *(one.with_small_weights() for one in judged)):
        assert each.sample_size == pytest.approx(judged[0].sample_size, rel=1e-9)


def test_drift_of_a_class_that_decisions_do_not_see():
    # P(class 1) of the second period is too low by .08, of the first it is right.
    labels, p = too_low(3000, by=0.0, seed=2)
    others, q = too_low(3000, by=0.08, seed=3)
    np.savez("a.npz", labels=labels, probabilities=p)
    np.savez("b.npz", labels=others, probabilities=q)
    a, b = (report.read_predictions(name) for name in ("a.npz", "b.npz"))
    section = report.build(a, 15, b).to_dict()["comparison"]["drift"]
    assert section["p_value"] < 1e-4
    assert section["verdict"].startswith("Calibration differs between both sets")
    assert "Share of class 1 less P(class 1) differs" in section["verdict"] or (
        "differs most" not in section["verdict"]
    )


def test_drift_is_of_the_same_class_in_both():
    # A summary names no event; it is compared by the event of the first model.
    labels, p = too_low(3000, by=0.0, seed=5)
    np.savez("a.npz", labels=labels, probabilities=np.stack([1 - p, p], 1))
    choice = _column_names.Choice(positive_class="0")
    first = report.read_predictions("a.npz", choice)
    other = um.Summary()
    others, q = too_low(3000, by=0.0, seed=6)
    other.update(others, q)
    second = Stream("b", other)
    section = report.build(first, 15, second).to_dict()["comparison"]["drift"]
    assert section["p_value"] > 0.001
    assert "P(class 0)" in report.render(report.build(first, 15, second))


def test_an_ensemble_of_two_classes_is_judged_by_class_1():
    rng = np.random.default_rng(0)
    labels, p = too_low(2000, by=0.1, seed=4)
    noise = rng.uniform(-0.03, 0.03, (2000, 3))
    members = np.clip(p[:, None] + noise, 0, 1)
    found = um.report(labels, np.stack([1 - members, members], -1)).to_dict()
    eces = found["ensemble"]["metrics"]["ece"]
    expected = [um.ece(correct=labels, confidences=members[:, i]) for i in range(3)]
    assert eces["members"] == pytest.approx(expected, rel=1e-9)
    ece = um.ece(correct=labels, confidences=members.mean(1))
    assert eces["ensemble"] == pytest.approx(ece, abs=1e-9)
    assert "of the probabilities of the event" in found["ensemble"]["verdict"]
