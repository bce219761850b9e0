"""Makes the logs of a simulated language model that the documentation reads.

The model adds, subtracts and multiplies. How often it is right, and how much surer it
says it is, are numbers in this script, so no model is downloaded and the truth of every
answer is computed. The script writes four files, each in a format that other programs
write; the first two into `docs/data/`, the answers into `uncertainty_metrics/data/`:

  samples_sums.jsonl: multiple-choice samples of lm-evaluation-harness, as
    `lm_eval --log_samples` writes them.
  chat_completions.jsonl: the output of a batch of chat completions with `logprobs`, as
    the batch interface of OpenAI and of servers like it writes them.
  answers.jsonl, answers_of_other_prompt.jsonl: a line for each answer with whether it
    is right and how sure the model says it is, as a script written by hand makes them.

The seed is fixed. Run the script in any folder:

    python scripts/make_language_model_logs.py
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

_ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = _ROOT / "docs" / "data"
SHIPPED = _ROOT / "uncertainty_metrics" / "data"
SEED = 0
SAMPLES = 100  # Questions with options.
CHATS = 80  # Questions to the chat model.
ANSWERS = 500  # Questions of each prompt.
# By number of digits, how far the right option stands out from the noise.
SKILL = {1: 3.0, 2: 2.2, 3: 1.4}
# The model acts as if the right option stood out by this factor more than it does.
OVERCONFIDENCE = 1.8
# By operation, the mean log-odds of a right answer.
EASE = {"addition": 4.0, "subtraction": 2.5, "multiplication": 0.5}
SIGN = {"addition": "+", "subtraction": "-", "multiplication": "*"}


def _sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def _numbers(
    rng: np.random.Generator, digits: int, asked: set[tuple[int, int]]
) -> tuple[int, int]:
    """Returns two numbers of so many digits that were not asked before."""
    # It asks again until a pair is new, which is soon: most pairs are.
    while True:
        a, b = rng.integers(10 ** (digits - 1), 10**digits, 2).tolist()
        if (a, b) not in asked:
            asked.add((a, b))
            return a, b


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def samples(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yields samples of a multiple-choice task of lm-evaluation-harness.

    The options of a question have the evidence z = skill * (is right) + Normal noise.
    So softmax(skill * z) would be calibrated; the model takes `OVERCONFIDENCE` times
    these logits. Its log-likelihoods are those of whole texts: it also could have
    written something else, so the likelihoods of the options sum to less than 1.
    """
    asked: set[tuple[int, int]] = set()
    for doc_id in range(SAMPLES):
        digits = int(rng.integers(1, 4))
        a, b = _numbers(rng, digits, asked)
        total = a + b
        options = np.array([total, total + 10, abs(total - 1), total * 10 + 1])
        order = rng.permutation(4)
        choices = [str(option) for option in options[order].tolist()]
        target = int(np.flatnonzero(order == 0)[0])
        skill = SKILL[digits]
        evidence = skill * (np.arange(4) == target) + rng.normal(size=4)
        logits = OVERCONFIDENCE * skill * evidence
        written = np.log(rng.uniform(0.3, 0.9))  # Share of all texts it could write.
        logarithms = logits - np.log(np.sum(np.exp(logits))) + written
        found = [round(value, 4) for value in logarithms.tolist()]
        responses = [[str(value), str(value > np.log(0.5))] for value in found]
        lengths = [len(choice) for choice in choices]
        best = int(np.argmax(found))
        best_by_length = int(np.argmax(np.array(found) / lengths))
        question = f"{a} + {b} ="
        doc: dict[str, Any] = {"question": question, "choices": choices}
        doc |= {"answer": target, "digits": digits}
        yield {
            "doc_id": doc_id,
            "doc": doc,
            "target": str(target),
            "arguments": {
                f"gen_args_{i}": {"arg_0": question, "arg_1": f" {choice}"}
                for i, choice in enumerate(choices)
            },
            "resps": [[response] for response in responses],
            "filtered_resps": responses,
            "filter": "none",
            "metrics": ["acc", "acc_norm"],
            "doc_hash": _sha256(json.dumps(doc, indent=2, ensure_ascii=False)),
            "prompt_hash": _sha256(question),
            "target_hash": _sha256(str(target)),
            "acc": float(best == target),
            "acc_norm": float(best_by_length == target),
        }


def _token(text: str, logprob: float, others: dict[str, float]) -> dict[str, Any]:
    """Returns a token with its log-probability, as chat completions list it."""

    def entry(token: str, logprob: float) -> dict[str, Any]:
        rounded = {"token": token, "logprob": round(logprob, 4)}
        return {**rounded, "bytes": list(token.encode())}

    top = [entry(token, value) for token, value in others.items()]
    return {**entry(text, logprob), "top_logprobs": top}


