"""Engines: what a workload runs on."""
