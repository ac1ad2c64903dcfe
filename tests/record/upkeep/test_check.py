"""A repository is checked like its readers do, and repaired without touching valid data."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from planted import OVERFLOWING, add_overflowing, write_record
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.query import counting, faceting, grouping, paging
from venturi.record.query.selection import Query
from venturi.record.query.trial_table import sample_table, trial_table
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CONFIGURATION, EXCLUSIONS, RECORDS, TRIALS
from venturi.record.trial import State, Trial
from venturi.record.upkeep import quarantine
from venturi.record.upkeep.check import check
from venturi.record.upkeep.findings import FindingKind
from venturi.record.upkeep.locks import upkeep_lock

MakeTrial = Callable[..., Trial]


def ended(repository: TrialRepository, trial: Trial, content: bytes = b"what it said") -> Trial:
    """`trial` recorded as succeeded, with an artifact."""
    trial = repository.attach(trial, "log", "its.log", content)
    trial = replace(trial, state=State.SUCCEEDED, elapsed_s=3.0)
    repository.add(trial)
    return trial


def kinds(repository: TrialRepository, *, mend: bool = False) -> list[tuple[FindingKind, str]]:
    found = check(repository, mend=mend).findings
    assert all(each.mended == mend for each in found)
    return sorted((each.kind, each.subject) for each in found)


def test_nothing_is_wrong_in_a_sound_repository(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trial = ended(repository, make_trial())
    repository.add(make_trial(state=State.EXECUTING))
    exclusions.add(repository, ["workload=terasort"], "Ada", "because")
    report = check(repository)
    assert report.whole
    assert (report.trials, report.artifacts) == (2, 1)
    assert report.artifact_bytes == trial.artifacts[0].size_bytes


@pytest.mark.parametrize("started_at", OVERFLOWING)
def test_one_trial_that_cannot_be_read_keeps_nobody_from_the_others(
    repository: TrialRepository, make_trial: MakeTrial, started_at: str
) -> None:
    sound, bad = ended(repository, make_trial()), make_trial()
    add_overflowing(repository, bad, started_at)
    rows = {row.id: row for row in paging.rows(repository, Query()).rows}
    assert rows[sound.id].started_at == sound.started_at
    assert rows[bad.id].started_at is None
    assert counting.undated(repository) == (bad.id,)
    keys = ("started_at", "workload")
    assert sum(group.n for group in grouping.group_by(repository, Query(), keys)) == 2
    assert len(faceting.facets(repository, Query(), keys)) == 2
    table = trial_table(repository, Query())
    assert [len(frame) for frame, _ in table.parts()] == [2]


@pytest.mark.parametrize(
    "record", ["", "{", "[]", "null", '{"schema_version": 1}', '{"schema_version": 99}']
)
def test_a_damaged_record_is_left_out_and_named(
    repository: TrialRepository, make_trial: MakeTrial, record: str
) -> None:
    sound, bad = ended(repository, make_trial()), ended(repository, make_trial())
    with repository.writing() as connection:
        write_record(connection, bad.id, record)
    for table in (trial_table(repository, Query()), sample_table(repository, Query())):
        assert table.unreadable == (bad.id,)
    assert len(paging.rows(repository, Query()).rows) == 2
    told: list[VenturiError] = []
    assert paging.whole_trials(repository, skip=told.append) == [sound]
    (error,) = told
    assert error.where["trial"] == bad.id
    with pytest.raises(VenturiError, match=r".") as caught:
        repository.get(bad.id)
    if "99" not in record:
        assert "repository check --mend" in caught.value.hint
    assert kinds(repository) == [(FindingKind.UNREADABLE, f"trial {bad.id}")]


def test_a_record_of_an_unfinished_trial_that_cannot_be_read_does_not_stop_recovery(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    bad = make_trial(state=State.EXECUTING)
    repository.add(bad)
    with repository.writing() as connection:
        write_record(connection, bad.id, "{")
    assert repository.recover() == []


def test_mending_sets_aside_what_cannot_be_read_as_it_is(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    sound, bad = ended(repository, make_trial()), make_trial()
    bad = repository.attach(bad, "log", "its.log", b"its log")
    add_overflowing(repository, bad, OVERFLOWING[0])
    with repository.reading() as connection:
        stored = connection.execute(
            sa.select(RECORDS.c.record).where(RECORDS.c.id == bad.id)
        ).scalar_one()
    assert kinds(repository) == [(FindingKind.UNREADABLE, f"trial {bad.id}")]
    assert quarantine.find(repository) == ()
    assert kinds(repository, mend=True) == [(FindingKind.UNREADABLE, f"trial {bad.id}")]
    (kept,) = quarantine.find(repository)
    assert (kept.kind, kept.subject, kept.content) == ("trial", bad.id, stored)
    assert kept.reason == "started_at: no date of any calendar in UTC"
    assert [row.id for row in paging.rows(repository, Query()).rows] == [sound.id]
    with repository.reading() as connection:
        for table, column in ((RECORDS, RECORDS.c.id), (TRIALS, TRIALS.c.id)):
            assert connection.execute(sa.select(column).select_from(table)).scalars().all() == [
                sound.id
            ]
    # Its files stay with it.
    assert repository.artifact_path(bad.artifacts[0]).read_bytes() == b"its log"
    assert check(repository).findings == ()
    assert check(repository).quarantined == 1


def test_rules_that_cannot_be_read_are_set_aside(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trial = ended(repository, make_trial())
    rule = exclusions.add(repository, ["workload=terasort"], "Ada", "because")
    with repository.writing() as connection:
        connection.execute(sa.update(EXCLUSIONS).values(conditions='["no condition"]'))
    assert kinds(repository, mend=True) == [(FindingKind.UNREADABLE, f"exclusion {rule.id}")]
    assert [row.id for row in paging.rows(repository, Query()).rows] == [trial.id]
    assert "no condition" in quarantine.find(repository)[0].content


def test_copies_are_made_anew_and_rows_without_parents_removed(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    wrong, listless, settings, lost = (ended(repository, make_trial()) for _ in range(4))
    serial = sa.select(TRIALS.c.serial)
    with repository.writing() as connection:
        connection.execute(
            sa.update(TRIALS).where(TRIALS.c.id == wrong.id).values(workload="another")
        )
        connection.execute(sa.delete(TRIALS).where(TRIALS.c.id == listless.id))
        of_settings = serial.where(TRIALS.c.id == settings.id).scalar_subquery()
        connection.execute(
            sa.update(CONFIGURATION)
            .where(CONFIGURATION.c.trial == of_settings, CONFIGURATION.c.key == "threads")
            .values(text="77")
        )
        connection.execute(sa.delete(RECORDS).where(RECORDS.c.id == lost.id))
    for path in (repository.artifacts_dir / lost.id).iterdir():
        path.unlink()
    assert len(paging.rows(repository, Query()).rows) == 2
    assert [len(frame) for frame, _ in trial_table(repository, Query()).parts()] == [2]
    expected = sorted(
        [
            (FindingKind.COPY, f"trial {wrong.id}"),
            (FindingKind.COPY, f"trial {listless.id}"),
            (FindingKind.COPY, f"trial {settings.id}"),
            (FindingKind.ORPHAN_ROW, f"trial {lost.id}"),
            (FindingKind.ORPHAN_ROW, "configuration"),
            (FindingKind.LEFTOVER, str(repository.artifacts_dir / lost.id)),
        ]
    )
    assert kinds(repository) == expected
    assert kinds(repository, mend=True) == expected
    assert check(repository).findings == ()
    assert {row.workload for row in paging.rows(repository, Query()).rows} == {"terasort"}
    assert grouping.group_by(repository, Query(), ["threads"])[0].n == 3


def test_what_killed_commands_left_is_removed_and_nothing_else(
    repository: TrialRepository, make_trial: MakeTrial, repository_settings: object
) -> None:
    trial, running = ended(repository, make_trial()), make_trial(state=State.EXECUTING)
    running = repository.attach(running, "log", "its.log", b"so far")
    repository.add(running)
    home, folder = repository.artifacts_dir.parent, repository.artifacts_dir
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        gone = process.pid
    orphans = [
        folder / trial.id / "another.log",
        folder / trial.id / f".SERIES.{gone}.part",
        folder / "01NOSUCHTRIAL" / "its.log",
        home / f".table.{gone}.part",
        home / f".table.{os.getpid()}.part",  # its process was another of this number
    ]
    for path in orphans:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"left")
    others = [
        folder / running.id / "not-yet-recorded.log",
        folder / "lost+found" / "inode",
        home / "hadoop" / "bin",
        # Their writers are active, in containers with processes that are invisible here.
        home / f".backup.{gone}.part",
        folder / trial.id / f".log.{gone}.part",
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"somebody's")
    expected = sorted((FindingKind.LEFTOVER, str(path)) for path in orphans)
    with ExitStack() as writers:
        for path in others[3:]:
            fcntl.flock(writers.enter_context(path.open("r+b")), fcntl.LOCK_EX)
        assert kinds(repository) == expected
        assert all(path.exists() for path in orphans)
        assert kinds(repository, mend=True) == expected
        assert not any(path.exists() for path in orphans)
        assert not orphans[2].parent.exists()
        assert all(path.exists() for path in others)
        assert check(repository).findings == ()
    assert repository.artifact_path(trial.artifacts[0]).read_bytes() == b"what it said"
    assert kinds(repository, mend=True) == sorted(
        (FindingKind.LEFTOVER, str(path)) for path in others[3:]
    )
    assert check(repository).findings == ()


def test_what_a_restore_unpacks_is_no_leftover_while_it_does(repository: TrialRepository) -> None:
    home = repository.artifacts_dir.parent
    mark = home / ".restoring.4194305"  # no process here has the number, nor ever will
    mark.mkdir()
    with upkeep_lock(home, "venturi restore"):
        assert check(repository).findings == ()
    assert kinds(repository) == [(FindingKind.LEFTOVER, str(mark))]


def test_files_of_another_database_are_left_alone(
    repository: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    trial = ended(repository, make_trial())
    home = repository.artifacts_dir.parent
    url = f"sqlite:///{tmp_path / 'another.sqlite'}"
    with TrialRepository.open(Settings(home, url, None, allow_debug=False)) as mistaken:
        report = check(mistaken, mend=True)
        assert [(each.kind, each.mended) for each in report.findings] == [
            (FindingKind.FOREIGN, False)
        ]
    assert check(repository).whole
    assert repository.artifact_path(trial.artifacts[0]).read_bytes() == b"what it said"


def test_what_a_killed_restore_has_put_in_place_is_removed(repository: TrialRepository) -> None:
    home = repository.artifacts_dir.parent
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        mark = home / f".restoring.{process.pid}"
    mark.mkdir()
    left = repository.artifacts_dir / "01NOSUCHTRIAL" / "its.log"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"left")
    assert kinds(repository, mend=True) == [
        (FindingKind.LEFTOVER, str(mark)),
        (FindingKind.LEFTOVER, str(left)),
    ]
    assert not mark.exists()
    assert not left.exists()
    assert check(repository).findings == ()


def test_missing_and_wrong_artifacts_are_reported_and_left_alone(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    first, short, other = (ended(repository, make_trial()) for _ in range(3))
    paths = [repository.artifact_path(each.artifacts[0]) for each in (first, short, other)]
    repository.add(repository.attach(make_trial(), "log", "more.log", b"sound"))
    paths[0].rename(paths[0].with_name("elsewhere.log"))
    paths[1].write_bytes(b"cut")
    paths[2].write_bytes(b"what it SAID")
    report = check(repository, mend=True)
    found = {(each.kind, each.subject): each for each in report.findings}
    for kind, path in zip(
        (FindingKind.MISSING, FindingKind.WRONG, FindingKind.WRONG), paths, strict=True
    ):
        assert not found.pop((kind, str(path))).mended
    assert not report.whole
    (left,) = found.values()
    assert left.kind is FindingKind.LEFTOVER
    assert paths[1].read_bytes() == b"cut"
    with repository.reading() as connection:
        shared = connection.dialect.name == "postgresql"
    # Where several hosts share a database, a trial's files are on one of them.
    assert report.elsewhere == 0
    (report,) = [check(repository)]
    assert report.elsewhere == int(shared)


def test_a_home_that_is_open_to_others_is_closed_to_them_and_not_to_its_group(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trial = ended(repository, make_trial())
    home = repository.artifacts_dir.parent
    path = repository.artifact_path(trial.artifacts[0])
    home.chmod(0o755)
    path.chmod(0o644)
    assert kinds(repository) == [(FindingKind.OPEN, str(home))]
    assert kinds(repository, mend=True) == [(FindingKind.OPEN, str(home))]
    assert (home.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o750, 0o640)
    home.chmod(0o750)
    assert check(repository).findings == ()


HOLDER = """
import sys
from pathlib import Path
from venturi.record.upkeep.locks import import_lock, upkeep_lock
with import_lock(Path(sys.argv[1])), upkeep_lock(Path(sys.argv[1]), "a test"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_files_of_a_trial_that_is_being_taken_in_are_waited_for(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    ended(repository, make_trial())
    home = repository.artifacts_dir.parent
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(VenturiError, match="a test, process") as caught:
            check(repository, mend=True)
        assert caught.value.code == "VEN-REPOSITORY-BUSY"
        threading.Timer(0.3, holder.stdin.close).start()
        assert check(repository).whole  # after it has ended
        assert holder.wait(60) == 0


def test_what_no_door_lets_in_any_more_is_set_aside_too(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    sound, bad = ended(repository, make_trial()), ended(repository, make_trial())
    with repository.writing() as connection:
        here = sa.select(RECORDS.c.record).where(RECORDS.c.id == bad.id)
        record = connection.execute(here).scalar_one()
        assert '"elapsed_s":3.0' in record
        write_record(connection, bad.id, record.replace('"elapsed_s":3.0', '"elapsed_s":-5.0'))
        connection.execute(sa.update(TRIALS).where(TRIALS.c.id == bad.id).values(elapsed_s=-5.0))
    assert kinds(repository, mend=True) == [(FindingKind.UNREADABLE, f"trial {bad.id}")]
    assert "elapsed_s" in quarantine.find(repository)[0].reason
    assert [row.id for row in paging.rows(repository, Query()).rows] == [sound.id]
