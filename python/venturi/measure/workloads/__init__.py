"""Workloads: one folder per family, see `registry`."""
