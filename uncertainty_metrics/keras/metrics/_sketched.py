"""The base class of metrics that hold a sketch of the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from uncertainty_metrics.numpy._metric_state import MetricState

if TYPE_CHECKING:
    from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch


class Sketched:
    """A metric whose state is a sketch, for some options at least."""

    get_state: Callable[[], MetricState]

    @property
    def sketch(self) -> ScoreSketch:
        """All batches as a `ScoreSketch`, from which other metrics can be computed.

        Raises:
          ValueError: the state is not a sketch of probabilities, because the metric has
            even bins, takes logits, or has `label_distributions`, whose variance it
            does not know; or a batch was wrong.
        """
        # Imported here, because it imports SciPy, which takes time.
        from uncertainty_metrics.numpy.sketch import score_sketch

        return score_sketch.ScoreSketch.from_state(self.get_state())
