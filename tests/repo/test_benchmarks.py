"""The cases of the benchmarks are well-formed; no time is measured."""

import ast
import contextlib
import importlib
import inspect
import json
import operator
import pathlib
import re
import sys

import numpy as np
import pytest
from matplotlib.axes import Axes

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

ROOT = pathlib.Path(__file__).parents[2]
HERE = ROOT / "benchmarks"
sys.path.append(str(HERE))  # As in `python benchmarks/run.py`.

(calarena, cases, compare, data, gpu, growth, harness, install, rows, run, summary) = (
    map(
        importlib.import_module,
        (
            *(
                "calarena",
                "cases",
                "compare",
                "data",
                "gpu",
                "growth",
                "harness",
                "install",
            ),
            *("rows", "run", "summary"),
        ),
    )
)

EVERY = (*cases.CASES, *growth.CASES, *rows.CASES)
ALL = [pytest.param(case, id=case.name) for case in EVERY]


def functions(file):
    tree = ast.parse(file.read_text())
    return {node.name: node.args for node in tree.body if hasattr(node, "args")}


# The peers are not installed where tests run.
SETUPS = {
    f"{'.'.join(file.relative_to(HERE).with_suffix('').parts)}.{name}": arguments
    for file in (
        *(HERE / f"{module}.py" for module in ("backends", "ours", "parts")),
        *HERE.glob("peers/*.py"),
    )
    for name, arguments in functions(file).items()
}


def test_names_are_unique():
    for module in (cases, growth):
        names = [case.name for case in module.CASES]
        assert len(set(names)) == len(names)


def test_cases_that_share_a_path_are_of_one_kind():
    kinds = {}
    for case in cases.CASES:
        if case.path:
            kind = case.family, case.size, case.data
            assert kinds.setdefault(case.path, kind) == kind


@pytest.mark.parametrize("case", ALL)
def test_setups_exist_and_take_the_options(case):
    for contender in case.contenders:
        other = contender.environment in harness.BACKENDS
        module = "backends" if other else contender.environment
        if contender.environment == harness.FAST:
            module = "ours"
        if contender.label.startswith(harness.ALONE):
            module = "parts"
        assert contender.setup.startswith(f"{module}.")
        arguments = SETUPS[contender.setup]
        names = [argument.arg for argument in arguments.args + arguments.kwonlyargs]
        assert names[0] == "data"
        required = set(names[1 : len(arguments.args) - len(arguments.defaults)])
        assert required <= set(contender.options), contender.label
        if arguments.kwarg is None:
            assert set(contender.options) <= set(names[1:]), contender.label
        json.dumps(contender.options)
        modes = (*harness.MODES, *harness.BACKENDS, harness.FAST)
        assert contender.mode is None or contender.mode in modes
        assert (contender.mode is not None) <= contender.label.startswith(("**", "um."))


@pytest.mark.parametrize("case", ALL)
def test_data_exist_and_take_the_size(case):
    if case.size:
        inspect.signature(getattr(data, case.data)).bind(*case.size)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in cases.CASES])
def test_a_case_has_a_baseline_and_different_labels(case):
    # Where no peer is installed, ours are the whole case.
    ours = [row for row in case.contenders if row.environment == harness.OURS]
    assert any(row.baseline for row in ours)
    labels = [row.label for row in case.contenders]
    assert len(set(labels)) == len(labels)


def test_functions_take_the_data_and_the_options():
    rooms = {"ours.numpy_function": um_np, "ours.tensorflow_function": um}
    rooms["backends.function"] = um
    for case in (*cases.CASES, *growth.CASES):
        for contender in case.contenders:
            if contender.setup not in rooms:
                continue
            options = dict(contender.options)
            options.pop("mode", None)
            name = options.pop("name")
            function = operator.attrgetter(name)(rooms[contender.setup])
            kind = getattr(data, case.data).__annotations__["return"]
            arguments = dict.fromkeys(getattr(data, kind)._fields)
            inspect.signature(function).bind(**arguments, **options)


def test_metrics_take_the_options():
    for case in cases.CASES:
        for contender in case.contenders:
            if contender.setup == "ours.keras_update":
                options = dict(contender.options)
                del options["mode"]
                getattr(um, options.pop("name"))(**options)


def test_every_function_of_both_halves_has_a_case():
    timed = {
        contender.options.get("name", contender.setup.partition(".")[2])
        for case in (*cases.CASES, *rows.CASES)
        for contender in case.contenders
        if contender.environment == harness.OURS
    }
    timed.add("bayesian_expected_calibration_error")
    for row in catalogue.TWINS:
        assert timed & set(row.names), row.name


PARTS = [
    pytest.param(case, contender, id=f"{case.name}-{contender.label}")
    for case in cases.CASES
    for contender in case.contenders
    if contender.label.startswith(harness.ALONE)
    and contender.environment == harness.OURS
]