def _completion(
    number: int, custom_id: str, tokens: list[dict[str, Any]]
) -> dict[str, Any]:
    """Returns a line of the output of a batch of chat completions."""
    choice = {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": "".join(token["token"] for token in tokens),
            "refusal": None,
        },
        "logprobs": {"content": tokens, "refusal": None},
        "finish_reason": "stop",
    }
    body = {
        "id": f"chatcmpl-{number:04}",
        "object": "chat.completion",
        "created": 1767225600 + number,
        "model": "simulated",
        "choices": [choice],
        "usage": {
            "prompt_tokens": 40,
            "completion_tokens": len(tokens),
            "total_tokens": 40 + len(tokens),
        },
        "system_fingerprint": None,
    }
    return {
        "id": f"batch_req_{number:04}",
        "custom_id": custom_id,
        "response": {
            "status_code": 200,
            "request_id": f"req_{number:04}",
            "body": body,
        },
        "error": None,
    }


def completions(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yields the lines of a batch of chat completions, two for each question.

    The first request asks for the sum, and on a second line how sure the model is, in
    percent. The second request shows the answer and asks whether it is right. With the
    log-odds z that the answer is right, the tokens of the answer have the probability
    sigmoid(1.5 z + 0.5) together, the model says about sigmoid(0.4 z + 2), and it
    answers "True" with sigmoid(0.9 z + 0.3).
    """
    asked: set[tuple[int, int]] = set()
    for number in range(CHATS):
        a, b = _numbers(rng, int(rng.integers(2, 5)), asked)
        z = rng.normal(3.5 - len(str(a)), 1.5)
        answer = a + b if rng.random() < _sigmoid(z) else a + b + rng.choice([-10, 10])
        text = str(answer)
        parts = [text[i : i + 3] for i in range(0, len(text), 3)]
        whole = np.log(_sigmoid(1.5 * z + 0.5))
        of_parts = whole * rng.dirichlet(np.ones(len(parts)))
        sure = int(5 * np.round(20 * _sigmoid(0.4 * z + 2)))
        said = [*zip(parts, of_parts.tolist(), strict=True), ("\n", -0.0001)]
        said += [(str(sure), -float(rng.exponential(0.7))), ("%", -0.0002)]
        tokens = [_token(token, logprob, {}) for token, logprob in said]
        yield _completion(2 * number, f"sum {a} {b}", tokens)
        is_true = _sigmoid(0.9 * z + 0.3)
        # A few other words have 2% together.
        top = {"True": np.log(0.98 * is_true), "False": np.log(0.98 * (1 - is_true))}
        top = dict(sorted(top.items(), key=lambda item: -item[1]))
        word = next(iter(top))
        token = _token(word, top[word], top)
        yield _completion(2 * number + 1, f"check {a} {b}", [token])


def answers(
    rng: np.random.Generator, sharpness: float, shift: float
) -> Iterator[dict[str, Any]]:
    """Yields answers with a stated confidence, about sigmoid(sharpness z + shift).

    Here z are the true log-odds of a right answer, which depend on the operation.
    """
    asked: set[tuple[int, int]] = set()
    for _ in range(ANSWERS):
        operation = str(rng.choice(list(EASE)))
        a, b = _numbers(rng, 2, asked)
        z = rng.normal(EASE[operation], 2.0)
        truth = {"addition": a + b, "subtraction": a - b, "multiplication": a * b}
        right = bool(rng.random() < _sigmoid(z))
        answer = truth[operation] + (0 if right else int(rng.choice([-10, 10])))
        sure = _sigmoid(sharpness * z + shift)
        yield {
            "question": f"{a} {SIGN[operation]} {b}",
            "operation": operation,
            "answer": str(answer),
            "correct": right,
            "confidence": round(float(sure), 2),
        }


def home(name: str) -> pathlib.Path:
    """Returns the path of a file in the repository."""
    return (SHIPPED if name.startswith("answers") else FOLDER) / name


def files() -> dict[str, str]:
    """Returns the text of each file, by its name."""
    rng = np.random.default_rng(SEED)
    lines = {
        "samples_sums.jsonl": list(samples(rng)),
        "chat_completions.jsonl": list(completions(rng)),
        # Both prompts ask the same questions, so that they can be compared.
        "answers.jsonl": list(answers(np.random.default_rng(SEED), 0.7, 1.0)),
        "answers_of_other_prompt.jsonl": list(
            answers(np.random.default_rng(SEED), 1.0, 0.0)
        ),
    }
    return {
        name: "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in of_file)
        for name, of_file in lines.items()
    }


def main() -> None:
    """Writes the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER")
    folder = parser.parse_args().out
    for name, text in files().items():
        path = folder / name if folder else home(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        lines = len(text.splitlines())
        print(f"{path}: {lines} lines, {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
