"""The calibration report: shown in a notebook, as text, as numbers, as files."""

from __future__ import annotations

import html
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics._report.data._graded_answers import alike
from uncertainty_metrics._report.data._models_in_a_file import each_model
from uncertainty_metrics._report.data._predictions import (
    Model,
    MultiLabel,
    QuantileForecasts,
    Stream,
    Unlabelled,
    silent,
)
from uncertainty_metrics._report.data._series_in_time import with_season
from uncertainty_metrics._report.page import _verdict, _writing
from uncertainty_metrics._report.page._document import chapters
from uncertainty_metrics._report.page._picture_files import draw
from uncertainty_metrics._report.page._text import render
from uncertainty_metrics._report.page._visible_names import shown
from uncertainty_metrics._report.reading._arrays import model_of, of_other
from uncertainty_metrics._report.reading._large_files import of_batches
from uncertainty_metrics._report.reading._unlabelled_files import with_unlabelled
from uncertainty_metrics._report.sections._blocks import Table
from uncertainty_metrics._report.sections._build import build
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.summaries.summary import Summary

__all__ = ["report"]

DEFAULT_DIRECTORY = "uncertainty_report"


class Report:
    """A calibration report, as `report` returns it.

    A notebook shows the report as a page; `print` shows the verdict, and `summary`
    returns the whole report as text.
    """

    def __init__(
        self,
        model: Model,
        num_bins: int = DEFAULT_NUM_BINS,
        others: Sequence[Model] = (),
        tell: Callable[[str], None] = silent,
    ):
        model, *others = map(shown, alike(each_model([model, *others])))
        is_multilabel = isinstance(model, MultiLabel)
        # One section compares these, however many models there are.
        in_one = is_multilabel or isinstance(model, QuantileForecasts)
        several = tuple(others) if len(others) > 1 or in_one else ()
        # Each picture shows this model, too; those of labels have no room for it.
        other = others[0] if len(others) == 1 and not is_multilabel else None
        self._models, self._tell = (model, num_bins, other, several), tell
        self._report = build(model, num_bins, other, tell, several)
        _writing.as_json(self._report)  # Raises an error if a metric is not defined.

    @lazy_property
    def _figures(self) -> dict[str, Any]:
        self._tell("draws the pictures")
        return draw(*self._models)

    def summary(self) -> str:
        """Returns the report as text, the verdict first."""
        return render(self._report)

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole report as a dict of dicts, plain numbers and words.

        The dict has the content of `report.json`, except that infinite numbers are
        floats. A number that is not defined, such as the mean of nothing, is None.
        """
        return self._report.to_dict()

    def scalars(self) -> dict[str, float]:
        """Returns the numbers of the report by one name each, to log as metrics.

        The names are the paths in `to_dict()`, such as
        "calibration/metrics/ece/value", with "_" for punctuation, which MLflow refuses
        in names. Options, lists, and whatever is no number are left out.
        """
        found: dict[str, float] = {}
        content = self.to_dict()
        del content["options"]
        for name, number in _numbers(content):
            while name in found:  # Of classes or models "C#" and "C+".
                name += "_"
            found[name] = number
        return found

    def tables(self) -> dict[str, Table]:
        """Returns the tables of the report by their captions.

        The numbers are those that the report shows, rounded; `to_dict` has all digits.
        Each table has `to_dict`, `to_frame`, `to_markdown` and `to_latex`.
        """
        return {
            block.caption: block
            for chapter in chapters(self._report)
            for block in chapter.blocks
            if isinstance(block, Table)
        }

    def save(
        self, directory: str | pathlib.Path = DEFAULT_DIRECTORY
    ) -> list[pathlib.Path]:
        """Writes `report.html`, the pictures and `report.json`: all of them or none.

        The page loads no other file. Existing files with these names are replaced.

        Args:
          directory: the directory of the files; made if it does not exist.

        Returns:
          The paths of the files.

        Raises:
          ValueError: the files cannot be written.
          ImportError: matplotlib is not installed.
        """
        return _writing.write(self._report, self._figures, directory)

    def __repr__(self) -> str:
        return _verdict.as_text(self._report)

    def _repr_html_(self) -> str:
        # A frame keeps the styles of the page and of the notebook apart.
        page = _writing.page(self._report, self._figures)
        return (
            f'<iframe srcdoc="{html.escape(page)}" title="Calibration report" '
            'sandbox="" style="width: 100%; height: 44rem; border: 0; resize: vertical"'
            "></iframe>"
        )


def _numbers(content: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """Yields the path and value of each number in dicts of dicts."""
    for key, value in content.items():
        name = re.sub(r"[^\w -]", "_", key)
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{path}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{path}{name}", float(value)


def report(
    labels: ArrayLike | Summary | None = None,
    probabilities: ArrayLike | None = None,
    *,
    batches: Iterable[Mapping[str, Any]] | None = None,
    logits: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    answers: Sequence[Any] | None = None,
    means: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
    variances: ArrayLike | None = None,
    quantiles: ArrayLike | None = None,
    levels: Sequence[float] | None = None,
    samples: ArrayLike | None = None,
    horizons: ArrayLike | None = None,
    times: ArrayLike | None = None,
    season: int | None = None,
    event: ArrayLike | None = None,
    survival: ArrayLike | None = None,
    at: float | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    groups: Any = None,
    clusters: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
    ignore_index: int | None = None,
    audit: Any = None,
    unlabelled: ArrayLike | None = None,
    compare: Mapping[str, Any] | None = None,
    num_bins: int = DEFAULT_NUM_BINS,
    name: str = "predictions",
) -> Report:
    """A calibration report: is the model right as often as it says?

    The report has a verdict of a few lines, pictures and tables. For a classifier it
    shows calibration errors with their intervals and with the errors that chance alone
    gives, scoring rules, how much recalibration would help, and whether confidence
    tells right decisions from wrong ones. For `probabilities` [N, M, K] of the M
    members of an ensemble it shows the same for their mean. For `correct` with
    `confidences` of a language model, an expert or an alarm it shows the same without
    classes, and above which confidence the model may answer alone. For a regression,
    `means` with `stddevs` or `variances`, `quantiles` with their `levels`, or
    `samples`, it says whether the error bars are right.
    With `groups` it says for whom the model is wrong more often than it says, and with
    `audit` it searches for such groups. With `multilabel` it has a row per label. The
    calibration of two classes is judged by P(class 1), not by the decisions. P(class 1)
    in one column, and `survival` at a time `at`, are reported as risks of an event,
    with the numbers that medicine asks for. `python -m uncertainty_metrics report FILE`
    writes the same report for a file.

    Args:
      labels: the true values, shape [...]: for a classifier the numbers of the classes
        from 0, or their names; for a regression real numbers. Or a `Summary`, instead
        of all other arguments except `compare`, `num_bins` and `name`.
      probabilities: in [0, 1], shape [..., K], [N, M, K], [..., 1] or [...]. An array,
        or a data frame, whose columns name the classes.
      batches: instead of all data at once, an iterable of dicts of these arguments,
        one for each batch. If there are more than 200,000 rows, the numbers are of all
        rows, but sections that need rows use a uniform sample of 200,000 and say so.
      logits: instead of `probabilities`.
      correct: instead of labels and predictions, whether each answer is right:
        booleans, or 0 and 1, shape [...]; or its grade, a number in [0, 1], such as the
        share of votes for it. What counts right and wrong is left out of grades.
      confidences: with `correct`, the probability in [0, 1] that each answer is right,
        of the same shape; 0.3 is read as 0.3, not as 0.7 of another class.
      answers: with `correct`, several sampled answers to each question, shape [N, S].
        Their agreement is the confidence if there are no `confidences`; `correct` then
        says whether the most frequent answer is right.
      means: predicted means of a regression, shape of the labels.
      stddevs: with `means`, predicted standard deviations, > 0.
      variances: instead of `stddevs`.
      quantiles: predicted quantiles of the labels, which are then what was observed,
        real numbers [N]; real, shape [N, Q]. The report has the coverage of the central
        intervals, the CRPS and its gain over a constant forecast.
      levels: with `quantiles`, their Q levels in (0, 1), ascending.
      samples: instead of `quantiles`, M samples of each forecast, real, shape [N, M].
      horizons: with `quantiles` or `samples`, how far ahead each forecast is, shape
        [N]: the report also has each horizon by itself.
      times: with `quantiles` or `samples`, for which time each forecast is, numbers or
        dates [N]: without `clusters`, blocks of consecutive times are then clusters. Of
        a survival model, instead of labels: time of the event or of the censoring,
        whichever came first; finite and >= 0, shape [N].
      season: with `quantiles` or `samples` and `times`, the number of times of a
        season, an integer >= 1: the report also has the skill against the seasonal
        naive forecast of each series, which `clusters` names, and scaled scores.
      event: with `times`, 1 for an event at that time, 0 for a censoring, shape [N].
      survival: with `times`, the predicted probability of no event by the time `at`, in
        [0, 1], shape [N].
      at: with `survival`, the time by which it is predicted.
      sample_weight: finite and >= 0, broadcastable to the labels.
      classes: names of the K classes in the order of the predictions. By default the
        columns of a data frame; for arrays with labels that are text, the labels in
        sorted order, as in scikit-learn.
      groups: for a classifier or answers, the attributes of the examples, such as their
        language: a mapping (or data frame) from the name of each attribute to its
        values, strings, integers or booleans, of the shape of the labels; or the values
        of a single attribute.
      clusters: except for a survival model, the id of the cluster of each example, such
        as its question or patient: integers or strings of the shape of the labels.
        Examples of one cluster may depend on each other in any way: intervals and tests
        then take whole clusters, and cross-validation keeps a cluster in one fold.
        Without them, all are for independent examples.
      label_distributions: instead of labels, the shares of the votes for the classes,
        in [0, 1] with sum 1, shape [..., K]. The grade of a decision is then the share
        of the votes for its class, and the report is that of grades, with a section on
        the votes for all classes.
      multilabel: whether each example has several labels, each 0 or 1: `labels` and
        `probabilities` (or `logits`) are then [N, L], and `classes` names the labels.
      ignore_index: for a classifier, the label of the examples that do not count, such
        as -100: they are left out, and a note says how many.
      audit: features by which to search for groups whose probabilities are wrong
        (`find_miscalibrated_groups`), a mapping (or data frame) from names to values,
        numbers or strings; or True, to search by `groups`.
      unlabelled: predictions for new examples without labels, shaped as `probabilities`
        or `logits`: the report has the shares of the classes there (`LabelShift`).
      compare: a dict from the name of another model to its predictions for the same
        labels: an array like `probabilities` or `logits`, or `(means, stddevs)` or
        `(means, variances)`, or an array like `survival`, `quantiles` or `samples`, or
        for the same questions `(correct, confidences)`; or a dict of these arguments;
        or a `Summary` of other examples, for which the report says whether the
        calibration has changed. For several other models of the same examples, or other
        forecasts of the same rows, or with `multilabel`, the report has the table of
        `compare`.
      num_bins: number of bins.
      name: name of the model in the report.

    Returns:
      A `Report`, which a notebook shows. `print(report)` prints the verdict;
      `.summary()` returns the whole report as text and `.to_dict()` its numbers;
      `.save(directory)` writes a page that loads no other file.

    Raises:
      ValueError, TypeError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> labels = np.arange(200) % 10 < 6
      >>> found = um.report(labels, np.full(200, 0.9), name="sure of itself")
      >>> round(found.to_dict()["calibration"]["metrics"]["ece"]["value"], 6)
      0.3
      >>> found.to_dict()["tiles"][0]["value"]
      '0.3300, of which 0.0885 could be gained by Venn-Abers calibration'
      >>> found = um.report(correct=labels, confidences=np.full(200, 0.9))
      >>> found.to_dict()["calibration"]["accuracy"]
      0.6
    """
    num_bins = _checks.bins("num_bins", num_bins)
    given = {
        "probabilities": probabilities,
        "logits": logits,
        "correct": correct,
        "confidences": confidences,
        "answers": answers,
        "means": means,
        "stddevs": stddevs,
        "variances": variances,
        "quantiles": quantiles,
        "levels": levels,
        "samples": samples,
        "horizons": horizons,
        "times": times,
        "event": event,
        "survival": survival,
        "at": at,
        "label_distributions": label_distributions,
    }
    given = {key: value for key, value in given.items() if value is not None}
    common = (
        *(sample_weight, classes, groups, clusters),
        *(multilabel or None, audit, ignore_index),
    )
    first: Model
    if isinstance(labels, Summary):
        _check_alone("labels", given, common)
        first = Stream(str(name), labels)
    elif batches is not None:
        if labels is not None:
            given = {"labels": labels, **given}
        _check_alone("batches", given, common)
        first = of_batches(str(name), (_of_batch(batch) for batch in batches))
    else:
        first = model_of(
            *(str(name), labels, given, sample_weight, classes, groups, clusters),
            *(multilabel, audit, ignore_index),
        )
    if season is not None:
        first = with_season(first, _checks.positive_integer("season", season), "season")
    if unlabelled is not None:
        new = Unlabelled("", _inputs.as_array("unlabelled", unlabelled))
        first = with_unlabelled(first, new)
    others: list[Model] = []
    if compare is not None:
        if not isinstance(compare, Mapping) or not compare:
            received = type(compare).__name__
            if isinstance(compare, Mapping):
                received = "no models"
            raise _checks.error(
                "compare", "a dict from names of models to their predictions", received
            )
        for other_name, predictions in compare.items():
            if isinstance(predictions, Summary):
                others.append(Stream(str(other_name), predictions))
            elif isinstance(first, Stream):
                raise _checks.error(
                    "compare",
                    "a `Summary`, as the first is",
                    type(predictions).__name__,
                )
            else:
                predictions = of_other(predictions, given)
                others.append(
                    model_of(
                        *(str(other_name), labels, predictions, sample_weight),
                        *(classes, groups, clusters, multilabel),
                        ignore_index=ignore_index,
                    )
                )
    return Report(first, num_bins, others)


def _of_batch(batch: Mapping[str, Any]) -> Model:
    """Returns the predictions in a batch, a dict of arguments of `report`."""
    given = {key: value for key, value in batch.items() if value is not None}
    keys = ("labels", "sample_weight", "classes", "groups", "audit")
    labels, weight, classes, groups, audit = (given.pop(key, None) for key in keys)
    return model_of("batch", labels, given, weight, classes, groups, audit=audit)


def _check_alone(name: str, given: Mapping[str, Any], common: Sequence[Any]) -> None:
    """Raises ValueError if other data are given together with an argument."""
    if given or any(each is not None for each in common):
        others = "weights, classes, groups, clusters, multilabel or ignore_index"
        received = f"{name} and {', '.join(given) or others}"
        raise _checks.error(name, "given without other data", received)
