"""Compares groups of trials: differences, effects, rankings."""
