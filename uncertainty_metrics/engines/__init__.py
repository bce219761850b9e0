"""Evaluation on many machines: Beam, Spark, Ray, and what they share."""
