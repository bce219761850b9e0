"""Uses of the package with the types that a type checker must find; never run."""

from typing import Any, Literal

import numpy as np
from typing_extensions import assert_type

import uncertainty_metrics as um
import uncertainty_metrics.jax as um_jax
import uncertainty_metrics.numpy as um_np
import uncertainty_metrics.torch as um_torch
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.data._predictions import Model
from uncertainty_metrics.ops._typing import Tensor

labels = [0, 1, 1]
probabilities = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
means, variances, targets = [0.0, 1.0], (1.0, 1.0), np.array([0.5, 0.5])

# The NumPy half.
assert_type(um_np.ece(labels, probabilities), float)
assert_type(um_np.ece(labels, logits=probabilities, ignore_index=None), float)
assert_type(um_np.gce(labels, probabilities, "even", True, False, "l2"), float)
assert_type(
    um_np.gce(
        labels,
        logits=probabilities,
        norm="l2",
        class_conditional=False,
        max_prob=True,
        binning_scheme="even",
    ),
    float,
)
assert_type(um_np.ece(labels, probabilities, groups=labels, num_groups=2).worst, Any)
assert_type(um_np.ece(labels, probabilities, per_image=True).lower, Any)
assert_type(um_np.auroc(labels, probabilities[:, 1]), float)
assert_type(um_np.brier_score(labels, probabilities=probabilities), float | np.ndarray)
assert_type(um_np.crps_score(targets, probabilities[:2]), np.ndarray)
assert_type(um_np.bin_statistics(labels, probabilities), um_np.BinStatistics)
found = um_np.report(labels, probabilities, audit={"age": targets}, clusters=labels)
assert_type(found.to_dict(), dict[str, Any])
assert_type(found.summary(), str)
um_np.report(probabilities > 0.5, probabilities, multilabel=True, classes=["a", "b"])
um_np.report(labels, probabilities, groups={"g": labels}, audit=True)
um_np.report(labels, probabilities, mutlilabel=True)  # type: ignore[call-arg]
summary = um_np.Summary(class_names=["a", "b"])
summary.update(correct=[0.2, 1.0], confidences=[0.3, 0.9], clusters=["q", "r"])
assert_type(summary.num_clusters, int | None)
assert_type(summary + summary, um_np.Summary)
um_np.report(summary, compare={"before": summary})
curve = um_np.reliability_curve(labels, probabilities)
assert_type(curve.accuracies, np.ndarray)
state = um_np.GeneralCalibrationError("even", True, False, "l1", ignore_index=None)
state.update_state(labels, probabilities, sample_weight=[1.0, 2.0, 0.0])
assert_type(state.result(), float)
assert_type(state.bin_statistics, um_np.BinStatistics | None)
assert_type(state.accuracies, np.ndarray | None)
assert_type(state + state, um_np.GeneralCalibrationError)
assert_type(sum([state, state]), um_np.GeneralCalibrationError | Literal[0])
assert_type(um.numpy.ece(labels, probabilities), float)
data: dict[str, Any] = {"labels": labels, "probabilities": probabilities}
interval = um_np.bootstrap(um_np.ece, level=0.9, **data)
interval = um_np.bootstrap(um_np.ece, labels, probabilities, level=0.9)
lower, estimate, upper = interval
interval = um_np.bootstrap_difference(um_np.ece, data, data, seed=0)
scaling = um_np.TemperatureScaling().fit(labels, probabilities)
assert_type(scaling, um_np.TemperatureScaling)
assert_type(scaling.temperature, float)
vector = um_np.VectorScaling(ridge=1.0).fit(labels, probabilities=probabilities)
assert_type(vector, um_np.VectorScaling)
assert_type(um.VectorScaling.load("vector.npz").scales, np.ndarray)
assert_type(vector.transform(probabilities=probabilities), np.ndarray)

period = um_np.bin_statistics(labels, probabilities)
assert_type(um_np.calibration_drift(period, period).p_value, float)
monitor = um.CalibrationMonitor(0.01, mode="change")
monitor.update(correct=labels, confidences=[0.5, 0.5, 0.5])
assert_type(monitor.alarm, int | None)
assert_type(um_np.CalibrationMonitor.load("monitor.npz"), um.CalibrationMonitor)

