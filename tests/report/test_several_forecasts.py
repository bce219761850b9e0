"""Reports on forecasts of series in time: comparisons of models, and fans."""

import csv

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.data._time_blocks import lags_of_time
from uncertainty_metrics._report.reading._column_names import Choice

pytestmark = pytest.mark.usefixtures("own_directory")
LEVELS = (0.1, 0.5, 0.9)
SERIES, STEPS = 40, 6


def panel(seed=0):
    """Returns targets of series at steps that depend on each other, and quantiles."""
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.normal(size=SERIES), STEPS)
    y = (shared + rng.normal(size=SERIES * STEPS)) / np.sqrt(2)
    return y, np.zeros((len(y), 1)) + stats.norm.ppf(LEVELS)


Y, RIGHT = panel()
WIDE = 3 * RIGHT
KEYS = {
    "unique_id": [f"s{i // STEPS}" for i in range(len(Y))],
    "ds": [f"2024-01-{i % STEPS + 1:02d}" for i in range(len(Y))],
    "horizon": [i % STEPS + 1 for i in range(len(Y))],
}


def columns(quantiles, keys=KEYS, **others):
    named = {f"q{level}": q for level, q in zip(LEVELS, quantiles.T, strict=True)}
    return {**keys, "y": Y, **named, **others}


def written(path, table, order=None):
    """Writes columns, the rows in an order; returns the name."""
    rows = list(zip(*(list(each) for each in table.values()), strict=True))
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(table)
        out.writerows(rows if order is None else [rows[i] for i in order])
    return path


def test_files_are_matched_by_series_time_and_horizon_in_any_order():
    order = np.random.default_rng(1).permutation(len(Y))
    here = written("right.csv", columns(RIGHT))
    there = written("wide.csv", columns(WIDE), order)
    text = run(here, "--compare", there)
    found = numbers()["comparison"]
    models = {
        name: {"quantile_predictions": q, "quantiles": LEVELS}
        for name, q in (("right", RIGHT), ("wide", WIDE))
    }
    metric = um.crps_quantile_score
    table = um.compare(Y, models, metrics={"crps": metric}, clusters=KEYS["unique_id"])
    for row, expected in zip(found["rows"], table, strict=True):
        assert row["model"] == expected.model
        for name in ("value", "lower", "upper", "difference", "p_value"):
            assert row[name] == pytest.approx(getattr(expected, name))
    assert found["may_be_best"] == {"crps": ["right"]}
    (interval,) = found["coverage"]["wide"]
    assert interval["coverage"]["share"] == np.mean(np.abs(Y) <= WIDE[0, 2])
    assert "Wrote uncertainty_report/comparison.png" in text


def test_a_column_of_models_compares_them():
    both = columns(RIGHT) | {"model": ["a"] * len(Y)}
    other = columns(WIDE) | {"model": ["b"] * len(Y)}
    joined = {key: [*both[key], *other[key]] for key in both}
    mixed = np.random.default_rng(2).permutation(2 * len(Y))
    file = written("both.csv", joined, mixed)
    run(file)
    found = numbers()
    assert set(found["comparison"]["models"]) == {"a", "b"}
    assert found["comparison"]["may_be_best"] == {"crps": ["a"]}
    assert any("forecasts of 2 models" in note for note in found["notes"])
    assert found["data"]["examples"] == len(Y)


def test_the_command_compare_shows_the_coverage(capsys):
    files = written("right.csv", columns(RIGHT)), written("wide.csv", columns(WIDE))
    assert main(["compare", *files]) == 0
    out = capsys.readouterr().out
    assert f"{len(Y)} examples in {SERIES} clusters" in out
    assert "Coverage of the central intervals" in out
    assert main(["compare", files[0]]) == 2
    assert "a column `model`" in capsys.readouterr().err


def _other_levels():
    return {name.replace("q0.9", "q0.8"): x for name, x in columns(WIDE).items()}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (columns(WIDE, {**KEYS, "unique_id": ["t"] * len(Y)}), "ids"),
        (columns(WIDE, y=Y + 1), "other labels"),
        (_other_levels(), "quantiles of the same levels"),
    ],
)
def test_other_rows_are_refused(capsys, table, message):
    here, there = written("here.csv", columns(RIGHT)), written("there.csv", table)
    assert message in fails(capsys, here, "--compare", there)


