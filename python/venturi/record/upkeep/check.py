"""Checks whether the repository is sound: reads everything that is stored, as its readers would.

Rows of `trials` and `configuration` are copies of records, so repairs rebuild or delete them. A
record, a rule or a view that cannot be read is quarantined as a whole. Files that no trial names
are leftovers of killed commands. Nothing else is touched.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.core.wording import count_of
from venturi.record.limits import check as check_limits
from venturi.record.query.conditions import conditions_of
from venturi.record.store.files import TEMPORARY_SUFFIX, is_abandoned, is_open_to_others
from venturi.record.store.repository import TrialRepository
from venturi.record.store.rows import insert_copies
from venturi.record.store.tables import (
    CONFIGURATION,
    EXCLUSIONS,
    QUARANTINE,
    RECORDS,
    REMOVED,
    TRIALS,
    VIEWS,
    configuration_rows,
    moment,
    record_row,
    trial_row,
)
from venturi.record.trial import ID, TERMINAL, Artifact, Trial
from venturi.record.trial_json import decode
from venturi.record.upkeep import quarantine
from venturi.record.upkeep.findings import CheckReport, FindingKind, RepositoryFinding
from venturi.record.upkeep.locks import exclusive_files_lock, is_active, upkeep_lock

Progress = Callable[[int, int | None], None]
"""Called with the trials looked at, and how many there are."""
_TRIALS_A_STEP = 500
_OTHERS = stat.S_IRWXO
_TEMPORARY = re.compile(rf"\..+\.\d+{re.escape(TEMPORARY_SUFFIX)}")
RESTORING = ".restoring."
"""How the folder begins into which a backup is unpacked."""


def check(
    repository: TrialRepository,
    *,
    mend: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> CheckReport:
    """Report all problems; if wanted, repair them and report the results."""
    home = repository.artifacts_dir.parent
    if not mend:
        return _Check(repository, home, progress, restores=is_active(home)).run()
    with upkeep_lock(home, "venturi repository check --mend"):
        report = _Check(repository, home, progress, restores=False).run()
        return _mended(repository, home, report)


def why_unreadable(id_: str, record: str, limits: TrialLimits | None = None) -> str | None:
    """Why the stored trial `id_` cannot be read within `limits`; None if it can."""
    try:
        trial = decode(record)
        if trial.id != id_:
            return f"it is the record of {trial.id}"
        row = trial_row(trial)
        if row["started_at_us"] is not None:
            moment(row["started_at_us"])
        if limits is not None:
            check_limits(trial, limits)
    except VenturiError as error:
        return error.message
    except OverflowError:
        return "started_at: no date of any calendar in UTC"
    return None


def widest(limits: TrialLimits) -> TrialLimits:
    """Return the wider of `limits` and the defaults: narrowing them rejects new trials but must not
    quarantine trials that were accepted before.
    """
    usual = TrialLimits()
    names = [each.name for each in fields(TrialLimits)]
    return TrialLimits(**{name: max(getattr(limits, name), getattr(usual, name)) for name in names})


@dataclass(slots=True)
class _KnownArtifacts:
    """The files that the database expects among the artifacts, by trial; None for a trial with
    files that are to be left alone. Files of `removed` trials may be leftovers of a killed removal.
    """

    files: dict[str, frozenset[str] | None] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()


class _Check:
    """One check of everything; `restores` says whether a backup may be being restored."""

    def __init__(
        self, repository: TrialRepository, home: Path, progress: Progress, *, restores: bool
    ) -> None:
        self._repository, self._home, self._progress = repository, home, progress
        self._restores = restores
        self._known = _KnownArtifacts()
        self._shared = False
        self._trials = self._artifacts = self._bytes = self._elsewhere = 0

    def run(self) -> CheckReport:
        # Files first: trials that are recorded during the check are then known when they are looked
        # up.
        with exclusive_files_lock(self._home):
            found = list(_entries(self._repository.artifacts_dir))
        with self._repository.reading() as connection:
            findings = [
                *_of_database(connection),
                *_of_orphan_rows(connection),
                *_of_people(connection),
            ]
            self._shared = connection.dialect.name == "postgresql"
            quarantined = _quarantined(connection)
            self._known.files |= dict.fromkeys(quarantined)
            self._known.removed = frozenset(connection.scalars(sa.select(REMOVED.c.trial)))
            artifacts: list[tuple[str, Artifact]] = []
            findings += self._of_trials(connection, artifacts)
        findings += self._of_artifacts(artifacts)
        foreign = list(_of_another(self._home, found, self._known))
        findings += foreign or _leftovers(found, self._known)
        findings += _of_home(self._home, restores=self._restores)
        return CheckReport(
            self._trials,
            self._artifacts,
            self._bytes,
            self._elsewhere,
            len(quarantined),
            tuple(findings),
        )

    def _of_trials(
        self, connection: sa.Connection, artifacts: list[tuple[str, Artifact]]
    ) -> Iterator[RepositoryFinding]:
        every = connection.execute(sa.select(sa.func.count()).select_from(RECORDS)).scalar_one()
        limits = widest(self._repository.limits)
        for step in _records(connection):
            self._progress(self._trials, every)
            self._trials += len(step)
            readable: dict[str, Trial] = {}
            for row in step:
                reason = why_unreadable(row.id, row.record, limits)
                if reason is None:
                    readable[row.id] = decode(row.record)
                else:
                    self._known.files[row.id] = None
                    yield RepositoryFinding(FindingKind.UNREADABLE, f"trial {row.id}", reason)
            settings = {row.id: row.configuration for row in step}
            yield from _of_copies(connection, readable, settings)
            for trial in readable.values():
                names = frozenset(each.path.rpartition("/")[2] for each in trial.artifacts)
                self._known.files[trial.id] = names if trial.state in TERMINAL else None
                artifacts += [(trial.id, each) for each in trial.artifacts]
        self._progress(self._trials, every)

    def _of_artifacts(
        self, artifacts: Iterable[tuple[str, Artifact]]
    ) -> Iterator[RepositoryFinding]:
        elsewhere: set[str] = set()
        shared = self._shared
        for id_, artifact in artifacts:
            self._artifacts += 1
            path = self._repository.artifacts_dir / artifact.path
            if shared and not path.parent.is_dir():
                elsewhere.add(id_)
                continue
            try:
                with self._repository.artifact_path(artifact).open("rb") as file:
                    size_bytes = os.fstat(file.fileno()).st_size
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except (VenturiError, OSError) as error:
                why = error.message if isinstance(error, VenturiError) else str(error)
                yield RepositoryFinding(
                    FindingKind.MISSING, str(path), f"artifact of trial {id_}: {why}"
                )
                continue
            self._bytes += size_bytes
            if size_bytes != artifact.size_bytes:
                told = f"{size_bytes:,} bytes instead of the recorded {artifact.size_bytes:,}"
            elif digest != artifact.sha256:
                told = "its digest differs from the recorded one"
            else:
                continue
            yield RepositoryFinding(
                FindingKind.WRONG, str(path), f"artifact of trial {id_}: {told}"
            )
        self._elsewhere = len(elsewhere)


# ---- the database ----


def _of_database(connection: sa.Connection) -> Iterator[RepositoryFinding]:
    """Check SQLite's own pages; PostgreSQL has its own tools for this."""
    if connection.dialect.name != "sqlite":
        return
    said = connection.exec_driver_sql("PRAGMA integrity_check(10)").scalars().all()
    if said != ["ok"]:
        yield RepositoryFinding(FindingKind.DAMAGED, "database", "; ".join(map(str, said)))


