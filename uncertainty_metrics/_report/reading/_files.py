"""Reads the predictions for the calibration report from files."""

from __future__ import annotations

import contextlib
import io
import pathlib
import shlex
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Kind,
    Model,
    Predictions,
    QuantileForecasts,
    Questions,
    Regression,
    ReportError,
    silent,
)
from uncertainty_metrics._report.data._quantile_rows import checked_levels
from uncertainty_metrics._report.data._row_subsets import num_rows
from uncertainty_metrics._report.data._sampled_forecasts import of_samples
from uncertainty_metrics._report.data._time_blocks import (
    in_blocks_of_time,
    numbers_of_times,
)
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._answer_columns import AnswerNames, names_of
from uncertainty_metrics._report.reading._answers_from_columns import (
    answers_of,
    are_outcomes,
    check_percent,
)
from uncertainty_metrics._report.reading._arrow_tables import ArrowTable, ParquetTable
from uncertainty_metrics._report.reading._checked_numbers import without_rounding
from uncertainty_metrics._report.reading._classifier_from_columns import classified
from uncertainty_metrics._report.reading._column_names import (
    LABELS,
    Choice,
    among,
    existing,
    listed,
    weights_in,
)
from uncertainty_metrics._report.reading._column_plans import (
    both,
    check_searched,
    model_of_table,
    plan_of,
    reals,
    refuse_clusters,
    refuse_groups,
    with_note_on_ids,
)
from uncertainty_metrics._report.reading._csv_tables import CsvTable, Table
from uncertainty_metrics._report.reading._ignored_rows import (
    kept_rows,
    needs_classifier,
    refuse_ignored,
    with_note_on_ignored,
)
from uncertainty_metrics._report.reading._json_and_excel_tables import (
    ExcelTable,
    InspectTable,
    RecordTable,
)
from uncertainty_metrics._report.reading._label_columns import (
    check_choice,
    multilabel_of,
)
from uncertainty_metrics._report.reading._logs_together import with_notes
from uncertainty_metrics._report.reading._long_tables import in_rows_of_forecasts
from uncertainty_metrics._report.reading._plain_or_gzip_text import (
    GZIP,
    encoding_of,
)
from uncertainty_metrics._report.reading._quantile_columns import (
    SERIES,
    TARGETS,
    TIMES,
)
from uncertainty_metrics._report.reading._survival_from_columns import (
    names_of as survival_names_of,
)
from uncertainty_metrics._report.reading._survival_from_columns import survival_of
from uncertainty_metrics._report.reading._typed_commands import typed_each
from uncertainty_metrics._report.reading._votes import SHARES, votes_of_npz
from uncertainty_metrics.numpy import _archive, class_names

