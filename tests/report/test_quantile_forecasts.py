"""The calibration report of forecasts by quantiles."""

import csv
import json
import math
import pathlib

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import run
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.reading import _large_files
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.sections._quantile_numbers import (
    tested_share as share_tested,
)

pytestmark = pytest.mark.usefixtures("own_directory")
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def forecasts(n=200, seed=0, factor=1.0, levels=LEVELS):
    """Returns targets, whose spread is `factor` times as large as the quantiles say,
    and the quantiles.
    """
    rng = np.random.default_rng(seed)
    means = rng.normal(size=n)
    quantiles = means[:, None] + stats.norm.ppf(levels)
    return means + factor * rng.normal(size=n), quantiles


def written(path, columns):
    """Writes columns of a CSV file; returns its name."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*(list(each) for each in columns.values()), strict=True))
    return str(path)


def read(columns, **choice):
    """Returns the numbers of the report of a CSV file with these columns."""
    path = written("forecasts.csv", columns)
    model = report.read_predictions(path, Choice(**choice))
    return json.loads(json.dumps(report.build(model).to_dict()))


def refused(columns, **choice):
    """Returns the one line of the error for a CSV file with these columns."""
    with pytest.raises(report.ReportError) as caught:
        read(columns, **choice)
    (line,) = str(caught.value).splitlines()
    return line


def tile(found, title):
    """Returns the finding with this title in the numbers of a report."""
    return next(each for each in found["tiles"] if each["title"] == title)


# Numbers, by loops.


def naive_scores(y, quantiles, levels):
    """Returns the CRPS of one row: twice the mean pinball loss."""
    total = 0.0
    for level, q in zip(levels, quantiles, strict=True):
        total += level * (y - q) if y >= q else (1 - level) * (q - y)
    return 2 * total / len(levels)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_equal_loops(weighted):
    y, quantiles = forecasts()
    w = np.random.default_rng(1).integers(0, 3, 200) if weighted else np.ones(200)
    found = um.report(
        y, quantiles=quantiles, levels=LEVELS, sample_weight=w if weighted else None
    ).to_dict()
    assert found["task"] == "quantiles"
    rows = range(200)

    def mean(of_row):
        return sum(w[i] * of_row(i) for i in rows) / w.sum()

    scores = {
        name: metric["value"]
        for name, metric in found["scoring_rules"]["metrics"].items()
    }
    crps = mean(lambda i: naive_scores(y[i], quantiles[i], LEVELS))
    assert scores["crps"] == pytest.approx(crps)
    # The parts by the definition of the weighted interval score, K = 2.
    ends = [(0.2, 0, 4), (0.5, 1, 3)]

    def spread(i):
        return sum(a / 2 * (quantiles[i, v] - quantiles[i, u]) for a, u, v in ends)

    def over(i):
        outside = sum(max(quantiles[i, u] - y[i], 0) for _, u, _ in ends)
        return outside + max(quantiles[i, 2] - y[i], 0) / 2

    def under(i):
        outside = sum(max(y[i] - quantiles[i, v], 0) for _, _, v in ends)
        return outside + max(y[i] - quantiles[i, 2], 0) / 2

    assert scores["spread"] == pytest.approx(mean(spread) / 2.5)
    assert scores["overprediction"] == pytest.approx(mean(over) / 2.5)
    assert scores["underprediction"] == pytest.approx(mean(under) / 2.5)
    parts = ("spread", "overprediction", "underprediction")
    assert sum(scores[name] for name in parts) == pytest.approx(crps)

    # The best constant quantile of each level is one of the targets.
    kept = [i for i in rows if w[i] > 0]
    best = [
        min(mean(lambda i, c=c, t=t: naive_scores(y[i], [c], [t])) for c in y[kept])
        for t in LEVELS
    ]
    constant = sum(best) / len(best)
    assert found["scoring_rules"]["constant"]["constant"] == pytest.approx(constant)
    assert found["scoring_rules"]["skill"] == pytest.approx(1 - crps / constant)

    for row, (alpha, u, v) in zip(found["calibration"]["intervals"], ends, strict=True):
        assert row["level"] == pytest.approx(1 - alpha)
        coverage = mean(lambda i, u=u, v=v: quantiles[i, u] <= y[i] <= quantiles[i, v])
        assert row["coverage"]["share"] == pytest.approx(coverage)
        assert row["coverage"]["low"] < coverage < row["coverage"]["high"]
        width = mean(lambda i, u=u, v=v: quantiles[i, v] - quantiles[i, u])
        assert row["width"] == pytest.approx(width)
    for k, row in enumerate(found["calibration"]["quantiles"]):
        below = mean(lambda i, k=k: y[i] <= quantiles[i, k])
        assert row["below"]["share"] == pytest.approx(below)
    if not weighted:
        share, n = found["calibration"]["intervals"][0]["coverage"], 200
        count = round(share["share"] * n)
        wilson = stats.binomtest(count, n).proportion_ci(method="wilson")
        assert (share["low"], share["high"]) == pytest.approx(wilson)
        z = (count / n - 0.8) / math.sqrt(0.8 * 0.2 / n)
        assert share["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_horizons_equal_reports_of_their_rows():
    y, quantiles = forecasts(300)
    h = np.arange(300) % 3 + 1
    found = um.report(y, quantiles=quantiles, levels=LEVELS, horizons=h).to_dict()
    for k, row in enumerate(found["horizons"]["horizons"], 1):
        alone = um.report(y[h == k], quantiles=quantiles[h == k], levels=LEVELS)
        alone = alone.to_dict()
        assert row["horizon"] == str(k)
        assert row["examples"] == 100
        assert row["crps"] == alone["scoring_rules"]["metrics"]["crps"]["value"]
        assert row["coverage"] == alone["calibration"]["intervals"][0]["coverage"]


def test_many_horizons_are_put_together():
    y, quantiles = forecasts(500)
    found = um.report(y, quantiles=quantiles, levels=LEVELS, horizons=np.arange(500))
    rows = found.to_dict()["horizons"]["horizons"]
    assert len(rows) == 60
    assert rows[0]["horizon"] == "0 to 7"
    assert sum(row["examples"] for row in rows) == 500


def test_copies_in_clusters_are_as_sure_as_one_of_each():
    y, quantiles = forecasts(150)
    alone = um.report(y, quantiles=quantiles, levels=LEVELS).to_dict()
    copies = um.report(
        np.repeat(y, 5),
        quantiles=np.repeat(quantiles, 5, axis=0),
        levels=LEVELS,
        clusters=np.repeat(np.arange(150), 5),
    ).to_dict()
    for one, five in zip(
        *(each["calibration"]["intervals"] for each in (alone, copies)), strict=True
    ):
        widths = [
            each["coverage"]["high"] - each["coverage"]["low"] for each in (one, five)
        ]
        assert widths[0] <= widths[1] < 1.03 * widths[0]


def test_too_narrow_and_right_intervals_are_told_apart():
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    tiles = {}
    for factor in (1.0, 2.0, 0.5):
        y, quantiles = forecasts(1000, seed=3, factor=factor, levels=levels)
        found = um.report(y, quantiles=quantiles, levels=levels).to_dict()
        tiles[factor] = tile(found, "Coverage")["value"]
    assert tiles == {
        1.0: "May be right",
        2.0: "Intervals too narrow",
        0.5: "Intervals too wide",
    }


def test_right_quantiles_of_counts_are_not_condemned():
    # Of counts P(Y <= q) is at least the level, and P(Y < q) at most.
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.5, 3, 5000)
    quantiles = stats.poisson.ppf(LEVELS, rates[:, None])
    found = um.report(rng.poisson(rates), quantiles=quantiles, levels=LEVELS).to_dict()
    assert tile(found, "Coverage")["value"] == "May be right"
    assert found["calibration"]["intervals"][0]["coverage"]["share"] > 0.88


@pytest.mark.parametrize("clustered", [False, True])
def test_the_test_of_a_share_rarely_condemns_a_right_one(clustered):
    rng = np.random.default_rng(0)
    alarms = 0
    clusters = np.repeat(np.arange(40), 5) if clustered else None
    for _ in range(400):
        shared = (
            np.repeat(rng.normal(size=40), 5) if clustered else rng.normal(size=200)
        )
        z = (shared + rng.normal(size=200)) / math.sqrt(2)
        inside = np.abs(z) < stats.norm.ppf(0.95)
        alarms += share_tested(inside, inside, 0.9, None, clusters).p_value < 0.05
    assert alarms <= 400 * 0.09


def test_crossing_quantiles_are_counted_and_named():
    y, quantiles = forecasts()
    quantiles[:7, [2, 3]] = quantiles[:7, [3, 2]]
    quantiles[7, [0, 1]] = quantiles[7, [1, 0]]
    found = um.report(y, quantiles=quantiles, levels=LEVELS)
    crossing = found.to_dict()["scoring_rules"]["crossing"]
    assert crossing == {"rows": 8, "share": 0.04, "levels": [0.5, 0.75], "most": 7}
    text = " ".join(found.summary().split())
    assert "cross in 8 rows (4.00%): most often, in 7, that of level 0.5" in text


def test_the_pit_of_right_quantiles_looks_uniform():
    # Of a target that is interpolated between few quantiles it would not.
    levels, n = np.arange(1, 10) / 10, 4000
    y, quantiles = forecasts(n, levels=levels)
    found = um.report(y, quantiles=quantiles, levels=levels, num_bins=15)
    pit = found.to_dict()["pit"]
    bars = np.array(pit["histogram"]["density"])
    assert np.all(np.abs(bars - 1) < 4.5 * np.sqrt(15 / n))
    assert pit["verdict"].startswith(
        "The PIT values of calibrated forecasts are uniform. These may be"
    )
    # One target at each place, weight 3 as three rows.
    cells = (y[:, None] > quantiles).sum(axis=1)
    middles = (cells + 0.5) / 10
    assert pit["metrics"]["mean"]["value"] == pytest.approx(middles.mean())
    variance = middles.var() + 0.1**2 / 12
    assert pit["metrics"]["variance"]["value"] == pytest.approx(variance)
    weights = np.random.default_rng(2).integers(0, 3, n)
    repeated, weighted = (
        um.report(**given, levels=levels).to_dict()["pit"]["histogram"]["density"]
        for given in (
            {
                "labels": np.repeat(y, weights),
                "quantiles": np.repeat(quantiles, weights, axis=0),
            },
            {"labels": y, "quantiles": quantiles, "sample_weight": weights},
        )
    )
    np.testing.assert_allclose(weighted, repeated)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, q: (y + 1, q), "The forecasts tend to be too low."),
        (lambda y, q: (y - 1, q), "The forecasts tend to be too high."),
        (lambda y, q: (y, q.mean(1, keepdims=True) * 0.6 + q * 0.4), "too narrow."),
        (lambda y, q: (y, q.mean(1, keepdims=True) * -1 + q * 2), "too wide."),
    ],
)
def test_the_pit_says_what_is_wrong(change, words):
    y, quantiles = change(*forecasts(1000))
    found = um.report(y, quantiles=quantiles, levels=LEVELS).to_dict()
    assert words in found["pit"]["verdict"]


def test_steps_minimize_the_pinball_loss_and_gain_what_is_known():
    y, quantiles = forecasts(300, factor=2.0)
    found = um.report(y, quantiles=quantiles, levels=LEVELS).to_dict()
    found = found["calibration_loss"]
    widths = quantiles[:, 4] - quantiles[:, 0]
    for k, level in enumerate(LEVELS):
        step = found["steps"][f"{level:g}"]
        losses = [
            np.mean(um.pinball_loss(y, quantiles[:, k] + each * widths, level))
            for each in (step, *((y - quantiles[:, k]) / widths))
        ]
        assert losses[0] == pytest.approx(min(losses))
    # The quantiles are of half the true spread, which is known here.
    means = quantiles[:, 2]
    right = means[:, None] + 2 * (quantiles - means[:, None])
    scores = [um.crps_quantile_score(y, q, LEVELS) for q in (quantiles, right)]
    assert found["crps"]["loss"] == pytest.approx(scores[0].mean())
    possible = scores[0].mean() - scores[1].mean()
    assert 0.8 * possible < found["crps"]["gain"]["estimate"] < 1.1 * possible
    assert found["crps"]["underconfident"] == 0


def test_right_quantiles_gain_nothing_on_average():
    gains, below = [], 0
    for seed in range(60):
        y, quantiles = forecasts(200, seed=seed)
        found = um.report(y, quantiles=quantiles, levels=LEVELS).to_dict()
        gain = found["calibration_loss"]["crps"]["gain"]
        gains.append(gain["estimate"])
        below += gain["low"] <= 0
    assert np.mean(gains) < 0
    assert below >= 56


def test_levels_without_pairs_have_no_intervals():
    y, quantiles = forecasts()
    found = um.report(y, quantiles=quantiles[:, 3:], levels=[0.75, 0.9]).to_dict()
    assert found["calibration"]["intervals"] == []
    assert set(found["scoring_rules"]["metrics"]) == {"crps"}


# Files.

Y, Q = forecasts(60)
ID = [f"s{i % 30}" for i in range(60)]
SHAPES = {
    "q": ["q0.1", "q0.25", "q0.5", "q0.75", "q0.9"],
    "percent": ["p10", "p25", "p50", "p75", "p90"],
    "gluonts": ["0.1", "0.25", "0.5", "0.75", "0.9"],
    "long names": [f"quantile_{level}" for level in LEVELS],
    "darts": [f"load_q{level:.2f}" for level in LEVELS],
    "nixtla": ["ETS-lo-80", "ETS-lo-50", "ETS-median", "ETS-hi-50", "ETS-hi-80"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_are_read_in_any_order(shape):
    names = SHAPES[shape]
    columns = {
        "unique_id": ID,
        "ds": range(60),
        "y": Y,
        "step": [1, 2] * 30,
        "other": Y,
    }
    columns |= {name: Q[:, names.index(name)] for name in reversed(names)}
    found = read(columns)
    here = um.report(
        Y,
        quantiles=Q,
        levels=LEVELS,
        clusters=np.array(ID),
        horizons=np.array([1, 2] * 30),
    ).to_dict()
    assert found["data"]["levels"] == [*LEVELS]
    assert found["data"]["clusters"] == 30
    for section in ("calibration", "scoring_rules", "horizons"):
        assert found[section] == json.loads(json.dumps(here[section])), section
    notes = " ".join(found["notes"])
    assert f"Read `{names[0]}` as the quantile of level 0.1; " in notes
    assert "`y` as what was observed; `unique_id` as the series" in notes
    assert "`step` as the horizon; `ds` as the time" in notes
    assert "Left out, because the names are not known: other." in notes


def test_prophet_needs_the_level(capsys):
    columns = {"ds": range(60), "y": Y, "yhat": Q[:, 2]}
    columns |= {"yhat_lower": Q[:, 0], "yhat_upper": Q[:, 4]}
    assert "need --level" in refused(columns)
    assert main(["report", "forecasts.csv", "--level", "80"]) == 2
    assert "between 0 and 1" in capsys.readouterr().err
    found = read(columns, level=0.8)
    assert found["data"]["levels"] == [0.1, 0.9]
    assert [each["level"] for each in found["calibration"]["intervals"]] == [0.8]


def test_arrays_and_a_series():
    arrays = {"quantiles": Q, "levels": LEVELS, "target": Y, "series": ID}
    np.savez("forecasts.npz", **arrays)
    model = report.read_predictions("forecasts.npz")
    assert report.build(model).to_dict()["data"]["clusters"] == 30
    np.savez("forecasts.npz", **arrays | {"series": ["a"] * 60})
    model = report.read_predictions("forecasts.npz")
    assert model.clusters is None
    assert "All rows are of one `series`" in model.notes[-1]


def test_one_of_several_models_is_chosen():
    columns = {"y": Y}
    for name, shift in (("A", 0), ("B", 1)):
        columns[f"{name}-lo-80"] = Q[:, 0] + shift
        columns[f"{name}-hi-80"] = Q[:, 4] + shift
    columns["B-lo-60"] = Q[:, 1] + 1
    assert "A, B, without the same levels: choose the columns" in refused(columns)
    found = read(columns, probabilities="B-*-80")
    assert "Read `B-lo-80` as the quantile of level 0.1" in " ".join(found["notes"])


REFUSED = {
    "a level of 1": ({"y": Y, "q0.1": Y, "q1.0": Y}, "`q1.0` names the level 1"),
    "p100": ({"y": Y, "p50": Y, "p100": Y}, "`p100` names the level 1"),
    "p0.1": ({"y": Y, "p0.1": Y, "p0.9": Y}, "may be levels or percent"),
    "100 percent": ({"y": Y, "A-lo-100": Y, "A-hi-100": Y}, "(0, 100) percent"),
    "a level twice": ({"y": Y, "q0.1": Y, "q0.10": Y}, "are both the quantile"),
    "two forms": ({"y": Y, "q0.1": Y, "p10": Y, "p90": Y}, "which columns hold"),
    "no target": ({"q0.1": Y, "q0.9": Y}, "one column must hold what was observed"),
    "two targets": ({"y": Y, "actual": Y, "q0.5": Y}, "each of y, actual may hold"),
    "also a regression": (
        {"y": Y, "mean": Y, "std": Y, "q0.5": Y},
        "mean, std may be a regression",
    ),
    "whole numbers": ({"y": Y, "q10": Y, "q90": Y}, "call that of level 0.1 q0.1"),
    "descending": ({"y": Y, "q0.1": Q[:, 4], "q0.9": Q[:, 0]}, "must ascend"),
    "text": ({"y": ID, "q0.1": Y, "q0.9": Y}, "must hold numbers"),
    "a target missing": ({"y": [*Y[:3], "", *Y[4:]], "q0.5": Y}, "`y` is missing"),
    "a quantile missing": ({"y": Y, "q0.5": ["", *Y[1:]]}, "`q0.5` must be a number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_files_are_refused_in_one_line(case):
    columns, message = REFUSED[case]
    assert message in refused(columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantiles": Q, "levels": [0.1, 0.25, 0.5, 0.75, 1.0]}, "levels"),
        ({"quantiles": Q, "levels": LEVELS[::-1]}, "ascending"),
        ({"quantiles": Q}, "levels"),
        ({"levels": LEVELS}, "`quantiles`"),
        ({"quantiles": Q[:, :4], "levels": LEVELS}, "shape"),
        ({"quantiles": Q[:, ::-1], "levels": LEVELS}, "must ascend"),
        ({"quantiles": Q * np.nan, "levels": LEVELS}, "finite"),
        ({"quantiles": Q, "levels": LEVELS, "means": Y}, "without other"),
        ({"quantiles": Q, "levels": LEVELS, "groups": ID}, "groups"),
        ({"quantiles": Q, "levels": LEVELS, "horizons": [1, 2]}, "horizons"),
    ],
)
def test_wrong_arrays_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        um.report(Y, **arguments)


def test_classes_stay_classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 60)
    labels = rng.choice([10, 50, 90], 60)
    columns = {"y": labels, "p10": p[:, 0], "p50": p[:, 1], "p90": p[:, 2]}
    assert read(columns)["task"] == "classification"
    columns = {"label": labels > 40, "p0": p[:, 0], "p1": 1 - p[:, 0], "q0.5": Y}
    assert read(columns)["task"] == "classification"


def test_parts_of_large_files_are_put_together():
    y, quantiles = forecasts(400)
    for i in range(2):
        some = slice(200 * i, 200 * (i + 1))
        columns = {"series": np.arange(400)[some] // 8, "horizon": [1, 2] * 100}
        columns |= {
            "y": y[some],
            "q0.1": quantiles[some, 0],
            "q0.9": quantiles[some, 4],
        }
        written(f"part{i}.csv", columns)
    paths = [pathlib.Path(f"part{i}.csv") for i in range(2)]
    model = _large_files.read_stream(paths).result()
    found = json.loads(json.dumps(report.build(model).to_dict()))
    whole = um.report(
        y,
        quantiles=quantiles[:, [0, 4]],
        levels=[0.1, 0.9],
        clusters=np.arange(400) // 8,
        horizons=np.array([1, 2] * 200),
    ).to_dict()
    assert found["data"]["clusters"] == 50
    for section in ("calibration", "horizons"):
        assert found[section] == json.loads(json.dumps(whole[section]))


def test_the_command_writes_the_page():
    written("here.csv", {"y": Y, "unique_id": ID, "q0.1": Q[:, 0], "q0.9": Q[:, 4]})
    text = run("here.csv")
    assert "reliability_diagram.png" in text
    assert "The 95% intervals take the clusters (`unique_id`)" in text
