"""The vectors of `conformance/`: NumPy's values, derivations, runner and table."""

import ast
import math
import operator
import pathlib
import subprocess
import sys
from fractions import Fraction

import pytest

import uncertainty_metrics.numpy as um
from conformance.run import VECTORS, flat, run
from scripts import conformance_table
from tests import conformance

ROOT = pathlib.Path(__file__).parents[2]
CASES = [
    pytest.param(vector, id=f"{definition}-{case}")
    for definition, cases in VECTORS.items()
    for case, vector in cases.items()
]
FUNCTIONS = {
    "abs": abs,
    "max": max,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "erfc": math.erfc,
}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def value(node):
    """Computes an expression, in exact fractions as far as possible."""
    match node:
        case ast.Expression(body=body):
            return value(body)
        case ast.List(elts=parts):
            return [value(part) for part in parts]
        case ast.Name(id=name):
            return {"inf": math.inf, "pi": math.pi}[name]
        case ast.Constant(value=number):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -value(operand)
        case ast.BinOp(left=left, op=sign, right=right):
            return OPERATORS[type(sign)](value(left), value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*map(value, arguments))
    raise ValueError(ast.dump(node))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Warnings of too few data.
@pytest.mark.parametrize("definition", VECTORS)
def test_functions_have_the_values_of_the_vectors(definition):
    function = conformance.function(um, definition)
    results = list(run(definition, function, 1e-9))
    assert {case: found for case, right, found in results if not right} == {}
    for case, _, found in results:
        if VECTORS[definition][case]["expected"] == "error":
            assert isinstance(found, ValueError)


@pytest.mark.parametrize("vector", CASES)
def test_derivations_give_the_expected_values(vector):
    assert set(vector) == {"definition", "inputs", "expected", "derivation"}
    if vector["expected"] == "error":
        return
    prose, _, sides = vector["derivation"].partition(" => ")
    assert prose.endswith(".")
    for side in sides.split(" = "):
        found = flat(value(ast.parse(side, mode="eval")))
        assert found == pytest.approx(flat(vector["expected"]), rel=1e-12, abs=1e-15)


def test_runner_tells_right_from_wrong():
    name = "expected_calibration_error"
    assert all(right for _, right, _ in run(name, um.ece))
    wrong = list(run(name, lambda **given: um.ece(**given) + 1e-5))
    assert not any(right for _, right, _ in wrong)
    assert not any(right for _, right, _ in run(name, lambda **given: [0.5, 0.5]))
    assert not any(right for _, right, _ in run(name, lambda **given: 1 / 0))
    *_, last = run("auroc", lambda **given: 1)
    assert last == ("one class", False, [1.0])


def test_runner_is_a_command(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def risk(confidences, correct, sample_weight=None):\n    return 0.5\n"
    )
    command = [sys.executable, ROOT / "conformance" / "run.py"]
    done = subprocess.run(
        [*command, "area_under_risk_coverage_curve", "mine:risk"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "right - nothing but equal confidences" in done.stdout
    assert "WRONG: [0.5] - all wrong" in done.stdout


def test_table_is_up_to_date_with_the_vectors():
    if not conformance_table.up_to_date():
        pytest.fail("run `python scripts/conformance_table.py`")