@pytest.mark.parametrize(("case", "contender"), PARTS)
def test_parts_run(case, contender):
    # They call private functions of the package.
    few = getattr(data, case.data)(*(min(size, 20) for size in case.size))
    parts = importlib.import_module("parts")
    name = contender.setup.removeprefix("parts.")
    getattr(parts, name)(few, **contender.options).call()


def test_the_case_of_a_row_runs():
    case = next(case for case in rows.CASES if case.name == "row-double-fault")
    ours = importlib.import_module("ours")
    for contender in case.contenders:
        ours.row(None, **contender.options).call()


def result(case, family, path, rows):
    keys = ("label", "environment", "mode", "quantity", "baseline", "ratio")
    contenders = [dict(zip(keys, row, strict=True)) for row in rows]
    return {"name": case, "family": family, "path": path, "contenders": contenders}


RESULTS = [
    result(
        "a-graph",
        "Letters",
        "A",
        [
            ("slow", "peers", None, "value", True, 1.0),
            ("fast", "peers", None, "value", False, 0.5),
            ("another value", "peers", None, None, False, 0.1),
            ("plain", "ours", None, "value", True, 0.2),
            ("**a**", "ours", harness.GRAPH, "value", False, 0.25),
            ("**again**", "ours", harness.GRAPH, "value", False, 0.75),
            ("**a**", "torch", harness.PYTORCH, "value", False, 1.0),
            ("**a**", "numba", harness.FAST, "value", False, 0.005),
        ],
    ),
    result(
        "a-numpy",
        "Letters",
        "A",
        [
            ("slow", "peers", None, "value", True, 1.0),
            ("**a**", "ours", harness.NUMPY, "value", True, 0.0123),
        ],
    ),
    result(
        "b",
        "Others",
        "B",
        [
            ("accuracy", "ours", None, None, True, 1.0),
            ("plain", "ours", None, "value", False, 0.1),
            ("**b**", "ours", harness.XLA, "value", False, 1.05),
            ("alone: sort; tf.function", "ours", None, None, False, 0.3),
        ],
    ),
    result("c", "Others", "", [("**c**", "ours", harness.XLA, "value", True, 1.0)]),
]


def test_the_summary_divides_by_the_best_peer():
    assert summary.table(summary.rows(RESULTS)).splitlines() == [
        "| path | peer = 1.00 | NumPy | eager | graph | XLA | JAX | PyTorch |",
        "|---|---|---|---|---|---|---|---|",
        "| **Letters** |  |  |  |  |  |  |  |",
        "| A | fast | 0.012 |  | 0.50 |  |  | 2.00 |",
        "| **Others** |  |  |  |  |  |  |  |",
        "| B | accuracy |  |  |  | 1.05 |  |  |",
    ]
    assert summary.parts(RESULTS).splitlines()[2:] == ["| B | sort | graph | 0.30 |"]
    assert summary.loops(summary.rows(RESULTS)).splitlines()[2:] == [
        "| A | fast | 0.012 | 0.01 | 0.81 |"
    ]


@pytest.mark.parametrize(
    ("threads", "told"), [("1", "`OMP_NUM_THREADS` is 1."), (None, "is not set")]
)
def test_the_summary_is_written_between_the_marks(tmp_path, threads, told):
    machine = {
        "cpu": "A CPU",
        "cores": 2,
        "usable_cores": 1,
        "omp_num_threads": threads,
        "avx512": True,
        "system": "Linux",
        "date": "2026-01-01",
    }
    document = {"machine": machine, "rounds": 7, "cases": RESULTS}
    file = tmp_path / "README.md"
    file.write_text("before")
    picture = tmp_path / "pictures" / "speed.png"
    begin, end = summary.MARKS
    with pytest.raises(ValueError, match=r"README.md"):
        summary.write(document, file, picture)
    others = "\n".join((*summary.PARTS, *summary.LOOPS))
    file.write_text(f"before\n{begin}\nold\n{end}\nafter\n{others}")
    for _ in range(2):
        summary.write(document, file, picture)
        text = file.read_text()
        assert text.startswith(f"before\n{begin}\n\nA CPU, 2 cores, with AVX-512")
        assert "may use 1 of the 2 cores" in text
        assert told in text
        assert f"](pictures/speed.png)\n\n{end}\nafter\n{summary.PARTS.begin}" in text
        assert text.count("| B | sort | graph |") == 1
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert summary.paths(text) == ["A", "B"]
        assert "old" not in text


def test_the_plot_has_a_point_for_each_ratio(tmp_path, monkeypatch):
    drawn = []
    plot = Axes.plot

    def record(ax, ratios, places, *args, **options):
        points = zip(places, ratios, strict=True)
        drawn.extend((ax.get_title(), *point) for point in points)
        return plot(ax, ratios, places, *args, **options)

    monkeypatch.setattr(Axes, "plot", record)
    summary.plot(summary.rows(RESULTS), tmp_path / "speed.png")
    # The titles of the two families are lines, too.
    assert sorted(drawn) == [
        ("NumPy", 1, 0.0123),
        ("PyTorch", 1, 2.0),
        ("XLA", 3, 1.05),
        ("graph", 1, 0.5),
    ]


