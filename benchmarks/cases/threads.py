"""Cases of the NumPy functions on two threads, which are compared with one."""

from __future__ import annotations

from harness import NUMPY, OURS, Case, Contender


def _case(name: str, what: str, data: str) -> Case:
    def row(label: str, threads: int, **of_contender) -> Contender:
        options = {"name": name, "threads": threads}
        return Contender(OURS, label, "ours.on_threads", options, **of_contender)

    return Case(
        f"threads-{name.replace('_', '-')}-{data}",
        f"{what}, 50000 x 1000, on two threads",
        (
            row(f"um.numpy.{name}, one thread", 1, baseline=True),
            row(f"**um.numpy.{name}, two threads**", 2, mode=NUMPY),
        ),
        (50000, 1000),
        data,
        path=f"{what}, 50000 x 1000, two threads",
    )


CASES = (
    _case("negative_log_likelihood", "NLL from logits", "logits"),
    _case("brier_score", "Brier score from probabilities", "predictions"),
    _case("brier_score", "Brier score from logits", "logits"),
)
