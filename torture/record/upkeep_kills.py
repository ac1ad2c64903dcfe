"""Backup, restore, remove and `repository check --mend` killed at random instants."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import sqlalchemy as sa

from torture.instants import Instants
from torture.play import Play, Round, TortureCase
from torture.record.stores import Store, Stores, add_with_files
from torture.verbs import VerbResult, VerbRunner
from venturi.core.settings import Settings
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CONFIGURATION, RECORDS, TRIALS
from venturi.record.trial import Trial
from venturi.record.upkeep import quarantine, removal

_TRIALS = 12
_GONE_S = 60.0
"""By then each has ended."""
_BROKEN, _UNCOPIED = "before3", "before4"
_REMOVE = ("remove", "--where", "workload=terasort", "--reason", "torture", "--yes")
_MEND = ("repository", "check", "--mend")


class _KillBench:
    """The common part of a round's kills: verbs, stores, and a backup of the stores' content."""

    def __init__(self, round_: Play, verbs: VerbRunner) -> None:
        self.verbs, self.stores = verbs, Stores(round_, _filled)
        self.backup = round_.folder / "whole.zip"
        self._new = round_.folder / "new"
        self.file = round_.folder / "backups" / "made.zip"
        with self.stores.one(0) as store:
            self.wanted = store.foreign
            ran = verbs.learn(store.settings, "backup", self.backup)
            assert ran.status == 0, ran.stderr

    @contextmanager
    def empty(self, store: Store) -> Iterator[Settings]:
        """A repository with nothing in it, of the kind of `store`."""
        url = None
        if store.settings.database_url is not None:
            url = self.stores.new_database()
        try:
            yield replace(store.settings, home=self._new, database_url=url)
        finally:
            shutil.rmtree(self._new, ignore_errors=True)
            if url is not None:
                self.stores.drop(url)

    def ran_well(self, settings: Settings, *arguments: object) -> VerbResult:
        ran = self.verbs.run(settings, *arguments)
        assert ran.status == 0, ran.stderr[:500]
        return ran


KillFunction = Callable[[_KillBench, Store, "float | None"], "tuple[VerbResult, str]"]
"""Runs a verb, killed after some seconds, and again; returns how it first ended, and the
observation.
"""


def play(round_: Play) -> None:
    """Each verb in turn, on each kind of database; `Instants` says when it is killed."""
    with VerbRunner(round_.folder / "work") as verbs:
        bench = _KillBench(round_, verbs)
        instants: dict[tuple[str, str], Instants] = {}
        for case in round_.cases():
            what = list(_WHAT)[case.number % len(_WHAT)]
            number = case.number + case.number // len(_WHAT)  # each verb on each database
            with bench.stores.one(number) as store, case:
                key = what, store.kind
                if key not in instants:
                    instants[key] = Instants(round_.chance, _whole_s(bench, number, what))
                _case(case, bench, store, what, instants[key])


def _whole_s(bench: _KillBench, number: int, what: str) -> float:
    """Return the duration once its imports are known."""
    took_s = 0.0
    for delay_s in (None, _GONE_S):
        with bench.stores.one(number, "learnt") as store:
            took_s = _WHAT[what](bench, store, delay_s)[0].elapsed_s
    return took_s


def _case(
    case: TortureCase, bench: _KillBench, store: Store, what: str, instants: Instants
) -> None:
    delay_s = instants.draw_s()
    case.label = f"{what}, {store.kind}, killed after {1000 * delay_s:.1f} ms"
    ran, state = _WHAT[what](bench, store, delay_s)
    assert ran.killed or ran.status == 0, ran.stderr[:500]
    instants.learn(something=state != "none", took_s=None if ran.killed else ran.elapsed_s)
    case.saw(f"{what} killed, {state} stored" if ran.killed else f"{what} done")


def _backup(bench: _KillBench, store: Store, delay_s: float | None) -> tuple[VerbResult, str]:
    shutil.rmtree(bench.file.parent, ignore_errors=True)
    bench.file.parent.mkdir()
    ran = _run(bench, store.settings, delay_s, "backup", bench.file)
    made = bench.file.exists()
    assert made or ran.killed, "it ended well without its file"
    begun = bool(list(bench.file.parent.iterdir()))
    if made:
        _require_restores(bench, store)
    bench.ran_well(store.settings, "backup", bench.file, "--overwrite")
    assert [path.name for path in bench.file.parent.iterdir()] == [bench.file.name]
    _require_restores(bench, store)
    assert store.trials(tidy=True) == {}
    return ran, "all" if made else "some" if begun else "none"


def _require_restores(bench: _KillBench, store: Store) -> None:
    with bench.empty(store) as settings:
        bench.ran_well(settings, "restore", bench.file)
        assert _trials(settings) == bench.wanted, "the backup lacks something"


def _restore(bench: _KillBench, store: Store, delay_s: float | None) -> tuple[VerbResult, str]:
    with bench.empty(store) as settings:
        ran = _run(bench, settings, delay_s, "restore", bench.backup)
        found = _trials(settings)
        assert found in ({}, bench.wanted), f"half a repository: {len(found)} trials"
        assert found or ran.killed, "it ended well with nothing restored"
        if not found:
            again = bench.verbs.run(settings, "restore", bench.backup)
            if again.status:  # files lie there, of which it says what to do
                assert "[VEN-" in again.stderr, again.stderr[:500]
                assert "check --mend" in again.stderr, again.stderr[:500]
                bench.ran_well(settings, *_MEND)
                bench.ran_well(settings, "restore", bench.backup)
        bench.ran_well(settings, *_MEND)
        assert _trials(settings) == bench.wanted, "the next restore does not complete it"
    return ran, "all" if found else "none"


def _remove(bench: _KillBench, store: Store, delay_s: float | None) -> tuple[VerbResult, str]:
    ran = _run(bench, store.settings, delay_s, *_REMOVE)
    there = _trials(store.settings)
    assert there in ({}, store.foreign), f"half is removed: {len(there)} trials are there"
    assert ran.killed or not there, "it ended well and removed nothing"
    store = replace(store, foreign=there)
    assert store.trials() == {}  # readable, and nothing worse than a leftover
    bench.verbs.run(store.settings, *_REMOVE)
    store = replace(store, foreign={})
    store.mend()
    assert store.trials(tidy=True) == {}
    with TrialRepository.open(store.settings) as repository:
        (recorded,) = removal.find(repository)
    assert set(recorded.trials) == bench.wanted.keys(), "not all that went is on record"
    left = [path.name for path in (store.settings.home / "artifacts").iterdir()]
    assert left == ["README"], f"left: {left}"
    return ran, "none" if there else "all"


def _mend(bench: _KillBench, store: Store, delay_s: float | None) -> tuple[VerbResult, str]:
    _break(store.settings)
    ran = _run(bench, store.settings, delay_s, *_MEND)
    before = _set_aside(store.settings)
    bench.ran_well(store.settings, *_MEND)
    assert _set_aside(store.settings) == [_BROKEN]
    sound = {id_: each for id_, each in store.foreign.items() if id_ != _BROKEN}
    assert replace(store, foreign=sound).trials(tidy=True) == {}
    return ran, "some" if before else "none"


def _break(settings: Settings) -> None:
    """Create an unreadable record, one without its copied rows, and a kill's leftover."""
    engine = sa.create_engine(settings.database_url or f"sqlite:///{settings.home}/venturi.sqlite")
    with engine.begin() as connection:
        broken = sa.update(RECORDS).where(RECORDS.c.id == _BROKEN).values(record='{"id": 1}')
        connection.execute(broken)
        serial = sa.select(TRIALS.c.serial).where(TRIALS.c.id == _UNCOPIED).scalar_subquery()
        connection.execute(sa.delete(CONFIGURATION).where(CONFIGURATION.c.trial == serial))
    engine.dispose()
    left = settings.home / "artifacts/before0/.log.txt.4000000.part"
    left.write_bytes(b"half")
    os.utime(left, (time.time() - 600,) * 2)


