"""What metrics share that hold a sketch of the scores."""

from __future__ import annotations

from collections.abc import Callable

from uncertainty_metrics.numpy._state import MetricState
from uncertainty_metrics.numpy.score_sketch import ScoreSketch


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
        return ScoreSketch.from_state(self.get_state())
