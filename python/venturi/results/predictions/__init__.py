"""Predictions of runs from the record, and how far earlier ones were off."""
