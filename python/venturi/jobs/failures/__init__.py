"""Meanings of failures, and their remedies."""
