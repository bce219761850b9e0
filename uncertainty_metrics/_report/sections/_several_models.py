"""The section that compares several models on the same examples."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._metric_titles import metric_title
from uncertainty_metrics._report.data._matched_rows import matched
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Model,
    MultiLabel,
    Predictions,
    QuantileForecasts,
    Regression,
    ReportError,
    remembered,
)
from uncertainty_metrics._report.data._time_blocks import lags_of_time
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    number,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import shown_p_value
from uncertainty_metrics.numpy.comparison import (
    ComparedModel,
    Comparison,
)

# In inches: as wide as the other pictures.
_WIDTH = 4.5

_ENDING = re.compile(
    r"\.(csv|tsv|jsonl?|ndjson|npz|parquet|feather|arrow|xlsx)(\.gz)?$", re.IGNORECASE
)


@remembered
def _comparison(first: Model, *others: Model) -> Comparison:
    """Returns the comparison of models, with names from their files."""
    models = [first, *others]
    names = _names([model.source for model in models])
    hint = (
        "Files of other rows, such as those of another week, are compared one by one; "
        "the command compare matches rows by a column, named with --id"
    )
    given = matched(models, names, hint=hint, answers_in_order=True)
    given, ids, block = in_order_of_time(first, given)
    try:
        return um.compare(
            predictions=given,
            metrics=_metrics(first),
            clusters=ids,
            block=block,
            level=INTERVAL_LEVEL,
            multilabel=isinstance(first, MultiLabel),
        )
    except (TypeError, ValueError) as wrong:
        raise ReportError(wrong) from None


def in_order_of_time(
    first: Model, given: dict[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], Any, int | None]:
    """Returns the arguments of all models, those of a single series in the order of
    time; and the ids of the clusters of the rows, or how many rows apart are
    independent.
    """
    lags = lags_of_time(first) if isinstance(first, QuantileForecasts) else None
    if lags is None:
        clusters = getattr(first, "clusters", None)
        return given, None if clusters is None else clusters.values, None
    order, block = lags
    ordered = {
        name: {
            key: values if key == "quantiles" else np.asarray(values)[order]
            for key, values in arguments.items()
        }
        for name, arguments in given.items()
    }
    return ordered, None, block


def _metrics(model: Model) -> dict[str, str] | None:
    """Returns the metrics of a comparison; None for those of `um.compare`."""
    if not isinstance(model, QuantileForecasts):
        return None
    of_samples = model.samples is not None
    return {"crps": "crps_score" if of_samples else "crps_quantile_score"}


def _draw(models: dict[str, Any], num_bins: int) -> Any:
    """Draws the comparison of all models."""
    del num_bins
    found = _comparison(*models.values())
    size = _WIDTH, 1.3 + 0.3 * len(found.models)
    figure = _optional.require("matplotlib.figure").Figure(figsize=size)
    return found.plot(figure)


MODELS = ReportPicture(
    "comparison.png",
    "with `--compare` of several models, of forecasts or of several labels, each model "
    "in each metric, with intervals",
    _draw,
    lambda models, num_bins: len(models) > 2,
)


@dataclasses.dataclass(frozen=True)
class SeveralModels(Section):
    """Any number of models in some metrics, on the same examples.

    Attributes:
      models: the names of the models, that of the report first.
      found: the comparison.
      verdict: which models may be the best in each metric.
    """

    name = "comparison"
    heading = "Comparison of all models"
    tasks: ClassVar[tuple[str, ...]] = (
        *("classification", "multilabel", "confidences", "regression"),
    )
    pictures = (MODELS,)

    models: tuple[str, ...]
    found: Comparison
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> None:
        """Returns None: `of_models` makes the section, of all models."""
        del report

    @classmethod
    def of_models(cls, models: Sequence[Model]) -> SeveralModels:
        """Compares models.

        Raises:
          ReportError: the models are not of the same rows, or have weights.
        """
        first = models[0]
        known = Predictions | MultiLabel | Confidences | Regression | QuantileForecasts
        if not isinstance(first, known):
            raise ReportError(
                "several models are compared by rows of predictions, each model in one "
                f"file. Received: {first.source}, of another kind"
            )
        found = _comparison(*models)
        return cls(found.models, found, _verdict(found))

    def as_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "models": [*self.models],
            "metrics": [*found.metrics],
            "level": found.level,
            "examples": found.num_examples,
            "clusters": found.num_clusters,
            "verdict": self.verdict,
            "may_be_best": {
                metric: [*found.may_be_best(metric)] for metric in found.metrics
            },
            "rows": [_plain(row) for row in found],
        }

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        metric, first = self.found.metrics[0], self.models[0]
        tied, best = self.found.may_be_best(metric), self.found.best(metric)
        if len(tied) == 1:
            value, level = f"{best} is best", "good" if best == first else "bad"
        else:
            value, level = f"{len(tied)} may be best", "unclear"
            if first not in tied:
                level = "bad"
        title = f"{len(self.models)} models by {metric_title(metric)}"
        yield Tile(title, value, self.verdict, level)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        found = self.found
        in_clusters = ""
        if found.num_clusters is not None:
            in_clusters = f" in {found.num_clusters:,} clusters"
        yield Text(self.verdict)
        names = ", ".join(self.models)
        yield MODELS.block(
            f"The values of {names} in each metric, with intervals. {self.verdict}",
            f"Each model in each metric on the same {found.num_examples:,} examples"
            f"{in_clusters}, with {found.level:.0%} intervals. The arrows point to "
            "better values.",
        )
        of_numbers = isinstance(report.model, Regression | QuantileForecasts)
        show = significant if of_numbers else number
        yield Text(
            "In the tables * is the best model, and = is not worse beyond chance. Each "
            "model is compared with the best one in these data by the difference on "
            "the same examples, which is surer than both values. The p-values are "
            "adjusted for the number of models (Holm). Calibration errors are "
            "compared by the difference of the squared errors without bias."
        )
        for metric, larger in zip(found.metrics, found.larger_is_better, strict=True):
            better = "larger" if larger else "smaller"
            yield Table(
                f"{metric_title(metric)}; {better} is better",
                metric_title(metric),
                ("value", "from", "to", "difference", "p"),
                [_cells(row, show) for row in found.of(metric)],
            )


def _cells(row: ComparedModel, show: Any) -> tuple[str, ...]:
    mark = "*" if row.is_best else "=" if row.may_be_best else ""
    cells = [show(None if x != x else x) for x in (row.value, row.lower, row.upper)]
    if row.is_best:
        return (f"{mark} {row.model}", *cells, "-", "-")
    p = shown_p_value(row.adjusted_p_value).removeprefix("= ")
    return (f"{mark} {row.model}".strip(), *cells, show(row.difference), p)


def _plain(row: ComparedModel) -> dict[str, Any]:
    """Returns a row with None where a number is not defined."""
    return {
        name: None if value != value else value for name, value in row._asdict().items()
    }


def _verdict(found: Comparison) -> str:
    """Says which models may be the best in each metric."""
    said = []
    for metric in found.metrics:
        tied, best = found.may_be_best(metric), found.best(metric)
        name = metric_title(metric)
        if len(tied) == 1:
            said.append(f"{name}: {best} is the best beyond chance.")
        elif len(tied) == len(found.models):
            said.append(f"{name}: any of the models may be the best.")
        else:
            others = ", ".join(model for model in tied if model != best)
            said.append(f"{name}: {best} is the best, and {others} may be as good.")
    return " ".join(said)


def _names(sources: Sequence[str]) -> list[str]:
    """Returns a name for each model, all different: that of its file, without folder
    and ending, if these differ.
    """
    stems = [_ENDING.sub("", pathlib.PurePath(source).name) for source in sources]
    names = stems if len({*stems}) == len(stems) and all(stems) else [*sources]
    if len({*names}) == len(names):
        return names
    return [f"{name} ({i})" for i, name in enumerate(names, 1)]