FILE_FORMAT = """\
FILE and OTHER_FILE are each one of

  .csv, .tsv  a header line, then one example in each line; the columns are separated
        by commas, semicolons or tabs; also .csv.gz and .tsv.gz
  .jsonl, .ndjson
        JSON, one example in each line; also with .gz at the end
  .json       a list of such examples; also .json.gz
  .parquet, .feather, .arrow
        the same columns; need pyarrow
  .json       also a table that pandas (`to_json`), MLflow or W&B wrote, or a log of
              Inspect
  .eval       a log of Inspect
  .xlsx       the same columns, on the first sheet; needs openpyxl
  .npz        arrays. Pickled objects are never loaded
  -           any of these formats on standard input

For a classifier the columns are, in upper or lower case,

  label             (or labels, y, y_true, target, class) numbers from 0, text or
                    booleans
  p0, p1, ...       (or p_0, prob_0, probability_0, class_0, 0) the probability of each
                    class; or a column with the name of each class, with or without
                    `p_`, `prob_` or `probability_` before the name; in JSON also a
                    list `probabilities`
  logit_0, ...      or the logit of each class
  p, prob, probability, probabilities, logit
                    or, for two classes, the probability or logit of class 1 alone
  votes_0, ...      (or votes_NAME) instead of labels, how many people voted for each
                    class; in JSON also an object or a list `votes`; where the file has
                    labels, too, --label votes chooses the votes
  sample_weight     optional

and in .npz the arrays are `labels`, either `probabilities` (or `probs`) or `logits`,
and perhaps `classes`, the names of the classes. Labels have shape [...], predictions
[..., K]; or [...] or [..., 1] for class 1 of two. Instead of `labels`, the array
`label_distributions` [N, K] holds the shares of votes for the classes. Predictions of
the M members of an ensemble, in .npz only, have shape [N, M, K], or [N, M, 1] for class
1 of two; the report is about the mean of their probabilities.

With --multilabel, for several labels of each example, the columns are, for each label,

  label_NAME        (or NAME) whether the example has it: 1 or 0, true or false
  prob_NAME         (or p_NAME, logit_NAME) the probability that it has it
  sample_weight     optional

and in .npz `labels` and `probabilities` (or `logits`) are of shape [N, L], with
`classes` as the names of the L labels.

For answers (of a language model, an expert, an alarm) the columns or arrays are

  correct           (or is_correct, accuracy, acc, exact_match) whether the answer is
                    right: true or false, or 1 and 0
  grade             (or grades, votes, score, if it is in [0, 1]) instead of correct,
                    how good the answer is: a number in [0, 1], or votes such as 3/5
  confidence        (or conf, certainty, probability) how sure the answer is, in [0, 1],
                    or with --percent in [0, 100]
  filtered_resps    instead of confidence, in the samples of lm-evaluation-harness: the
                    log-likelihoods of the options of multiple-choice questions, whose
                    softmax is the confidence; `acc` says whether the answer is right
  answers           optional, in JSON or Arrow: a list of several sampled answers to the
                    question, equally many for each question; without `confidence`
                    their agreement is the confidence
  id                (or question_id, doc_id, question, prompt) optional: which question
                    was answered, for --compare
  sample_weight     optional

For a regression the arrays or columns, all of one shape, are

  mean              the predicted mean
  variance, or std or stddev
                    the predicted variance or standard deviation, > 0
  target            (or label, y, ...) the observed value
  sample_weight     optional

For forecasts by quantiles or samples the columns are

  q0.1, q0.5, ...   (or quantile_0.1, p10, 0.1, NAME_q0.1, NAME-lo-90 with NAME-hi-90)
                    the predicted quantiles, whose names say the level; or yhat_lower
                    and yhat_upper with --level
  sample_0, ...     instead of quantiles, samples of each forecast
  target            (or y, actual, observed) the observed value
  series            (or unique_id, item_id) optional: rows of one may depend on each
                    other
  horizon           (or step, lead_time) optional: how far ahead the forecast is
  time              (or ds, timestamp, date, cutoff) optional: of a single series, says
                    which rows follow each other
  sample_weight     optional

or, with a row for each quantile or sample, `quantile_level` (or quantile, tau, alpha)
or `sample_id`, and `value` (or prediction, forecast, predicted); all other columns tell
the forecasts apart. In .npz they are `quantiles` [N, Q] and `levels` [Q], or `samples`
[N, M], which in Parquet and JSON is a column of lists.

For a survival model, with --horizon, the columns or arrays are

  time              (or duration) of the event or of the censoring, whichever came first
  event             (or event_observed) whether the event came then: 1, or 0 of a
                    censoring
  survival, or risk the predicted probability that no event comes by the horizon, or
                    that it does
  sample_weight     optional

Other arrays and columns are left out, and the report says so. If names are ambiguous,
an error lists the names that were found, and you choose with --label, --probabilities,
--classes, --positive-class, --correct and --confidence; `report` also has --mean,
--stddev, --variance, --times, --event, --survival and --risk. --group names an
attribute of the examples, such as their language: the report shows the calibration of
each group.
In .json and .jsonl the field `subject` of an object `doc` is the column `doc.subject`.
"""

_ARRAYS: dict[str, Kind] = {
    **dict.fromkeys(
        ("probabilities", "probs", "proba", "y_prob", "y_proba"), "probabilities"
    ),
    "logits": "logits",
}
_CLASSES = ("classes", "class_names")
ENDINGS = {
    ".npz": "npz",
    ".parquet": "parquet",
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".jsonl.gz", ".ndjson.gz", ".json.gz"), "json"),
    **dict.fromkeys((".feather", ".arrow"), "arrow"),
    ".xlsx": "excel",
    ".eval": "inspect",
}
TABLES: dict[str, Callable[..., Table]] = {
    "parquet": ParquetTable,
    "csv": CsvTable,
    "json": RecordTable,
    "arrow": ArrowTable,
    "excel": ExcelTable,
    "inspect": InspectTable,
}
_STDIN = "standard input"
# Number of first bytes that show the format of standard input, and the name of a file
# that every .xlsx archive holds.
_START, _EXCEL, _INSPECT = 4096, b"[Content_Types].xml", b"_journal/start.json"


