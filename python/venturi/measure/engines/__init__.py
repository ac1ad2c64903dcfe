"""Engines that run workloads: one folder each, see `registry`."""