def _set_aside(settings: Settings) -> list[str]:
    with TrialRepository.open(settings) as repository:
        return [each.subject for each in quarantine.find(repository)]


def _run(
    bench: _KillBench, settings: Settings, delay_s: float | None, *arguments: object
) -> VerbResult:
    """Run a verb; without a delay, learn its imports."""
    if delay_s is None:
        return bench.verbs.learn(settings, *arguments)
    return bench.verbs.run(settings, *arguments, kill_after_s=delay_s)


def _trials(settings: Settings) -> Mapping[str, Trial]:
    with TrialRepository.open(settings) as repository:
        return {each.id: each for each in whole_trials(repository)}


def _filled(settings: Settings) -> dict[str, Trial]:
    with TrialRepository.open(settings) as repository:
        ids = [f"before{number}" for number in range(_TRIALS)]
        return {id_: add_with_files(repository, id_, settings.home) for id_ in ids}


_WHAT: Mapping[str, KillFunction] = {
    "backup": _backup,
    "restore": _restore,
    "remove": _remove,
    "mend": _mend,
}

ROUND = Round(
    name="upkeep-kills",
    question="Backup, restore, remove or `check --mend` is killed at a random instant. Is "
    "nothing lost or torn, does the next try complete it, and is each removal on "
    "record?",
    count=1000,
    few=2,
    run=play,
)