def test_a_single_series_has_errors_of_diebold_and_mariano():
    rng = np.random.default_rng(3)
    times, horizons = (each.ravel() for each in np.meshgrid(range(200), [1, 2]))
    order = rng.permutation(400)
    y = rng.normal(size=400)
    q = np.zeros((400, 1)) + stats.norm.ppf(LEVELS)
    found = um.report(
        y[order],
        quantiles=q,
        levels=LEVELS,
        times=times[order],
        horizons=horizons[order],
        compare={"wide": 3 * q},
    ).to_dict()["comparison"]
    assert found["lags"] == 4  # Two steps of two rows.
    in_time = np.lexsort([horizons, times])
    scores = [um.crps_quantile_score(y[in_time], f * q, LEVELS) for f in (1, 3)]
    d = scores[1] - scores[0]
    off = d - d.mean()
    variance = np.mean(off**2) + 2 * sum(off[k:] @ off[:-k] / 400 for k in (1, 2, 3))
    error = np.sqrt(variance / 400 / ((401 - 8 + 4 * 3 / 400) / 400))
    wide = next(row for row in found["rows"] if row["model"] == "wide")
    half = stats.t.ppf(0.975, 399) * error
    assert wide["difference"] == pytest.approx(d.mean())
    assert wide["difference_upper"] - d.mean() == pytest.approx(half)


def test_times_without_blocks_have_no_lags():
    path = written("right.csv", columns(RIGHT))
    assert lags_of_time(report.read_predictions(path, Choice())) is None


# Fans.


def fans_of(y, quantiles, keys, **others):
    path = written("fans.csv", {**columns(quantiles, keys), "y": y, **others})
    model = report.read_predictions(path, Choice())
    return report.build(model).to_dict().get("fans"), report.draw(model)


def test_fans_show_the_best_a_typical_and_the_worst_series():
    found, figures = fans_of(Y, RIGHT, KEYS)
    crps = um.crps_quantile_score(Y, RIGHT, LEVELS).reshape(SERIES, STEPS).mean(axis=1)
    scaled = crps / um.regression.seasonal_error(Y.reshape(SERIES, STEPS))
    order = np.argsort(scaled)
    for each, place in zip(found["fans"], (0, (SERIES - 1) // 2, -1), strict=True):
        assert each["series"] == f"s{order[place]}"
        assert each["crps"] == pytest.approx(scaled[order[place]])
        assert (each["start"], each["end"]) == ("2024-01-01", "2024-01-06")
    figure = figures["fans.png"]
    assert [ax.get_title() for ax in figure.axes] == [
        f"{each['which'].capitalize()}: {each['series']}" for each in found["fans"]
    ]
    for ax, each in zip(figure.axes, found["fans"], strict=True):
        number = int(each["series"][1:])
        rows = slice(number * STEPS, (number + 1) * STEPS)
        median, observed = ax.lines
        np.testing.assert_allclose(observed.get_ydata(), Y[rows])
        np.testing.assert_allclose(median.get_ydata(), RIGHT[rows, 1])


def test_rolling_forecasts_have_a_fan_of_each_time_they_were_made():
    # Of 2 series, at 20 times each for the next 3 times.
    keys = {"unique_id": [], "ds": [], "horizon": []}
    for series in ("a", "b"):
        for made in range(20):
            for h in (1, 2, 3):
                for name, value in zip(keys, (series, made + h, h), strict=True):
                    keys[name].append(value)
    rng = np.random.default_rng(5)
    values = {s: rng.normal(size=25) for s in "ab"}
    y = [values[s][t] for s, t in zip(keys["unique_id"], keys["ds"], strict=True)]
    found, _ = fans_of(y, RIGHT[:120], keys)
    assert found["rule"].startswith("Of 40 forecasts of one time")
    assert all(int(each["end"]) - int(each["start"]) == 2 for each in found["fans"])


@pytest.mark.parametrize("left_out", ["ds", "horizon"])
def test_rows_whose_order_is_not_known_have_no_fans(left_out):
    keys = {name: [*x, *x] for name, x in KEYS.items() if name != left_out}
    y, q = np.concatenate([Y, Y]), np.concatenate([RIGHT, RIGHT])
    found, figures = fans_of(y, q, keys)
    assert found is None
    assert "fans.png" not in figures
