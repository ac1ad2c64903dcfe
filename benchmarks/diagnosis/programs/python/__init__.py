"""Causes in Python workers and closures."""
