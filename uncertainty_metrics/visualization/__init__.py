"""Plots. Every module imports matplotlib only when it draws a plot."""
