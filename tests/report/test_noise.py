"""What the report does not say of noise, of few events, and of rows that repeat."""

import json
import pathlib

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    changed,
    fails,
    numbers,
    run,
    tiles,
    tiles_again,
    words,
    write_csv,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data import _suspicious_rows
from uncertainty_metrics._report.data._predictions import Confidences
from uncertainty_metrics._report.data._risks import risks_of
from uncertainty_metrics._report.sections import _comparison_words, _risk, _survival
from uncertainty_metrics._report.sections._posterior import Posterior
from uncertainty_metrics._report.sections._recalibration import Recalibration

pytestmark = pytest.mark.usefixtures("own_directory")


# Noise.


def test_a_decision_curve_of_noise_is_not_called_useful(request):
    rng = np.random.default_rng(request.config.getoption("--seed"))
    above, useful = 0, 0
    for _ in range(60):
        p = rng.uniform(0.1, 0.5, 200)
        labels = (rng.random(200) < 0.3).astype(int)  # Without regard to the risks.
        model = report.Predictions("", labels, "probabilities", p, event_class=1)
        section = _risk.risk_of(model)
        curve = section.decision_curve
        others = np.maximum(curve.treat_all, curve.treat_none)
        above += bool(np.any(curve.net_benefit > others))
        useful += "Acting on the risks is better" in section.verdict
    # The curve of noise is above both others somewhere in most draws, but the band is
    # not. At a level of 5% there are 9 of 60 in one draw of a thousand.
    assert above > 30
    assert useful < 9


def test_a_decision_curve_of_good_risks_is_called_useful():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    found = um.report((rng.random(500) < p).astype(int), p).to_dict()["risk"]
    curve = found["decision_curve"]
    useful = [
        t
        for t, over_all, over_none in zip(
            curve["thresholds"],
            curve["over_all_lower"],
            curve["over_none_lower"],
            strict=True,
        )
        if over_all > 0 < over_none
    ]
    said = f"at thresholds between {useful[0]:.0%} and {useful[-1]:.0%}"
    assert said in found["verdict"]


def test_the_better_calibrated_of_two_calibrated_models_is_not_named():
    # The truth against the share of events: both are calibrated, and the posterior of
    # the share, which fills one bin, is lower.
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 2000)
    labels = (rng.random(2000) < p).astype(int)
    share = np.full(2000, labels.mean())
    found = um.report(labels, p, compare={"share": share})
    section = found.to_dict()["comparison"]
    assert section["probability_of_lower_calibration_error"]["second"] > 0.9
    said = (
        f"{section['verdict']} {tiles(found.to_dict())['Compared with share']['value']}"
    )
    assert "lower calibration error" not in said
    assert section["calibration"]["better"] is None
    assert "P(lower ece)" not in found.summary()


def test_each_test_of_two_models_is_told():
    p_values = {"first": 0.3, "second": 0.001}
    assert _comparison_words.verdict_of_two(p_values).startswith(
        "By the test of its calibration error, the first model may be calibrated (p = "
        "0.300) and the second model is miscalibrated (p ≤ 0.001)."
    )


def test_a_survival_model_without_skill_is_not_called_better(monkeypatch):
    monkeypatch.setattr(_survival, "_NUM_RESAMPLES", 40)
    rng = np.random.default_rng(1)
    came, lost = rng.exponential(3, 150), rng.exponential(4, 150)
    found = um.report(
        times=np.minimum(came, lost),
        event=came <= lost,
        survival=np.exp(-2 / 3) + rng.uniform(-0.02, 0.02, 150),
        at=2.0,
    ).to_dict()
    tile = tiles(found)["Against a constant forecast"]
    assert (tile["value"], tile["level"]) == ("Not clearly better", "unclear")


# Few events.


def with_events(events, n=500):
    """Returns labels with so many events, and risks that are far too high."""
    labels = (np.arange(n) < events).astype(int)
    return labels, np.linspace(0.55, 0.35, n)


def test_fewer_than_10_events_have_no_verdict():
    labels, p = with_events(9)
    found = um.report(labels, p)
    section = found.to_dict()["risk"]
    assert (section["smaller_class"], section["finding"]) == (9, None)
    assert section["verdict"].startswith(
        "Too few to say: the event (class 1) came 9 times in 500 examples"
    )
    said = tiles(found.to_dict())
    tile = said["As a risk of class 1"]
    assert (tile["value"], tile["level"]) == ("Too few to say", "unclear")
    for words_of_verdict in ("Too high", "too extreme", "Overconfident"):
        assert words_of_verdict not in [each["value"] for each in said.values()]
    assert said["Calibration error"]["level"] == "unclear"
    labels, p = with_events(10)
    found = um.report(labels, p).to_dict()
    assert tiles(found)["As a risk of class 1"]["value"] == "Too high"
    # Few examples without the event are as few.
    found = um.report(1 - with_events(9)[0], p).to_dict()
    assert tiles(found)["As a risk of class 1"]["value"] == "Too few to say"


