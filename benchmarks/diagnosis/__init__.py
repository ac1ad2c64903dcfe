"""Spark programs with one planted cause of slowness each, and Venturi's findings in their logs."""