def read_predictions(
    path: str | pathlib.Path,
    choice: Choice | None = None,
    tell: Callable[[str], None] = silent,
) -> Model:
    """Reads predictions and true outcomes from a file.

    Args:
      path: the file, whose name ends with its format; "-" for standard input.
      choice: the options of the user, for names that are ambiguous.
      tell: called with the progress of reading.

    Returns:
      The data of the file. Their values are checked later, where they are used.

    Raises:
      ReportError: the file cannot be read, or an array or a column is missing.
    """
    choice = choice or Choice()
    source = _STDIN if str(path) == "-" else source_of(pathlib.Path(path))
    with errors_of(source):
        if str(path) == "-":
            content = io.BytesIO(sys.stdin.buffer.read())
            model = _read(source, content, _format_of(content), choice, tell)
        else:
            kind = kind_of(pathlib.Path(path))
            with open(path, "rb") as file:
                model = _read(source, file, kind, choice, tell)
        if choice.percent and isinstance(model, Confidences) and model.confidences.size:
            check_percent(model.confidences.max())
        if choice.ignore_index is not None and not isinstance(model, Predictions):
            raise needs_classifier()
        if choice.filter is not None and not num_rows(model):
            raise ValueError(f"no row has the `filter` {choice.filter!r}")
        return model


@contextlib.contextmanager
def errors_of(source: str) -> Iterator[None]:
    """Turns errors into ReportError with the name of the file that cannot be read."""
    try:
        yield
    except ReportError:
        raise
    except OSError as failed:
        raise ReportError(f"{source}: {failed.strerror or failed}") from None
    except (ImportError, TypeError, ValueError) as wrong:
        typed = f"`python -m uncertainty_metrics report {shlex.quote(source)}"
        message = str(wrong).replace("`report FILE", typed)
        raise ReportError(f"{source}: {message}") from None


def is_summary(path: pathlib.Path) -> bool:
    """Says whether an archive holds a saved `Summary`, perhaps a damaged one."""
    with open(path, "rb") as file:
        try:
            return "header" in _archive.Archive(file).names
        except ValueError:  # The reader of predictions raises this error again.
            return False


