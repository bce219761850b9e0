"""The contenders of the cases: of this package, of TensorFlow ops, and of the peers."""

from __future__ import annotations

from harness import (
    ALONE,
    BACKENDS,
    EAGER,
    FAST,
    GRAPH,
    MODES,
    NUMPY,
    OURS,
    PEERS,
    XLA,
    Contender,
)

TENSORFLOW_MODES = MODES[1:]
# What the name of a case says of its mode.
SHORT = {NUMPY: "numpy", EAGER: "eager", GRAPH: "graph", XLA: "jit"}


def times(size: tuple[int, ...]) -> str:
    """Returns a size as a title shows it."""
    return " x ".join(f"10^{len(str(n)) - 1}" if n == 10**6 else str(n) for n in size)


def path_of(what: str, *size: int, of: tuple[int, ...]) -> str:
    """Returns the row of the summary if the size is the one to show, else ""."""
    return f"{what}, {times(size)}" if size == of else ""


def keras_update(name: str, mode: str, **options: int) -> Contender:
    """`update_state` of a Keras metric."""
    return Contender(
        OURS,
        f"**{name}.update_state; {mode}**",
        "ours.keras_update",
        {"name": name, "mode": mode, **options},
        mode=mode,
    )


def ours(
    name: str,
    *modes: str,
    baseline: bool = False,
    quantity: str = "value",
    **options: str | float,
) -> tuple[Contender, ...]:
    """A NumPy function, and its TensorFlow twin in some modes."""
    which = ", ".join(f"{key}={value!r}" for key, value in options.items())
    label = f"{name}({which})" if which else name
    return (
        Contender(
            OURS,
            f"**um.numpy.{label}**",
            "ours.numpy_function",
            {"name": name, **options},
            baseline=baseline,
            quantity=quantity,
            mode=NUMPY,
        ),
        *(
            Contender(
                OURS,
                f"**um.{label}; {mode}**",
                "ours.tensorflow_function",
                {"name": name, "mode": mode, **options},
                quantity=quantity,
                mode=mode,
            )
            for mode in modes
        ),
    )


def with_numba(name: str, **options: str | float) -> Contender:
    """A NumPy function in a process that uses Numba."""
    return Contender(
        FAST,
        f"**um.numpy.{name}; with Numba**",
        "ours.with_numba",
        {"name": name, **options},
        mode=FAST,
    )


def plain(name: str, label: str, *modes: str, **of_contender) -> tuple[Contender, ...]:
    """A formula in TensorFlow ops without any check, in some modes."""
    return tuple(
        Contender(
            OURS,
            f"plain {label}; {mode}",
            "ours.plain_function",
            {"name": name, "mode": mode},
            **of_contender,
        )
        for mode in modes
    )


def alone(
    label: str, part: str, *modes: str, **options: float
) -> tuple[Contender, ...]:
    """A part of the work, a function of `parts`, in some modes."""
    return tuple(
        Contender(
            mode if mode in BACKENDS else OURS,
            f"{ALONE}{label}; {mode}",
            f"parts.{part}",
            {"mode": mode, **options},
            quantity=None,
        )
        for mode in modes
    )


def peer_baseline(label: str, setup: str, **options: str | float | None) -> Contender:
    """Another package, or PyTorch by hand, that may be the 1.00 of its case."""
    return Contender(PEERS, label, f"peers.{setup}", options, baseline=True)


def peer(
    label: str,
    setup: str,
    quantity: str | None = "value",
    **options: str | float | None,
) -> Contender:
    """Another package, or PyTorch by hand. `setup` is "module.function" in `peers`."""
    return Contender(PEERS, label, f"peers.{setup}", options, quantity=quantity)
