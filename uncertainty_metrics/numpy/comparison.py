"""Any number of models in any metrics, on the same examples: who is best, surely?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._metric_titles import metric_title
from uncertainty_metrics.numpy import (
    _compared_metrics,
    _inputs,
    _paired_scores,
    _resamples,
    _text_tables,
)
from uncertainty_metrics.numpy._compared_metrics import Metric
from uncertainty_metrics.numpy._frames import takes_frames

__all__ = ["compare"]

_OF_CLASSES = ("probabilities", "logits", "probs")


class ComparedModel(NamedTuple):
    """A model in a metric.

    Attributes:
      model: name of the model.
      metric: name of the metric.
      value: the metric of the model.
      lower: lower end of the interval of the value; NaN for a calibration error whose
        interval would not hold (all but the debiased one), and infinite values.
      upper: upper end of the interval.
      difference: the value less that of the best model; of calibration errors, the
        difference between the debiased squared l2 errors. 0 for the best model.
      difference_lower: lower end of the interval of the difference.
      difference_upper: upper end of the interval of the difference.
      p_value: p-value of no difference from the best model; 1 for the best model.
      adjusted_p_value: the same, adjusted for all models in this metric (Holm).
      is_best: whether the model is the best one in these data.
      may_be_best: whether it is the best one, or not worse beyond chance.
    """

    model: str
    metric: str
    value: float
    lower: float
    upper: float
    difference: float
    difference_lower: float
    difference_upper: float
    p_value: float
    adjusted_p_value: float
    is_best: bool
    may_be_best: bool


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparison(_tables.Table):
    """The models in all metrics, the result of `compare`.

    It prints as a table with a row for each model and a column for each metric, and is
    a sequence of `ComparedModel`, metric by metric. `to_dict` and `to_frame` return all
    numbers, with a row for each model in each metric; `to_markdown` and `to_latex` the
    table, with the best model of each metric in bold, and a dagger at the models that
    are not worse beyond chance.

    Attributes:
      rows: a `ComparedModel` for each model in each metric.
      models: the names of the models.
      metrics: the names of the metrics.
      larger_is_better: whether larger values are better, of each metric.
      level: level of the intervals and, as 1 - level, of the tests.
      num_examples: number of examples.
      num_clusters: number of clusters; None without clusters.
    """

    rows: tuple[ComparedModel, ...]
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    larger_is_better: tuple[bool, ...]
    level: float
    num_examples: int
    num_clusters: int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparedModel]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> ComparedModel:
        return self.rows[index]

    def of(self, metric: str) -> tuple[ComparedModel, ...]:
        """Returns the models in one metric, in their order.

        Raises:
          ValueError: there is no such metric.
        """
        _checks.one_of("metric", metric, self.metrics)
        return tuple(row for row in self.rows if row.metric == metric)

    def best(self, metric: str) -> str:
        """Returns the name of the best model in a metric."""
        return next(row.model for row in self.of(metric) if row.is_best)

    def may_be_best(self, metric: str) -> tuple[str, ...]:
        """Returns the names of the models that are not worse than the best one beyond
        chance, the best one included.
        """
        return tuple(row.model for row in self.of(metric) if row.may_be_best)

    def plot(self, figure: Any = None) -> Any:
        """Draws the intervals of all models, with a row for each model and a column for
        each metric.

        The best model of a metric is drawn in color with a full dot, models that are
        not worse beyond chance in the same color with a hollow dot, and all others in
        grey. The arrows point to better values. Letters and marks are small in a figure
        of the width of a column.

        Args:
          figure: matplotlib figure or subfigure to draw in, such as
            `Figure(figsize=(3.35, 2))`, 85 mm wide; by default a new pyplot figure,
            which is not shown.

        Returns:
          The matplotlib figure.

        Raises:
          ImportError: matplotlib is not installed.
        """
        from uncertainty_metrics.visualization import comparison

        return comparison.draw(self, figure)

    def _columns(self) -> dict[str, list[Any]]:
        fields = ComparedModel._fields
        return {name: [getattr(row, name) for row in self.rows] for name in fields}

    def _texts(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Returns the value and the interval of each model and metric as text."""
        texts = {}
        for metric in self.metrics:
            rows = self.of(metric)
            decimals = _decimals(rows)
            for row in rows:
                ends = [f"{end:.{decimals}f}" for end in (row.lower, row.upper)]
                interval = "" if math.isnan(row.lower) else f"[{', '.join(ends)}]"
                texts[row.model, metric] = f"{row.value:.{decimals}f}", interval
        return texts

    def _titles(self, up: str, down: str) -> list[str]:
        """Returns the heads of the columns, with marks that say what is better."""
        marks = (up if larger else down for larger in self.larger_is_better)
        return [
            f"{metric_title(metric)} {mark}"
            for metric, mark in zip(self.metrics, marks, strict=True)
        ]

    def _marked(self, best: str, tied: str) -> list[list[str]]:
        """Returns the rows of cells.

        Args:
          best: how a value of a best model is written, with "{}" for the value.
          tied: the same for a value that is not worse beyond chance.
        """
        texts = self._texts()
        found = {(row.model, row.metric): row for row in self.rows}
        lines = []
        for model in self.models:
            line = [model]
            for metric in self.metrics:
                value, interval = texts[model, metric]
                row = found[model, metric]
                form = best if row.is_best else tied if row.may_be_best else "{}"
                line.append(f"{form.format(value)} {interval}".rstrip())
            lines.append(line)
        return lines

    def _shown(self) -> _tables.Shown:
        lines = self._marked("*{}", "={}")
        header = ["Model", *self._titles("(up)", "(down)")]
        return _tables.Shown(header, len(lines), lambda i: list(lines[i]))

    def __repr__(self) -> str:
        clusters = ""
        if self.num_clusters is not None:
            clusters = f" in {self.num_clusters} clusters"
        return (
            f"Comparison of {len(self.models)} models on {self.num_examples} examples"
            f"{clusters}, with {100 * self.level:.4g}% intervals. * is the best model "
            f"of a metric; = is not worse beyond chance.\n"
            f"{_text_tables.table(*self._shown())}"
        )

    def to_markdown(self) -> str:
        """Returns the table as a table of Markdown, with the best values in bold."""
        rows = self._marked("\0{}\0", "{}\1")
        escaped = [
            [
                _tables.escaped_markdown(cell)
                .replace("\0", "**")
                .replace("\1", "\N{DAGGER}")
                for cell in row
            ]
            for row in rows
        ]
        titles = self._titles("\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}")
        return _tables.markdown(
            ["Model", *map(_tables.escaped_markdown, titles)], escaped
        )

    def to_latex(self) -> str:
        """Returns the table as a `tabular` of LaTeX with the rules of the package
        `booktabs`, with the best values in bold.
        """
        rows = self._marked("\0{}\1", "{}\2")
        codes = {"\0": r"\textbf{", "\1": "}", "\2": r"$^{\dagger}$"}
        escaped = []
        for row in rows:
            cells = [_tables.escaped_latex(cell) for cell in row]
            for mark, code in codes.items():
                cells = [cell.replace(mark, code) for cell in cells]
            escaped.append(cells)
        titles = [
            _tables.escaped_latex(title)
            .replace("\0", r"$\uparrow$")
            .replace("\1", r"$\downarrow$")
            for title in self._titles("\0", "\1")
        ]
        note = "% Bold: the best model of a metric. Dagger: not worse beyond chance.\n"
        return note + _tables.latex(["Model", *titles], escaped)