def source_of(path: pathlib.Path) -> str:
    """Returns the name of a file as text that any encoding of Unicode can hold."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def kind_of(path: pathlib.Path) -> str:
    for ending, kind in ENDINGS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise ValueError(
        f"the name must end in {', '.join(ENDINGS)}, or be - for standard input. "
        f"Received: {path.suffix!r}"
    )


def _format_of(content: io.BytesIO) -> str:
    """Returns the format of a file by its first bytes."""
    start = content.read(_START)
    known = {b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARRO": "arrow"}
    kind = known.get(start[:4], "csv")
    if kind == "npz":
        if _INSPECT in content.getvalue():
            return "inspect"
        return "excel" if _EXCEL in content.getvalue() else "npz"
    if start.startswith(GZIP):
        with contextlib.suppress(zlib.error):  # The reader raises this error again.
            start = zlib.decompressobj(wbits=31).decompress(start, _START)
    text = start.decode(encoding_of(start), "replace").lstrip()
    return "json" if text.startswith(("{", "[")) else kind


def _read(
    source: str,
    file: IO[bytes],
    kind: str,
    choice: Choice,
    tell: Callable[[str], None],
) -> Model:
    if kind == "npz":
        return read_npz(source, file, choice)
    table = TABLES[kind](file, tell)
    if choice.cluster is None:
        choice = choice._replace(cluster=table.cluster)
    whole = in_rows_of_forecasts(table, choice)
    table = kept_rows(whole, choice)
    plan = plan_of(table, choice)
    model = model_of_table(source, table, plan)
    if choice.ignore_index is not None:
        before = len(whole.read(plan.label, [])[0])
        model = with_note_on_ignored(model, before, choice)
    model = with_notes(model, table)
    if isinstance(model, QuantileForecasts):
        return in_blocks_of_time(model)
    return with_note_on_ids(model, table, plan)


# Archives.


def read_npz(source: str, file: IO[bytes], choice: Choice) -> Model:
    archive = _archive.Archive(file)
    names = list(dict.fromkeys(archive.names))  # An archive may hold a name twice.
    groups = [existing(name, names, "array") for name in choice.groups]
    check_searched(choice, names, "array")
    if choice.cluster is not None:
        existing(choice.cluster, names, "array")
    if choice.filter is not None:
        raise ValueError("--filter needs a table with the column `filter`")

    def may_be_outcomes(name: str) -> bool:
        return are_outcomes(class_names.text_array(archive.read([name])[name]))

    refuse_ignored(choice)
    if choice.multilabel:
        return _multilabel_of_npz(source, archive, names, choice)
    if survival := survival_names_of(names, choice, "array"):
        refuse_clusters(choice.cluster)
        wanted = [*survival[:3], *weights_in(names)]
        found_arrays = archive.read(wanted)
        weight = found_arrays[wanted[3]] if len(wanted) > 3 else None
        rest = tuple(sorted(set(names) - set(wanted)))
        rounded = {survival.forecast: without_rounding(found_arrays[survival.forecast])}
        found_arrays = {**found_arrays, **rounded}
        return survival_of(source, survival, found_arrays, choice.horizon, weight, rest)
    if SHARES in names and choice.label is None and not choice.of_answers:
        return votes_of_npz(source, archive, names, choice)
    if found := names_of(names, choice, "array", may_be_outcomes):
        return _answers_of_npz(source, archive, names, found, choice)
    is_chosen = choice.probabilities is not None or choice.of_regression
    if not is_chosen and _are_forecasts(names):
        return _quantiles_of_npz(source, archive, names, choice)
    label = _column_names.label_of(names, choice, "array")
    regression = None
    if not choice.probabilities:
        regression = _column_names.regression_of(names, choice, "array")
    predictions = []
    if not choice.of_regression:
        predictions = prediction_arrays(names, choice, regression is not None)
    if regression and predictions:
        raise both(regression, predictions, choice)
    weights = weights_in(names)
    classes = [] if regression else among(names, _CLASSES)[:1]
    clusters = [] if choice.cluster is None else [choice.cluster]
    wanted = [label, *(regression or predictions), *weights, *classes, *groups]
    wanted = [*dict.fromkeys([*wanted, *clusters, *choice.searched])]
    arrays: Mapping[str, np.ndarray] = archive.read(wanted)
    given = tuple(class_names.words(arrays[classes[0]].reshape(-1))) if classes else ()
    left_out = tuple(sorted(set(names) - set(wanted)))
    weight = arrays[weights[0]] if weights else None
    if regression:
        refuse_groups([*groups, *choice.searched])
        mean, spread = regression
        kind = _column_names.spread_of(spread, choice)
        target = reals(label, arrays[label])
        return Regression(
            source,
            arrays[mean],
            kind,
            arrays[spread],
            target,
            weight,
            left_out,
            clusters=_clusters_in(arrays, choice),
        )
    name = predictions[0]
    is_logit = "logit" in name.lower()
    return classified(
        source,
        arrays[label],
        "logits" if is_logit else "probabilities",
        arrays[name] if is_logit else without_rounding(arrays[name]),
        given,
        choice,
        choice.ignore_index,
        sample_weight=weight,
        left_out=left_out,
        groups={name: arrays[name] for name in groups},
        features={name: arrays[name] for name in choice.searched},
        clusters=_clusters_in(arrays, choice),
    )


def _multilabel_of_npz(
    source: str, archive: _archive.Archive, names: list[str], choice: Choice
) -> Model:
    """Returns several labels of each example, from labels and predictions [N, L]."""
    check_choice(choice)
    label = _column_names.label_of(names, choice, "array")
    (name,) = prediction_arrays(names, choice, False)
    weights, classes = weights_in(names), among(names, _CLASSES)[:1]
    clusters = [] if choice.cluster is None else [choice.cluster]
    wanted = dict.fromkeys([label, name, *weights, *classes, *clusters])
    arrays = archive.read(wanted)
    given = class_names.words(arrays[classes[0]].reshape(-1)) if classes else ()
    kind = _ARRAYS[name.lower()]
    return multilabel_of(
        source,
        arrays[label],
        kind,
        arrays[name] if kind == "logits" else without_rounding(arrays[name]),
        given,
        sample_weight=arrays[weights[0]] if weights else None,
        left_out=tuple(sorted(set(names) - set(wanted))),
        clusters=_clusters_in(arrays, choice),
    )


def _are_forecasts(names: list[str]) -> bool:
    """Says whether an archive has quantiles or samples, and no other predictions."""
    if {"quantiles", "levels"} <= {*names}:
        return True
    others = among(names, _ARRAYS) or _column_names.regression_of(names)
    return bool({"quantiles", "samples"} & {*names}) and not others


def _quantiles_of_npz(
    source: str, archive: _archive.Archive, names: list[str], choice: Choice
) -> Model:
    """Returns forecasts from the arrays quantiles [N, Q] and levels [Q], or samples
    [N, M], and target.
    """
    refuse_groups([*choice.groups, *choice.searched])
    forecasts = [name for name in ("quantiles", "levels", "samples") if name in names]
    if forecasts not in (["quantiles", "levels"], ["samples"]):
        raise ValueError(
            "forecasts are the arrays `quantiles` [N, Q] and `levels` [Q], or "
            f"`samples` [N, M]. Received: {listed(forecasts)}"
        )
    found = among(names, TARGETS) if choice.label is None else [choice.label]
    if len(found) != 1:
        raise ValueError(
            f"the arrays {listed(forecasts)} need one array of what was observed: call "
            f"it target, or name it with --label. Received: {listed(names)}"
        )
    label, weights = existing(found[0], names, "array"), weights_in(names)
    horizons = among(names, ("horizon", "horizons"))[:1]
    times = among(names, TIMES)[:1]
    clusters = [choice.cluster] if choice.cluster else among(names, SERIES)[:1]
    wanted = dict.fromkeys([label, *forecasts, *weights, *horizons, *times, *clusters])
    arrays = archive.read(wanted)
    target = reals(label, arrays[label])
    others: dict[str, Any] = {
        "sample_weight": arrays[weights[0]] if weights else None,
        "horizons": arrays[horizons[0]] if horizons else None,
        "times": numbers_of_times(arrays[times[0]]) if times else None,
        "left_out": tuple(sorted(set(names) - set(wanted))),
        "clusters": Clusters(clusters[0], arrays[clusters[0]]) if clusters else None,
        "series": arrays[clusters[0]] if clusters else None,
    }
    if "samples" in forecasts:
        return in_blocks_of_time(
            of_samples(source, arrays["samples"], target, **others)
        )
    levels = checked_levels(arrays["levels"])
    return in_blocks_of_time(
        QuantileForecasts(source, arrays["quantiles"], levels, target, **others)
    )


def _clusters_in(arrays: Mapping[str, np.ndarray], choice: Choice) -> Clusters | None:
    name = choice.cluster
    return None if name is None else Clusters(name, arrays[name])


def _answers_of_npz(
    source: str,
    archive: _archive.Archive,
    names: list[str],
    found: AnswerNames,
    choice: Choice,
) -> Model:
    weights = weights_in(names)
    chosen = (*choice.groups, *choice.searched, choice.cluster)
    wanted = [name for name in (*found, *weights, *chosen) if name]
    arrays = archive.read(dict.fromkeys(wanted))

    def named(name: str | None) -> tuple[str, np.ndarray] | None:
        return (name, arrays[name]) if name else None

    if found.confidence:
        largest = 100 if choice.percent else 1
        confidences = without_rounding(arrays[found.confidence], largest)
        arrays = {**arrays, found.confidence: confidences}
    questions = named(found.questions)
    return answers_of(
        source,
        (found.correct, class_names.text_array(arrays[found.correct])),
        named(found.confidence),
        named(found.samples),
        lambda index: f"example {index}",
        percent=choice.percent,
        sample_weight=arrays[weights[0]] if weights else None,
        left_out=tuple(sorted(set(names) - set(wanted))),
        groups={name: arrays[name] for name in choice.groups},
        features={name: arrays[name] for name in choice.searched},
        questions=questions and Questions(questions[0], questions[1].tolist()),
        clusters=_clusters_in(arrays, choice),
    )


def prediction_arrays(
    names: list[str], choice: Choice, is_regression: bool
) -> list[str]:
    """Returns a list with the name of the array of predictions.

    The list is empty if the file holds a regression and no such array.
    """
    if choice.probabilities is not None:
        if choice.probabilities not in names:
            raise ValueError(
                f"there is no array `{choice.probabilities}`. Received: {listed(names)}"
            )
        return [choice.probabilities]
    found = among(names, _ARRAYS)
    if len(found) != 1 and not (is_regression and not found):
        others = [name for name in names if name != choice.label]
        others = [name for name in others if name not in among(names, LABELS)]
        given = found or others[::-1]
        commands = typed_each(choice, "probabilities", given)
        raise ValueError(
            "the file must hold exactly one of the arrays `probabilities`, `probs` "
            "and `logits`, or `mean` with one of `variance`, `std` and `stddev`; or "
            "name the predictions with --probabilities"
            f"{f', as in {commands}' if given else ''}. "
            f"Received: {listed(found or names)}"
        )
    return found
