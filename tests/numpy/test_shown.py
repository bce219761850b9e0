"""The `repr` of states and statistics shows the numbers on at most a screen."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

DATA = [0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]]
# The confidences are 0.6, 0.7, 0.8 and 0.9, and the second decision is wrong.
BINS = """\
BinStatistics of 4 even bins
from    to  count  confidence  accuracy
   0  0.25      0           -         -
0.25   0.5      0           -         -
 0.5  0.75      2        0.65      0.50
0.75     1      2        0.85      1.00"""


def columns(text):
    return [line.split() for line in text.splitlines()]


def test_bin_statistics_print_as_a_table():
    assert repr(um.bin_statistics(*DATA, num_bins=4)) == BINS


def test_table_of_groups_numbers_them_and_leaves_out_middle_rows():
    options = {"num_bins": 15, "class_conditional": True, "max_prob": False}
    statistics = um.bin_statistics(*DATA, binning_scheme="adaptive", **options)
    title, header, *rows = columns(repr(statistics))
    assert " ".join(title) == "BinStatistics of 2 groups of 15 adaptive bins"
    assert header[:3] == ["group", "from", "to"]
    assert len(rows) == 21
    assert " ".join(rows[10]) == "... 10 rows ..."
    last = statistics.edges[1, -2:], statistics.counts[1, -1:]
    np.testing.assert_allclose([1, *np.concatenate(last)], np.float64(rows[-1][:4]))


def test_states_show_metric_options_and_arrays():
    arrays = {
        "invalid": np.array(0),
        "units": np.array([3, 0]),
        **dict.fromkeys(("hi", "lo"), np.float32([0.5, 1])),
    }
    state = um.MetricState("Pinball", {"quantiles": [0.5] * 99}, arrays, 2)
    assert columns(repr(state)) == columns("""MetricState of 2 classes
        Pinball(quantiles=[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ...])
        array type shape not zero
        invalid int64 [] 0
        units int64 [2] 1
        hi float32 [2] 2
        lo float32 [2] 2""")


@pytest.mark.parametrize("class_conditional", [False, True])
def test_sketches_show_weights_and_means_of_each_group(class_conditional):
    sketch = um.ScoreSketch(class_conditional=class_conditional, max_prob=False)
    assert repr(sketch).endswith("sketch_bits=None), no examples")
    sketch.update(*DATA, sample_weight=[1, 1, 0, 1])
    title, header, *rows = columns(repr(sketch))
    assert title[0] == "ScoreSketch(positive_class=False,"
    assert header == ["group", "weight", "mean", "score", "mean", "outcome"]
    expected = [[0, 6, 0.5, 0.5]]
    if class_conditional:
        expected = [[0, 3, 1.4 / 3, 2 / 3], [1, 3, 1.6 / 3, 1 / 3]]
    np.testing.assert_allclose(np.float64(rows), expected, atol=5e-3)


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_streaming_errors_show_options_and_result(scheme):
    metric = um.GeneralCalibrationError(scheme, True, False, "l1", num_bins=3)
    assert repr(metric).endswith("ignore_index=None, no examples>")
    metric.update_state(*DATA)
    text = repr(metric)
    assert text.startswith(f"<GeneralCalibrationError binning_scheme='{scheme}', max_")
    assert text.endswith(f", result={metric.result()!r}>")