def _decimals(rows: tuple[ComparedModel, ...]) -> int:
    """Returns as many decimals as show two digits of the widths of the intervals."""
    widths = [row.upper - row.lower for row in rows]
    widths += [row.difference_upper - row.difference_lower for row in rows]
    known = [width for width in widths if math.isfinite(width) and width > 0]
    if not known:
        return 3
    half = float(np.median(known)) / 2
    return min(max(1 - math.floor(math.log10(half)), 0), 8)


@takes_frames
def compare(
    labels: ArrayLike | None = None,
    predictions: Mapping[str, Any] | None = None,
    *,
    metrics: Any = None,
    correct: ArrayLike | None = None,
    clusters: Any = None,
    block: int | None = None,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: Any = None,
    multilabel: bool = False,
) -> Comparison:
    """Compares any number of models in any metrics, on the same examples.

    Each value comes with its interval. In each metric all other models are compared
    with the best one by the difference on the same examples, which is known better than
    each value. The p-values are adjusted by Holm's method for the number of models. A
    model whose adjusted p-value is above 1 - level may be the best one.

    How a metric is compared depends on what it is:

      - a mean over the examples, as of `brier_score`, `negative_log_likelihood`,
        `crps_normal_score` or `accuracy`: by the mean of the differences between the
        scores of each example, and Student's distribution; an accuracy has Wilson's
        interval. The Brier score of two classes and of answers is the mean of
        (y - p)^2, and that of K classes the mean of sum_k (p_k - (k == y))^2; with
        `zero_based` bound by `functools.partial` it is what the function returns. With
        `block`, the variance is that of Diebold and Mariano, with the factor of Harvey,
        Leybourne and Newbold;
      - `auroc`: by `auroc_interval` and `auroc_difference`;
      - `debiased_calibration_error`: by `calibration_error_interval`, whose estimate is
        shown, and `calibration_error_difference`. So are `ece`, `rmsce` and `smece`,
        whose values are shown without an interval, and are larger for models that fill
        more bins: look at the debiased error;
      - another metric: by a bootstrap of the examples, with the same resamples for all
        models, and intervals "bca".

    Args:
      labels: integer class labels in [0, K), or real labels, shape [...].
      predictions: a mapping from the name of each model to its predictions of the same
        examples: probabilities, shape [..., K], or P(class 1) of two classes; with
        `correct`, confidences, shape [...]. Or, for each model, a mapping from the
        names of the metrics' arguments to arrays: `{"logits": z}`, `{"means": m,
        "stddevs": s}`, `{"predictive_samples": x}`, `{"quantile_predictions": q,
        "quantiles": levels}`, or `{"correct": c, "confidences":
        p}` for models that give different answers.
      metrics: names of metrics of the package, or the functions; options are bound by
        `functools.partial`. A mapping gives them other names. By default, for classes
        `negative_log_likelihood`, `brier_score`, `accuracy` (of one column P(class 1)
        `auroc`, of grades `aurc`) and `debiased_calibration_error`;
        `crps_normal_score` for means, `crps_score` for samples, and
        `crps_quantile_score` for quantiles.
      correct: instead of labels, right (1), wrong (0) or a grade between, shape [...],
        the same answers for all models. Of grades y, scores are those of the
        distribution (1 - y, y), and selective prediction has the losses 1 - y; what
        needs right or wrong, such as `auroc`, says so.
      clusters: id of the cluster of each example, integers or strings of the shape of
        the labels: examples of a cluster may depend on each other in any way. Without
        them, all intervals and tests are for independent examples.
      block: for examples in the order of time: examples that are `block` or more places
        apart are independent, as are the errors of forecasts made `block` steps ahead.
        Metrics that are no means over examples take blocks of so many consecutive
        examples as clusters.
      level: level of the intervals, in (0, 1); 1 - level is the level of the tests.
      num_resamples: number of resamples, for metrics that need a bootstrap.
      seed: seed of the resamples, all that `np.random.default_rng` takes.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
        An example is then a row of L labels, which depend on each other, and `clusters`
        has an id for each row. Scores are means over all labels, the Brier score that
        of (y - p)^2, and an AUROC is the mean of those of the labels. Metrics without
        the argument `multilabel` are refused.

    Returns:
      A `Comparison`, a sequence of a `ComparedModel` for each model in each metric. It
      prints as a table; `.best(metric)` and `.may_be_best(metric)` name models;
      `.to_dict()`, `.to_frame()`, `.to_markdown()`, `.to_latex()` and `.plot()` show it
      in other forms. If a label has the probability 0, the negative log-likelihood is
      infinite, and the p-value of its difference from a finite one is 0.

    Raises:
      ValueError: an argument is not as described, a metric needs arguments that a model
        lacks, or the models differ in the number of their examples.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> p = rng.uniform(size=1000)
      >>> labels = rng.uniform(size=1000) < p
      >>> models = {"a": p, "b": p**2, "c": np.full(1000, 0.5)}
      >>> found = um.compare(labels, models, metrics="brier_score")
      >>> found.best("brier_score"), found.may_be_best("brier_score")
      ('a', ('a',))
      >>> [round(x, 3) for x in found[1][2:6]]
      [0.202, 0.186, 0.218, 0.036]
      >>> tags = np.stack([labels, 1 - labels], axis=1)  # Two labels of each example.
      >>> models = {"a": np.stack([p, 1 - p], axis=1), "b": np.full([1000, 2], 0.5)}
      >>> found = um.compare(tags, models, metrics="auroc", multilabel=True)
      >>> found.best("auroc"), found.num_examples
      ('a', 1000)

    References:
      Diebold and Mariano (1995), Comparing Predictive Accuracy. Harvey, Leybourne and
      Newbold (1997), Testing the Equality of Prediction Mean Squared Errors. DeLong,
      DeLong and Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated
      Receiver Operating Characteristic Curves: A Nonparametric Approach. Holm (1979), A
      Simple Sequentially Rejective Multiple Test Procedure. Hsu (1981), Simultaneous
      Confidence Intervals for All Distances from the "Best".
    """
    level = _checks.open_unit("level", level)
    num_resamples = _checks.positive_integer("num_resamples", num_resamples)
    _inputs.generator(seed)
    models = _models(labels, predictions, correct)
    _checks.boolean("multilabel", multilabel)
    if multilabel:
        models = {name: _rows_of_labels(name, given) for name, given in models.items()}
    chosen = _metrics(metrics, next(iter(models.values())))
    shape = _shape_of_examples(models)
    size = math.prod(shape)
    dependence = _resamples.dependence(clusters, 1 if block is None else block, shape)
    ids = _ids(dependence, shape)
    rows: list[ComparedModel] = []
    for metric in chosen:
        compared = _compared_metrics.compared(
            metric, models, dependence, ids, level, num_resamples, seed
        )
        rows += _rows(metric, tuple(models), compared, level)
    read = dependence.clusters
    return Comparison(
        tuple(rows),
        tuple(models),
        tuple(metric.name for metric in chosen),
        tuple(metric.larger_is_better for metric in chosen),
        level,
        size,
        read.number if read is not None and clusters is not None else None,
    )