@pytest.mark.parametrize("events", [99, 100])
def test_fewer_than_100_events_are_noted(events):
    notes = um.report(*with_events(events)).to_dict()["notes"]
    start = f"Only {events} of 500 examples had the event."
    assert any(note.startswith(start) for note in notes) == (events < 100)
    labels, p = with_events(events)
    notes = um.report(1 - labels, p).to_dict()["notes"]
    start = f"Only {events} of 500 examples did not have the event."
    assert any(note.startswith(start) for note in notes) == (events < 100)


def test_weighted_events_count_by_their_effective_number(monkeypatch):
    monkeypatch.setattr(_survival, "_NUM_RESAMPLES", 20)
    labels, p = with_events(120)
    weights = np.where(np.arange(500) < 100, 1.0, 0.01)
    found = um.report(labels, p, sample_weight=weights).to_dict()
    of_events = weights[labels == 1]
    effective = of_events.sum() ** 2 / (of_events**2).sum()
    others = weights[labels == 0]
    assert found["risk"]["smaller_class"] == pytest.approx(
        min(effective, others.sum() ** 2 / (others**2).sum())
    )
    survival = um.report(
        times=np.arange(1.0, 61), event=np.arange(60) < 8, survival=p[:60], at=30.0
    ).to_dict()
    assert tiles(survival)["Risks by time 30"]["value"] == "Too few to say"
    assert survival["notes"][0].startswith("Only 8 of ")


def test_the_note_names_the_class_of_the_smaller_effective_number():
    # Few events have most of the weight.
    labels, p = with_events(80)
    weights = np.where(labels == 1, 1.0, 0.01)
    found = um.report(labels, p, sample_weight=weights).to_dict()
    assert found["risk"]["smaller_class"] == pytest.approx(80)
    start = "Only 80 of 84.2 examples had the event, in effect 80.0 because"
    assert any(note.startswith(start) for note in found["notes"])


