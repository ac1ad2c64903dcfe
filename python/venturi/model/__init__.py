"""Modelling: pure functions from stored trials to times, costs and comparisons."""
