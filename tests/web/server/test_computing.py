"""Answers that take too long are given up, and those who ask for others are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event

import pytest

from venturi.core.errors import VenturiError
from venturi.record.store.repository import TrialRepository
from venturi.web.api.computing import Computing
from venturi.web.api.health import ServerState


@pytest.fixture
def done() -> Iterator[Event]:
    """The event that ends the slow answers."""
    event = Event()
    yield event
    event.set()


def code_of(error: object) -> str:
    assert isinstance(error, VenturiError)
    return error.code


def test_who_takes_too_long_keeps_its_place_and_no_more(
    repository: TrialRepository, done: Event, caplog: pytest.LogCaptureFixture
) -> None:
    watch = ServerState(repository)
    computing = Computing("computing", watch, at_once=2, waiting=1, timeout_s=0.2)

    async def ask() -> None:
        first = [computing.answer("/cost", done.wait) for _ in range(4)]
        told = await asyncio.gather(*first, return_exceptions=True)
        assert sorted(map(code_of, told)) == ["VEN-API-BUSY", *["VEN-API-TIME"] * 3]
        # The one that waited was never begun.
        assert len(watch.overdue) == 2
        with pytest.raises(VenturiError) as caught:
            await computing.answer("/cost", lambda: "soon")
        assert caught.value.code == "VEN-API-TIME"
        done.set()
        while watch.overdue:
            await asyncio.sleep(0.01)
        assert await computing.answer("/cost", lambda: "soon") == "soon"

    asyncio.run(ask())
    assert watch.refused == {"computing": 1, "time": 4}
    assert [each.getMessage() for each in caplog.records] == ["given up after 0.2 s: /cost"] * 4


def test_what_an_answer_fails_with_is_its_own(repository: TrialRepository) -> None:
    watch = ServerState(repository)
    computing = Computing("computing", watch, at_once=1, waiting=1, timeout_s=5)

    def slow_disk() -> None:
        raise TimeoutError("the disk does not answer")

    with pytest.raises(TimeoutError, match="the disk"):
        asyncio.run(computing.answer("/cost", slow_disk))
    assert not watch.refused


def test_an_iterator_that_ended_unseen_is_an_error_and_no_hang(repository: TrialRepository) -> None:
    computing = Computing("computing", ServerState(repository), at_once=1, waiting=1, timeout_s=60)
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(computing.answer("/cost", lambda: next(iter(()))))
