"""Results that are tables, in other forms."""

import json
import re
import sys

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _tables

N = 300


def data(rng):
    scores = rng.uniform(size=N)
    return {"correct": rng.uniform(size=N) < scores, "confidences": scores}


def results(rng):
    """Returns a result of each kind, with its number of rows."""
    given = data(rng)
    groups = {"a_b": rng.choice(["x|y", "50%", "<z>"], N)}
    old = um.bin_statistics(**given, num_bins=5)
    new = um.bin_statistics(**data(rng), num_bins=5)
    drift = um.calibration_drift(old, new)
    classes = rng.integers(3, size=N), rng.dirichlet(np.ones(3), N)
    curve = um.reliability_curve(*classes, class_conditional=True, error_bars=0.9)
    return {
        "groups": (um.calibration_by_group(**given, groups=groups), 3),
        "bins": (old, 5),
        "adaptive": (um.bin_statistics(**given, binning_scheme="adaptive"), 15),
        "curve": (curve, 45),
        "drift": (drift, len(drift.z)),
    }


def test_all_forms_have_the_same_rows(rng):
    pd = pytest.importorskip("pandas")
    for name, (result, size) in results(rng).items():
        frame = result.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == size, name
        rows = result.to_markdown().splitlines()
        assert len(rows) == size + 2, name
        # A pipe of a cell is escaped, so that all rows have the same cells.
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
        assert len(widths) == 1, name
        lines = result.to_latex().splitlines()
        assert lines[0].startswith("\\begin{tabular}{"), name
        assert [lines[i] for i in (1, 3, -2, -1)] == [
            *("\\toprule", "\\midrule", "\\bottomrule", "\\end{tabular}")
        ]
        body = [lines[2], *lines[4:-2]]
        assert len(body) == size + 1, name
        ampersands = {len(re.findall(r"(?<!\\)&", line)) for line in body}
        assert len(ampersands) == 1, name
        columns = len(re.fullmatch(r"\\begin{tabular}{([lr]+)}", lines[0])[1])
        assert (ampersands, widths) == ({columns - 1}, {columns + 1}), name


def test_the_dict_is_json_without_nan(rng):
    for name, (result, _) in results(rng).items():
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert json.loads(text), name


def test_the_frame_has_the_numbers_of_the_bins(rng):
    pytest.importorskip("pandas")
    bins = um.bin_statistics(**data(rng), num_bins=7)
    frame = bins.to_frame()
    np.testing.assert_array_equal(frame["count"], bins.counts[0])
    filled = bins.counts[0] > 0
    np.testing.assert_array_equal(frame["accuracy"][filled], bins.accuracies[0, filled])
    np.testing.assert_array_equal(frame["lower"], bins.edges[0, :-1])


def test_markdown_and_latex_have_the_cells_that_are_printed(rng):
    table, _ = results(rng)["groups"]
    printed = repr(table).splitlines()[2:]
    rows = table.to_markdown().splitlines()[2:]
    lines = table.to_latex().splitlines()[4:-2]
    for text, row, line in zip(printed, rows, lines, strict=True):
        cells = re.split(r"\s{2,}", text.strip())
        assert [
            re.sub(r"\\(.)", r"\1", cell)
            for cell in re.split(r"(?<!\\) ?\| ?", row)[1:-1]
        ] == cells
        plain = line.removesuffix(r" \\").replace("$-$", "-")
        for code, character in {r"\textless{}": "<", r"\textgreater{}": ">"}.items():
            plain = plain.replace(code, character)
        plain = [re.sub(r"\\(.)", r"\1", cell) for cell in plain.split(" & ")]
        assert plain == cells


SPECIAL = r"a|b*c_d`e<f>[g]$h~i\j & 50% #1 {k} x^2 1-2 e-5 -0.5"


def test_markdown_shows_special_characters_as_they_are():
    escaped = _tables.escaped_markdown(SPECIAL)
    # A backslash hides itself and shows the next character.
    assert re.sub(r"\\(.)", r"\1", escaped) == SPECIAL
    assert not set(re.sub(r"\\.", "", escaped)) & set(r"\|*_`<>[]$~")
    assert _tables.escaped_markdown("two\n lines") == "two lines"


def test_latex_escapes_all_special_characters():
    text = _tables.escaped_latex(SPECIAL)
    # Commands are taken out; what is left has no special character of TeX.
    left = re.sub(
        r"\\text(backslash|asciitilde|asciicircum|less|greater)\{\}", "", text
    )
    left = re.sub(r"\\[&%$#_{}]", "", left).replace("$-$", "")
    assert not set(left) & set(r"\&%$#_{}~^<>")
    assert _tables.escaped_latex("-0.5, [-1, 2], 1-2, x-y") == (
        "$-$0.5, [$-$1, 2], 1-2, x-y"
    )
    assert _tables.escaped_latex("two\nlines") == "two lines"


def test_a_frame_without_pandas_names_the_extra(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"`to_frame` needs pandas.*\[pandas\]"):
        um.bin_statistics(**data(rng)).to_frame()