def _of_orphan_rows(connection: sa.Connection) -> Iterator[RepositoryFinding]:
    for (id_,) in connection.execute(sa.select(TRIALS.c.id).where(_WITHOUT_RECORD)):
        yield RepositoryFinding(
            FindingKind.ORPHAN_ROW, f"trial {id_}", "a row of trials has no record"
        )
    statement = sa.select(sa.func.count()).select_from(CONFIGURATION).where(_WITHOUT_TRIAL)
    if count := connection.execute(statement).scalar_one():
        yield RepositoryFinding(
            FindingKind.ORPHAN_ROW,
            "configuration",
            f"{count:,} rows of configuration have no trial",
        )


_WITHOUT_RECORD = ~sa.exists().where(RECORDS.c.id == TRIALS.c.id)
_WITHOUT_TRIAL = ~sa.exists().where(TRIALS.c.serial == CONFIGURATION.c.trial)


def _of_people(connection: sa.Connection) -> Iterator[RepositoryFinding]:
    """Rules and views that cannot be read."""
    for row in connection.execute(sa.select(EXCLUSIONS)):
        try:
            conditions_of(json.loads(row.conditions))
            _dates(row.created_at_us, row.revoked_at_us)
        except (ValueError, TypeError, OverflowError, VenturiError) as error:
            yield RepositoryFinding(FindingKind.UNREADABLE, f"exclusion {row.id}", str(error))
    for row in connection.execute(sa.select(VIEWS)):
        try:
            _dates(row.created_at_us)
        except OverflowError as error:
            yield RepositoryFinding(FindingKind.UNREADABLE, f"view {row.name}", str(error))


