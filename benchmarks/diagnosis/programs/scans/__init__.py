"""Causes in the input and output."""
