"""Contenders in the peers' environment: other packages, and PyTorch by hand.

Each module has one topic, as in `cases`. A package that only few cases need is imported
inside the functions that need it.
"""
