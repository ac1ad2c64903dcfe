"""Causes in the number and size of tasks."""
