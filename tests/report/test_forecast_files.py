"""Forecasts by samples, in rows for each quantile, and of a single series."""

import csv
import math
import pathlib
import zlib

import numpy as np
import pytest
from scipy import signal, stats

import uncertainty_metrics.numpy as um
from tests.report.reports import run
from uncertainty_metrics import _optional
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data import _quantile_sums, _time_blocks
from uncertainty_metrics._report.data._sampled_forecasts import quantiles_of_samples
from uncertainty_metrics._report.reading import _arrow_tables, _large_files
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.sections._quantile_numbers import (
    tested_share as share_tested,
)

pytestmark = pytest.mark.usefixtures("own_directory")
LEVELS = (0.1, 0.5, 0.9)
N, M = 60, 19
_DRAWS = np.random.default_rng(0)
MEANS = _DRAWS.normal(size=N)
Y = MEANS + _DRAWS.normal(size=N)
SAMPLES = MEANS[:, None] + _DRAWS.normal(size=(N, M))
Q = MEANS[:, None] + stats.norm.ppf(LEVELS)


def written(columns, path="forecasts.csv"):
    """Writes columns of a CSV file; returns its name."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*(list(each) for each in columns.values()), strict=True))
    return path


def numbers(model):
    return report.build(model).to_dict()


def refused(columns, **choice):
    """Returns the one line of the error for a CSV file with these columns."""
    with pytest.raises(report.ReportError) as caught:
        report.read_predictions(written(columns), Choice(**choice))
    (line,) = str(caught.value).splitlines()
    return line


# Samples.


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_of_samples_equal_loops(weighted):
    w = np.random.default_rng(1).integers(0, 3, N) if weighted else np.ones(N)
    found = um.report(
        Y, samples=SAMPLES, sample_weight=w if weighted else None
    ).to_dict()
    crps = [
        np.mean(np.abs(x - y)) - np.abs(x[:, None] - x).sum() / (2 * M * (M - 1))
        for x, y in zip(SAMPLES, Y, strict=True)
    ]
    scores = found["scoring_rules"]
    expected = np.average(crps, weights=w)
    assert scores["metrics"]["crps"]["value"] == pytest.approx(expected)
    pairs = np.abs(Y[:, None] - Y) @ w / w.sum()
    constant = pairs @ w / w.sum() / 2
    assert scores["constant"]["constant"] == pytest.approx(constant)
    assert scores["skill"] == pytest.approx(1 - expected / constant)
    # 19 samples have the levels 0.05, 0.1, ... themselves: the first, second, ...
    ordered = np.sort(SAMPLES, axis=1)
    assert found["data"]["samples"] == M
    for row, k in zip(found["calibration"]["intervals"], (1, 2, 5), strict=True):
        inside = (ordered[:, k - 1] <= Y) & (ordered[:, M - k] >= Y)
        assert row["level"] == pytest.approx(1 - 2 * k / (M + 1))
        assert row["coverage"]["share"] == pytest.approx(np.average(inside, weights=w))


def test_quantiles_of_samples_are_those_of_numpy():
    for size in (2, 3, 8, 10, 19, 100):
        samples = np.random.default_rng(size).normal(size=(5, size))
        quantiles, levels = quantiles_of_samples(samples)
        expected = np.quantile(samples, levels, axis=1, method="weibull").T
        np.testing.assert_allclose(quantiles, expected)
        np.testing.assert_allclose(levels, 1 - np.array(levels[::-1]))
    assert levels == pytest.approx(np.array([5, 10, 25, 76, 91, 96]) / 101)


def test_few_samples_of_right_forecasts_cover_as_promised():
    rng = np.random.default_rng(0)
    y, samples = rng.normal(size=20_000), rng.normal(size=(20_000, 9))
    tiles = um.report(y, samples=samples).to_dict()["tiles"]
    assert tiles[0]["value"] == "May be right"


@pytest.mark.parametrize("shape", ["sample_0", "ETS-sample1", "npz", "parquet", "json"])
def test_samples_are_read_from_columns_arrays_and_lists(shape):
    ids = [f"s{i % 30}" for i in range(N)]
    start = {"sample_0": ("sample_", 0), "ETS-sample1": ("ETS-sample", 1)}
    if shape in start:
        name, first = start[shape]
        columns = {"y": Y, "unique_id": ids}
        columns |= {f"{name}{first + k}": SAMPLES[:, k] for k in reversed(range(M))}
        path = written(columns)
    elif shape == "npz":
        path = "forecasts.npz"
        np.savez(path, y=Y, samples=SAMPLES, unique_id=ids)
    elif shape == "json":
        path = "forecasts.jsonl"
        lines = [
            f'{{"y": {y!r}, "unique_id": "{i}", "samples": {x}}}'
            for y, i, x in zip(Y.tolist(), ids, SAMPLES.tolist(), strict=True)
        ]
        pathlib.Path(path).write_text("\n".join(lines))
    else:
        arrow, parquet = map(_optional.require, ("pyarrow", "pyarrow.parquet"))
        path = "forecasts.parquet"
        columns = {"y": Y, "unique_id": ids, "samples": SAMPLES.tolist()}
        parquet.write_table(arrow.table(columns), path)
    model = report.read_predictions(path)
    np.testing.assert_array_equal(model.samples, SAMPLES)
    here = um.report(Y, samples=SAMPLES, clusters=np.array(ids)).to_dict()
    assert numbers(model)["calibration"] == here["calibration"]


def test_wrong_samples_are_refused():
    columns = {"y": Y, "sample_0": Y, "sample_2": Y}
    assert "`sample_2` after `sample_0`" in refused(columns)
    columns = {"sample_0": Y, "sample_1": Y}
    assert "are samples, and one column must hold what was observed" in refused(columns)
    for arguments, message in (
        ({"samples": SAMPLES[:, :1]}, "at least two samples"),
        ({"samples": SAMPLES[1:]}, "shape"),
        ({"samples": SAMPLES * np.nan}, "samples"),
        ({"samples": SAMPLES, "levels": LEVELS}, "without other"),
        ({"samples": SAMPLES, "groups": Y}, "groups"),
        ({"samples": SAMPLES, "times": ["soon"] * N}, "times"),
    ):
        with pytest.raises(ValueError, match=message):
            um.report(Y, **arguments)


# A row for each quantile, or sample.


def long(models=("",), samples=False, keep=None):
    """Returns columns with a row for each quantile, or sample, in a random order."""
    forecasts = SAMPLES if samples else Q
    keys = range(M) if samples else LEVELS
    rows = [
        (f"s{i % 6}", 1 + i // 6, Y[i], model, key, value)
        for model in models
        for i in range(N)
        for key, value in zip(keys, forecasts[i], strict=True)
    ]
    names = ["location", "horizon", "observed", "model"]
    names += ["sample_id", "prediction"] if samples else ["quantile_level", "predicted"]
    order = np.random.default_rng(0).permutation(len(rows))
    rows = [rows[i] for i in order if keep is None or keep(rows[i])]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return (
        columns if models != ("",) else {k: columns[k] for k in names if k != "model"}
    )


@pytest.mark.parametrize("samples", [False, True])
def test_rows_for_each_quantile_or_sample_are_put_together(samples):
    path = written(long(samples=samples))
    model = report.read_predictions(path)
    wide = {"samples": SAMPLES} if samples else {"quantiles": Q, "levels": LEVELS}
    here = um.report(Y, **wide, horizons=1 + np.arange(N) // 6).to_dict()
    found = numbers(model)
    for one, two in zip(
        found["calibration"]["intervals"], here["calibration"]["intervals"], strict=True
    ):
        assert one["coverage"] == two["coverage"]
    for one, two in zip(
        found["horizons"]["horizons"], here["horizons"]["horizons"], strict=True
    ):
        assert one["crps"] == pytest.approx(two["crps"])
    assert "tell the forecasts apart" in found["notes"][0]
    parts = _large_files.read_stream([pathlib.Path(path)]).result()
    np.testing.assert_array_equal(parts.quantiles, model.quantiles)


def test_one_of_several_models_in_rows_is_chosen():
    columns = long(("A", "B"), keep=lambda row: row[3] == "A" or row[0] != "s1")
    assert "do not have all 6 quantiles" in refused(columns)
    model = report.read_predictions("forecasts.csv", Choice(probabilities="A_*"))
    assert sorted(model.target) == sorted(Y)


def test_incomplete_and_doubtful_rows_are_refused_in_one_line():
    lacking = refused(long(keep=lambda row: row[:2] != ("s1", 1) or row[4] != 0.5))
    assert "1 of 60 forecasts do not have all 3 quantiles, first that of" in lacking
    assert "without `q0.5`; forecasts are told apart by location, horizon" in lacking
    columns = long()
    columns["quantile_level"] = [0.5] * len(Y) * 3
    assert "60 of 60 forecasts have `q0.5` several times" in refused(columns)
    columns["quantile_level"] = ["", *[0.5] * (len(Y) * 3 - 1)]
    assert "`quantile_level` must be a number" in refused(columns)
    columns["quantile_level"] = [1.0] * len(Y) * 3
    assert "must be in (0, 1). Received: 1" in refused(columns)
    columns = long()
    del columns["observed"]
    assert "one column must hold what was observed" in refused(columns)
    columns = long()
    del columns["predicted"]
    assert "a column must hold the quantiles: call it value" in refused(columns)
    columns = long() | {"value": [0.0] * 180}
    assert "each of predicted, value may hold the forecasts" in refused(columns)


def test_the_note_on_many_quantiles_is_short():
    levels = [0.1, 0.2, 0.4, 0.6, 0.8, 0.9]
    columns = {"y": Y} | {f"q{level}": MEANS + level for level in levels}
    note = report.read_predictions(written(columns)).notes[0]
    assert note.startswith(
        "Read `q0.1` to `q0.9` as the quantiles of levels 0.1, 0.2, 0.4, 0.6, 0.8, "
        "0.9; `y` as what was observed"
    )


def test_features_that_are_called_as_quantiles_stay_features():
    columns = {"label": [0, 1] * 30, "p": [0.2, 0.7] * 30, "quantile": Y, "value": Y}
    assert numbers(report.read_predictions(written(columns)))["task"] == (
        "classification"
    )


# A single series.


def test_a_single_series_has_blocks_of_time():
    order = np.random.default_rng(0).permutation(N)
    days = np.datetime64("2024-01-01") + np.arange(N)
    blocks = np.minimum(np.arange(N) // 8, 6)  # The root of 60 is 7.7.
    here = um.report(Y, quantiles=Q, levels=LEVELS, clusters=blocks).to_dict()
    columns = {"ds": days, "y": Y, "q0.1": Q[:, 0], "q0.5": Q[:, 1], "q0.9": Q[:, 2]}
    columns = {name: values[order] for name, values in columns.items()}
    text = run(written(columns))
    assert "take 7 blocks of consecutive times as clusters" in " ".join(text.split())
    with_id = columns | {"unique_id": ["a"] * N}
    for each in (columns, with_id):
        found = numbers(report.read_predictions(written(each)))
        assert found["data"]["clusters"] == 7
        for one, two in zip(
            found["calibration"]["intervals"],
            here["calibration"]["intervals"],
            strict=True,
        ):
            assert one["coverage"] == pytest.approx(two["coverage"])
    arrays = um.report(Y, quantiles=Q, levels=LEVELS, times=days).to_dict()
    assert arrays["calibration"] == here["calibration"]
    # Two rows of one day are of two series, which nothing names.
    twice = columns | {"ds": np.repeat(days[:30], 2)}
    found = numbers(report.read_predictions(written(twice)))
    assert "No column names the series of a row" in found["notes"][-1]


def test_times_are_numbers_dates_or_nothing():
    of = _time_blocks.numbers_of_times
    words = ["2024-02-01", "2024-01-01T12:00:00Z", "2024-01-01T13:00+02:00"]
    assert np.argsort(of(words)).tolist() == [2, 1, 0]
    assert of(["10", "9"]).tolist() == [10, 9]
    assert of(["May", "June"]) is None
    assert of([1.0, None]) is None
    assert of(np.array(["NaT"], "datetime64[D]")) is None
    assert _time_blocks.block_length(1000, 1) == 32
    assert _time_blocks.block_length(1000, 50) == 50
    assert _time_blocks.block_length(1000, 500) == 100


@pytest.mark.parametrize(("memory", "least"), [(0.0, 0.93), (0.5, 0.91), (0.8, 0.9)])
def test_blocks_of_time_cover_the_share_of_hits_that_follow_each_other(memory, least):
    # Hits are those of an autoregression of order 1: z_t = memory z_(t-1) + noise.
    rng, size, draws = np.random.default_rng(0), 1000, 600
    noise = rng.normal(size=(draws, size)) * math.sqrt(1 - memory**2)
    noise[:, 0] = rng.normal(size=draws)
    z = signal.lfilter([1], [1, -memory], noise, axis=1)
    blocks = _time_blocks.blocks_of_time(np.arange(size), None)
    assert blocks.max() + 1 == 31
    covered = alarms = alone = 0
    for inside in np.abs(z) < stats.norm.ppf(0.9):
        share = share_tested(inside, inside, 0.8, None, blocks)
        covered += share.low <= 0.8 <= share.high
        alarms += share.p_value < 0.05
        share = share_tested(inside, inside, 0.8, None, None)
        alone += share.low <= 0.8 <= share.high
    assert covered / draws >= least
    assert alarms / draws <= 1.02 - least
    if memory == 0.8:  # Independent rows would be far too sure.
        assert alone / draws < 0.8


# Files that are read part by part.


def streamed(monkeypatch, columns, parts=3, rows=100):
    """Returns forecasts read part by part, of which a sample of `rows` is kept."""
    size = len(next(iter(columns.values())))
    paths = []
    for i in range(parts):
        some = slice(size * i // parts, size * (i + 1) // parts)
        part = {name: values[some] for name, values in columns.items()}
        paths.append(pathlib.Path(written(part, f"part{i}.csv")))
    monkeypatch.setattr(_large_files, "_MOST_ROWS", rows)
    monkeypatch.setattr(_large_files, "_LEAST_ROWS", rows)
    return _large_files.read_stream(paths).result()


def many(n=600, num_series=40, weighted=True, seed=0):
    """Returns columns of forecasts whose series share errors, in a random order."""
    rng = np.random.default_rng(seed)
    series = rng.integers(num_series, size=n)
    shared = rng.normal(size=num_series)[series]
    quantiles = rng.normal(size=(n, 1)) + stats.norm.ppf(LEVELS)
    quantiles[::50, :2] = quantiles[::50, 1::-1]
    columns = {"unique_id": series, "horizon": rng.integers(1, 5, size=n)}
    y = quantiles[:, 1] + (shared + rng.normal(size=n)) / 1.2
    columns |= {"y": y, "sample_weight": rng.integers(1, 4, size=n)}
    columns |= {f"q{level}": q for level, q in zip(LEVELS, quantiles.T, strict=True)}
    return columns if weighted else {k: columns[k] for k in columns if k[0] != "s"}


def assert_close(first, second, path=""):
    """Fails unless two structures have the same names and nearly the same numbers."""
    if isinstance(first, dict):
        assert first.keys() == second.keys(), path
        for name in first:
            assert_close(first[name], second[name], f"{path}.{name}")
    elif isinstance(first, list):
        assert len(first) == len(second), path
        for i, pair in enumerate(zip(first, second, strict=True)):
            assert_close(*pair, f"{path}[{i}]")
    elif isinstance(first, float):
        assert first == pytest.approx(second, rel=1e-8, abs=1e-12), path
    else:
        assert first == second, path


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_sums_of_parts_give_the_numbers_of_all_rows(monkeypatch, weighted, clustered):
    columns = many(weighted=weighted)
    if not clustered:
        del columns["unique_id"]
    model = streamed(monkeypatch, columns)
    assert model.sums is not None
    assert len(model.target) == 100
    found = numbers(model)
    whole = numbers(report.read_predictions(written(columns)))
    assert found["data"]["examples"] == 600
    assert found["calibration"].pop("verdict") == whole["calibration"].pop("verdict")
    assert_close(found["calibration"], whole["calibration"])
    for name in ("metrics", "crps", "levels", "crossing"):
        first, second = (each["scoring_rules"][name] for each in (found, whole))
        if name == "crossing":
            first, second = dict(first), dict(second)
        assert_close(first, second, name)
    for one, two in zip(
        found["horizons"]["horizons"], whole["horizons"]["horizons"], strict=True
    ):
        one.pop("skill"), two.pop("skill")
        assert_close(one, two)
    for name in ("effective_examples", "clusters", "total_weight", "horizons"):
        assert_close(found["data"].get(name), whole["data"].get(name), name)
    assert "of all 600 rows" in found["notes"][-1]
    pit, expected = found["pit"], whole["pit"]
    assert_close(pit["metrics"], expected["metrics"])
    assert_close(pit["p_value"], expected["p_value"])
    assert_close(pit["histogram"]["density"], expected["histogram"]["density"])


@pytest.mark.parametrize("form", ["samples", "levels"])
def test_the_pit_histogram_of_parts_counts_all_rows(monkeypatch, form):
    rng = np.random.default_rng(5)
    columns = {"y": rng.normal(size=600)}
    draws = np.sort(rng.normal(size=(600, 4)), axis=1)
    names = [
        f"sample_{i}" if form == "samples" else f"q{0.2 * (i + 1):g}" for i in range(4)
    ]
    columns |= dict(zip(names, draws.T, strict=True))
    model = streamed(monkeypatch, columns)
    assert len(model.target) == 100
    found = np.array(numbers(model)["pit"]["histogram"]["counts"])
    # Of four quantiles at multiples of 1/5, or as many samples, each of the bins of
    # width 1/5 has the targets between two neighbours.
    between = np.sum(draws < columns["y"][:, None], axis=1)
    points = (between[:, None] + (np.arange(300) + 0.5) / 300) / 5
    expected = np.histogram(points, bins=15, range=(0, 1))[0] / 300
    assert found == pytest.approx(expected)
    assert found.sum() == pytest.approx(600)


def test_many_series_are_groups_and_many_horizons_none(monkeypatch):
    columns = many(weighted=False)
    whole = numbers(report.read_predictions(written(columns)))
    monkeypatch.setattr(_quantile_sums, "MOST_SERIES", 25)
    monkeypatch.setattr(_quantile_sums, "MOST_HORIZONS", 3)
    model = streamed(monkeypatch, columns)
    groups = {
        zlib.crc32(str(each).encode()) % 25 for each in columns["unique_id"].tolist()
    }
    assert model.sums.num_series == len(groups)
    assert model.sums.horizons is None
    found = numbers(model)
    for one, two in zip(
        found["calibration"]["intervals"],
        whole["calibration"]["intervals"],
        strict=True,
    ):
        assert one["coverage"]["share"] == pytest.approx(two["coverage"]["share"])
        width, expected = (
            each["coverage"]["high"] - each["coverage"]["low"] for each in (one, two)
        )
        assert 0.5 < width / expected < 2
    # The sums are the same in whatever parts the rows come.
    again = streamed(monkeypatch, columns, parts=2)
    assert again.sums.mean("crps") == pytest.approx(model.sums.mean("crps"))
    assert sum(row["examples"] for row in found["horizons"]["horizons"]) == 100


def test_a_single_series_in_parts_has_no_sums(monkeypatch):
    columns = many(weighted=False)
    columns |= {"unique_id": ["a"] * 600, "ds": np.arange(600)}
    del columns["horizon"]
    model = streamed(monkeypatch, columns)
    assert model.sums is None
    assert "this is a uniform sample of 100" in model.notes[-1]
    assert model.clusters.name == "blocks of time"


def test_samples_in_parts(monkeypatch):
    columns = {"y": Y, "unique_id": np.arange(N) % 30}
    columns |= {f"sample_{k}": SAMPLES[:, k] for k in range(M)}
    found = numbers(streamed(monkeypatch, columns, rows=20))
    whole = numbers(report.read_predictions(written(columns)))
    assert_close(found["scoring_rules"]["metrics"], whole["scoring_rules"]["metrics"])


def test_row_groups_of_parquet_are_read_some_at_a_time():
    arrow, parquet = map(_optional.require, ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(
        arrow.table({"y": range(95)}), "many.parquet", row_group_size=10
    )
    with open("many.parquet", "rb") as file:
        parts = list(_arrow_tables.parts(file, "parquet", 25, ["y"]))
    assert [part._size for part in parts] == [25, 5, 25, 5, 25, 5, 5]
    numbers = [part.read("y", [])[0].tolist() for part in parts]
    assert np.concatenate(numbers).tolist() == [*range(95)]
