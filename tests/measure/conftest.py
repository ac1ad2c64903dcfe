"""The fake agent as Venturi meets it, and a session that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from venturi.measure.agent import Agent
from venturi.measure.runner import Session, open_session
from venturi.record.repository import Repository
from venturi.settings import Settings

FAKE_AGENT = Path(__file__).parent / "fake_agent.py"


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes every fake agent started from now on misbehave."""

    def set_fault(name: str) -> None:
        monkeypatch.setenv("FAKE_FAULT", name)

    return set_fault


@pytest.fixture
def fake_settings(settings: Settings) -> Settings:
    """Settings whose agent is the fake one."""
    return replace(settings, agent=FAKE_AGENT)


@pytest.fixture
def fake_agent(fake_settings: Settings) -> Agent:
    """The client of a fake agent."""
    return Agent.find(fake_settings)


@pytest.fixture
def sqlite(fake_settings: Settings) -> Iterator[Repository]:
    """An empty repository on SQLite."""
    with Repository.open(fake_settings) as opened:
        yield opened


@pytest.fixture
def session(fake_agent: Agent, sqlite: Repository) -> Session:
    """A session on the fake agent that samples often."""
    return open_session(fake_agent, sqlite, sample_interval_ms=20)
