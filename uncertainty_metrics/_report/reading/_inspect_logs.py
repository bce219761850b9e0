"""Logs of Inspect (inspect_ai): .eval archives, and the same log as one JSON object."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import reprlib
import struct
import zipfile
from typing import IO, Any, NamedTuple

from uncertainty_metrics import _optional
from uncertainty_metrics._report.reading._answer_columns import CONFIDENCES
from uncertainty_metrics._report.reading._chat_replies import BY_TOKENS, confidence_of
from uncertainty_metrics.numpy import _archive

# What Inspect's `value_to_float` makes of the values of a score.
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
LEFT_OUT = "Left out:"  # So begins the note that counts samples of one log.
_HEADERS = ("header.json", "_journal/start.json")
# The method of compression of an archive that Python knows only from 3.14 on.
_ZSTD = 93
# Bytes of the header of a member of an archive, and where the lengths of its name and
# of its further fields are.
_HEADER, _LENGTHS = 30, slice(26, 30)


class Found(NamedTuple):
    """Records with the columns of a table, from a log or another JSON object.

    Attributes:
      records: one for each example.
      notes: for the reader of the report.
      cluster: the column of clusters, if the log says which examples depend on each
        other.
      task: of a log of Inspect, the name of its task: in two logs of one task, equal
        ids are those of one question.
    """

    records: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    cluster: str | None = None
    task: str | None = None


def is_log(value: dict[str, Any]) -> bool:
    """Says whether a JSON object is a log of Inspect."""
    return isinstance(value.get("eval"), dict) and "status" in value


def records_of(log: dict[str, Any]) -> Found:
    """Returns the answers of a log.

    Raises:
      ValueError: the log has no samples with scores.
    """
    return _records(log.get("samples") or [], log)


def read_archive(file: IO[bytes]) -> Found:
    """Returns the answers of a log in an .eval archive.

    Raises:
      ValueError: the archive is damaged, or has no samples with scores.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError) as failed:
        raise ValueError(f"not a log of Inspect (.eval): {failed}") from None
    # A log whose evaluation has not ended has only the second header.
    heads = [info for info in archive.infolist() if info.filename in _HEADERS][:1]
    members = [
        info for info in archive.infolist() if info.filename.startswith("samples/")
    ]
    _archive.check_size(sum(info.file_size for info in (*heads, *members)), file)
    values = []
    for info in (*heads, *members):
        try:
            values.append(json.loads(_content(archive, info, file)))
        except ImportError:
            raise
        except Exception as failed:
            raise ValueError(
                f"a damaged log of Inspect: {info.filename}: {str(failed)[:200]}"
            ) from None
    return _records(values[len(heads) :], values[0] if heads else {})


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: IO[bytes]) -> bytes:
    if info.compress_type != _ZSTD:
        return archive.read(info)
    file.seek(info.header_offset)
    name, extra = struct.unpack("<HH", file.read(_HEADER)[_LENGTHS])
    file.seek(info.header_offset + _HEADER + name + extra)
    return _unpacked(file.read(info.compress_size), info.file_size)


def _unpacked(packed: bytes, size: int) -> bytes:
    """Returns what zstd has packed, of `size` bytes."""
    with contextlib.suppress(ImportError):  # From Python 3.14 on.
        zstd = importlib.import_module("compression.zstd")
        unpacked: bytes = zstd.ZstdDecompressor().decompress(packed, size)
        return unpacked
    codec = _optional.require("pyarrow").Codec("zstd")
    unpacked = codec.decompress(packed, decompressed_size=size, asbytes=True)
    return unpacked


def _records(samples: list[Any], log: Any) -> Found:
    """Returns the answers in samples.

    Args:
      samples: the samples.
      log: an object whose field `eval` names the task, or another one.

    Raises:
      ValueError: no sample has a score.
    """
    scored = [each for each in samples if isinstance(each, dict) and _scores_of(each)]
    if not scored:
        raise ValueError(
            "the log of Inspect must hold samples with scores. Received: "
            f"{len(samples)} samples, none of them with a score"
        )
    scorers = list(dict.fromkeys(name for each in scored for name in _scores_of(each)))
    notes = []
    if len(scorers) == 1:
        notes.append(
            f"`correct` is the score of `{scorers[0]}`: C is 1, P is 0.5, I and N are "
            "0."
        )
    if left_out := len(samples) - len(scored):
        notes.append(f"{LEFT_OUT} {left_out:,} samples without a score.")
    records = [_record(each, scorers) for each in scored]
    if any("confidence" not in record for record in records):
        _add_token_confidences(records, scored)
        if any("confidence" in record for record in records):
            notes.append(BY_TOKENS)
    names = [str(each["id"]) for each in records]
    cluster = "id" if len(set(names)) < len(names) else None
    task = log["eval"].get("task") if isinstance(log, dict) and "eval" in log else None
    return Found(records, tuple(notes), cluster, "" if task is None else str(task))


def _add_token_confidences(records: list[dict[str, Any]], samples: list[Any]) -> None:
    """Adds the probability of each reply, if no record has a confidence."""
    if any("confidence" in record for record in records):
        return
    for record, sample in zip(records, samples, strict=True):
        choices = (sample.get("output") or {}).get("choices") or [None]
        confidence = confidence_of(choices[0])
        if confidence is not None:
            record["confidence"] = confidence


def _scores_of(sample: dict[str, Any]) -> dict[str, Any]:
    """Returns the scores of a sample, by the names of the scorers and their keys."""
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        return {}
    found = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            known = {k: v for k, v in value.items() if k.lower() not in CONFIDENCES}
            if len(known) == 1:
                found[name] = next(iter(known.values()))
            else:
                found |= {f"{name}.{key}": each for key, each in known.items()}
        elif value is not None:
            found[name] = value
    return found


def _record(sample: dict[str, Any], scorers: list[str]) -> dict[str, Any]:
    scores = _scores_of(sample)
    metadata = sample.get("metadata") or {}
    record: dict[str, Any] = {"id": sample.get("id"), "epoch": sample.get("epoch", 1)}
    for name, value in scores.items():
        column = "correct" if len(scorers) == 1 else f"scores.{name}"
        record[column] = _number(value)
    for holder in [*_holders(sample), metadata]:
        sure = [key for key in holder if key.lower() in CONFIDENCES]
        if sure:
            record.setdefault("confidence", holder[sure[0]])
    if metadata:
        record["metadata"] = metadata
    return record


def _holders(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what may say how sure an answer is: metadata and values of scores."""
    scores = sample["scores"].values()
    found = [score.get(key) for score in scores for key in ("metadata", "value")]
    return [each for each in found if isinstance(each, dict)]


def _number(value: Any) -> float:
    """Returns the value of a score as Inspect's metrics count it.

    Raises:
      ValueError: it is no number.
    """
    if isinstance(value, str):
        known = _VALUES.get(value, _WORDS.get(value.strip().lower()))
        if known is not None:
            return known
    with contextlib.suppress(TypeError, ValueError):
        number = float(value)
        if not math.isnan(number):
            return number
    raise ValueError(
        "the score of a sample must be C, P, I, N, true, false or a number. Received: "
        f"{reprlib.repr(value)}"
    )
