"""Causes that multiply, compare or move rows."""
