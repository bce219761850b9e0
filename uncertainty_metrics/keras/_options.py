"""The options of metrics and losses; those that many classes have are written once.

A class lists the names of its options, in order. `with_options` makes its constructor,
its configuration, the checks and the docstring.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar, get_args

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS, BinningScheme, Norm
from uncertainty_metrics.keras import _base, _loss
from uncertainty_metrics.keras._scorers import ScaleTransform

_REQUIRED = inspect.Parameter.empty
_Class = TypeVar("_Class", bound=type)


class Option(NamedTuple):
    """An argument of constructors.

    Attributes:
      kind: the type.
      default: the default value; without it the argument is required.
      check: called with name and value, returns the value or raises ValueError; None if
        the argument is checked elsewhere.
      prose: its description in the docstrings of classes that do not describe it.
    """

    kind: Any
    default: Any = _REQUIRED
    check: Callable[[str, Any], Any] | None = None
    prose: str = ""


def flag(prose: str = "") -> Option:
    """Returns an option that is False by default."""
    return Option(bool, False, _boolean, prose)


def _boolean(name: str, value: Any) -> Any:
    _checks.boolean(name, value)
    return value


def one_of(options: Any) -> Option:
    """Returns a required option that takes the values of a `Literal`."""

    def check(name: str, value: Any) -> Any:
        _checks.one_of(name, value, get_args(options))
        return value

    return Option(options, check=check)


def _or_none(name: str, value: Any) -> Any:
    return None if value is None else _checks.positive_integer(name, value)


def _boolean_or_none(name: str, value: Any) -> Any:
    _checks.boolean_or_none(name, value)
    return value


def _ternary(name: str, value: Any) -> Any:
    _checks.one_of(name, value, (None, True, False))
    return value


def _positive_class(of_none: str) -> Option:
    """Returns the option `positive_class`, with what None means."""
    return Option(
        bool | None,
        None,
        _boolean_or_none,
        "for two classes, True scores P(class 1) against `label == 1`, and False the "
        f"decision. {of_none} With True the metric takes answers without classes, "
        "too: `y_true` is whether each answer is right, 1 or 0, and `y_pred` the "
        "confidence in [0, 1], of the same shape; a confidence of 0.3 is read as 0.3, "
        "not as 0.7 of another class.",
    )


SHARED = {
    "binning_scheme": Option(
        BinningScheme, prose='"even" (equal width) or "adaptive" (equal mass).'
    ),
    "max_prob": Option(
        bool,
        prose="whether a score is the probability of the decision label (True) or of "
        "every class (False).",
    ),
    "class_conditional": Option(
        bool, prose="whether every class is a group of its own."
    ),
    "norm": Option(Norm, prose='"l1", "l2" or "max".'),
    "num_bins": Option(int, DEFAULT_NUM_BINS, prose="number of bins."),
    "threshold": Option(
        float, 0.0, prose="scores at or below it are dropped; 0.0 drops none."
    ),
    "num_classes": Option(
        int | None,
        None,
        _or_none,
        "number of classes K; by default that of the first batch.",
    ),
    "from_logits": flag("whether `y_pred` holds logits instead of probabilities."),
    "ignore_index": Option(
        int | None,
        None,
        _checks.ignored_label,
        "examples with this label are left out.",
    ),
    "name": Option(str | None, None, prose="name of the metric."),
    "dtype": Option(
        Any, None, prose='"float64" for a float64 result; the state keeps its own type.'
    ),
    "positive_class": _positive_class(
        "None means False; a metric of decisions then warns if `y_pred` of the first "
        "batch is one column, P(class 1)."
    ),
    "sparse_labels": Option(
        bool | None,
        None,
        _ternary,
        "whether labels are integers (True) or one-hot (False). By default they are "
        "one-hot if `y_true` has the shape of `y_pred`, [..., K].",
    ),
    "sketch_bits": Option(
        int | None,
        None,
        lambda name, value: _checks.sketch_bits(value),
        "for adaptive bins: log2 of the cells for each halving of p, or of 1 - p above "
        "1/2, of a grid that is equally fine everywhere relative to p and to 1 - p, "
        "instead of the default grid.",
    ),
    "multilabel": flag(
        "whether an example has L labels that are each 0 or 1: `y_true` [..., L] holds "
        "the labels, and `y_pred` of the same shape P(label is 1), the scores. All "
        "labels together are one group; with class-wise groups, each label is."
    ),
    "num_groups": Option(
        int | None,
        None,
        lambda name, value: None if value is None else _checks.bins(name, value),
        "number of groups of examples. `y_true` is then a dict of `labels` and "
        "`groups`, integers in [0, `num_groups`) broadcastable to the labels. The "
        "result is a dict, too: `<name>_0` and so on are the values of the groups, NaN "
        "for an empty group, and `<name>_worst` is the worst of them.",
    ),
    "ensemble_axis": Option(int, 1, prose="axis of the members in `y_pred`."),
    "scale_transform": Option(
        ScaleTransform,
        "softplus",
        prose="how the scale parameter x becomes the standard deviation: "
        '"softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the '
        'root of x >= 0; or "log_variance", e^(x / 2).',
    ),
    "reduction": Option(
        _loss.Reduction,
        "sum_over_batch_size",
        prose='"sum_over_batch_size", "sum" or "none".',
    ),
}
POSITIVE_CLASS_BY_FORM = _positive_class(
    "None means True if `y_pred` of the first batch is one column, P(class 1), else "
    "False; batches of the other form are then refused."
)
_OF_LOSSES = {
    "name": "name of the loss.",
    "dtype": 'type of the arithmetic; under Keras 3, "float64" keeps the precision of '
    "float64 predictions.",
    "ignore_index": "examples with this label are left out, and do not count in the "
    "mean.",
}
_RAISED = (
    "an argument is not as described. For a wrong batch, `update_state` raises it in "
    "eager execution and keeps the state; a compiled update makes the result NaN until "
    "`reset_state`."
)
_RAISED_BY_LOSSES = (
    "an argument is not as described; for wrong labels and predictions only in eager "
    "execution."
)


def check_direction(metric: type[_base.SumsMetric]) -> None:
    """Raises TypeError unless a metric says which of its values are better."""
    direction = getattr(metric, "_direction", None)
    if direction in (("up", "down") if metric._has_direction else (None,)):
        return
    raise TypeError(
        f"{_place(metric)} must say which values are better. Write `_direction = "
        '"down"` into it for smaller ones, `_direction = "up"` for larger ones, or '
        "`_has_direction = False` if neither is better. "
        f"Received: _direction={direction!r}, _has_direction={metric._has_direction}"
    )


def _place(made: type) -> str:
    return f"{made.__module__.replace('.', '/')}.py: the class {made.__name__}"


def with_options(
    parameters: str,
    name: str | None = None,
    register: Callable[[Any], Any] = _base.register,
    functions: ModuleType = um_np,
    **own: Option,
) -> Callable[[_Class], _Class]:
    """Returns a decorator that gives a metric or a loss its options, and registers the
    class for saving.

    The constructor checks the arguments and passes them to `_set_up`, by name.

    Args:
      parameters: the names of its arguments, as in a signature; arguments after a `*`
        are keyword-only.
      name: default of the argument `name`.
      register: registers the class.
      functions: the module of the function that `_function` of the class, or else
        `name`, names. The class has the references of this function.
      **own: options that other classes do not have, or have with another default.

    Raises:
      TypeError: an argument is described nowhere, or a metric has no direction.
    """
    positional, _, named = parameters.replace(" ", "").partition("*")
    listed = {
        inspect.Parameter.POSITIONAL_OR_KEYWORD: filter(None, positional.split(",")),
        inspect.Parameter.KEYWORD_ONLY: filter(None, named.split(",")),
    }
    shared = {**SHARED, "name": SHARED["name"]._replace(default=name)}

    def decorator(made: _Class) -> _Class:
        options: dict[str, Option] = {}
        signature = []
        for kind, names in listed.items():
            for key in names:
                option = own.get(key) or shared.get(key)
                if option is None:
                    raise TypeError(
                        f"{_place(made)} has the option {key!r}, which is not in "
                        f"SHARED. Pass `{key}=Option(...)` to `with_options`"
                    )
                options[key] = option
                parameter = inspect.Parameter(key, kind, default=option.default)
                signature.append(parameter)
        is_loss = issubclass(made, _loss.Loss)
        if issubclass(made, _base.SumsMetric):
            check_direction(made)
        prose = {
            key: option.prose or shared.get(key, option).prose
            for key, option in options.items()
        }
        if is_loss:
            prose |= {key: _OF_LOSSES[key] for key in prose.keys() & _OF_LOSSES}
        function = getattr(made, "_function", None) or name
        made.__doc__ = _class_docstring(
            _place(made),
            made.__doc__ or "",
            prose,
            _RAISED_BY_LOSSES if is_loss else _RAISED,
            getattr(functions, str(function), None),
        )
        made._options = options  # type: ignore[attr-defined]
        made._own = tuple(key for key in own if key not in shared)  # type: ignore[attr-defined]
        made.__init__ = _constructor(made, options, signature)  # type: ignore[misc]
        return register(made)

    return decorator


def _constructor(
    made: type, options: dict[str, Option], signature: list[inspect.Parameter]
) -> FunctionType:
    """Returns an `__init__` of this signature, which calls `_set_up`."""

    def set_up(self: Any, **arguments: Any) -> None:
        for name, (_, _, check, _) in options.items():
            if check is not None:
                arguments[name] = check(name, arguments[name])
        self._set_up(**arguments)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    written = [itself.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    names = {"_set_up": set_up}
    for parameter in signature:
        if parameter.default is not _REQUIRED:
            names[f"_{parameter.name}"] = parameter.default
            parameter = parameter.replace(default=_Name(f"_{parameter.name}"))
        written.append(parameter)
    passed = ", ".join(f"{name}={name}" for name in options)
    # As in `dataclasses`, so that wrong calls raise the same errors as for any
    # function.
    code = f"def __init__{inspect.Signature(written)}: _set_up(self, {passed})"
    exec(code, names)
    constructor: Any = names["__init__"]
    constructor.__qualname__ = f"{made.__qualname__}.__init__"
    constructor.__module__ = made.__module__
    kinds = {name: option.kind for name, option in options.items()}
    constructor.__annotations__ = {**kinds, "return": None}
    return constructor


class _Name(str):
    __repr__ = str.__str__


class Metric(_base.SumsMetric):
    """A metric whose options are attributes."""

    _options: dict[str, Option]
    _own: tuple[str, ...]
    # The name of the function whose value the class streams, also the default `name`.
    _function: str | None = None

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        super().__init__(name=name or self._function, dtype=dtype)
        for option, value in options.items():
            setattr(self, option, value)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        own = (name for name in self._options if name not in ("name", "dtype"))
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}


_HEADINGS = ("Args", "Attributes", "Raises", "Example", "References")
_IMPORT = "  >>> import uncertainty_metrics as um\n"


def _class_docstring(
    place: str,
    text: str,
    shared: Mapping[str, str],
    raises: str,
    function: Callable[..., Any] | None,
) -> str:
    """Returns the docstring of a class, with the prose that it shares with others.

    Args:
      place: the file and the name of the class, for errors.
      text: the docstring as written, with the descriptions of the class alone.
      shared: the shared description of each argument, in order; "" if there is none.
      raises: when a ValueError is raised, for a class that does not say it.
      function: has the references, for a class that has none of its own.

    Raises:
      TypeError: an argument is described nowhere, or a description is of no argument.
    """
    head, parts = _split(text)
    _, of_function = _split(getattr(function, "__doc__", None) or "")
    if "References" in of_function:
        parts.setdefault("References", of_function["References"])
    entries = r"^  (\w+): (.*\n(?:    .*\n)*)"
    own = dict(re.findall(entries, parts.get("Args", ""), flags=re.MULTILINE))
    described = {name: own.get(name) or prose for name, prose in shared.items()}
    unknown = [*(own.keys() - shared), *(k for k, v in described.items() if not v)]
    if unknown:
        raise TypeError(
            f"{place} must describe each of its options, and nothing else, below "
            f"`Args:`. Received: {', '.join(unknown)}, not an option or not described"
        )
    parts["Args"] = "".join(map(_entry, described.items()))
    raised = dict(re.findall(entries, parts.get("Raises", ""), flags=re.MULTILINE))
    raised.setdefault("ValueError", raises)
    parts["Raises"] = "".join(map(_entry, raised.items()))
    if "Example" in parts:
        parts["Example"] = _IMPORT + parts["Example"]
    listed = (f"{k}:\n{parts[k].rstrip()}" for k in _HEADINGS if k in parts)
    return "\n\n".join([head.rstrip(), *listed])


def _split(text: str) -> tuple[str, dict[str, str]]:
    """Returns a docstring up to its first heading, and what is below each heading."""
    names = "|".join(_HEADINGS)
    text = inspect.cleandoc(text) + "\n"
    head, *rest = re.split(rf"^({names}):\n", text, flags=re.MULTILINE)
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _entry(described: tuple[str, str]) -> str:
    said = re.sub(r"\s+", " ", ": ".join(described))
    return textwrap.fill(said, 84, initial_indent="  ", subsequent_indent="    ") + "\n"
