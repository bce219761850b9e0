"""Answers with confidences, read from the logs of tools."""

from __future__ import annotations

import os
import pathlib
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._report.data._predictions import Confidences, silent
from uncertainty_metrics._report.reading._answer_columns import (
    GRADES,
    REPLY,
    saying_right,
)
from uncertainty_metrics._report.reading._answers_from_columns import check_percent
from uncertainty_metrics._report.reading._column_names import Choice, among
from uncertainty_metrics._report.reading._column_plans import model_of_table, plan_of
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._files import (
    TABLES,
    errors_of,
    kind_of,
    source_of,
)

__all__ = ["read_answers"]


class LoggedAnswers(NamedTuple):
    """The answers in a log, as `read_answers` returns them.

    Attributes:
      correct: whether each answer is right, booleans, or its grade, floats in [0, 1],
        shape [N]; None if the log does not say it.
      confidences: how sure each answer is, in [0, 1], shape [N].
      questions: the id of each question, shape [N]; None if the log has none. Equal
        ones are several answers to one question: pass them as `clusters`.
      replies: the text that a chat model replied, shape [N]; None if the log has none.
    """

    correct: np.ndarray[Any, Any] | None
    confidences: np.ndarray[Any, Any]
    questions: np.ndarray[Any, Any] | None
    replies: np.ndarray[Any, Any] | None


def read_answers(
    path: str | os.PathLike[str],
    *,
    correct: str | None = None,
    confidence: str | None = None,
    percent: bool = False,
) -> LoggedAnswers:
    """Answers with confidences, from a log as a tool writes it.

    It reads the files that the command `report` reads: logs of Inspect, samples of
    lm-evaluation-harness, batches of chat completions with log-probabilities, tables of
    MLflow, W&B and pandas, and any table with columns such as `correct` and
    `confidence`. If a log of replies has no confidences, they are the probabilities of
    the whole replies.

    Args:
      path: the file, whose name ends with its format.
      correct: name of the column that says whether each answer is right, or its grade;
        needed if its name leaves it open.
      confidence: name of the column that says how sure each answer is; likewise.
      percent: whether confidences are percent, which are divided by 100.

    Returns:
      A tuple of `correct`, `confidences`, `questions` and `replies`.

    Raises:
      ValueError: the file cannot be read, or holds something else; the message says
        where, and which names it has.

    Example:
      >>> import pathlib, tempfile
      >>> import uncertainty_metrics.numpy as um
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.json"
      >>> _ = path.write_text('''{"columns": ["id", "correct", "confidence"],
      ... "data": [["a", true, 0.9], ["b", false, 0.6]]}''')
      >>> answers = um.read_answers(path)
      >>> print(answers.correct, answers.confidences, answers.questions)
      [ True False] [0.9 0.6] ['a' 'b']
      >>> correct, confidences, *_ = answers
      >>> print(round(um.ece(correct=correct, confidences=confidences), 2))
      0.35
    """
    source = source_of(pathlib.Path(path))
    choice = Choice(correct=correct, confidence=confidence, percent=percent)
    with errors_of(source):
        kind = kind_of(pathlib.Path(path))
        if kind not in TABLES:
            raise ValueError(f"the file must be a table. Received: .{kind}")
        with open(path, "rb") as file:
            return _answers_in(source, TABLES[kind](file, silent), choice)


def _answers_in(source: str, table: Table, choice: Choice) -> LoggedAnswers:
    replies = _column(table, REPLY)
    if replies is not None and choice.correct is None and not _says_right(table):
        name = choice.confidence or "confidence"
        confidences, _ = table.read(name, [])
        return LoggedAnswers(None, confidences, _column(table, "custom_id"), replies)
    model = model_of_table(source, table, plan_of(table, choice))
    if not isinstance(model, Confidences):
        raise ValueError(
            "the file must hold answers with confidences; `um.report` and the command "
            "`report` take predictions of classes, and forecasts"
        )
    if choice.percent and model.confidences.size:
        check_percent(model.confidences.max())
    questions = None if model.questions is None else _array(model.questions.values)
    return LoggedAnswers(model.correct, model.confidences, questions, replies)


def _says_right(table: Table) -> bool:
    return bool(saying_right(table.header) or among(table.header, GRADES))


def _column(table: Table, name: str) -> np.ndarray[Any, Any] | None:
    return _array(table.columns([name])[0]) if name in table.header else None


def _array(values: Any) -> np.ndarray[Any, Any]:
    """Returns ids or texts as an array, of objects if they have several types."""
    if len({*map(type, values)}) == 1 and isinstance(values[0], str | int):
        return np.array(values)
    found = np.empty(len(values), object)
    found[:] = values
    return found