def _dates(*stored: int | None) -> None:
    for each in stored:
        if each is not None:
            moment(each)


def _quarantined(connection: sa.Connection) -> list[str]:
    chosen = sa.select(QUARANTINE.c.subject).where(QUARANTINE.c.kind == "trial")
    return list(connection.execute(chosen).scalars())


def _records(connection: sa.Connection) -> Iterator[list[Any]]:
    """All records by id, in batches."""
    after = ""
    statement = sa.select(RECORDS).order_by(RECORDS.c.id).limit(_TRIALS_A_STEP)
    while step := list(connection.execute(statement.where(RECORDS.c.id > after))):
        yield step
        after = step[-1].id


def _of_copies(
    connection: sa.Connection, trials: dict[str, Trial], settings: dict[str, str]
) -> Iterator[RepositoryFinding]:
    """Trials of which the tables to search by say something else than the record."""
    rows = {
        row["id"]: dict(row)
        for row in connection.execute(
            sa.select(TRIALS).where(TRIALS.c.id.in_(list(trials)))
        ).mappings()
    }
    serials = [row["serial"] for row in rows.values()]
    of_serial: dict[int, dict[str, tuple[str, float | None]]] = {}
    chosen = sa.select(CONFIGURATION).where(CONFIGURATION.c.trial.in_(serials))
    for serial, key, text, number in connection.execute(chosen):
        of_serial.setdefault(serial, {})[key] = (text, number)
    for id_, trial in trials.items():
        row = rows.get(id_)
        if row is None:
            told = "it has no row in trials, so no list shows it"
        elif not _is_same(trial_row(trial), row):
            told = "its row in trials differs from its record"
        elif settings[id_] != record_row(trial)["configuration"] or of_serial.get(
            row["serial"], {}
        ) != {each["key"]: (each["text"], each["number"]) for each in configuration_rows(0, trial)}:
            told = "its configuration differs from its record"
        else:
            continue
        yield RepositoryFinding(FindingKind.COPY, f"trial {id_}", told)


def _is_same(made: dict[str, Any], stored: dict[str, Any]) -> bool:
    # Of trials that were there before these columns nothing was known of others.
    newer = {"disturbed", "cpu_others_share", "disk_others_share", "cpu_steal_share"}
    return all(
        stored[name] == value or (name in newer and stored[name] is None)
        for name, value in made.items()
    )


