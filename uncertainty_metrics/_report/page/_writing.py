"""Writes the files of the calibration report: page, pictures and numbers."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import pathlib
import secrets
from collections.abc import Mapping
from typing import Any

from uncertainty_metrics._report.data._predictions import ReportError
from uncertainty_metrics._report.page import _html, _svg, _target_paths
from uncertainty_metrics._report.sections._build import errors_naming
from uncertainty_metrics._report.sections._model_report import ModelReport


def write(
    report: ModelReport, figures: Mapping[str, Any], directory: str | pathlib.Path
) -> list[pathlib.Path]:
    """Writes the page, the pictures and the numbers: all of them, or none.

    Existing files are replaced, but nothing else is, such as a pipe. If one is a link
    to a file, the link is replaced, and the file stays as it is.

    Args:
      report: from `build`.
      figures: from `draw`.
      directory: the directory of the files; made if it does not exist.

    Returns:
      The paths of the files.

    Raises:
      ReportError: the files cannot be written.
    """
    directory = pathlib.Path(directory)
    _target_paths.check_directory(directory, ("report.html", *figures, "report.json"))
    with errors_naming(report.model.source):
        pictures = {name: _png(figure) for name, figure in figures.items()}
    numbers = as_json(report)
    contents = {
        "report.html": page(report, figures).encode(),
        **pictures,
        "report.json": f"{numbers}\n".encode(),
    }
    write_files(directory, contents)
    return [directory / name for name in contents]


def write_files(directory: pathlib.Path, contents: Mapping[str, bytes]) -> None:
    """Writes files, all of them or none.

    Raises:
      ReportError: the files cannot be written.
    """
    try:
        _replace(directory, contents)
    except (OSError, ValueError) as failed:
        raise _target_paths.refused(
            directory, _target_paths.reason_of(failed)
        ) from None


def page(report: ModelReport, figures: Mapping[str, Any]) -> str:
    """Returns the page of a report from `build`, with figures from `draw`."""
    with errors_naming(report.model.source):
        drawn = {name: _svg.svg(figure) for name, figure in figures.items()}
    return _html.page(report, drawn)


def as_json(report: ModelReport) -> str:
    """Returns the numbers of a report from `build` as the text of report.json.

    Raises:
      ReportError: a metric is not defined.
    """
    try:
        return json.dumps(
            _strict(report.to_dict()), indent=2, allow_nan=False, ensure_ascii=False
        )
    except ValueError:
        raise ReportError(
            f"{report.model.source}: a metric is not defined, because its numbers are "
            "too large or too small to compute with"
        ) from None


def _strict(value: Any) -> Any:
    """Returns a value that strict JSON can hold, with infinite numbers as text."""
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _replace(directory: pathlib.Path, contents: Mapping[str, bytes]) -> None:
    """Writes all files under other names first, and then moves them in place in order.

    Raises:
      OSError, ValueError: a file cannot be written; then no existing file has changed.
    """
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    token = secrets.token_hex(8)
    beside = {name: directory / f".{name}.{token}" for name in contents}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            if kind := _target_paths.kind_of(directory / name):
                raise ValueError(f"{name} is {kind}")
            with open(beside[name], "xb") as file:  # "x" follows no link.
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # A full disk may raise its error only here.
        for name, path in beside.items():
            os.replace(path, directory / name)
    except BaseException:
        for path in beside.values():
            with contextlib.suppress(OSError, ValueError):
                path.unlink()
        for path in made:
            with contextlib.suppress(OSError, ValueError):
                path.rmdir()
        raise


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    with _svg.style():
        figure.savefig(file, dpi=200, format="png")
    return file.getvalue()
