"""`um.report`: its arguments, its result, and its verdict."""

import dataclasses
import html
import json
import math
import os
import pathlib

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    calibrated,
    changed,
    each_kind,
    examples,
    forecasts,
    in_two_columns,
    members,
    of_kind,
    run,
    tiles_again,
    weighted_or_not,
    without_progress,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics._report import calibration_report
from uncertainty_metrics._report.sections import _bootstrap_intervals
from uncertainty_metrics._report.sections._forecast_scores import ForecastScores
from uncertainty_metrics._report.sections._intervals import Intervals
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval
from uncertainty_metrics._report.sections._posterior import Posterior
from uncertainty_metrics._report.sections._scoring_rules import ScoringRules
from uncertainty_metrics.numpy import _examples, _inputs

pytestmark = pytest.mark.usefixtures("own_directory")


class Frame:
    """The part of a data frame that the report reads."""

    def __init__(self, values, columns):
        self._values, self.columns = np.array(values), columns

    def to_numpy(self):
        return self._values


class Series:
    def __init__(self, values):
        self._values = np.array(values, dtype=object)

    def to_numpy(self):
        return self._values


# Too few examples for the section on recalibration, which takes long.
LABELS, P = examples(n=45).values()
MANY, P_OF_MANY = examples(n=80).values()
NAMES = np.array(["cat", "ant", "owl"])
WHOLE = {"labels": LABELS, "probabilities": P}


def numbers(*arguments, **options):
    """Returns the numbers of a report, without its name and its notes."""
    found = um.report(*arguments, **options).to_dict()
    return {k: v for k, v in found.items() if k not in ("source", "notes")}


def of_classes(found):
    return list(found["calibration"]["classes"])


def test_arrays_equal_files(undrawn):
    np.savez("p.npz", **WHOLE)
    out = run("p.npz", "--out", "of_file")
    found = um.report(LABELS, P, name="p.npz")
    written = found.save("of_arrays")
    files = {path.name: path.read_bytes() for path in written}
    assert files == {p.name: p.read_bytes() for p in pathlib.Path("of_file").iterdir()}
    assert out.startswith(f"{found.summary()}\n\nWrote of_file")
    assert json.loads(files["report.json"]) == json.loads(report.as_json(found._report))


@pytest.mark.parametrize(
    "labels",
    [
        LABELS.tolist(),
        LABELS[:, None],
        Series(LABELS.tolist()),
        Frame(LABELS[:, None], ["y"]),
    ],
    ids=["list", "column", "series", "frame"],
)
def test_labels_may_be_lists_columns_series_or_frames(labels):
    assert numbers(labels, P) == numbers(LABELS, P)


def test_columns_name_the_classes():
    text = Series(NAMES[LABELS])
    found = um.report(text, Frame(P, NAMES.tolist())).to_dict()
    assert of_classes(found) == NAMES.tolist()
    expected = numbers(LABELS, P)
    assert found["scoring_rules"] == expected["scoring_rules"]
    assert of_classes(expected) == ["0", "1", "2"]
    # Columns may have any order, and the classes of the report follow it.
    other = um.report(text, Frame(P[:, [2, 0, 1]], NAMES[[2, 0, 1]].tolist())).to_dict()
    rows = other["calibration"]["classes"]
    assert rows == {
        k: pytest.approx(v) for k, v in found["calibration"]["classes"].items()
    }
    # Numbers of classes stay numbers.
    assert of_classes(numbers(LABELS, Frame(P, NAMES.tolist()))) == NAMES.tolist()
    assert numbers(LABELS, Frame(P[:, ::-1], ["p2", "p1", "p0"])) == expected
    assert numbers(LABELS, Frame(P, [0, 1, 2])) == expected
    from_one = numbers(LABELS + 1, Frame(P, [1, 2, 3]))
    assert of_classes(from_one) == ["1", "2", "3"]
    with pytest.raises(ValueError, match=r"cat, owl, must be among the columns"):
        um.report(text, Frame(P, ["ant", "dog", "elk"]))


