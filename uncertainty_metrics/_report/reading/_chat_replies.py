"""Replies of chat models with the log-probabilities of their tokens.

OpenAI's batches, and servers with the same interface, write a line of JSON for each
request, with `response.body.choices`. A completion that a script has logged has the
same `choices`.
"""

from __future__ import annotations

import math
from typing import Any

from uncertainty_metrics._report.reading._answer_columns import CONFIDENCES, REPLY

_CHOICES = ("response.body.choices", "choices")
BY_TOKENS = (
    "There are no confidences. The report takes the probability of the whole reply, "
    "the product of the probabilities of its tokens, as the confidence."
)


def with_reply(record: dict[str, Any]) -> bool:
    """Adds the reply to a record of a chat completion, and how sure the model was of
    it, unless the record says that itself. Says whether it added a confidence.

    Args:
      record: values by the names of columns, which it changes.
    """
    for name in _CHOICES:
        choices = record.get(name)
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            break
    else:
        return False
    message = choices[0].get("message")
    text = message.get("content") if isinstance(message, dict) else None
    text = choices[0].get("text") if text is None else text
    confidence = confidence_of(choices[0])
    if not isinstance(text, str) or confidence is None:
        return False
    record.setdefault(REPLY, text)
    if any(key.lower() in CONFIDENCES for key in record):
        return False
    record["confidence"] = confidence
    return True


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
