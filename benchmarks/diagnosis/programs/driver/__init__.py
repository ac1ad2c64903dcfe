"""Causes in the driver, between tasks."""