# ---- files ----


def _folders(artifacts_dir: Path) -> list[Path]:
    """The folders of trials; others aren't Venturi's."""
    if not artifacts_dir.is_dir():
        return []
    return [
        folder
        for folder in sorted(artifacts_dir.iterdir())
        if ID.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
    ]


def _entries(artifacts_dir: Path) -> Iterator[tuple[str, Path]]:
    """The files among the artifacts and empty folders, each with the name of its folder."""
    for folder in _folders(artifacts_dir):
        inside = sorted(folder.iterdir())
        for path in inside:
            if path.is_symlink() or not path.is_dir():
                yield folder.name, path
        if not inside:
            yield folder.name, folder


def _names(id_: str, record: str) -> frozenset[str] | None:
    """The names of a finished trial's files; None for an unfinished or unreadable one."""
    if why_unreadable(id_, record) is not None:
        return None
    trial = decode(record)
    if trial.state not in TERMINAL:
        return None
    return frozenset(each.path.rpartition("/")[2] for each in trial.artifacts)


def _of_another(
    home: Path, found: Iterable[tuple[str, Path]], known: _KnownArtifacts
) -> Iterator[RepositoryFinding]:
    """Report if files exist, but none in the folder of a trial that this database knows or has
    removed.

    Then they belong to another database: VENTURI_DATABASE_URL may be wrong or missing. Only a
    killed restore leaves such files, too, next to a folder `RESTORING`.
    """
    whole = {id_ for id_, path in found if not path.name.startswith(".") and not path.is_dir()}
    ours = known.files.keys() | known.removed
    if whole and whole.isdisjoint(ours) and not any(home.glob(f"{RESTORING}*")):
        what = f"files of {count_of(len(whole), 'trial')}, none of which is in this database"
        yield RepositoryFinding(
            FindingKind.FOREIGN, "artifacts", f"{what}: is this the right database for them?"
        )


def _leftovers(
    found: Iterable[tuple[str, Path]], known: _KnownArtifacts
) -> Iterator[RepositoryFinding]:
    for id_, path in found:
        names = known.files.get(id_, frozenset())
        if names is None or path.name in names or not os.path.lexists(path):
            continue
        if id_ in known.files:
            who = f"trial {id_} does not reference it"
        elif id_ in known.removed:
            who = f"trial {id_} was removed"
        else:
            who = f"no trial {id_} is recorded"
        if path.name.endswith(TEMPORARY_SUFFIX):
            if _is_written(path):
                continue
            who = "partly written by a killed command"
        yield RepositoryFinding(FindingKind.LEFTOVER, str(path), who)


def _is_written(path: Path) -> bool:
    temporary = bool(_TEMPORARY.fullmatch(path.name)) and os.path.lexists(path)
    return temporary and not is_abandoned(path)


def _of_home(home: Path, *, restores: bool) -> Iterator[RepositoryFinding]:
    """Report temporary files and folders of processes that have ended, and wrong permissions."""
    for path in sorted(home.iterdir()):
        if _TEMPORARY.fullmatch(path.name) and is_abandoned(path):
            yield RepositoryFinding(
                FindingKind.LEFTOVER, str(path), "partly written by a killed command"
            )
        if path.name.startswith(RESTORING) and not restores:
            yield RepositoryFinding(
                FindingKind.LEFTOVER, str(path), "unpacked by a killed `venturi restore`"
            )
    opened = list(_open_to_others(home))
    if opened and opened[0] == home:
        names = ", ".join(f"{each.name} ({_mode(each)})" for each in opened[:3])
        more = f" and {len(opened) - 3:,} more" if len(opened) > 3 else ""
        yield RepositoryFinding(
            FindingKind.OPEN, str(home), f"every user of this machine has access: {names}{more}"
        )


