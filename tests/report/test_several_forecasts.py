"""Reports on forecasts of series in time: comparisons of models, and fans."""

import csv
import dataclasses

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.data._models_in_a_file import each_model
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


def test_models_in_columns_or_in_long_rows_are_compared():
    models = {"a": RIGHT, "b": WIDE}
    nixtla = dict(KEYS) | {"y": Y}
    for name, quantiles in models.items():
        ends = (f"{name}-lo-80", f"{name}-median", f"{name}-hi-80")
        nixtla |= dict(zip(ends, quantiles.T, strict=True))
    rows = [
        (*key, Y[i], level, model, quantiles[i, k])
        for model, quantiles in models.items()
        for i, key in enumerate(zip(*KEYS.values(), strict=True))
        for k, level in enumerate(LEVELS)
    ]
    titles = (*KEYS, "y", "quantile_level", "model", "value")
    long = dict(zip(titles, zip(*rows, strict=True), strict=True))
    expected = um.compare(
        Y,
        {
            name: {"quantile_predictions": q, "quantiles": LEVELS}
            for name, q in models.items()
        },
        clusters=KEYS["unique_id"],
    )
    for table in (nixtla, long):
        run(written("here.csv", table))
        found = numbers()["comparison"]
        assert found["models"] == ["a", "b"]
        assert found["clusters"] == SERIES
        for row, value in zip(found["rows"], expected, strict=True):
            assert row["value"] == pytest.approx(value.value)
            assert row["upper"] == pytest.approx(value.upper)


def test_a_sample_of_several_models_is_refused():
    path = written("both.csv", columns(RIGHT, model=["a", "b"] * (len(Y) // 2)))
    model = report.read_predictions(path, Choice())
    with pytest.raises(report.ReportError, match="write a file for each model"):
        each_model([dataclasses.replace(model, sums=object())])


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


# The seasonal naive forecast.


def rolling(num_series=6, num_times=30, most=3, seed=7):
    """Returns series, times, horizons and targets of forecasts made at each time."""
    rng = np.random.default_rng(seed)
    targets = (
        rng.normal(size=(num_series, num_times)) * np.arange(1, num_series + 1)[:, None]
    )
    rows = [
        (series, made + h, h, targets[series, made + h])
        for series in range(num_series)
        for made in range(5, num_times - most)
        for h in range(1, most + 1)
    ]
    return tuple(map(np.array, zip(*rows, strict=True)))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_seasonal_naive_forecast_equals_a_loop(weighted):
    series, times, horizons, y = rolling()
    n, season = len(y), 2
    quantiles = np.zeros((n, 1)) + stats.norm.ppf(LEVELS)
    w = np.random.default_rng(1).integers(0, 3, n) if weighted else np.ones(n, int)
    found = um.report(
        y,
        quantiles=quantiles,
        levels=LEVELS,
        times=times,
        horizons=horizons,
        clusters=series,
        season=season,
        sample_weight=w if weighted else None,
    ).to_dict()["season"]
    known = {(series[i], times[i]): y[i] for i in range(n) if w[i]}
    pairs = {
        (s, t): abs(v - known[s, t - season])
        for (s, t), v in known.items()
        if (s, t - season) in known
    }
    scales = {
        s: np.mean([d for (of, _), d in pairs.items() if of == s]) for s in series
    }
    # The last target of the same season that was known when the forecast was made.
    backs = [season if h <= season else 2 * season for h in horizons]
    rows = [i for i in range(n) if w[i] and (series[i], times[i] - backs[i]) in known]
    assert found["rows"] == len(rows)
    naive = np.empty((n, len(LEVELS)))
    for back in set(backs):
        some = [i for i in rows if backs[i] == back]
        last = np.array([known[series[i], times[i] - back] for i in some])
        scale = np.array([scales[series[i]] for i in some])
        errors = (y[some] - last) / scale
        for k, level in enumerate(LEVELS):
            loss = [
                (w[some] * um.pinball_loss(y[some], last + scale * step, level)).sum()
                for step in errors
            ]
            naive[some, k] = last + scale * errors[np.argmin(loss)]
    scores = [
        np.average(um.crps_quantile_score(y[rows], q[rows], LEVELS), weights=w[rows])
        for q in (quantiles, naive)
    ]
    assert found["gain"]["model"] == pytest.approx(scores[0])
    assert found["gain"]["constant"] == pytest.approx(scores[1])
    assert found["skill"] == pytest.approx(1 - scores[0] / scores[1])
    crps = um.crps_quantile_score(y, quantiles, LEVELS)
    scaled = np.average(crps / [scales[s] for s in series], weights=w)
    assert found["scaled_crps"] == pytest.approx(scaled)


def test_a_season_that_is_not_in_the_file_is_said(capsys):
    path = written("here.csv", columns(RIGHT))  # Six times of one forecast each.
    text = " ".join(run(path, "--season", "7").split())
    assert "Against the seasonal naive forecast: Not known" in text
    assert "7 times or more earlier in the same series" in text
    untimed = {name: x for name, x in columns(RIGHT).items() if name != "ds"}
    text = run(written("untimed.csv", untimed), "--season", "2")
    assert "no column says the time of a row" in " ".join(text.split())
    with open("classes.csv", "w") as file:
        file.write("label,p\n1,0.5\n0,0.4\n")
    assert "--season needs forecasts" in fails(capsys, "classes.csv", "--season", "2")
