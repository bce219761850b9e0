"""The command that compares the models of several files."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from uncertainty_metrics.__main__ import main

N = 3000


@pytest.fixture
def files(tmp_path, rng):
    q = rng.uniform(size=N)
    labels = (rng.uniform(size=N) < q).astype(int)
    models = {"a": q, "b": q**2, "c": np.full(N, 0.5)}
    orders = {name: np.arange(N) for name in models} | {"b": rng.permutation(N)}
    for name, p in models.items():
        p = p.tolist()
        lines = [f"r{i},{i // 4},{labels[i]},{p[i]!r}\n" for i in orders[name]]
        text = "row,patient,label,probability\n" + "".join(lines)
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path, labels, models


def run(folder, *arguments):
    given = [str(folder / a) if a.endswith((".csv", ".tex")) else a for a in arguments]
    return main(["compare", *given])


def test_files_are_matched_by_id_and_compared(files, capsys):
    folder, labels, models = files
    options = ("--id", "row", "--cluster", "patient", "--metric", "brier_score")
    assert run(folder, "a.csv", "b.csv", "c.csv", *options, "--latex", "t.tex") == 0
    out = capsys.readouterr().out
    expected = um.compare(
        labels, models, metrics="brier_score", clusters=np.arange(N) // 4
    )
    assert repr(expected) in out
    assert (folder / "t.tex").read_text() == expected.to_latex() + "\n"


def test_files_of_the_same_labels_need_no_id(files, capsys):
    folder, labels, models = files
    assert run(folder, "a.csv", "c.csv", "--metric", "auroc") == 0
    del models["b"]
    assert repr(um.compare(labels, models, metrics="auroc")) in capsys.readouterr().out


def test_files_of_other_rows_are_refused(files, capsys):
    folder, _, _ = files
    assert run(folder, "a.csv", "b.csv") == 2
    assert "their labels differ" in capsys.readouterr().err
    text = (folder / "c.csv").read_text().replace("r17,", "other,")
    (folder / "d.csv").write_text(text)
    assert run(folder, "a.csv", "d.csv", "--id", "row") == 2
    assert "2 ids are in one file only" in capsys.readouterr().err
    (folder / "e.csv").write_text((folder / "c.csv").read_text().replace("r17,", "r1,"))
    assert run(folder, "a.csv", "e.csv", "--id", "row") == 2
    assert "ids of the rows repeat" in capsys.readouterr().err


def test_files_of_several_labels_are_compared(tmp_path, capsys, rng):
    p = rng.uniform(0.1, 0.9, (200, 2))
    tags = (rng.random(p.shape) < p).astype(int)
    models, artist = {"a": p, "b": p**3}, np.arange(200) // 2
    for name, order in (("a", [0, 1]), ("b", [1, 0]), ("c", [0, 1])):
        names = ["rock", "other" if name == "c" else "jazz"]
        columns = {f"label_{names[k]}": tags[:, k] for k in order}
        columns |= {f"prob_{names[k]}": models.get(name, p)[:, k] for k in order}
        columns["artist"] = artist
        rows = zip(*(each.tolist() for each in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    assert run(tmp_path, "a.csv", "b.csv", "--multilabel", "--cluster", "artist") == 0
    expected = um.compare(tags, models, clusters=artist, multilabel=True)
    assert repr(expected) in capsys.readouterr().out
    assert run(tmp_path, "a.csv", "c.csv", "--multilabel") == 2
    assert "other labels than" in capsys.readouterr().err
    assert run(tmp_path, "a.csv", "b.csv", "--multilabel", "--id", "artist") == 2
    assert "--multilabel takes no --id" in capsys.readouterr().err


def test_other_errors_are_one_line(files, capsys):
    folder, _, _ = files
    for arguments, word in (
        (("a.csv",), "at least two files"),
        (("a.csv", "c.csv", "--metric", "briar"), "`metrics` must hold names"),
        (("a.csv", "c.csv", "--cluster", "ward"), "ward"),
        (("a.csv", "none.csv"), "none.csv"),
    ):
        assert run(folder, *arguments) == 2
        message = capsys.readouterr().err
        assert word in message
        assert message.count("\n") == 1


def test_forecasts_may_have_clusters(tmp_path, capsys):
    rng = np.random.default_rng(0)
    wards, targets = np.arange(120) // 4, rng.normal(size=120)
    levels, models = [0.1, 0.5, 0.9], {}
    for name, width in (("a", 1.3), ("b", 2.0)):
        models[name] = {
            "quantile_predictions": np.tile([-width, 0.0, width], (120, 1)),
            "quantiles": levels,
        }
        lines = [
            f"{w},{y!r},{-width},0.0,{width}\n"
            for w, y in zip(wards.tolist(), targets.tolist(), strict=True)
        ]
        text = "ward,y,q0.1,q0.5,q0.9\n" + "".join(lines)
        (tmp_path / f"{name}.csv").write_text(text)
    assert run(tmp_path, "a.csv", "b.csv", "--cluster", "ward") == 0
    expected = um.compare(targets, models, clusters=wards)
    assert repr(expected) in capsys.readouterr().out
