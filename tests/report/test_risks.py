"""The section on risks, of classifiers whose event is named and of survival models."""

import json
import math

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    fails,
    numbers,
    run,
    tiles,
    values,
    words,
    write_csv,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.reading import _large_files
from uncertainty_metrics._report.sections import _survival
from uncertainty_metrics.numpy.calibration.risk.risk_calibration import joint_p_value

pytestmark = pytest.mark.usefixtures("own_directory")

# Four groups of risk, with events: 100 x .1 -> 20, 100 x .2 -> 30, 100 x .4 -> 40,
# 100 x .8 -> 60.
GROUPS = {0.1: 20, 0.2: 30, 0.4: 40, 0.8: 60}
LABELS = np.concatenate([np.arange(100) < events for events in GROUPS.values()])
RISKS = np.repeat([*GROUPS], 100)


def cohort(n=600, seed=0):
    """Returns times, events and survival by time 2 of a model that is too extreme."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    came, lost = rng.exponential(5 * np.exp(-x)), rng.uniform(0, 6, n)
    return {
        "times": np.minimum(came, lost),
        "event": (came <= lost).astype(int),
        "survival": np.exp(-0.4 * np.exp(1.5 * x)),
    }


def section_of(*arguments, **options):
    return um.report(*arguments, **options).to_dict()["risk"]


def estimates(section):
    return {name: ends["estimate"] for name, ends in section["intervals"].items()}


def test_numbers_by_hand():
    section = section_of(LABELS.astype(int), RISKS)
    assert (section["event"], section["events"]) == ("class 1", 150)
    assert section["expected_events"] == pytest.approx(150)
    found = estimates(section)
    # 150 events where 10 + 20 + 40 + 80 are expected.
    assert found["observed_expected_ratio"] == pytest.approx(1)
    error = math.sqrt((1 - 150 / 400) / 150)
    ends = section["intervals"]["observed_expected_ratio"]
    assert ends["low"] == pytest.approx(math.exp(-1.959964 * error), rel=1e-6)
    # The intercept and the slope of the largest likelihood, by another optimizer.
    z = special.logit(RISKS)

    def loss(ab):
        signs = np.where(LABELS, 1, -1)
        return -special.log_expit(signs * (ab[0] + ab[1] * z)).sum()

    best = optimize.minimize(loss, [0.0, 1.0], tol=1e-12).x
    assert found["calibration_slope"] == pytest.approx(best[1], abs=1e-4)
    alone = optimize.brentq(lambda a: special.expit(a + z).sum() - 150, -3, 3)
    assert found["calibration_intercept"] == pytest.approx(alone, abs=1e-9)
    # Of all pairs of an example with the event and one without.
    pairs = np.sign(RISKS[LABELS][:, None] - RISKS[~LABELS])
    assert found["auroc"] == pytest.approx((1 + pairs.mean()) / 2)
    metrics = values(section["metrics"])
    brier = np.mean((LABELS - RISKS) ** 2)
    assert metrics["brier_score"] == pytest.approx(brier)
    share = 150 / 400
    scaled = 1 - brier / (share * (1 - share))
    assert metrics["scaled_brier_score"] == pytest.approx(scaled)
    curve = section["decision_curve"]
    place = curve["thresholds"].index(0.3)
    # Of those with a risk of .3 or more 100 had the event, and 100 had not.
    assert curve["net_benefit"][place] == pytest.approx((100 - 100 * 3 / 7) / 400)
    assert curve["treat_all"][place] == pytest.approx((150 - 250 * 3 / 7) / 400)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_numbers_are_those_of_the_functions(kind, weighted):
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 300)
    labels = (rng.random(300) < special.expit(0.7 * z)).astype(int)
    weights = {"sample_weight": np.arange(300) % 3 + 1.0} if weighted else {}
    given = {kind: special.expit(z) if kind == "probabilities" else z}
    section = section_of(labels, **given, **weights)
    p = special.expit(z)
    for name in (
        "observed_expected_ratio",
        "calibration_intercept",
        "calibration_slope",
    ):
        ends = section["intervals"][name]
        lower, estimate, upper, *p_value = getattr(um, name)(labels, p, **weights)
        expected = {"low": lower, "estimate": estimate, "high": upper}
        assert ends == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert p_value == [] or section["p_values"][name] == pytest.approx(
            p_value[0], rel=1e-5
        )
    lower, estimate, upper = um.auroc_interval(labels, z, **weights)
    assert section["intervals"]["auroc"] == pytest.approx(
        {"low": lower, "estimate": estimate, "high": upper}
    )
    index = um.integrated_calibration_index(labels, p, **weights)
    metrics = values(section["metrics"])
    assert [metrics[name] for name in ("ici", "e50", "e90")] == pytest.approx(
        index[:3], rel=1e-6
    )
    joint = joint_p_value(labels, p, weights.get("sample_weight"))
    assert section["p_value"] == pytest.approx(joint, rel=1e-5)


def test_the_order_of_logits_counts_where_risks_round_to_1():
    labels, logits = [0, 0, 1, 1] * 20, [800.0, 801.0, 802.0, 803.0] * 20
    assert estimates(section_of(labels, logits=logits))["auroc"] == 1


def test_only_a_named_event_has_risks():
    two = np.stack([1 - RISKS, RISKS], axis=1)
    found = um.report(LABELS.astype(int), two).to_dict()
    assert "risk" not in found
    found = um.report(correct=LABELS, confidences=RISKS).to_dict()
    assert "risk" not in found
    names = np.where(LABELS, "died", "lived")
    section = section_of(names, RISKS, classes=["lived", "died"])
    assert section["event"] == "died"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("positive", ["died", "lived"])
def test_files_name_the_event(positive):
    names = np.where(LABELS, "died", "lived")
    rows = zip(names, 1 - RISKS, RISKS, strict=True)
    write_csv("two.csv", ["label", "p_lived", "p_died"], rows)
    run("two.csv")
    assert "risk" not in numbers()
    run("two.csv", "--positive-class", positive)
    section = numbers()["risk"]
    labels, p = (LABELS, RISKS) if positive == "died" else (~LABELS, 1 - RISKS)
    assert section["event"] == positive
    assert section["events"] == labels.sum()
    slope = um.calibration_slope(labels.astype(int), p).estimate
    assert estimates(section)["calibration_slope"] == pytest.approx(slope, rel=1e-6)


def test_a_positive_class_must_be_one_of_two(capsys):
    write_csv("two.csv", ["label", "p_a", "p_b"], [["a", 0.4, 0.6], ["b", 0.3, 0.7]])
    assert "Received: a, b" in fails(capsys, "two.csv", "--positive-class", "c")
    rows = [["a", 0.2, 0.2, 0.6], ["b", 0.3, 0.3, 0.4], ["c", 0.3, 0.3, 0.4]]
    write_csv("three.csv", ["label", "p_a", "p_b", "p_c"], rows)
    assert "two classes" in fails(capsys, "three.csv", "--positive-class", "c")


def test_the_page_text_and_pictures():
    found = um.report(LABELS.astype(int), RISKS)
    text = words(found.summary())
    section = found.to_dict()["risk"]
    assert section["verdict"] in text
    start = "The event (class 1) came 150 times in 400 examples, and the risks expect"
    assert section["verdict"].startswith(f"{start} 150. Up to chance")
    assert "The risks are too extreme (slope 0.4" in text
    tile = tiles(found.to_dict())["As a risk of class 1"]
    assert (tile["value"], tile["level"]) == ("Too extreme", "bad")
    names = {path.name for path in found.save("out")}
    pictures = {"risk_calibration_curve.png", "decision_curve.png"}
    assert pictures <= names
    page = (found.save("out")[0]).read_text("utf-8")
    assert '<h2 id="as-a-risk">As a risk</h2>' in page


def test_the_gain_over_the_share_of_events_is_that_of_the_score_of_the_event():
    labels = np.concatenate([np.arange(20) < 2 * g for g in range(10)]).astype(int)
    p = np.linspace(0.01, 0.99, 200)
    found = um.report(labels, p).to_dict()
    share = np.mean((labels - p) ** 2) / (labels.mean() * (1 - labels.mean()))
    tile = tiles(found)["Against a constant forecast"]
    assert tile["value"] == f"{1 - share:.0%} better"


@pytest.mark.parametrize(
    ("change", "finding"),
    [(-1.0, "Too low"), (1.0, "Too high"), (0.0, "May be calibrated")],
)
def test_the_tile_names_the_finding(change, finding):
    z = special.logit(np.repeat([0.1, 0.3, 0.5, 0.7], 100))
    labels = np.concatenate([np.arange(100) < 100 * q for q in (0.1, 0.3, 0.5, 0.7)])
    found = um.report(labels.astype(int), special.expit(z + change)).to_dict()
    assert tiles(found)["As a risk of class 1"]["value"] == finding


DEGENERATE = {
    "no event": ([0] * 60, np.linspace(0.1, 0.5, 60), "No example has the event"),
    "all": ([1] * 60, np.linspace(0.1, 0.5, 60), "All examples have the event"),
    "one event": ([0] * 59 + [1], np.linspace(0.1, 0.5, 60), "Too few to say: "),
    "equal risks": ([0, 1] * 30, np.full(60, 0.3), "so there is no slope"),
    "no risk": ([0, 1] * 30, np.zeros(60), "All risks are 0, so there is no O/E"),
    "alone": ([1], np.array([0.3]), "All examples have the event"),
}


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("survives", [False, True])
@pytest.mark.first(6)
def test_degenerate_data_say_so(name, survives):
    labels, risks, said = DEGENERATE[name]
    labels = np.array(labels)
    if survives:  # All are followed until time 3, and events come at time 1.
        found = um.report(
            times=np.where(labels, 1.0, 3.0), event=labels, survival=1 - risks, at=2.0
        )
    else:
        found = um.report(labels, risks, compare={"other": risks[::-1]})
    assert said in words(found.summary())
    names = {path.name for path in found.save("out")}
    assert "decision_curve.png" in names
    numbers("out")  # Strict JSON.


def test_two_models_of_the_same_examples():
    rng = np.random.default_rng(1)
    z = rng.normal(size=500)
    labels = (rng.random(500) < special.expit(z)).astype(int)
    noisy = special.expit(z + rng.normal(size=500))
    found = um.report(labels, special.expit(z), compare={"other": noisy})
    section = found.to_dict()["comparison"]["risk"]
    lower, estimate, upper, p = um.auroc_difference(labels, special.expit(z), noisy)
    assert section["auroc_difference"] == pytest.approx(
        {"low": lower, "estimate": estimate, "high": upper, "p_value": p}
    )
    assert section["verdict"].startswith("The first ranks the risks better")
    assert section["verdict"] in words(found.summary())
    # Of other examples there is no such difference.
    np.savez("a.npz", labels=labels, probabilities=noisy)
    np.savez("b.npz", labels=1 - labels, probabilities=noisy)
    a, b = (report.read_predictions(name) for name in ("a.npz", "b.npz"))
    assert "risk" not in report.build(a, 15, b).to_dict()["comparison"]


def test_a_stream_has_the_risks_of_its_sample(monkeypatch):
    monkeypatch.setattr(_large_files, "_MOST_ROWS", 100)
    monkeypatch.setattr(_large_files, "_LEAST_ROWS", 100)
    rng = np.random.default_rng(0)
    p = rng.random([6, 50])
    labels = (rng.random([6, 50]) < p).astype(int)
    found = um.report(
        batches=(
            {"labels": y, "probabilities": q} for y, q in zip(labels, p, strict=True)
        )
    )
    assert found.to_dict()["risk"]["examples"] == 100
    text = words(found.summary()).partition("As a risk -")[2]
    assert "This section is about a uniform sample of 100 rows." in text


# Survival.


def test_survival_numbers_are_those_of_the_functions():
    data = cohort()
    times, event, survival = data.values()
    found = um.report(**data, at=2.0).to_dict()
    labels, weights = um.survival_at(times, event, 2.0)
    risks, weighted = 1 - survival, {"sample_weight": weights}
    given = estimates(found["risk"])
    for name in (
        "observed_expected_ratio",
        "calibration_intercept",
        "calibration_slope",
    ):
        expected = getattr(um, name)(labels, risks, **weighted).estimate
        assert given[name] == pytest.approx(expected)
    assert given["auroc"] == pytest.approx(um.auroc(labels, risks, **weighted))
    assert given["harrell_c"] == um.concordance_index(times, event, risks)
    assert given["uno_c"] == um.concordance_index(
        times, event, risks, ipcw=True, at=2.0
    )
    brier = um.ipcw_brier_score(times, event, survival, 2.0)
    assert given["brier_score"] == pytest.approx(brier)
    index = um.integrated_calibration_index(labels, risks, **weighted)
    assert values(found["risk"]["metrics"])["ici"] == pytest.approx(index.ici)
    lost = (event == 0) & (times <= 2)
    assert found["data"]["lost_by_horizon"] == lost.sum()
    for name, ends in found["risk"]["intervals"].items():
        assert ends["low"] < given[name] < ends["high"]


def test_without_censoring_it_is_a_binary_model():
    rng = np.random.default_rng(0)
    times, risks = rng.exponential(3, 200), rng.uniform(0.05, 0.95, 200)
    found = um.report(
        times=times, event=np.ones(200), survival=1 - risks, at=2.0
    ).to_dict()
    section = section_of((times <= 2).astype(int), risks)
    for name in section["intervals"]:
        expected = pytest.approx(estimates(section)[name], rel=1e-9)
        assert estimates(found["risk"])[name] == expected
    curve = section["decision_curve"]["net_benefit"]
    assert found["risk"]["decision_curve"]["net_benefit"] == pytest.approx(curve)


@pytest.mark.thorough
def test_the_bootstrap_is_wider_than_weights_as_numbers():
    # A weight taken as a number of examples would make the interval too short.
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    came, lost = rng.exponential(3 * np.exp(-x)), rng.exponential(2, 800)
    data = {"times": np.minimum(came, lost), "event": came <= lost}
    survival = np.exp(-2 / 3 * np.exp(x))
    ends = section_of(**data, survival=survival, at=2.0)["intervals"]
    labels, weights = um.survival_at(*data.values(), 2.0)
    naive = um.calibration_slope(labels, 1 - survival, sample_weight=weights)
    slope = ends["calibration_slope"]
    assert slope["high"] - slope["low"] > 1.1 * (naive.upper - naive.lower)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("ending", "column"), [("csv", "survival"), ("npz", "risk"), ("jsonl", "risk")]
)
def test_survival_files(ending, column, monkeypatch):
    monkeypatch.setattr(_survival, "_NUM_RESAMPLES", 20)
    data = cohort(200)
    expected = um.report(**data, at=2.0).to_dict()["risk"]["intervals"]
    forecast = data.pop("survival")
    columns = {
        "time": data["times"],
        "event": data["event"],
        column: forecast if column == "survival" else 1 - forecast,
        "age": np.arange(200),
    }
    name = f"cox.{ending}"
    rows = [*zip(*(x.tolist() for x in columns.values()), strict=True)]
    if ending == "csv":
        write_csv(name, columns, rows)
    elif ending == "npz":
        np.savez(name, **columns)
    else:
        records = (dict(zip(columns, row, strict=True)) for row in rows)
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(record)}\n" for record in records)
    text = run(name, "--horizon", "2")
    assert "Left out, because the names are not known: age." in words(text)
    found = numbers()["risk"]["intervals"]
    for key, ends in expected.items():
        assert found[key] == pytest.approx(ends, rel=1e-6)


def test_several_survival_files_are_read_as_one(monkeypatch):
    monkeypatch.setattr(_survival, "_NUM_RESAMPLES", 20)
    data = cohort(200)
    times, event, survival = (x.tolist() for x in data.values())
    rows = [*zip(times, event, survival, strict=True)]
    for i, part in enumerate((rows[:70], rows[70:])):
        write_csv(f"part{i}.csv", ["time", "event", "survival"], part)
    run("part0.csv", "part1.csv", "--horizon", "2")
    expected = estimates(um.report(**data, at=2.0).to_dict()["risk"])
    assert estimates(numbers()["risk"]) == pytest.approx(expected)


@pytest.mark.thorough
def test_compare_survival_models():
    data = cohort()
    other = np.full(600, 0.7)
    found = um.report(**data, at=2.0, compare={"the same for all": other})
    section = found.to_dict()["comparison"]
    assert section["same_examples"] is True
    ends = section["differences"]["auroc"]
    expected = section["numbers"]["auroc"]["first"] - 0.5
    assert ends["estimate"] == pytest.approx(expected)
    assert ends["low"] > 0
    assert section["verdict"] == "The first model has the larger AUROC at the horizon."
    assert section["verdict"] in words(found.summary())
    tile = tiles(found.to_dict())["Compared with the same for all"]
    assert tile["value"] == "The first predicts better"


def test_survival_of_other_kinds_is_refused(capsys):
    data = cohort(60)
    with pytest.raises(ValueError, match="needs `times`, `event`, `survival` and `at`"):
        um.report(times=data["times"], event=data["event"])
    with pytest.raises(ValueError, match="takes no `labels`"):
        um.report(data["event"], **data, at=2.0)
    with pytest.raises(ValueError, match="`at` must be a finite time"):
        um.report(**data, at=-1.0)
    with pytest.raises(ValueError, match=r"below .* when the last of `times`"):
        um.report(times=[1.0, 2.0], event=[1, 0], survival=[0.5, 0.5], at=3.0)
    for value, action in ((50.0, "divide percent by 100"), (1.00001, "clip rounding")):
        wrong = {**data, "survival": np.full(60, value)}
        with pytest.raises(ValueError, match=rf"`survival` .* \[0, 1\]; {action}"):
            um.report(**wrong, at=2.0)
    for name in ("times", "event", "survival"):
        wrong = {**data, name: np.ma.masked_less(data[name], 0.5)}
        with pytest.raises(ValueError, match=f"`{name}` .* without masked entries"):
            um.report(**wrong, at=2.0)
    write_csv("cox.csv", ["time", "event", "survival"], [[1, 1, 0.5], [2, 0, 0.5]])
    assert "needs --horizon" in fails(capsys, "cox.csv")
    late = fails(capsys, "cox.csv", "--horizon", "9")
    assert "`--horizon` must be below 2.0" in late
    assert "`at`" not in late
    error = fails(capsys, "cox.csv", "--horizon", "1", "--label", "event")
    assert "leave out --horizon, or the other options" in error
    write_csv("no.csv", ["time", "dead", "survival"], [[1, 1, 0.5], [2, 0, 0.5]])
    assert "exactly one column called event" in fails(
        capsys, "no.csv", "--horizon", "1"
    )
    write_csv("b.csv", ["label", "p"], [[0, 0.3], [1, 0.6]])
    write_csv("cox.csv", ["time", "event", "survival"], [[1, 1, 0.5], [2, 1, 0.5]])
    both = ("cox.csv", "--horizon", "1", "--compare", "b.csv")
    assert "a survival model needs" in fails(capsys, *both)
