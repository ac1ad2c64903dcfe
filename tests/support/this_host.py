"""This machine, for tests without a session: its host, its files, and a step without an agent."""

from __future__ import annotations

from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.local import LocalHost
from venturi.measure.trial.job import StepContext

HOST = LocalHost()
FILES = HOST.files
STEP = StepContext(Agent("/no/agent", HOST), 0.0, None)
