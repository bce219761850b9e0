"""Names of metrics as heads of columns and pictures."""

from __future__ import annotations

_ABBREVIATIONS = frozenset(
    {
        *("ace", "ece", "gce", "mce", "sce", "tace", "rmsce", "smece", "ks", "atb"),
        *("aurc", "augrc", "auarc", "ause", "aupr", "auroc", "prr", "crps", "ici"),
    }
)


def metric_title(metric: str) -> str:
    """Returns the name of a metric as the head of a column."""
    words = metric.replace("_", " ").split()
    words = [word.upper() if word in _ABBREVIATIONS else word for word in words]
    title = " ".join(words)
    return title[:1].upper() + title[1:]
