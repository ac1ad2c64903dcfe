"""A repository is for those whom its owner lets in, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

MakeTrial = Callable[..., Trial]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def filled(settings: Settings, trial: Trial) -> dict[str, int]:
    """The modes of everything in the home of a repository with one trial, by path."""
    with TrialRepository.open(settings) as repository:
        repository.add(repository.attach(trial, "log", "its.log", b"what it said"))
        found = {
            str(path.relative_to(settings.home)): mode_of(path) for path in settings.home.rglob("*")
        }
    return {".": mode_of(settings.home)} | found


@pytest.mark.usefixtures("_umask")
def test_nobody_else_may_read_a_new_repository(settings: Settings, make_trial: MakeTrial) -> None:
    trial = make_trial()
    found = filled(settings, trial)
    assert {"venturi.sqlite", "venturi.sqlite-wal", "venturi.sqlite-shm"} <= found.keys()
    folders = {".", "artifacts", f"artifacts/{trial.id}"}
    assert {name: mode for name, mode in found.items() if mode != 0o600} == dict.fromkeys(
        folders, 0o700
    )


@pytest.mark.usefixtures("_umask")
def test_a_home_that_a_group_shares_stays_shared_and_closed_to_others(
    settings: Settings, make_trial: MakeTrial
) -> None:
    settings.home.mkdir()
    settings.home.chmod(0o2775)
    trial = make_trial()
    found = filled(settings, trial)
    assert found.pop(".") == 0o2775  # its owner's decision: `repository check` reports it
    folders = {"artifacts", f"artifacts/{trial.id}"}
    assert {name: mode for name, mode in found.items() if mode != 0o660} == dict.fromkeys(
        folders, 0o2770
    )


@pytest.mark.usefixtures("_umask")
def test_a_database_that_is_named_by_its_file_is_private_too(settings: Settings) -> None:
    settings.home.mkdir(0o700)
    file = settings.home.parent / "other.sqlite"
    TrialRepository.open(replace(settings, database_url=f"sqlite:///{file}")).close()
    assert mode_of(file) == 0o600
