"""Sums by key."""
