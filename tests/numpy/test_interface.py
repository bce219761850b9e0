"""What all functions have in common: forms of arrays, seeds, progress, bad options."""

import pickle
import re
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import figure as mpl_figure
from matplotlib import pyplot as plt

import uncertainty_metrics.numpy as um
from tests import catalogue
from tests.catalogue import each, each_with
from tests.fuzz.outcomes import flat
from tests.makers import BAD_OPTIONS

pytestmark = pytest.mark.usefixtures("close_figures")

ROWS = [
    row for row in (*catalogue.CALLABLES, *catalogue.PLOTS) if row.half != "tensors"
]


def that_take(*options):
    """Parametrizes over the functions, without plots, that take any of the options."""
    return each(
        row
        for row in ROWS
        if row not in catalogue.PLOTS and any(map(row.takes, options))
    )


def value(row, arguments):
    with warnings.catch_warnings():
        # Some functions warn of too few data.
        warnings.simplefilter("ignore", UserWarning)
        return flat(row.find(um)(**arguments))


def arrays(arguments):
    return {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


FORMS = {
    "lists": lambda a: a.tolist(),
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "read-only": frozen,
}


@that_take(*(name for row in ROWS for name in row.parameters))
def test_all_forms_of_the_arrays_give_the_same_values(row, rng):
    arguments = row.draw(rng, (20,))
    if row.takes("seed"):
        arguments["seed"] = 3
    expected = value(row, arguments)
    for form, change in FORMS.items():
        given = arguments | {k: change(v) for k, v in arrays(arguments).items()}
        np.testing.assert_allclose(value(row, given), expected, 1e-12, err_msg=form)
    # Labels and outcomes may have any numeric dtype.
    for dtype in (np.uint8, np.float32):
        integers = {k: v for k, v in arrays(arguments).items() if v.dtype.kind == "i"}
        given = {k: v.astype(dtype) for k, v in integers.items()}
        np.testing.assert_array_equal(value(row, arguments | given), expected)


@each(
    row
    for row in ROWS
    # Other seeds may give the same infinite value, or the same p-value.
    if row.takes("seed")
    and row not in catalogue.PLOTS
    and not (row.unbounded or row.name == "calibration_test")
)
def test_seeds_determine_the_values(row, rng):
    more = {"num_resamples": 50, "num_ece_samples": 50, "consistency_band": 0.9}
    arguments = row.draw(rng, (60,))
    arguments |= {name: option for name, option in more.items() if row.takes(name)}
    state = np.random.get_state()[1].copy()  # noqa: NPY002

    def drawn(seed):
        return value(row, {**arguments, "seed": seed})

    np.testing.assert_array_equal(drawn(7), drawn(7))
    assert np.any(drawn(7) != drawn(8))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.testing.assert_array_equal(drawn([7, 1]), drawn([7, 1]))
    assert np.any(drawn(None) != drawn(None))
    generator = np.random.default_rng(7)
    np.testing.assert_array_equal(drawn(generator), drawn(7))
    assert np.any(drawn(generator) != drawn(7))  # The generator has advanced.


@that_take("progress")
def test_progress_is_shown_on_stderr_only_if_asked(row, rng, capfd):
    pytest.importorskip("tqdm")
    arguments = {**row.draw(rng, (30,)), "seed": 0}
    quiet = value(row, arguments)
    assert capfd.readouterr() == ("", "")
    shown = value(row, {**arguments, "progress": True})
    np.testing.assert_array_equal(shown, quiet)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"100%.* (\d+)/\1 ", err)


@each_with("name", lambda row: row.bad_options, ROWS)
def test_bad_options_raise(row, name, rng):
    arguments = row.draw(rng, (8,))
    if name == "seed" and row.takes("consistency_band"):
        arguments["consistency_band"] = 0.9  # Only a band needs the seed.
    expected, _ = BAD_OPTIONS[name]
    for bad in row.wrong_values(name):
        with pytest.raises(ValueError, match=f"`{name}`.* must .*{expected}") as raised:
            value(row, {**arguments, name: bad})
        assert "Received" in str(raised.value), bad
    assert plt.get_fignums() == []


@each(ROWS)
def test_error_names_the_argument_that_is_no_array_of_numbers(row, rng):
    given = arrays(arguments := row.draw(rng, (8,)))
    for name in given.keys() - set(getattr(row, "words", ())):
        array = given[name]
        nan = np.full(array.shape, np.nan)
        for bad in (["a"] * 8, [[0.1], [0.2, 0.3]], object(), nan):
            with pytest.raises((TypeError, ValueError), match=f"`{name}`"):
                value(row, {**arguments, name: bad})
        with pytest.raises(ValueError, match=f"`({'|'.join(given)})`"):
            value(row, {**arguments, name: array[..., :0]})


