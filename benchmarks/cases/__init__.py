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


def _with_backends(case: Case) -> Case:
    """Adds the contenders of this package on other backends."""
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
    return dataclasses.replace(case, contenders=(*case.contenders, *more))


CASES = tuple(
    _with_backends(case)
    for case in (
        *calibration.CASES,
        *keras_steps.CASES,
        *scoring_rules.CASES,
        *ranks.CASES,
        *ensembles.CASES,
        *bootstrap.CASES,
        *calibrators.CASES,
        _IMPORT,
    )
)
