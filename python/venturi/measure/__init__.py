"""Measuring: start the agent on hosts, run workloads on engines, write trials."""
