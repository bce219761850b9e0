"""Calibrated classifiers and reliability diagrams with scikit-learn's interfaces.

    from uncertainty_metrics.sklearn import Calibrated, ReliabilityDisplay

No other module of the package imports scikit-learn. Scorers are made by `make_scorers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy.calibrators._calibrator import Calibrator

if not TYPE_CHECKING:
    _optional.require("sklearn")

from sklearn import base, frozen, model_selection, utils
from sklearn.utils import metadata_routing, multiclass, validation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

__all__ = ["Calibrated", "ReliabilityDisplay"]

_METHODS: dict[str, type[Calibrator]] = {
    "temperature": um.TemperatureScaling,
    "vector": um.VectorScaling,
    "matrix": um.MatrixScaling,
    "platt": um.PlattScaling,
    "quadratic": um.QuadraticCalibration,
    "spline": um.SplineCalibration,
    "beta": um.BetaCalibration,
    "isotonic": um.IsotonicCalibration,
    "venn_abers": um.VennAbersCalibration,
    "histogram": um.HistogramBinning,
}


class Calibrated(base.ClassifierMixin, base.MetaEstimatorMixin, base.BaseEstimator):
    """A classifier whose probabilities are mapped to calibrated ones.

    `fit` fits the map to out-of-fold forecasts of the classifier, so that it sees no
    forecast of an example that the classifier was trained on, and then the classifier
    to all examples. The map is one for all folds (`ensemble=False` of scikit-learn's
    `CalibratedClassifierCV`), which keeps one classifier to explain and to store.

    Args:
      estimator: a classifier with `predict_proba` or `decision_function`; a
        `sklearn.frozen.FrozenEstimator` of a fitted one is not fitted again, and the
        map is fitted to its forecasts of all examples, which must not be those that it
        was trained on.
      method: the map: "quadratic", "spline", "temperature", "vector", "matrix",
        "platt", "beta", "isotonic", "venn_abers" or "histogram"; or a calibrator of
        this package with its options, such as `um.VectorScaling(ridge=0.1)`, of which a
        new one is fitted. Maps with a penalty ("quadratic", "spline", "vector" and
        "matrix") fit any forecasts; "temperature" refuses forecasts that are never
        wrong.
      cv: how the out-of-fold forecasts are made: a number of folds, which are
        stratified, or a splitter of scikit-learn, such as `GroupKFold`, to which `fit`
        passes `groups` by metadata routing.

    Attributes:
      estimator_: the classifier, fitted to all examples.
      calibrator_: the fitted map.
      classes_: the labels of the classes, sorted, [K].
      n_features_in_: number of features that the classifier saw, if it tells.
      feature_names_in_: their names, if the classifier tells.

    With metadata routing, `sample_weight` goes to the map if it is requested of this
    classifier (`set_fit_request(sample_weight=True)`), and to `estimator` if it is
    requested of that one. Without it, it goes to both; `estimator` must take it.

    Example:
      >>> from sklearn.datasets import load_breast_cancer
      >>> from sklearn.model_selection import cross_val_predict
      >>> from sklearn.naive_bayes import GaussianNB
      >>> import uncertainty_metrics.numpy as um
      >>> from uncertainty_metrics.sklearn import Calibrated
      >>> x, y = load_breast_cancer(return_X_y=True)
      >>> for model in (GaussianNB(), Calibrated(GaussianNB())):
      ...     p = cross_val_predict(model, x, y, method="predict_proba")
      ...     print(round(um.negative_log_likelihood(y, p), 2))
      0.72
      0.16

    References:
      Platt (1999), Probabilistic Outputs for Support Vector Machines and Comparisons to
      Regularized Likelihood Methods. Guo et al. (2017), On Calibration of Modern Neural
      Networks.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str | Calibrator = "quadratic",
        cv: Any = 5,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        **params: Any,  # What metadata routing passes to the classifier and splitter.
    ) -> Self:
        """Fits the map to out-of-fold forecasts, and the classifier to all examples.

        Args:
          X: what the classifier takes, n examples.
          y: labels of any type, [n].
          sample_weight: weight of each example, [n].
          **params: arguments of the classifier and the splitter, by metadata routing.

        Returns:
          The object itself.

        Raises:
          ValueError: an argument is not as described, or a fold of the training lacks a
            class.
        """
        X, y = utils.indexable(X, y)
        y = validation.column_or_1d(y, warn=True)
        utils.assert_all_finite(y, input_name="y")
        multiclass.check_classification_targets(y)
        calibrator = self._new_calibrator()
        if sample_weight is not None:
            sample_weight = validation._check_sample_weight(sample_weight, X)
        for_estimator, for_splitter = self._routed(sample_weight, params)
        classes = np.unique(y)
        labels = np.searchsorted(classes, y)
        if isinstance(self.estimator, frozen.FrozenEstimator):
            estimator = self.estimator
            classes = np.asarray(estimator.classes_)
            labels = _codes(classes, y)
            forecasts = _forecasts(estimator, X)
        else:
            splitter = model_selection.check_cv(self.cv, y, classifier=True)
            folds = splitter.split(X, y, **for_splitter)
            forecasts = self._out_of_fold(X, y, classes, folds, for_estimator)
            estimator = base.clone(self.estimator).fit(X, y, **for_estimator)
        kind, values = forecasts
        given: dict[str, Any] = {kind: values}
        self.calibrator_ = calibrator.fit(labels, **given, sample_weight=sample_weight)
        self.estimator_, self.classes_ = estimator, classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns calibrated probabilities, [n, K].

        Args:
          X: what the classifier takes, n examples.

        Raises:
          NotFittedError: there was no fit.
        """
        validation.check_is_fitted(self)
        kind, values = _forecasts(self.estimator_, X)
        given: dict[str, Any] = {kind: values}
        mapped = self.calibrator_.transform(**given)
        if kind == "logits":
            from scipy import special

            if mapped.ndim == 1:
                mapped = np.stack([np.zeros_like(mapped), mapped], axis=1)
            return special.softmax(mapped, axis=1)
        return mapped

    def predict(self, X: Any) -> np.ndarray:
        """Returns the class of the largest calibrated probability, [n].

        Args:
          X: what the classifier takes, n examples.
        """
        decided = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[decided]

    def get_metadata_routing(self) -> metadata_routing.MetadataRouter:
        """Returns to whom `fit` passes its arguments; called by scikit-learn."""
        fits = metadata_routing.MethodMapping().add(caller="fit", callee="fit")
        splits = metadata_routing.MethodMapping().add(caller="fit", callee="split")
        return (
            metadata_routing.MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=fits)
            .add(splitter=self.cv, method_mapping=splits)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = utils.get_tags(self.estimator).input_tags.sparse
        return tags

    def _new_calibrator(self) -> Calibrator:
        if isinstance(self.method, Calibrator):
            return type(self.method)(**self.method.get_config())
        _checks.one_of("method", self.method, tuple(_METHODS))
        return _METHODS[self.method]()

    def _routed(
        self, sample_weight: np.ndarray | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments of the `fit` of the classifier, and of the splitter."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if metadata_routing.get_routing_for_object(self) is not None and (
            _routing_is_enabled()
        ):
            routed = metadata_routing.process_routing(self, "fit", **weights, **params)
            return routed.estimator.fit, routed.splitter.split
        if params:
            raise _checks.type_error(
                "fit",
                "called with X, y and sample_weight; metadata routing of scikit-learn "
                "passes other arguments",
                sorted(params),
            )
        return weights, {}

    def _out_of_fold(
        self,
        X: Any,
        y: np.ndarray,
        classes: np.ndarray,
        folds: Any,
        params: dict[str, Any],
    ) -> tuple[str, np.ndarray]:
        """Returns the kind of the forecasts, and those of classifiers that were fitted
        to the other folds, [n] or [n, K].
        """
        kind, found = "", np.zeros(0)
        seen = np.zeros(len(y), bool)
        for train, test in folds:
            if len(np.unique(y[train])) < len(classes):
                raise _checks.error(
                    "cv",
                    "folds whose training examples have all classes: fewer folds, or "
                    "more examples of the rarest class",
                    "a class with too few examples",
                    verb="hold",
                )
            own = validation._check_method_params(X, params, train)
            fitted = base.clone(self.estimator)
            fitted.fit(utils._safe_indexing(X, train), y[train], **own)
            kind, values = _forecasts(fitted, utils._safe_indexing(X, test))
            if not seen.any():
                found = np.zeros((len(y), *values.shape[1:]), values.dtype)
            found[test], seen[test] = values, True
        if not seen.all():
            raise _checks.error(
                "cv",
                "folds that hold each example",
                "a splitter that leaves some out",
                verb="hold",
            )
        return kind, found


def _routing_is_enabled() -> bool:
    from sklearn import get_config

    return bool(get_config()["enable_metadata_routing"])


def _forecasts(estimator: Any, X: Any) -> tuple[str, np.ndarray]:
    """Returns "probabilities" or "logits", and the forecasts, [n] or [n, K]."""
    if hasattr(estimator, "predict_proba"):
        return "probabilities", np.asarray(estimator.predict_proba(X))
    if hasattr(estimator, "decision_function"):
        return "logits", np.asarray(estimator.decision_function(X))
    raise _checks.type_error(
        "estimator",
        "a classifier with `predict_proba` or `decision_function`",
        estimator,
    )


def _codes(classes: np.ndarray, y: Any) -> np.ndarray:
    """Returns the numbers of the classes of labels, [n]."""
    unknown = ~np.isin(y, classes)
    if np.any(unknown):
        raise _checks.error(
            "y",
            "labels of the classes that the frozen classifier was fitted with",
            np.unique(y[unknown]).tolist(),
            verb="hold",
        )
    order = np.argsort(classes)
    return order[np.searchsorted(classes, y, sorter=order)]


class ReliabilityDisplay:
    """A reliability diagram, as scikit-learn's displays: computed, then drawn.

    Args:
      curve: the means of the bins, a `ReliabilityCurve`.
      arguments: the labels and forecasts that the diagram draws, by name.
      name: of the model, for the legend.

    Attributes:
      curve: the means of the bins, as `um.reliability_curve` returns them.
      ax_: the Axes of the last drawing.
      figure_: their figure.

    Example:
      >>> from sklearn.datasets import load_breast_cancer
      >>> from sklearn.naive_bayes import GaussianNB
      >>> from uncertainty_metrics.sklearn import ReliabilityDisplay
      >>> x, y = load_breast_cancer(return_X_y=True)
      >>> display = ReliabilityDisplay.from_estimator(GaussianNB().fit(x, y), x, y)
      >>> display.ax_.get_ylabel()
      'Observed relative frequency'
    """

    def __init__(
        self, *, curve: Any, arguments: dict[str, Any], name: str | None = None
    ) -> None:
        self.curve, self.name = curve, name
        self._arguments = arguments

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        num_bins: int = 15,
        method: str = "bins",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draws the diagram of a fitted classifier.

        Args:
          estimator: a fitted classifier with `predict_proba`.
          X: what it takes, n examples.
          y: labels of any type, [n].
          sample_weight: weight of each example, [n].
          pos_label: of two classes, the one whose probability is drawn; by default the
            second of `estimator.classes_`. For more classes decisions are drawn.
          num_bins: number of bins.
          method: "bins", "isotonic", "smooth" or "spline", as in
            `um.reliability_diagram`.
          name: of the model, for the legend; by default the name of its class.
          ax: where to draw; by default a new figure.

        Returns:
          The display, drawn.
        """
        validation.check_is_fitted(estimator)
        name = type(estimator).__name__ if name is None else name
        p = np.asarray(estimator.predict_proba(X))
        classes = np.asarray(estimator.classes_)
        if len(classes) == 2:
            place = 1 if pos_label is None else int(_codes(classes, [pos_label])[0])
            return cls.from_predictions(
                y,
                p[:, place],
                sample_weight=sample_weight,
                pos_label=classes[place],
                num_bins=num_bins,
                method=method,
                name=name,
                ax=ax,
            )
        return cls._drawn(
            {"labels": _codes(classes, np.asarray(y)), "probabilities": p},
            sample_weight,
            num_bins,
            method,
            name,
            ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        num_bins: int = 15,
        method: str = "bins",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draws the diagram of probabilities.

        Args:
          y_true: labels of two classes, [n].
          y_prob: the probability of `pos_label`, [n].
          sample_weight: weight of each example, [n].
          pos_label: the class whose probability it is; by default 1 of the labels 0 and
            1, or of -1 and 1. Other labels need it.
          num_bins: number of bins.
          method: "bins", "isotonic", "smooth" or "spline", as in
            `um.reliability_diagram`.
          name: of the model, for the legend.
          ax: where to draw; by default a new figure.

        Returns:
          The display, drawn.
        """
        y_true = validation.column_or_1d(y_true)
        y_prob = validation.column_or_1d(y_prob)
        validation.check_consistent_length(y_true, y_prob, sample_weight)
        pos_label = validation._check_pos_label_consistency(pos_label, y_true)
        return cls._drawn(
            {
                "labels": (y_true == pos_label).astype(np.int64),
                "probabilities": y_prob,
                "positive_class": True,
            },
            sample_weight,
            num_bins,
            method,
            name,
            ax,
        )

    @classmethod
    def _drawn(
        cls,
        arguments: dict[str, Any],
        sample_weight: ArrayLike | None,
        num_bins: int,
        method: str,
        name: str | None,
        ax: Axes | None,
    ) -> ReliabilityDisplay:
        given = {
            **arguments,
            "sample_weight": sample_weight,
            "num_bins": num_bins,
        }
        curve = um.reliability_curve(**given)
        display = cls(curve=curve, arguments={**given, "method": method}, name=name)
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draws the diagram again.

        Args:
          ax: where to draw; by default a new figure.

        Returns:
          The display itself.
        """
        given = dict(self._arguments)
        if self.name is not None:
            given["probabilities"] = {self.name: given["probabilities"]}
        self.ax_ = um.reliability_diagram(**given, ax=ax)
        self.figure_ = self.ax_.figure
        return self