@pytest.mark.usefixtures("undrawn")
def test_the_risk_comes_first_and_decisions_last():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.6, 600)
    labels = (rng.random(600) < np.clip(p + 0.15, 0, 1)).astype(int)
    found = um.report(labels, p, groups={"ward": np.arange(600) % 2})
    numbers_of = found.to_dict()
    order = list(numbers_of)
    assert order.index("risk") < order.index("calibration") < order.index("groups")
    assert order.index("groups") < order.index("selective_prediction")
    titles = [tile["title"] for tile in numbers_of["tiles"]]
    assert titles[:2] == ["Brier score", "As a risk of class 1"]
    assert titles[-1] == "Accuracy"
    text = found.summary()
    heads = ["As a risk\n-", "Calibration\n-", "Groups\n-", "Selective prediction\n-"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    page = found.save("out")[0].read_text("utf-8")
    places = [page.index(f'<h2 id="{name}">') for name in ("as-a-risk", "calibration")]
    assert places == sorted(places)
    # All that is said of calibration is of one side.
    assert tiles(numbers_of)["As a risk of class 1"]["value"] == "Too low"
    for word in ("verconfident", "nderconfident"):
        assert word not in text
    assert not [tile for tile in numbers_of["tiles"] if tile["value"] == "Too high"]


def test_a_bent_curve_is_miscalibrated_though_its_level_and_slope_fit():
    # Events come as often as .5 +- .2 where the risks say .5 -+ .05.
    p = np.tile(np.repeat([0.2, 0.4, 0.6, 0.8], 250), 4)
    q = np.tile(np.repeat([0.2, 0.65, 0.35, 0.8], 250), 4)
    labels = (np.tile(np.arange(250), 16) < 250 * q).astype(int)
    # Slope and intercept are made to fit.
    z, signs = special.logit(p), np.where(labels == 1, 1, -1)
    a, b = 0.0, 1.0
    for _ in range(50):  # Newton's method.
        r = special.expit(a + b * z)
        w, g = r * (1 - r), labels - r
        hessian = [[w.sum(), w @ z], [w @ z, w @ z**2]]
        da, db = np.linalg.solve(hessian, [g.sum(), g @ z])
        a, b = a + da, b + db
    found = um.report(labels, special.expit(a + b * z)).to_dict()
    assert found["risk"]["p_value"] > 0.9
    tile = tiles(found)["As a risk of class 1"]
    assert (tile["value"], tile["level"]) == ("Miscalibrated", "bad")
    assert "see the curve" in tile["detail"]
    assert signs.size == 4000


def test_words_and_tile_agree_where_only_one_interval_finds_something():
    rng = np.random.default_rng(0)
    z = rng.normal(-3.2, 1, 400)
    labels = (rng.random(400) < special.expit(z)).astype(int)
    found = um.report(labels, special.expit(1.5 * z + 1))
    section = found.to_dict()["risk"]
    slope = section["intervals"]["calibration_slope"]
    assert slope["high"] < 1  # By itself it says "too extreme".
    assert section["p_value"] > 0.05
    tile = tiles(found.to_dict())["As a risk of class 1"]
    assert tile["value"] == "May be calibrated"
    assert "what the intercept and the slope show may be chance" in section["verdict"]
    for word in ("too extreme", "Too extreme", "Too high on", "Too low on"):
        assert word not in found.to_dict()["calibration"]["verdict"]
        assert word not in section["verdict"]


def test_a_report_has_one_brier_score():
    labels, p = with_events(200)
    found = um.report(labels, p)
    mean = np.mean((labels - p) ** 2)
    numbers_of = found.to_dict()
    scores = numbers_of["scoring_rules"]
    assert scores["sum_of_brier_parts"] == pytest.approx(mean)
    assert scores["constant"]["model"] == pytest.approx(mean)
    of_maps = numbers_of["recalibration"]["scores"]["as it is"]
    assert of_maps["brier_score"] == pytest.approx(mean)
    assert numbers_of["intervals"]["metrics"]["brier_score"]["estimate"] == (
        pytest.approx(mean)
    )
    for section in ("risk", "scoring_rules"):
        row = numbers_of[section]["metrics"]["brier_score"]
        assert row["value"] == pytest.approx(mean)
        assert row["meaning"].endswith("^2: 0 (best) to 1.")
    both = um.report(labels, np.stack([1 - p, p], axis=1)).to_dict()
    row = both["scoring_rules"]["metrics"]["brier_score"]
    assert row["value"] == pytest.approx(mean)
    assert row["meaning"] == "Mean of (y - p)^2: 0 (best) to 1."
    tile = tiles(numbers_of)["Against a constant forecast"]
    assert f"(event - risk)^2, {mean:.4f}; always" in tile["detail"]


# Rows that repeat, and what looks like something else.


def noted(found, start):
    return any(note.startswith(start) for note in found.to_dict()["notes"])


def test_repeated_rows_are_noted():
    rng = np.random.default_rng(0)
    p, labels = rng.random(100), rng.integers(0, 2, 100)
    start = "Equal rows come in multiples of 2: the 200 rows may be 100 examples in 2"
    assert noted(um.report(np.tile(labels, 2), np.tile(p, 2)), start)
    assert not noted(um.report(labels, p), "Equal rows")
    again = rng.permutation(np.repeat(np.arange(100), 3))
    three = rng.dirichlet(np.ones(3), 100)
    assert noted(um.report(labels[again], three[again]), "Equal rows come in multiples")
    answers = {"correct": np.tile(labels, 2), "confidences": np.tile(p, 2)}
    assert noted(um.report(**answers), start)
    # Rounded confidences repeat by themselves.
    rounded = np.round(rng.random(2000), 2)
    model = Confidences("", rng.random(2000) < rounded, rounded)
    assert _suspicious_rows.notes_on_rows(model) == []
    few = Confidences("", np.arange(200) % 2 == 0, np.full(200, 0.5))
    assert _suspicious_rows.notes_on_rows(few) == []


def test_rows_that_come_twice_or_thrice_are_no_epochs():
    rng = np.random.default_rng(0)
    p, labels = rng.random(100), rng.integers(0, 2, 100)
    again = np.repeat(np.arange(100), 2 + np.arange(100) % 2)
    assert not noted(um.report(labels[again], p[again]), "Equal rows")


@pytest.mark.usefixtures("undrawn")
def test_repeated_ids_are_noted():
    rng = np.random.default_rng(0)
    p, labels = rng.random(200), rng.integers(0, 2, 200)
    start = "100 values of `id`, 200 rows: name the column with --cluster id"
    rows = zip(np.arange(200) % 100, labels, p, strict=True)
    write_csv("a.csv", ["id", "label", "p"], rows)
    assert start in words(run("a.csv"))
    rows = zip(np.arange(200) % 100, labels, p, strict=True)
    write_csv("b.csv", ["id", "correct", "confidence"], rows)
    assert start in words(run("b.csv"))
    rows = zip(np.arange(200), labels, p, strict=True)
    write_csv("c.csv", ["id", "label", "p"], rows)
    assert "values of `id`" not in words(run("c.csv"))
    assert "values of `id`" not in words(run("a.csv", "--cluster", "id"))
    # Rows without an id may be different ones.
    assert _suspicious_rows.note_on_repeats("id", [None, None, 1, 2]) is None


@pytest.mark.usefixtures("undrawn")
def test_several_filters_of_one_task_are_refused(capsys):
    def write(names):
        with open("samples.jsonl", "w", encoding="utf-8") as file:
            for name in names:
                for i in range(60):
                    row = {"doc_id": i, "filter": name, "exact_match": i % 2}
                    file.write(json.dumps({**row, "confidence": 0.4 + i / 200}) + "\n")

    write(["strict-match", "flexible-extract"])
    wrong = fails(capsys, "samples.jsonl")
    assert "choose one with --filter. Received: strict-match, flexible-ext" in wrong
    run("samples.jsonl", "--group", "filter")  # Asked for on purpose.
    assert "60 questions, 120 rows" in " ".join(numbers()["notes"])
    run("samples.jsonl", "--filter", "strict-match")
    assert numbers()["data"]["examples"] == 60
    assert "no row has the `filter` 'other'" in fails(
        capsys, "samples.jsonl", "--filter", "other"
    )
    write(["strict-match"])
    run("samples.jsonl")
    assert numbers()["notes"] == []
    # Each question is read by one filter, so none counts twice.
    path = pathlib.Path("samples.jsonl")
    other = path.read_text("utf-8").replace("strict-match", "none", 30)
    path.write_text(other, "utf-8")
    run("samples.jsonl")
    assert numbers()["notes"] == []


def test_decisions_are_noted():
    labels = np.arange(60) % 2
    decided = np.where(np.arange(60) % 5, labels, 1 - labels).astype(float)
    assert noted(um.report(labels, decided), "All probabilities are 0 or 1: they seem")
    two = np.stack([1 - decided, decided], 1)
    assert noted(um.report(labels, two), "All probabilities are 0 or 1")
    answers = um.report(correct=labels, confidences=decided)
    assert noted(answers, "All confidences are 0 or 1")
    assert not noted(um.report(labels, np.clip(decided, 0.01, 1)), "All probab")
    # Fewer than ten may be so by chance.
    for size in (9, 10):
        few = um.report(labels[:size], decided[:size])
        assert noted(few, "All probabilities are 0 or 1") == (size == 10)


@pytest.mark.usefixtures("undrawn")
def test_several_labels_of_an_example_are_refused():
    rng = np.random.default_rng(0)
    p = rng.random((30, 4))
    labels = rng.integers(0, 2, (30, 4))
    message = r"4 labels of each example .*multilabel=True.*120 .*reshape\(-1\)"
    for given in ({"probabilities": p}, {"logits": 4 * p - 2}):
        with pytest.raises(ValueError, match=message):
            um.report(labels, **given)
    with pytest.raises(ValueError, match=message):
        um.report(labels, p[..., None])
    # What the message says to do.
    um.report(labels, p, multilabel=True)
    um.report(labels.reshape(-1), p.reshape(-1))
    um.report(labels[:, :1], p[:, :1])
    # Pixels with the probability of each class are no labels of one example.
    um.report(labels, rng.dirichlet(np.ones(3), (30, 4)))


def test_the_smaller_class_of_all_weights():
    model = report.Predictions(
        "", np.array([0, 1, 1]), "probabilities", np.array([0.1, 0.2, 0.3]),
        event_class=1,
    )  # fmt: skip
    assert risks_of(model).smaller_class == 1


def test_no_map_helps_risks_that_either_test_finds_miscalibrated():
    found = um.report(*with_events(200))._report
    found = changed(found, Recalibration, needs_recalibration=False)
    for of_ece, of_risks in ((0.5, 0.001), (0.001, 0.5)):
        found = changed(found, Posterior, p_value=of_ece)
        found = changed(found, _risk.Risk, p_value=of_risks)
        said = tiles_again(found)["Recalibration"]
        assert (said.value, said.level) == ("No map clearly helps", "unclear")
