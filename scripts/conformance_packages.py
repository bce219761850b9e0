"""Calls of the packages of `conformance_table.py`, and notes on their differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# By definition, the function that computes it from the inputs of a vector. A function
# that has no parameter for an input, or raises NotImplementedError, has no such option.
Functions = dict[str, Callable[..., Any]]


def _rows(probabilities):
    """Returns a probability for each class, also if only P(class 1) is given."""
    import numpy as np

    p = np.asarray(probabilities, np.float64)
    return np.stack([1 - p, p], axis=-1) if p.ndim == 1 else p


def _torchmetrics() -> Functions:
    import torch
    from torchmetrics.functional import classification as c
    from torchmetrics.functional import kl_divergence
    from torchmetrics.functional.regression import (
        continuous_ranked_probability_score as crps,
    )

    def floats(value):
        return torch.as_tensor(value, dtype=torch.float32)

    def of_decision(norm):
        def function(labels, probabilities, num_bins):
            rows = floats(_rows(probabilities))
            return c.multiclass_calibration_error(
                rows, torch.tensor(labels), rows.shape[1], n_bins=num_bins, norm=norm
            )

        return function

    def crps_score(labels, predictive_samples, estimator):
        if estimator != "nrg":
            raise NotImplementedError
        return crps(floats(predictive_samples), floats(labels))

    return {
        "expected_calibration_error": of_decision("l1"),
        "maximum_calibration_error": of_decision("max"),
        "l2_calibration_error": of_decision("l2"),
        "binary_expected_calibration_error": lambda labels, probabilities, num_bins: (
            c.binary_calibration_error(
                floats(probabilities), torch.tensor(labels), n_bins=num_bins, norm="l1"
            )
        ),
        "auroc": lambda labels, scores: c.binary_auroc(
            floats(scores), torch.tensor(labels)
        ),
        "aupr": lambda labels, scores: c.binary_average_precision(
            floats(scores), torch.tensor(labels)
        ),
        "fpr_at_tpr": lambda labels, scores, tpr: (
            1
            - c.binary_specificity_at_sensitivity(
                floats(scores), torch.tensor(labels), min_sensitivity=tpr
            )[0]
        ),
        "crps_score": crps_score,
        "kl_divergence": lambda p, q: kl_divergence(floats(p), floats(q)),
    }


def _netcal() -> Functions:
    import numpy as np
    from netcal.metrics import ECE, MCE

    def measured(metric):
        def function(labels, probabilities, num_bins):
            p, labels = np.asarray(probabilities, float), np.asarray(labels)
            if p.ndim == 2:  # It refuses rows if a class has no label.
                p, labels = p.max(axis=1), (p.argmax(axis=1) == labels).astype(int)
            return metric(bins=num_bins).measure(p, labels)

        return function

    return {
        "expected_calibration_error": measured(ECE),
        "maximum_calibration_error": measured(MCE),
        "binary_expected_calibration_error": measured(ECE),
    }


def _torch_uncertainty() -> Functions:
    import torch
    from torch_uncertainty.metrics import AUSE
    from torch_uncertainty.metrics import classification as c
    from torch_uncertainty.metrics import regression as r
    from torch_uncertainty.metrics.classification.fpr import FPRx

    def floats(value):
        return torch.as_tensor(value, dtype=torch.float32)

    def computed(metric, *arguments):
        metric.update(*arguments)
        return metric.compute()

    def of_decision(norm, **options):
        def function(labels, probabilities, num_bins):
            rows = floats(_rows(probabilities))
            given = {"num_classes": rows.shape[1], "num_bins": num_bins, "norm": norm}
            metric = c.CalibrationError(task="multiclass", **given, **options)
            return computed(metric, rows, torch.tensor(labels))

        return function

    def of_rows(metric):
        def function(labels, probabilities):
            rows = floats(_rows(probabilities))
            return computed(metric(rows.shape[1]), rows, torch.tensor(labels))

        return function

    def static(labels, probabilities, num_bins):
        def metric(classes):
            return c.ClasswiseCalibrationError(classes, num_bins=num_bins)

        return of_rows(metric)(labels, probabilities)

    def selective(metric, confidences, correct):
        first = floats(confidences)
        rows = torch.stack([first, (1 - first) / 2, (1 - first) / 2], dim=1)
        return computed(metric, rows, 1 - torch.tensor(correct))

    return {
        "expected_calibration_error": of_decision("l1"),
        "maximum_calibration_error": of_decision("max"),
        "l2_calibration_error": of_decision("l2"),
        "root_mean_squared_calibration_error": of_decision("l2", adaptive=True),
        "binary_expected_calibration_error": lambda labels, probabilities, num_bins: (
            computed(
                c.CalibrationError(task="binary", num_bins=num_bins, norm="l1"),
                floats(probabilities),
                torch.tensor(labels),
            )
        ),
        "static_calibration_error": static,
        "binary_smooth_calibration_error": lambda labels, probabilities: computed(
            c.SmoothCalibrationError(kernel_type="reflected"),
            floats(probabilities),
            torch.tensor(labels),
        ),
        "brier_score_zero_based": of_rows(c.BrierScore),
        "negative_log_likelihood": of_rows(lambda classes: c.CategoricalNLL()),
        "area_under_risk_coverage_curve": lambda confidences, correct: selective(
            c.AURC(), confidences, correct
        ),
        "area_under_generalized_risk_coverage_curve": lambda confidences, correct: (
            selective(c.AUGRC(), confidences, correct)
        ),
        "area_under_sparsification_error_curve": lambda confidences, losses: computed(
            AUSE(), -floats(confidences), floats(losses)
        ),
        "coverage_at_risk": lambda confidences, correct, risk: selective(
            c.CovAtxRisk(risk), confidences, correct
        ),
        "risk_at_coverage": lambda confidences, correct, coverage: selective(
            c.RiskAtxCov(coverage), confidences, correct
        ),
        "fpr_at_tpr": lambda labels, scores, tpr: computed(
            FPRx(recall_level=tpr, pos_label=1),
            floats(scores),
            torch.tensor(labels),
        ),
        "mutual_information": lambda probabilities: computed(
            c.MutualInformation(), floats(probabilities)
        ),
        "ensemble_disagreement": lambda probabilities: computed(
            c.Disagreement(), floats(probabilities)
        ),
        "variation_ratio": lambda probabilities: computed(
            c.VariationRatio(probabilistic=False),
            floats(probabilities).transpose(0, 1),
        ),
        "interval_score": lambda labels, lower, upper, alpha: computed(
            r.IntervalScore(coverage=1 - alpha), *map(floats, (lower, upper, labels))
        ),
        "normal_negative_log_likelihood": lambda mean, var, targets: computed(
            r.DistributionNLL(),
            torch.distributions.Normal(floats(mean), floats(var).sqrt()),
            floats(targets),
        ),
    }


def _relplot() -> Functions:
    import numpy as np
    from relplot import metrics

    def of_decision(labels, probabilities, num_bins):
        given = metrics.multiclass_logits_to_confidences(
            _rows(probabilities), np.asarray(labels), probs=True
        )
        return metrics.binnedECE(*given, nbins=num_bins)

    return {
        "expected_calibration_error": of_decision,
        "binary_expected_calibration_error": lambda labels, probabilities, num_bins: (
            metrics.binnedECE(
                np.asarray(probabilities, float), np.asarray(labels), nbins=num_bins
            )
        ),
        "binary_smooth_calibration_error": lambda labels, probabilities: metrics.smECE(
            np.asarray(probabilities, float), np.asarray(labels)
        ),
    }


def _mapie() -> Functions:
    import numpy as np
    from mapie.metrics import calibration, classification, uncertainty
    from mapie.regression import SplitConformalRegressor
    from sklearn.dummy import DummyRegressor

    def of_decision(labels, probabilities, num_bins):
        rows = _rows(probabilities)
        right = (rows.argmax(axis=1) == labels).astype(int)
        return calibration.expected_calibration_error(
            right, rows, num_bins=num_bins, split_strategy="uniform"
        )

    def of_classes(strategy):
        def function(labels, probabilities, num_bins):
            return calibration.expected_calibration_error(
                None,
                _rows(probabilities),
                num_bins=num_bins,
                split_strategy=strategy,
                classwise=True,
                class_labels=np.asarray(labels),
            )

        return function

    def of_positive(labels, probabilities, num_bins):
        return calibration.expected_calibration_error(
            np.asarray(labels),
            np.asarray(probabilities, float),
            num_bins=num_bins,
            split_strategy="uniform",
        )

    def statistic(*functions, scaled=False):
        def function(labels, probabilities):
            given = np.asarray(labels), np.asarray(probabilities, float)
            scale = calibration.length_scale(given[1]) if scaled else 1
            return [found(*given) * scale for found in functions]

        return function

    def conformal_quantile(scores, alpha):
        x = np.zeros([len(scores), 1])
        zero = DummyRegressor(strategy="constant", constant=0.0).fit(x, scores)
        forecaster = SplitConformalRegressor(zero, confidence_level=1 - alpha)
        forecaster.conformalize(x, np.asarray(scores, float))
        return forecaster.predict_interval(x[:1])[1][0, 1, 0]

    return {
        "expected_calibration_error": of_decision,
        "binary_expected_calibration_error": of_positive,
        "static_calibration_error": of_classes("uniform"),
        "adaptive_calibration_error": of_classes("quantile"),
        "binary_kolmogorov_smirnov_calibration_error": statistic(
            calibration.kolmogorov_smirnov_statistic, scaled=True
        ),
        "binary_kuiper_calibration_error": statistic(
            calibration.kuiper_statistic, scaled=True
        ),
        "binary_spiegelhalter_test": statistic(
            calibration.spiegelhalter_statistic, calibration.spiegelhalter_p_value
        ),
        "area_under_risk_coverage_curve": lambda confidences, correct: (
            1 - uncertainty.auarc(correct, confidences)
        ),
        "area_under_accuracy_rejection_curve": lambda confidences, correct: (
            uncertainty.auarc(correct, confidences)
        ),
        "auroc": lambda labels, scores: uncertainty.auroc(labels, scores),
        "conformal_quantile": conformal_quantile,
        "size_stratified_coverage": lambda labels, sets: (
            classification.classification_ssc_score(
                np.asarray(labels), np.asarray(sets, bool)
            )
        ),
    }


def _scikit_learn() -> Functions:
    from sklearn import metrics

    def of_rows(score, **options):
        def function(labels, probabilities, sample_weight=None):
            rows = _rows(probabilities)
            given = {"labels": range(rows.shape[1]), "sample_weight": sample_weight}
            return score(labels, rows, **given, **options)

        return function

    return {
        "brier_score_zero_based": of_rows(
            metrics.brier_score_loss, scale_by_half=False
        ),
        "negative_log_likelihood": of_rows(metrics.log_loss),
        "auroc": lambda labels, scores, sample_weight=None: metrics.roc_auc_score(
            labels, scores, sample_weight=sample_weight
        ),
        "aupr": lambda labels, scores: metrics.average_precision_score(labels, scores),
        "pinball_loss": lambda labels, quantile_predictions, quantiles: (
            metrics.mean_pinball_loss(labels, quantile_predictions, alpha=quantiles)
        ),
    }


def _tensorflow_probability() -> Functions:
    import numpy as np
    import tensorflow_probability as tfp

    def logits(probabilities):
        with np.errstate(divide="ignore"):
            return np.log(_rows(probabilities)).astype(np.float32)

    def divergence(p, q):
        p, q = (tfp.distributions.Categorical(probs=np.float32(x)) for x in (p, q))
        return tfp.distributions.kl_divergence(p, q)

    return {
        "expected_calibration_error": lambda labels, probabilities, num_bins: (
            tfp.stats.expected_calibration_error(
                num_bins, logits=logits(probabilities), labels_true=np.int32(labels)
            )
        ),
        "brier_score": lambda labels, probabilities: np.mean(
            tfp.stats.brier_score(np.int32(labels), logits(probabilities))
        ),
        "brier_decomposition": lambda labels, probabilities: (
            tfp.stats.brier_decomposition(np.int32(labels), logits(probabilities))
        ),
        "kl_divergence": divergence,
    }


def _scikit_survival() -> Functions:
    import math

    import numpy as np
    from sksurv import metrics
    from sksurv.util import Surv

    def concordance(times, event, risk_scores, ipcw=False, at=math.inf):
        seen, ends = np.array(event, bool), np.array(times, float)
        if ipcw:
            outcomes = Surv.from_arrays(seen, ends)
            tau = None if math.isinf(at) else at
            return metrics.concordance_index_ipcw(
                outcomes, outcomes, np.array(risk_scores, float), tau
            )[0]
        if math.isfinite(at):
            raise NotImplementedError
        return metrics.concordance_index_censored(
            seen, ends, np.array(risk_scores, float)
        )[0]

    def brier(times, event, survival, at):
        outcomes = Surv.from_arrays(np.array(event, bool), np.array(times, float))
        return metrics.brier_score(outcomes, outcomes, np.array(survival), at)[1]

    return {"concordance_index": concordance, "ipcw_brier_score": brier}


def _lifelines() -> Functions:
    import math

    import numpy as np
    from lifelines.utils import concordance_index

    def concordance(times, event, risk_scores, ipcw=False, at=math.inf):
        if ipcw or math.isfinite(at):
            raise NotImplementedError
        return concordance_index(times, -np.array(risk_scores, float), event)

    return {"concordance_index": concordance}


def _statsmodels() -> Functions:
    import numpy as np
    import statsmodels.api as sm

    def fitted(labels, columns, weights, **options):
        family = sm.families.Binomial()
        weights = np.ones(len(labels)) if weights is None else np.array(weights, float)
        model = sm.GLM(
            np.array(labels, float), columns, family, freq_weights=weights, **options
        )
        return model.fit().params

    def log_odds(probabilities):
        p = np.array(probabilities, float)
        return np.log(p / (1 - p))

    def intercept(labels, probabilities, sample_weight=None):
        z = log_odds(probabilities)
        return fitted(labels, np.ones((len(z), 1)), sample_weight, offset=z)

    def slope(labels, probabilities, sample_weight=None):
        columns = sm.add_constant(log_odds(probabilities), has_constant="add")
        return fitted(labels, columns, sample_weight)[1]

    return {"calibration_intercept": intercept, "calibration_slope": slope}


def _confidenceinterval() -> Functions:
    from confidenceinterval import roc_auc_score

    def interval(labels, scores, level):
        estimate, (lower, upper) = roc_auc_score(labels, scores, level)
        return lower, estimate, upper

    return {"auroc_interval": interval}


# By package, the requirement for pip, and the functions of the package.
PACKAGES: dict[str, tuple[str, Callable[[], Functions]]] = {
    "torchmetrics": ("torchmetrics", _torchmetrics),
    "netcal": ("netcal", _netcal),
    "torch-uncertainty": ("torch-uncertainty[cpu]", _torch_uncertainty),
    "relplot": ("relplot", _relplot),
    "mapie": ("mapie", _mapie),
    "scikit-learn": ("scikit-learn", _scikit_learn),
    "tensorflow-probability": ("tensorflow-probability[tf]", _tensorflow_probability),
    "statsmodels": ("statsmodels", _statsmodels),
    "scikit-survival": ("scikit-survival", _scikit_survival),
    "lifelines": ("lifelines", _lifelines),
    "confidenceinterval": ("confidenceinterval", _confidenceinterval),
}

# Notes on the known differences. "Documented" means that the documentation of the
# package says the same.
_LEFT = "Bins are `[a, b)`"
_MORE = "scores of 1 have an additional bin"
NOTES = {
    "calibration": {
        "torchmetrics": [
            f"{_LEFT}, and {_MORE}.",
            "`BinaryCalibrationError` is documented as the top-label error, but it is "
            "the error of P(class 1).",
        ],
        "netcal": [
            "Documented: for two classes the score is P(class 1).",
            "It refuses rows of three classes if a class is the label of no example, "
            "as in most of these cases. So we passed the scores and outcomes of the "
            "decisions.",
            f"{_LEFT}; the last bin also holds 1.",
        ],
        "torch-uncertainty": [
            "Documented: torchmetrics computes the error of even bins.",
            "Adaptive bins separate equal scores, by the order of the sort. An empty "
            "bin makes the sum NaN, and then 0 is returned.",
            "Documented: the smooth error is about the decision, also for two classes, "
            "and the search for the bandwidth is exact to 0.001.",
        ],
        "relplot": [
            f"{_LEFT}, and {_MORE}.",
            "Documented: the search for the bandwidth is exact to 0.001.",
        ],
        "mapie": [
            "`num_bins` is the number of edges, which is one more than the number of "
            "intervals. Scores of 0 have their own bin. If there is only one edge, "
            "scores beyond it have no bin.",
            "Documented: the statistics are divided by their standard deviation (we "
            "multiply by it again, which gives 0 / 0 for scores 0 and 1), and noise "
            "separates equal scores.",
            "The Kuiper statistic does not count 0 as one of the sums.",
            "The p-value of Spiegelhalter's test is one-sided.",
        ],
        "tensorflow-probability": [f"{_LEFT}; the last bin also holds 1."],
    },
    "scores": {
        "torchmetrics": [
            "Documented: it computes the CRPS of the empirical distribution (nrg), and "
            "needs at least two members.",
        ],
        "scikit-learn": [
            "Documented: `brier_score_loss` halves the score of two classes, unless "
            "`scale_by_half=False` is passed, as we do here.",
            "Documented: `log_loss` clips probabilities to [eps, 1 - eps].",
        ],
        "tensorflow-probability": [
            "The resolution compares the frequencies of labels with the frequencies of "
            "decisions, so it is not 0 if all forecasts are the same.",
        ],
    },
    "selective": {
        "torchmetrics": ["If there is one class, it warns and returns 0."],
        "torch-uncertainty": [
            "AURC and AUGRC are documented as means over k. The code takes the "
            "trapezoidal area from coverage 1/n to 1, divided by 1 - 1/n, and says so.",
            "It separates examples of equal confidence, so the value depends on the "
            "order of the examples.",
            "AUSE divides the losses by their mean, as Ilg et al. (2018) do, and is "
            "the trapezoidal area.",
            "Documented: it returns NaN if no coverage has the risk.",
        ],
        "mapie": [
            "We take 1 - `auarc` as AURC. It separates examples of equal confidence, "
            "so the value depends on the order of the examples.",
        ],
        "scikit-learn": ["If there is one class, it warns and returns NaN."],
    },
    "ensembles": {
        "torch-uncertainty": [
            "`VariationRatio(probabilistic=False)` counts the votes against the class "
            "of the mean. Its documentation says that inputs are (examples, members, "
            "classes), but it takes (members, examples, classes), as we pass them.",
        ],
    },
    "risks": {
        "statsmodels": [
            "It has no function for this; we call `GLM` with the log-odds as the "
            "offset, or as the only variable beside a constant.",
            "If the maximum of the likelihood is at infinity, it warns, and the value "
            "is where the iterations ended. If all risks are equal, it returns one of "
            "infinitely many solutions.",
            "The log-odds of 0 and 1 are infinite, so it raises an exception.",
        ],
        "confidenceinterval": [
            "The interval is DeLong's, estimate -+ z standard error: it is symmetric, "
            "so it may end above 1. If a class has one example, it is NaN.",
        ],
    },
    "survival": {
        "scikit-survival": [
            "If an event and a censoring share a time T, it divides by G(T) instead of "
            "G(T-).",
            "It refuses a time for the Brier score that is not before the last of the "
            "times.",
        ],
    },
    "conformal": {
        "mapie": [
            "The quantile is the upper end of an interval around 0. It refuses too few "
            "examples; its message says that n must be above 1 / alpha and "
            "1 / (1 - alpha). For n = 9 and alpha = 0.1 this does not hold, although "
            "rank 9 exists.",
            "(n + 1)(1 - alpha) is rounded up in floating point, so it takes rank 56 "
            "instead of 55.",
        ],
    },
}
