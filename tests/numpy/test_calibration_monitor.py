"""`CalibrationMonitor`: its e-value by naive products, its promises, its picture."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

import uncertainty_metrics.numpy as um
from tests.makers import VALUES, bad_data

SIZES = (0.05, 0.125, 0.3, 0.8, 2.0)
STRENGTHS = (0.08, 0.2, 0.5, 1.2)


def reserve(t):
    return 1 if t == 0 else 1 / (2 + math.log(t))


def mixture(factors, about, mode):
    """Returns the value of a bet after all examples: the sum over its starts of a stake
    times a product of factors, plus the reserve.

    `about` says for each example whether the bet is about it. A bet that starts at
    another example waits for the next example that it is about.
    """
    n = len(factors)
    last = max((t for t in range(1, n + 1) if about[t - 1]), default=0)
    total = 0.0
    for start in range(1, last + 1):
        stake = 1 if mode == "change" else reserve(start - 1) - reserve(start)
        total += stake * math.prod(
            f
            for f, counts in zip(factors[start - 1 :], about[start - 1 :], strict=True)
            if counts
        )
    return total + (0 if mode == "change" else reserve(last))


def naive_of_outcomes(p, y, mode):
    bins = [min(max(math.ceil(5 * s) - 1, 0), 4) for s in p]
    values = []
    for chosen in (None, *range(5)):
        about = [chosen in (None, b) for b in bins]
        for sign, size in itertools.product((1, -1), SIZES):
            c = math.exp(sign * size) - 1
            factors = [1 + c / (1 + c * s) * (z - s) for s, z in zip(p, y, strict=True)]
            values.append(mixture(factors, about, mode))
    return sum(values) / len(values)


def naive_of_pit(ends, mode):
    x = [-1 + 2 * k / 9 for k in range(10)]
    shapes = [
        x,
        [-v for v in x],
        [2 * v * v - 1 for v in x],
        [1 - 2 * v * v for v in x],
    ]

    def share(low, high, k):
        if low == high:
            return float(min(max(math.ceil(10 * low) - 1, 0), 9) == k)
        inside = min(high, (k + 1) / 10) - max(low, k / 10)
        return max(inside, 0.0) / (high - low)

    spread = [[share(*pair, k) for k in range(10)] for pair in ends]
    bets = []
    for shape in shapes:
        of_strengths = []
        for a in STRENGTHS:
            density = [math.exp(a * v) for v in shape]
            density = [d / (sum(density) / 10) for d in density]
            factors = [sum(map(float.__mul__, density, row)) for row in spread]
            of_strengths.append(mixture(factors, [True] * len(ends), mode))
        bets.append(sum(of_strengths) / 4)
    counts, factors = [0.0] * 10, []
    for row in spread:
        total = sum(counts) + 5
        density = [10 * (c + 0.5) / total for c in counts]
        factors.append(sum(map(float.__mul__, density, row)))
        counts = [0.999 * c + s for c, s in zip(counts, row, strict=True)]
    bets.append(mixture(factors, [True] * len(ends), mode))
    return sum(bets) / 5


def monitored(mode="test", alpha=0.05, **data):
    monitor = um.CalibrationMonitor(alpha, mode=mode, positive_class=True)
    monitor.update(**data)
    return monitor


MODES = pytest.mark.parametrize("mode", ["test", "change"])


@MODES
def test_e_values_equal_naive_products_after_each_example(mode, rng):
    p = rng.random(40)
    p[:6] = 0.0, 1.0, 0.2, 0.4, 0.8, 1.0
    y = (rng.random(40) < p**2).astype(int)
    monitor = um.CalibrationMonitor(mode=mode, positive_class=True)
    for t in range(40):
        monitor.update(y[t : t + 1], p[t : t + 1])
        expected = naive_of_outcomes(p[: t + 1].tolist(), y[: t + 1].tolist(), mode)
        assert monitor.e_value == pytest.approx(expected, rel=1e-9)
        assert monitor.log_e_value == pytest.approx(math.log(expected), abs=1e-9)


@MODES
@pytest.mark.parametrize("points", [True, False])
def test_e_values_of_pit_equal_naive_products(mode, points, rng):
    lower = rng.random(40)
    lower[:3] = 0.0, 0.3, 1.0
    upper = lower if points else lower + rng.random(40) * (1 - lower)
    pit = lower if points else um.regression.PITInterval(lower, upper)
    ends = list(zip(lower.tolist(), upper.tolist(), strict=True))
    monitor = monitored(mode, pit=pit)
    assert monitor.e_value == pytest.approx(naive_of_pit(ends, mode), rel=1e-9)


# Validity.


def test_mean_e_value_over_targets_of_right_quantiles_is_1():
    """Between which quantiles the targets are is all that quantiles tell."""
    levels = [0.05, 0.5, 0.75]
    knots, chances = np.arange(3.0), np.diff([0, *levels, 1])
    mean = 0.0
    for places in itertools.product(range(4), repeat=4):
        targets = np.array(places) - 0.5
        pit = um.regression.quantile_pit(np.tile(knots, (4, 1)), levels, targets)
        mean += np.prod(chances[list(places)]) * monitored("test", pit=pit).e_value
    assert mean == pytest.approx(1, rel=1e-9)


@MODES
def test_mean_e_value_over_all_outcomes_of_a_calibrated_model_is_1(mode):
    """In mode "change" the mean is at most the number of examples instead."""
    p = np.array([0.1, 0.5, 0.9, 0.55, 0.0, 0.35, 0.1])
    mean = most = 0.0
    for y in itertools.product([0, 1], repeat=len(p)):
        chance = np.prod(np.where(y, p, 1 - p))
        value = monitored(mode, labels=np.array(y), probabilities=p).e_value
        mean += chance * value
        most = max(most, value)
    if mode == "test":
        assert mean == pytest.approx(1, rel=1e-9)
    else:  # The bets of a bin lack the stakes since its last example.
        assert 2 < mean <= len(p)
    assert most > 2


@MODES
def test_mean_e_value_over_all_uniform_pit_values_is_1_or_their_number(mode):
    cells = (np.arange(10) + 0.5) / 10
    values = [
        monitored(mode, pit=np.array(pit)).e_value
        for pit in itertools.product(cells, repeat=3)
    ]
    assert np.mean(values) == pytest.approx(1 if mode == "test" else 3, rel=1e-9)


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("kind", ["uniform", "confident", "pit"])
def test_false_alarms_are_rare_however_often_one_looks(kind, rng):
    alpha, streams, n, alarms, wrong = 0.2, 200, 2000, 0, 0
    for _ in range(streams):
        p = rng.random(n) if kind != "confident" else 1 - 0.1 * rng.random(n) ** 2
        y = rng.random(n) < p
        data = {"pit": p} if kind == "pit" else {"labels": y, "probabilities": p}
        alarms += monitored(alpha=alpha, **data).alarm is not None
        variance = np.full(n, 1 / 12) if kind == "pit" else p * (1 - p)
        gaps = p - 0.5 if kind == "pit" else y - p
        z = np.cumsum(gaps) / np.sqrt(np.cumsum(variance))
        wrong += np.any(np.abs(z[30:]) > 1.2816)  # 20% at each look.
    error = np.sqrt(alpha * (1 - alpha) / streams)
    assert alarms / streams < alpha + 4 * error
    assert wrong / streams > alpha + 6 * error


def test_mean_run_length_to_a_false_alarm_is_at_least_1_over_alpha(rng):
    alpha, lengths = 0.01, []
    for _ in range(150):
        monitor = um.CalibrationMonitor(alpha, mode="change", positive_class=True)
        while monitor.alarm is None:
            p = rng.random(200)
            monitor.update(rng.random(200) < p, p)
        lengths.append(monitor.alarm)
    error = np.std(lengths) / np.sqrt(len(lengths))
    assert np.mean(lengths) + 4 * error > 1 / alpha


@pytest.mark.parametrize(("mode", "alpha"), [("test", 0.05), ("change", 1e-4)])
def test_alarm_comes_soon_after_a_change(mode, alpha, rng):
    n, start = 6000, 3000
    p = rng.uniform(0.2, 0.8, n)
    y = rng.random(n) < p - 0.12 * (np.arange(n) >= start)
    monitor = monitored(mode, alpha, labels=y, probabilities=p)
    # The alarm may also come before the change: then it is a false one.
    assert monitor.alarm < start + 2500
    x = rng.normal(size=n) * np.where(np.arange(n) < start, 1, 1.4)
    from scipy.stats import norm

    assert monitored(mode, alpha, pit=norm.cdf(x)).alarm < start + 2500


def test_alarm_is_the_first_example_that_reached_the_bound(rng):
    p = rng.random(800)
    y = rng.random(800) < p**2
    whole = monitored(labels=y, probabilities=p)
    steps, values = um.CalibrationMonitor(positive_class=True), []
    for t in range(800):
        steps.update(y[t], p[t])
        values.append(steps.e_value)
    reached = 1 + int(np.argmax(np.array(values) >= 20))
    assert whole.alarm == steps.alarm == reached
    whole.update(1 - y, p)  # Later examples do not move the alarm.
    assert whole.alarm == reached


# Batches.


@pytest.mark.first(2, "thorough")
@MODES
@pytest.mark.parametrize("kind", ["outcomes", "pit", "intervals"])
def test_batches_of_any_size_give_the_same_values(mode, kind, rng):
    n = 40_000  # More than a block.
    p = rng.random(n)
    y = rng.random(n) < p**1.1

    def update(monitor, part):
        if kind == "outcomes":
            monitor.update(y[part], p[part])
        elif kind == "pit":
            monitor.update(pit=p[part])
        else:
            monitor.update(pit=(0.8 * p[part], 0.8 * p[part] + 0.2 * p[part]))

    whole, parts = (
        um.CalibrationMonitor(mode=mode, positive_class=True) for _ in range(2)
    )
    update(whole, slice(None))
    cuts = np.unique([0, n, *range(300), *rng.integers(0, n, 20)])
    for start, end in itertools.pairwise(cuts):
        update(parts, slice(start, end))
    assert parts.num_examples == whole.num_examples == n
    assert parts.alarm == whole.alarm
    assert parts.log_e_value == pytest.approx(whole.log_e_value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(parts.gap_interval(), whole.gap_interval(), rtol=1e-9)
    (ours,), (theirs,) = (m.plot(None).lines[:1] for m in (whole, parts))
    np.testing.assert_array_equal(ours.get_xdata(), theirs.get_xdata())
    np.testing.assert_allclose(ours.get_ydata(), theirs.get_ydata(), atol=1e-8)


# Scores and outcomes.


def test_labels_and_confidences_have_the_scores_of_calibration_errors(rng):
    p = rng.dirichlet(np.ones(3), 60)
    labels = rng.integers(0, 3, 60)
    decisions = um.CalibrationMonitor()
    decisions.update(labels, p)
    confidences = um.CalibrationMonitor()
    correct = p.argmax(axis=1) == labels
    confidences.update(correct=correct, confidences=p.max(axis=1))
    assert decisions.log_e_value == confidences.log_e_value
    logits = um.CalibrationMonitor()
    logits.update(labels, logits=np.log(p))
    assert logits.log_e_value == pytest.approx(decisions.log_e_value, abs=1e-9)
    # P(class 1) gives the confidence of the decision, unless `positive_class` is set.
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    one, both, event, sure = (
        um.CalibrationMonitor(positive_class=k in (2, 3)) for k in range(4)
    )
    one.update(y, p)
    both.update(y, probs=np.stack([1 - p, p], axis=1))
    event.update(y, p)
    sure.update(correct=y, confidences=p)
    assert one.log_e_value == both.log_e_value
    assert event.log_e_value == sure.log_e_value != one.log_e_value
    assert event.gap_interval().estimate == pytest.approx(np.mean(y - p))
    # A confidence below 1/2 stays as it is, also without `positive_class`.
    low = um.CalibrationMonitor()
    low.update(correct=[1, 1], confidences=[0.3, 0.3])
    assert low.gap_interval().estimate == pytest.approx(0.7)


def test_shapes_and_types_of_the_arguments_make_no_difference(rng):
    p = (rng.integers(0, 65, (4, 5)) / 64).astype(np.float16)
    y = rng.random((4, 5)) < p
    flat = monitored(labels=y.reshape(-1), probabilities=p.reshape(-1).astype(float))
    assert monitored(labels=y, probabilities=p).log_e_value == flat.log_e_value
    assert monitored(correct=y, confidences=p).log_e_value == flat.log_e_value
    column = monitored(labels=y.reshape(-1), probabilities=p.reshape(-1, 1))
    assert column.log_e_value == flat.log_e_value
    assert monitored(labels=1, probabilities=0.5).num_examples == 1
    assert monitored(pit=0.5).num_examples == 1


def test_forecasts_of_0_and_1_that_are_wrong_are_finite_evidence():
    monitor = monitored(labels=[1] * 50, probabilities=[0.0] * 50)
    assert 50 < monitor.log_e_value < 101
    right = monitored(labels=[0, 1] * 50, probabilities=[0.0, 1.0] * 50)
    assert right.e_value == pytest.approx(1)
    assert right.gap_interval().estimate == 0
    # The logarithm is finite even if the e-value is too large for float64.
    monitor.update([1] * 1000, [0.0] * 1000)
    assert monitor.e_value == math.inf
    assert 1000 < monitor.log_e_value < 2101


# The interval of the gap.


def test_interval_of_the_gap_is_the_root_of_the_mixture(rng):
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    monitor = monitored(labels=y, probabilities=p)
    for level in (0.5, 0.95, 0.999):
        v = sum((z - s) ** 2 for z, s in zip(y, p, strict=True))
        bets = [0.9 / 2**k for k in range(24)]

        def wealth(total, v=v, bets=bets, level=level):
            psi = (-math.log(1 - b) - b for b in bets)
            terms = (
                math.exp(b * total - s * v) for b, s in zip(bets, psi, strict=True)
            )
            return sum(terms) / 24 - 2 / (1 - level)

        half = optimize.bisect(wealth, 0, 100, xtol=1e-10) / 200
        lower, mean, upper = monitor.gap_interval(level=level)
        assert mean == pytest.approx(np.mean(y - p), abs=1e-12)
        np.testing.assert_allclose([mean - lower, upper - mean], half, rtol=1e-7)


@pytest.mark.thorough
def test_interval_holds_the_mean_gap_at_all_looks(rng):
    streams, missed = 100, 0
    for _ in range(streams):
        p = rng.uniform(0.2, 0.8, 1000)
        q = p + 0.15 * np.sin(np.arange(1000) / 60)  # The gap comes and goes.
        y = rng.random(1000) < q
        monitor, wrong = um.CalibrationMonitor(positive_class=True), False
        for start in range(0, 1000, 25):
            monitor.update(y[start : start + 25], p[start : start + 25])
            lower, _, upper = monitor.gap_interval(level=0.8)
            wrong |= not lower <= np.mean((q - p)[: start + 25]) <= upper
        missed += wrong
    assert missed / streams < 0.2 + 4 * np.sqrt(0.2 * 0.8 / streams)


def test_interval_for_pit_values_is_about_their_mean_minus_one_half():
    lower, mean, upper = monitored(pit=[0.75]).gap_interval()
    assert (lower, mean, upper) == (-0.5, 0.25, 0.5)
    pit = np.full(1000, 0.7)
    assert 0.1 < monitored(pit=pit).gap_interval().lower < 0.2
    assert monitored(pit=(pit - 0.2, pit + 0.2)).gap_interval().lower > 0.1


# The state.


def test_state_before_the_first_example_and_after_a_reset(rng):
    monitor = um.CalibrationMonitor(positive_class=True)
    change = um.CalibrationMonitor(mode="change")
    assert (monitor.e_value, monitor.log_e_value, monitor.alarm) == (1, 0, None)
    assert (change.e_value, change.log_e_value) == (0, -math.inf)
    for question in (monitor.gap_interval, monitor.plot):
        with pytest.raises(ValueError, match=r"There are no examples .*Received: none"):
            question()
    monitor.update([1] * 100, [0.1] * 100)
    assert monitor.alarm is not None
    monitor.reset()
    assert (monitor.e_value, monitor.alarm, monitor.num_examples) == (1, None, 0)
    monitor.update(pit=[0.5])  # After a reset PIT values are allowed.


def test_repr_has_the_options_and_the_state():
    monitor = um.CalibrationMonitor(0.1, positive_class=False)
    text = "CalibrationMonitor(alpha=0.1, mode='test', positive_class=False)"
    assert repr(monitor) == f"{text}, no examples"
    monitor.update(correct=[1], confidences=[1.0])
    assert repr(monitor) == f"{text}, 1 examples, no alarm, e = 1"
    monitor.update(correct=[0] * 90, confidences=[0.9] * 90)
    assert repr(monitor).startswith(f"{text}, 91 examples, alarm at example ")


def is_taken(bad):
    """Returns whether `update` takes the arguments of bad data."""
    arguments, _ = bad_data(bad)
    return not {"sample_weight", "labels_predicted", "ignore_index"} & {*arguments}


@pytest.mark.parametrize("bad", list(filter(is_taken, VALUES)))
def test_bad_batches_leave_the_monitor_as_it_was(bad):
    arguments, word = bad_data(bad)
    monitor = um.CalibrationMonitor()
    monitor.update([0, 1], [[0.2, 0.8], [0.4, 0.6]])
    before = repr(monitor), monitor.log_e_value
    with pytest.raises(ValueError, match=word) as raised:
        monitor.update(**arguments)
    assert "Received" in str(raised.value)
    assert (repr(monitor), monitor.log_e_value) == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "Either `labels` .* must be given. Received: none"),
        ({"labels": [1]}, "`probabilities` and `logits`"),
        ({"correct": [1]}, "Either .* Received: `correct`"),
        ({"pit": [0.5], "correct": [1], "confidences": [1]}, "Either .*and `pit`"),
        ({"labels": [1], "confidences": [1.0]}, "Either .*`confidences` and `labels`"),
        (
            {"correct": [2], "confidences": [0.5]},
            "`correct` must be booleans, or numbers in",
        ),
        ({"correct": [1], "confidences": [90]}, r"in \[0, 1\]; divide percent by 100"),
        ({"correct": [1, 1], "confidences": [0.9, 1.1]}, "`confidences` must be in"),
        ({"correct": [1], "confidences": [np.nan]}, "`confidences`.*nan"),
        ({"correct": [1, 0], "confidences": [0.5]}, "`confidences` must be of the sha"),
        ({"correct": [1], "confidences": [[0.5, 0.5]]}, "`confidences` must be of the"),
        ({"correct": [], "confidences": []}, "`correct` must hold at least one"),
        ({"pit": [1.5]}, r"`pit` must be in \[0, 1\]"),
        ({"pit": [np.nan]}, "`pit`.*nan"),
        ({"pit": []}, "`pit` must hold at least one"),
        ({"pit": ([0.5], [0.4])}, "`lower` must be <= `upper`"),
        ({"pit": ([0.5, 0.1], [0.6])}, "`lower` must be of the shape of `upper`"),
        (
            {"labels": [2, 0], "probabilities": [[0.1, 0.2, 0.7]] * 2},
            "`positive_class`",
        ),
    ],
)
def test_bad_batches_are_refused_with_the_reason(data, message):
    with pytest.raises(ValueError, match=message) as raised:
        um.CalibrationMonitor(positive_class=True).update(**data)
    assert "Received" in str(raised.value)


def test_a_monitor_takes_either_outcomes_or_pit_values():
    monitor = monitored(pit=[0.5])
    with pytest.raises(ValueError, match=r"batches .* had `pit`: .*Received: outcomes"):
        monitor.update([1], [0.5])
    monitor = monitored(labels=[1], probabilities=[0.5])
    with pytest.raises(ValueError, match=r"batches .* had outcomes: .*Received: `pit`"):
        monitor.update(pit=[0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, r"`alpha` must be in \(0, 1\)"),
        ({"alpha": "x"}, r"`alpha` must be in \(0, 1\)"),
        ({"mode": "always"}, "`mode` must be one of 'test', 'change'"),
        ({"positive_class": 1}, "`positive_class` must be True, False or None"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        um.CalibrationMonitor(**options)
    with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
        monitored(pit=[0.5]).gap_interval(level=1)


# The picture.


def test_picture_has_the_path_the_bound_and_the_alarm(ax, rng):
    p = rng.random(3000)
    y = rng.random(3000) < p**1.5
    monitor = monitored(labels=y, probabilities=p)
    assert monitor.plot(ax) is ax
    path, bound, alarm = ax.lines
    assert 256 <= len(path.get_xdata()) <= 513
    assert path.get_xdata()[-1] == 3000
    assert path.get_ydata()[-1] == pytest.approx(monitor.log_e_value / math.log(10))
    place = int(path.get_xdata()[99])
    before = monitored(labels=y[:place], probabilities=p[:place])
    assert path.get_ydata()[99] == pytest.approx(before.log_e_value / math.log(10))
    assert bound.get_ydata()[0] == pytest.approx(math.log10(20))
    assert alarm.get_xdata()[0] == monitor.alarm
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["E-value", "1 / alpha = 20", f"Alarm at example {monitor.alarm}"]


@pytest.mark.usefixtures("close_figures")
def test_picture_of_one_example_has_a_figure_of_its_own():
    ax = monitored(pit=[0.5]).plot()
    ax.get_figure().draw_without_rendering()
    assert len(ax.lines) == 2
