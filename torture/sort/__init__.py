"""Sorts killed, starved and given odd input."""
