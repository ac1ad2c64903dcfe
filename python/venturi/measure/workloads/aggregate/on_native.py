"""Sums by key, by the agent's sort."""

from venturi.measure.workloads.programs import Sort

PROGRAMS = {"aggregate": Sort()}
