"""Every error message is a sentence: a verb, and words that fit this verb."""

import ast
import re
from pathlib import Path

import uncertainty_metrics

ROOT = Path(uncertainty_metrics.__file__).parent
# For each verb after "must", a pattern of the words that must not follow it.
NONSENSE = {
    "be": r"at least (one|two|\d+) (?!and )[a-z]|not |known|changed|updated|different|"
    r"of (a last axis|at least|as many|two|no) ",
    "hold": r"of |in |at (?!least|most)|not |finite|None|True|False|[<>=]",
    "have": r"of |in |at (?!least|most)|not |finite|None|True|False|[<>=]",
    "differ": r"(?!from |between |among )",
}


def text(node, assigned):
    """Returns the start of a string of the source, with "0" for each value in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            v.value if isinstance(v, ast.Constant) else "0" for v in node.values
        )
    if isinstance(node, ast.BinOp):
        return text(node.left, assigned)
    if isinstance(node, ast.IfExp):
        return text(node.body, assigned)
    if isinstance(node, ast.Name):
        return assigned.get(node.id, "")
    return ""


def messages():
    """Yields file and line, verb, and the start of the words after the verb.

    For a plain error the verb is None, and its sentence comes last.
    """
    for path in ROOT.rglob("*.py"):
        assigned = {}
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        for node in sorted(nodes, key=lambda node: getattr(node, "lineno", 0)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned[node.targets[0].id] = text(node.value, assigned)
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).removeprefix("_checks.")
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            if name in ("plain_error", "combination_error"):
                yield place, None, text(node.args[0], assigned)
            if name == "error" and len(node.args) == 3:
                verbs = [k.value.value for k in node.keywords if k.arg == "verb"]
                yield place, (verbs or ["be"])[0], text(node.args[1], assigned)


def test_words_of_messages_fit_the_verb():
    found = list(messages())
    assert len(found) > 300
    for place, verb, expected in found:
        if verb is None:
            assert re.fullmatch(r"[`A-Z].*\.|", expected), place
        else:
            wrong = re.match(NONSENSE[verb], expected)
            assert not wrong, f"{place}: must {verb} {expected}"
