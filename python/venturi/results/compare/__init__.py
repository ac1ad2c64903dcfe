"""Comparing groups of trials: what differs, what it brings, which is best."""
