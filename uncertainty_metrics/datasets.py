"""Data for examples, shipped with the package: `um.datasets`.

They are read from the installed package, so they load in any folder.
"""

from __future__ import annotations

import importlib.resources
import json
from typing import Any, NamedTuple

import numpy as np

__all__ = ["answers", "digits"]


class Digits(NamedTuple):
    """Predictions of a classifier of handwritten digits.

    Attributes:
      labels: the digit of each image, shape [n].
      logits: logits of the ten digits, shape [n, 10].
      classes: the name of each class, "0" to "9", shape [10].
    """

    labels: np.ndarray[Any, Any]
    logits: np.ndarray[Any, Any]
    classes: np.ndarray[Any, Any]


class Answers(NamedTuple):
    """Answers of a language model to exercises of arithmetic.

    Attributes:
      correct: whether each answer is right, shape [n].
      confidences: how sure the model says it is, in [0, 1], shape [n].
      operation: "addition", "subtraction" or "multiplication", shape [n].
      questions: the text of each exercise, shape [n].
    """

    correct: np.ndarray[Any, Any]
    confidences: np.ndarray[Any, Any]
    operation: np.ndarray[Any, Any]
    questions: np.ndarray[Any, Any]


def digits() -> Digits:
    """Predictions of a network for 1,677 handwritten digits that it has not seen.

    The network is too sure of itself on purpose: it was trained for long on few images
    of scikit-learn's digits.

    Returns:
      A tuple of `labels`, `logits` and `classes`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = um.datasets.digits()
      >>> data.logits.shape
      (1677, 10)
      >>> print(round(float(um.ece(data.labels, logits=data.logits)), 2))
      0.07
    """
    path = importlib.resources.files("uncertainty_metrics.data")
    with (path / "digits_predictions.npz").open("rb") as file, np.load(file) as data:
        classes = np.array([str(digit) for digit in range(10)])
        return Digits(data["labels"].astype(np.int64), data["logits"], classes)


def answers(other_prompt: bool = False) -> Answers:
    """Answers of a language model to 500 exercises, and how sure it says it is.

    The model is simulated; whether an answer is right is computed.

    Args:
      other_prompt: returns the answers to a second prompt, for the same questions.

    Returns:
      A tuple of `correct`, `confidences`, `operation` and `questions`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> said = um.datasets.answers()
      >>> print(said.questions[0], said.confidences[0], said.correct[0])
      67 * 56 0.9 True
    """
    name = "answers_of_other_prompt.jsonl" if other_prompt else "answers.jsonl"
    path = importlib.resources.files("uncertainty_metrics.data") / name
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    keys = ("correct", "confidence", "operation", "question")
    return Answers(*(np.array([line[key] for line in lines]) for key in keys))
