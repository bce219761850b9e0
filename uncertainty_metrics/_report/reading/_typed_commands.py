"""The commands that messages tell a user to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

# So many names are suggested.
_SHOWN = 4


def typed(choice: Any, **options: str) -> str:
    """Returns the command to type, with the names of columns quoted for a shell.

    Args:
      choice: the `Choice` of the user, whose options stay.
      **options: further ones, by their names in `Choice`.
    """
    words = []
    for field, value in {**choice._asdict(), **options}.items():
        name = {"groups": "group", "features": "feature"}.get(field, field)
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif field == "classes" and value is not None and field not in options:
            words.append(f"{option} {shlex.quote(','.join(value))}")
        elif value is not None and value is not False:
            values = value if isinstance(value, tuple) else (value,)
            shown = (f"{v:g}" if isinstance(v, float) else str(v) for v in values)
            words += [f"{option} {shlex.quote(each)}" for each in shown]
    return f"`report FILE {' '.join(words)}`"


def typed_each(choice: Any, field: str, values: Sequence[str]) -> str:
    """Returns commands that give one option each of the first values."""
    return " or ".join(typed(choice, **{field: value}) for value in values[:_SHOWN])


def typed_classes(choice: Any, names: Sequence[str], number: int) -> str:
    """Returns a command that names the classes, placeholders for those not known."""
    lacking = (f"CLASS_{i}" for i in range(len(names), number))
    return typed(choice, classes=",".join([*names[:number], *lacking]))