def _models(labels: Any, predictions: Any, correct: Any) -> dict[str, dict[str, Any]]:
    """Returns the arguments of each model by name."""
    if not isinstance(predictions, Mapping):
        raise _checks.type_error(
            "predictions",
            "a mapping from the names of models to their predictions",
            predictions,
        )
    if len(predictions) < 2:
        raise _checks.error(
            "predictions", "at least two models", list(predictions), verb="hold"
        )
    models: dict[str, dict[str, Any]] = {}
    for name, given in predictions.items():
        shared = {"labels": labels, "correct": correct}
        model = {k: v for k, v in shared.items() if v is not None}
        if isinstance(given, Mapping):
            model |= given
        else:
            model["probabilities" if correct is None else "confidences"] = given
        _compared_metrics.check_no_weights("predictions", model)
        if "probs" in model:
            model["probabilities"] = model.pop("probs")
        if ("labels" in model) == ("correct" in model):
            raise _checks.combination_error(
                "Either `labels` or `correct` must be given.",
                [key for key in ("labels", "correct") if key in model],
            )
        if ("correct" in model) != ("confidences" in model):
            raise _checks.combination_error(
                "`correct` and `confidences` must be given together.",
                [key for key in ("correct", "confidences") if key in model],
            )
        models[str(name)] = {
            key: value if np.isscalar(value) else _inputs.as_array(key, value)
            for key, value in model.items()
        }
    return models


