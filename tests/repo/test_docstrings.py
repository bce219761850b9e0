"""Docstrings that others complete."""

import inspect
import subprocess
import sys

import pytest

from uncertainty_metrics._docstrings import completed


def first(x, y=1, *, z=None):
    """First.

    Args:
      x: a number, of
        two lines.
      y: another.

    Returns:
      A sum.

    Example:
      >>> um.first(1)
    """


def test_what_others_say_is_not_said_again():
    @completed({"z": "of all."}, completed({"z": "a third."})(first), References="A B.")
    def second(x, *, z, **y):
        """Second.

        Args:
          **y: its own.

        Example:
          >>> um.second(1)
        """

    assert inspect.getdoc(second) == (
        "Second.\n\nArgs:\n  x: a number, of\n    two lines.\n  z: of all.\n"
        "  **y: its own.\n\nReturns:\n  A sum.\n\nRaises:\n  ValueError: an argument "
        "is not as described.\n\nExample:\n  >>> import "
        "uncertainty_metrics.numpy as um\n  >>> um.second(1)\n\nReferences:\n  A B."
    )
    with pytest.raises(TypeError, match="does not describe `z`"):
        completed({})(lambda z: z)


def test_nothing_is_said_of_no_arguments():
    @completed(first)
    def third():
        """Third."""

    assert inspect.getdoc(third) == (
        "Third.\n\nReturns:\n  A sum.\n\nRaises:\n  ValueError: an argument is not "
        "as described."
    )


def test_names_are_there_without_docstrings():
    code = (
        "import uncertainty_metrics.numpy as um; [getattr(um, n) for n in um.__all__]"
    )
    subprocess.run([sys.executable, "-OO", "-c", code], check=True)