def test_classes_of_text_labels_are_in_sorted_order():
    ordered = np.sort(NAMES)
    found = um.report(ordered[LABELS], P).to_dict()
    assert of_classes(found) == ordered.tolist()
    (note,) = found["notes"]
    assert "classes in sorted order, as in scikit-learn: ant, cat, owl" in note
    values = um.report(NAMES[LABELS], P, classes=NAMES).to_dict()
    assert values["notes"] == []
    assert of_classes(values) == NAMES.tolist()
    few = np.where(LABELS == 2, "cat", NAMES[LABELS])
    with pytest.raises(ValueError, match="predictions have 3 classes: pass `classes`"):
        um.report(few, P)
    binary = np.where(LABELS > 0, "yes", "no")
    assert um.report(binary, P[:, 1], classes=["no", "yes"]).to_dict()["data"]
    with pytest.raises(ValueError, match="--positive-class"):
        um.report(binary, P[:, 1])


def test_members_and_forecasts_are_reported_too():
    arrays = members()
    found = um.report(**arrays).to_dict()
    assert found["data"]["members"] == 4
    assert numbers(**of_kind(arrays, "logits"))["ensemble"]["members"] == 4
    made = forecasts(np.random.default_rng(1))
    mean, stddev, target = made.values()
    weights = np.arange(200) % 3
    found = numbers(target, means=mean, stddevs=stddev, sample_weight=weights)
    assert found["task"] == "regression"
    squares = numbers(target, means=mean, variances=stddev**2, sample_weight=weights)
    assert squares["tiles"] == found["tiles"]
    np.savez("r.npz", **made, sample_weight=weights)
    of_file = report.build(report.read_predictions("r.npz"))
    assert of_file.to_dict()["tiles"] == found["tiles"]


def test_comparison_has_the_numbers_of_both_models():
    other = np.roll(P, 1, axis=1)
    found = um.report(LABELS, P, name="a", compare={"b": other}).to_dict()
    assert (found["source"], found["comparison"]["other"]["source"]) == ("a", "b")
    of_other = numbers(LABELS, other)
    assert found["comparison"]["other"]["tiles"] == of_other["tiles"]
    as_dict = um.report(LABELS, P, name="a", compare={"b": {"probabilities": other}})
    assert as_dict.to_dict() == found
    mean, stddev, target = forecasts(np.random.default_rng(1)).values()
    pair = {"wide": (mean, 2 * stddev)}
    found = um.report(target, means=mean, stddevs=stddev, compare=pair).to_dict()
    numbers_of_both = found["comparison"]["numbers"]["temperature"]
    assert numbers_of_both["first"] == pytest.approx(4 * numbers_of_both["second"])