def test_the_tables_of_installation_and_of_the_card():
    took = {"ours": 0.0213, "theirs": 1.2, "ratio": 0.0178, "elapsed_ratio": 0.5}
    size = {"ours": 104.2, "theirs": 208.4, "ratio": 0.5}
    found = [
        {"title": "a", "peer": "b", "unit": "s", **took},
        {"title": "size", "peer": "b", "unit": "MB", **size},
    ]
    assert install.table(found).splitlines()[2:] == [
        "| a | b | 0.021 s | 1.20 s | 0.018 | 0.50 |",
        "| size | b | 104.20 MB | 208.40 MB | 0.50 |  |",
    ]
    row = {
        "metric": "Accuracy",
        "peer": "MulticlassAccuracy",
        "size": [8192, 10],
        "ratios": {"update": 0.25, "compute": 1.5},
        "values": [0.5, 0.5],
        "bound": 1e-5,
        "host_reads": [0, 1],
    }
    assert gpu.table([{"backend": "jax", "rows": [row]}]).splitlines()[2:] == [
        "| Accuracy | MulticlassAccuracy | 8192 x 10 | JAX | 0.25 | 1.50 "
        "| 0, 1e-05 | 0 and 1 |"
    ]


@pytest.mark.parametrize("module", ["gpu", "install"])
def test_speed_has_the_marks_of_each_table(module):
    text = (ROOT / "docs" / "speed.md").read_text()
    begin, end = importlib.import_module(module).MARKS
    assert text.count(begin) == text.count(end) == 1
    assert text.index(begin) < text.index(end)


def test_rows_of_the_documents_belong_to_cases():
    known = {case.path for case in cases.CASES}
    assert set(summary.paths((ROOT / "docs" / "speed.md").read_text())) <= known


def test_cases_are_selected_by_name():
    assert [case.name for case in run.select("ece-update-1024")] == [
        "ece-update-1024x10"
    ]
    with pytest.raises(SystemExit, match="No case"):
        run.select("no such case")


class FakeWorker:
    """A checkout named SECONDSxVALUE, after the time and the value of its calls."""

    def __init__(self, python, root):
        self._seconds, self._value = map(float, root.name.split("x"))

    def ask(self, do, **request):
        made = {"value": self._value, "calls": 1}
        return {"begin": [], "setup": made, "time": self._seconds, "end": None}[do]

    def close(self):
        pass


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("1x5", "1.04x5", None),
        ("2x5", "2.2x5", r"nll-50000x1000: \*\*.* takes 1.100 of before"),
        ("1x5", "1x5.1", "nll-50000x1000: .*: 5.1, .*: 5$"),
    ],
)
def test_comparison_reports_slower_calls_and_other_values(
    before, after, message, monkeypatch, capsys
):
    monkeypatch.setattr(compare, "Worker", FakeWorker)
    monkeypatch.setattr(run.Foreign, "_read", lambda self: (0, 0))
    monkeypatch.setattr(run, "_PAUSE", 0)
    ends = contextlib.nullcontext() if message is None else pytest.raises(SystemExit)
    with ends as error:
        compare.main([before, after, "--cases", "nll"])
    assert message is None or re.search(message, str(error.value), re.MULTILINE)
    ratio = float(after.split("x")[0]) / float(before.split("x")[0])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [float(row.split("|")[3]) for row in rows] == [round(ratio, 3)] * len(rows)
    assert len(rows) > 1


def test_exponent():
    values = [1, 2, 4, 8, 16]
    assert growth.exponent(values, [3 * v**1.5 for v in values]) == pytest.approx(1.5)


@pytest.mark.parametrize("columns", ["one", "two", "many"])
def test_entries_of_calarena_fit_and_predict(columns):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3 if columns == "many" else 2), 600).astype(np.float32)
    labels = np.array(
        [rng.choice(len(row), p=row / row.sum()) for row in p.astype(float)]
    )
    given = p[:, 1] if columns == "one" else p
    for name, make in calarena.CUSTOM_CALIBRATORS.items():
        entry = make()
        entry.fit(given[:300], labels[:300])
        found = entry.predict_proba(given[300:])
        binary = name == "um-VennAbers" and columns == "many"
        assert found.shape == (300, p.shape[1])
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
        assert binary or not np.allclose(found, p[300:], atol=1e-6)
    entry.fit(given[:300], np.zeros(300, int))  # One class determines no map.
    np.testing.assert_allclose(entry.predict_proba(given[300:]), p[300:], atol=1e-6)
