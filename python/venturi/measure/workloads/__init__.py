"""Workloads: what is run, each with a version that is a hash of its definition."""
