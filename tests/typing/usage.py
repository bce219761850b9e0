"""What a user's type checker makes of the package: checked, never run."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

labels = [0, 1, 1]
probabilities = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])

# The NumPy half.
assert_type(um_np.ece(labels, probabilities), float)
assert_type(um_np.gce(labels, probabilities, norm="l2"), float)
assert_type(um_np.auroc(labels, probabilities[:, 1]), float)
assert_type(um_np.brier_score(labels, probabilities=probabilities), float | np.ndarray)
assert_type(um_np.regression.sharpness([1.0, 2.0]), float)
state = um_np.GeneralCalibrationError("even", True, False, "l1")
state.update_state(labels, probabilities)
assert_type(state.result(), float)
assert_type(state + state, um_np.GeneralCalibrationError)
assert_type(um.numpy.ece(labels, probabilities), float)
data: dict[str, Any] = {"labels": labels, "probabilities": probabilities}
interval = um_np.bootstrap(um_np.ece, alpha=0.1, **data)
lower, estimate, upper = interval
curve = um_np.reliability_curve(labels, probabilities)
assert_type(um_np.bin_statistics(labels, probabilities), um_np.BinStatistics)

# The TensorFlow half: tensors are Any where TensorFlow has no types.
assert_type(um.ece(labels, probabilities), Any)
assert_type(um.regression.sharpness([1.0, 2.0]), Any)
metric = um.ExpectedCalibrationError(num_bins=10)
assert_type(metric, um.ExpectedCalibrationError)
metric.update_state(labels, probabilities)
assert_type(metric.get_state(), um.MetricState)
assert_type(um.BrierLoss(), um.BrierLoss)
assert_type(um.regression.Sharpness(), um.regression.Sharpness)
assert_type(um.TemperatureScaling().fit(labels, probabilities), um.TemperatureScaling)
assert_type(um.__version__, str)

# Mistakes are found.
_ = um.no_such_metric  # type: ignore[attr-defined]
um_np.ece(labels, probabilities, num_bins="ten")  # type: ignore[arg-type]
um.ExpectedCalibrationError(bins=10)  # type: ignore[call-arg]
um_np.reliability_diagram(labels, probabilities, color=1)  # type: ignore[call-arg]