def _open_to_others(home: Path) -> Iterator[Path]:
    """`home`, its database and its artifacts, if users outside its group have access."""
    mine = [home, *sorted(home.glob("venturi.sqlite*")), home / "artifacts"]
    inside = (home / "artifacts").rglob("*")
    yield from filter(is_open_to_others, (*mine, *inside))


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):03o}"


# ---- repairs ----


def _mended(repository: TrialRepository, home: Path, report: CheckReport) -> CheckReport:
    """The report after all possible repairs."""
    in_database = (FindingKind.UNREADABLE, FindingKind.COPY, FindingKind.ORPHAN_ROW)
    with repository.writing(alone=True) as connection:
        for finding in report.findings:
            if finding.kind in in_database:
                _mend_row(connection, finding)
    set_aside = sum(finding.kind is FindingKind.UNREADABLE for finding in report.findings)
    done = [replace(each, mended=each.kind in in_database) for each in report.findings]
    with exclusive_files_lock(home):
        # Read again: a trial of these files may have been imported since.
        known = _known_of(repository, report.findings)
        entries = _entries(repository.artifacts_dir)
        left = {each.subject for each in _leftovers(entries, known)}
        for place, finding in enumerate(done):
            inside = Path(finding.subject).is_relative_to(repository.artifacts_dir)
            if finding.kind is FindingKind.LEFTOVER and (finding.subject in left or not inside):
                done[place] = _mended_file(finding, _remove)
            elif finding.kind is FindingKind.OPEN:
                done[place] = _mended_file(finding, _close)
    return replace(report, findings=tuple(done), quarantined=report.quarantined + set_aside)


def _mend_row(connection: sa.Connection, finding: RepositoryFinding) -> None:
    kind, _, subject = finding.subject.partition(" ")
    if finding.kind is FindingKind.UNREADABLE:
        quarantine.set_aside(connection, kind, subject, finding.message)
    elif finding.kind is FindingKind.ORPHAN_ROW:
        connection.execute(sa.delete(TRIALS).where(TRIALS.c.id == subject, _WITHOUT_RECORD))
        connection.execute(sa.delete(CONFIGURATION).where(_WITHOUT_TRIAL))
    else:
        here = sa.select(RECORDS.c.record).where(RECORDS.c.id == subject).with_for_update()
        record = connection.execute(here).scalar_one_or_none()
        if record is not None:
            insert_copies(connection, decode(record))


def _known_of(
    repository: TrialRepository, findings: Iterable[RepositoryFinding]
) -> _KnownArtifacts:
    """Return the expected files of those trials that have files among the leftovers. The files of
    all others are left alone.
    """
    places = (Path(each.subject) for each in findings if each.kind is FindingKind.LEFTOVER)
    inside = (path for path in places if path.is_relative_to(repository.artifacts_dir))
    ids = sorted({path.relative_to(repository.artifacts_dir).parts[0] for path in inside})
    known = _KnownArtifacts(dict.fromkeys(each.name for each in _folders(repository.artifacts_dir)))
    for id_ in ids:
        del known.files[id_]
    with repository.reading() as connection:
        for begin in range(0, len(ids), _TRIALS_A_STEP):
            some = sa.select(RECORDS).where(RECORDS.c.id.in_(ids[begin : begin + _TRIALS_A_STEP]))
            for row in connection.execute(some):
                known.files[row.id] = _names(row.id, row.record)
    return known


def _mended_file(finding: RepositoryFinding, how: Callable[[Path], None]) -> RepositoryFinding:
    try:
        how(Path(finding.subject))
    except OSError as error:
        return replace(finding, message=f"{finding.message}; {error.strerror}")
    return replace(finding, mended=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return
    if _is_written(path):
        raise OSError(errno.EBUSY, "it is being written")
    path.unlink(missing_ok=True)
    with suppress(OSError):  # it holds something else
        path.parent.rmdir()


def _close(home: Path) -> None:
    for path in list(_open_to_others(home)):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