# Regression.
assert_type(um_np.regression.sharpness(variances), float)
assert_type(um_np.regression.ence(means, variances, targets, mask=None), float)
assert_type(
    um_np.regression.interval_coverage(means, variances, targets, level=(0.5, 0.9)),
    float | np.ndarray,
)
assert_type(
    um_np.regression.evaluate_calibration(means, variances, targets), dict[str, float]
)
assert_type(um.regression.sharpness(variances), Tensor)
um.regression.calibration_comparison_diagram({"a": (means, variances, targets)})

# The half of tensors.
assert_type(um.ece(labels, probabilities), Tensor)
assert_type(um.aurc(labels, um.ece(labels, probabilities)), Tensor)
assert_type(um.__version__, str)
metric = um.ExpectedCalibrationError(num_bins=10)
assert_type(metric, um.ExpectedCalibrationError)
metric.update_state(labels, probabilities, sample_weight=None)
assert_type(metric.bin_statistics, um.BinStatistics | None)
assert_type(metric.get_state(), um.MetricState)
assert_type(um.AURC().sketch, um.ScoreSketch)
sketch = um_np.ScoreSketch.from_state(um.AURC().get_state())
assert_type(sketch + sketch, um_np.ScoreSketch)
assert_type(sketch.ece(num_bins=5), float)
assert_type(sketch.gce("even", "l2"), float)
assert_type(metric.get_state() + metric.get_state(), um.MetricState)
metric.merge_state([metric, metric.get_state()])
um.MetricState.load("state.npz").to_metric().result()
um.ExpectedCalibrationError(
    15, None, None, True, ignore_index=-1, name=None, dtype=None, sparse_labels=None
)
um.CalibrationError("multiclass", num_classes=10).plot()
um.StaticCalibrationError(num_classes=100).plot(classes=[3, 4])
um.BrierScore(name=None, dtype="float64")
um.AUROC(sketch_bits=None)
assert_type(um.BrierLoss(), um.BrierLoss)
assert_type(um.PinballLoss([0.1, 0.9], name=None), um.PinballLoss)
assert_type(um.regression.Sharpness(), um.regression.Sharpness)
assert_type(um.regression.IntervalCoverage(0.9), um.regression.IntervalCoverage)
assert_type(um.TemperatureScaling().fit(labels, probabilities), um.TemperatureScaling)
assert_type(um.TemperatureScalingLayer(name=None).temperature, float)
assert_type(um.VectorScalingLayer(ridge=2).fit([], model=None), um.VectorScalingLayer)
assert_type(um.MatrixScalingLayer(regularization="odir").ridge, float | None)
um.ReliabilityDiagramCallback("logs", every=2)

# PyTorch and JAX.
assert_type(um_torch.ece(labels, probabilities), Tensor)
streamed = um_torch.ExpectedCalibrationError(10, from_logits=True, process_group=None)
assert_type(streamed, um_torch.ExpectedCalibrationError)
streamed.update(probabilities, labels, None)
streamed.update(preds=probabilities, target={"labels": labels, "groups": labels})
assert_type(streamed.get_state() + um.AURC().get_state(), um_torch.MetricState)
assert_type(um_torch.BrierLoss(from_logits=True), um_torch.BrierLoss)
assert_type(um_torch.regression.Sharpness(), um_torch.regression.Sharpness)
assert_type(um_torch.regression.sharpness(variances), Tensor)
assert_type(um_torch.conformal.MeanSetSize(), um_torch.conformal.MeanSetSize)
assert_type(um_jax.ece(labels, probabilities), Tensor)
assert_type(um_jax.ExpectedCalibrationError(), um.ExpectedCalibrationError)
assert_type(um_jax.regression.sharpness(variances), Tensor)

# Diagrams of one model and of several models.
models = {"a": probabilities, "b": probabilities}
um.reliability_diagram(labels, models, error_bars=0.95, title=None, ax=None)
um.reliability_diagram(labels, models, method="smooth", consistency_band=False)
um.risk_coverage_diagram({"a": labels, "b": labels}, models, thresholds=[0.9])
um.decision_curve_diagram(labels, models)
um.posterior_diagram({"a": labels, "b": labels})
um.rejection_diagram(labels, models, ood_probabilities=models)
um.uncertainty_histogram({"a": means, "b": targets})

