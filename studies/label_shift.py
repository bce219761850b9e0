"""What `LabelShift` finds where the true shares of the classes are known.

`python -m studies.label_shift` prints for each law and number of examples, held-out and
new: the mean over classes of how often the 95% interval holds the share of the class,
and the least of these; the mean width of the intervals; how often the interval of the
accuracy holds the mean true probability of the decisions; how often `consistent` is
False; the Brier score of the new data before and after, and in how many data sets it
rose; and how many data sets were refused.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um

_ROUNDED = 1e-12


class Law(NamedTuple):
    """A distribution of held-out and of new data.

    Attributes:
      name: of the law.
      source: share of each class in the held-out data.
      target: share of each class in the new data.
      distance: of the means of the classes, whose scores are Normal.
      slope: the logits of the forecast are this multiple of the true ones, of each
        class.
      bias: and the logit of class 1 this much larger.
      bend: and each logit z is z + bend z^2 sign(z) / 4.
      moved: the scores of all new examples are this much larger in coordinate 1: a
        shift that is not one of classes.
    """

    name: str
    source: tuple[float, ...]
    target: tuple[float, ...]
    distance: float = 1.5
    slope: tuple[float, ...] = (1.0,)
    bias: float = 0.0
    bend: float = 0.0
    moved: float = 0.0


_EVEN = (0.2,) * 5
_UNEVEN = (0.5, 0.3, 0.1, 0.05, 0.05)
LAWS = (
    Law("no shift", (0.7, 0.3), (0.7, 0.3)),
    Law("30% to 2%", (0.7, 0.3), (0.98, 0.02)),
    Law("2% to 30%", (0.98, 0.02), (0.7, 0.3)),
    Law("30% to 2%, overconfident", (0.7, 0.3), (0.98, 0.02), 1.5, (2.0,), 1.0),
    Law("2% to 30%, overconfident", (0.98, 0.02), (0.7, 0.3), 1.5, (2.0,), 1.0),
    Law("30% to 10%, bent", (0.7, 0.3), (0.9, 0.1), bend=1.0),
    Law("balanced weights", (0.9, 0.1), (0.97, 0.03), bias=2.2),
    Law("class 1 absent", (0.7, 0.3), (1.0, 0.0)),
    Law("good classifier", (0.7, 0.3), (0.9, 0.1), 3.0),
    Law("poor classifier", (0.7, 0.3), (0.9, 0.1), 0.5),
    Law("nearly uninformative", (0.7, 0.3), (0.9, 0.1), 0.1),
    Law("5 classes", _EVEN, _UNEVEN),
    Law("5 classes, no shift", _UNEVEN, _UNEVEN),
    Law("5 classes, back", _UNEVEN, _EVEN),
    Law("5 classes, overconfident", _EVEN, _UNEVEN, 1.5, (2.0,), 1.0),
    Law("5 classes, slopes", _EVEN, _UNEVEN, 1.5, (0.7, 1.0, 1.3, 1.6, 2.0)),
    Law("5 classes, 2 absent", _EVEN, (0.5, 0.3, 0.2, 0.0, 0.0)),
    Law("scores moved", (0.7, 0.3), (0.9, 0.1), moved=0.5),
    Law("5 classes, moved", _EVEN, _UNEVEN, moved=0.5),
)


class Data(NamedTuple):
    """Examples: labels [n], true probabilities and forecasts [n, K]."""

    labels: np.ndarray
    true: np.ndarray
    forecasts: np.ndarray


def draw(law: Law, rng: np.random.Generator, n: int, is_new: bool) -> Data:
    """Returns held-out or new examples. The true probabilities are those of the data
    that are drawn, and the forecasts are made for the held-out ones.
    """
    shares = np.array(law.target if is_new else law.source)
    classes = len(shares)
    labels = rng.choice(classes, n, p=shares)
    x = rng.normal(size=(n, classes))
    x[np.arange(n), labels] += law.distance
    if is_new:
        x[:, 0] += law.moved
    evidence = law.distance * x
    with np.errstate(divide="ignore"):
        true = special.softmax(evidence + np.log(shares), axis=1)
    z = evidence + np.log(law.source)
    z -= z.mean(axis=1, keepdims=True)
    z *= law.slope if len(law.slope) > 1 else law.slope[0]
    z += law.bend * z**2 * np.sign(z) / 4
    z[:, 1] += law.bias
    return Data(labels, true, special.softmax(z, axis=1))


def brier(labels: np.ndarray, p: np.ndarray) -> float:
    """Returns the Brier score: of two classes (p - y)^2 of class 1."""
    truth = np.eye(p.shape[1])[labels]
    scores = np.sum((p - truth) ** 2, axis=1)
    return float(np.mean(scores)) / (2 if p.shape[1] == 2 else 1)


class Outcome(NamedTuple):
    """What one data set shows."""

    held: np.ndarray
    width: float
    holds_accuracy: bool
    is_inconsistent: bool
    before: float
    after: float


def outcome(law: Law, held_out: Data, new: Data, options: dict[str, Any]) -> Outcome:
    """Returns what `LabelShift` says of a pair of samples."""
    shift = um.LabelShift(**options).fit(held_out.labels, held_out.forecasts)
    found = shift.adapt(new.forecasts)
    truth = np.array(law.target)
    held = (found.lower - _ROUNDED <= truth) & (truth <= found.upper + _ROUNDED)
    adapted = found.transform(new.forecasts)
    decided = adapted.argmax(axis=1)
    right = float(np.mean(new.true[np.arange(len(decided)), decided]))
    return Outcome(
        held,
        float(np.mean(found.upper - found.lower)),
        found.accuracy_lower <= right <= found.accuracy_upper,
        not found.consistent,
        brier(new.labels, new.forecasts),
        brier(new.labels, adapted),
    )


def row(law: Law, n: int, m: int, arguments: argparse.Namespace) -> str:
    """Returns a row of the table."""
    rng = np.random.default_rng([arguments.seed, n, m, LAWS.index(law)])
    options = {"num_resamples": arguments.resamples}
    if arguments.calibrator:
        options["calibrator"] = getattr(um, arguments.calibrator)
    found, refused = [], 0
    for _ in range(arguments.data_sets):
        held_out, new = draw(law, rng, n, False), draw(law, rng, m, True)
        try:
            found.append(outcome(law, held_out, new, options))
        except ValueError:
            refused += 1
    start = f"{law.name:<26}{n:>6}{m:>6}"
    share = refused / arguments.data_sets
    if not found:
        return f"{start}{'':>58}{share:>9.1%}"
    held = np.mean([each.held for each in found], axis=0)
    means = np.mean([each[1:] for each in found], axis=0)
    rose = np.mean([each.after > each.before for each in found])
    return (
        f"{start}{held.mean():>8.1%}{held.min():>8.1%}{means[0]:>7.3f}{means[1]:>9.1%}"
        f"{means[2]:>9.1%}{means[3]:>8.4f}{means[4]:>8.4f}{rose:>8.1%}{share:>9.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--examples", type=int, nargs="+", default=[200, 5000])
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--laws", nargs="+", default=[law.name for law in LAWS])
    parser.add_argument(
        "--calibrator", help="class of the map; the default of LabelShift"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(
        f"{'law':<26}{'held':>6}{'new':>6}{'inside':>8}{'least':>8}{'width':>7}"
        f"{'accuracy':>9}{'differs':>9}{'before':>8}{'after':>8}{'rose':>8}{'refused':>9}"
    )
    for law in LAWS:
        if law.name in arguments.laws:
            for n in arguments.examples:
                print(row(law, n, n, arguments), flush=True)


if __name__ == "__main__":
    main()
