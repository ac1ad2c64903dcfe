"""Measured trials while the repository is locked or its disk is full: none is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import venturi
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access.owner import current_owner
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Owner, State, Trial
from venturi.record.upkeep import unsaved
from venturi.record.upkeep.check import check
from venturi.record.upkeep.unsaved import MeasuringStore, store_unsaved

MakeTrial = Callable[..., Trial]
PATIENCE_S = 0.05


@contextmanager
def locked(settings: Settings) -> Iterator[None]:
    """Another process holds SQLite's lock."""
    with closing(sqlite3.connect(settings.home / "venturi.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def opened(settings: Settings, warn: Callable[[str], None] = lambda _: None) -> MeasuringStore:
    return MeasuringStore(TrialRepository.open(settings, patience_s=PATIENCE_S), warn)


def ended(store: MeasuringStore, trial: Trial) -> Trial:
    """The trial after a run."""
    trial = replace(trial, state=State.PLANNED, elapsed_s=None, owner=current_owner())
    trial = store.add(trial)
    for state in (State.PREPARING, State.EXECUTING, State.VALIDATING):
        trial = store.save(trial.advance(state))
    trial = store.attach(trial, "log", "log.txt", b"a line")
    return store.save(trial.advance(State.SUCCEEDED, elapsed_s=7.0))


def test_a_trial_outlives_a_lock_at_any_of_its_steps(
    settings: Settings, make_trial: MakeTrial
) -> None:
    warned: list[str] = []
    with opened(settings, warned.append) as store, locked(settings):
        trial = ended(store, make_trial())
        assert "is kept in" in warned[0]
        assert "VEN-RECORD-BUSY" in warned[0]
        assert len(warned) == 1, "said once"
        held = settings.home / "unsaved" / f"{trial.id}.json"
        assert held.exists()
        assert store.trials_of(trial.experiment or "") == ([trial] if trial.experiment else [])
    with TrialRepository.open(settings) as repository:
        assert whole_trials(repository) == [trial], "stored when the command ended"
        assert check(repository).findings == ()
    assert not held.parent.exists()


def test_the_next_command_stores_it(settings: Settings, make_trial: MakeTrial) -> None:
    store = opened(settings)
    begun = replace(make_trial(), state=State.PLANNED, elapsed_s=None, owner=current_owner())
    begun = store.add(begun)
    with locked(settings):
        trial = store.save(replace(begun.advance(State.PREPARING), owner=dead_owner()))
        store.close()
    done = venturi("ls", "--json", home=settings.home)
    assert "stored 1 trial that an earlier command could not store" in done.stderr
    assert f"found interrupted: trial {trial.id}" in done.stderr
    assert not (settings.home / "unsaved").exists()


def test_reading_works_while_a_trial_waits(settings: Settings, make_trial: MakeTrial) -> None:
    with opened(settings) as store, locked(settings):
        trial = replace(make_trial(), owner=dead_owner())
        store.add(trial)
        done = TrialRepository.open(settings, patience_s=PATIENCE_S)
        with done as repository, pytest.raises(VenturiError, match="locked"):
            store_unsaved(repository)
        assert (settings.home / "unsaved" / f"{trial.id}.json").exists()


def test_a_living_process_keeps_its_trials(settings: Settings, make_trial: MakeTrial) -> None:
    owner = replace(current_owner(), pid=1, process_started_ticks=_started_ticks(1))
    with opened(settings) as store, locked(settings):
        store.add(replace(make_trial(), owner=owner))
    with TrialRepository.open(settings) as repository:
        assert store_unsaved(repository) == []
        assert whole_trials(repository) == []


def test_a_refusal_is_no_passing_failure(settings: Settings, make_trial: MakeTrial) -> None:
    with opened(settings) as store:
        trial = store.add(make_trial())
        with pytest.raises(VenturiError, match="already recorded"):
            store.add(trial)
    assert not (settings.home / "unsaved").exists()


def test_space_is_held_for_a_full_disk(
    settings: Settings, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(settings) as store:
        store.add(make_trial())
        (reserve,) = (settings.home / "artifacts").glob(".reserve*")
        assert reserve.stat().st_blocks * 512 >= unsaved._RESERVE_BYTES
        with locked(settings):
            store.add(make_trial(id="second"))
            assert not reserve.exists()
    assert not list((settings.home / "artifacts").glob(".*"))


def dead_owner() -> Owner:
    """A process of this host that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return replace(current_owner(), pid=process.pid)


def _started_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
