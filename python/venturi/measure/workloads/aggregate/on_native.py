"""Sums by key, by the agent's sort."""

from venturi.measure.workloads.programs import AgentSort

PROGRAMS = {"aggregate": AgentSort()}