# The report.
predictions = report.read_predictions("predictions.npz")
assert_type(predictions, Model)
built = report.build(predictions, other=report.read_predictions("others.npz"))
assert_type(report.render(built), str)
report.write(built, report.draw(predictions), "directory")

# The type checker must find these mistakes.
_ = um.no_such_metric  # type: ignore[attr-defined]
_ = um.regression.no_such_metric  # type: ignore[attr-defined]
_ = um_torch.ECE  # type: ignore[attr-defined]
_ = um_torch.MetricCollection  # type: ignore[attr-defined]
_ = um_torch.regression.no_such_metric  # type: ignore[attr-defined]
_ = um_jax.ECE  # type: ignore[attr-defined]
um_torch.ExpectedCalibrationError(num_bins="ten")  # type: ignore[arg-type]
um_torch.BrierLoss(reduction="median")  # type: ignore[arg-type]
um_torch.BrierLoss(n_bins=3)  # type: ignore[call-arg]
um_torch.ece(labels, probabilities, num_bin=10)  # type: ignore[call-overload]
um_jax.ece(labels, probabilities, num_bin=10)  # type: ignore[call-overload]
um_np.ece(labels, probabilities, num_bins="ten")  # type: ignore[call-overload]
um_np.ece(labels, probabilities, num_bins=None)  # type: ignore[call-overload]
um_np.gce(labels, probabilities, "even", True, False)  # type: ignore[call-overload]
um_np.gce(labels, probabilities, "odd", True, False, "l1")  # type: ignore[call-overload]
um.ece(labels, probabilities, num_bin=10)  # type: ignore[call-overload]
um.gce(labels, probabilities, norm="l2")  # type: ignore[call-overload]
um.GeneralCalibrationError("even", True, False, "l3")  # type: ignore[arg-type]
um.ExpectedCalibrationError(bins=10)  # type: ignore[call-arg]
um.ExpectedCalibrationError(num_bins=None)  # type: ignore[arg-type]
um.GeneralCalibrationError("even")  # type: ignore[call-arg]
metric.update_state(labels)  # type: ignore[call-arg]
metric.update_state(labels, probabilities, weights=[1])  # type: ignore[call-arg]
_ = metric.bin_statistics.counts  # type: ignore[union-attr]
um.regression.ence(means, variances, bins=3)  # type: ignore[call-arg]
um.ece(labels, object())  # type: ignore[call-overload]
_ = um.ece(labels, probabilities).value  # type: ignore[union-attr]
um.BrierLoss(reduction="median")  # type: ignore[arg-type]
um.CRPSNormalLoss("log")  # type: ignore[arg-type]
um.GaussianNLLLoss(scale_transform="softmax")  # type: ignore[arg-type]
um.CRPSSampleLoss(estimator="pwm")  # type: ignore[arg-type]
um_np.crps_score(targets, probabilities, estimator="pwm")  # type: ignore[arg-type]
um.crps_score(targets, probabilities, estimator="pwm")  # type: ignore[arg-type]
um.CRPSSamples("pwm")  # type: ignore[arg-type]
um.CRPSNormal("log")  # type: ignore[arg-type]
um.CalibrationError("regression")  # type: ignore[arg-type]
um_np.bootstrap(um_np.ece, method="normal", **data)  # type: ignore[arg-type]
um_np.reliability_diagram(labels, probabilities, y_axis="x")  # type: ignore[arg-type]
um.PinballLoss("median")  # type: ignore[arg-type]
um.BrierLoss(sparse_labels="no")  # type: ignore[arg-type]
um.TemperatureScalingLayer("hot")  # type: ignore[arg-type]
um.regression.IntervalCoverage(level="high")  # type: ignore[arg-type]
um.ReliabilityDiagramCallback("logs", 2)  # type: ignore[call-arg]
um_np.MatrixScaling(regularization="lasso")  # type: ignore[arg-type]
um_np.reliability_diagram(labels, probabilities, color=1)  # type: ignore[call-arg]
um_np.bootstrap("ece", **data)  # type: ignore[arg-type]
report.build("predictions.npz")  # type: ignore[arg-type]
