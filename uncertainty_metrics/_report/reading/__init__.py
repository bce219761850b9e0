"""Files, streams, logs, arrays and data frames become predictions of a report."""
