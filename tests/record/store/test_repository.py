"""The repository on SQLite and on PostgreSQL: storing, finding, refusing, recovering."""

from __future__ import annotations

import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import command_line
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access.owner import current_owner, is_alive
from venturi.record.query.conditions import Condition, Op
from venturi.record.query.paging import whole_trials
from venturi.record.store import database, tables
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Engine, Failure, Owner, State, Trial, Workload

MakeTrial = Callable[..., Trial]


def error_of(action: Callable[[], object]) -> VenturiError:
    with pytest.raises(VenturiError) as caught:
        action()
    return caught.value


def dead_owner() -> Owner:
    """A process of this host that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return replace(current_owner(), pid=process.pid)


def test_what_is_added_is_found_again(repository: TrialRepository, make_trial: MakeTrial) -> None:
    trial = make_trial(configuration={"lines": "a\n\tb", "big": 1 << 80, "": "é"})
    trial = replace(trial, experiment="über '\"%")
    repository.add(trial)
    assert repository.get(trial.id) == trial
    assert whole_trials(repository) == [trial]
    assert error_of(lambda: repository.add(trial)).code == "VEN-RECORD-DUPLICATE"


def test_a_beginning_of_an_id_is_enough_if_only_one_has_it(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    for id_ in ("aa1", "aa2", "aa22", "b-_9", "AA1"):
        repository.add(make_trial(id=id_))
    assert repository.get("b").id == "b-_9"
    assert repository.get("A").id == "AA1"
    assert repository.get("aa2").id == "aa2", "an exact id wins over longer ones"
    for unknown in ("", "a", "aa", "aa3", "%", "_", "zz"):
        error = error_of(lambda prefix=unknown: repository.get(prefix))
        assert error.code == "VEN-RECORD-UNKNOWN"
        assert ("several" in error.message) == (unknown in {"a", "aa"})
        assert ("aa1, aa2, aa22" in (error.hint or "")) == (unknown in {"a", "aa"})


def test_last_is_the_one_that_was_recorded_last(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    assert error_of(lambda: repository.get("last")).code == "VEN-RECORD-UNKNOWN"
    added = [make_trial(started_at=datetime(2026, 1, day, tzinfo=UTC)) for day in (3, 1, 2)]
    for trial in added:
        repository.add(trial)
    found = [repository.get(name).id for name in ("last", "last~0", "last~1", "last~2")]
    assert found == [added[place].id for place in (2, 2, 1, 0)]
    for unknown in ("last~3", "last~999999999", "last~", "last~-1", "Last", "last~9999999999"):
        error = error_of(lambda name=unknown: repository.get(name))
        assert error.code == "VEN-RECORD-UNKNOWN", unknown


def test_whole_trials_of_a_query_are_newest_first(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trials = [
        make_trial(
            id=f"t{number}",
            workload=Workload("sort" if number % 2 else "scan", "v1"),
            engine=Engine("native" if number < 4 else "spark", "1"),
            experiment="x" if number == 3 else None,
            started_at=make_trial().started_at + timedelta(microseconds=number),
        )
        for number in range(6)
    ]
    for trial in trials:
        repository.add(trial)

    def ids(most: int | None = None, **equal: str) -> list[str]:
        conditions = (Condition.equal(key, value) for key, value in equal.items())
        return [trial.id for trial in whole_trials(repository, *conditions, most=most)]

    assert ids() == ["t5", "t4", "t3", "t2", "t1", "t0"]
    assert ids(most=2) == ["t5", "t4"]
    assert ids(workload="sort", engine="native") == ["t3", "t1"]
    assert ids(experiment="x") == ["t3"]
    assert [trial.id for trial in repository.trials_of("x")] == ["t3"]
    assert ids(group=trials[4].group_key) == ["t4"]
    since = Condition("started_at", Op.AT_LEAST, (trials[4].started_at,))
    assert [trial.id for trial in whole_trials(repository, since)] == ["t5", "t4"]
    assert ids(state=State.PLANNED, most=1) == ["t5"]
    assert ids(state=State.FAILED) == []
    assert ids(workload="s%") == []


def test_save_follows_the_state_machine(repository: TrialRepository, make_trial: MakeTrial) -> None:
    trial = make_trial(owner=current_owner())
    assert error_of(lambda: repository.save(trial)).code == "VEN-RECORD-UNKNOWN"
    repository.add(trial)
    preparing = trial.advance(State.PREPARING)
    repository.save(preparing)
    again = replace(preparing, configuration={"a": 1})
    repository.save(again)
    assert repository.get(trial.id) == again
    skipped = replace(preparing, state=State.VALIDATING)
    foreign = replace(again, owner=replace(current_owner(), pid=1))
    for wrong in (trial, skipped, foreign, replace(again, owner=None)):
        assert error_of(lambda wrong=wrong: repository.save(wrong)).code == "VEN-RECORD-STATE"
    assert repository.get(trial.id) == again


def test_recover_interrupts_trials_of_dead_processes_only(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    dead = dead_owner()
    failure = Failure("test", "VEN-TEST", "")
    orphan = make_trial(state=State.EXECUTING, owner=dead)
    others = [
        make_trial(state=State.EXECUTING, owner=current_owner()),
        make_trial(state=State.EXECUTING, owner=replace(dead, host="elsewhere/1")),
        make_trial(state=State.FAILED, owner=dead, failure=failure),
        make_trial(state=State.PLANNED),
    ]
    for trial in (orphan, *others):
        repository.add(trial)
    remnant = repository.artifacts_dir / orphan.id / ".log.1.part"
    remnant.parent.mkdir(parents=True)
    remnant.write_bytes(b"half")

    (found,) = repository.recover()

    assert (found.id, found.state) == (orphan.id, State.INTERRUPTED)
    assert found.failure is not None
    assert found.failure.code == "VEN-RECORD-ABANDONED"
    assert str(dead.pid) in found.failure.message
    assert "executing" in found.failure.message
    assert repository.get(orphan.id) == found
    assert [repository.get(trial.id) for trial in others] == others
    assert not remnant.exists()
    assert repository.recover() == []
    late = orphan.advance(State.VALIDATING)
    assert error_of(lambda: repository.save(late)).code == "VEN-RECORD-STATE"


def test_a_process_is_known_by_more_than_its_id() -> None:
    here = current_owner()
    boot, namespace = here.boot_id.split(":", 1)
    named = here.host if "/" in here.host else None
    assert is_alive(here)
    assert not is_alive(replace(here, process_started_ticks=here.process_started_ticks - 1))
    assert is_alive(replace(here, host="other", pid=1 << 30)), "cannot be seen from here"
    assert is_alive(replace(here, boot_id=f"{boot}:pid:[1]", pid=1 << 30)), "another container"
    after_reboot = replace(here, boot_id=f"earlier:{namespace}")
    assert is_alive(after_reboot) is (named is None)


def test_a_zombie_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        stat = Path(f"/proc/{process.pid}/stat")
        ticks = int(stat.read_text().rpartition(")")[2].split()[19])
        owner = replace(current_owner(), pid=process.pid, process_started_ticks=ticks)
        assert is_alive(owner)
        process.kill()
        while stat.read_text().rpartition(")")[2].split()[0] != "Z":
            pass
        assert not is_alive(owner)


def test_artifacts_are_kept_with_their_digest(
    repository: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"from a file")
    trial = repository.attach(make_trial(), "log", "a.log", b"hello")
    trial = repository.attach(trial, "other", "b.parquet", source)
    first, second = trial.artifacts
    assert first.sha256 == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert (first.size_bytes, second.size_bytes) == (5, 11)
    assert repository.artifact_path(first).read_bytes() == b"hello"
    assert repository.artifact_path(second).read_bytes() == b"from a file"
    bad_names = ["../x", "/etc/passwd", "a/b", "", ".hidden", "x.part", "a\0b", "a.log"]
    for name in bad_names:
        error = error_of(lambda name=name: repository.attach(trial, "log", name, b""))
        assert error.code == "VEN-RECORD-ARTIFACT"
    error = error_of(lambda: repository.attach(trial, "log", "c", tmp_path / "missing"))
    assert error.code == "VEN-RECORD-ARTIFACT"
    assert "missing" in error.message
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))  # an error without a file's name
    try:
        error = error_of(lambda: repository.attach(trial, "log", "c", b"x" * 2_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "None" not in error.message
    assert str(repository.artifacts_dir / trial.id) in error.message
    for path in ("../source", str(source), f"{trial.id}/none"):
        lost = replace(first, path=path)
        error = error_of(lambda lost=lost: repository.artifact_path(lost))
        assert error.code == "VEN-RECORD-ARTIFACT"


def test_the_migrations_make_the_tables_that_the_code_declares(
    repository: TrialRepository, repository_settings: Settings
) -> None:
    folder = Path(tables.__file__).parents[1] / "migrations"
    assert ScriptDirectory(str(folder)).get_current_head() == tables.REVISION
    url = repository_settings.database_url or f"sqlite:///{repository_settings.home}/venturi.sqlite"
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() == tables.REVISION
        assert compare_metadata(context, tables.METADATA) == []
    engine.dispose()


def test_a_new_sqlite_file_is_as_the_migrations_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dumped(home: Path) -> list[str]:
        TrialRepository.open(Settings(home, None, None, allow_debug=False)).close()
        with closing(sqlite3.connect(home / "venturi.sqlite")) as connection:
            found = [" ".join(line.split()) for line in connection.iterdump()]
        # Statistics, of which there are none yet.
        return sorted(line for line in found if not re.search("sqlite_stat1|^ANALYZE", line))

    made = dumped(tmp_path / "made")
    monkeypatch.setattr(database, "_create", database.migrate)
    assert made == dumped(tmp_path / "migrated")
    assert any('INTO "alembic_version"' in line for line in made)


def test_a_newer_database_is_refused_and_left_alone(
    repository: TrialRepository, repository_settings: Settings
) -> None:
    url = repository_settings.database_url or f"sqlite:///{repository_settings.home}/venturi.sqlite"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    error = error_of(lambda: TrialRepository.open(repository_settings))
    assert error.code == "VEN-RECORD-DATABASE"
    assert "9999" in error.message
    assert "update" in error.hint
    with engine.begin() as connection:
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    assert found == "9999"
    engine.dispose()


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql://user:secret@host/name",
        "postgresql://user:secret@127.0.0.1:1/name",
        "sqlite:////proc/no/such/folder/file",
    ],
)
def test_an_unusable_database_is_an_error_without_the_password(
    settings: Settings, url: str
) -> None:
    error = error_of(lambda: TrialRepository.open(replace(settings, database_url=url)))
    assert error.code == "VEN-RECORD-DATABASE"
    assert "secret" not in f"{error.message} {error.where} {error.hint}"


@pytest.mark.parametrize(
    "content",
    [
        "CREATE TABLE mine (a)",
        "CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES ('ae1027')",
    ],
)
def test_a_database_of_another_program_is_left_as_it_is(settings: Settings, content: str) -> None:
    settings.home.mkdir()
    file = settings.home / "venturi.sqlite"
    with closing(sqlite3.connect(file)) as other:
        other.executescript(content)
    before = file.read_bytes()
    done = command_line.venturi("ls", home=settings.home)
    assert done.returncode == 1
    assert "VEN-RECORD-DATABASE" in done.stderr
    assert "not a Venturi repository" in done.stderr
    assert file.read_bytes() == before
    assert [each.name for each in settings.home.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (
            "CREATE TABLE of_an_extension (a int);"
            " ALTER EXTENSION plpgsql ADD TABLE of_an_extension",
            True,
        ),
        ("CREATE SCHEMA other; CREATE TABLE other.mine (a int)", True),
        ("CREATE TABLE mine (a int)", False),
        ("CREATE TABLE mine (a int) PARTITION BY LIST (a)", False),
    ],
)
def test_tables_of_extensions_and_other_schemas_are_nobodys(
    postgresql: Any, settings: Settings, content: str, taken: bool
) -> None:
    url = postgresql.new_database()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(content))
    engine.dispose()
    here = replace(settings, database_url=url)
    if taken:
        TrialRepository.open(here).close()
    else:
        assert error_of(lambda: TrialRepository.open(here)).code == "VEN-RECORD-DATABASE"


@pytest.mark.parametrize("name", ["what?mode=ro", "100%41", "a#b", "with space", "a;b&c"])
def test_a_folder_may_have_any_name(settings: Settings, make_trial: MakeTrial, name: str) -> None:
    here = replace(settings, home=settings.home / name)
    with TrialRepository.open(here) as repository:
        repository.add(make_trial(id="t1"))
    assert (here.home / "venturi.sqlite").is_file()
    with TrialRepository.open(here, read_only=True) as repository:
        assert repository.get("t1").id == "t1"
    assert [each.name for each in settings.home.iterdir()] == [name]


def test_a_file_that_is_no_database_or_folder_is_an_error(settings: Settings) -> None:
    settings.home.mkdir()
    (settings.home / "venturi.sqlite").write_bytes(b"no database" * 1000)
    assert error_of(lambda: TrialRepository.open(settings)).code == "VEN-RECORD-DATABASE"
    inside_a_file = replace(settings, home=settings.home / "venturi.sqlite" / "home")
    assert error_of(lambda: TrialRepository.open(inside_a_file)).code == "VEN-RECORD-DATABASE"


def test_who_waits_too_long_for_another_writer_is_told(
    repository: TrialRepository, repository_settings: Settings
) -> None:
    with (
        TrialRepository.open(repository_settings, patience_s=0.2) as other,
        repository.writing(alone=True),
        pytest.raises(VenturiError) as caught,
        other.writing(alone=True),
    ):
        pass
    assert caught.value.code == "VEN-RECORD-BUSY"
    with (
        TrialRepository.open(repository_settings, patience_s=0.2) as other,
        other.writing(alone=True),
    ):
        pass
