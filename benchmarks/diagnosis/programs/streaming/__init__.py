"""Causes in streaming queries."""
