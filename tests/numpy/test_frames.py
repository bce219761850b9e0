"""Columns and frames of pandas, as arguments of every function, are arrays of numbers.

`tests/engines/test_frames.py` has Polars.
"""

import decimal
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import uncertainty_metrics as um_tf
import uncertainty_metrics.numpy as um
from tests import catalogue
from tests.catalogue import each
from tests.fuzz.outcomes import flat
from tests.numpy.test_interface import value

N = 20
NAMES = np.array(["cat", "dog", "eel", "owl"])
ROWS = [
    row for row in (*catalogue.CALLABLES, *catalogue.PLOTS) if row.half != "tensors"
]
# The types of the columns of fractions, and of integers.
TYPES = {
    "nullable": ("Float64", "Int64"),
    "arrow": ("double[pyarrow]", "int64[pyarrow]"),
    "objects": (object, object),
}


def framed(arguments, types=None):
    """Returns arguments whose arrays of N rows are columns or frames."""
    made = dict(arguments)
    for name, array in arguments.items():
        if isinstance(array, np.ndarray) and array.shape[:1] == (N,) and array.ndim < 3:
            made[name] = (pd.Series, pd.DataFrame)[array.ndim - 1](array)
            if types and array.dtype.kind in "iuf":
                made[name] = made[name].astype(types[array.dtype.kind != "f"])
    return made


def columns(arguments):
    """Returns the names of the arguments that are objects of pandas."""
    return [k for k, v in arguments.items() if isinstance(v, pd.Series | pd.DataFrame)]


def drawn(row):
    return framed(row.draw(np.random.default_rng(0), (N,)))


@pytest.mark.usefixtures("close_figures")
@each(
    row
    for row in ROWS
    if len(columns(drawn(row))) > 1
    and row.name != "probability_of_lower_calibration_error"  # It takes all pairs.
)
def test_rows_in_two_orders_are_refused(row):
    given = drawn(row)
    for name in columns(given):
        shuffled = given | {name: given[name].iloc[np.roll(np.arange(N), 3)]}
        said = f"decorate {row.name} with `takes_frames` of numpy/_frames.py"
        try:
            row.find(um)(**shuffled)
        except ValueError as error:
            said = str(error)
        assert "the same index in two orders; pass `" in said


@each(row for row in ROWS if row not in catalogue.PLOTS)
def test_types_of_columns_give_the_same_values(row, rng):
    arguments = row.draw(rng, (N,))
    arguments |= {"seed": 3} if row.takes("seed") else {}
    expected = value(row, arguments)
    for form, types in TYPES.items():
        found = value(row, framed(arguments, types))
        np.testing.assert_allclose(found, expected, 1e-12, err_msg=form)


def by_names(row):
    """Returns arguments whose classes have names, and the same ones with numbers; None
    for functions without a frame of several classes.
    """
    arguments = row.draw(np.random.default_rng(0), (N,))
    labels = arguments.get("labels")
    table = next(
        (
            name
            for name in ("probabilities", "logits", "probs", "sets", "scores")
            if np.ndim(arguments.get(name)) == 2
        ),
        None,
    )
    if table is None or np.shape(labels) != (N,) or labels.dtype.kind not in "iu":
        return None
    names = np.array([f"class {k}" for k in range(arguments[table].shape[1])])
    frame = pd.DataFrame(arguments[table], columns=names)
    return {**arguments, "labels": names[labels], table: frame}, arguments


@each(row for row in ROWS if row not in catalogue.PLOTS and by_names(row))
def test_labels_may_be_the_names_of_columns(row):
    seed = {"seed": 3} if row.takes("seed") else {}
    named, numbered = ({**arguments, **seed} for arguments in by_names(row))
    np.testing.assert_array_equal(value(row, named), value(row, numbered))


@pytest.fixture
def labels(rng):
    return np.append(rng.integers(0, 4, N - 4), range(4))


@pytest.fixture
def p(rng):
    return rng.dirichlet(np.ones(4), N)


def test_columns_of_classes_in_any_order(labels, p):
    expected = um.brier_score(labels, p, aggregate=False)
    order = [2, 0, 3, 1]

    def scores(labels, names):
        frame = pd.DataFrame(p[:, order], columns=np.array(names)[order])
        return um.brier_score(labels, frame, aggregate=False)

    for found in (
        scores(labels, range(4)),
        scores(labels, [f"p_{k}" for k in range(4)]),
        scores(np.array([3, 5, 7, 9])[labels], [3, 5, 7, 9]),
        scores(NAMES[labels], NAMES),
        scores(pd.Series(NAMES[labels], dtype="category"), NAMES),
        scores(pd.Series(NAMES[labels], dtype="string[pyarrow]"), NAMES),
    ):
        np.testing.assert_allclose(found, expected, 1e-12)
    # An index is an index: the names of the columns say nothing about these labels.
    frame = pd.DataFrame(p, columns=NAMES)
    np.testing.assert_array_equal(
        um.brier_score(labels, frame, aggregate=False), expected
    )


def test_ignored_labels_stay_ignored(labels, p):
    expected = um.ece(labels, p, ignore_index=2)
    numbers = np.array([0, 1, 9, 2])  # The ignored label, and the third class.
    frame = pd.DataFrame(p, columns=[0, 1, 9, 2])
    assert um.ece(numbers[labels], frame, ignore_index=9) == expected


