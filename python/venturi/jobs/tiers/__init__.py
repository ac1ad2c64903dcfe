"""Tiered local storage for Spark: what was used, what it would bring."""
