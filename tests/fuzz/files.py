"""Files with damage or wrong values are read, or refused in one line."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import pathlib
import tempfile

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.fuzz.damage import bounded, damaged, damaged_archive
from tests.fuzz.outcomes import as_text, call
from tests.keras.streams import STREAMS
from uncertainty_metrics import __main__ as command
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data._predictions import ReportError

# Metric states.

_NUMBERS = (-1, -(2**40), 2**62, 2**63 - 1, -(2**63))
_FLOATS = (math.nan, math.inf, -math.inf, -1.0, 3e38)
_ENTRIES = (
    None,
    -1,
    0,
    2.5,
    1e400,
    10**400,
    "x",
    [],
    {},
    [[[]]] * 3,
    True,
    "\0",
    "../x",
)


def _other_values(rng, data: bytes) -> bytes:
    """Returns an intact archive in which one entry has changed."""
    with np.load(io.BytesIO(data)) as archive:
        entries = dict(archive)
    name = str(rng.choice([*entries]))
    array = entries[name]
    if name == "header":
        header = json.loads(array.item())
        inner = header if rng.random() < 0.5 else header["config"]
        key = str(rng.choice([*inner, "other"]))
        inner[key] = _ENTRIES[rng.integers(len(_ENTRIES))]
        array = np.array(json.dumps(header))
    elif rng.random() < 0.6 or not array.ndim:
        choices = _NUMBERS if array.dtype.kind == "i" else _FLOATS
        array = array.copy().reshape(-1)
        array[: rng.choice([1, array.size])] = choices[rng.integers(len(choices))]
        array = array.reshape(entries[name].shape)
    else:
        shapes = (array[None], array.reshape(-1), array.astype(np.float64), array[:0])
        array = shapes[rng.integers(len(shapes))]
    file = io.BytesIO()
    np.savez_compressed(file, **{**entries, name: array})
    return file.getvalue()


def check_state(name: str, seed: int) -> str | None:
    """Loads a damaged state; its metric must give a number, NaN or an error."""
    rng = np.random.default_rng([seed, *name.encode()])
    stream = STREAMS[name]
    metric = stream.make()
    data = stream.data(rng, 8)
    metric.update_state(data.labels, data.predictions)
    file = io.BytesIO()
    metric.get_state().save(file)
    semantic = rng.random() < 0.4
    content = (_other_values if semantic else damaged_archive)(rng, file.getvalue())
    loaded = []
    done, excess = bounded(
        lambda: loaded.append(um.MetricState.load(io.BytesIO(content)))
    )
    if done.error is not None:
        return _refused(done.error) or excess
    return excess or _of_state(loaded[0])


def _refused(error, expected=(ValueError,)):
    if type(error) not in expected:
        return f"raises {type(error).__name__}: {error}"
    return None


def _of_state(state):
    """Returns what is wrong with the metric of a state, or None."""
    made = []
    done = call(lambda: made.append(state.to_metric()) or 0.0, {})
    if done.error is not None:  # TypeError: no such option.
        return _refused(done.error, (ValueError, TypeError))
    done = call(made[0].result, {})
    if done.error is not None:
        return f"a result {_refused(done.error, ())}"
    counts = state.arrays.get("units", np.zeros(1))[0]
    negative = state.arrays["invalid"] < 0 or np.any(counts < 0)
    if negative and not np.any(np.isnan(done.values)):
        return f"{as_text(done)} of negative counts"
    return None


# Reports.


def _examples(rng):
    """Makes the columns of a classifier or of a regression."""
    n = int(rng.integers(1, 12))
    if rng.random() < 0.3:
        columns = {"mean": rng.normal(size=n), "stddev": np.exp(rng.normal(size=n))}
        return {**columns, "target": rng.normal(size=n)}
    rows = rng.dirichlet(np.ones(3), n)
    columns = {"label": rng.integers(0, 3, n)}
    if rng.random() < 0.5:
        columns["sample_weight"] = rng.choice([0.5, 1, 2], n)
    return {**columns, **{f"p{k}": rows[:, k] for k in range(3)}}


def _npz(rng):
    columns = _examples(rng)
    if "label" in columns:
        rows = [columns.pop(f"p{k}") for k in range(3)]
        columns = {**columns, "labels": columns.pop("label")}
        columns["probabilities"] = np.stack(rows, axis=1)
    if rng.random() < 0.4:
        name = str(rng.choice([*columns]))
        values = (math.nan, math.inf, 1e308, -1, 5e-324, 2**63)
        with np.errstate(all="ignore"):
            changed = np.array(columns[name], np.float64)
            changed.reshape(-1)[0] = values[rng.integers(len(values))]
        columns[name] = changed
    file = io.BytesIO()
    np.savez(file, **columns)
    if rng.random() < 0.2:
        return file.getvalue()
    return damaged_archive(rng, file.getvalue())


_CELLS = (
    *("", " ", "nan", "inf", "-1", "1e400", "1_0", "0x1", "\uff11", "1e308", "5e-324"),
    *('"', "\0", "\x1b[2J", "\u202e1", "a,b", "9" * 400, "\r"),
    *("label", "p0", "p99999999"),
)


def _csv(rng):
    columns = _examples(rng)
    rows = [[*columns], *zip(*columns.values(), strict=True)]
    table = [[str(value) for value in row] for row in rows]
    for _ in range(rng.integers(3)):
        row = table[rng.integers(len(table))]
        row[rng.integers(len(row))] = _CELLS[rng.integers(len(_CELLS))]
    data = "\n".join(",".join(row) for row in table).encode()
    return damaged(rng, data) if rng.random() < 0.4 else data


def _parquet(rng):
    import pyarrow
    from pyarrow import parquet

    columns = _examples(rng)
    if rng.random() < 0.3:
        name = str(rng.choice([*columns]))
        cells = _CELLS[rng.integers(len(_CELLS))]
        columns[name] = [cells] * len(columns[name])
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return damaged(rng, file.getvalue()) if rng.random() < 0.7 else file.getvalue()


REPORTS = {"npz": _npz, "csv": _csv}
if importlib.util.find_spec("pyarrow"):
    REPORTS["parquet"] = _parquet
# One case in so many runs the command, with its pictures.
_WHOLE = 20


def check_report(name: str, seed: int) -> str | None:
    """Makes a report of a damaged file."""
    rng = np.random.default_rng([seed, *name.encode()])
    content = REPORTS[name](rng)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, f"predictions.{name}")
        path.write_bytes(content)
        if rng.random() < 1 / _WHOLE:
            return _of_command(["report", str(path), "--out", str(path.parent / "out")])
        done, excess = bounded(lambda: _built(path))
    if done.error is None:
        return excess
    return _refused(done.error, (ReportError,)) or excess or _line(str(done.error))


def _built(path):
    built = report.build(report.read_predictions(path))
    report.as_json(built)
    report.render(built)


def _line(text):
    """Returns a complaint if a message is not one printable line."""
    return None if text.isprintable() else f"not one line to print: {text!r}"


def _of_command(arguments):
    out, error = io.StringIO(), io.StringIO()
    codes = []
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        done = call(lambda: codes.append(command.main(arguments)) or 0.0, {})
    if done.error is not None:
        return _refused(done.error, ())
    if codes == [0]:
        return f"says {error.getvalue()!r}" if error.getvalue() else None
    if codes != [2]:
        return f"exit code {codes}"
    return _line(error.getvalue().removesuffix("\n"))


# Temperatures.

TEMPERATURES = {
    "numpy": um_np.TemperatureScaling,
    "tensors": um.TemperatureScaling,
    "regression": um_np.regression.TemperatureScaling,
}
_JSON = (
    *("null", "true", "-1", "0", "NaN", "Infinity", "1e400", "1" * 400, "1" * 5000),
    *('"2"', "[1]", "{}", "[" * 100_000, '"\\ud800"', "1e-400", "5e-324"),
)


def check_temperature(name: str, seed: int) -> str | None:
    """Loads a damaged temperature."""
    rng = np.random.default_rng([seed, *name.encode()])
    cls = TEMPERATURES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "temperature.json")
        cls.from_config({"temperature": 1.5}).save(path)
        content = path.read_bytes()
        if rng.random() < 0.5:
            old = (b"1.5", b"1", b'"version"', content)[rng.integers(4)]
            content = content.replace(old, _JSON[rng.integers(len(_JSON))].encode())
        else:
            content = damaged(rng, content)
        path.write_bytes(content)
        loaded = []
        done, excess = bounded(lambda: loaded.append(cls.load(path)))
    if done.error is not None:
        problem = _refused(done.error) or excess or _line(str(done.error))
    else:
        good = 0 < loaded[0].temperature < math.inf
        problem = None if good else f"a temperature of {loaded[0].temperature}"
    return problem and f"{problem} of {content[:80]!r}"