def test_the_labels_and_models_of_one_call_share_classes(labels, p):
    second = np.roll(p, 1, axis=0)
    models = {
        "a": pd.DataFrame(p, columns=NAMES),
        "b": pd.DataFrame(second[:, ::-1], columns=NAMES[::-1]),
    }
    given = um.compare(NAMES[labels], models, metrics=["brier_score"], seed=0)
    arrays = um.compare(labels, {"a": p, "b": second}, metrics=["brier_score"], seed=0)
    np.testing.assert_array_equal(flat(given), flat(arrays))
    decided = p.argmax(axis=-1)
    assert um.ece(
        NAMES[labels], models["a"], labels_predicted=NAMES[decided]
    ) == um.ece(labels, p)
    models["b"].columns = [*"abcd"]
    with pytest.raises(ValueError, match=r"`predictions\['b'\]` must have the columns"):
        um.compare(NAMES[labels], models, metrics=["brier_score"])


def test_tensors_read_frames_as_arrays_do(labels, p):
    frame = pd.DataFrame(p, columns=NAMES)
    found = um_tf.ece(NAMES[labels], frame)
    np.testing.assert_allclose(found, um.ece(labels, p), 1e-5)
    with pytest.raises(ValueError, match="the same index in two orders"):
        um_tf.ece(pd.Series(labels), frame.iloc[::-1])


def test_calibrators_and_states_refuse_two_orders(labels, p):
    y, frame = pd.Series(labels), pd.DataFrame(p).iloc[::-1]
    for method in (
        um.TemperatureScaling().fit,
        um.VectorScaling().fit,
        um.conformal.ConformalClassifier(alpha=0.1).fit,
        um.Summary().update,
    ):
        with pytest.raises(ValueError, match="the same index in two orders"):
            method(y, probabilities=frame)


def test_columns_that_hold_lists(labels, p):
    expected = um.ece(labels, p)
    arrow = pd.ArrowDtype(pa.list_(pa.float64()))
    for column in (
        pd.Series(p.tolist()),
        pd.Series(list(p)),
        pd.Series(p.tolist(), dtype=arrow),
        pd.DataFrame({"p": p.tolist()}),
        pa.array(p.tolist()),
    ):
        assert um.ece(labels, column) == expected
    ragged = pd.Series([[0.5, 0.5], [1.0]])
    with pytest.raises(ValueError, match=r"shape \[2\] in each row.* \[1\] at \[1\]"):
        um.ece([0, 1], ragged)
    with pytest.raises(ValueError, match=r"`probabilities`.* None at \[1, 0\]"):
        um.ece([0, 1], pd.Series([[0.5, 0.5], [None, 1.0]]))


def test_decimals_are_numbers(labels, p):
    exact = pd.Series([decimal.Decimal(float(x)) for x in p[:, 0]])
    outcomes = labels == 0
    assert um.brier_score(outcomes, exact) == um.brier_score(outcomes, p[:, 0])


def test_missing_entries_of_columns_are_refused_with_their_row():
    y, p = [0, 1, 1, 0], [0.1, 0.7, 0.6, 0.2]
    for dtype in ("Float64", "double[pyarrow]", object):
        bad = pd.Series([0.0, None, 1.0, 0.0], dtype=dtype)
        for given in (
            {"labels": y, "probabilities": bad},
            {"labels": bad, "probabilities": p},
            {"labels": y, "probabilities": p, "sample_weight": bad},
        ):
            with pytest.raises(ValueError, match=r"Received: .* at \[1\]"):
                um.brier_score(**given)
    ids = pd.Series([None, 1, 2, 3], dtype="Int64")
    for clusters in (ids, ids.astype(object), ids.astype("string")):
        with pytest.raises(ValueError, match=r"`clusters` must .* at \[0\]"):
            um.auroc_interval(y, p, clusters=clusters)
    weights = [0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"`clusters` must .* at \[2\]"):
        um.auroc_interval(
            y, p, clusters=ids.iloc[[1, 2, 0, 3]].to_numpy(), sample_weight=weights
        )


def test_other_indices_are_no_mistake(labels, p):
    y, frame = pd.Series(labels), pd.DataFrame(p)
    expected = um.ece(labels, p)
    assert um.ece(y, frame.set_index(frame.index + 100)) == expected
    assert um.ece(y, frame.iloc[::-1].to_numpy()[::-1]) == expected
    shuffled = frame.sample(frac=1, random_state=1)
    assert um.ece(y, shuffled.loc[y.index]) == expected
    assert um.ece(y.loc[shuffled.index], shuffled) == pytest.approx(expected)


def test_class_indices():
    classes = ["no", "yes"]
    for given in (
        ["yes", "no"],
        np.array(["yes", "no"]),
        pd.Series(["yes", "no"], dtype="category"),
    ):
        assert um.class_indices(given, classes).tolist() == [1, 0]
    assert um.class_indices([True, False], ["True", "False"]).tolist() == [0, 1]
    assert um.class_indices([5, 3], [3, 5]).tolist() == [1, 0]
    assert um.class_indices([["yes"], ["no"]], classes).tolist() == [[1], [0]]
    for bad, said in (
        (["yes", None], "`labels` must hold a label everywhere.* None at [1]"),
        (["yes", "maybe"], "one of the classes no, yes. Received: maybe at [1]"),
        ([["yes"], ["a"], ["b"]], "Received: a, b; the first at [1, 0]"),
    ):
        with pytest.raises(ValueError, match=re.escape(said).replace(r"\.\*", ".*")):
            um.class_indices(bad, classes)
    with pytest.raises(ValueError, match="two classes have the same name"):
        um.class_indices(["a"], ["a", "a"])
    with pytest.raises(ValueError, match="`classes` must be the names"):
        um.class_indices(["a"], [])


def test_text_labels_beside_arrays_say_what_to_do(labels, p):
    with pytest.raises(ValueError, match=r"pass `um.class_indices\(labels, classes\)`"):
        um.ece(NAMES[labels], p)
    assert um.ece(um.class_indices(NAMES[labels], NAMES), p) == um.ece(labels, p)
