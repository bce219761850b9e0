"""The cases, each a row that `run.py` and every worker read.

Each module has one topic. The modules need only the standard library: contenders give
the name of their setup function, and the worker of their environment imports it.
Functions of the package without a case here have one in `rows.py`.
"""

from __future__ import annotations

import dataclasses

from harness import BACKENDS, NUMPY, OURS, XLA, Case, Contender

from cases import (
    bootstrap,
    calibration,
    calibrators,
    ensembles,
    keras_steps,
    ranks,
    scoring_rules,
    threads,
)

_IMPORT = Case(
    "import",
    "Import in a fresh process",
    tuple(
        Contender(
            OURS,
            label,
            "ours.import_time",
            {"module": module},
            baseline=module == "numpy",
            quantity=None,
            mode=NUMPY if module == "uncertainty_metrics.numpy" else None,
        )
        for label, module in (
            ("numpy", "numpy"),
            ("**uncertainty_metrics**", "uncertainty_metrics"),
            ("**uncertainty_metrics.numpy**", "uncertainty_metrics.numpy"),
            (
                "**uncertainty_metrics.numpy, with `ece`**",
                "uncertainty_metrics.numpy.calibration.bins.confidence_errors",
            ),
        )
    ),
    path="`import uncertainty_metrics.numpy`",
)

# By setup function for XLA: the function of `backends.py` that does the same.
_ON_BACKENDS = {
    "ours.tensorflow_function": "backends.function",
    "ours.keras_update": "backends.update",
}


# The families, in the order of the summary.
_FAMILIES = {
    "Calibration errors": calibration.CASES,
    "Calibrators": calibrators.CASES,
    "Scores of classes": scoring_rules.OF_CLASSES,
    "Scores of real numbers": scoring_rules.OF_NUMBERS,
    "Detection and selective prediction": ranks.CASES,
    "Ensembles and posterior draws": ensembles.CASES,
    "Bootstrap intervals": bootstrap.CASES,
    "Steps of Keras": keras_steps.CASES,
    "Two threads, beside one": threads.CASES,
    "Import": (_IMPORT,),
}


def _complete(case: Case, family: str) -> Case:
    """Adds the family, and the contenders of this package on other backends."""
    more = []
    for row in case.contenders:
        if row.mode == XLA and row.setup in _ON_BACKENDS:
            options = {key: x for key, x in row.options.items() if key != "mode"}
            more += [
                dataclasses.replace(
                    row,
                    environment=backend,
                    label=row.label.replace(XLA, backend),
                    setup=_ON_BACKENDS[row.setup],
                    options=options,
                    baseline=False,
                    mode=backend,
                )
                for backend in BACKENDS
            ]
    contenders = (*case.contenders, *more)
    return dataclasses.replace(case, contenders=contenders, family=family)


CASES = tuple(
    _complete(case, family) for family, cases in _FAMILIES.items() for case in cases
)
