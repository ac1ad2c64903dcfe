"""Tiered local storage for Spark: its use and its expected benefit."""
