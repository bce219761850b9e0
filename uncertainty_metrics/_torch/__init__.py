"""What `uncertainty_metrics.torch` makes of the Keras metrics and losses."""
