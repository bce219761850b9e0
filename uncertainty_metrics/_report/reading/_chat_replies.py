"""Replies of chat models with the log-probabilities of their tokens.

OpenAI's batches, and servers with the same interface, write a line of JSON for each
request: with `response.body.choices` for chat completions, and `response.body.output`
for the Responses API. What a script has logged has the same `choices` or `output`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from uncertainty_metrics._report.reading._answer_columns import CONFIDENCES, REPLY

_CHOICES = ("response.body.choices", "choices")
_OUTPUTS = ("response.body.output", "output")
BY_TOKENS = (
    "There are no confidences. The report takes the probability of the whole reply, "
    "the product of the probabilities of its tokens, as the confidence."
)


def with_reply(record: dict[str, Any]) -> bool:
    """Adds the reply to a record of a chat completion or of the Responses API, and how
    sure the model was of it, unless the record says that itself. Says whether it added
    a confidence.

    Args:
      record: values by the names of columns, which it changes.
    """
    text, confidence = _reply_of_choices(record)
    if text is None:
        text, confidence = _reply_of_output(record)
    if not isinstance(text, str) or confidence is None:
        return False
    record.setdefault(REPLY, text)
    if any(key.lower() in CONFIDENCES for key in record):
        return False
    record["confidence"] = confidence
    return True


def _dicts_in(record: dict[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Returns the dicts in the first list of these names that has any."""
    for name in names:
        values = record.get(name)
        listed = values if isinstance(values, list) else []
        if found := [each for each in listed if isinstance(each, dict)]:
            return found
    return []


def _reply_of_choices(record: dict[str, Any]) -> tuple[Any, float | None]:
    """Returns the text and the confidence of a completion; None for what it lacks."""
    choices = _dicts_in(record, _CHOICES)
    if not choices:
        return None, None
    message = choices[0].get("message")
    text = message.get("content") if isinstance(message, dict) else None
    text = choices[0].get("text") if text is None else text
    return text, confidence_of(choices[0])


def _reply_of_output(record: dict[str, Any]) -> tuple[str | None, float | None]:
    """Returns the text and the confidence of a response; None for what it lacks.

    Its output has messages, whose content has parts with a text and the
    log-probabilities of its tokens; reasoning and calls of tools are no reply.
    """
    messages = [
        item for item in _dicts_in(record, _OUTPUTS) if item.get("type") == "message"
    ]
    parts = [
        part
        for message in messages
        for part in _dicts_in(message, ("content",))
        if isinstance(part.get("text"), str) and part["text"]
    ]
    if not parts:
        return None, None
    text = "".join(part["text"] for part in parts)
    found = [
        confidence_of({"logprobs": {"content": part.get("logprobs")}}) for part in parts
    ]
    known = [confidence for confidence in found if confidence is not None]
    return text, math.prod(known) if len(known) == len(found) else None


def confidence_of(choice: Any) -> float | None:
    """Returns the product of the probabilities of the tokens of a reply.

    Args:
      choice: one of the `choices` of a completion.

    Returns:
      The confidence; None if the choice has no log-probabilities.
    """
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    if not isinstance(logprobs, dict):
        return None
    found = logprobs.get("token_logprobs")  # Of completions without a chat.
    if isinstance(content := logprobs.get("content"), list):
        found = [each.get("logprob") for each in content if isinstance(each, dict)]
    if not isinstance(found, list) or not found:
        return None
    numbers = [each for each in found if isinstance(each, int | float)]
    if len(numbers) < len(found):
        return None
    return math.exp(min(sum(numbers), 0.0))
