"""Repositories on both databases with trials and foreign files, and the checks of their
invariants.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from torture.play import Play, UnavailableError
from torture.postgresql import Postgresql
from venturi.core.settings import Settings
from venturi.record.importing.exchange import export_trials
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import (
    Cluster,
    Engine,
    Host,
    Provenance,
    ProvenanceKind,
    Software,
    State,
    Trial,
    Workload,
)
from venturi.record.upkeep.check import check
from venturi.record.upkeep.findings import FindingKind

_OTHERS = ("notes.txt", ".mine.part", "venturi.sqlite.bak", "artifacts/README")


def trial(id_: str) -> Trial:
    """A trial that has succeeded."""
    return Trial(
        id=id_,
        workload=Workload("terasort", "v1", "tiny", 1_000_000, 10_000),
        engine=Engine("native", "0.1.0"),
        cluster=Cluster((Host("here", {"cores": 2}),), {"input": ("/data",)}),
        configuration={"memory_bytes": 1 << 30, "threads": 2, "name": id_},
        software=Software("0.1.0", "abc123", "release", "6.1"),
        provenance=Provenance(ProvenanceKind.MEASURED, "venturi"),
        started_at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        state=State.SUCCEEDED,
        elapsed_s=1.0,
    )


def add_with_files(repository: TrialRepository, id_: str, scratch: Path) -> Trial:
    """Add a trial with a log of about 100 kB and a series."""
    made = repository.attach(trial(id_), "log", "log.txt", random.Random(id_).randbytes(100_000))
    series = scratch / f"{id_}.parquet"
    with SeriesWriter(series) as writer:
        for t_s in range(50):
            writer.append(float(t_s), "cpu_user", None, 0.5, "fraction")
    made = repository.attach(made, "series", "host.parquet", series)
    series.unlink()
    repository.add(made)
    return made


def write_archive(path: Path, ids: list[str]) -> dict[str, Trial]:
    """An archive of trials with files; the trials by id."""
    home = path.with_suffix(".home")
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        trials = [add_with_files(repository, id_, home) for id_ in ids]
        export_trials(repository, trials, path)
    shutil.rmtree(home)
    return {each.id: each for each in trials}


@dataclass(frozen=True, slots=True)
class Store:
    """A repository; `foreign` are the trials that were there before anything was done."""

    kind: str
    settings: Settings
    foreign: Mapping[str, Trial]

    def trials(self, *, tidy: bool = False) -> dict[str, Trial]:
        """Return all trials but the foreign ones, by id, after the recovery that any next start
        does.

        Checks that everything stored is readable and nothing foreign has changed; if `tidy`, that
        killed work left nothing.
        """
        with TrialRepository.open(self.settings) as repository:
            repository.recover()
            report = check(repository)
            wrong = [
                each for each in report.findings if tidy or each.kind is not FindingKind.LEFTOVER
            ]
            assert not wrong, f"{wrong[0].kind}: {wrong[0].subject}: {wrong[0].message}"
            found = {each.id: each for each in whole_trials(repository)}
        for id_, each in self.foreign.items():
            assert found.pop(id_, None) == each, f"trial {id_} was there before"
        for name in _OTHERS:
            assert (self.settings.home / name).read_text() == name, f"{name} is another's"
        strange = [
            path.name
            for path in self.settings.home.iterdir()
            if path.name not in {"artifacts", ".files.lock", ".upkeep.lock", *_OTHERS}
            and not path.name.startswith("venturi.sqlite")
        ]
        assert not strange, f"left over: {strange[0]}"
        return found

    def mend(self) -> int:
        """Remove leftovers; return the number of files."""
        with TrialRepository.open(self.settings) as repository:
            report = check(repository, mend=True)
        assert report.whole, f"not mended: {report.findings}"
        return len(report.findings)

    def export(self, path: Path) -> None:
        """Everything can be handed on."""
        with TrialRepository.open(self.settings) as repository:
            export_trials(repository, whole_trials(repository), path, overwrite=True)


class Stores:
    """Makes stores, on SQLite and on PostgreSQL in turn; without PostgreSQL, on SQLite alone."""

    def __init__(
        self, play: Play, prepare: Callable[[Settings], Mapping[str, Trial]] | None = None
    ) -> None:
        """`prepare` fills the first of each kind, the template of all copies, and returns its
        trials.
        """
        self._play, self._bases = play, {}
        self._postgresql: Postgresql | None = None
        kinds = ["sqlite"]
        with suppress(UnavailableError):
            self._postgresql = play.postgresql()
            kinds.append("postgresql")
        for kind in kinds:
            home = play.folder / f"base-{kind}"
            home.mkdir(mode=0o700)
            (home / "artifacts").mkdir(mode=0o700)
            for name in _OTHERS:
                (home / name).write_text(name)
                (home / name).chmod(0o600)
            url = None
            if kind == "postgresql" and self._postgresql is not None:
                url = self._postgresql.new_database()
            settings = Settings(home, url, None, allow_debug=True)
            self._bases[kind] = Store(kind, settings, (prepare or _with_some)(settings))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self._bases)

    def new_database(self) -> str:
        """The URL of a PostgreSQL database without tables, to be dropped."""
        assert self._postgresql is not None
        return self._postgresql.new_database()

    def drop(self, url: str) -> None:
        """Remove that database."""
        assert self._postgresql is not None
        self._postgresql.drop(url)

    @contextmanager
    def one(self, number: int, name: str = "home") -> Iterator[Store]:
        """A store of its own, gone afterwards; a second one at a time needs a `name`."""
        base = self._bases[self.kinds[number % len(self._bases)]]
        home, url = self._play.folder / name, base.settings.database_url
        shutil.copytree(base.settings.home, home)
        if url is not None:
            assert self._postgresql is not None
            url = self._postgresql.copy_of(url)
        try:
            yield replace(base, settings=replace(base.settings, home=home, database_url=url))
        finally:
            shutil.rmtree(home)
            if url is not None:
                assert self._postgresql is not None
                self._postgresql.drop(url)


def _with_some(settings: Settings) -> dict[str, Trial]:
    with TrialRepository.open(settings) as repository:
        ids = [f"before{number}" for number in range(3)]
        return {id_: add_with_files(repository, id_, settings.home) for id_ in ids}