BAD = {
    "nothing": ({}, "Either `probabilities`, or `logits`, or `means` with"),
    "both": ({"probabilities": P, "logits": P}, "Received: logits, probabilities"),
    "no spread": ({"means": LABELS}, "Received: means"),
    "bins": ({"probabilities": P, "num_bins": 0}, "`num_bins` must be"),
    "no models": ({"probabilities": P, "compare": {}}, "names of models to their"),
    "no name": ({"probabilities": P, "compare": P}, "`compare` must be a dict"),
    "no pair": (
        {"means": LABELS, "stddevs": np.ones(45), "compare": {"b": np.ones(45)}},
        "a pair `(means, stddevs)`",
    ),
    "lengths": ({"probabilities": P[1:]}, "predictions: "),
    "percent": ({"probabilities": 100 * P}, "seem to be percent"),
    "classes": (
        {"probabilities": P, "classes": ["a", "b"]},
        "there must be 3 names of classes, one for each column",
    ),
    "one name": (
        {"probabilities": P, "classes": ["a", "a", "b"]},
        "have the same name",
    ),
    "not among": (
        {"labels": NAMES[LABELS], "probabilities": P, "classes": ["ant", "cat", "elk"]},
        "one of the classes ant, cat, elk. Received: owl",
    ),
    "missing": (
        {"labels": Series(["cat", None, *NAMES[LABELS][2:]]), "probabilities": P},
        "labels must be all numbers, all text or all booleans. Received: missing ones",
    ),
    "masked": (
        {"labels": np.ma.masked_equal(LABELS, 1), "probabilities": P},
        "without masked entries",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case):
    arguments, message = BAD[case]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        um.report(**{"labels": LABELS, **arguments})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


# The result.


def test_numbers_are_plain_and_a_copy(undrawn):
    p = np.where(P.max(axis=1, keepdims=True) == P, 1.0, 0.0)
    found = um.report(LABELS, p)
    first, again = found.to_dict(), found.to_dict()
    row = first["scoring_rules"]["metrics"]["negative_log_likelihood"]
    assert row["value"] == math.inf

    def check(value):
        if isinstance(value, dict):
            for key, item in value.items():
                assert type(key) is str
                check(item)
        elif isinstance(value, list):
            list(map(check, value))
        else:
            assert type(value) in (str, int, float, bool, type(None))

    check(first)
    first["tiles"].clear()
    assert found.to_dict() == again
    folder = pathlib.Path("there")
    found.save(folder)
    text = (folder / "report.json").read_text()
    assert '"value": "inf"' in text
    assert "Infinity" not in text


def test_result_is_shown_in_notebooks_and_as_text(monkeypatch):
    found = um.report(LABELS, P, name="<model>")
    shown = found._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    assert 'sandbox=""' in shown
    page = html.unescape(shown.partition('srcdoc="')[2].partition('"')[0])
    page = page.replace("&nbsp;", " ")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Calibration report: &lt;model&gt;</title>" in page
    assert "<figure" in page
    assert str(found) == repr(found)
    assert len(str(found).splitlines()) < 25
    for tile in found.to_dict()["tiles"]:
        assert f"{tile['title']}: {tile['value']}" in str(found)
        assert tile["value"] in found.summary()
        for word in tile.values():
            assert html.escape(word) in page
    # The pictures are drawn once, and only where they are shown.
    monkeypatch.setattr(calibration_report, "draw", lambda *_: 1 / 0)
    assert found._repr_html_().startswith(shown[:1000])
    assert um.report(LABELS, P).summary()


def test_report_needs_only_the_numpy_half(capfd):
    code = (
        "import sys; sys.modules |= dict.fromkeys(('tensorflow', 'keras', 'pandas'))\n"
        "import uncertainty_metrics as um\n"
        "import uncertainty_metrics._report\n"
        "assert um.report is um.numpy.report\n"
        "print(um.report([0, 1], [0.2, 0.7]))"
    )
    root = pathlib.Path(um.__file__).parents[2]
    assert os.system(f'cd "{root}" && "{os.sys.executable}" -c "{code}"') == 0
    out, err = capfd.readouterr()
    assert out.startswith("Calibration report: predictions, 2 examples")
    assert without_progress(err) == ""


# The verdict.


def tiles_of(*arguments, **options):
    return um.report(*arguments, **options).to_dict()["tiles"]


@pytest.mark.parametrize(("weights", "n"), [([1], 80), ([1, 3], 64)])
def test_accuracy_tile(weights, n):
    weights = np.repeat(weights, 80 // len(weights))
    tile = tiles_of(MANY, P_OF_MANY, sample_weight=weights)[1]
    accuracy = np.average(P_OF_MANY.argmax(axis=1) == MANY, weights=weights)
    # Wilson's ends are the rates p with |accuracy - p| = z sqrt(p (1 - p) / n).
    z = stats.norm.ppf(0.975)
    low, high = sorted(
        np.roots([n + z**2, -(2 * n * accuracy + z**2), n * accuracy**2])
    )
    share = np.bincount(MANY, weights).max() / weights.sum()
    assert tile["value"] == f"{accuracy:.1%}"
    assert f"95% interval {low:.1%} to {high:.1%}." in tile["detail"]
    assert f"most frequent class: {share:.1%}." in tile["detail"]
    expected = "good" if low > share else "bad" if high < share else "unclear"
    assert tile["level"] == expected


def test_constant_forecasts():
    weights = np.arange(80) % 3
    found = numbers(MANY, P_OF_MANY, sample_weight=weights)["scoring_rules"]["constant"]
    shares = np.bincount(MANY, weights) / weights.sum()
    everywhere = np.tile(shares, (80, 1))
    one_hot = np.eye(3)[MANY]
    model, constant = (
        np.average(np.sum((q - one_hot) ** 2, axis=1), weights=weights)
        for q in (P_OF_MANY, everywhere)
    )
    assert found["model"] == pytest.approx(model)
    assert found["constant"] == pytest.approx(constant)
    assert found["gain"] == pytest.approx(constant - model)
    # Without weights the statistic is that of a paired t-test, taken as Normal.
    found = numbers(MANY, P_OF_MANY)["scoring_rules"]["constant"]
    z = stats.ttest_rel(
        np.sum((np.bincount(MANY) / 80 - one_hot) ** 2, axis=1),
        np.sum((P_OF_MANY - one_hot) ** 2, axis=1),
    ).statistic
    assert found["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))
    mean, stddev, target = forecasts(np.random.default_rng(1)).values()
    found = numbers(target, means=mean, stddevs=stddev)["scoring_rules"]["constant"]
    center, spread = stats.norm.fit(target)
    crps = um.crps_normal_score(target, center, spread).mean()
    assert found["constant"] == pytest.approx(crps)
    assert found["stddev"] == pytest.approx(spread)
    assert found["model"] == pytest.approx(
        um.crps_normal_score(target, mean, stddev).mean()
    )


@pytest.mark.parametrize("n", [1, 9, 49])
def test_fewer_than_50_examples_are_too_few_to_say(n):
    p = np.full(n, 0.9)
    for found, number in (
        (um.report(np.arange(n) % 2, p), 6),
        (um.report(p, means=np.arange(n), stddevs=p), 5),
    ):
        tiles = found.to_dict()["tiles"]
        assert [tile["value"] for tile in tiles] == ["Too few to say"] * number
        assert {tile["level"] for tile in tiles} == {"unclear"}
        assert f"From {n} example{'s' * (n > 1)}: " in str(found)


def test_weights_may_leave_too_few_examples_to_say():
    weights = np.repeat([1.0, 0.01], 40)  # As much as 40.8 equal weights.
    tiles = tiles_of(
        MANY, P_OF_MANY, sample_weight=weights, compare={"other": P_OF_MANY[::-1]}
    )
    assert [tile["value"] for tile in tiles] == ["Too few to say"] * 6


def test_50_examples_are_enough_to_say():
    tiles = um.report(np.arange(50) % 2, np.full(50, 0.9)).to_dict()["tiles"]
    assert "Too few to say" not in [tile["value"] for tile in tiles[1:4]]


def test_tiles_of_good_and_bad_models():
    fine = tiles_of(**in_two_columns(calibrated(2000, 0.5, 1)))
    off = tiles_of(**in_two_columns(calibrated(2000, 0.5, 1, gap=0.2)))
    assert [tile["value"] for tile in fine[2:]][::2] == [
        "May be calibrated",
        "Not clearly needed",
    ]
    assert [tile["value"] for tile in off[2:]][::2] == ["Too high", "Would help"]
    assert [tile["level"] for tile in off[::2]] == ["bad", "bad", "bad"]
    assert fine[3]["value"].endswith("% better")
    assert fine[0]["value"].endswith(", no clear gain by beta calibration")
    assert off[0]["value"].endswith(" could be gained by beta calibration")
    mean, stddev, target = forecasts(np.random.default_rng(1), factor=0.5).values()
    tiles = tiles_of(target, means=mean, stddevs=stddev)
    assert tiles[0]["value"].endswith(" could be gained")
    assert [tile["value"] for tile in tiles[2::2]] == ["Underconfident", "Would help"]


@pytest.mark.parametrize(
    ("low", "high", "level"),
    [(1.5, 1.9, "good"), (1.5, 2.5, "unclear"), (2.1, 2.5, "bad")],
)
def test_error_is_judged_by_its_interval(low, high, level):
    mean, stddev, target = forecasts(np.random.default_rng(1), n=60).values()
    found = um.report(target, means=mean, stddevs=stddev)._report
    constant = dataclasses.replace(found[ForecastScores].constant, stddev=2.0)
    found = changed(found, ForecastScores, constant=constant)
    found = changed(found, Intervals, metrics={"rmse": Interval(low, 1.7, high)})
    assert tiles_again(found)["Error"].level == level


@pytest.mark.parametrize(
    ("p", "value", "level"),
    [
        (0.0104, "Too high", "bad"),
        (0.0106, "Borderline", "unclear"),
        (0.05, "Borderline", "unclear"),
        (0.0506, "May be calibrated", "good"),
    ],
)
def test_p_values_from_1_to_5_percent_are_borderline(p, value, level):
    found = um.report(**in_two_columns(calibrated(200, 0.5, 1, gap=0.2)))._report
    found = changed(found, Posterior, p_value=p)
    constant = dataclasses.replace(found[ScoringRules].constant, p_value=p)
    said = tiles_again(changed(found, ScoringRules, constant=constant))
    calibration, constant = said["Calibration"], said["Against a constant forecast"]
    assert (calibration.value, calibration.level) == (value, level)
    expected = value if value == "Borderline" else "Not clearly better"
    assert p <= 0.0104 or constant.value == expected


def test_p_values_hold_where_hardly_any_is_wrong():
    # Of 1000 two are wrong where 0.3 are expected: P = 0.037, which is not clear. A
    # Normal sum with its standard deviation of 0.55 would make it clear.
    labels = np.arange(1000) >= 2
    p = np.full(1000, 0.9997)
    found = um.report(labels, np.stack([1 - p, p], axis=1)).to_dict()
    expected = stats.binom.sf(1, 1000, 0.0003)
    assert found["bayesian_ece"]["p_value"] == pytest.approx(expected, abs=0.02)
    assert found["tiles"][2]["value"] == "Borderline"


def test_labels_of_one_class():
    data = {"labels": np.ones(60), "probabilities": np.linspace(0.5, 1, 60)}
    tile = tiles_of(**in_two_columns(data))[3]
    assert (tile["value"], tile["level"]) == ("Nothing to compare", "unclear")
    assert tile["detail"].startswith("All outcomes are the same.")


def test_tile_of_a_comparison():
    other = np.full([80, P_OF_MANY.shape[1]], 1 / P_OF_MANY.shape[1])
    found = um.report(MANY, P_OF_MANY, compare={"constant": other})
    tile = found.to_dict()["tiles"][-1]
    scores = [um.brier_score(MANY, p, zero_based=True) for p in (P_OF_MANY, other)]
    assert tile["title"] == "Compared with constant"
    shown = f"Brier score (0 to 2) {scores[0]:.4f} for the first model and "
    shown += f"{scores[1]:.4f}"
    assert shown in tile["detail"]
    low, _, high = um.bootstrap_difference(
        um.brier_score,
        {"labels": MANY, "probabilities": P_OF_MANY},
        {"labels": MANY, "probabilities": other},
        seed=1,
    )
    better = "first" if high < 0 else "second"
    clear = low > 0 or high < 0
    expected = f"The {better} predicts better" if clear else "No clear difference"
    assert tile["value"] == expected
    assert "Compared with constant: " in repr(found)
    same = um.report(MANY, P_OF_MANY, compare={"it": P_OF_MANY}).to_dict()["tiles"][-1]
    assert (same["value"], same["level"]) == ("No clear difference", "unclear")
    few = um.report(LABELS, P, compare={"it": P}).to_dict()["tiles"][-1]
    assert few["value"] == "Too few to say"


def test_notes_are_in_the_verdict():
    found = um.report(["b", "a"], [[0.5, 0.5], [0.25, 0.75]])
    assert "Note: The columns are taken for the classes in sorted" in repr(found)


def test_classes_in_another_order_are_the_same_examples():
    columns = ["ant", "cat", "owl"]
    frame = Frame(P, columns)
    turned = Frame(P[:, [2, 0, 1]], ["owl", "ant", "cat"])
    labels = np.array(columns)[LABELS]
    found = um.report(labels, frame, compare={"turned": turned}).to_dict()
    assert found["comparison"]["same_examples"]
    assert found["comparison"]["calibration"]["difference"]["estimate"] == 0
    several = {"turned": turned, "again": frame}
    found = um.report(labels, frame, compare=several, name="it").to_dict()
    values = {}
    for row in found["comparison"]["rows"]:
        values.setdefault(row["metric"], set()).add(round(row["value"], 9))
    assert all(len(same) == 1 for same in values.values())


def test_one_index_in_two_orders():
    pd = pytest.importorskip("pandas")
    labels = pd.Series(NAMES[[0, 1, 2]])
    frame = pd.DataFrame(np.eye(3), [2, 0, 1], NAMES)
    said = r"the same index in two orders; pass `probabilities.loc\[labels.index\]`"
    with pytest.raises(ValueError, match=said):
        um.report(labels, frame)
    frame.index = [0, 1, 2]
    with pytest.raises(ValueError, match=r"`labels` and `groups\['a'\]` must be in"):
        um.report(labels, frame, groups={"a": pd.Series([*"xyz"], [2, 0, 1])})
    for index in ([0, 1, 2], [7, 8, 9]):  # The same, or unrelated.
        frame.index = index
        assert um.report(labels, frame).to_dict()["calibration"]["accuracy"] == 1


@pytest.mark.parametrize(
    ("p", "value", "level"),
    [
        (0.005, "Would help", "bad"),
        (0.02, "Borderline", "unclear"),
        (0.3, "Not clearly needed", "good"),
    ],
)
@pytest.mark.parametrize("side", ["too small", "too large"])
def test_tile_of_recalibrating_a_regression(p, value, level, side):
    n = 400
    tail = p / 2 if side == "too large" else 1 - p / 2
    z = stats.norm.ppf((np.arange(n) + 0.5) / n)
    z *= np.sqrt(stats.chi2.ppf(tail, n) / np.sum(z**2))
    tile = tiles_of(z, means=np.zeros(n), stddevs=np.ones(n))[-1]
    assert (tile["value"], tile["level"]) == (value, level)


@pytest.mark.first(1, "thorough")
@each_kind
def test_decisions_of_all_examples_are_computed_once(kind, monkeypatch):
    found = []

    def counting(values, *others):
        found.append(len(values))
        return decisions(values, *others)

    decisions = _inputs.decisions
    monkeypatch.setattr(_inputs, "decisions", counting)
    monkeypatch.setattr(_bootstrap_intervals, "_MOST_DRAWN", 1000)
    many = 20_500  # Recalibration samples some of them.
    made = um.report(**of_kind(examples(many, 2), kind))
    assert made._figures
    assert found.count(many) == 1


@each_kind
@weighted_or_not
def test_checked_examples_stand_for_all_arguments(kind, weighted):
    weights = np.arange(200) % 5 / 4 if weighted else None
    given = of_kind(examples(200, 2), kind)
    checked = _examples.examples(**given, sample_weight=weights)
    for metric in (um.ece, um.accuracy, um.brier_decomposition_exact, um.aurc):
        assert metric(checked) == metric(**given, sample_weight=weights)
    kept = np.full(200, True) if weights is None else weights > 0
    scores = um.brier_score(**given, aggregate=False)[kept]
    for again in (checked, checked.weighted(2 * checked.weighted(None).labels + 1.0)):
        plain = again.weighted(None)
        np.testing.assert_array_equal(um.brier_score(plain, aggregate=False), scores)