def _rows_of_labels(name: str, model: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a model with L labels of each example, [N, L]."""
    given = [key for key in model if key != "labels"]
    if given not in (["probabilities"], ["logits"]):
        raise _checks.combination_error(
            "With `multilabel` each model must have `probabilities` or `logits`, and "
            f"nothing else, also {name!r}.",
            given,
        )
    labels, values = np.asarray(model["labels"]), np.asarray(model[given[0]])
    size = _checks.number_of_labels(labels.shape, values.shape, given[0])
    return {
        "labels": labels.reshape(-1, size),
        given[0]: values.reshape(-1, size),
        "multilabel": True,
    }


def _shape_of_examples(models: Mapping[str, Mapping[str, Any]]) -> tuple[int, ...]:
    """Returns the shape of the examples, which all models share."""
    shapes = {}
    for name, model in models.items():
        shape = np.shape(model.get("labels", model.get("correct")))
        shapes[name] = shape[:-1] if "multilabel" in model else shape
    (first, shape), *others = shapes.items()
    for name, other in others:
        if other != shape:
            raise _checks.error(
                "predictions",
                f"models of the same examples, of shape {list(shape)} for {first!r}",
                f"shape {list(other)} for {name!r}",
                verb="hold",
            )
    if math.prod(shape) < 2:
        raise _checks.error(
            "labels", "at least two examples", math.prod(shape), verb="hold"
        )
    return shape


def _metrics(metrics: Any, model: Mapping[str, Any]) -> list[Metric]:
    if metrics is None:
        metrics = _default_metrics(model)
    if isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    if isinstance(metrics, Mapping):
        chosen = [
            _compared_metrics.metric_of(str(name), given)
            for name, given in metrics.items()
        ]
    else:
        chosen = [
            _compared_metrics.metric_of(None, given)
            for given in _checks.listed("metrics", "metrics", metrics)
        ]
    names = [metric.name for metric in chosen]
    if not names or len({*names}) < len(names):
        raise _checks.error("metrics", "metrics of different names", names, verb="hold")
    return chosen


def _default_metrics(model: Mapping[str, Any]) -> tuple[str, ...]:
    if "stddevs" in model:
        return ("crps_normal_score",)
    if "predictive_samples" in model:
        return ("crps_score",)
    if "quantile_predictions" in model:
        return ("crps_quantile_score",)
    scores = "negative_log_likelihood", "brier_score"
    if "multilabel" in model:  # A rare label may have no AUROC.
        return (*scores, "debiased_calibration_error")
    if "correct" in model:
        ranks = "aurc" if _compared_metrics.has_grades(model) else "auroc"
        return (*scores, ranks, "debiased_calibration_error")
    found = [np.shape(model[name]) for name in _OF_CLASSES if name in model]
    if not found:
        raise _checks.error(
            "metrics", "given for models of these arguments", list(model)
        )
    shape = np.shape(model["labels"])
    is_column = found[0] in (shape, (*shape, 1))
    ranks = "auroc" if is_column else "accuracy"
    return (*scores, ranks, "debiased_calibration_error")


def _ids(dependence: _resamples.Dependence, shape: tuple[int, ...]) -> Any:
    """Returns the ids of the clusters or blocks, for metrics that are no means over
    examples; None for independent examples.
    """
    if dependence.clusters is not None:
        return dependence.clusters.codes.reshape(shape)
    if dependence.block == 1:
        return None
    return (np.arange(math.prod(shape)) // dependence.block).reshape(shape)


def _rows(
    metric: Metric,
    names: tuple[str, ...],
    compared: _compared_metrics.Compared,
    level: float,
) -> list[ComparedModel]:
    """Returns the models in a metric."""
    best = int(np.nanargmin(compared.order))
    others = [i for i in range(len(names)) if i != best]
    found = {i: compared.difference(i, best) for i in others}
    adjusted = dict(
        zip(
            others,
            _paired_scores.holm(np.array([found[i].p_value for i in others])),
            strict=True,
        )
    )
    rows = []
    for i, (name, value) in enumerate(zip(names, compared.values, strict=True)):
        if i == best:
            lower, estimate, upper, p_value, p_of_all = 0.0, 0.0, 0.0, 1.0, 1.0
        else:
            lower, estimate, upper, p_value = found[i]
            p_of_all = float(adjusted[i])
        rows.append(
            ComparedModel(
                name,
                metric.name,
                float(value.estimate),
                float(value.lower),
                float(value.upper),
                float(estimate),
                float(lower),
                float(upper),
                float(p_value),
                p_of_all,
                i == best,
                p_of_all > 1 - level,
            )
        )
    return rows
