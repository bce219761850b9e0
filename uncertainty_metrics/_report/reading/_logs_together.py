"""Answers of several logs of Inspect that are read together, and the notes on logs."""

from __future__ import annotations

import dataclasses
from typing import Any

from uncertainty_metrics._report.data._predictions import Clusters, Confidences, Model
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._inspect_logs import LEFT_OUT
from uncertainty_metrics._report.reading._json_and_excel_tables import RecordTable


def with_notes(model: Model, table: Table) -> Model:
    """Returns answers with the notes on their file."""
    if not isinstance(model, Confidences) or not table.notes:
        return model
    return dataclasses.replace(model, notes=(*table.notes, *model.notes))


def of_one_log(name: str, model: Model, table: Table) -> Model:
    """Returns the answers of one of several files, with the notes on it.

    Those of a log of Inspect have the questions of its task as clusters: equal ids in
    two logs of one task are one question.

    Args:
      name: the name of the file.
      model: the answers, or predictions of another kind, which stay as they are.
      table: the table of the file, or of a part of it.
    """
    if not isinstance(model, Confidences):
        return model
    # One note counts samples of this file; the others are alike in all files.
    notes = [
        f"{name}: {note}" if note.startswith(LEFT_OUT) else note for note in table.notes
    ]
    clusters = model.clusters
    if isinstance(table, RecordTable) and table.task is not None:
        (ids,) = table.columns(["id"])
        clusters = Clusters("id", [f"{table.task} {each}" for each in ids])
    return dataclasses.replace(model, notes=(*notes, *model.notes), clusters=clusters)


def of_all_logs(model: Any, rows: int) -> Any:
    """Returns the answers of all logs, without clusters if no question is there twice.

    Args:
      model: the answers, or a sample of them; or predictions of another kind.
      rows: the number of all answers.

    Raises:
      ValueError: these are not all answers of the clusters.
    """
    if not isinstance(model, Confidences) or model.clusters is None:
        return model
    if len(model.correct) < rows:
        raise ValueError(
            "answers to one question depend on each other, and of so many answers not "
            f"all can be kept: read fewer logs together. Received: {rows:,} answers"
        )
    ids = model.clusters.values
    return dataclasses.replace(model, clusters=None) if len({*ids}) == rows else model
