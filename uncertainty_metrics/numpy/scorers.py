"""Scorers for scikit-learn, made of functions of labels and probabilities.

The module does not import scikit-learn.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics import _checks, _directions
from uncertainty_metrics._calibration_spec import is_required
from uncertainty_metrics.numpy import _missing
from uncertainty_metrics.numpy.scoring import scoring_rules

__all__ = ["make_scorers"]

_DEFAULT = (
    *("accuracy", "negative_log_likelihood", "brier_score"),
    *("ece", "smooth_calibration_error"),
)
_OF_DECISIONS = (um_np.ece, um_np.mce, um_np.rmsce)
# What a scorer gets from scikit-learn, and arguments that change what is returned.
_OF_EXAMPLES = (
    *("labels", "probabilities", "logits", "correct", "confidences", "sample_weight"),
    *("label_distributions", "labels_predicted", "clusters", "aggregate", "groups"),
    *("num_groups", "per_image", "probs", "losses", "multilabel", "ignore_index"),
)


@dataclasses.dataclass(frozen=True)
class Scorer:
    """A scorer of classifiers: larger is better.

    Attributes:
      metric: name of a public function of labels and probabilities.
      options: options of this function.
    """

    metric: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the score; "neg_" tells that the sign of an error is changed."""
        return self.metric if self._larger_is_better else f"neg_{self.metric}"

    @property
    def _larger_is_better(self) -> bool:
        name = getattr(um_np, self.metric).__name__  # The metric may be an alias.
        return _directions.direction(name) == "larger"

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Returns the score of a fitted classifier."""
        labels, probabilities = _aligned(
            estimator.classes_, y, estimator.predict_proba(X)
        )
        function = getattr(um_np, self.metric)
        options: dict[str, Any] = {"sample_weight": sample_weight, **self.options}
        two_classes = probabilities.shape[1] == 2
        takes_form = "positive_class" in inspect.signature(function).parameters
        if takes_form and two_classes:
            # As scorers of scikit-learn do. It is no column that a user passed, so the
            # errors that score its decisions do not warn.
            probabilities = probabilities[:, 1]
            if function in _OF_DECISIONS:
                options.setdefault("positive_class", False)
        follows_scikit_learn = (
            function is um_np.brier_score and "zero_based" not in self.options
        )
        if follows_scikit_learn:
            options["zero_based"] = True
        value = float(function(labels, probabilities, **options))
        if follows_scikit_learn:
            value = scoring_rules.of_one_outcome(value, two_classes)
        return value if self._larger_is_better else -value


def _aligned(
    classes: ArrayLike, labels: ArrayLike, probabilities: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Returns labels as numbers, and the probabilities of all classes; a class that the
    classifier was not fitted with has 0.
    """
    labels, missing = _missing.read_words("y", labels)
    if np.any(missing):
        raise _checks.error("y", "a label everywhere", "missing labels", verb="hold")
    all_classes, index = np.unique(
        np.concatenate([np.asarray(classes), labels.reshape(-1)]), return_inverse=True
    )
    fitted, labels = np.split(index, [np.size(classes)])
    probabilities = np.asarray(probabilities)
    shape = len(probabilities), max(len(all_classes), 2)
    columns = np.zeros(shape, probabilities.dtype)
    columns[:, fitted] = probabilities
    return labels, columns


def _is_metric(name: str) -> bool:
    function = getattr(um_np, name)
    if not inspect.isfunction(function) or name == "threshold_at_risk":
        return False
    signature = inspect.signature(function)
    first, *options = signature.parameters.values()
    return (
        first.name == "labels"
        and [option.name for option in options[:1]] == ["probabilities"]
        and not any(map(is_required, options))
        and str(signature.return_annotation).startswith("float")
    )


def make_scorers(
    *metrics: str | Sequence[str],
    **options: Any,  # Of any of the metrics, and checked against their signatures.
) -> dict[str, Scorer]:
    """Scorers for `cross_validate` and `GridSearchCV` of scikit-learn.

    Each calls the classifier's `predict_proba`. Its classes may be of any type, and a
    fold may lack one: labels are matched with `classes_`, and a class that the
    classifier has not seen has the probability 0.

    Args:
      *metrics: names of functions of labels and probabilities that return one number,
        such as "ece" or "aurc", or a list of them; by default accuracy, negative
        log-likelihood, Brier score, ECE and smooth calibration error. For two classes,
        functions with the argument `positive_class` get the column of class 1, as from
        scikit-learn: "ece", "mce" and "rmsce" score its decisions, the others P(class
        1) itself, or both classes ("sce", "ace", "tace"). "brier_score" is that of
        scikit-learn: for two classes the mean of (y - p)^2, for more classes the mean
        of sum_k (p_k - (k == y))^2; with `zero_based` it is what the function returns.
      **options: options of the functions, such as `num_bins=20`. Each metric gets those
        that its function has; an option that none of them has is refused.

    Returns:
      A dict of scorers by the names "accuracy", "neg_ece" and so on, which take
      (estimator, X, y, sample_weight=None) and can be pickled. Larger is better:
      scorers named "neg_" return minus the value.

    Raises:
      ValueError: a name is not that of such a function, or an option is none of theirs.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> scorers = um.make_scorers("accuracy", "ece", num_bins=20)
      >>> sorted(scorers)
      ['accuracy', 'neg_ece']
    """
    names: list[Any] = []
    for given in metrics:
        names += [given] if isinstance(given, str) or given is None else given
    metric_names = [name for name in dir(um_np) if _is_metric(name)]
    for name in names:
        _checks.one_of("metrics", name, metric_names)
    names = names or [*_DEFAULT]
    own = {name: _options_of(name) for name in names}
    for option in options:
        _checks.one_of("options", option, sorted(set().union(*own.values())))
    scorers = [
        Scorer(name, {key: options[key] for key in options if key in own[name]})
        for name in names
    ]
    return {scorer.key: scorer for scorer in scorers}


def _options_of(metric: str) -> list[str]:
    """Returns the options of a metric that describe no single examples."""
    parameters = inspect.signature(getattr(um_np, metric)).parameters
    return [name for name in parameters if name not in _OF_EXAMPLES]
