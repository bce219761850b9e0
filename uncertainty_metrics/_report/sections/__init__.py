"""The sections of a report: their numbers and words, computed from predictions."""
