"""Words for results of a stream that come from a sample of its rows."""

from __future__ import annotations

from uncertainty_metrics._report.data._predictions import Model, Stream
from uncertainty_metrics._report.sections._blocks import Text


def of_sample(size: int) -> str:
    """Returns words that name the rows behind a result that a summary cannot give."""
    return f"about a uniform sample of {size:,} rows"


def sentence_on_sample(model: Model) -> list[Text]:
    """Returns a sentence for chapters that are about a sample of a stream."""
    if not isinstance(model, Stream):
        return []
    return [Text(f"This section is {of_sample(model.sample_size)}.")]