@that_take("hyperparam_range")
def test_columns_and_float32_give_the_same_values(row, rng):
    arguments = {**row.draw(rng, (30,)), "seed": 0}
    given = {
        k: v.astype(np.float32).astype(float) for k, v in arrays(arguments).items()
    }
    expected = value(row, arguments | given)
    for change in (lambda a: a.astype(np.float32), lambda a: a[:, None]):
        changed = arguments | {k: change(v) for k, v in given.items()}
        np.testing.assert_allclose(value(row, changed), expected, 1e-12)


@that_take("bootstrap_size")
def test_bootstrap_size_is_deprecated(row, rng):
    arguments = {**row.draw(rng, (60,)), "seed": 0}
    with pytest.warns(DeprecationWarning, match="closed form") as caught:
        found = row.find(um)(**arguments, bootstrap_size=10)
    assert [warning.filename for warning in caught] == [__file__]
    np.testing.assert_array_equal(flat(found), value(row, arguments))


def test_bootstrap_size_of_classes_is_deprecated():
    for name, options in (("CCE", {"end_time": 1.0}), ("SPCE", {})):
        with pytest.warns(DeprecationWarning, match="closed form") as caught:
            metric = getattr(um, name)(**options, bootstrap_size=10)
        assert [warning.filename for warning in caught] == [__file__]
        assert metric == getattr(um, name)(**options)


# Plots.


@each(catalogue.PLOTS)
def test_plots_draw_into_the_given_axes(row, ax, rng):
    arguments = row.draw(rng, (30,))
    before = {name: array.copy() for name, array in arrays(arguments).items()}
    if row.takes("ax"):
        assert row.find(um)(**arguments, title="Mine", ax=ax) is ax
        assert ax.has_data()
        assert ax.get_title() == "Mine"
        assert plt.get_fignums() == []
    for name, array in before.items():
        np.testing.assert_array_equal(arguments[name], array)


@each(catalogue.PLOTS)
def test_plots_without_axes_make_a_figure_and_do_not_show_it(row, rng, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("The figure was shown."))
    before = dict(mpl.rcParams)
    made = row.find(um)(**row.draw(rng, (30,)))
    figure = made.get_figure() if row.takes("ax") else made
    assert plt.get_fignums() == [figure.number]
    assert dict(mpl.rcParams) == before
    figure.draw_without_rendering()
    assert all(part.has_data() for part in figure.axes)
    if row.takes("ax") and figure.legends:
        # The legend is outside the Axes, so that it hides no data.
        (beside,) = figure.legends
        assert made.get_legend() is None
        assert not beside.get_window_extent().overlaps(made.get_window_extent())


LAYOUTS = [
    pytest.param(
        size,
        layout,
        # Small sizes are the hard ones, and other tests draw without a layout.
        marks=() if size[0] < 9 and layout else pytest.mark.exhaustive,
    )
    for size in ((3, 2.5), (12, 9))
    for layout in (None, "tight", "constrained")
]


@pytest.mark.thorough
@each(row for row in catalogue.PLOTS if row.takes("ax"))
@pytest.mark.parametrize(("size", "layout"), LAYOUTS)
def test_every_size_and_layout_renders(row, size, layout, rng):
    figure = mpl_figure.Figure(figsize=size, layout=layout)
    row.find(um)(**row.draw(rng, (30,)), ax=figure.subplots())
    figure.draw_without_rendering()
    again = pickle.loads(pickle.dumps(figure))
    assert len(again.axes[0].containers) == len(figure.axes[0].containers)


@each(
    row
    for row in catalogue.PLOTS
    if row.takes("logits")
    and not row.takes("ensemble_axis")
    and not row.takes("folds")  # One example cannot be divided.
)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0]}, "Exactly one of `probabilities` and `logits`"),
        ({"labels": [0], "logits": [[1.0, 2]], "ax": 3}, "`ax` must be matplotlib"),
        # These have several models.
        ({"probabilities": {}}, "`probabilities` must hold at least one"),
        (
            {"labels": {"b": [1]}, "probabilities": {"a": [0.8]}},
            r"`probabilities` must be a mapping from the same names .*\['b'\]",
        ),
        ({"labels": [2], "probabilities": {"a": [0.8]}}, "^a: `labels` must be int"),
        (
            {"labels": [0], "logits": {"a": [1.0], "b": [np.nan]}},
            "^b: `logits` must be",
        ),
        ({"labels": [0], "logits": {"a": [1.0]}, "probabilities": [1]}, "^a: Exactly"),
    ],
)
def test_error_names_the_bad_model(row, arguments, message):
    with pytest.raises(ValueError, match=message):
        row.find(um)(**{"labels": [0], **arguments})
    assert plt.get_fignums() == []


@each(row for row in catalogue.PLOTS if row.takes("confidences"))
def test_confidences_need_their_outcomes(row):
    for given, message in (
        ({}, "Either `labels`"),
        (
            {"confidences": {"a": [1.0]}, "correct": {"b": [1]}},
            r"must be a mapping from the same names as `(correct|confidences)`, \['",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            row.find(um)(**given)
