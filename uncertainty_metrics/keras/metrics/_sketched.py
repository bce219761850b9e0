"""What metrics share that hold a sketch of the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from uncertainty_metrics.numpy._metric_state import MetricState

if TYPE_CHECKING:
    from uncertainty_metrics.numpy.sketch.score_sketch import ScoreSketch


class Sketched:
    """A metric whose state is a sketch, or may be."""

    get_state: Callable[[], MetricState]

    @property
    def sketch(self) -> ScoreSketch:
        """All batches as a `ScoreSketch`, which answers other questions of them.

        Raises:
          ValueError: the metric holds no sketch of probabilities, as one of even bins
            or of logits; or a batch was refused.
        """
        # SciPy takes time to import, and few ask for it.
        from uncertainty_metrics.numpy.sketch import score_sketch

        return score_sketch.ScoreSketch.from_state(self.get_state())
